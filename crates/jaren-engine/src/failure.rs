//! What a task says when it cannot answer: data that is stored with the run, never a Rust type.

use std::error::Error;
use std::fmt;

use jaren_durable::Retry;
use jaren_json::{Str, Value};
use serde::{Deserialize, Serialize};

/// A failed task, as it is stored and shown.
///
/// Every type that is an [`Error`] converts into one, so that `?` works in a handler. What hides its error, like
/// `anyhow::Error` and `Box<dyn Error>`, is none itself: `.map_err(|error| Failure::of(&*error))?`.
///
/// ```
/// use jaren_engine::{Failure, Retry};
///
/// fn price(text: &str) -> Result<f64, Failure> {
///     if text.is_empty() {
///         return Err(Failure::new("there is no price").with_code("no-price").with_retry(Retry::Never));
///     }
///     Ok(text.parse()?)
/// }
/// assert!(price("x").is_err());
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The task's own stable code, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Str>,
    /// What went wrong, for a person.
    pub message: Str,
    /// More about it, for a program.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// May the task be tried again? It is for whoever decides: the [policy](crate::RetryPolicy) that the task was
    /// registered with, and a person. A task that knows when to come back says [`Retry::AfterDelay`].
    #[serde(default = "unknown", with = "stored_retry")]
    pub retry: Retry,
}

impl Failure {
    /// A failure that has a message and does not know whether trying again helps.
    pub fn new(message: impl Into<Str>) -> Self {
        Failure { code: None, message: message.into(), data: Value::Null, retry: Retry::Unknown }
    }

    /// The failure that an error is: its message with those of its sources.
    pub fn of(error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(": ");
            message.push_str(&cause.to_string());
            source = cause.source();
        }
        Failure::new(message)
    }

    /// The same with the task's own code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Str>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The same with data for a program.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        self.data = data.into();
        self
    }

    /// The same with what the task knows about trying again.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code {
            Some(code) => write!(f, "{code}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Of the data only the kind: it may be anybody's.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("code", &self.code)
            .field("message", &self.message)
            .field("data", &format_args!("{}", self.data.kind()))
            .field("retry", &self.retry)
            .finish()
    }
}

// `Failure` is deliberately no `Error`: this conversion would then overlap with the identity.
impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::of(&error)
    }
}

fn unknown() -> Retry {
    Retry::Unknown
}

/// `"unknown"`, `"never"`, `"safe"` or `{"afterMs": 30000}`. What a newer release has written is unknown.
mod stored_retry {
    use std::time::Duration;

    use jaren_durable::Retry;
    use jaren_json::{Value, value};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// The largest whole number that is exact in JSON.
    const MS_MAX: u64 = (1 << 53) - 1;

    pub(super) fn serialize<S: Serializer>(retry: &Retry, serializer: S) -> Result<S::Ok, S::Error> {
        match retry {
            Retry::Never => "never".serialize(serializer),
            Retry::Safe => "safe".serialize(serializer),
            Retry::AfterDelay(delay) => {
                let ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX).min(MS_MAX);
                value!({ "afterMs": crate::numbers::count(ms) }).serialize(serializer)
            }
            _ => "unknown".serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Retry, D::Error> {
        let stored = Value::deserialize(deserializer)?;
        let delay = stored.get("afterMs").and_then(Value::as_u64);
        Ok(match (stored.as_str(), delay) {
            (Some("never"), _) => Retry::Never,
            (Some("safe"), _) => Retry::Safe,
            (_, Some(ms)) => Retry::AfterDelay(Duration::from_millis(ms)),
            _ => Retry::Unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jaren_json::{from_value, to_value, value};

    use super::*;

    #[test]
    fn an_error_becomes_a_failure_with_its_sources() {
        let failure = Failure::from(std::io::Error::other("disk on fire"));
        assert_eq!(failure.to_string(), "disk on fire");
        assert_eq!(failure.retry, Retry::Unknown);
        let hidden: Box<dyn Error + Send + Sync> = "no paper".into();
        assert_eq!(Failure::of(&*hidden).to_string(), "no paper");
    }

    #[test]
    fn it_is_stored_and_read_back_and_so_is_what_a_newer_release_says() {
        let failure = Failure::new("x").with_code("busy").with_data(value!([1]));
        for retry in [Retry::Unknown, Retry::Never, Retry::Safe, Retry::AfterDelay(Duration::from_secs(30))] {
            let failure = failure.clone().with_retry(retry);
            assert_eq!(from_value::<Failure>(&to_value(&failure).unwrap()).unwrap(), failure);
        }
        for newer in [value!("later"), value!({ "atMs": 5 }), Value::Null] {
            let stored = value!({ "message": "x", "retry": newer });
            assert_eq!(from_value::<Failure>(&stored).unwrap().retry, Retry::Unknown);
        }
        assert_eq!(from_value::<Failure>(&value!({ "message": "x" })).unwrap().retry, Retry::Unknown);
    }

    #[test]
    fn debug_has_no_data() {
        let failure = Failure::new("refused").with_data(value!({ "card": "4711" }));
        assert!(!format!("{failure:?}").contains("4711"));
    }
}
