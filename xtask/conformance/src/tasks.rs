//! The corpus's task registry: what each task answers, and at which version a case has it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jaren_engine::{Failure, TaskContext, Tasks};
use jaren_json::{Array, Value, value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::case::Case;

/// Every task that the corpus names.
const NAMES: [&str; 9] = ["echo", "with", "both", "add1", "fail", "null", "turn", "flaky", "cancel"];

/// What the tasks of one case share.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    run: Mutex<Run>,
    turned: Notify,
    /// How often each `flaky` was called, over the whole case.
    flaky: Mutex<BTreeMap<String, u64>>,
}

/// What the tasks of one run share.
#[derive(Debug, Default)]
struct Run {
    calls: Vec<Value>,
    turns: Vec<u64>,
    cancel: CancellationToken,
}

impl Registry {
    /// Begins a run. Its token is what the task `cancel` cancels.
    pub(crate) fn begin(&self) -> CancellationToken {
        let cancel = CancellationToken::new();
        *locked(&self.run) = Run { cancel: cancel.clone(), ..Run::default() };
        cancel
    }

    /// The calls of the run, in the order in which they started: `{task, with, input}`.
    pub(crate) fn calls(&self) -> Value {
        Value::Array(locked(&self.run).calls.iter().collect::<Array>())
    }

    /// The tasks at the versions that the case names, the others without one; where it names none, all at `version`.
    pub(crate) fn tasks(self: &Arc<Self>, case: &Case, version: Option<&str>) -> Tasks {
        let named = case.get("versions");
        let mut tasks = Tasks::new();
        for name in NAMES {
            let version = named.map_or(version, |named| named.get(name).and_then(Value::as_str));
            let nested = strings(case.get("nested").and_then(|nested| nested.get(name)));
            let registry = Arc::clone(self);
            let handler = move |_: TaskContext, with: Value, input: Value| {
                let registry = Arc::clone(&registry);
                async move { registry.call(name, with, input).await.map_err(Failure::new) }
            };
            match version {
                Some(version) => tasks.add_nested(name, version, nested, handler),
                None => tasks.add_unversioned(name, handler),
            };
        }
        tasks
    }

    async fn call(&self, task: &str, with: Value, input: Value) -> Result<Value, String> {
        locked(&self.run).calls.push(value!({ "task": task, "with": (&with), "input": (&input) }));
        match task {
            "echo" => Ok(input),
            "with" => Ok(with),
            "both" => Ok(value!({ "with": with, "input": input })),
            "add1" => input.as_f64().map(|n| Value::Number(n + 1.0)).ok_or_else(|| "not a number".to_owned()),
            "null" => Ok(Value::Null),
            "turn" => self.turn(&with, input).await,
            "flaky" => self.flaky(&with, input),
            "cancel" => {
                locked(&self.run).cancel.cancel();
                Ok(input)
            }
            _ => Err("boom".to_owned()),
        }
    }

    /// Ends only after as many calls with a lower turn.
    async fn turn(&self, with: &Value, input: Value) -> Result<Value, String> {
        let turn = with.get("turn").and_then(Value::as_u64).unwrap_or(0);
        loop {
            let turned = self.turned.notified();
            let lower = locked(&self.run).turns.iter().filter(|ended| **ended < turn).count() as u64;
            if lower >= turn {
                break;
            }
            turned.await;
        }
        locked(&self.run).turns.push(turn);
        self.turned.notify_waiters();
        if with.get("fail").and_then(Value::as_bool) == Some(true) {
            return Err(format!("turn {turn}"));
        }
        Ok(with.get("value").cloned().unwrap_or(input))
    }

    fn flaky(&self, with: &Value, input: Value) -> Result<Value, String> {
        let id = with.get("id").and_then(Value::as_str).unwrap_or_default();
        let fails = with.get("fails").and_then(Value::as_u64).unwrap_or(0);
        let mut flaky = locked(&self.flaky);
        let calls = flaky.entry(id.to_owned()).or_default();
        *calls += 1;
        if *calls <= fails { Err(format!("flaky {calls}")) } else { Ok(input) }
    }
}

fn strings(members: Option<&Value>) -> BTreeMap<String, String> {
    let members = members.and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(name, text)| Some((name.to_owned(), text.as_str()?.to_owned()))).collect()
}

/// A panicking case is counted as such; nothing that it shares is read again.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
