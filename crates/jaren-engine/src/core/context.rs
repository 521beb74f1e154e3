//! The context of a run: what guards and inputs read, and how it changes (workflow §2).

use jaren_flow::workflow::Workflow;
use jaren_json::{Object, Str, Value, value};

use super::error::RunError;
use crate::numbers::count;

/// The context of a run that begins.
pub(super) fn fresh(input: Value) -> Object {
    let members = [
        ("input", input.clone()),
        ("data", input),
        ("event", Value::Null),
        ("results", Value::Object(Object::default())),
        ("visits", Value::Object(Object::default())),
    ];
    members.into_iter().collect()
}

/// Counts the states that were entered, against their limits (workflow §1).
pub(super) fn admit(workflow: &Workflow, context: &Object, entered: &[Str]) -> Result<Object, RunError> {
    if entered.is_empty() {
        return Ok(context.clone());
    }
    let mut record = part(context, "visits");
    for state in entered {
        let visits = record.get(state).and_then(Value::as_u64).unwrap_or(0) + 1;
        if workflow.limit(state).is_some_and(|limit| visits > limit) {
            let reason = format!("the state was entered as often as its limit allows, {} times", visits - 1);
            return Err(RunError::new("JF2015", reason).at(state.as_str()).in_state(state.clone()));
        }
        record = record.with(state, count(visits));
    }
    Ok(context.with("visits", record))
}

/// The context once a state's work has this result.
pub(super) fn with_result(context: &Object, state: &Str, result: Value) -> Object {
    context.with("results", part(context, "results").with(state, result))
}

fn part(context: &Object, name: &str) -> Object {
    context.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// `{error: {code, message, nodeId}}`: the data that a `catch` target starts with.
pub(super) fn catch_data(error: &RunError) -> Value {
    value!({ "error": { "code": error.code(), "message": error.to_string(), "nodeId": error.node() } })
}
