//! What is told of runs: records to whoever watches a drive, and the same as `tracing` events and, behind the feature
//! `metrics`, as metrics. The names are stable; `docs/engine.md` lists them.
//!
//! No event, span or metric carries a value of a run or the words of a task.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jaren_json::Str;
use tracing::{Level, Span, event};

use crate::context::TaskContext;
use crate::core::Record;
use crate::documents::RunFailure;
use crate::drive::Observer;
use crate::error::EngineError;

/// The target of all spans and events.
macro_rules! target {
    () => {
        "jaren::engine"
    };
}

/// Tells the observer of a drive, and the process's own observation.
#[derive(Clone, Default)]
pub(crate) struct Teller {
    run: Str,
    observer: Option<Arc<dyn Observer>>,
}

impl Teller {
    pub(crate) fn new(run: Str, observer: Option<Arc<dyn Observer>>) -> Self {
        Teller { run, observer }
    }

    /// Does anybody want records? Without anybody none need be made.
    pub(crate) fn is_watched(&self) -> bool {
        self.observer.is_some()
            || cfg!(feature = "metrics")
            || tracing::enabled!(target: target!(), Level::INFO)
    }

    /// A panic of the observer is its own affair.
    pub(crate) fn tell(&self, record: &Record) {
        trace(&self.run, record);
        #[cfg(feature = "metrics")]
        count(record);
        if let Some(observer) = &self.observer
            && catch_unwind(AssertUnwindSafe(|| observer.record(record))).is_err()
        {
            let run = &*self.run;
            event!(name: "jaren.observer.panicked", target: target!(), Level::WARN, run);
        }
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Teller").field("run", &self.run).finish_non_exhaustive()
    }
}

/// The span of one drive.
pub(crate) fn drive_span(run: &str) -> Span {
    tracing::info_span!(target: target!(), "jaren.drive", run)
}

/// The span of one attempt at a task; it is current in the handler.
pub(crate) fn task_span(context: &TaskContext) -> Span {
    let TaskContext { run, state, visit, node, task, attempt, .. } = context;
    let (run, state, node, task) = (&**run, &**state, &**node, &**task);
    tracing::info_span!(target: target!(), "jaren.task", run, state, visit, node, task, attempt)
}

/// A run has been stored for the first time.
pub(crate) fn started(run: &str) {
    event!(name: "jaren.run.started", target: target!(), Level::INFO, run);
    #[cfg(feature = "metrics")]
    metrics::counter!("jaren_runs_started_total").increment(1);
}

/// A drive was told to stop, and did.
pub(crate) fn interrupted(run: &str) {
    event!(name: "jaren.run.interrupted", target: target!(), Level::INFO, run);
    #[cfg(feature = "metrics")]
    metrics::counter!("jaren_drives_ended_total", "status" => "interrupted").increment(1);
}

/// A drive ended with what is not in the store.
pub(crate) fn broken(run: &str, error: &EngineError) {
    let (code, state) = (error.code(), error.state());
    event!(name: "jaren.drive.failed", target: target!(), Level::WARN, run, code, state);
    #[cfg(feature = "metrics")]
    metrics::counter!("jaren_drives_ended_total", "status" => "error").increment(1);
}

/// A run failed.
pub(crate) fn failed(run: &str, failure: &RunFailure) {
    let (code, state, node) = (&*failure.code, failure.state.as_deref(), failure.node.as_deref());
    event!(name: "jaren.run.failed", target: target!(), Level::WARN, run, code, state, node);
    #[cfg(feature = "metrics")]
    metrics::counter!("jaren_drives_ended_total", "status" => "failed").increment(1);
}

/// A run was bound to another document.
pub(crate) fn rebound(run: &str, generation: u64) {
    event!(name: "jaren.run.rebound", target: target!(), Level::INFO, run, generation);
}

/// An event is durable in a run's inbox.
pub(crate) fn sent(run: &str) {
    event!(name: "jaren.event.sent", target: target!(), Level::DEBUG, run);
    #[cfg(feature = "metrics")]
    metrics::counter!("jaren_events_sent_total").increment(1);
}

/// A task ended, after so many milliseconds with all its attempts.
#[cfg(feature = "metrics")]
pub(crate) fn task_ended(task: &str, is_ok: bool, ms: f64) {
    let labels = [("task", task.to_owned()), ("status", if is_ok { "ok" } else { "error" }.to_owned())];
    metrics::counter!("jaren_tasks_ended_total", &labels).increment(1);
    metrics::histogram!("jaren_task_seconds", &labels).record(ms / 1e3);
}

fn trace(run: &str, record: &Record) {
    match record {
        Record::Started { state, visit, node, attempt, .. } => {
            let (state, node) = (&**state, &**node);
            event!(name: "jaren.task.started", target: target!(), Level::DEBUG, run, state, visit, node, attempt);
        }
        Record::Retry { state, visit, node, attempt, failure, pause } => {
            let (state, node, code) = (&**state, &**node, failure.code.as_deref());
            let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            event!(
                name: "jaren.task.retry", target: target!(), Level::INFO,
                run, state, visit, node, attempt, code, pause_ms
            );
        }
        Record::Progress { state, visit, node, attempt, .. } => {
            let (state, node) = (&**state, &**node);
            event!(name: "jaren.task.progress", target: target!(), Level::TRACE, run, state, visit, node, attempt);
        }
        Record::Node { state, visit, node, status, ms } => {
            let (state, node, status) = (&**state, &**node, status.as_str());
            event!(name: "jaren.node.ended", target: target!(), Level::DEBUG, run, state, visit, node, status, ms);
        }
        Record::Transition { active, generation, .. } => {
            let state = active.first().map(|state| &**state);
            event!(name: "jaren.run.moved", target: target!(), Level::DEBUG, run, state, generation);
        }
        Record::Waiting { active, generation } => {
            let state = active.first().map(|state| &**state);
            event!(name: "jaren.run.waiting", target: target!(), Level::INFO, run, state, generation);
        }
        Record::Done { active, generation } => {
            let state = active.first().map(|state| &**state);
            event!(name: "jaren.run.done", target: target!(), Level::INFO, run, state, generation);
        }
        Record::Committed { generation, saves } => {
            event!(name: "jaren.run.committed", target: target!(), Level::DEBUG, run, generation, saves);
        }
    }
}

/// Metrics have no label whose values grow with the runs.
#[cfg(feature = "metrics")]
fn count(record: &Record) {
    use metrics::counter;
    match record {
        Record::Started { .. } => counter!("jaren_task_attempts_total").increment(1),
        Record::Retry { .. } => counter!("jaren_task_retries_total").increment(1),
        Record::Waiting { .. } => counter!("jaren_drives_ended_total", "status" => "waiting").increment(1),
        Record::Done { .. } => counter!("jaren_drives_ended_total", "status" => "done").increment(1),
        Record::Committed { saves, .. } => {
            counter!("jaren_commits_total").increment(1);
            counter!("jaren_save_points_total").increment(*saves);
        }
        Record::Node { .. } | Record::Progress { .. } | Record::Transition { .. } => {}
    }
}
