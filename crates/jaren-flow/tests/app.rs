//! The projection to an app: its shape, its refusals, and that the generated actions, evaluated, do what the machine does.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking and says what it did")]

use std::path::PathBuf;

use jaren_flow::app::{App, AppError, AppOptions, fsm_state_schema, fsm_to_app};
use jaren_flow::machine::{Machine, StepResult};
use jaren_flow::{Effect, Given};
use jaren_json::{Object, Pointer, ReadOptions, Value, read, value};
use jaren_query::{Query, Scope};

fn app(document: &Value) -> Result<App, AppError> {
    fsm_to_app(document, &AppOptions::new())
}

/// What the action of a machine's answer is.
fn expected(result: &StepResult<'_>) -> Option<Value> {
    let patch = value!([{ "op": "replace", "path": "/fsm/current", "value": (result.state) }]);
    let effects: Value = result.effects.iter().map(Effect::to_value).collect();
    let effects = Some(("effects", effects)).filter(|_| !result.effects.is_empty());
    result.changed.then(|| Value::Object([("patch", patch)].into_iter().chain(effects).collect()))
}

/// Whether step and action answer the same; where the step records a failure there is nothing to compare.
fn agree(machine: &Machine, app: &App, state: &str, event: &str, payload: &Value, data: &Object) -> bool {
    let context = Value::Object(data.with("fsm", value!({ "current": state })));
    let step =
        machine.step(state, event, &Given { payload: Some(payload), context: Some(&context) }).unwrap();
    let action = app.actions.get(&format!("fsm/{event}")).unwrap();
    let action = Query::compile(action).unwrap();
    let externals = [("payload", payload)];
    let answer = action.items(&Scope::value(&context).with_externals(&externals));
    if !step.errors.is_empty() {
        return false;
    }
    let answer = answer.unwrap_or_else(|error| panic!("{error}: {state} {event} {payload} {context}"));
    let expected: Vec<Value> = expected(&step).into_iter().collect();
    assert_eq!(answer, expected, "{state} {event} {payload} {context}");
    true
}

#[test]
fn actions_do_what_the_machines_of_the_corpus_do() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance/fsm"));
    let Ok(files) = std::fs::read_dir(&path) else {
        println!("skipped: the conformance corpus is not at {}", path.display());
        return;
    };
    let (mut compared, mut failing) = (0, 0);
    for file in files {
        let cases = read(&std::fs::read(file.unwrap().path()).unwrap(), &ReadOptions::document()).unwrap();
        for case in cases.as_array().unwrap() {
            let document = case.get("document").unwrap();
            let Ok(machine) = Machine::compile(document) else {
                assert!(matches!(app(document), Err(AppError::Document(_))));
                continue;
            };
            let app = app(document).unwrap_or_else(|error| panic!("{error}: {document}"));
            for op in case.get("script").and_then(Value::as_array).into_iter().flatten() {
                let null = Value::Null;
                let payload = op.get("payload").unwrap_or(&null);
                let data = op.get("context").and_then(Value::as_object).cloned().unwrap_or_default();
                for event in &app.events {
                    for state in machine.states() {
                        let agreed = agree(&machine, &app, state.as_str(), event, payload, &data);
                        *(if agreed { &mut compared } else { &mut failing }) += 1;
                    }
                }
            }
        }
    }
    println!("{compared} answers compared; in {failing} steps a guard or an effect fails");
    assert!(compared > 5_000);
}

#[test]
fn the_action_is_a_chain_in_document_order() {
    let document = value!({
        "initial": "draft",
        "states": ["draft", { "id": "review", "entry": [{ "run": "notify", "with": { "from": "$.state" } }] }],
        "transitions": [
            { "from": "draft", "event": "submit", "guard": "$.payload.ready", "to": "review" },
            { "from": "review", "to": "draft" }
        ]
    });
    let options = AppOptions::new().with_pointer(Pointer::parse("/ui/doc").unwrap()).with_namespace("doc/");
    let app = fsm_to_app(&document, &options).unwrap();
    let back = value!({ "patch": [{ "op": "replace", "path": "/ui/doc/current", "value": "draft" }] });
    let submit = value!({
        "$let": { "__fsm": { "state": "$.ui.doc.current", "event": "submit", "payload": "$payload", "context": "$" } },
        "$return": { "$if": [
            { "$and": [{ "$eq": ["$.ui.doc.current", "draft"] }, "$__fsm.payload.ready"] },
            {
                "patch": [{ "op": "replace", "path": "/ui/doc/current", "value": "review" }],
                "effects": [{ "run": "notify", "with": { "from": "$__fsm.state" } }]
            },
            { "$if": [{ "$eq": ["$.ui.doc.current", "review"] }, back] }
        ] }
    });
    assert_eq!(app.actions.iter().collect::<Vec<_>>(), [("doc/submit", &submit)]);
    assert_eq!((app.slice, app.events), (value!({ "current": "draft" }), vec!["submit".into()]));
    let schema = fsm_state_schema(&document).unwrap();
    let schema = jsonschema::validator_for(&serde_json::to_value(schema).unwrap()).unwrap();
    assert!(schema.is_valid(&serde_json::json!({ "current": "review" })));
    assert!(!schema.is_valid(&serde_json::json!({ "current": "published" })));
}

/// A machine of one transition and what its guard and its effect's argument are.
fn single(guard: Value, with: Value) -> Value {
    value!({
        "initial": "$a",
        "states": ["$a", "b"],
        "transitions": [
            { "from": "$a", "event": "$go", "guard": guard, "to": "b", "effects": [{ "run": "$run", "with": with }] }
        ]
    })
}

#[test]
fn queries_mean_in_an_action_what_they_mean_in_a_step() {
    let rows = value!([{ "id": 1, "v": "x" }, { "id": 2, "v": "y" }]);
    let data: Object = [("rows", rows), ("want", value!(2)), ("none", value!([]))].into_iter().collect();
    let payload = value!({ "id": 2, "list": [1, 2] });
    let queries = [
        value!({ "$const": { "$let": "$.state", "path": "$.context" } }),
        value!({ "$query": "0.1", "$expr": "$.payload.id" }),
        value!("$$.state"),
        value!("$"),
        value!("$['payload']['id']"),
        value!("$.payload.list[*]"),
        value!("$.context.none[*]"),
        value!({ "$for": { "r": "$.context.rows[*]" }, "$where": { "$eq": ["$r.id", "$.payload.id"] }, "$return": "$r.v" }),
        value!({ "$for": { "r": "$.context.rows" }, "$return": { "seen": "$r.v", "in": "$.state" } }),
        value!("$.context.rows[?@.id == $.context.want].v"),
        value!("$.context.rows[?@.v != '$.payload' && $.state == '$a'].v"),
        value!({ "$seq": ["$.event", "$.context.fsm.current"] }),
    ];
    for with in queries {
        let document = single(value!({ "$eq": ["$.event", "$$go"] }), with.clone());
        let (machine, app) = (Machine::compile(&document).unwrap(), app(&document).unwrap());
        assert!(agree(&machine, &app, "$a", "$go", &payload, &data), "{with}");
        assert!(agree(&machine, &app, "b", "$go", &payload, &data), "{with}");
    }
}

#[test]
fn a_machine_of_many_transitions_has_actions() {
    let states: Value = (0..300).map(|n| format!("s{n}")).collect();
    let reset = |n: usize| value!({ "from": format!("s{n}"), "event": "reset", "to": "s0" });
    let document =
        value!({ "initial": null, "states": states, "transitions": (0..300).map(reset).collect::<Value>() });
    let (machine, app) = (Machine::compile(&document).unwrap(), app(&document).unwrap());
    for state in ["s0", "s150", "s299"] {
        assert!(agree(&machine, &app, state, "reset", &Value::Null, &Object::default()));
    }
}

#[test]
fn what_an_action_cannot_say_is_refused_with_its_place() {
    let of = |guard: Value| match app(&single(guard, Value::Null)) {
        Err(AppError::Reserved(at)) => format!("reserved {at}"),
        Err(AppError::Filter(at)) => format!("filter {at}"),
        other => panic!("{other:?}"),
    };
    let guard = "/transitions/0/guard";
    let bound = value!({ "$let": { "__fsm": 1 }, "$return": "$__fsm" });
    assert_eq!(of(bound), format!("reserved {guard}/$let"));
    let counted = value!({ "$for": { "x": [1] }, "$count": "__fsm", "$return": 1 });
    assert_eq!(of(counted), format!("reserved {guard}/$count"));
    assert_eq!(of(value!("$.context.rows[?@.id == $.payload.id]")), format!("filter {guard}"));
    assert_eq!(of(value!({ "$not": "$.context.rows[?@.id == $.contexts]" })), format!("filter {guard}/$not"));

    let document = single(Value::Null, Value::Null);
    for pointer in ["", "/", "/a-b", "/a/", "/a~1b", "/1a"] {
        let options = AppOptions::new().with_pointer(Pointer::parse(pointer).unwrap());
        assert_eq!(fsm_to_app(&document, &options), Err(AppError::Pointer), "{pointer}");
    }
    let deep = (0..126).fold(value!(true), |inner, _| value!({ "$not": inner }));
    assert!(Machine::compile(&single(deep.clone(), Value::Null)).is_ok());
    assert!(matches!(app(&single(deep, Value::Null)), Err(AppError::Action(..))));
}
