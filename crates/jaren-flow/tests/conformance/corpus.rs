//! Reading the conformance corpus and comparing answers with it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jaren_flow::{TaskEntry, TaskVersions};
use jaren_json::{Diagnostic, ReadOptions, Value, read};

/// The cases of one file; `None`, said aloud, where the corpus is not there.
pub(crate) fn cases(file: &str) -> Option<Vec<Value>> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance")).join(file);
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: the conformance corpus is not at {}", path.display());
        return None;
    };
    let cases = read(&bytes, &ReadOptions::document()).unwrap_or_else(|error| panic!("{file}: {error}"));
    Some(cases.as_array().unwrap().to_vec())
}

/// Runs every case, prints the counts, and fails with up to twenty names.
pub(crate) fn check(file: &str, run: impl Fn(&Value) -> Result<(), String>) {
    let Some(cases) = cases(file) else { return };
    let fails = |case| run(case).err().map(|why| format!("{}: {why}", text(case, "name")));
    let failed: Vec<String> = cases.iter().filter_map(fails).collect();
    println!("{file}: {} passed, {} failed", cases.len() - failed.len(), failed.len());
    assert!(failed.is_empty(), "{file}:\n{}", failed.iter().take(20).cloned().collect::<Vec<_>>().join("\n"));
}

pub(crate) fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
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

/// Whether the first defect is the one that the case names: code, pointer and the query error it wraps.
pub(crate) fn same_defect(found: &Diagnostic, expected: &Value) -> Result<(), String> {
    let matches = |found: &Diagnostic, expected: &Value| {
        found.code() == text(expected, "code")
            && expected.get("docPath").is_none_or(|path| path.as_str() == Some(found.pointer().as_str()))
    };
    let cause = match (expected.get("cause"), found.cause()) {
        (None, _) => true,
        (Some(expected), found) => found.is_some_and(|found| matches(found, expected)),
    };
    if matches(found, expected) && cause {
        Ok(())
    } else {
        Err(format!("expected {expected}, found {found} ({:?})", found.cause().map(ToString::to_string)))
    }
}

/// The tasks of the corpus as a case registers them.
pub(crate) struct Registry {
    versions: BTreeMap<String, String>,
    nested: BTreeMap<String, BTreeMap<String, String>>,
}

const TASKS: [&str; 9] = ["echo", "with", "both", "add1", "fail", "null", "turn", "flaky", "cancel"];

impl Registry {
    /// `fallback` is the version of a task that `versions` does not name; `None` registers it bare.
    pub(crate) fn of(case: &Value, fallback: Option<&str>) -> Self {
        let map = |value: &Value| -> BTreeMap<String, String> {
            let entries = value.as_object().unwrap().iter();
            entries.map(|(name, version)| (name.to_owned(), version.as_str().unwrap().to_owned())).collect()
        };
        let versions = match (case.get("versions"), fallback) {
            (Some(versions), _) => map(versions),
            (None, Some(version)) => TASKS.map(|task| (task.to_owned(), version.to_owned())).into(),
            (None, None) => BTreeMap::new(),
        };
        let nested = case.get("nested").and_then(Value::as_object);
        let nested = nested.into_iter().flatten().map(|(name, paths)| (name.to_owned(), map(paths)));
        Self { versions, nested: nested.collect() }
    }
}

impl TaskVersions for Registry {
    fn version(&self, task: &str) -> TaskEntry<'_> {
        match self.versions.get(task) {
            Some(version) => TaskEntry::Version(version),
            None if TASKS.contains(&task) => TaskEntry::Unversioned,
            None => TaskEntry::Missing,
        }
    }

    fn nested(&self, task: &str) -> Option<&BTreeMap<String, String>> {
        self.nested.get(task)
    }
}
