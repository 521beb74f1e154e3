//! Errors in the form in which cases expect them: `{"code", "docPath"?, "nodeId"?, "cause"?}`.

use jaren_engine::core::{Cause, RunError};
use jaren_flow::FlowError;
use jaren_json::{Array, Diagnostic, Object, Pointer, Report, Value};

/// What a compiler found first.
pub(crate) fn report(report: &Report) -> Value {
    diagnostic(report.first())
}

pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> Value {
    object(diagnostic.code(), Some(diagnostic.pointer().as_str()), None, diagnostic.cause().map(cause))
}

/// A case names the error that one wraps, and nothing that this one wraps in turn.
fn cause(diagnostic: &Diagnostic) -> Value {
    object(diagnostic.code(), Some(diagnostic.pointer().as_str()), None, None)
}

pub(crate) fn flow(error: &FlowError) -> Value {
    let place = error.pointer().map(Pointer::as_str);
    object(error.code(), place, error.node().map(|node| &**node), error.cause().map(cause))
}

pub(crate) fn run(error: &RunError) -> Value {
    let cause = match error.cause() {
        Some(Cause::Flow(flow)) => flow.cause().map(cause),
        Some(Cause::Run(error)) => Some(run(error)),
        // What a task threw, a guard's error and the store's words have no code of their own here.
        _ => None,
    };
    // Which node an abort meets depends on timing.
    let node = error.node().filter(|_| error.code() != "JF2007");
    object(error.code(), error.pointer(), node, cause)
}

/// The errors that a step records, without their messages and causes.
pub(crate) fn recorded(errors: &[Diagnostic]) -> Array {
    errors.iter().map(|error| object(error.code(), Some(error.pointer().as_str()), None, None)).collect()
}

fn object(code: &str, place: Option<&str>, node: Option<&str>, cause: Option<Value>) -> Value {
    let members = [
        ("code", Some(Value::from(code))),
        ("docPath", place.map(Value::from)),
        ("nodeId", node.map(Value::from)),
        ("cause", cause),
    ];
    let given = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
    Value::Object(given.collect::<Object>())
}
