//! Reading the corpus and comparing answers with it.

use std::path::PathBuf;

use jaren_engine::core::{Cause, RunError};
use jaren_json::{ReadOptions, Value, read};

/// The cases of one file; none, said aloud, where the corpus is not there.
pub(crate) fn cases(file: &str) -> Vec<Value> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance")).join(file);
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: the conformance corpus is not at {}", path.display());
        return Vec::new();
    };
    let cases = read(&bytes, &ReadOptions::document()).unwrap_or_else(|error| panic!("{file}: {error}"));
    cases.as_array().unwrap().to_vec()
}

/// Runs the cases that have runs and fails with up to twenty names, except those that need what is not built yet.
pub(crate) async fn check(files: &[&str], run: impl AsyncFn(&Value) -> Result<(), String>) {
    let (mut passed, mut skipped, mut failed) = (0, 0, Vec::new());
    for case in files.iter().flat_map(|file| cases(file)).filter(|case| case.get("runs").is_some()) {
        match run(&case).await {
            Ok(()) => passed += 1,
            Err(_) if unbuilt(&case) => skipped += 1,
            Err(why) => failed.push(format!("{}: {why}", text(&case, "name"))),
        }
    }
    println!("{files:?}: {passed} passed, {skipped} need the whole language, {} failed", failed.len());
    assert!(failed.is_empty(), "{}", failed.iter().take(20).cloned().collect::<Vec<_>>().join("\n"));
}

/// Stylesheets come with their own issue, and a part of the query language too.
fn unbuilt(case: &Value) -> bool {
    case.get("document").is_some_and(|document| document.to_string().contains("\"jslt\""))
}

pub(crate) fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn flag(value: &Value, member: &str) -> bool {
    value.get(member).and_then(Value::as_bool).unwrap_or(false)
}

/// Answers write the numbers that JSON has not as `{"@number": "NaN"}`.
pub(crate) fn decode(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(decode).collect()),
        Value::Object(object) => match object.get("@number").and_then(Value::as_str) {
            Some("NaN") => Value::Number(f64::NAN),
            Some("Infinity") => Value::Number(f64::INFINITY),
            Some("-Infinity") => Value::Number(f64::NEG_INFINITY),
            Some(_) => Value::Number(-0.0),
            None => Value::Object(object.iter().map(|(name, value)| (name, decode(value))).collect()),
        },
        other => other.clone(),
    }
}

pub(crate) fn equal(what: &str, found: &Value, expected: &Value) -> Result<(), String> {
    if *found == decode(expected) {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected}, found {found}"))
    }
}

/// An error as the cases write it.
pub(crate) fn error_value(error: &RunError) -> Value {
    let cause = match error.cause() {
        Some(Cause::Flow(error)) => {
            error.cause().map(|cause| (cause.code(), Some(cause.pointer().to_string())))
        }
        Some(Cause::Run(error)) => Some((error.code(), error.pointer().map(String::from))),
        _ => None,
    };
    let cause = cause.map(|(code, pointer)| coded(code, pointer.as_deref(), None, None));
    coded(error.code(), error.pointer(), error.node(), cause)
}

fn coded(code: &str, pointer: Option<&str>, node: Option<&str>, cause: Option<Value>) -> Value {
    let members = [
        ("code", Some(Value::from(code))),
        ("docPath", pointer.map(Value::from)),
        ("nodeId", node.map(Value::from)),
        ("cause", cause),
    ];
    Value::Object(members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

/// A cancelled run says nothing that depends on timing.
pub(crate) fn same_error(found: &RunError, expected: &Value) -> Result<(), String> {
    if found.code() == "JF2007" && text(expected, "code") == "JF2007" {
        return Ok(());
    }
    equal("error", &error_value(found), expected).map_err(|why| format!("{why} ({found})"))
}
