//! The targets: any input ends in an answer or an error, and the laws that need no second implementation hold.
//!
//! A target of two values reads them as an array, so that the cases of the corpus can be its seeds.

use std::num::NonZeroU64;
use std::ops::ControlFlow;

use jaren_flow::dag::Dag;
use jaren_flow::graph::Graph;
use jaren_flow::machine::Machine;
use jaren_flow::statechart::Statechart;
use jaren_flow::workflow::Workflow;
use jaren_flow::{DeclaredTasks, Given};
use jaren_jslt::Stylesheet;
use jaren_json::{Pointer, ReadOptions, Value, delta, read};
use jaren_query::{CompileOptions, JsonPath, Limits, Query, Scope};

use crate::runs;

/// A query of a fuzzer may not take longer than a moment.
const STEPS: NonZeroU64 = NonZeroU64::new(50_000).unwrap();

/// The target with that name.
pub fn named(name: &str) -> Option<fn(&[u8])> {
    Some(match name {
        "reader" => reader,
        "delta" => deltas,
        "query" => query,
        "path" => path,
        "stylesheet" => stylesheet,
        "machine" => machine,
        "statechart" => statechart,
        "dag" => dag,
        "workflow" => workflow,
        "run" => run,
        _ => return None,
    })
}

fn value(input: &[u8]) -> Option<Value> {
    read(input, &ReadOptions::data()).ok()
}

fn pair(input: &[u8]) -> Option<(Value, Value)> {
    let value = value(input)?;
    let [first, second] = value.as_array()?.as_slice() else { return None };
    Some((first.clone(), second.clone()))
}

/// What was read is written and read again as the same value, in every form.
fn reader(input: &[u8]) {
    let document = read(input, &ReadOptions::document());
    let Some(value) = value(input) else {
        assert!(document.is_err(), "a document that is no data");
        return;
    };
    let options = ReadOptions::data();
    let text = jaren_json::to_text(&value).expect("a value that was read is JSON");
    assert_eq!(read(text.as_bytes(), &options).expect("its text can be read"), value);
    let canonical = jaren_json::canonical(&value).expect("a value that was read is canonical JSON");
    let again = read(canonical.as_bytes(), &options).expect("its canonical text can be read");
    assert_eq!(jaren_json::canonical(&again).expect("as above"), canonical);
    let pointer = std::str::from_utf8(input).ok().and_then(|text| Pointer::parse(text).ok());
    let _ = pointer.map(|pointer| jaren_json::locate(input, &pointer));
}

/// A diff leads from the old value to the new; any operations end in a value or an error.
fn deltas(input: &[u8]) {
    let Some((old, new)) = pair(input) else { return };
    let ops = delta::diff(&old, &new);
    assert_eq!(delta::apply(Some(&old), &ops).expect("a diff applies to what it was made from"), new);
    if let Ok(ops) = delta::ops_from_value(&new) {
        let _ = delta::apply(Some(&old), &ops);
    }
}

/// The ways to ask a query agree.
fn query(input: &[u8]) {
    let Some((document, scope)) = pair(input) else { return };
    let limits = Limits::new().with_steps(STEPS);
    let options = CompileOptions::new().with_limits(limits);
    let Ok(query) = Query::compile_with(&document, &options) else { return };
    let scope = Scope::value(&scope);
    let (_, _, _) = (query.first(&scope), query.exists(&scope), query.truth(&scope));
    if let (Ok(items), Ok(value)) = (query.items(&scope), query.value(&scope)) {
        let expected = match items.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            many => Some(many.iter().cloned().collect()),
        };
        assert_eq!(value, expected, "value and items differ");
        let mut each = Vec::new();
        let ended = query.each(&scope, |item| {
            each.push(item);
            ControlFlow::Continue(())
        });
        assert_eq!((ended.is_ok(), each), (true, items), "each and items differ");
    }
}

/// Any text is a path or an error; the path of every node leads to that node.
fn path(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(path) = JsonPath::parse(text) else { return };
    let input =
        jaren_json::value!({ "a": [1, { "b": "x", "a": [null, true] }, [[2]]], "b": { "a": { "c": 3.5 } } });
    let Ok(nodes) = path.select(&input) else { return };
    for node in nodes {
        let again = JsonPath::parse(node.path.as_str()).expect("a normalized path is a path");
        let found = again.select(&input).expect("one node is no work");
        assert!(matches!(found.as_slice(), [only] if only.value.ptr_eq(node.value)), "leads elsewhere");
    }
}

fn stylesheet(input: &[u8]) {
    let Some((sheet, input)) = pair(input) else { return };
    let limits = Limits::new().with_steps(STEPS);
    let mut options = jaren_jslt::CompileOptions::new().with_depth_max(64).with_dispatches_max(STEPS);
    options.bodies.limits = limits;
    if let Ok(sheet) = Stylesheet::compile_with(&sheet, &options) {
        let _ = sheet.transform(&input);
    }
}

/// Every state takes every event.
fn machine(input: &[u8]) {
    let Some(document) = value(input) else { return };
    let Ok(machine) = Machine::compile(&document) else { return };
    draw(&document);
    for state in machine.states().take(8) {
        for event in state.events().take(8).chain(["named by none"]) {
            let found = machine.step(state.as_str(), event, &Given::default());
            assert_eq!(found, Ok(state.step(event, &Given::default())), "a declared state is found");
        }
    }
}

/// A chart's own snapshots restore to themselves, and nothing else gets through `restore`.
fn statechart(input: &[u8]) {
    let Some((document, snapshot)) = pair(input) else { return };
    let Ok(chart) = Statechart::compile(&document) else { return };
    draw(&document);
    let given = Given::default();
    let started = chart.start(None, &given).map(|result| result.state);
    for snapshot in [started.ok(), chart.restore(&snapshot).ok()].into_iter().flatten() {
        let saved = snapshot.to_value();
        assert_eq!(chart.restore(&saved).expect("an own snapshot restores").to_value(), saved);
        let _ = chart.step(&snapshot, "next", None, &given);
        let _ = chart.advance_one(&snapshot, snapshot.time() + 1e6, &given);
    }
}

fn dag(input: &[u8]) {
    let Some(document) = value(input) else { return };
    let Ok(dag) = Dag::compile(&document, &DeclaredTasks) else { return };
    draw(&document);
    for node in 0..dag.nodes().len().min(8) {
        let _ = dag.evaluate(node, &Value::Null);
    }
}

/// What compiles has an identity.
fn workflow(input: &[u8]) {
    let Some(document) = value(input) else { return };
    if let Ok(workflow) = Workflow::compile(&document, &DeclaredTasks) {
        jaren_json::canonical(workflow.identity()).expect("an identity is JSON");
        draw(&document);
    }
}

/// A workflow and a saved run of it.
fn run(input: &[u8]) {
    if let Some((document, snapshot)) = pair(input) {
        runs::saved(&document, &snapshot);
    }
}

/// What compiles can be drawn as text, unless its markers say that it is something else.
fn draw(document: &Value) {
    if let Ok(graph) = Graph::of(document) {
        let _ = (graph.to_mermaid(), graph.to_dot());
    }
}
