//! FLOW-FORMAT dags: `{"document", "versions"?, "nested"?, "checkpoint"?, "revision"?, "expect", "runs"?, …}`.

use jaren_flow::dag::{Dag, Node};
use jaren_json::{Array, Value, value};

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
    let dag = match Dag::compile(case.need("document")?, &CaseTasks::of(case, None)) {
        Ok(dag) => dag,
        Err(report) => return same(expected, &value!({ "error": (errors::report(&report)) }), Rules::EXACT),
    };
    let nodes = dag.nodes().iter().map(Node::id).collect::<Array>();
    let output = dag.nodes().get(dag.output()).map(|node| Value::from(node.id()));
    let versions = dag.task_versions().clone();
    let found = value!({ "ok": { "nodes": nodes, "output": (output.unwrap_or_default()), "taskVersions": versions } });
    same(expected, &found, Rules::EXACT)?;
    match case.get("runs") {
        None => Ok(()),
        Some(_) => Err("no crate runs a dag on its own yet".to_owned()),
    }
}
