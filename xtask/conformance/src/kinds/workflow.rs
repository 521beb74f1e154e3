//! WORKFLOW-FORMAT: a lowering, a compilation, or runs over one store.

mod expect;
mod store;

use std::sync::{Arc, Mutex};

use jaren_engine::core::RunError;
use jaren_engine::port::{Call, CheckpointStore, Ended, Workflows};
use jaren_engine::{Drive, Record};
use jaren_flow::workflow::lower;
use jaren_json::{Array, Object, ObjectBuilder, Value, value};

use crate::answer::{Rules, count, decode, same};
use crate::case::Case;
use crate::errors;
use crate::harness::block_on;
use crate::kind::Outcome;
use crate::tasks::{Registry, locked};
use expect::Shorthand;
use store::CaseStore;

pub(crate) fn run(case: &Case) -> Outcome {
    let expected = case.need("expect")?;
    if case.refused.is_some() {
        return case.refused_as_expected();
    }
    let document = case.need("document")?;
    let failed = |report| value!({ "error": (errors::report(&report)) });
    // The shared corpus leaves the mark out where the lowering itself is expected.
    if case.is("lower") || expected.get("lowered").is_some() {
        let found = lower(document).map(|lowered| value!({ "lowered": (lowered.to_value()) }));
        return same(expected, &found.unwrap_or_else(failed), Rules::EXACT);
    }
    let registry = Arc::<Registry>::default();
    let store = if case.is("noStore") { None } else { Some(Arc::<CaseStore>::default()) };
    let port = store.clone().map(|store| store as Arc<dyn CheckpointStore>);
    let workflows = match Workflows::compile(document, registry.tasks(case, Some("1")), port) {
        Ok(workflows) => workflows,
        Err(report) => return same(expected, &failed(report), Rules::EXACT),
    };
    let revisions = workflows.workflow().revisions().to_value();
    let versions = workflows.workflow().task_versions().clone();
    let found = value!({ "ok": { "revisions": revisions, "taskVersions": versions } });
    same(expected, &found, Rules::EXACT)?;
    block_on(Runs { shorthand: Shorthand::of(case), registry, store, workflows }.all(case))
}

/// The runs of a case.
struct Runs<'a> {
    shorthand: Shorthand<'a>,
    registry: Arc<Registry>,
    store: Option<Arc<CaseStore>>,
    workflows: Workflows,
}

impl Runs<'_> {
    async fn all(&self, case: &Case) -> Outcome {
        for (index, run) in case.get("runs").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let run = self.shorthand.expand(&decode(run));
            let named = |difference| format!("run {index}: {difference}");
            match run.get("together").and_then(Value::as_array).map(|both| &**both) {
                Some([first, second]) => {
                    let (one, other) = tokio::join!(self.one(first), self.one(second));
                    one.and(other).map_err(named)?;
                }
                Some(_) => return Err("two runs go together".to_owned()),
                None => self.one(&run).await.map_err(named)?,
            }
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
        let trace = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&trace);
        let observer = move |record: &Record| locked(&seen).extend(traced(record));
        let mut call = call(run);
        call.drive = Drive::new().with_cancel(cancel).with_observer(observer);
        let ended = self.workflows.run(call).await;
        let mut found = ended_value(ended);
        found.insert("saves", self.store.as_ref().map_or(Value::Null, |store| store.saves()));
        found.insert("tasks", self.registry.calls());
        found.insert("trace", std::mem::take(&mut *locked(&trace)).into_iter().collect::<Array>());
        self.shorthand.same(run.get("expect").unwrap_or(&Value::Null), &found.build())
    }
}

fn call(run: &Value) -> Call {
    let id = run.get("runId").and_then(Value::as_str).unwrap_or("run-1");
    let mut call = Call::new(id, run.get("input").cloned().unwrap_or_default());
    call.snapshot = run.get("snapshot").cloned();
    call.expected_generation = run.get("expectedGeneration").and_then(Value::as_u64);
    // Our types take no time that is no number: not-a-number is the nearest mistake that they let a caller make.
    call.now = run.get("now").map(|now| now.as_f64().unwrap_or(f64::NAN));
    call.event = run.get("event").cloned();
    call
}

fn ended_value(ended: Result<Ended, RunError>) -> ObjectBuilder {
    let mut members = ObjectBuilder::new();
    match ended {
        Ok(ended) => {
            members.insert("status", if ended.result.is_some() { "done" } else { "waiting" });
            members.insert("result", ended.result.unwrap_or_default());
            members.insert("generation", count(ended.generation));
            members.insert("snapshot", ended.snapshot);
        }
        Err(error) => members.insert("error", errors::run(&error)),
    }
    members
}

/// A record of the format's trace, without what differs from run to run.
fn traced(record: &Record) -> Option<Object> {
    match record {
        Record::Started { .. } | Record::Committed { .. } => None,
        _ => Some(record.to_value().as_object()?.without("ms")),
    }
}
