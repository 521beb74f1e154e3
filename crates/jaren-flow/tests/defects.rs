//! A compiler reports every defect of a document: first the one that the reference names, the rest in document order,
//! and each with the place where its author finds it.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use jaren_flow::dag::Dag;
use jaren_flow::machine::Machine;
use jaren_flow::statechart::{Session, Statechart};
use jaren_flow::workflow::{Workflow, lower};
use jaren_flow::{DeclaredTasks, Given, TaskMap};
use jaren_json::{Report, Value, value};

fn pointers<T>(result: Result<T, Report>) -> Vec<String> {
    let report = result.err().expect("the document has defects");
    report.iter().map(|defect| format!("{} {}", defect.code(), defect.pointer())).collect()
}

fn places<T>(result: Result<T, Report>) -> Vec<String> {
    let report = result.err().expect("the document has defects");
    report.iter().map(|defect| format!("{} {}", defect.code(), defect.place())).collect()
}

#[test]
fn a_statechart_with_seven_defects() {
    let document = value!({
        "$fsm": "0.2",
        "initial": "nowhere",
        "states": [
            { "id": "a", "label": 1 },
            { "id": "b", "parent": "lost" },
            { "id": "c", "entry": [{ "run": "" }] }
        ],
        "transitions": [
            { "from": "a", "to": "c", "event": 1 },
            { "from": "a", "to": "z" },
            { "from": "c", "to": "a", "guard": { "$nope": 1 } }
        ]
    });
    let expected = [
        "JF0020 /states/0/label",
        "JF0020 /initial",
        "JF0020 /states/1/parent",
        "JF0008 /states/2/entry/0",
        "JF0020 /transitions/0/event",
        "JF0020 /transitions/1",
        "JF0007 /transitions/2/guard",
    ];
    assert_eq!(pointers(Statechart::compile(&document)), expected);
    let places = places(Statechart::compile(&document));
    assert!(places.contains(&"JF0020 /transitions/1/to".to_owned()), "{places:?}");
}

#[test]
fn what_names_a_displaced_state_is_no_defect_of_its_own() {
    let document = value!({
        "$fsm": "0.2",
        "initial": "p",
        "states": [
            { "id": "p", "initial": "c" },
            { "id": "c", "parent": "q" },
            { "id": "x", "parent": "y" },
            { "id": "y", "parent": "x" }
        ],
        "transitions": []
    });
    assert_eq!(
        pointers(Statechart::compile(&document)),
        ["JF0020 /states/1/parent", "JF0020 /states/2/parent"]
    );
}

#[test]
fn a_dag_with_six_defects() {
    let document = value!({
        "$dag": "0.1",
        "nodes": {
            "in": { "kind": "input" },
            "q": { "kind": "query" },
            "t": { "kind": "task", "run": "gone", "checkpoint": true },
            "out": { "kind": "output" }
        },
        "edges": [
            { "from": "in", "to": "q" },
            { "from": "q", "to": "nowhere" },
            { "from": "q", "to": "in" },
            { "from": "q", "to": "t" },
            { "from": "t", "to": "q", "port": "" },
            { "from": "t", "to": "out" }
        ]
    });
    let expected = [
        "JF0011 /nodes/q",
        "JF0018 /nodes/t/run",
        "JF0011 /nodes/t/version",
        "JF0013 /edges/1/to",
        "JF0015 /edges/2/to",
        "JF0012 /edges/4/port",
    ];
    let found = pointers(Dag::compile(&document, &tasks(&[])));
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list
    };
    assert_eq!(sorted(&found), sorted(&expected.map(str::to_owned)));
    assert_eq!(found.first().map(String::as_str), Some("JF0011 /nodes/q"));
}

/// A registry of these names and versions.
fn tasks(registered: &[(&str, &str)]) -> TaskMap<()> {
    let mut tasks = TaskMap::new();
    for (name, version) in registered {
        assert!(tasks.insert(name, Some(version), ()));
    }
    tasks
}

/// One task between an input and an output.
fn one_task(declaration: Value) -> Value {
    value!({
        "$dag": "0.1",
        "nodes": { "in": { "kind": "input" }, "t": declaration, "out": { "kind": "output" } },
        "edges": [{ "from": "in", "to": "t" }, { "from": "t", "to": "out" }]
    })
}

// flow 7.8: a node that declares a version means exactly that one. Ours: one that declares none means the handler without
// a version or the only one, and has to say which where there are several.
#[test]
fn versions_of_a_task_stand_side_by_side() {
    let both = tasks(&[("t", "1"), ("t", "2")]);
    for version in ["1", "2"] {
        let dag = Dag::compile(&one_task(value!({ "kind": "task", "run": "t", "version": version })), &both);
        assert_eq!(dag.unwrap().task_versions().get("t"), Some(&Value::from(version)));
    }
    let third = one_task(value!({ "kind": "task", "run": "t", "version": "3" }));
    let unsaid = one_task(value!({ "kind": "task", "run": "t" }));
    for (document, message) in [
        (&third, "the document wants the task 't' at version '3', registered are '1', '2'"),
        (
            &unsaid,
            "the document does not say at which version it wants the task 't', registered are '1', '2'",
        ),
    ] {
        let report = Dag::compile(document, &both).unwrap_err();
        let first = report.first();
        assert_eq!((first.code(), first.pointer().as_str()), ("JF0019", "/nodes/t/version"));
        assert_eq!(first.message(), message);
    }
    assert!(Dag::compile(&unsaid, &tasks(&[("t", "1")])).is_ok());
    let mut with_plain = both;
    assert!(with_plain.insert("t", None, ()));
    assert!(Dag::compile(&unsaid, &with_plain).is_ok());
    let report = Dag::compile(&third, &with_plain).unwrap_err();
    assert!(report.first().message().ends_with("registered are one without a version, '1', '2'"), "{report}");
}

#[test]
fn a_kind_of_node_that_was_nearly_right_is_suggested() {
    let report = Dag::compile(&one_task(value!({ "kind": "tsk", "run": "t" })), &tasks(&[])).unwrap_err();
    let first = report.first();
    assert_eq!((first.code(), first.pointer().as_str()), ("JF0011", "/nodes/t/kind"));
    assert!(first.message().ends_with("; did you mean 'task'?"), "{first}");
}

/// A message does not repeat its cause; what is displayed has both.
#[test]
fn a_defect_of_a_query_has_it_as_its_cause() {
    let report = Machine::compile(&value!({
        "initial": "a", "states": ["a"],
        "transitions": [{ "from": "a", "to": "a", "guard": { "$not": { "$ad": [1, 2] } } }]
    }));
    let first = report.unwrap_err().into_first();
    assert_eq!((first.message(), first.cause().unwrap().code()), ("the guard does not compile", "JQ0002"));
    let shown = first.to_string();
    let cause = first.cause().unwrap().message();
    assert!(shown.starts_with("JF0007 at /transitions/0/guard/$not"), "{shown}");
    assert_eq!(shown.matches(cause).count(), 1, "{shown}");
}

/// A chart with a heartbeat that slept for long has many timers due, which is no loop.
#[test]
fn many_due_timers_are_told_from_a_chart_that_does_not_settle() {
    let chart = Statechart::compile(&value!({
        "$fsm": "0.2", "initial": "beat", "states": ["beat"],
        "transitions": [{ "from": "beat", "after": 1000, "to": "beat", "effects": [{ "run": "tick" }] }]
    }));
    let mut session = Session::open(chart.unwrap(), None, (), None, &Given::default()).unwrap();
    let error = session.advance(2_000_000.0, &Given::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("JF2012: ") && error.contains("1001 timers") && error.contains("one by one"),
        "{error}"
    );
    let mut ticks = 0;
    while session.state().time() < 2_000_000.0 {
        ticks += session.advance_one(2_000_000.0, &Given::default()).unwrap().effects.len();
    }
    assert_eq!(ticks, 2000);

    let loops = Statechart::compile(&value!({
        "$fsm": "0.2", "initial": "a", "states": ["a"],
        "transitions": [{ "from": "a", "always": true, "to": "a" }]
    }));
    let error = loops.unwrap().start(None, &Given::default()).unwrap_err();
    assert_eq!((error.code(), error.message().ends_with("the chart does not settle")), ("JF2012", true));
}

fn broken_workflow() -> Value {
    value!({
        "$workflow": "0.2",
        "revision": "r",
        "initial": "start",
        "states": {
            "start": { "work": { "task": "t", "version": "1", "with": { "x": { "$nope": 1 } } }, "then": "decide" },
            "decide": { "choose": [{ "guard": "$[", "to": "start" }], "otherwise": "nested" },
            "nested": { "flow": { "initial": "deep", "states": {
                "deep": { "work": { "dag": { "$dag": "0.1", "nodes": {
                    "i": { "kind": "input" }, "o": { "kind": "output" }
                }, "edges": [{ "from": "i", "to": "o", "select": { "$nope": 1 } }] } }, "then": "end" },
                "end": { "final": true }
            } }, "then": "done" },
            "done": { "final": true }
        }
    })
}

#[test]
fn the_defects_of_a_workflow_are_shown_where_they_were_written() {
    // The loop start → decide → start has no limit; the guard, the dag and the task's `with` do not compile.
    let expected_pointers =
        ["JF0022 /states/decide", "JF0014 /nodes/task/with", "JF0007 /transitions/0/guard"];
    let found = pointers(Workflow::compile(&broken_workflow(), &DeclaredTasks));
    assert_eq!(found.get(..3).unwrap(), expected_pointers);
    let expected = [
        "JF0022 /states/decide",
        "JF0014 /states/start/work/with/x",
        "JF0007 /states/decide/choose/0/guard",
        "JF0014 /states/nested/flow/states/deep/work/dag/edges/0/select",
    ];
    assert_eq!(places(Workflow::compile(&broken_workflow(), &DeclaredTasks)), expected);
}

#[test]
fn a_task_that_no_handler_has_is_shown_at_its_name() {
    let document = value!({
        "$workflow": "0.2", "revision": "r", "initial": "a",
        "states": { "a": { "work": { "task": "t", "version": "2" }, "then": "b" }, "b": { "final": true } }
    });
    let report = Workflow::compile(&document, &tasks(&[("t", "1")])).unwrap_err();
    assert_eq!(
        (report.first().code(), report.first().place().as_str()),
        ("JF0019", "/states/a/work/version")
    );
    assert_eq!(report.first().pointer().as_str(), "/nodes/task/version");
    let report = Workflow::compile(&document, &tasks(&[])).unwrap_err();
    assert_eq!((report.first().code(), report.first().place().as_str()), ("JF0018", "/states/a/work/task"));
}

#[test]
fn an_undeclared_target_is_shown_where_it_is_named() {
    let document = value!({
        "$workflow": "0.2", "revision": "r", "initial": "w",
        "states": {
            "w": { "on": [{ "event": "go", "to": "gone" }], "after": { "ms": 1, "to": "lost" } },
            "b": { "final": true }
        }
    });
    assert_eq!(pointers(lower(&document)), ["JF0021 /states"; 2]);
    assert_eq!(places(lower(&document)), ["JF0021 /states/w/on/0/to", "JF0021 /states/w/after/to"]);
}

#[test]
fn deep_and_long_documents_are_refused_or_compiled_without_overflowing_the_stack() {
    // A chain of a hundred thousand nested states, walked without recursion.
    let count = 100_000;
    let states: Value = (0..count)
        .map(|index| match index {
            0 => value!({ "id": "s0", "initial": "s1" }),
            index if index + 1 == count => {
                value!({ "id": (format!("s{index}")), "parent": (format!("s{}", index - 1)) })
            }
            index => value!({
                "id": (format!("s{index}")),
                "parent": (format!("s{}", index - 1)),
                "initial": (format!("s{}", index + 1))
            }),
        })
        .collect();
    let document = value!({
        "$fsm": "0.2", "initial": "s0", "states": states,
        "transitions": [{ "from": "s0", "to": "s0", "event": "again" }]
    });
    let chart = Statechart::compile(&document).unwrap();
    let start = chart.start(None, &Given::default()).unwrap();
    assert_eq!(start.entered.len(), count);
    assert_eq!(chart.step(&start.state, "again", None, &Given::default()).unwrap().exited.len(), count);

    let mut deep = Value::Null;
    for _ in 0..10_000 {
        deep = Value::Array([deep].into_iter().collect());
    }
    let document = value!({
        "$workflow": "0.2", "revision": "r", "initial": "a",
        "states": { "a": { "work": { "task": "t", "version": "1", "with": { "$const": deep } }, "then": "b" },
                    "b": { "final": true } }
    });
    assert_eq!(pointers(lower(&document)), ["JF0021 "]);
}

#[test]
fn a_machine_with_eight_defects() {
    let document = value!({
        "initial": 1,
        "states": ["a", "a", { "id": "b", "final": "yes" }, 7],
        "transitions": [{ "from": "a", "to": "z" }, { "from": "a", "event": 1 }, { "from": "b", "to": "a", "guard": "$[" }]
    });
    let expected = [
        "JF0003 /states/1",
        "JF0004 /initial",
        "JF0002 /states/2/final",
        "JF0002 /states/3",
        "JF0006 /transitions/0/to",
        "JF0005 /transitions/1/event",
        "JF0005 /transitions/1/to",
        "JF0007 /transitions/2/guard",
    ];
    assert_eq!(pointers(Machine::compile(&document)), expected);
}

#[test]
fn a_workflow_without_a_revision_is_looked_through() {
    let document = value!({
        "$workflow": "0.2", "initial": "a",
        "states": { "a": { "work": { "task": "t", "version": "1" }, "next": "b", "then": "b" }, "b": { "final": 1 } }
    });
    let report = lower(&document).unwrap_err();
    let places: Vec<&str> = report.iter().map(|defect| defect.place().as_str()).collect();
    assert_eq!(report.first().pointer().as_str(), "");
    assert_eq!(places, ["/revision", "/states/a/next", "/states/b"]);
}

#[test]
fn a_name_that_was_nearly_right_is_suggested() {
    let document = value!({
        "$workflow": "0.2", "revision": "r", "initial": "prepaer",
        "states": {
            "prepare": { "work": { "task": "t", "version": "1" }, "then": "dnoe" },
            "done": { "final": true }
        }
    });
    let report = lower(&document).unwrap_err();
    let messages: Vec<&str> = report.iter().map(jaren_json::Diagnostic::message).collect();
    assert_eq!(messages.len(), 2);
    assert!(messages.first().unwrap().ends_with("; did you mean 'prepare'?"), "{messages:?}");
    assert!(messages.last().unwrap().ends_with("; did you mean 'done'?"), "{messages:?}");

    // A task that nobody registered: the registry lists what there is.
    let document = value!({
        "$dag": "0.1",
        "nodes": { "in": { "kind": "input" }, "t": { "kind": "task", "run": "prepaer" }, "out": { "kind": "output" } },
        "edges": [{ "from": "in", "to": "t" }, { "from": "t", "to": "out" }]
    });
    let report = Dag::compile(&document, &tasks(&[("prepare", "1"), ("ship", "1")])).unwrap_err();
    assert_eq!(report.first().code(), "JF0018");
    assert!(report.first().message().ends_with("; did you mean 'prepare'?"), "{report}");
}
