//! The driver: it executes what the core commands, on tokio, and feeds back what happened.

mod cargo;
mod ledger;
mod pilot;

use std::fmt;
use std::sync::Arc;

use jaren_host::Timestamp;
use jaren_json::{Str, Value};
use tokio_util::sync::CancellationToken;

pub(crate) use self::pilot::{Past, Pilot};
use crate::core::Record;
use crate::documents::RunFailure;
use crate::resources::Resources;

/// Which save points travel together in one durable commit.
///
/// It changes what is stored on the way and costs, never what a run does: a host has no reason to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitPolicy {
    /// All that are ready: a sequential work state costs one commit, and what completes while a commit is in flight
    /// joins the next.
    #[default]
    Coalesced,
    /// One by one, as the format's reference saves them.
    EverySavePoint,
}

/// How a run is driven ([`Run::drive_with`](crate::Run::drive_with)).
#[derive(Clone, Default)]
pub struct Drive {
    leaves_timers: bool,
    pub(crate) cancel: CancellationToken,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) resources: Resources,
}

impl Drive {
    /// Stays for timers, has no observer, and a token that nobody cancels.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same without staying for timers: a run that only time can move answers [`Status::Waiting`] with the deadline.
    #[must_use]
    pub fn without_timers(mut self) -> Self {
        self.leaves_timers = true;
        self
    }

    /// The same with a token: cancelling it stops the run at a checkpoint ([`Status::Interrupted`]).
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// The same with an observer, who is told what happens.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// The same with resources for this drive alone, before those of the engine: a lease, a connection. They are held
    /// until every task of the drive has ended, whatever ended it.
    #[must_use]
    pub fn with_resources(mut self, resources: Resources) -> Self {
        self.resources = resources;
        self
    }

    /// Does it stay for what only time can move?
    pub(crate) fn stays_for_timers(&self) -> bool {
        !self.leaves_timers
    }
}

impl fmt::Debug for Drive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drive")
            .field("stays_for_timers", &self.stays_for_timers())
            .field("cancelled", &self.cancel.is_cancelled())
            .field("observed", &self.observer.is_some())
            .finish_non_exhaustive()
    }
}

/// Watches a run. It is called between steps, and by tasks that tell of their progress and their retries, possibly by
/// several at once; it should return soon, and cannot change anything.
pub trait Observer: Send + Sync + 'static {
    /// One thing happened.
    fn record(&self, record: &Record);
}

impl<F: Fn(&Record) + Send + Sync + 'static> Observer for F {
    fn record(&self, record: &Record) {
        self(record);
    }
}

/// Where driving a run ended. All of it is durable.
///
/// Its `Display` is for logs: it has no value of the run.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a run that failed is told here"]
#[non_exhaustive]
pub enum Status {
    /// The run waits.
    Waiting {
        /// The names of the events that move it, in document order.
        events: Vec<Str>,
        /// When time moves it.
        deadline: Option<Timestamp>,
    },
    /// The run is done.
    Done {
        /// Its result.
        result: Value,
    },
    /// The run failed. It stays so until it is driven again, which tries again what failed.
    Failed {
        /// Why.
        failure: RunFailure,
    },
    /// The token was cancelled. Driving the run again goes on from the last checkpoint.
    Interrupted,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Waiting { events, deadline } => {
                f.write_str("waiting")?;
                for (index, event) in events.iter().enumerate() {
                    write!(f, "{}{event:?}", if index == 0 { " for " } else { " or " })?;
                }
                match deadline {
                    Some(deadline) => write!(f, ", until {} ms", deadline.as_millis()),
                    None => Ok(()),
                }
            }
            Status::Done { .. } => f.write_str("done"),
            Status::Failed { failure } => write!(f, "failed: {failure}"),
            Status::Interrupted => f.write_str("interrupted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_told_without_values() {
        let shown = |events: &[&str], deadline| {
            let events = events.iter().copied().map(Str::from).collect();
            Status::Waiting { events, deadline }.to_string()
        };
        assert_eq!(shown(&["fine", "wrong"], None), r#"waiting for "fine" or "wrong""#);
        assert_eq!(shown(&[], Some(Timestamp::from_millis(5))), "waiting, until 5 ms");
        assert_eq!(Status::Done { result: Value::from("4711") }.to_string(), "done");
    }
}
