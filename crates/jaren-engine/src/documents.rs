//! What a run's session holds: its documents, their kinds, and how they are written and read.
//!
//! | document | what it is |
//! |---|---|
//! | `jaren.run.snapshot` | the published `jaren-workflow-run/0.1` snapshot |
//! | `jaren.run.definition` | `{document, attachment, flags}`: what the run was started with, or is bound to since |
//! | `jaren.run.rebinds` | who bound the run to another document, when and why, in order; absent while nobody has |
//! | `jaren.run.holder` | `{token, generation, at}`: who claimed the run last, so that a lost reply can be settled |
//! | `jaren.run.failure` | why the last drive failed; absent while one is under way or went well |
//! | `jaren.run.inbox[id]` | `{event, at}`: an event that no wait has met yet |
//! | `jaren.run.inbox.size` | `{events, bytes}`: how much that is; absent while no event has come |
//! | `jaren.run.receipt[id]` | `{type, digest, at, accepted, generation}`: what became of an event |
//!
//! The labels are `status` (`running`, `waiting`, `done`, `failed`) and `revision`.

use std::fmt;

use jaren_durable::{Family, Retry, Singleton};
use jaren_host::Timestamp;
use jaren_json::{Object, Str, Value, value};

use crate::core::{Cause, RunError, SnapshotStatus};
use crate::error::EngineError;
use crate::failure::Failure;
use crate::numbers;

/// The kind of the session of a run.
pub const RUN_KIND: &str = "jaren.run";

pub(crate) const SNAPSHOT: Singleton = Singleton::new("jaren.run.snapshot", 1);
pub(crate) const DEFINITION: Singleton = Singleton::new("jaren.run.definition", 1);
pub(crate) const HOLDER: Singleton = Singleton::new("jaren.run.holder", 1);
pub(crate) const FAILURE: Singleton = Singleton::new("jaren.run.failure", 1);
pub(crate) const REBINDS: Singleton = Singleton::new("jaren.run.rebinds", 1);
pub(crate) const INBOX: Family = Family::new("jaren.run.inbox", 1);
/// `{events, bytes}`.
pub(crate) const INBOX_SIZE: Singleton = Singleton::new("jaren.run.inbox.size", 1);
/// There are ever more of them, and a drive reads none.
pub(crate) const RECEIPT: Family = Family::new("jaren.run.receipt", 1).unkept();

pub(crate) const STATUS_LABEL: &str = "status";
pub(crate) const REVISION_LABEL: &str = "revision";

/// The number of the rules by which queries are evaluated. Inputs and guards of a run are evaluated again when it is
/// resumed, and are not stored with their answers; so a release in which any query answers otherwise takes the next number
/// for new runs, and evaluates those of this number as before or refuses them.
pub(crate) const QUERIES: &str = "queries/1";

/// The behaviour flags that this release knows. A flag pins how a run is replayed across releases.
const FLAGS_KNOWN: [&str; 1] = [QUERIES];

/// Where a run stands, as its session's label says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunStatus {
    /// An engine works on it, or has to: it is then resumed by driving it again.
    Running,
    /// It waits for an event or a deadline.
    Waiting,
    /// It is done.
    Done,
    /// Its last drive failed. Driving it again runs the failed node again.
    Failed,
    /// One that this release does not know: a newer one wrote it. The run can be read, and not driven.
    Unknown,
}

impl RunStatus {
    /// The label's value.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Waiting => "waiting",
            RunStatus::Done => "done",
            RunStatus::Failed => "failed",
            RunStatus::Unknown => "unknown",
        }
    }

    /// The status with that label.
    pub fn parse(label: &str) -> Option<Self> {
        let all = [RunStatus::Running, RunStatus::Waiting, RunStatus::Done, RunStatus::Failed];
        all.into_iter().find(|status| status.as_str() == label)
    }
}

impl From<SnapshotStatus> for RunStatus {
    fn from(status: SnapshotStatus) -> Self {
        match status {
            SnapshotStatus::Running => RunStatus::Running,
            SnapshotStatus::Waiting => RunStatus::Waiting,
            SnapshotStatus::Done => RunStatus::Done,
        }
    }
}

/// What a run was started with.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) document: Value,
    pub(crate) attachment: Value,
    pub(crate) flags: Vec<Str>,
}

impl Definition {
    pub(crate) fn to_value(&self) -> Value {
        let flags: Value = self.flags.iter().cloned().map(Value::String).collect();
        let members =
            [("document", self.document.clone()), ("attachment", self.attachment.clone()), ("flags", flags)];
        Value::Object(members.into_iter().collect())
    }

    pub(crate) fn read(value: &Value) -> Option<Self> {
        let flags = value.get("flags")?.as_array()?.iter().map(|flag| flag.as_str().map(Str::from));
        Some(Definition {
            document: value.get("document")?.clone(),
            attachment: value.get("attachment")?.clone(),
            flags: flags.collect::<Option<_>>()?,
        })
    }

    /// A flag that this release does not know, if there is one.
    pub(crate) fn unknown_flag(&self) -> Option<&str> {
        self.flags.iter().map(|flag| &**flag).find(|flag| !FLAGS_KNOWN.contains(flag))
    }
}

/// Why a run failed, as it is stored: how its last drive ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunFailure {
    /// The format's code, `JF2006` for a failed node; `JE0007` if the store does not take what the run has come to.
    pub code: Str,
    /// The whole text, for a person.
    pub message: Str,
    /// Where in the document.
    pub pointer: Option<Str>,
    /// The qualified state.
    pub state: Option<Str>,
    /// The dag node.
    pub node: Option<Str>,
    /// What the task said, if a task failed.
    pub failure: Option<Failure>,
    /// When.
    pub at: Timestamp,
}

impl RunFailure {
    pub(crate) fn of(error: &RunError, at: Timestamp) -> Self {
        RunFailure {
            code: error.code().into(),
            message: error.reason().into(),
            pointer: error.pointer().map(Into::into),
            state: error.state().map(Into::into),
            node: error.node().map(Into::into),
            failure: match error.cause() {
                Some(Cause::Task(failure)) => Some(failure.clone()),
                _ => None,
            },
            at,
        }
    }

    /// The store refused what the run has come to.
    pub(crate) fn of_engine(error: &EngineError, at: Timestamp) -> Self {
        RunFailure {
            code: error.code().into(),
            message: error.message().into(),
            pointer: None,
            state: error.state().map(Into::into),
            node: None,
            failure: None,
            at,
        }
    }

    /// May the run be driven again, in the opinion of the task that failed?
    pub fn retry(&self) -> Retry {
        self.failure.as_ref().map_or(Retry::Unknown, |failure| failure.retry)
    }

    pub(crate) fn to_value(&self) -> Value {
        let text = |text: &Option<Str>| text.clone().map_or(Value::Null, Value::String);
        let failure = self.failure.as_ref().map(jaren_json::to_value);
        let members = [
            ("code", Value::String(self.code.clone())),
            ("message", Value::String(self.message.clone())),
            ("pointer", text(&self.pointer)),
            ("state", text(&self.state)),
            ("node", text(&self.node)),
            // A failure whose data cannot be stored is still told, without it.
            ("failure", failure.and_then(Result::ok).filter(Value::is_json).unwrap_or_default()),
            ("at", numbers::millis(self.at)),
        ];
        Value::Object(members.into_iter().collect())
    }

    pub(crate) fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(Str::from);
        let failure = value.get("failure").filter(|failure| !failure.is_null());
        Some(RunFailure {
            code: text("code")?,
            message: text("message")?,
            pointer: text("pointer"),
            state: text("state"),
            node: text("node"),
            failure: failure.and_then(|failure| jaren_json::from_value(failure).ok()),
            at: millis(value.get("at"))?,
        })
    }
}

/// `CODE: message (state /states/pay, node charge)`: as much of it as is known.
impl fmt::Display for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        match (&self.state, &self.node) {
            (Some(state), Some(node)) => write!(f, " (state {state}, node {node})"),
            (Some(state), None) => write!(f, " (state {state})"),
            (None, Some(node)) => write!(f, " (node {node})"),
            (None, None) => Ok(()),
        }
    }
}

/// So that a host which has nothing else to do about it can pass it on with `?`.
impl std::error::Error for RunFailure {}

/// `{token, generation, at}`.
pub(crate) fn holder(token: &str, generation: u64, at: Timestamp) -> Value {
    value!({ "token": token, "generation": (numbers::count(generation)), "at": (numbers::millis(at)) })
}

pub(crate) fn millis(value: Option<&Value>) -> Option<Timestamp> {
    value?.as_i64().map(Timestamp::from_millis)
}

/// `{type, payload?}`: an event as the format has it.
pub(crate) fn event(name: &str, payload: Option<&Value>) -> Value {
    let mut event: Object = [("type", Value::from(name))].into_iter().collect();
    if let Some(payload) = payload {
        event = event.with("payload", payload.clone());
    }
    Value::Object(event)
}
