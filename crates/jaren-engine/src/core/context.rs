//! The context of a run: what guards and inputs read, and how it changes (workflow §2).

use std::sync::{Arc, LazyLock};

use jaren_flow::workflow::Workflow;
use jaren_json::delta::BatchText;
use jaren_json::{Object, Shape, Str, Value, value};

use super::error::RunError;
use crate::numbers::count;

/// `{input, data, event, results, visits}`, in parts: a change copies the parts and nothing that they hold, and the object
/// is made when somebody reads it. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Context(Arc<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    /// The members as they were read, where they are others than those that a run begins with, or in another order.
    form: Option<Object>,
    input: Value,
    data: Value,
    event: Value,
    results: Object,
    visits: Object,
}

/// The members of a run that begins.
static FORM: LazyLock<Option<Shape>> =
    LazyLock::new(|| Shape::new(["input", "data", "event", "results", "visits"]));

impl Context {
    /// The context of a run that begins.
    pub(super) fn fresh(input: Value) -> Self {
        Context(Arc::new(Parts {
            form: None,
            data: input.clone(),
            input,
            event: Value::Null,
            results: Object::default(),
            visits: Object::default(),
        }))
    }

    /// That of a saved run, whose members have been checked.
    pub(super) fn read(saved: &Object) -> Self {
        let value = |name| saved.get(name).cloned().unwrap_or_default();
        let object = |name| saved.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        let usual = FORM.as_ref().is_some_and(|form| saved.keys() == form.names());
        Context(Arc::new(Parts {
            form: (!usual).then(|| saved.clone()),
            input: value("input"),
            data: value("data"),
            event: value("event"),
            results: object("results"),
            visits: object("visits"),
        }))
    }

    /// What guards and inputs read.
    pub(super) fn to_object(&self) -> Object {
        let parts = &*self.0;
        if let (None, Some(form)) = (&parts.form, &*FORM) {
            return Object::from_shape_fn(form, |position, place| {
                *place = match position {
                    0 => parts.input.clone(),
                    1 => parts.data.clone(),
                    2 => parts.event.clone(),
                    3 => Value::Object(parts.results.clone()),
                    _ => Value::Object(parts.visits.clone()),
                }
            });
        }
        let form = parts.form.clone().unwrap_or_default();
        let member = |(name, kept): (&str, &Value)| {
            let value = match name {
                "input" => parts.input.clone(),
                "data" => parts.data.clone(),
                "event" => parts.event.clone(),
                "results" => Value::Object(parts.results.clone()),
                "visits" => Value::Object(parts.visits.clone()),
                _ => kept.clone(),
            };
            (Str::from(name), value)
        };
        form.iter().map(member).collect()
    }

    /// Have they other members, or in another order?
    pub(super) fn has_other_form(&self, other: &Self) -> bool {
        match (&self.0.form, &other.0.form) {
            (None, None) => false,
            (Some(one), Some(other)) => !one.ptr_eq(other),
            _ => true,
        }
    }

    /// Adds the operations that lead here from an earlier context of the same form.
    pub(super) fn changes(&self, before: &Self, batch: &mut BatchText) {
        let (new, old) = (&*self.0, &*before.0);
        batch.change(&["context", "input"], &old.input, &new.input);
        batch.change(&["context", "data"], &old.data, &new.data);
        batch.change(&["context", "event"], &old.event, &new.event);
        records("results", &old.results, &new.results, batch);
        records("visits", &old.visits, &new.visits, batch);
    }

    /// The current data.
    pub(super) fn data(&self) -> &Value {
        &self.0.data
    }

    /// How often each state was entered.
    pub(super) fn visits(&self) -> &Object {
        &self.0.visits
    }

    pub(super) fn set_data(&mut self, data: Value) {
        Arc::make_mut(&mut self.0).data = data;
    }

    pub(super) fn set_event(&mut self, event: Value) {
        Arc::make_mut(&mut self.0).event = event;
    }

    /// A state's work has this result.
    pub(super) fn set_result(&mut self, workflow: &Workflow, state: &Str, result: Value) {
        let parts = Arc::make_mut(&mut self.0);
        parts.results = workflow.with_record(&parts.results, state, result);
    }

    /// Counts the states that were entered, against their limits (workflow §1).
    pub(super) fn admit(&mut self, workflow: &Workflow, entered: &[Str]) -> Result<(), RunError> {
        for state in entered {
            let visits = self.0.visits.get(state).and_then(Value::as_u64).unwrap_or(0) + 1;
            if workflow.limit(state).is_some_and(|limit| visits > limit) {
                let reason =
                    format!("the state was entered as often as its limit allows, {} times", visits - 1);
                return Err(RunError::new("JF2015", reason).at(state.as_str()).in_state(state.clone()));
            }
            let parts = Arc::make_mut(&mut self.0);
            parts.visits = workflow.with_record(&parts.visits, state, count(visits));
        }
        Ok(())
    }
}

/// Adds the operations that lead from the one to the other. Of a large object it is known what differs; a small one has
/// mostly the same members in the same places, and perhaps one more.
fn records(name: &str, old: &Object, new: &Object, batch: &mut BatchText) {
    const SMALL_MAX: usize = 63;
    if old.ptr_eq(new) {
        return;
    }
    let alike = |small: &Object| small.keys().iter().zip(new.keys()).all(|(old, new)| old == new);
    if new.len() > SMALL_MAX || new.len() < old.len() || !alike(old) {
        batch.change(&["context", name], &Value::Object(old.clone()), &Value::Object(new.clone()));
        return;
    }
    let before = old.values().iter().map(Some).chain(std::iter::repeat(None));
    for ((state, value), before) in new.iter().zip(before) {
        match before {
            Some(before) => batch.change(&["context", name, state], before, value),
            None => batch.set(&["context", name, state], value),
        }
    }
}

/// `{error: {code, message, nodeId}}`: the data that a `catch` target starts with.
pub(super) fn catch_data(error: &RunError) -> Value {
    value!({ "error": { "code": error.code(), "message": error.to_string(), "nodeId": error.node() } })
}
