//! The snapshot of a run: the published `jaren-workflow-run/0.1` JSON, in parts.
//!
//! Every change replaces a part and shares the others, so a save point costs by what it changes, and only those that
//! are really saved are written as JSON. Members that we do not know are kept (workflow §5).

use jaren_flow::statechart;
use jaren_flow::workflow::FORMAT;
use jaren_json::{Object, Str, Value};

use super::error::RunError;
use super::pending::Pending;
use crate::numbers::count;

/// The largest generation: the integers up to it are exact in JSON.
const GENERATION_MAX: u64 = (1 << 53) - 1;

/// Where a run stands, in the format's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotStatus {
    /// Work is pending, or control is about to move.
    Running,
    /// Control rests in a wait that nothing has answered yet.
    Waiting,
    /// A final state ended the run.
    Done,
}

impl SnapshotStatus {
    /// The format's word.
    pub fn as_str(self) -> &'static str {
        match self {
            SnapshotStatus::Running => "running",
            SnapshotStatus::Waiting => "waiting",
            SnapshotStatus::Done => "done",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [SnapshotStatus::Running, SnapshotStatus::Waiting, SnapshotStatus::Done]
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

/// One saved or savable state of a run. Cheap to clone and to change; its JSON is made when it is asked for.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The published members as they were read or first written: their names and order, and what never changes.
    form: Object,
    context: Object,
    control: statechart::Snapshot,
    pending: Option<Pending>,
    generation: u64,
    status: SnapshotStatus,
}

impl Snapshot {
    /// The snapshot of a run that nothing has been saved of: generation zero.
    pub(super) fn fresh(
        run: &str,
        identity: &Value,
        control: statechart::Snapshot,
        context: Object,
        status: SnapshotStatus,
    ) -> Self {
        let members = [
            ("format", Value::from(FORMAT)),
            ("runId", Value::from(run)),
            ("identity", identity.clone()),
            ("generation", Value::Null),
            ("control", Value::Null),
            ("context", Value::Null),
            ("pending", Value::Null),
            ("status", Value::Null),
        ];
        let form = members.into_iter().collect();
        Snapshot { form, context, control, pending: None, generation: 0, status }
    }

    /// A snapshot whose members have been checked (`super::restore`).
    pub(super) fn checked(
        form: Object,
        context: Object,
        control: statechart::Snapshot,
        pending: Option<Pending>,
        generation: u64,
        status: SnapshotStatus,
    ) -> Self {
        Snapshot { form, context, control, pending, generation, status }
    }

    /// The same with an activation that is to go on.
    pub(super) fn resumed(self, pending: Pending) -> Self {
        Snapshot { pending: Some(pending), ..self }
    }

    /// The published JSON. It shares with that of other snapshots all that is the same.
    pub fn to_value(&self) -> Value {
        self.write(Pending::to_value)
    }

    /// The JSON that our own store keeps: the published one without what is large and follows from the rest, which is
    /// the pending activation's input and the identity of its dataflow.
    pub fn to_stored(&self) -> Value {
        self.write(Pending::to_stored)
    }

    fn write(&self, pending: impl Fn(&Pending) -> Value) -> Value {
        let values = self.form.iter().map(|(name, kept)| match name {
            "generation" => count(self.generation),
            "control" => self.control.to_value(),
            "context" => Value::Object(self.context.clone()),
            "pending" => self.pending.as_ref().map(&pending).unwrap_or_default(),
            "status" => Value::from(self.status.as_str()),
            _ => kept.clone(),
        });
        let values = values.collect();
        let object = self.form.shape().and_then(|shape| Object::from_shape(shape, values));
        Value::Object(object.unwrap_or_default())
    }

    /// How many save points this state has behind it.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Where the run stands.
    pub fn status(&self) -> SnapshotStatus {
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
    pub fn pending(&self) -> Option<&Pending> {
        self.pending.as_ref()
    }

    /// The active leaf. A workflow has exactly one.
    pub fn active(&self) -> Str {
        self.control.leaf().cloned().unwrap_or_default()
    }

    pub(super) fn set_context(&mut self, context: Object) {
        self.context = context;
    }

    pub(super) fn take_pending(&mut self) -> Option<Pending> {
        self.pending.take()
    }

    pub(super) fn set_pending(&mut self, pending: Option<Pending>) {
        self.pending = pending;
    }

    pub(super) fn set_control(&mut self, control: statechart::Snapshot) {
        self.control = control;
    }

    pub(super) fn set_status(&mut self, status: SnapshotStatus) {
        self.status = status;
    }

    /// The next generation: what makes a change a save point.
    pub(super) fn advance(&mut self) -> Result<u64, RunError> {
        if self.generation >= GENERATION_MAX {
            return Err(RunError::new("JF2016", "the snapshot's generation is exhausted"));
        }
        self.generation += 1;
        Ok(self.generation)
    }
}
