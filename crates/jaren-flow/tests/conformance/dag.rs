//! The dag cases of the conformance corpus: compiling, and the pure part of runs by a scheduler that calls the
//! corpus's synchronous tasks in place.

use crate::corpus::{Registry, check, decode, equal, same_defect, text};
use jaren_flow::FlowError;
use jaren_flow::dag::{Dag, Evaluated, TaskCall};
use jaren_json::{Value, value};

fn compile(case: &Value) -> Result<Option<Dag>, String> {
    let expect = case.get("expect").unwrap();
    let registry = Registry::of(case, None);
    let dag = match (Dag::compile(case.get("document").unwrap(), &registry), expect.get("error")) {
        (Ok(dag), None) => dag,
        (Err(report), Some(error)) => return same_defect(report.first(), error).map(|()| None),
        (Ok(_), Some(error)) => return Err(format!("compiles, expected {error}")),
        (Err(report), None) => return Err(format!("does not compile: {report:?}")),
    };
    let ok = expect.get("ok").unwrap();
    let ids: Value = dag.nodes().iter().map(jaren_flow::dag::Node::id).collect();
    equal("nodes", &ids, ok.get("nodes").unwrap())?;
    equal("output", &dag.nodes()[dag.output()].id().into(), ok.get("output").unwrap())?;
    equal("taskVersions", &Value::Object(dag.task_versions().clone()), ok.get("taskVersions").unwrap())?;
    Ok(Some(dag))
}

/// A task that answers at once; `None` for one whose answer depends on others.
fn call(task: &TaskCall) -> Option<Result<Value, &'static str>> {
    Some(match task.name.as_str() {
        "echo" => Ok(task.input.clone()),
        "with" => Ok(task.with.clone()),
        "both" => Ok(value!({ "with": (task.with.clone()), "input": (task.input.clone()) })),
        "add1" => task.input.as_f64().map(|input| Value::Number(input + 1.0)).ok_or("not a number"),
        "fail" => Err("boom"),
        "null" => Ok(Value::Null),
        _ => return None,
    })
}

/// Runs the nodes in document order as their inputs arrive; `None` when a task cannot be called here.
fn execute(dag: &Dag, input: &Value) -> Option<Result<Value, FlowError>> {
    let mut values: Vec<Option<Value>> = vec![None; dag.nodes().len()];
    while values[dag.output()].is_none() || values.contains(&None) {
        let ready = |node: &usize| {
            let inbound = dag.nodes()[*node].inbound();
            values[*node].is_none() && inbound.iter().all(|edge| values[edge.from()].is_some())
        };
        let node = (0..values.len()).find(ready).expect("a compiled dag has no cycle");
        let evaluated = dag.scope(node, input, &values).and_then(|scope| dag.evaluate(node, &scope));
        values[node] = Some(match evaluated {
            Ok(Evaluated::Value(value)) => value,
            Ok(Evaluated::Task(task)) => match call(&task)? {
                Ok(value) => value,
                Err(message) => return Some(Err(dag.failed(node, message))),
            },
            Err(error) => return Some(Err(error)),
        });
    }
    Some(Ok(values[dag.output()].clone().unwrap()))
}

fn run(case: &Value) -> Result<(), String> {
    let Some(dag) = compile(case)? else { return Ok(()) };
    let stores = case.get("checkpoint").is_some();
    for (index, run) in case.get("runs").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let input = run.get("input").map(decode).unwrap_or_default();
        let expect = run.get("expect").unwrap();
        if let (Some(expected), Some(revision)) = (expect.get("identity"), case.get("revision")) {
            let identity =
                dag.identity(revision.as_str().unwrap(), &input).map_err(|error| error.to_string())?;
            equal(&format!("run {index} identity"), &identity, expected)?;
        }
        // Stored values, failing stores and signals belong to the engine.
        if run.get("abort").is_some() || stores {
            continue;
        }
        match (execute(&dag, &input), expect.get("error")) {
            (None, _) => {}
            (Some(Ok(result)), None) => {
                equal(&format!("run {index}"), &result, expect.get("result").unwrap())?;
            }
            (Some(Err(found)), Some(error)) => {
                let under = error.get("cause").map(|under| text(under, "code"));
                // Which of two failing nodes is first depends on the order of tasks that take time.
                let same = found.code() == text(error, "code")
                    && found.pointer().map(jaren_json::Pointer::as_str)
                        == error.get("docPath").and_then(Value::as_str)
                    && found.node().map(jaren_json::Str::as_str)
                        == error.get("nodeId").and_then(Value::as_str)
                    && under.is_none_or(|code| found.cause().is_some_and(|cause| cause.code() == code));
                if !same {
                    return Err(format!("run {index}: expected {error}, found {found}"));
                }
            }
            (Some(Ok(result)), Some(error)) => {
                return Err(format!("run {index}: expected {error}, found {result}"));
            }
            (Some(Err(found)), None) => {
                return Err(format!("run {index}: expected {}, found {found}", decode(expect)));
            }
        }
    }
    Ok(())
}

#[test]
fn refuse_and_compile() {
    check("dag/compile.json", |case| compile(case).map(drop));
}

#[test]
fn runs() {
    check("dag/runs.json", run);
}

#[test]
fn random() {
    check("dag/random.json", run);
}

#[test]
fn checkpoints() {
    check("dag/checkpoints.json", run);
}
