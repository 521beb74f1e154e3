//! Builders: they can say what the documents of the conformance corpus say, and refuse what no document can.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test fails by panicking and says what it did"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jaren_flow::build::{
    self, BuildError, Inputs, Work, WorkflowBuilder, effect, task, unversioned_task, when,
};
use jaren_flow::dag::Dag;
use jaren_flow::machine::Machine;
use jaren_flow::statechart::Statechart;
use jaren_flow::workflow::{Workflow, lower};
use jaren_flow::{DeclaredTasks, Given};
use jaren_json::{Object, ReadOptions, Value, read, value};

/// The documents of a folder of the corpus that are accepted.
fn accepted(folder: &str, mut each: impl FnMut(&Value)) {
    let path =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance")).join(folder);
    let Ok(files) = std::fs::read_dir(&path) else {
        println!("skipped: the conformance corpus is not at {}", path.display());
        return;
    };
    for file in files {
        let cases = read(&std::fs::read(file.unwrap().path()).unwrap(), &ReadOptions::document()).unwrap();
        for case in cases.as_array().unwrap() {
            if case.get("expect").is_none_or(|expect| expect.get("error").is_none()) {
                each(case.get("document").unwrap());
            }
        }
    }
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap()
}

fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.get(member).and_then(Value::as_array).map_or(&[], |list| list)
}

fn members<'a>(value: &'a Value, member: &str) -> &'a Object {
    value.get(member).and_then(Value::as_object).unwrap()
}

/// Says with a builder what a workflow or a nested flow says.
fn retell(scope: &Value, flow: &mut WorkflowBuilder<'_>) {
    let states = members(scope, "states");
    let handles: BTreeMap<&str, _> = states.iter().map(|(name, _)| (name, flow.state(name))).collect();
    let to = |value: &Value, member: &str| handles[text(value, member)];
    flow.initial(to(scope, "initial"));
    for (name, state) in states {
        let own = handles[name];
        if let Some(limit) = state.get("limit").and_then(Value::as_u64) {
            flow.limit(own, u32::try_from(limit).unwrap());
        }
        if let Some(work) = state.get("work") {
            let work = match (work.get("dag"), work.get("with")) {
                (Some(dag), _) => Work::dag(dag),
                (None, None) => task(text(work, "task"), text(work, "version")).into(),
                (None, Some(with)) => task(text(work, "task"), text(work, "version")).with(with).into(),
            };
            let mut working = flow.work(own, work, to(state, "then"));
            if let Some(input) = state.get("input") {
                working.input(input);
            }
            if state.get("catch").is_some() {
                working.catch(to(state, "catch"));
            }
        } else if state.get("choose").is_some() {
            let ways = list(state, "choose").iter().map(|way| when(way.get("guard").unwrap(), to(way, "to")));
            let otherwise = to(state, "otherwise");
            match <[_; 1]>::try_from(ways.collect::<Vec<_>>()) {
                Ok(one) => flow.choose(own, one, otherwise),
                Err(ways) => flow.choose(own, <[_; 2]>::try_from(ways).unwrap(), otherwise),
            }
        } else if state.get("on").is_some() {
            for branch in list(state, "on") {
                let mut waiting = flow.on(own, text(branch, "event"), to(branch, "to"));
                if let Some(guard) = branch.get("guard") {
                    waiting.guard(guard);
                }
            }
            if let Some(after) = state.get("after") {
                let ms = after.get("ms").and_then(Value::as_f64).unwrap();
                flow.after(own, Duration::from_secs_f64(ms / 1e3), to(after, "to"));
            }
        } else if let Some(inner) = state.get("flow") {
            flow.flow(own, |builder| retell(inner, builder), to(state, "then"));
        } else {
            flow.finish(own);
        }
    }
}

#[test]
fn workflows_of_the_corpus() {
    let (mut count, mut other) = (0, 0);
    accepted("workflow", |document| {
        // This test tells choices of one and two ways, and limits that a `u32` holds.
        let beyond = |state: &Value| {
            let limit = state.get("limit").and_then(Value::as_u64);
            list(state, "choose").len() > 2 || limit.is_some_and(|limit| u32::try_from(limit).is_err())
        };
        if members(document, "states").values().iter().any(beyond) {
            other += 1;
            return;
        }
        let built = build::workflow(text(document, "revision"), |flow| retell(document, flow)).unwrap();
        assert_eq!(built, *document);
        assert!(lower(&built).is_ok());
        count += 1;
    });
    println!("{count} workflows retold, {other} left out");
}

#[test]
fn machines_of_the_corpus() {
    let mut count = 0;
    accepted("fsm", |document| {
        let id = |state: &Value| state.as_str().unwrap_or_else(|| text(state, "id")).to_owned();
        let of = |effect: &Value| {
            let named = build::effect(text(effect, "run"));
            match effect.get("with") {
                Some(with) => named.with(with),
                None => named,
            }
        };
        let built = build::machine(|m| {
            let mut handles = BTreeMap::new();
            for state in list(document, "states") {
                let is_final = state.get("final") == Some(&Value::Bool(true));
                let handle = if is_final { m.final_state(id(state)) } else { m.state(id(state)) };
                for effect in list(state, "entry") {
                    m.entry(handle, of(effect));
                }
                for effect in list(state, "exit") {
                    m.exit(handle, of(effect));
                }
                handles.insert(id(state), handle);
            }
            match document.get("initial").and_then(Value::as_str) {
                Some(initial) => m.initial(handles[initial]),
                None => m.without_initial(),
            }
            for transition in list(document, "transitions") {
                let (from, to) = (handles[text(transition, "from")], handles[text(transition, "to")]);
                let mut added = match transition.get("event").and_then(Value::as_str) {
                    Some(event) => m.on(from, event, to),
                    None => m.on_any(from, to),
                };
                if let Some(guard) = transition.get("guard") {
                    added.guard(guard);
                }
                for effect in list(transition, "effects") {
                    added.run(of(effect));
                }
            }
        });
        // The same machine, though not the same text: absent is null, and `{"id": "a"}` is `"a"`.
        let (built, given) =
            (Machine::compile(&built.unwrap()).unwrap(), Machine::compile(document).unwrap());
        assert!(built.states().eq(given.states()) && built.initial() == given.initial());
        for state in given.states() {
            assert_eq!(built.is_final(state.as_str()), Ok(state.is_final()));
            for event in state.events().chain(["?"]) {
                let step = Given::default();
                assert_eq!(built.step(state.as_str(), event, &step), Ok(state.step(event, &step)));
            }
        }
        count += 1;
    });
    println!("{count} machines retold");
}

#[test]
fn a_statechart_of_every_kind_of_state_and_transition() {
    let document = build::statechart(|chart| {
        let off = chart.state("off");
        let on = chart.parallel("on");
        let light = chart.within(on).compound("light");
        let dim = chart.within(light).state("dim");
        let bright = chart.within(light).state("bright");
        let memory = chart.within(light).shallow_history("memory");
        let timer = chart.within(on).compound("timer");
        let counting = chart.within(timer).state("counting");
        let over = chart.within(timer).final_state("over");
        chart.initial(bright);
        chart.entry(on, effect("lamp").with("$.state"));
        chart.exit(on, effect("lamp"));
        chart.on(off, "press", on).guard("$.context.power").run(effect("click"));
        chart.on(bright, "less", dim);
        chart.on_any(dim, memory);
        chart.on(light, "blink", light).internal();
        chart.after(counting, Duration::from_micros(1_500), over);
        chart.done(timer, off);
        chart.always(off, off).guard(false);
    });
    let document = document.unwrap();
    assert_eq!(
        document,
        value!({
            "$fsm": "0.2",
            "initial": "off",
            "states": [
                "off",
                {
                    "id": "on", "type": "parallel",
                    "entry": [{ "run": "lamp", "with": "$.state" }], "exit": [{ "run": "lamp" }]
                },
                { "id": "light", "parent": "on", "type": "compound", "initial": "bright" },
                { "id": "dim", "parent": "light" },
                { "id": "bright", "parent": "light" },
                { "id": "memory", "parent": "light", "history": "shallow" },
                { "id": "timer", "parent": "on", "type": "compound", "initial": "counting" },
                { "id": "counting", "parent": "timer" },
                { "id": "over", "parent": "timer", "final": true }
            ],
            "transitions": [
                {
                    "from": "off", "event": "press", "to": "on",
                    "guard": "$.context.power", "effects": [{ "run": "click" }]
                },
                { "from": "bright", "event": "less", "to": "dim" },
                { "from": "dim", "to": "memory" },
                { "from": "light", "event": "blink", "to": "light", "type": "internal" },
                { "from": "counting", "after": 1.5, "to": "over" },
                { "from": "timer", "done": true, "to": "off" },
                { "from": "off", "always": true, "to": "off", "guard": false }
            ]
        })
    );
    let chart = Statechart::compile(&document).unwrap();
    let context = value!({ "power": true });
    let given = Given { context: Some(&context), payload: None };
    let on = chart.step(&chart.start(None, &given).unwrap().state, "press", None, &given).unwrap();
    assert_eq!(*on.state.active_value(), value!(["bright", "counting"]));
}

#[test]
fn a_dag_of_every_kind_of_node() {
    let document = build::dag(|mut dag| {
        let order = dag.input("order");
        let rate = dag.constant("rate", 0.21);
        let names = dag.stylesheet("names", value!([]), order.select("$.lines"));
        let tax = dag.query(
            "tax",
            value!({ "$mul": ["$.sum", "$.rate"] }),
            [("sum", order.select("$.sum")), ("rate", rate.into())],
        );
        let sent = dag.task("sent", unversioned_task("send").with("$.x"), tax);
        let ports = [("names", names), ("sent", sent)];
        let all = dag.task("all", task("gather", "2"), ports.into_iter().collect::<Inputs<'_>>());
        dag.checkpoint(all);
        dag.output("out", all).checkpoint()
    });
    assert_eq!(
        document.unwrap(),
        value!({
            "$dag": "0.1",
            "nodes": {
                "order": { "kind": "input" },
                "rate": { "kind": "const", "value": 0.21 },
                "names": { "kind": "jslt", "stylesheet": [] },
                "tax": { "kind": "query", "query": { "$mul": ["$.sum", "$.rate"] } },
                "sent": { "kind": "task", "run": "send", "with": "$.x" },
                "all": { "kind": "task", "run": "gather", "version": "2", "checkpoint": true },
                "out": { "kind": "output", "checkpoint": true }
            },
            "edges": [
                { "from": "order", "to": "names", "select": "$.lines" },
                { "from": "order", "to": "tax", "port": "sum", "select": "$.sum" },
                { "from": "rate", "to": "tax", "port": "rate" },
                { "from": "tax", "to": "sent" },
                { "from": "names", "to": "all", "port": "names" },
                { "from": "sent", "to": "all", "port": "sent" },
                { "from": "all", "to": "out" }
            ]
        })
    );
    let simple = build::dag(|mut dag| {
        let order = dag.input("order");
        let sum = dag.query("sum", value!({ "$sum": "$[*]" }), order);
        dag.output("out", sum)
    });
    assert!(Dag::compile(&simple.unwrap(), &DeclaredTasks).is_ok());
}

#[test]
fn a_dag_is_work_of_a_workflow() {
    let work = build::dag(|mut dag| {
        let order = dag.input("order");
        let charged = dag.task("charged", task("charge", "1"), order);
        dag.output("out", charged)
    });
    let document = build::workflow("pay/1", |flow| {
        let [done, pay, failed] = flow.states(["done", "pay", "failed"]);
        flow.initial(pay);
        flow.work(pay, Work::dag(work.unwrap()), done).input("$.context.data.order").catch(failed);
        flow.finish(done);
        flow.finish(failed);
    });
    let workflow = Workflow::compile(&document.unwrap(), &DeclaredTasks).unwrap();
    assert!(workflow.catches("/states/pay"));
    assert_eq!(workflow.task_versions().values(), [value!("1")]);
}

#[test]
fn builders_refuse_what_no_document_can_say() {
    let twice = build::machine(|m| {
        m.state("a");
        m.state("a");
    });
    assert_eq!(twice, Err(BuildError::Duplicate("a".into())));
    let twice = build::dag(|mut dag| {
        let a = dag.input("a");
        dag.output("a", a)
    });
    assert_eq!(twice, Err(BuildError::Duplicate("a".into())));
    let undefined = build::workflow("1", |flow| {
        let [a, b] = flow.states(["a", "b"]);
        flow.work(a, task("t", "1"), b);
    });
    assert_eq!(undefined, Err(BuildError::Undefined("b".into())));
    let two_forms = build::workflow("1", |flow| {
        let [a] = flow.states(["a"]);
        flow.on(a, "e", a);
        flow.finish(a);
    });
    assert_eq!(two_forms, Err(BuildError::TwoForms("a".into())));
    let within = build::workflow("1", |flow| {
        let [a, b] = flow.states(["a", "b"]);
        flow.flow(a, |inner| assert_eq!(inner.states(["x"]).len(), 1), b);
        flow.finish(b);
        flow.finish(b);
    });
    assert_eq!(within, Err(BuildError::Undefined("x".into())));
}
