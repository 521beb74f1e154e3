//! Runs of stand-alone dags.

use std::sync::{Arc, Mutex};

use jaren_engine::port::{BoxFuture, DagCall, DagStore, Dags, StoreError};
use jaren_engine::{Drive, Record};
use jaren_json::{Value, value};

use crate::corpus::{check, decode, equal, flag, same_error, text};
use crate::registry::Registry;

#[tokio::test]
async fn the_runs_of_dags() {
    check(&["dag/runs.json", "dag/random.json"], case).await;
}

#[tokio::test]
async fn dags_that_keep_checkpoints() {
    check(&["dag/checkpoints.json"], case).await;
}

#[derive(Default)]
struct Store {
    load: Mutex<Value>,
    fail: Mutex<Value>,
    calls: Mutex<Vec<Value>>,
    identity: Mutex<Option<Value>>,
}

impl Store {
    /// Notes a call; fails if the case says so.
    fn call(&self, call: Value, identity: Option<&Value>, fails: bool) -> Result<(), StoreError> {
        self.calls.lock().unwrap().push(call);
        *self.identity.lock().unwrap() = identity.cloned();
        if fails { Err("store".into()) } else { Ok(()) }
    }

    fn fails(&self, what: &str) -> bool {
        self.fail.lock().unwrap().get(what).is_some()
    }
}

impl DagStore for Store {
    fn load<'a>(
        &'a self,
        run: &'a str,
        identity: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Option<Value>, StoreError>> {
        let called = self.call(value!({ "call": "load", "runId": run }), identity, self.fails("load"));
        let loaded = Some(self.load.lock().unwrap().clone()).filter(|loaded| !loaded.is_null());
        Box::pin(async { called.map(|()| loaded) })
    }

    fn save<'a>(
        &'a self,
        run: &'a str,
        node: &'a str,
        value: &'a Value,
        identity: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let call = value!({ "call": "save", "runId": run, "node": node, "value": value });
        let fails = self.fail.lock().unwrap().get("save").is_some_and(|failing| *failing == node);
        let called = self.call(call, identity, fails);
        Box::pin(async { called })
    }

    fn complete<'a>(
        &'a self,
        run: &'a str,
        result: &'a Value,
        identity: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let call = value!({ "call": "complete", "runId": run, "result": result });
        let called = self.call(call, identity, self.fails("complete"));
        Box::pin(async { called })
    }
}

async fn case(case: &Value) -> Result<(), String> {
    let registry = Arc::new(Registry::default());
    let tasks = registry.tasks(case, None);
    let store = flag(case, "checkpoint").then(Arc::<Store>::default);
    let port = store.clone().map(|store| store as Arc<dyn DagStore>);
    let revision = case.get("revision").and_then(Value::as_str).map(String::from);
    let dags = Dags::compile(case.get("document").unwrap(), tasks, port, revision);
    let dags = dags.map_err(|report| report.to_string())?;
    for (index, run) in case.get("runs").unwrap().as_array().unwrap().iter().enumerate() {
        one(case, &dags, &registry, store.as_ref(), run)
            .await
            .map_err(|why| format!("run {index}: {why}"))?;
    }
    Ok(())
}

async fn one(
    case: &Value,
    dags: &Dags,
    registry: &Registry,
    store: Option<&Arc<Store>>,
    run: &Value,
) -> Result<(), String> {
    let token = registry.begin();
    if text(run, "abort") == "before" {
        token.cancel();
    }
    if let Some(store) = store {
        *store.load.lock().unwrap() = run.get("load").map(decode).unwrap_or_default();
        *store.fail.lock().unwrap() = run.get("storeFail").cloned().unwrap_or_default();
        store.calls.lock().unwrap().clear();
        *store.identity.lock().unwrap() = None;
    }
    let records = Arc::new(Mutex::new(Vec::new()));
    let seen = records.clone();
    let drive = Drive::new().cancelled_by(token).observed_by(move |record: &Record| {
        if let Record::Node { node, status, .. } = record {
            seen.lock().unwrap().push(value!({ "id": node, "status": status.as_str() }));
        }
    });
    let input = run.get("input").map(decode).unwrap_or_default();
    let id = run.get("runId").and_then(Value::as_str).unwrap_or("run-1").to_owned();
    let ended = dags.run(DagCall { run: id, input, drive }).await;
    let expect = run.get("expect").unwrap();
    match (&ended, expect.get("error")) {
        (Err(error), Some(expected)) => same_error(error, expected)?,
        (Err(error), None) => return Err(format!("failed: {error}")),
        (Ok(result), Some(expected)) => return Err(format!("expected {expected}, found {result}")),
        (Ok(result), None) => equal("result", result, expect.get("result").unwrap())?,
    }
    if ended.is_err() && !flag(case, "sequential") {
        return Ok(());
    }
    let records = records.lock().unwrap().clone();
    compare_lists("records", records, expect.get("records"), flag(case, "sequential"))?;
    if let Some(store) = store {
        let calls = store.calls.lock().unwrap().clone();
        compare_lists("calls", calls, expect.get("calls"), flag(case, "sequentialSaves"))?;
        if let Some(identity) = expect.get("identity") {
            equal("identity", &store.identity.lock().unwrap().clone().unwrap_or_default(), identity)?;
        }
    }
    Ok(())
}

fn compare_lists(
    what: &str,
    mut found: Vec<Value>,
    expected: Option<&Value>,
    ordered: bool,
) -> Result<(), String> {
    let Some(expected) = expected.and_then(Value::as_array) else { return Ok(()) };
    let mut expected = expected.to_vec();
    if !ordered {
        for list in [&mut found, &mut expected] {
            list.sort_by_cached_key(|item| jaren_json::canonical(item).unwrap_or_default());
        }
    }
    equal(what, &Value::from(found), &Value::from(expected))
}
