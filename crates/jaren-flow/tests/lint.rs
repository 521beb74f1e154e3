//! Warnings: what they find, and that the documents of the corpus have none without a reason.

use std::path::PathBuf;

use jaren_flow::DeclaredTasks;
use jaren_flow::dag::Dag;
use jaren_flow::lint::lint;
use jaren_flow::machine::Machine;
use jaren_flow::statechart::Statechart;
use jaren_flow::workflow::Workflow;
use jaren_json::read::{ReadOptions, read};
use jaren_json::{Value, value};

/// The warnings as `code place`, and their messages.
fn warned(document: &Value) -> (Vec<String>, Vec<String>) {
    let of = |warning: jaren_json::Diagnostic| {
        (format!("{} {}", warning.code(), warning.place()), warning.message().to_owned())
    };
    lint(document).into_iter().map(of).unzip()
}

#[test]
fn queries_of_a_machine() {
    let (places, messages) = warned(&value!({
        "initial": "a",
        "states": [{ "id": "a", "entry": [{ "run": "log", "with": { "by": "$.contxt.user", "of": { "$const": "$x" } } }] }],
        "transitions": [
            { "from": "a", "event": "x", "guard": "$payload.complete", "to": "a" },
            { "from": "a", "event": "y", "guard": {
                "$let": { "total": "$.payload.total" }, "$return": { "$gt": ["$totl", "$['event']"] }
            }, "to": "a" },
            { "from": "a", "event": "z", "guard": { "$exists": ["$..total", "$[0]", "$.payload.anything", "$"] }, "to": "a" }
        ]
    }));
    assert_eq!(
        places,
        [
            "JL0002 /states/0/entry/0/with/by",
            "JL0001 /transitions/0/guard",
            "JL0001 /transitions/1/guard/$return/$gt/0",
        ]
    );
    assert!(messages[0].contains("among state, event, payload, context"), "{messages:?}");
    assert!(messages[1].ends_with("did you mean '$.payload'?"), "{messages:?}");
    assert!(messages[2].ends_with("did you mean '$total'?"), "{messages:?}");
}

#[test]
fn states_that_nothing_enters_and_transitions_that_never_fire() {
    let (places, _) = warned(&value!({
        "$fsm": "0.2",
        "initial": "a",
        "states": [
            { "id": "a" },
            { "id": "all", "type": "parallel" },
            { "id": "left", "parent": "all", "initial": "l1" },
            { "id": "l1", "parent": "left" },
            { "id": "l2", "parent": "left" },
            { "id": "right", "parent": "all" },
            { "id": "memory", "parent": "all", "history": "deep" },
            { "id": "lost", "initial": "inner" },
            { "id": "inner", "parent": "lost" }
        ],
        "transitions": [
            { "from": "a", "event": "go", "to": "right" },
            { "from": "a", "event": "go", "guard": "$.payload", "to": "a" },
            { "from": "all", "event": "x", "guard": "$.payload", "to": "a" },
            { "from": "all", "to": "a" },
            { "from": "all", "event": "y", "to": "memory" },
            { "from": "all", "after": 5, "to": "a" },
            { "from": "all", "after": 7, "to": "a" },
            { "from": "right", "always": true, "guard": "$.context", "to": "right" },
            { "from": "right", "always": true, "to": "a" },
            { "from": "right", "always": true, "guard": null, "to": "a" }
        ]
    }));
    assert_eq!(
        places,
        [
            "JL0003 /states/4",
            "JL0003 /states/7",
            "JL0003 /states/8",
            "JL0004 /transitions/1",
            "JL0004 /transitions/4",
            "JL0004 /transitions/9",
        ]
    );
}

#[test]
fn workflows_and_dataflows() {
    let (places, messages) = warned(&value!({
        "$workflow": "0.2", "revision": "1", "initial": "work",
        "states": {
            "work": {
                "work": { "dag": {
                    "$dag": "0.1",
                    "nodes": {
                        "in": { "kind": "input" },
                        "sum": { "kind": "query", "query": { "$add": ["$.ordr.net", "$rate"] } },
                        "out": { "kind": "output" }
                    },
                    "edges": [
                        { "from": "in", "to": "sum", "port": "order", "select": "$order" },
                        { "from": "sum", "to": "out" }
                    ]
                } },
                "input": { "key": "$.context.activation.key", "order": "$.context.dat" },
                "then": "choice"
            },
            "choice": { "choose": [
                { "guard": { "$eq": ["$.context.activation.key", 1] }, "to": "wait" },
                { "guard": "$.context.results", "to": "wait" },
                { "guard": "$.context.results.work", "to": "wait" },
                { "guard": "$.context.visits['/states/work']", "to": "wait" }
            ], "otherwise": "end" },
            "wait": {
                "on": [
                    { "event": "a", "guard": "$context.data", "to": "end" },
                    { "event": "a", "to": "end" },
                    { "event": "a", "guard": "$.payload.ok", "to": "end" }
                ],
                "after": { "ms": 5, "to": "late" }
            },
            "late": {
                "work": { "task": "t", "version": "1", "with": ["$.key", "$.context.data"] },
                "input": { "key": "$.context.activation.key" }, "then": "end"
            },
            "end": { "final": true },
            "lost": { "final": true }
        }
    }));
    assert_eq!(
        places,
        [
            "JL0002 /states/work/work/dag/nodes/sum/query/$add/0",
            "JL0001 /states/work/work/dag/nodes/sum/query/$add/1",
            "JL0001 /states/work/work/dag/edges/0/select",
            "JL0002 /states/work/input/order",
            "JL0002 /states/choice/choose/0/guard/$eq/0",
            "JL0002 /states/choice/choose/2/guard",
            "JL0001 /states/wait/on/0/guard",
            "JL0004 /states/wait/on/2",
            "JL0002 /states/late/work/with/1",
            "JL0003 /states/lost",
        ]
    );
    assert!(messages[0].ends_with("did you mean 'order'?"), "{messages:?}");
    assert!(messages[3].ends_with("did you mean 'data'?"), "{messages:?}");
    assert!(messages[5].ends_with("did you mean '/states/work'?"), "{messages:?}");
}

#[test]
fn a_lint_takes_any_value() {
    for document in [
        value!(null),
        value!({ "states": 1 }),
        value!({ "$workflow": 1, "states": [1] }),
        value!({ "$dag": [], "edges": [1], "nodes": { "a": [] } }),
    ] {
        assert_eq!(lint(&document), []);
    }
}

/// What the corpus' accepted documents are warned of, to look at: `cargo test -p jaren-flow --test lint corpus -- --nocapture`.
#[test]
fn the_corpus() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance"));
    let (mut documents, mut warnings) = (0, std::collections::BTreeMap::<String, usize>::new());
    for folder in ["fsm", "statechart", "dag", "workflow"] {
        let Ok(files) = std::fs::read_dir(root.join(folder)) else {
            println!("skipped: the conformance corpus is not at {}", root.display());
            return;
        };
        for file in files {
            let cases =
                read(&std::fs::read(file.unwrap().path()).unwrap(), &ReadOptions::document()).unwrap();
            for case in cases.as_array().into_iter().flatten() {
                let Some(document) = case.get("document") else { continue };
                let accepted = match folder {
                    "fsm" => Machine::compile(document).is_ok(),
                    "statechart" => Statechart::compile(document).is_ok(),
                    "dag" => Dag::compile(document, &DeclaredTasks).is_ok(),
                    _ => Workflow::compile(document, &DeclaredTasks).is_ok(),
                };
                if accepted {
                    documents += 1;
                    for warning in lint(document) {
                        println!("{folder} {}: {warning}", case.get("name").unwrap());
                        *warnings.entry(format!("{folder} {}", warning.code())).or_default() += 1;
                    }
                }
            }
        }
    }
    println!("{documents} documents: {warnings:?}");
}
