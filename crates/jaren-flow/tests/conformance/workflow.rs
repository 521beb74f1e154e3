//! The workflow cases of the conformance corpus that need no engine: lowering, compiling, revisions and identities.

use crate::corpus::{Registry, check, equal, same_defect};
use jaren_flow::workflow::{Workflow, lower};
use jaren_json::Value;

fn lowering(case: &Value) -> Result<(), String> {
    let expect = case.get("expect").unwrap();
    match (lower(case.get("document").unwrap()), expect.get("error")) {
        (Ok(lowered), None) => equal("lowered", &lowered.to_value(), expect.get("lowered").unwrap()),
        (Err(report), Some(error)) => same_defect(report.first(), error),
        (Ok(_), Some(error)) => Err(format!("lowers, expected {error}")),
        (Err(report), None) => Err(format!("does not lower: {report:?}")),
    }
}

fn compiling(case: &Value) -> Result<(), String> {
    let expect = case.get("expect").unwrap();
    let registry = Registry::of(case, Some("1"));
    let compiled = Workflow::compile(case.get("document").unwrap(), &registry);
    let workflow = match (compiled, expect.get("error")) {
        (Ok(workflow), None) => workflow,
        (Err(report), Some(error)) => return same_defect(report.first(), error),
        (Ok(_), Some(error)) => return Err(format!("compiles, expected {error}")),
        (Err(report), None) => return Err(format!("does not compile: {report:?}")),
    };
    let ok = expect.get("ok").unwrap();
    equal("revisions", &workflow.revisions().to_value(), ok.get("revisions").unwrap())?;
    equal("taskVersions", &Value::Object(workflow.task_versions().clone()), ok.get("taskVersions").unwrap())?;
    if let Some(identity) = case.get("identity") {
        equal("identity", workflow.identity(), identity)?;
    }
    for (state, expected) in case.get("dagIdentities").and_then(Value::as_object).into_iter().flatten() {
        let found = workflow.dag_identity(state, &Value::Null).map_err(|error| error.to_string())?;
        // The member `input` belongs to an activation.
        let found = Value::Object(found.as_object().unwrap().without("input"));
        equal(&format!("the dag identity of {state}"), &found, expected)?;
    }
    Ok(())
}

#[test]
fn lower_to_the_same_documents() {
    check("workflow/lower.json", lowering);
}

#[test]
fn refuse_to_lower() {
    check("workflow/lower-errors.json", lowering);
}

#[test]
fn compile() {
    check("workflow/compile.json", compiling);
}

#[test]
fn identities_of_runs() {
    for file in ["runs-1", "runs-2", "crash-1", "crash-2", "crash-3", "tamper-1", "tamper-2"] {
        check(&format!("workflow/{file}.json"), compiling);
    }
}
