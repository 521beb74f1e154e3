//! What a task says when it cannot answer: data that is stored with the run, never a Rust type.

use std::fmt;

use jaren_json::Value;
use serde::{Deserialize, Serialize};

/// May the task that failed be tried again?
///
/// It is information for whoever decides (a person, a retry policy); the engine itself runs a failed node again
/// whenever the run is driven again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Retry {
    /// Nobody knows whether trying again helps or harms.
    #[default]
    Unknown,
    /// Trying again cannot help.
    Never,
    /// Trying again is safe.
    Safe,
}

/// A failed task, as it is stored and shown.
///
/// Every error converts into one, its sources included in the message, so that `?` works in a handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The task's own stable code, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What went wrong, for a person.
    pub message: String,
    /// More about it, for a program.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// May the task be tried again?
    #[serde(default)]
    pub retry: Retry,
}

impl Failure {
    /// A failure that has a message and says nothing about trying again.
    pub fn new(message: impl Into<String>) -> Self {
        Failure { code: None, message: message.into(), data: Value::Null, retry: Retry::Unknown }
    }

    /// The same with the task's own code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The same with data for a program.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// The same with an opinion about trying again.
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

// `Failure` is deliberately no `Error`: this conversion would then overlap with the identity.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(": ");
            message.push_str(&cause.to_string());
            source = cause.source();
        }
        Failure::new(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_becomes_a_failure_with_its_sources() {
        let failure = Failure::from(std::io::Error::other("disk on fire"));
        assert_eq!(failure.to_string(), "disk on fire");
        assert_eq!(failure.retry, Retry::Unknown);
    }
}
