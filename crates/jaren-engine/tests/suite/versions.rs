//! Several versions of one task, side by side in one registry.

use jaren_engine::{Drive, ErrorKind, Failure, Registration, Start, Status, TaskContext, Tasks};
use jaren_json::{Value, value};

use super::support::{World, done, workflow};

fn tax<'a>(tasks: &'a mut Tasks, version: &str, rate: f64) -> Registration<'a> {
    tasks.add("tax", version, move |_: TaskContext, (): (), net: f64| async move {
        Ok::<f64, Failure>(net * rate)
    })
}

fn order(version: &str) -> Value {
    workflow(value!({
        "begin": { "on": [{ "event": "pay", "to": "tax" }] },
        "tax": { "work": { "task": "tax", "version": version }, "then": "end" },
        "end": { "final": true }
    }))
}

/// A run under way goes on with the version of its document, though there is a newer one beside it; a task is called at
/// the version that is meant, with the policy of that one.
#[tokio::test]
async fn a_run_resumes_with_its_own_version_while_the_next_one_is_there() {
    let world = World::new();
    let mut before = Tasks::new();
    tax(&mut before, "1", 2.0);
    let mut run =
        world.engine_with(before).start(Start::new(order("1"), value!(100)).with_id("old")).await.unwrap();
    assert!(matches!(run.drive().await.unwrap(), Status::Waiting { .. }));

    let mut both = Tasks::new();
    tax(&mut both, "2", 3.0).needs::<World>();
    tax(&mut both, "1", 2.0);
    let engine = world.engine_with(both);
    engine.start(Start::new(order("2"), value!(100)).with_id("new")).await.unwrap();
    for id in ["old", "new"] {
        let _ = engine.send(id, jaren_engine::Event::new("pay", Value::Null)).await.unwrap();
    }
    let old = engine.open("old").await.unwrap().drive().await;
    assert_eq!(old.unwrap(), done(value!(200)));
    // Only version 2 cannot do without that resource.
    let error = engine.open("new").await.unwrap().drive().await.unwrap_err();
    assert_eq!(error.code(), "JE0009");
    let lent = Drive::new().with_resources(jaren_engine::Resources::new().with(World::new()));
    assert_eq!(engine.open("new").await.unwrap().drive_with(lent).await.unwrap(), done(value!(300)));
}

#[tokio::test]
async fn a_pair_that_is_registered_twice_is_told_at_the_first_start() {
    let world = World::new();
    let mut tasks = Tasks::new();
    tax(&mut tasks, "1", 2.0);
    tax(&mut tasks, "1", 3.0);
    let error = world.engine_with(tasks).start(Start::new(order("1"), value!(1))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("\"tax\""), "{error}");
    let mut tasks = Tasks::new();
    tax(&mut tasks, " ", 2.0);
    let error = world.engine_with(tasks).start(Start::new(order("1"), value!(1))).await.unwrap_err();
    assert!(error.to_string().contains("blank"), "{error}");
}

/// A defect is told where the author wrote it, not where it is in what the document was lowered to.
#[tokio::test]
async fn a_misspelt_task_is_told_where_it_is_written() {
    let world = World::new();
    let mut tasks = Tasks::new();
    tax(&mut tasks, "1", 2.0);
    let engine = world.engine_with(tasks);
    let mut misspelt = order("1");
    let work = value!({ "work": { "task": "tac", "version": "1" }, "then": "end" });
    if let Value::Object(document) = &misspelt {
        let states = document.get("states").and_then(Value::as_object).unwrap().with("tax", work);
        misspelt = Value::Object(document.with("states", Value::Object(states)));
    }
    let error = engine.start(Start::new(misspelt, value!(1))).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Document, "JF0018"));
    assert_eq!(error.pointer(), Some("/states/tax/work/task"));
    assert_eq!(error.report().unwrap().first().pointer(), &"/nodes/task/run");
    let told = error.to_string();
    assert!(told.contains("at /states/tax/work/task") && !told.contains("/nodes"), "{told}");
    assert!(error.report().unwrap().to_string().starts_with("JF0018 at /states/tax/work/task: "), "{told}");
    let error = engine.start(Start::new(order("2"), value!(1))).await.unwrap_err();
    assert_eq!((error.code(), error.pointer()), ("JF0019", Some("/states/tax/work/version")));
}
