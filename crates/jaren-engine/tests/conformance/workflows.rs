//! Runs of workflows: every save, task call and trace record is compared.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jaren_engine::core::{RunError, SavePoint};
use jaren_engine::port::{BoxFuture, Call, CheckpointStore, Ended, Outcome, StoreError, Workflows};
use jaren_engine::{Drive, Record};
use jaren_json::{Object, Value, value};

use crate::corpus::{check, decode, equal, flag, same_error, text};
use crate::registry::Registry;

#[tokio::test]
async fn the_runs_of_workflows() {
    check(&["workflow/runs-1.json", "workflow/runs-2.json"], case).await;
}

#[tokio::test]
async fn workflows_over_failing_stores() {
    check(&["workflow/crash-1.json", "workflow/crash-2.json", "workflow/crash-3.json"], case).await;
}

#[tokio::test]
async fn tampered_snapshots() {
    check(&["workflow/tamper-1.json", "workflow/tamper-2.json"], case).await;
}

/// The store of a case, and the script of the present run.
#[derive(Default)]
struct Store {
    snapshots: Mutex<BTreeMap<String, Value>>,
    script: Mutex<Script>,
}

#[derive(Default)]
struct Script {
    load: Option<Value>,
    load_fails: bool,
    save_fails: Option<(usize, String)>,
    /// The generation that the first save is compared with, when `load` is given.
    compared: Option<u64>,
    saves: Vec<Value>,
}

impl CheckpointStore for Store {
    fn load<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<Value>, StoreError>> {
        let script = self.script.lock().unwrap();
        let answer = if script.load_fails {
            Err("load".into())
        } else {
            Ok(script.load.clone().or_else(|| self.snapshots.lock().unwrap().get(run).cloned()))
        };
        Box::pin(async { answer })
    }

    fn save<'a>(
        &'a self,
        run: &'a str,
        point: &'a SavePoint,
        expected: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let answer = self.store(run, point.snapshot.to_value(), expected);
        Box::pin(async { answer })
    }
}

impl Store {
    fn store(&self, run: &str, snapshot: Value, expected: u64) -> Result<bool, StoreError> {
        let mut script = self.script.lock().unwrap();
        let mut snapshots = self.snapshots.lock().unwrap();
        let stored = snapshots.get(run).and_then(|stored| stored.get("generation")?.as_u64()).unwrap_or(0);
        let stored = script.compared.take().unwrap_or(stored);
        let number = script.saves.len() + 1;
        let mode = script.save_fails.as_ref().filter(|(at, _)| *at == number).map(|(_, mode)| mode.clone());
        let mut save = value!({ "expected": number_of(expected), "snapshot": snapshot.clone() });
        let mut tell = |outcome: &str| {
            save = Value::Object(save.as_object().unwrap().with("outcome", outcome));
        };
        let answer = match mode.as_deref() {
            Some("throw") => {
                tell("throws");
                Err("save".into())
            }
            Some("late") => {
                tell("stored, then throws");
                snapshots.insert(run.into(), snapshot);
                Err("save".into())
            }
            Some(_) => {
                tell("stale");
                Ok(false)
            }
            None if stored != expected => {
                tell("stale");
                Ok(false)
            }
            None => {
                snapshots.insert(run.into(), snapshot);
                Ok(true)
            }
        };
        script.saves.push(save);
        answer
    }
}

fn number_of(count: u64) -> Value {
    Value::Number(f64::from(u32::try_from(count).unwrap()))
}

struct Case<'a> {
    given: &'a Value,
    runs: Workflows,
    registry: Arc<Registry>,
    store: Option<Arc<Store>>,
}

async fn case(case: &Value) -> Result<(), String> {
    let registry = Arc::new(Registry::default());
    let tasks = registry.tasks(case, Some("1"));
    let store = (!flag(case, "noStore")).then(Arc::<Store>::default);
    let port = store.clone().map(|store| store as Arc<dyn CheckpointStore>);
    let runs = Workflows::compile(case.get("document").unwrap(), tasks, port)
        .map_err(|report| report.to_string())?;
    let case = Case { given: case, runs, registry, store };
    for (index, run) in case.given.get("runs").unwrap().as_array().unwrap().iter().enumerate() {
        match run.get("together").and_then(Value::as_array) {
            Some(both) => case.together(both).await,
            None => case.run(run).await,
        }
        .map_err(|why| format!("run {index}: {why}"))?;
    }
    Ok(())
}

impl Case<'_> {
    async fn run(&self, run: &Value) -> Result<(), String> {
        let token = self.registry.begin();
        if text(run, "abort") == "before" {
            token.cancel();
        }
        let trace = Arc::new(Mutex::new(Vec::new()));
        if let Some(store) = &self.store {
            *store.script.lock().unwrap() = self.script(run);
        }
        let records = trace.clone();
        let mut call = self.call(run);
        call.drive = Drive::new().cancelled_by(token).observed_by(move |record: &Record| {
            if let Some(record) = trace_record(record) {
                records.lock().unwrap().push(record);
            }
        });
        let ended = self.runs.run(call).await;
        let expect = run.get("expect").unwrap();
        self.compare_end(&ended, expect)?;
        if let (Some(store), Some(saves)) = (&self.store, expect.get("saves")) {
            let found = std::mem::take(&mut store.script.lock().unwrap().saves);
            self.compare_saves(&found, saves.as_array().unwrap())?;
        }
        if let Some(tasks) = expect.get("tasks") {
            equal("tasks", &Value::from(self.registry.calls.lock().unwrap().clone()), tasks)?;
        }
        if let Some(expected) = expect.get("trace").filter(|_| flag(self.given, "trace")) {
            equal("trace", &Value::from(trace.lock().unwrap().clone()), expected)?;
        }
        Ok(())
    }

    async fn together(&self, both: &[Value]) -> Result<(), String> {
        self.registry.begin();
        *self.store.as_ref().unwrap().script.lock().unwrap() = Script::default();
        let (first, second) = (self.call(&both[0]), self.call(&both[1]));
        let (first, second) = tokio::join!(self.runs.run(first), self.runs.run(second));
        self.compare_end(&first, both[0].get("expect").unwrap())?;
        self.compare_end(&second, both[1].get("expect").unwrap())
    }

    fn call(&self, run: &Value) -> Call {
        let id = run.get("runId").and_then(Value::as_str).unwrap_or("run-1");
        let mut call = Call::new(id, run.get("input").map(decode).unwrap_or_default());
        call.snapshot = run.get("snapshot").map(|snapshot| self.expand(snapshot));
        call.expected_generation = run.get("expectedGeneration").and_then(Value::as_u64);
        // A time that is no number is the caller's type error here; the nearest thing is a time that is none.
        call.now = run.get("now").map(|now| now.as_f64().unwrap_or(f64::NAN));
        call.event = run.get("event").map(decode);
        call
    }

    fn script(&self, run: &Value) -> Script {
        let fail = run.get("storeFail");
        let save = fail.and_then(|fail| Some((fail.get("save")?.as_u64()?, text(fail, "mode").to_owned())));
        let load = run.get("load").map(|load| self.expand(load));
        let compared = load.as_ref().map(|load| load.get("generation").and_then(Value::as_u64).unwrap_or(0));
        Script {
            compared,
            load,
            load_fails: fail.is_some_and(|fail| flag(fail, "load")),
            save_fails: save.map(|(number, mode)| (usize::try_from(number).unwrap(), mode)),
            saves: Vec::new(),
        }
    }

    fn compare_end(&self, ended: &Result<Ended, RunError>, expect: &Value) -> Result<(), String> {
        match (ended, expect.get("error")) {
            (Err(error), Some(expected)) => same_error(error, expected),
            (Err(error), None) => Err(format!("failed: {error}")),
            (Ok(ended), Some(expected)) => Err(format!("expected {expected}, found {:?}", ended.outcome)),
            (Ok(ended), None) => {
                let status = if ended.outcome == Outcome::Done { "done" } else { "waiting" };
                equal("status", &Value::from(status), expect.get("status").unwrap())?;
                let loose = |value: &Value| {
                    if flag(self.given, "looseMessage") { loosened(value) } else { value.clone() }
                };
                equal("result", &loose(&ended.result), &loose(expect.get("result").unwrap()))?;
                if let Some(generation) = expect.get("generation") {
                    equal("generation", &number_of(ended.generation), generation)?;
                }
                match expect.get("snapshot") {
                    Some(snapshot) => equal("snapshot", &ended.snapshot, &self.expand(snapshot)),
                    None => Ok(()),
                }
            }
        }
    }

    fn compare_saves(&self, found: &[Value], expected: &[Value]) -> Result<(), String> {
        for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
            let expected = self.expand(expected);
            let (found, expected) = if flag(self.given, "looseMessage") {
                (loosened(found), loosened(&expected))
            } else {
                (found.clone(), expected)
            };
            equal(&format!("save {}", number + 1), &found, &expected)?;
        }
        equal("number of saves", &number_of(found.len() as u64), &number_of(expected.len() as u64))
    }

    /// Puts the identities back that the corpus writes once a case.
    fn expand(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if text == "@identity" => self.given.get("identity").cloned().unwrap(),
            Value::Array(items) => items.iter().map(|item| self.expand(item)).collect(),
            Value::Object(object) => {
                if let Some(state) = object.get("@dagIdentity").and_then(Value::as_str) {
                    let identity = self.given.get("dagIdentities").and_then(|all| all.get(state)).unwrap();
                    let input = object.get("input").cloned().unwrap();
                    return Value::Object(identity.as_object().unwrap().with("input", input));
                }
                Value::Object(
                    object.iter().map(|(name, member)| (name, self.expand(member))).collect::<Object>(),
                )
            }
            other => other.clone(),
        }
    }
}

/// A message that quotes a query error, up to that error's code.
fn loosened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("JF2006: ") => {
            let end = text.find("JQ").map_or(text.len(), |at| at + 6);
            Value::from(text.get(..end).unwrap_or(text))
        }
        Value::Array(items) => items.iter().map(loosened).collect(),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(name, member)| (name, loosened(member))).collect())
        }
        other => other.clone(),
    }
}

/// The records of the format's trace, without times.
fn trace_record(record: &Record) -> Option<Value> {
    match record {
        Record::Started { .. } | Record::Committed { .. } => None,
        _ => Some(Value::Object(record.to_value().as_object().unwrap().without("ms"))),
    }
}
