//! The pure core, driven by hand.

use jaren_engine::Failure;
use jaren_engine::core::{
    Arrival, Input, NodeStatus, Output, Phase, Record, RunState, SaveCause, StartTask, Step,
};
use jaren_flow::DeclaredTasks;
use jaren_flow::workflow::Workflow;
use jaren_json::{Value, value};

use crate::support::{chain, fork, waiting, work, workflow};

fn start(document: &Value, input: Value) -> RunState {
    let workflow = Workflow::compile(document, &DeclaredTasks).unwrap();
    RunState::start(workflow, "r", input, Some(0.0)).unwrap()
}

fn calls(step: &Step) -> Vec<StartTask> {
    let call = |output: &Output| match output {
        Output::Start(call) => Some(call.clone()),
        _ => None,
    };
    step.outputs.iter().filter_map(call).collect()
}

fn causes(step: &Step) -> Vec<(u64, SaveCause)> {
    let save = |output: &Output| match output {
        Output::Save(point) => Some((point.snapshot.generation(), point.cause.clone())),
        _ => None,
    };
    step.outputs.iter().filter_map(save).collect()
}

fn settled(call: &StartTask, result: Result<Value, Failure>) -> Input {
    Input::Settled { activation: call.activation, node: call.node, result, ms: 0.0 }
}

fn arrival(id: &str, event: Value) -> Input {
    Input::Arrived(Arrival { id: id.into(), event })
}

#[test]
fn a_completion_and_the_next_admission_are_one_step() {
    let mut run = start(&chain(2), value!(1));
    let first = run.step(Input::Begin, Some(0.0));
    assert_eq!(
        causes(&first),
        [(1, SaveCause::Claim), (2, SaveCause::Admission), (3, SaveCause::Provenance)]
    );
    let call = &calls(&first)[0];
    assert_eq!((call.after, &*call.key), (3, r#"["r","/states/begin",1]"#));

    let second = run.step(settled(call, Ok(value!(2))), Some(5.0));
    let expected = [
        (4, SaveCause::Node("task".into())),
        (5, SaveCause::Node("output".into())),
        (6, SaveCause::Result),
        (7, SaveCause::Control),
        (8, SaveCause::Admission),
        (9, SaveCause::Provenance),
    ];
    assert_eq!(causes(&second), expected);
    assert_eq!(calls(&second)[0].after, 9);
    assert!(matches!(second.phase, Phase::Working));
    // Work that ended at 5 moved the run's time.
    assert_eq!(run.snapshot().control().to_value().get("time"), Some(&value!(5)));
}

#[test]
fn a_task_waits_for_the_save_points_of_its_own_inputs_only() {
    // left (kept) and right (not kept) feed a task each.
    let task =
        |checkpoint: bool| value!({ "kind": "task", "run": "t", "version": "1", "checkpoint": checkpoint });
    let document = workflow(value!({
        "begin": { "work": { "dag": {
            "$dag": "0.1",
            "nodes": {
                "in": { "kind": "input" }, "left": task(true), "right": task(false),
                "a": task(false), "b": task(false), "out": { "kind": "output" }
            },
            "edges": [
                { "from": "in", "to": "left" }, { "from": "in", "to": "right" },
                { "from": "left", "to": "a" }, { "from": "right", "to": "b" },
                { "from": "a", "to": "out", "port": "a" }, { "from": "b", "to": "out", "port": "b" }
            ]
        } }, "then": "end" },
        "end": { "final": true }
    }));
    let mut run = start(&document, value!(1));
    let tasks = calls(&run.step(Input::Begin, None));
    assert_eq!(tasks.iter().map(|call| &*call.id).collect::<Vec<_>>(), ["left", "right"]);
    let a = &calls(&run.step(settled(&tasks[0], Ok(value!(1))), None))[0];
    let b = &calls(&run.step(settled(&tasks[1], Ok(value!(2))), None))[0];
    assert_eq!((&*a.id, a.after), ("a", 4)); // left is saved at 4
    assert_eq!((&*b.id, b.after), ("b", 3)); // right is not saved: the admission at 3 suffices
}

#[test]
fn the_first_failure_abandons_the_rest() {
    let mut run = start(&fork("l", "r"), value!(1));
    let tasks = calls(&run.step(Input::Begin, None));
    let failed = run.step(settled(&tasks[1], Err(Failure::new("boom"))), None);
    assert!(matches!(
        failed.outputs[..],
        [
            Output::Record { record: Record::Node { status: NodeStatus::Error, .. }, .. },
            Output::Abandon { activation: 1 },
        ]
    ));
    let Phase::Failed(error) = failed.phase else { panic!("it fails") };
    assert_eq!(
        (error.code(), error.node(), error.pointer()),
        ("JF2006", Some("right"), Some("/nodes/right"))
    );
    assert_eq!(error.failure().unwrap().message, "boom");
    // The other one's answer comes too late.
    let late = run.step(settled(&tasks[0], Ok(value!(1))), None);
    assert!(late.outputs.is_empty() && matches!(late.phase, Phase::Failed(_)));
}

#[test]
fn catch_is_for_failed_nodes_only() {
    let states = |task: Value| {
        workflow(value!({
            "begin": task, "caught": { "final": true }, "end": { "final": true },
        }))
    };
    let caught = value!({ "work": { "task": "t", "version": "1" }, "then": "end", "catch": "caught" });
    let mut run = start(&states(caught.clone()), value!(1));
    let call = &calls(&run.step(Input::Begin, None))[0];
    let step = run.step(settled(call, Err(Failure::new("boom"))), None);
    let Phase::Done(result) = step.phase else { panic!("it is caught") };
    let message = "JF2006: node 'task' failed: boom at /nodes/task";
    assert_eq!(result, value!({ "error": { "code": "JF2006", "message": message, "nodeId": "task" } }));

    let mut run = start(&states(caught), value!(1));
    let call = &calls(&run.step(Input::Begin, None))[0];
    let step = run.step(settled(call, Ok(Value::Number(f64::NAN))), None);
    assert!(matches!(step.phase, Phase::Failed(error) if error.code() == "JF2008"));
}

#[test]
fn a_due_deadline_comes_before_an_event_and_a_refused_event_is_gone() {
    let wait = |run: &mut RunState| {
        let call = &calls(&run.step(Input::Begin, Some(0.0)))[0];
        run.step(settled(call, Ok(value!(2))), Some(0.0))
    };
    let mut run = start(&waiting(), value!(1));
    let step = wait(&mut run);
    let Phase::Waiting { events, deadline } = step.phase else { panic!("it waits") };
    assert_eq!((events, deadline), (vec!["ok".into(), "again".into()], Some(60_000.0)));

    let step = run.step(arrival("e1", value!({ "type": "ok", "payload": false })), Some(1.0));
    let consumed = step.outputs.iter().find_map(|output| match output {
        Output::Save(point) => point.consumed.clone(),
        _ => None,
    });
    assert!(consumed.is_some_and(|consumed| !consumed.accepted && consumed.id == "e1"));
    assert!(matches!(step.phase, Phase::Waiting { .. }));

    let step = run.step(arrival("e2", value!({ "type": "ok", "payload": true })), Some(60_000.0));
    assert!(matches!(step.phase, Phase::Done(_)), "the deadline was first");
    assert_eq!(run.snapshot().active(), "/states/late");
}

#[test]
fn events_before_the_wait_gather_in_their_order() {
    let mut run = start(&waiting(), value!(1));
    let _ = run.step(arrival("e1", value!({ "type": "again" })), None);
    let call = calls(&run.step(Input::Begin, Some(0.0))).remove(0);
    let _ = run.step(arrival("e2", value!({ "type": "ok", "payload": true })), Some(0.0));
    let step = run.step(settled(&call, Ok(value!(2))), Some(0.0));
    assert_eq!(calls(&step)[0].visit, 2); // `again` first
    let step = run.step(settled(&calls(&step)[0], Ok(value!(3))), Some(0.0));
    assert_eq!(&*calls(&step)[0].state, "/states/after"); // then `ok`
}

#[test]
fn a_long_stretch_without_tasks_stops_on_the_way_and_needs_no_stack() {
    let document = workflow(value!({
        "begin": {
            "work": { "dag": {
                "$dag": "0.1",
                "nodes": {
                    "in": { "kind": "input" }, "q": { "kind": "query", "query": { "$add": ["$", 1] } },
                    "out": { "kind": "output" }
                },
                "edges": [{ "from": "in", "to": "q" }, { "from": "q", "to": "out" }]
            } },
            "then": "check", "limit": 20000
        },
        "check": { "choose": [{ "guard": { "$lt": ["$.context.data", 10000] }, "to": "begin" }], "otherwise": "end" },
        "end": { "final": true }
    }));
    let mut run = start(&document, value!(0));
    let mut step = run.step(Input::Begin, None);
    let mut stops = 0;
    while matches!(step.phase, Phase::More) {
        assert!(step.outputs.len() < 2_000);
        stops += 1;
        step = run.step(Input::Continue, None);
    }
    assert!(stops > 10 && matches!(step.phase, Phase::Done(result) if result == value!(10000)));
}

#[test]
fn a_state_is_entered_as_often_as_its_limit_allows() {
    let document = workflow(value!({
        "begin": { "work": { "task": "t", "version": "1" }, "then": "begin", "limit": 2 },
        "end": { "final": true }
    }));
    let mut run = start(&document, value!(0));
    let first = calls(&run.step(Input::Begin, None)).remove(0);
    let second = calls(&run.step(settled(&first, Ok(value!(1))), None)).remove(0);
    let step = run.step(settled(&second, Ok(value!(2))), None);
    let Phase::Failed(error) = &step.phase else { panic!("the limit holds") };
    assert_eq!((error.code(), error.pointer()), ("JF2015", Some("/states/begin")));
    // The result is saved, so that the next attempt need not work for it.
    assert_eq!(causes(&step).last().unwrap().1, SaveCause::Result);
    assert_eq!(run.snapshot().pending().unwrap().result(), Some(&value!(2)));
}

#[test]
fn a_run_goes_on_from_every_save_point_to_the_same_end() {
    let document = waiting();
    let mut saved = Vec::new();
    let mut run = start(&document, value!(1));
    let result = finish(&mut run, &mut saved);
    assert_eq!(result, value!(3));
    for point in saved {
        let workflow = Workflow::compile(&document, &DeclaredTasks).unwrap();
        let mut again = RunState::restore(workflow.clone(), "r", &point, &value!(1)).unwrap();
        // Our own store keeps less of it.
        let stored = again.snapshot().to_stored();
        assert_eq!(RunState::publish(&workflow, "r", &stored).unwrap(), point);
        let mut stored = RunState::restore_stored(workflow, "r", &stored, &value!(1)).unwrap();
        assert_eq!(stored.snapshot().to_value(), point);
        for again in [&mut again, &mut stored] {
            assert_eq!(finish(again, &mut Vec::new()), result, "from {point}");
        }
    }
}

/// Adds one in every task, answers every wait with `ok`.
fn finish(run: &mut RunState, saved: &mut Vec<Value>) -> Value {
    let mut step = run.step(Input::Begin, Some(0.0));
    loop {
        let save = |output: &Output| match output {
            Output::Save(point) => Some(point.snapshot.to_value()),
            _ => None,
        };
        saved.extend(step.outputs.iter().filter_map(save));
        step = match &step.phase {
            Phase::Done(result) => return result.clone(),
            Phase::Waiting { .. } => {
                run.step(arrival("e", value!({ "type": "ok", "payload": true })), Some(0.0))
            }
            Phase::Working => {
                let call = calls(&step).remove(0);
                let answer = Value::Number(call.input.as_f64().unwrap() + 1.0);
                run.step(settled(&call, Ok(answer)), Some(0.0))
            }
            other => panic!("{other:?}"),
        };
    }
}

#[test]
fn time_cannot_move_backwards() {
    let document = workflow(value!({ "begin": work("t", "end"), "end": { "final": true } }));
    let mut run = start(&document, value!(1));
    let _ = run.step(Input::Begin, Some(10.0));
    let step = run.step(Input::Due, Some(9.0));
    assert!(matches!(step.phase, Phase::Failed(error) if error.code() == "JF2011"));
}

#[test]
fn a_wait_with_many_events_stops_between_two_of_them() {
    let document = workflow(value!({
        "begin": { "on": [{ "event": "go", "to": "end" }] }, "end": { "final": true }
    }));
    let mut run = start(&document, value!(1));
    for number in 0..2_000 {
        let _ = run.step(arrival(&number.to_string(), value!({ "type": "other" })), Some(0.0));
    }
    let _ = run.step(arrival("go", value!({ "type": "go" })), Some(0.0));
    let mut step = run.step(Input::Begin, Some(0.0));
    let mut consumed = Vec::new();
    loop {
        assert!(step.outputs.len() < 1_100, "{}", step.outputs.len());
        consumed.extend(step.outputs.iter().filter_map(|output| match output {
            Output::Save(point) => point.consumed.clone(),
            _ => None,
        }));
        if !matches!(step.phase, Phase::More) {
            break;
        }
        step = run.step(Input::Continue, Some(0.0));
    }
    assert!(matches!(step.phase, Phase::Done(_)));
    let expected = (0..2_000).map(|number| number.to_string()).chain(["go".into()]);
    assert!(consumed.iter().map(|consumed| consumed.id.to_string()).eq(expected));
}
