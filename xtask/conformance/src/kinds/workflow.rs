//! WORKFLOW-FORMAT: a lowering, a compilation, or runs over one store.

use jaren_flow::workflow::{Workflow, lower};
use jaren_json::value;

use crate::answer::{Rules, same};
use crate::case::Case;
use crate::errors;
use crate::kind::Outcome;
use crate::tasks::CaseTasks;

pub(crate) fn run(case: &Case) -> Outcome {
    let expected = case.need("expect")?;
    if case.refused.is_some() {
        return case.refused_as_expected();
    }
    let document = case.need("document")?;
    let failed = |report| value!({ "error": (errors::report(&report)) });
    if case.is("lower") {
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
    match case.get("runs") {
        None => Ok(()),
        Some(_) => Err("the engine does not run the corpus yet".to_owned()),
    }
}
