//! What a host lends: it reaches handlers, nothing else, and is held until the last task has ended.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jaren_engine::{
    CancellationToken, Drive, ErrorKind, Failure, Resources, RunStatus, Start, Status, TaskContext, Tasks,
};
use jaren_json::{Value, value};
use tokio::sync::Notify;

use crate::support::{Log, World, done, failed, fork, work, workflow};

fn one(task: &str) -> Value {
    workflow(value!({ "begin": work(task, "end"), "end": { "final": true } }))
}

/// Says when it is released.
struct Lease(Log);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.push("released");
    }
}

#[tokio::test]
async fn a_task_finds_what_the_drive_or_else_the_engine_lends() {
    let world = World::new();
    let mut tasks = Tasks::new();
    tasks
        .add("sum", "1", async |context: TaskContext, (): (), _: Value| {
            Ok::<u32, Failure>(u32::from(*context.resource::<u8>()?) + *context.resource::<u32>()?)
        })
        .needs::<u8>()
        .needs::<u32>();
    let engine = world.engine_with(tasks).with_resources(Resources::new().with(1_u8).with(10_u32));
    let mut run = engine.start(Start::new(one("sum"), value!(0)).with_id("r")).await.unwrap();
    let drive = Drive::new().with_resources(Resources::new().with(2_u8));
    assert_eq!(run.drive_with(drive).await.unwrap(), done(value!(12)));
    // Nothing of it is in what the run keeps.
    assert_eq!(world.view("r").await.attachment, Value::Null);
}

#[tokio::test]
async fn a_declared_resource_that_is_missing_stops_the_drive_before_it_begins() {
    let world = World::new();
    let mut tasks = Tasks::new();
    let log = world.log.clone();
    tasks
        .add("sum", "1", move |_: TaskContext, (): (), input: f64| {
            log.push("sum");
            async move { Ok::<f64, Failure>(input) }
        })
        .needs::<Lease>();
    let engine = world.engine_with(tasks);
    let mut run = engine.start(Start::new(fork("sum", "sum"), value!(1)).with_id("r")).await.unwrap();
    let before = world.view("r").await;
    let error = run.drive().await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Resource, "JE0009"));
    assert!(error.to_string().contains("\"sum\"") && error.to_string().contains("Lease"), "{error}");
    assert!(world.log.take().is_empty());
    assert_eq!(world.view("r").await, before);
    let lease = Resources::new().with(Lease(world.log.clone()));
    assert_eq!(run.drive_with(Drive::new().with_resources(lease)).await.unwrap(), done(value!(2)));
    assert_eq!(world.log.take(), ["sum", "sum", "released"]);
}

/// `left` holds its lease until it is told to stop, `right` does as it is told.
fn tasks(log: &Log, begun: &Arc<Notify>, right: fn() -> Result<f64, Failure>) -> Tasks {
    struct Left(Log);
    impl Drop for Left {
        fn drop(&mut self) {
            self.0.push("left ended");
        }
    }
    let mut tasks = Tasks::new();
    let (held, begun) = (log.clone(), begun.clone());
    tasks.add("left", "1", move |context: TaskContext, (): (), _: Value| {
        let (held, begun) = (Left(held.clone()), begun.clone());
        async move {
            let _lease = context.resource::<Lease>()?;
            let _held = held;
            begun.notify_one();
            context.cancel.cancelled().await;
            tokio::task::yield_now().await;
            Err::<f64, _>(Failure::new("stopped"))
        }
    });
    tasks.add("right", "1", move |_: TaskContext, (): (), _: Value| async move {
        tokio::task::yield_now().await;
        right()
    });
    tasks
}

#[tokio::test]
async fn a_lease_is_released_after_the_last_task_whatever_ended_the_run() {
    for ended_by in ["failure", "cancellation", "drop"] {
        let (world, begun) = (World::new(), Arc::new(Notify::new()));
        let right: fn() -> Result<f64, Failure> =
            if ended_by == "failure" { || Err(Failure::new("boom")) } else { || Ok(1.0) };
        let engine = world.engine_with(tasks(&world.log, &begun, right));
        let mut run = engine.start(Start::new(fork("left", "right"), value!(0)).with_id("r")).await.unwrap();
        let stop = CancellationToken::new();
        let lease = Resources::new().with(Lease(world.log.clone()));
        let drive = Drive::new().with_cancel(stop.clone()).with_resources(lease);
        let driving = tokio::spawn(async move { run.drive_with(drive).await });
        begun.notified().await;
        match ended_by {
            "cancellation" => stop.cancel(),
            "drop" => driving.abort(),
            _ => {}
        }
        match (ended_by, driving.await) {
            ("drop", ended) => {
                assert!(ended.unwrap_err().is_cancelled());
                // An aborted task ends when its runtime comes to it.
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
            }
            ("cancellation", ended) => assert_eq!(ended.unwrap().unwrap(), Status::Interrupted),
            (_, ended) => assert_eq!(failed(ended.unwrap()).code, "JF2006"),
        }
        assert_eq!(world.log.take(), ["left ended", "released"], "{ended_by}");
    }
}

/// Tells that it was dropped.
struct Tell(Arc<Notify>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A lease whose release is told once it has happened: fields are dropped in this order.
struct Lent(
    #[expect(dead_code, reason = "held, and dropped")] Lease,
    #[expect(dead_code, reason = "held, and dropped")] Tell,
);

/// A thread cannot be stopped, so it is waited for; when nobody waits, it keeps what it holds.
#[tokio::test(start_paused = true)]
async fn a_thread_keeps_its_lease_until_it_ends() {
    for dropped in [false, true] {
        let world = World::new();
        let (go, gate) = std::sync::mpsc::channel::<()>();
        let (gate, begun) = (Mutex::new(gate), Arc::new(Notify::new()));
        let (log, runs) = (world.log.clone(), begun.clone());
        let mut tasks = Tasks::new();
        tasks.add_blocking("block", "1", move |context: TaskContext, (): (), _: Value| {
            let _lease = context.resource::<Lent>()?;
            runs.notify_one();
            let _ = gate.lock().unwrap().recv();
            log.push("thread ended");
            Ok::<(), Failure>(())
        });
        let engine = world.engine_with(tasks).with_grace(Duration::ZERO);
        let mut run = engine.start(Start::new(one("block"), value!(0)).with_id("r")).await.unwrap();
        let (stop, released) = (CancellationToken::new(), Arc::new(Notify::new()));
        let lent = Resources::new().with(Lent(Lease(world.log.clone()), Tell(released.clone())));
        let drive = Drive::new().with_cancel(stop.clone()).with_resources(lent);
        let driving = tokio::spawn(async move { run.drive_with(drive).await });
        begun.notified().await;
        if dropped {
            driving.abort();
            assert!(driving.await.unwrap_err().is_cancelled());
            assert!(world.log.take().is_empty());
            go.send(()).unwrap();
        } else {
            stop.cancel();
            for _ in 0..2 {
                tokio::task::yield_now().await;
                tokio::time::advance(Duration::from_secs(1)).await; // the grace is over
            }
            assert!(!driving.is_finished() && world.log.take().is_empty());
            go.send(()).unwrap();
            assert_eq!(driving.await.unwrap().unwrap(), Status::Interrupted);
        }
        released.notified().await;
        assert_eq!(world.log.take(), ["thread ended", "released"]);
        assert_eq!(world.view("r").await.status, RunStatus::Running);
    }
}
