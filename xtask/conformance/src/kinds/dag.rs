//! FLOW-FORMAT dags: `{"document", "versions"?, "nested"?, "checkpoint"?, "revision"?, "expect", "runs"?, …}`.

mod store;

use std::sync::{Arc, Mutex};

use jaren_engine::port::{DagCall, DagStore, Dags};
use jaren_engine::{Drive, Record};
use jaren_flow::dag::Node;
use jaren_json::{Array, Object, Value, canonical, value};

use crate::answer::{Rules, decode, same};
use crate::case::Case;
use crate::errors;
use crate::harness::block_on;
use crate::kind::Outcome;
use crate::tasks::{Registry, locked};
use store::CaseStore;

pub(crate) fn run(case: &Case) -> Outcome {
    let expected = case.need("expect")?;
    if case.refused.is_some() {
        return case.refused_as_expected();
    }
    let registry = Arc::<Registry>::default();
    let store = if case.is("checkpoint") { Some(Arc::<CaseStore>::default()) } else { None };
    let port = store.clone().map(|store| store as Arc<dyn DagStore>);
    let revision = case.get("revision").and_then(Value::as_str).map(ToOwned::to_owned);
    let dags = match Dags::compile(case.need("document")?, registry.tasks(case, None), port, revision) {
        Ok(dags) => dags,
        Err(report) => return same(expected, &value!({ "error": (errors::report(&report)) }), Rules::EXACT),
    };
    let dag = dags.dag();
    let nodes = dag.nodes().iter().map(Node::id).collect::<Array>();
    let output = dag.nodes().get(dag.output()).map(|node| Value::from(node.id())).unwrap_or_default();
    let versions = dag.task_versions().clone();
    let found = value!({ "ok": { "nodes": nodes, "output": output, "taskVersions": versions } });
    same(expected, &found, Rules::EXACT)?;
    block_on(Runs { case, registry, store, dags }.all())
}

/// The runs of a case, each by itself.
struct Runs<'a> {
    case: &'a Case,
    registry: Arc<Registry>,
    store: Option<Arc<CaseStore>>,
    dags: Dags,
}

impl Runs<'_> {
    async fn all(&self) -> Outcome {
        for (index, run) in self.case.get("runs").and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            self.one(&decode(run)).await.map_err(|difference| format!("run {index}: {difference}"))?;
        }
        Ok(())
    }

    async fn one(&self, run: &Value) -> Outcome {
        let cancel = self.registry.begin();
        if run.get("abort").is_some() {
            cancel.cancel();
        }
        if let Some(store) = &self.store {
            store.begin(run);
        }
        let records = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&records);
        let observer = move |record: &Record| locked(&seen).extend(recorded(record));
        let id = run.get("runId").and_then(Value::as_str).unwrap_or("run-1").to_owned();
        let input = run.get("input").cloned().unwrap_or_default();
        let drive = Drive::new().with_cancel(cancel).with_observer(observer);
        let ended = self.dags.run(DagCall::new(id, input).with_drive(drive)).await;
        let records = std::mem::take(&mut *locked(&records));
        self.compare(run, &ended.map_err(|error| errors::run(&error)), records)
    }

    fn compare(&self, run: &Value, ended: &Result<Value, Value>, records: Vec<Value>) -> Outcome {
        let expected = run.get("expect").ok_or("the run expects nothing")?;
        let found = match ended {
            Ok(result) => value!({ "result": result }),
            Err(error) => value!({ "error": error }),
        };
        let outcome = ["result", "error"].into_iter().filter_map(|name| Some((name, expected.get(name)?)));
        same(&Value::Object(outcome.collect::<Object>()), &found, Rules::EXACT)?;
        if ended.is_err() && !self.case.is("sequential") {
            return Ok(());
        }
        compare_list("records", expected, records, self.case.is("sequential"))?;
        let Some(store) = &self.store else { return Ok(()) };
        compare_list("calls", expected, store.calls(), self.case.is("sequentialSaves"))?;
        match (expected.get("identity"), store.identity()) {
            (None, None) => Ok(()),
            (expected, found) => {
                let found = found.unwrap_or_default();
                same(expected.unwrap_or(&Value::Null), &found, Rules::EXACT)
                    .map_err(|why| format!("identity: {why}"))
            }
        }
    }
}

/// Compares a list in order where the order follows from the document, and else as a set.
fn compare_list(name: &str, expected: &Value, mut found: Vec<Value>, ordered: bool) -> Outcome {
    let Some(expected) = expected.get(name).and_then(Value::as_array) else { return Ok(()) };
    let mut expected = expected.to_vec();
    if !ordered {
        for list in [&mut expected, &mut found] {
            list.sort_by_cached_key(|item| canonical(item).unwrap_or_default());
        }
    }
    same(&Value::from(expected), &Value::from(found), Rules::EXACT).map_err(|why| format!("{name}: {why}"))
}

/// The observer's `{id, status}`.
fn recorded(record: &Record) -> Option<Value> {
    match record {
        Record::Node { node, status, .. } => Some(value!({ "id": node, "status": (status.as_str()) })),
        _ => None,
    }
}
