//! The task registry of the corpus.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jaren_engine::{Failure, TaskContext, Tasks};
use jaren_json::{Object, Value, value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What the tasks of one case share.
#[derive(Default)]
pub(crate) struct Registry {
    /// The calls of the present run, in the order of their starts.
    pub(crate) calls: Mutex<Vec<Value>>,
    /// The caller's token of the present run.
    pub(crate) cancel: Mutex<CancellationToken>,
    /// The turns completed in the present run.
    turns: Mutex<Vec<u64>>,
    turned: Notify,
    /// How often a flaky task was called, by its id, over the whole case.
    flaky: Mutex<BTreeMap<String, u64>>,
}

const NAMES: [&str; 9] = ["echo", "with", "both", "add1", "fail", "null", "turn", "flaky", "cancel"];

impl Registry {
    /// Starts another run: its calls and turns begin empty.
    pub(crate) fn begin(&self) -> CancellationToken {
        self.calls.lock().unwrap().clear();
        self.turns.lock().unwrap().clear();
        let token = CancellationToken::new();
        *self.cancel.lock().unwrap() = token.clone();
        token
    }

    /// The tasks, at the versions that the case gives them; `default` for the others.
    pub(crate) fn tasks(self: &Arc<Self>, case: &Value, default: Option<&str>) -> Tasks {
        let versions = case.get("versions");
        let mut tasks = Tasks::new();
        for name in NAMES {
            let version =
                versions.and_then(|versions| versions.get(name)).and_then(Value::as_str).or(default);
            let registry = self.clone();
            let handler = move |context: TaskContext, with: Value, input: Value| {
                let registry = registry.clone();
                async move { registry.call(name, &context, with, input).await }
            };
            let nested = case.get("nested").and_then(|nested| nested.get(name)).and_then(Value::as_object);
            let nested = nested.into_iter().flat_map(Object::iter);
            let nested: BTreeMap<_, _> = nested
                .filter_map(|(path, version)| Some((path.to_owned(), version.as_str()?.to_owned())))
                .collect();
            match version {
                Some(version) if !nested.is_empty() => tasks.add_nested(name, version, nested, handler),
                Some(version) => tasks.add_value(name, version, handler),
                None => tasks.add_unversioned(name, handler),
            };
        }
        tasks
    }

    async fn call(&self, name: &str, _: &TaskContext, with: Value, input: Value) -> Result<Value, Failure> {
        let call = value!({ "task": name, "with": with.clone(), "input": input.clone() });
        self.calls.lock().unwrap().push(call);
        match name {
            "echo" => Ok(input),
            "with" => Ok(with),
            "both" => Ok(value!({ "with": with, "input": input })),
            "add1" => match input.as_f64() {
                Some(number) => Ok(Value::Number(number + 1.0)),
                None => Err(Failure::new("not a number")),
            },
            "fail" => Err(Failure::new("boom")),
            "null" => Ok(Value::Null),
            "turn" => self.turn(&with, input).await,
            "flaky" => self.flaky(&with, input),
            _ => {
                self.cancel.lock().unwrap().cancel();
                Ok(input)
            }
        }
    }

    async fn turn(&self, with: &Value, input: Value) -> Result<Value, Failure> {
        let turn = with.get("turn").and_then(Value::as_u64).unwrap();
        loop {
            let turned = self.turned.notified();
            let lower = self.turns.lock().unwrap().iter().filter(|done| **done < turn).count() as u64;
            if lower >= turn {
                break;
            }
            turned.await;
        }
        self.turns.lock().unwrap().push(turn);
        self.turned.notify_waiters();
        match with.get("fail").and_then(Value::as_bool) {
            Some(true) => Err(Failure::new(format!("turn {turn}"))),
            _ => Ok(with.get("value").cloned().unwrap_or(input)),
        }
    }

    fn flaky(&self, with: &Value, input: Value) -> Result<Value, Failure> {
        let id = with.get("id").map(ToString::to_string).unwrap_or_default();
        let mut counts = self.flaky.lock().unwrap();
        let count = counts.entry(id).or_default();
        *count += 1;
        if *count <= with.get("fails").and_then(Value::as_u64).unwrap() {
            return Err(Failure::new(format!("flaky {count}")));
        }
        Ok(input)
    }
}
