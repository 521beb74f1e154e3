//! The snapshot of a run: the published `jaren-workflow-run/0.1` JSON, in parts.
//!
//! Every change replaces a part and shares the others, so a save point costs by what it changes, and only those that
//! are really saved are written as JSON. Members that we do not know are kept (workflow §5).

use std::sync::Arc;

use jaren_flow::statechart;
use jaren_flow::workflow::{FORMAT, Workflow};
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

/// One saved or savable state of a run. Cheap to clone and to change; its JSON is made when it is asked for.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The published members as they were read or first written: their names and order, and what never changes.
    form: Object,
    context: Object,
    control: statechart::Snapshot,
    pending: Option<Pending>,
    generation: u64,
    status: Status,
}

/// The activation that is not finished (workflow §5).
///
/// Its input follows from the control and the context, and the identity of its dataflow from the workflow and the
/// input. Both are written out in the published JSON, the identity with the input's whole canonical text; neither is
/// made or kept otherwise.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The published members; what the published identity is, `identity` knows.
    members: Object,
    identity: Arc<Identity>,
}

/// What the identity of an activation's dataflow is made of.
#[derive(Debug)]
struct Identity {
    workflow: Workflow,
    state: Str,
    input: Value,
}

impl Pending {
    /// An activation that has its input.
    pub(super) fn new(workflow: &Workflow, state: &Str, visit: u64, input: Value) -> Self {
        let members = [
            ("state", Value::from(state)),
            ("visit", count(visit)),
            ("input", input),
            ("values", Value::Object(Object::default())),
        ];
        Self::checked(workflow, state, members.into_iter().collect())
    }

    /// An activation whose published members have been checked (`super::restore`).
    pub(super) fn checked(workflow: &Workflow, state: &Str, members: Object) -> Self {
        let input = members.get("input").cloned().unwrap_or_default();
        let identity = Arc::new(Identity { workflow: workflow.clone(), state: state.clone(), input });
        let is_identified = members.contains_key("identity");
        let pending = Pending { members, identity };
        if is_identified { pending.identified() } else { pending }
    }

    /// The input of the work.
    pub fn input(&self) -> &Value {
        &self.identity.input
    }

    /// Is the identity of its dataflow a part of it yet?
    pub fn has_identity(&self) -> bool {
        self.members.contains_key("identity")
    }

    /// The values of nodes that declare `checkpoint`.
    pub fn values(&self) -> Object {
        self.members.get("values").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// The result, once every node has settled.
    pub fn result(&self) -> Option<&Value> {
        self.members.get("result")
    }

    pub(super) fn identified(self) -> Self {
        // In the place of what is made when it is asked for.
        Pending { members: self.members.with("identity", true), ..self }
    }

    pub(super) fn with_value(&self, node: &Str, value: &Value) -> Self {
        let values = self.values().with(node, value);
        Pending { members: self.members.with("values", values), identity: self.identity.clone() }
    }

    pub(super) fn with_result(&self, result: &Value) -> Self {
        Pending { members: self.members.with("result", result), identity: self.identity.clone() }
    }

    /// The published JSON.
    fn to_value(&self) -> Value {
        if !self.has_identity() {
            return Value::Object(self.members.clone());
        }
        let Identity { workflow, state, input } = &*self.identity;
        // The state does work and its input is JSON, or there would be no activation.
        let identity = workflow.dag_identity(state, input).unwrap_or_default();
        Value::Object(self.members.with("identity", identity))
    }

    /// Without what follows from the rest.
    fn to_stored(&self) -> Value {
        Value::Object(self.members.without("input"))
    }
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
        status: Status,
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

    pub(super) fn set_pending(&mut self, pending: Option<Pending>) {
        self.pending = pending;
    }

    pub(super) fn set_control(&mut self, control: statechart::Snapshot) {
        self.control = control;
    }

    pub(super) fn set_status(&mut self, status: Status) {
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
