//! Stopping a run at a checkpoint.

use std::sync::Arc;
use std::time::Duration;

use jaren_engine::{Drive, Engine, Failure, RunStatus, Start, Status, TaskContext, Tasks};
use jaren_json::{Value, value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::{Log, World, chain, done, failed, fork, observed, waiting, work};

/// `left` answers 1 when it is asked to stop; `right` fails then the first time.
fn engine(world: &World, log: &Log, begun: &Arc<Notify>) -> Engine {
    let mut tasks = Tasks::new();
    tasks.add("left", "1", async |context: TaskContext, (): (), _: Value| {
        context.cancel.cancelled().await;
        Ok::<f64, Failure>(1.0)
    });
    let (log, begun) = (log.clone(), begun.clone());
    tasks.add("right", "1", move |context: TaskContext, (): (), _: Value| {
        let again = !log.take().is_empty();
        log.push("right");
        begun.notify_one();
        async move {
            if again {
                return Ok(2.0);
            }
            context.cancel.cancelled().await;
            Err(Failure::new("stopped"))
        }
    });
    world.engine_with(tasks)
}

#[tokio::test]
async fn an_interrupted_run_keeps_what_ended_in_time() {
    let (world, ran, begun) = (World::new(), Log::default(), Arc::new(Notify::new()));
    let engine = engine(&world, &ran, &begun);
    let mut run = engine.start(Start::new(fork("left", "right"), value!(0)).with_id("r")).await.unwrap();
    let (stop, log) = (CancellationToken::new(), Log::default());
    let drive = Drive::new().with_cancel(stop.clone()).with_observer(observed(&log));
    let driving = tokio::spawn(async move {
        let status = run.drive_with(drive).await.unwrap();
        (status, run)
    });
    begun.notified().await;
    stop.cancel();
    let (status, mut run) = driving.await.unwrap();
    assert_eq!(status, Status::Interrupted);
    let view = world.view("r").await;
    assert_eq!((view.status, view.failure), (RunStatus::Running, None));
    let log = log.take();
    assert!(log.contains(&"ok /states/begin 1 left".to_owned()), "{log:?}");
    assert!(log.contains(&"aborted /states/begin 1 right".to_owned()), "{log:?}");

    let log = Log::default();
    assert_eq!(run.drive_with(Drive::new().with_observer(observed(&log))).await.unwrap(), done(value!(3)));
    let log = log.take();
    assert!(log.contains(&"restored /states/begin 1 left".to_owned()), "{log:?}");
    assert!(!log.contains(&"started /states/begin 1 left".to_owned()), "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_does_not_listen_is_stopped_after_the_grace() {
    let world = World::new();
    let mut tasks = Tasks::new();
    tasks.add("deaf", "1", async |_: TaskContext, (): (), _: Value| {
        tokio::time::sleep(Duration::from_hours(1)).await;
        Ok::<Value, Failure>(Value::Null)
    });
    let engine = world.engine_with(tasks).with_grace(Duration::from_secs(2));
    let mut run = engine.start(Start::new(fork("deaf", "deaf"), value!(0)).with_id("r")).await.unwrap();
    let (stop, began) = (CancellationToken::new(), tokio::time::Instant::now());
    let drive = Drive::new().with_cancel(stop.clone());
    let driving = tokio::spawn(async move { run.drive_with(drive).await.unwrap() });
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop.cancel();
    assert_eq!(driving.await.unwrap(), Status::Interrupted);
    assert_eq!(began.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_failure_stops_its_siblings_and_what_they_answer_is_void() {
    let world = World::new();
    let mut tasks = Tasks::new();
    tasks.add("left", "1", async |context: TaskContext, (): (), _: Value| {
        context.cancel.cancelled().await;
        Ok::<f64, Failure>(1.0)
    });
    tasks.add("right", "1", async |_: TaskContext, (): (), _: Value| Err::<f64, _>(Failure::new("boom")));
    let log = Log::default();
    let mut run = world
        .engine_with(tasks)
        .start(Start::new(fork("left", "right"), value!(0)).with_id("r"))
        .await
        .unwrap();
    let failure = failed(run.drive_with(Drive::new().with_observer(observed(&log))).await);
    assert_eq!((&*failure.code, failure.node.as_deref()), ("JF2006", Some("right")));
    assert!(log.take().contains(&"aborted /states/begin 1 left".to_owned()));
    let view = world.view("r").await;
    assert_eq!(view.snapshot.get("pending").unwrap().get("values"), Some(&value!({})));
}

/// Tells when it is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test(start_paused = true)]
async fn a_deaf_sibling_is_stopped_after_the_grace_while_the_run_goes_on() {
    let (world, stopped) = (World::new(), Arc::new(Notify::new()));
    let mut tasks = world.tasks();
    let telling = stopped.clone();
    tasks.add("deaf", "1", move |_: TaskContext, (): (), _: Value| {
        let dropped = Dropped(telling.clone());
        async move {
            let _dropped = dropped;
            std::future::pending::<Result<Value, Failure>>().await
        }
    });
    // It ends once the sibling has been stopped.
    tasks.add("after", "1", move |_: TaskContext, (): (), _: Value| {
        let stopped = stopped.clone();
        async move {
            stopped.notified().await;
            Ok::<f64, Failure>(7.0)
        }
    });
    let document = fork("deaf", "fail");
    let states = document.get("states").unwrap().as_object().unwrap();
    let begin = states.get("begin").unwrap().as_object().unwrap().with("catch", value!("rescue"));
    let states = states.with("begin", Value::Object(begin)).with("rescue", work("after", "end"));
    let document = Value::Object(document.as_object().unwrap().with("states", Value::Object(states)));
    let engine = world.engine_with(tasks).with_grace(Duration::from_secs(2));
    let mut run = engine.start(Start::new(document, value!(0)).with_id("r")).await.unwrap();
    // The time passes at once when nothing else can happen.
    let driven = tokio::time::timeout(Duration::from_hours(1), run.drive()).await;
    assert_eq!(driven.expect("the sibling is stopped").unwrap(), done(value!(7)));
}

#[tokio::test]
async fn a_token_that_is_cancelled_already_starts_nothing() {
    let world = World::new();
    let mut run = world.engine().start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(run.drive_with(Drive::new().with_cancel(stop)).await.unwrap(), Status::Interrupted);
    assert!(world.log.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_parked_run_can_be_interrupted() {
    let world = World::new();
    let mut run = world.engine().start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let stop = CancellationToken::new();
    let drive = Drive::new().with_cancel(stop.clone());
    let driving = tokio::spawn(async move { run.drive_with(drive).await.unwrap() });
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop.cancel();
    assert_eq!(driving.await.unwrap(), Status::Interrupted);
    assert_eq!(world.view("r").await.status, RunStatus::Waiting);
}

#[tokio::test]
async fn a_dropped_drive_is_driven_again_from_what_the_store_holds() {
    let (world, ran, begun) = (World::new(), Log::default(), Arc::new(Notify::new()));
    let engine = engine(&world, &ran, &begun);
    let mut run = engine.start(Start::new(fork("left", "right"), value!(0)).with_id("r")).await.unwrap();
    tokio::select! {
        _ = run.drive() => panic!("nobody stops the tasks"),
        () = begun.notified() => {}
    }
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(run.drive_with(Drive::new().with_cancel(stop)).await.unwrap(), Status::Interrupted);
}

#[tokio::test]
async fn a_grace_may_be_endless() {
    let world = World::new();
    let engine = world.engine().with_grace(Duration::MAX);
    let mut run = engine.start(Start::new(chain(2), value!(0)).with_id("r")).await.unwrap();
    assert_eq!(run.drive().await.unwrap(), done(value!(2)));
}
