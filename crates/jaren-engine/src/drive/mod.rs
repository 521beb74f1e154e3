//! The driver: it executes what the core commands, on tokio, and feeds back what happened.

mod cargo;
mod ledger;
mod pilot;

use std::fmt;
use std::sync::Arc;

use jaren_host::Timestamp;
use jaren_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) use self::pilot::{Attempts, Pilot};
use crate::core::Record;
use crate::resources::Resources;

/// Which save points travel together in one durable commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// All that are ready: a sequential work state costs one commit, and what completes while a commit is in flight
    /// joins the next.
    #[default]
    Coalesced,
    /// One by one, as the format's reference saves them.
    EverySavePoint,
}

/// What to do when only time can move the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timers {
    /// Stay until the deadline, or until an event comes before it.
    #[default]
    Wait,
    /// Return [`Status::Waiting`] with the deadline.
    Return,
}

/// How a run is driven.
#[derive(Clone, Default)]
pub struct Drive {
    /// What to do when only time can move the run.
    pub timers: Timers,
    /// Cancelling it stops the run at a checkpoint ([`Status::Interrupted`]).
    pub cancel: CancellationToken,
    /// Told what happens.
    pub observer: Option<Arc<dyn Observer>>,
    /// What tasks may ask for, before those of the engine.
    pub resources: Resources,
}

impl Drive {
    /// Stay for timers, no observer, a token that nobody cancels.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same without staying for timers.
    #[must_use]
    pub fn without_timers(mut self) -> Self {
        self.timers = Timers::Return;
        self
    }

    /// The same with a token that stops it.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// The same with an observer.
    #[must_use]
    pub fn observed_by(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// The same with resources for this drive alone: a lease, a connection. They are held until every task of the drive
    /// has ended, whatever ended it.
    #[must_use]
    pub fn with_resources(mut self, resources: Resources) -> Self {
        self.resources = resources;
        self
    }
}

impl fmt::Debug for Drive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drive")
            .field("timers", &self.timers)
            .field("cancelled", &self.cancel.is_cancelled())
            .field("observed", &self.observer.is_some())
            .field("resources", &self.resources)
            .finish()
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
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// The run waits.
    Waiting {
        /// The event types that move it, in document order.
        events: Vec<String>,
        /// When time moves it.
        deadline: Option<Timestamp>,
    },
    /// The run is done.
    Done {
        /// Its result.
        result: Value,
    },
    /// The token was cancelled. Driving the run again goes on from the last checkpoint.
    Interrupted,
}
