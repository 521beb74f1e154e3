//! The formats' own ports run tasks as they were registered, and say before they begin what stops them.

use std::time::Duration;

use jaren_engine::port::{Call, DagCall, Dags, Workflows};
use jaren_engine::{Drive, Failure, Resources, TaskContext, Tasks};
use jaren_json::{Value, value};

use crate::support::chain;

struct Bank;

fn tasks() -> Tasks {
    let mut tasks = Tasks::new();
    tasks
        .add("add", "1", async |context: TaskContext, (): (), input: f64| {
            context.resource::<Bank>()?;
            Ok::<_, Failure>(input + 1.0)
        })
        .needs::<Bank>();
    tasks
}

fn dag() -> Value {
    value!({
        "$dag": "0.1",
        "nodes": {
            "in": { "kind": "input" }, "add": { "kind": "task", "run": "add", "version": "1" }, "out": { "kind": "output" }
        },
        "edges": [{ "from": "in", "to": "add" }, { "from": "add", "to": "out" }]
    })
}

#[tokio::test]
async fn what_a_task_needs_is_asked_for_before_anything_runs() {
    let lent = || Drive::new().with_resources(Resources::new().with(Bank));
    let workflows = Workflows::compile(&chain(1), tasks(), None).unwrap();
    assert_eq!(workflows.run(Call::new("r", value!(1))).await.unwrap_err().code(), "JE0009");
    let mut call = Call::new("r", value!(1));
    call.drive = lent();
    assert_eq!(workflows.run(call).await.unwrap().result, Some(value!(2)));
    let dags = Dags::compile(&dag(), tasks(), None, None).unwrap();
    assert_eq!(dags.run(DagCall::new("r", value!(1))).await.unwrap_err().code(), "JE0009");
    assert_eq!(dags.run(DagCall::new("r", value!(1)).with_drive(lent())).await.unwrap(), value!(2));
}

#[tokio::test]
async fn a_task_that_was_registered_wrongly_is_not_run() {
    let wrong = || {
        let mut tasks = Tasks::new();
        tasks
            .add("add", "1", async |_: TaskContext, (): (), input: f64| Ok::<_, Failure>(input))
            .time_limit(Duration::ZERO);
        tasks
    };
    let workflows = Workflows::compile(&chain(1), wrong(), None).unwrap();
    assert_eq!(workflows.run(Call::new("r", value!(1))).await.unwrap_err().code(), "JE0005");
    let dags = Dags::compile(&dag(), wrong(), None, None).unwrap();
    assert_eq!(dags.run(DagCall::new("r", value!(1))).await.unwrap_err().code(), "JE0005");
}
