//! WORKFLOW-FORMAT: a lowering, a compilation, or runs over one store.

mod attempt;
mod expect;
mod store;

use jaren_flow::workflow::{Workflow, lower};
use jaren_json::{Value, value};

use crate::answer::{Rules, decode, same};
use crate::case::Case;
use crate::errors;
use crate::kind::Outcome;
use crate::tasks::{CaseTasks, Handlers};
use attempt::Attempt;
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
    let workflow = match Workflow::compile(document, &CaseTasks::of(case, Some("1"))) {
        Ok(workflow) => workflow,
        Err(report) => return same(expected, &failed(report), Rules::EXACT),
    };
    let revisions = workflow.revisions().to_value();
    let found =
        value!({ "ok": { "revisions": revisions, "taskVersions": (workflow.task_versions().clone()) } });
    same(expected, &found, Rules::EXACT)?;
    runs(case, &workflow)
}

/// The case's runs, one after the other over one store.
fn runs(case: &Case, workflow: &Workflow) -> Outcome {
    let shorthand = Shorthand::of(case);
    let mut store = if case.is("noStore") { None } else { Some(CaseStore::default()) };
    let mut handlers = Handlers::default();
    for (index, run) in case.get("runs").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let run = shorthand.expand(&decode(run));
        let together = run.get("together").and_then(Value::as_array);
        let calls: Vec<&Value> = together.map_or_else(|| vec![&run], |calls| calls.iter().collect());
        // Calls that are made together have all loaded before the first of them saves.
        let loaded: Vec<Option<Value>> =
            calls.iter().map(|call| store.as_mut().and_then(|store| store.load(call))).collect();
        for (call, loaded) in calls.into_iter().zip(loaded) {
            let found = Attempt::new(call, store.as_mut(), &mut handlers).answer(workflow, loaded)?;
            shorthand
                .same(call.get("expect").unwrap_or(&Value::Null), &found)
                .map_err(|difference| format!("run {index}: {difference}"))?;
        }
    }
    Ok(())
}
