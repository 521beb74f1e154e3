//! How documents are compiled: what the host lends to their queries, and what these may spend.

use std::num::NonZeroU64;

use jaren_flow::dag::{Dag, Evaluated};
use jaren_flow::graph::Graph;
use jaren_flow::lint::lint_with;
use jaren_flow::machine::Machine;
use jaren_flow::statechart::Statechart;
use jaren_flow::workflow::{Workflow, lower, lower_with};
use jaren_flow::{CompileOptions, DeclaredTasks, Format, Given};
use jaren_json::{Diagnostic, Report, Value, value};
use jaren_query::{Functions, Limits, SchemaTest, Schemas};

fn lent() -> CompileOptions {
    let functions = Functions::new().with("twice", |arguments| match arguments {
        [Some(Value::Number(n))] => Ok(Some(Value::Number(n * 2.0))),
        _ => Err("expected one number"),
    });
    let schemas = Schemas::new(|schema| match schema.as_str() {
        Some("text") => Ok(SchemaTest::new(|item| item.as_str().is_some())),
        _ => Err("expected \"text\""),
    });
    CompileOptions::new()
        .with_queries(jaren_query::CompileOptions::new().with_functions(functions).with_schemas(schemas))
}

fn machine() -> Value {
    value!({
        "initial": "a", "states": ["a", "b"],
        "transitions": [{
            "from": "a", "event": "e", "to": "b",
            "guard": { "$eq": [{ "$call": ["twice", "$.payload"] }, 4] },
            "effects": [{ "run": "tell", "with": { "$valid": ["$.payload", "text"] } }]
        }]
    })
}

fn statechart() -> Value {
    let Value::Object(machine) = machine() else { unreachable!("it is one") };
    Value::Object(machine.with("$fsm", "0.2"))
}

/// A query, a stylesheet that matches by schema, a `select` and a `with`, all of which need the host.
fn dag() -> Value {
    value!({
        "$dag": "0.1",
        "nodes": {
            "in": { "kind": "input" },
            "q": { "kind": "query", "query": { "$call": ["twice", "$"] } },
            "s": { "kind": "jslt", "stylesheet": [{ "match": { "schema": "text" }, "body": "a text" }] },
            "t": { "kind": "task", "run": "t", "version": "1", "with": { "$call": ["twice", "$.n"] } },
            "out": { "kind": "output" }
        },
        "edges": [
            { "from": "in", "to": "q", "select": { "$call": ["twice", "$.n"] } },
            { "from": "in", "to": "s", "select": "$.s" }, { "from": "in", "to": "t" },
            { "from": "q", "to": "out", "port": "q" }, { "from": "s", "to": "out", "port": "s" },
            { "from": "t", "to": "out", "port": "t" }
        ]
    })
}

fn workflow() -> Value {
    value!({
        "$workflow": "0.2", "revision": "1", "initial": "work",
        "states": {
            "work": { "work": { "dag": (dag()) }, "input": { "$call": ["twice", 1] }, "then": "choose" },
            "choose": { "choose": [{ "guard": { "$call": ["twice", 1] }, "to": "end" }], "otherwise": "end" },
            "end": { "final": true }
        }
    })
}

fn codes(report: &Report) -> Vec<&str> {
    report.iter().map(Diagnostic::code).collect()
}

#[test]
fn each_format_takes_what_the_host_lends_and_refuses_it_without() {
    let documents =
        [(machine(), "machine"), (statechart(), "statechart"), (dag(), "dag"), (workflow(), "workflow")];
    for (document, name) in &documents {
        let format = Format::of(document).unwrap_or(Format::Machine);
        assert_eq!(format.name(), *name);
        let check = |options: &CompileOptions| format.check(document, &DeclaredTasks, options);
        assert_eq!(check(&lent()), Ok(()), "{name}");
        let report = check(&CompileOptions::new()).unwrap_err();
        assert!(
            codes(&report).iter().all(|code| ["JF0007", "JF0009", "JF0014"].contains(code)),
            "{report:?}"
        );
        // What reads a document needs nobody's code; nor does a picture.
        assert_eq!(check(&CompileOptions::for_reading()), Ok(()), "{name}");
        assert!(Graph::of(document).is_err());
        let graph = Graph::of_with(document, &CompileOptions::for_reading()).unwrap();
        assert_eq!(graph, Graph::of_with(document, &lent()).unwrap());
        assert_eq!(lint_with(document, &lent()), []);
    }
    assert_eq!(codes(&lower(&workflow()).unwrap_err()), ["JF0007"]);
    let lowered = lower_with(&workflow(), &lent()).unwrap();
    let read = Workflow::compile_with(&workflow(), &DeclaredTasks, &CompileOptions::for_reading()).unwrap();
    assert_eq!(read.lowered(), &lowered);
    assert_eq!(
        read.identity(),
        Workflow::compile_with(&workflow(), &DeclaredTasks, &lent()).unwrap().identity()
    );
}

#[test]
fn what_the_host_lends_is_called() {
    let machine = Machine::compile_with(&machine(), &lent()).unwrap();
    let payload = value!(2);
    let given = Given { payload: Some(&payload), context: None };
    let step = machine.step("a", "e", &given).unwrap();
    assert_eq!(step.effects.first().unwrap().to_value(), value!({ "run": "tell", "with": false }));
    let chart = Statechart::compile_with(&statechart(), &lent()).unwrap();
    let start = chart.start(None, &given).unwrap().state;
    assert!(chart.step(&start, "e", None, &given).unwrap().changed);

    let dag = Dag::compile_with(&dag(), &DeclaredTasks, &lent()).unwrap();
    let input = value!({ "n": 3, "s": "x" });
    let values = [Some(input.clone()), None, None, None, None];
    let made = |id: &str| {
        let node = dag.find(id).unwrap();
        dag.evaluate(node, &dag.scope(node, &input, &values).unwrap()).unwrap()
    };
    assert_eq!(made("q"), Evaluated::Value(value!(12)));
    assert_eq!(made("s"), Evaluated::Value(value!("a text")));
    assert!(matches!(made("t"), Evaluated::Task(call) if call.with == value!(6)));
}

/// A query within a step, for which the whole run waits, has less to spend than a node.
#[test]
fn queries_within_a_step_have_limits_of_their_own() {
    let long = value!({ "$count": { "$for": { "x": { "$range": [1, 500] } }, "$return": "$x" } });
    let options =
        CompileOptions::new().with_step_limits(Limits::new().with_steps(NonZeroU64::new(100).unwrap()));
    let cause = |error: &jaren_flow::FlowError| error.cause().map(Diagnostic::code);

    let document = value!({
        "initial": "a", "states": ["a"],
        "transitions": [
            { "from": "a", "event": "e", "guard": long.clone(), "to": "a" },
            { "from": "a", "event": "e", "to": "a", "effects": [{ "run": "tell", "with": long.clone() }] }
        ]
    });
    let machine = Machine::compile_with(&document, &options).unwrap();
    let step = machine.step("a", "e", &Given::default()).unwrap();
    let errors: Vec<_> =
        step.errors.iter().map(|error| (error.code(), error.cause().unwrap().code())).collect();
    assert_eq!((errors, step.effects.len()), (vec![("JF2003", "JQ2009"), ("JF2004", "JQ2009")], 0));

    let document = value!({
        "$dag": "0.1",
        "nodes": {
            "in": { "kind": "input" }, "q": { "kind": "query", "query": long.clone() },
            "t": { "kind": "task", "run": "t", "with": long.clone() }, "out": { "kind": "output" }
        },
        "edges": [
            { "from": "in", "to": "q" }, { "from": "q", "to": "t" },
            { "from": "t", "to": "out", "select": long.clone() }
        ]
    });
    let dag = Dag::compile_with(&document, &DeclaredTasks, &options).unwrap();
    let one = Value::from(1);
    assert_eq!(dag.evaluate(1, &one), Ok(Evaluated::Value(value!(500))));
    assert_eq!(cause(&dag.evaluate(2, &one).unwrap_err()), Some("JQ2009"));
    let values = vec![Some(one.clone()); 4];
    assert_eq!(cause(&dag.scope(3, &one, &values).unwrap_err()), Some("JQ2009"));

    let document = value!({
        "$workflow": "0.2", "revision": "1", "initial": "work",
        "states": {
            "work": { "work": { "task": "t", "version": "1" }, "input": long, "then": "end" },
            "end": { "final": true }
        }
    });
    let workflow = Workflow::compile_with(&document, &DeclaredTasks, &options).unwrap();
    let start = workflow.chart().start(None, &Given::default()).unwrap();
    let error = workflow.input("/states/work", &start.state, &value!({})).unwrap_err();
    assert_eq!((error.code(), cause(&error)), ("JF2016", Some("JQ2009")));
}

/// Small values that repeat each other are large where they are written: what flows together is measured.
#[test]
fn what_flows_into_a_node_is_bounded_and_must_be_there() {
    let document = value!({
        "$dag": "0.1",
        "nodes": { "a": { "kind": "input" }, "b": { "kind": "input" }, "out": { "kind": "output" } },
        "edges": [{ "from": "a", "to": "out", "port": "a" }, { "from": "b", "to": "out", "port": "b" }]
    });
    let dag = Dag::compile(&document, &DeclaredTasks).unwrap();
    let doubled = (0..24).fold(value!([1]), |inner, _| Value::from([inner.clone(), inner]));
    assert!(doubled.size() <= Limits::SIZE && doubled.size() > Limits::SIZE / 2);
    let both = [Some(doubled.clone()), Some(doubled.clone()), None];
    let error = dag.scope(2, &Value::Null, &both).unwrap_err();
    assert_eq!((error.code(), error.node().map(|node| &**node)), ("JF2006", Some("out")));
    let error = dag.scope(0, &Value::from([doubled.clone(), doubled.clone()]), &both).unwrap_err();
    assert_eq!((error.code(), error.node().map(|node| &**node)), ("JF2006", Some("a")));
    assert!(dag.scope(0, &doubled, &both).is_ok());

    // A node that is scheduled before those it waits for, and one that there is not, are the caller's mistakes.
    let error = dag.scope(2, &Value::Null, &[Some(Value::Null), None, None]).unwrap_err();
    assert_eq!((error.code(), error.node().map(|node| &**node)), ("JR0000", Some("out")));
    assert!(error.to_string().contains("waits for node 'b'"), "{error}");
    assert_eq!(dag.scope(3, &Value::Null, &[]).unwrap_err().code(), "JR0000");
}
