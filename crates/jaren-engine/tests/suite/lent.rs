//! What a host lends to the queries of workflows: functions and schemas, in a run that is resumed and read.

use jaren_engine::{Engine, ErrorKind, Event, Start, Status, Tasks};
use jaren_flow::CompileOptions;
use jaren_json::{Value, value};
use jaren_query::{Functions, SchemaTest, Schemas};

use super::support::{World, done, workflow};

/// A dag node asks for a schema, a guard calls a function.
fn document() -> Value {
    workflow(value!({
        "begin": {
            "work": { "dag": {
                "$dag": "0.1",
                "nodes": {
                    "order": { "kind": "input" },
                    "sound": { "kind": "query", "query": { "ok": { "$valid": ["$", "order"] } } },
                    "out": { "kind": "output" }
                },
                "edges": [{ "from": "order", "to": "sound" }, { "from": "sound", "to": "out" }]
            } },
            "then": "wait"
        },
        "wait": { "on": [{
            "event": "pay", "to": "end", "guard": { "$call": ["is-enough/1", "$.payload.amount"] }
        }] },
        "end": { "final": true }
    }))
}

fn lending(world: &World) -> Engine {
    let functions = Functions::new().with("is-enough/1", |arguments| match arguments {
        [Some(amount)] => Ok(Some(Value::Bool(amount.as_f64() >= Some(10.0)))),
        _ => Err("expected one amount"),
    });
    let schemas = Schemas::new(|schema| match schema.as_str() {
        Some("order") => Ok(SchemaTest::new(|order| order.get("item").is_some())),
        _ => Err("expected \"order\""),
    });
    let queries = jaren_query::CompileOptions::new().with_functions(functions).with_schemas(schemas);
    world.engine_with(Tasks::new()).with_compile_options(CompileOptions::new().with_queries(queries))
}

#[tokio::test]
async fn a_run_resumes_with_the_functions_and_schemas_that_its_host_lends() {
    let world = World::new();
    let start = Start::new(document(), value!({ "item": "lamp" })).with_id("r");
    let mut run = lending(&world).start(start).await.unwrap();
    assert!(matches!(run.drive().await.unwrap(), Status::Waiting { .. }));

    let again = lending(&world);
    for amount in [9, 10] {
        let _ = again.send("r", Event::new("pay", value!({ "amount": amount }))).await.unwrap();
    }
    assert_eq!(again.open("r").await.unwrap().drive().await.unwrap(), done(value!({ "ok": true })));
}

/// Whoever has not what the document names cannot run it, but can read it.
#[tokio::test]
async fn a_host_that_does_not_lend_it_reads_the_run_and_does_not_drive_it() {
    let world = World::new();
    let start = Start::new(document(), value!({ "item": "lamp" })).with_id("r");
    lending(&world).start(start.clone()).await.unwrap();
    let bare = world.engine_with(Tasks::new());
    for error in [bare.open("r").await.unwrap_err(), bare.start(start).await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Document);
        let codes: Vec<&str> = error.report().unwrap().iter().map(jaren_json::Diagnostic::code).collect();
        assert_eq!(codes, ["JF0007", "JF0014"]);
        assert!(error.to_string().contains("JQ0010"), "{error}");
    }
    let published = world.view("r").await.published().unwrap();
    let again = lending(&world).open("r").await.unwrap();
    assert_eq!(published.get("context").unwrap().get("input"), Some(&value!({ "item": "lamp" })));
    assert_eq!(again.id(), "r");
}
