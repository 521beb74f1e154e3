//! The store of a case: the last saved snapshot of each run, and saves that fail as a run tells them to.

use std::collections::BTreeMap;
use std::sync::Mutex;

use jaren_engine::core::SavePoint;
use jaren_engine::port::{BoxFuture, CheckpointStore, StoreError};
use jaren_json::{Array, ObjectBuilder, Value};

use crate::answer::count;
use crate::tasks::locked;

/// What the store holds over a whole case, and the run that is under way.
#[derive(Debug, Default)]
pub(super) struct CaseStore {
    saved: Mutex<BTreeMap<String, Value>>,
    run: Mutex<Run>,
}

/// What a run says about the store, and what it saved.
#[derive(Debug, Default)]
struct Run {
    load_fails: bool,
    /// Which save fails, and how.
    save_fails: Option<(usize, String)>,
    saves: Vec<Value>,
}

impl CaseStore {
    /// Begins a run. What it loads by its own word is what is there from then on.
    pub(super) fn begin(&self, run: &Value) {
        let id = run.get("runId").and_then(Value::as_str).unwrap_or("run-1");
        match run.get("load") {
            Some(Value::Null) => drop(locked(&self.saved).remove(id)),
            Some(load) => drop(locked(&self.saved).insert(id.to_owned(), load.clone())),
            None => {}
        }
        let fault = |member: &str| run.get("storeFail").and_then(|fault| fault.get(member));
        let number = fault("save").and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        let mode = fault("mode").and_then(Value::as_str).map(ToOwned::to_owned);
        *locked(&self.run) =
            Run { load_fails: fault("load").is_some(), save_fails: number.zip(mode), saves: Vec::new() };
    }

    /// The calls of save in the run, in order: `{expected, snapshot, outcome?}`.
    pub(super) fn saves(&self) -> Value {
        Value::Array(locked(&self.run).saves.iter().collect::<Array>())
    }

    fn store(&self, id: &str, snapshot: &Value, expected: u64) -> Result<bool, StoreError> {
        let mut run = locked(&self.run);
        let mut saved = locked(&self.saved);
        let number = run.saves.len().saturating_add(1);
        let mode = run.save_fails.as_ref().filter(|(failing, _)| *failing == number).map(|(_, mode)| &**mode);
        let stored = saved.get(id).and_then(|saved| saved.get("generation")?.as_u64()).unwrap_or(0);
        let (outcome, answer) = match mode {
            Some("throw") => (Some("throws"), Err("the save failed".into())),
            Some("late") => (Some("stored, then throws"), Err("the answer was lost".into())),
            Some(_) => (Some("stale"), Ok(false)),
            None if stored != expected => (Some("stale"), Ok(false)),
            None => (None, Ok(true)),
        };
        if matches!(answer, Ok(true)) || mode == Some("late") {
            saved.insert(id.to_owned(), snapshot.clone());
        }
        let mut told = ObjectBuilder::new();
        told.insert("expected", count(expected));
        told.insert("snapshot", snapshot);
        if let Some(outcome) = outcome {
            told.insert("outcome", outcome);
        }
        run.saves.push(Value::Object(told.build()));
        answer
    }
}

impl CheckpointStore for CaseStore {
    fn load<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<Value>, StoreError>> {
        let answer = if locked(&self.run).load_fails {
            Err("the load failed".into())
        } else {
            Ok(locked(&self.saved).get(run).cloned())
        };
        Box::pin(async { answer })
    }

    fn save<'a>(
        &'a self,
        run: &'a str,
        point: &'a SavePoint,
        expected: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let answer = self.store(run, &point.snapshot.to_value(), expected);
        Box::pin(async { answer })
    }
}
