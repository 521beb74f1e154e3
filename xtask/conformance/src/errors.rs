//! Errors in the form in which cases expect them: `{"code", "docPath"?, "nodeId"?, "cause"?}`.

use jaren_flow::FlowError;
use jaren_json::{Diagnostic, ObjectBuilder, Pointer, Report, Value};

/// What a compiler found first.
pub(crate) fn report(report: &Report) -> Value {
    diagnostic(report.first())
}

pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> Value {
    object(diagnostic.code(), Some(diagnostic.pointer()), None, diagnostic.cause())
}

pub(crate) fn flow(error: &FlowError) -> Value {
    object(error.code(), error.pointer(), error.node().map(|node| &**node), error.cause())
}

fn object(code: &str, place: Option<&Pointer>, node: Option<&str>, cause: Option<&Diagnostic>) -> Value {
    let mut members = ObjectBuilder::new();
    members.insert("code", code);
    if let Some(place) = place {
        members.insert("docPath", place.as_str());
    }
    if let Some(node) = node {
        members.insert("nodeId", node);
    }
    if let Some(cause) = cause {
        members.insert("cause", diagnostic(cause));
    }
    Value::Object(members.build())
}
