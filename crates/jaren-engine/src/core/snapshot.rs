//! The snapshot of a run: the published `jaren-workflow-run/0.1` JSON, in parts.
//!
//! Every change replaces a part and shares the others, so a save point costs by what it changes, and only those that
//! are really saved are written as JSON. Members that we do not know are kept (workflow §5).

use std::sync::{Arc, LazyLock};

use jaren_flow::statechart;
use jaren_flow::workflow::FORMAT;
use jaren_json::delta::BatchText;
use jaren_json::{Object, Shape, Str, Value};

use super::context::Context;
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
pub struct Snapshot(Arc<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    /// The published members as they were read or first written: their names and order, and what never changes.
    form: Object,
    context: Context,
    control: statechart::Snapshot,
    pending: Option<Pending>,
    generation: u64,
    status: SnapshotStatus,
}

/// The members of a run that begins.
static FORM: LazyLock<Option<Shape>> = LazyLock::new(|| {
    Shape::new(["format", "runId", "identity", "generation", "control", "context", "pending", "status"])
});

impl Snapshot {
    /// The snapshot of a run that nothing has been saved of: generation zero.
    pub(super) fn fresh(
        run: &str,
        identity: &Value,
        control: statechart::Snapshot,
        context: Context,
        status: SnapshotStatus,
    ) -> Self {
        let members = FORM.as_ref().map(|form| {
            Object::from_shape_fn(form, |position, place| {
                *place = match position {
                    0 => Value::from(FORMAT),
                    1 => Value::from(run),
                    2 => identity.clone(),
                    _ => Value::Null,
                }
            })
        });
        let form = members.unwrap_or_default();
        Snapshot(Arc::new(Parts { form, context, control, pending: None, generation: 0, status }))
    }

    /// A snapshot whose members have been checked (`super::restore`).
    pub(super) fn checked(
        form: Object,
        context: &Object,
        control: statechart::Snapshot,
        pending: Option<Pending>,
        generation: u64,
        status: SnapshotStatus,
    ) -> Self {
        let context = Context::read(context);
        Snapshot(Arc::new(Parts { form, context, control, pending, generation, status }))
    }

    /// The same with an activation that is to go on.
    pub(super) fn resumed(mut self, pending: Pending) -> Self {
        self.set_pending(Some(pending));
        self
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
        let parts = &*self.0;
        let Some(shape) = parts.form.shape() else { return Value::Object(Object::default()) };
        let object = Object::from_shape_fn(shape, |position, place| {
            let name = shape.names().get(position).map_or("", Str::as_str);
            *place = match name {
                "generation" => count(parts.generation),
                "control" => parts.control.to_value(),
                "context" => Value::Object(parts.context.to_object()),
                "pending" => parts.pending.as_ref().map(&pending).unwrap_or_default(),
                "status" => Value::from(parts.status.as_str()),
                _ => parts.form.values().get(position).cloned().unwrap_or_default(),
            };
        });
        Value::Object(object)
    }

    /// The operations that lead from what an earlier state of the run keeps in our store to what this one does; nothing
    /// where that cannot be told from their parts.
    pub(crate) fn changes(&self, before: &Self) -> Option<BatchText> {
        let (new, old) = (&*self.0, &*before.0);
        if !new.form.ptr_eq(&old.form) || new.context.has_other_form(&old.context) {
            return None;
        }
        let mut batch = BatchText::new();
        if new.generation != old.generation {
            batch.set(&["generation"], &count(new.generation));
        }
        for (name, value) in new.control.changes(&old.control)? {
            batch.set(&["control", name], &value);
        }
        new.context.changes(&old.context, &mut batch);
        match (&new.pending, &old.pending) {
            (Some(new), Some(old)) => new.changes(old, &mut batch),
            (None, None) => {}
            (new, _) => {
                batch.set(&["pending"], &new.as_ref().map(Pending::to_stored).unwrap_or_default());
            }
        }
        if new.status != old.status {
            batch.set(&["status"], &Value::from(new.status.as_str()));
        }
        Some(batch)
    }

    /// How many save points this state has behind it.
    pub fn generation(&self) -> u64 {
        self.0.generation
    }

    /// Where the run stands.
    pub fn status(&self) -> SnapshotStatus {
        self.0.status
    }

    /// The statechart's part.
    pub fn control(&self) -> &statechart::Snapshot {
        &self.0.control
    }

    /// What guards and inputs read: `{input, data, event, results, visits}` (workflow §2).
    pub fn context(&self) -> Object {
        self.0.context.to_object()
    }

    /// The current data; the result of a run that is done.
    pub fn data(&self) -> &Value {
        self.0.context.data()
    }

    /// How often the run has entered a state.
    pub fn visits(&self, state: &str) -> u64 {
        self.0.context.visits().get(state).and_then(Value::as_u64).unwrap_or(0)
    }

    /// The activation that is not finished, if there is one.
    pub fn pending(&self) -> Option<&Pending> {
        self.0.pending.as_ref()
    }

    /// The active leaf. A workflow has exactly one.
    pub fn active(&self) -> Str {
        self.0.control.leaf().cloned().unwrap_or_default()
    }

    pub(super) fn context_mut(&mut self) -> &mut Context {
        &mut Arc::make_mut(&mut self.0).context
    }

    pub(super) fn pending_mut(&mut self) -> Option<&mut Pending> {
        Arc::make_mut(&mut self.0).pending.as_mut()
    }

    pub(super) fn set_pending(&mut self, pending: Option<Pending>) {
        Arc::make_mut(&mut self.0).pending = pending;
    }

    pub(super) fn set_control(&mut self, control: statechart::Snapshot) {
        Arc::make_mut(&mut self.0).control = control;
    }

    pub(super) fn set_status(&mut self, status: SnapshotStatus) {
        if self.0.status != status {
            Arc::make_mut(&mut self.0).status = status;
        }
    }

    /// The next generation: what makes a change a save point.
    pub(super) fn advance(&mut self) -> Result<u64, RunError> {
        let generation = self.0.generation;
        if generation >= GENERATION_MAX {
            return Err(RunError::new("JF2016", "the snapshot's generation is exhausted"));
        }
        Arc::make_mut(&mut self.0).generation = generation + 1;
        Ok(generation + 1)
    }
}
