//! The snapshot of a run: the published `jaren-workflow-run/0.1` JSON, held as the value that it is saved as.
//!
//! Every change makes a new value that shares all that did not change, so a save point costs by what it changes and
//! rendering one costs nothing. Members that we do not know are kept (workflow §5).

use jaren_flow::statechart;
use jaren_flow::workflow::FORMAT;
use jaren_json::{Object, Str, Value};

use super::error::RunError;
use crate::numbers::count;

/// The largest generation: the integers up to it are exact in JSON.
const GENERATION_MAX: u64 = (1 << 53) - 1;

/// Where a run stands, in the format's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Work is pending, or control is about to move.
    Running,
    /// Control rests in a wait that nothing has answered yet.
    Waiting,
    /// A final state ended the run.
    Done,
}

impl Status {
    /// The format's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Done => "done",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [Status::Running, Status::Waiting, Status::Done].into_iter().find(|status| status.as_str() == word)
    }
}

/// One saved or savable state of a run. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The whole of it; the other members are its parts, read.
    top: Object,
    context: Object,
    control: statechart::Snapshot,
    generation: u64,
    status: Status,
}

impl Snapshot {
    /// The snapshot of a run that nothing has been saved of: generation zero.
    pub(super) fn fresh(
        run: &str,
        identity: &Value,
        control: statechart::Snapshot,
        context: Object,
        status: Status,
    ) -> Self {
        let members = [
            ("format", Value::from(FORMAT)),
            ("runId", Value::from(run)),
            ("identity", identity.clone()),
            ("generation", count(0)),
            ("control", control.to_value()),
            ("context", Value::Object(context.clone())),
            ("pending", Value::Null),
            ("status", Value::from(status.as_str())),
        ];
        Snapshot { top: members.into_iter().collect(), context, control, generation: 0, status }
    }

    /// A snapshot whose members have been checked (`super::restore`).
    pub(super) fn checked(
        top: Object,
        context: Object,
        control: statechart::Snapshot,
        generation: u64,
        status: Status,
    ) -> Self {
        Snapshot { top, context, control, generation, status }
    }

    /// The published JSON.
    pub fn to_value(&self) -> Value {
        Value::Object(self.top.clone())
    }

    /// How many save points this state has behind it.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Where the run stands.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The statechart's part.
    pub fn control(&self) -> &statechart::Snapshot {
        &self.control
    }

    /// What guards and inputs read: `{input, data, event, results, visits}` (workflow §2).
    pub fn context(&self) -> &Object {
        &self.context
    }

    /// The current data; the result of a run that is done.
    pub fn data(&self) -> Value {
        self.context.get("data").cloned().unwrap_or_default()
    }

    /// How often the run has entered a state.
    pub fn visits(&self, state: &str) -> u64 {
        self.context.get("visits").and_then(|visits| visits.get(state)).and_then(Value::as_u64).unwrap_or(0)
    }

    /// The activation that is not finished, if there is one.
    pub fn pending(&self) -> Option<&Object> {
        self.top.get("pending").and_then(Value::as_object)
    }

    /// The active leaf. A workflow has exactly one.
    pub fn active(&self) -> Str {
        self.control.leaf().cloned().unwrap_or_default()
    }

    pub(super) fn set_context(&mut self, context: Object) {
        self.top = self.top.with("context", context.clone());
        self.context = context;
    }

    pub(super) fn set_pending(&mut self, pending: Option<Object>) {
        self.top = self.top.with("pending", pending);
    }

    pub(super) fn set_control(&mut self, control: statechart::Snapshot) {
        self.top = self.top.with("control", control.to_value());
        self.control = control;
    }

    pub(super) fn set_status(&mut self, status: Status) {
        self.top = self.top.with("status", status.as_str());
        self.status = status;
    }

    /// The next generation: what makes a change a save point.
    pub(super) fn advance(&mut self) -> Result<u64, RunError> {
        if self.generation >= GENERATION_MAX {
            return Err(RunError::new("JF2016", "the snapshot's generation is exhausted"));
        }
        self.generation += 1;
        self.top = self.top.with("generation", count(self.generation));
        Ok(self.generation)
    }
}
