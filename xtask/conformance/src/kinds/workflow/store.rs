//! The store of a case: the last saved snapshot of each run, and saves that fail as a run tells them to.

use std::collections::BTreeMap;

use jaren_json::{ObjectBuilder, Value};

use crate::answer::count;

/// What the store holds over a whole case.
#[derive(Debug, Default)]
pub(super) struct CaseStore {
    saved: BTreeMap<String, Value>,
}

/// How a save ended that did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaveFailed {
    /// The store threw.
    Threw,
    /// The stored generation was another.
    Stale,
}

impl CaseStore {
    /// What is there for a call's run. What the call itself gives comes first, and counts from then on.
    pub(super) fn load(&mut self, call: &Value) -> Option<Value> {
        let run = run_id(call);
        match call.get("load") {
            Some(Value::Null) => {
                self.saved.remove(run);
            }
            Some(load) => {
                self.saved.insert(run.to_owned(), load.clone());
            }
            None => {}
        }
        self.saved.get(run).cloned()
    }

    /// The n-th save of a call. Answers how it is told in the case's `saves`, and how it failed.
    pub(super) fn save(
        &mut self,
        call: &Value,
        n: u64,
        expected: u64,
        snapshot: &Value,
    ) -> (Value, Result<(), SaveFailed>) {
        let fault = call.get("storeFail");
        let member = |name: &str| fault.and_then(|fault| fault.get(name));
        let mode = member("mode")
            .and_then(Value::as_str)
            .filter(|_| member("save").and_then(Value::as_u64) == Some(n));
        let stored =
            self.saved.get(run_id(call)).and_then(|saved| saved.get("generation")).and_then(Value::as_u64);
        let (outcome, result) = match mode {
            Some("throw") => (Some("throws"), Err(SaveFailed::Threw)),
            Some("stale") => (Some("stale"), Err(SaveFailed::Stale)),
            _ if stored.unwrap_or(0) != expected => (Some("stale"), Err(SaveFailed::Stale)),
            Some("late") => (Some("stored, then throws"), Err(SaveFailed::Threw)),
            _ => (None, Ok(())),
        };
        if result.is_ok() || mode == Some("late") {
            self.saved.insert(run_id(call).to_owned(), snapshot.clone());
        }
        let mut told = ObjectBuilder::new();
        told.insert("expected", count(expected));
        told.insert("snapshot", snapshot);
        if let Some(outcome) = outcome {
            told.insert("outcome", outcome);
        }
        (Value::Object(told.build()), result)
    }
}

/// The run's id: `run-1` unless the call gives one.
pub(super) fn run_id(call: &Value) -> &str {
    call.get("runId").and_then(Value::as_str).unwrap_or("run-1")
}
