//! Independent defects, planted in a sound document of each format in every combination of up to five: all are reported,
//! each once and at its place, and after the first one in document order.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::borrow::Cow;

use jaren_flow::{CompileOptions, Format, TaskMap};
use jaren_json::{Array, Object, Pointer, Value, value};

/// A defect: the value that makes it, where it is written, and what is reported where.
struct Plant {
    at: &'static str,
    value: Value,
    code: &'static str,
    place: &'static str,
}

fn plant(at: &'static str, value: Value, code: &'static str) -> Plant {
    Plant { at, value, code, place: at }
}

impl Plant {
    fn told_at(self, place: &'static str) -> Self {
        Self { place, ..self }
    }
}

/// The value with another one at that place, which may be a member that it does not have.
fn set(value: &Value, tokens: &[Cow<'_, str>], new: &Value) -> Value {
    let Some((token, rest)) = tokens.split_first() else { return new.clone() };
    match value {
        Value::Object(object) => {
            let inner = object.get(token).cloned().unwrap_or_default();
            Value::Object(Object::with(object, &**token, set(&inner, rest, new)))
        }
        Value::Array(array) => {
            let index: usize = token.parse().unwrap();
            Value::Array(Array::with_each(array, [(index, set(array.get(index).unwrap(), rest, new))]))
        }
        _ => panic!("there is no {token} to set"),
    }
}

fn reported(document: &Value) -> Vec<(String, String)> {
    let mut tasks = TaskMap::new();
    assert!(tasks.insert("t", Some("1"), ()));
    let format = Format::of(document).unwrap();
    match format.check(document, &tasks, &CompileOptions::new()) {
        Ok(()) => Vec::new(),
        Err(report) => {
            assert_eq!(report.len(), report.iter().count());
            report.iter().map(|defect| (defect.code().to_owned(), defect.place().to_string())).collect()
        }
    }
}

/// Plants every choice of up to five of the defects, which stand in document order.
fn all_are_reported(sound: &Value, plants: &[Plant]) {
    assert_eq!(reported(sound), []);
    for choice in 0_u32..1 << plants.len() {
        if !(1..=5).contains(&choice.count_ones()) {
            continue;
        }
        let chosen: Vec<&Plant> =
            (0..).zip(plants).filter(|(bit, _)| choice & (1 << bit) != 0).map(|(_, plant)| plant).collect();
        let mut document = sound.clone();
        for plant in &chosen {
            let at = Pointer::parse(plant.at).unwrap();
            document = set(&document, &at.tokens().collect::<Vec<_>>(), &plant.value);
        }
        let expected: Vec<(String, String)> =
            chosen.iter().map(|plant| (plant.code.to_owned(), plant.place.to_owned())).collect();
        let found = reported(&document);
        let place = |defect: &(String, String)| expected.iter().position(|known| known == defect);
        let order: Option<Vec<usize>> = found.iter().map(place).collect();
        let mut sorted = order.clone().unwrap_or_default();
        sorted.sort_unstable();
        assert_eq!(
            sorted,
            (0..expected.len()).collect::<Vec<_>>(),
            "{document}: {found:?}, not {expected:?}"
        );
        let is_ordered = order.unwrap_or_default().get(1..).is_some_and(<[usize]>::is_sorted);
        assert!(is_ordered, "{document}: {found:?} are not in document order");
    }
}

fn broken_query() -> Value {
    value!({ "$nope": 1 })
}

#[test]
fn machines() {
    let sound = value!({
        "$fsm": "0.1",
        "initial": "a",
        "states": [
            "a",
            { "id": "b", "entry": [{ "run": "in" }] },
            { "id": "c", "exit": [{ "run": "out", "with": "$.context" }] },
            { "id": "d", "final": true }
        ],
        "transitions": [
            { "from": "a", "event": "go", "to": "b", "guard": "$.payload" },
            { "from": "b", "event": "go", "to": "c", "effects": [{ "run": "x", "with": "$.event" }] },
            { "from": "c", "event": "go", "to": "d" },
            { "from": "c", "event": "back", "to": "a" }
        ]
    });
    let plants = [
        plant("/initial", value!("nowhere"), "JF0004"),
        plant("/states/1/entry/0/run", value!(""), "JF0008").told_at("/states/1/entry/0"),
        plant("/states/2/exit/0/with", broken_query(), "JF0009"),
        plant("/states/3/final", value!("yes"), "JF0002"),
        plant("/transitions/0/guard", broken_query(), "JF0007"),
        plant("/transitions/1/effects/0/with", broken_query(), "JF0009"),
        plant("/transitions/2/to", value!("nowhere"), "JF0006"),
        plant("/transitions/3/event", value!(1), "JF0005"),
    ];
    all_are_reported(&sound, &plants);
}

#[test]
fn statecharts() {
    let sound = value!({
        "$fsm": "0.2",
        "initial": "a",
        "states": [
            { "id": "a", "entry": [{ "run": "in" }] },
            { "id": "b", "initial": "b1" },
            { "id": "b1", "parent": "b", "exit": [{ "run": "out", "with": "$.context" }] },
            { "id": "b2", "parent": "b" },
            { "id": "done", "final": true }
        ],
        "transitions": [
            { "from": "a", "event": "go", "to": "b", "guard": "$.payload" },
            { "from": "b1", "event": "go", "to": "b2" },
            { "from": "b2", "event": "go", "to": "done", "effects": [{ "run": "x", "with": "$.event" }] },
            { "from": "b2", "after": 100, "to": "a" }
        ]
    });
    let plants = [
        plant("/states/0/label", value!(1), "JF0020"),
        plant("/states/1/initial", value!("nowhere"), "JF0020"),
        plant("/states/2/exit/0/with", broken_query(), "JF0009"),
        plant("/states/3/entry", value!([{ "run": "" }]), "JF0008").told_at("/states/3/entry/0"),
        plant("/transitions/0/guard", broken_query(), "JF0007"),
        plant("/transitions/1/event", value!(1), "JF0020"),
        plant("/transitions/2/to", value!("nowhere"), "JF0020"),
        plant("/transitions/3/after", value!(-1), "JF0020"),
    ];
    all_are_reported(&sound, &plants);
}

#[test]
fn dags() {
    let sound = value!({
        "$dag": "0.1",
        "nodes": {
            "in": { "kind": "input" },
            "q": { "kind": "query", "query": "$.x" },
            "s": { "kind": "jslt", "stylesheet": [] },
            "t": { "kind": "task", "run": "t", "version": "1", "with": "$.a" },
            "c": { "kind": "const", "value": 1, "checkpoint": true },
            "out": { "kind": "output" }
        },
        "edges": [
            { "from": "in", "to": "q" },
            { "from": "in", "to": "s" },
            { "from": "q", "to": "t", "port": "a" },
            { "from": "s", "to": "t", "port": "b" },
            { "from": "t", "to": "out", "select": "$.x" }
        ]
    });
    let plants = [
        plant("/nodes/q/query", broken_query(), "JF0014"),
        plant("/nodes/s/stylesheet", value!(1), "JF0014"),
        plant("/nodes/t/run", value!("gone"), "JF0018"),
        plant("/nodes/t/with", broken_query(), "JF0014"),
        plant("/nodes/c/checkpoint", value!("yes"), "JF0011"),
        plant("/edges/2/port", value!(1), "JF0012"),
        plant("/edges/4/select", broken_query(), "JF0014"),
    ];
    all_are_reported(&sound, &plants);
}

#[test]
fn workflows() {
    let sound = value!({
        "$workflow": "0.2",
        "revision": "r/1",
        "initial": "prepare",
        "states": {
            "prepare": { "work": { "task": "t", "version": "1", "with": "$" }, "then": "check" },
            "check": { "choose": [{ "guard": "$.context.data", "to": "wait" }], "otherwise": "graph" },
            "wait": {
                "on": [{ "event": "go", "guard": "$.payload", "to": "graph" }],
                "after": { "ms": 1000, "to": "done" }
            },
            "graph": {
                "work": { "dag": {
                    "$dag": "0.1",
                    "nodes": { "in": { "kind": "input" }, "out": { "kind": "output" } },
                    "edges": [{ "from": "in", "to": "out", "select": "$.x" }]
                } },
                "input": "$.context.data",
                "then": "done"
            },
            "done": { "final": true }
        }
    });
    let plants = [
        plant("/states/prepare/work/task", value!("gone"), "JF0018"),
        plant("/states/prepare/work/with", broken_query(), "JF0014"),
        plant("/states/check/choose/0/guard", broken_query(), "JF0007"),
        plant("/states/wait/on/0/guard", broken_query(), "JF0007"),
        plant("/states/wait/after/ms", value!(-1), "JF0021").told_at("/states/wait/after"),
        plant("/states/graph/work/dag/edges/0/select", broken_query(), "JF0014"),
        plant("/states/graph/input", broken_query(), "JF0014"),
        plant("/states/graph/then", value!("nowhere"), "JF0021"),
    ];
    all_are_reported(&sound, &plants);
}
