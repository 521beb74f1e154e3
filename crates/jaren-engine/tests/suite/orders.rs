//! Whatever the order in which tasks end, and wherever a run is killed on the way, the result is the same.

use std::collections::BTreeMap;

use jaren_engine::core::{Input, Output, Phase, RunState, StartTask};
use jaren_flow::DeclaredTasks;
use jaren_flow::workflow::Workflow;
use jaren_json::{Object, Value, value};
use proptest::prelude::*;

use crate::support::workflow;

/// A graph: for each node whether it is a task, whether it is kept, and which of the earlier nodes flow into it.
type Graph = Vec<(bool, bool, Vec<bool>)>;

fn graphs() -> impl Strategy<Value = Graph> {
    let node = (any::<bool>(), any::<bool>(), prop::collection::vec(any::<bool>(), 10));
    prop::collection::vec(node, 1..10)
}

/// Every node is one more than the sum of what flows into it; a node without sources reads the input.
fn document(graph: &Graph) -> Value {
    let mut nodes = vec![("in".to_owned(), value!({ "kind": "input" }))];
    let mut edges = Vec::new();
    for (index, (task, kept, sources)) in graph.iter().enumerate() {
        let id = format!("n{index}");
        let mut from: Vec<String> =
            (0..index).filter(|from| sources[*from]).map(|from| format!("n{from}")).collect();
        if from.is_empty() {
            from.push("in".into());
        }
        edges.extend(from.iter().map(|from| value!({ "from": from, "to": &id, "port": from })));
        let add = |sum, from: &String| value!({ "$add": [sum, format!("$.{from}")] });
        let sum = from.iter().fold(value!(1), add);
        let node = if *task {
            value!({ "kind": "task", "run": "t", "version": "1", "checkpoint": *kept })
        } else {
            value!({ "kind": "query", "query": sum, "checkpoint": *kept })
        };
        edges.push(value!({ "from": &id, "to": "out", "port": &id }));
        nodes.push((id, node));
    }
    nodes.push(("out".into(), value!({ "kind": "output" })));
    let nodes: Object = nodes.into_iter().collect();
    let dag = value!({ "$dag": "0.1", "nodes": nodes, "edges": edges });
    workflow(value!({ "begin": { "work": { "dag": dag }, "then": "end" }, "end": { "final": true } }))
}

fn expected(graph: &Graph, input: f64) -> Value {
    let mut values: Vec<f64> = Vec::new();
    for (index, (_, _, sources)) in graph.iter().enumerate() {
        let from: Vec<f64> = (0..index).filter(|from| sources[*from]).map(|from| values[from]).collect();
        values.push(1.0 + if from.is_empty() { input } else { from.iter().sum() });
    }
    let named =
        values.into_iter().enumerate().map(|(index, value)| (format!("n{index}"), Value::Number(value)));
    Value::Object(named.collect())
}

fn answer(call: &StartTask) -> Value {
    let ports = call.input.as_object().unwrap();
    Value::Number(1.0 + ports.values().iter().filter_map(Value::as_f64).sum::<f64>())
}

/// Drives a run; each choice settles one of the tasks in flight, or kills the process. A task starts only when the save
/// point that it waits for was saved, and no node whose value was saved starts again.
fn drive(document: &Value, input: f64, choices: &[(u8, u8)]) -> Value {
    let workflow = || Workflow::compile(document, &DeclaredTasks).unwrap();
    let mut run = RunState::start(workflow(), "r", Value::Number(input), None).unwrap();
    let mut choices = choices.iter();
    let mut step = run.step(Input::Begin, None);
    let (mut saved, mut flight): (Value, BTreeMap<usize, StartTask>) = (Value::Null, BTreeMap::new());
    loop {
        for output in step.outputs {
            match output {
                Output::Save(point) => saved = point.snapshot.to_value(),
                Output::Start(call) => {
                    assert!(call.after <= saved.get("generation").and_then(Value::as_u64).unwrap());
                    let values = saved.get("pending").and_then(|pending| pending.get("values")).unwrap();
                    assert!(values.get(&call.id).is_none(), "{} has a saved value", call.id);
                    flight.insert(call.node, call);
                }
                _ => {}
            }
        }
        match step.phase {
            Phase::Done(result) => return result,
            Phase::Failed(error) => panic!("{error}"),
            _ => {}
        }
        let (kill, pick) = choices.next().copied().unwrap_or((255, 0));
        if kill < 40 {
            run = RunState::restore(workflow(), "r", &saved, &Value::Number(input)).unwrap();
            flight.clear();
            step = run.step(Input::Begin, None);
            continue;
        }
        let node = *flight.keys().nth(usize::from(pick) % flight.len()).unwrap();
        let call = flight.remove(&node).unwrap();
        let result = Ok(answer(&call));
        step = run.step(Input::Settled { activation: call.activation, node, result, ms: 0.0 }, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_result_depends_on_the_document_alone(
        graph in graphs(),
        input in -100i32..100,
        choices in prop::collection::vec(any::<(u8, u8)>(), 0..40),
    ) {
        let input = f64::from(input);
        prop_assert_eq!(drive(&document(&graph), input, &choices), expected(&graph, input));
    }
}
