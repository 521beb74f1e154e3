//! Several engines on one run.

use std::sync::Arc;

use jaren_engine::{ErrorKind, Event, Failure, Start, TaskContext, Tasks};
use jaren_json::{Value, value};
use tokio::sync::{Notify, Semaphore};

use crate::support::{World, chain, done, failing, waiting};

#[tokio::test]
async fn the_engine_that_lost_its_claim_commits_nothing_more() {
    let world = World::new();
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let mut slow = Tasks::new();
    let (telling, waits) = (begun.clone(), go.clone());
    slow.add("add", "1", move |_: TaskContext, (): (), input: f64| {
        let (telling, waits) = (telling.clone(), waits.clone());
        async move {
            telling.notify_one();
            waits.acquire().await?.forget();
            Ok::<f64, Failure>(input + 100.0)
        }
    });
    let mut run = world.engine_with(slow).start(Start::new(chain(3), value!(0)).with_id("r")).await.unwrap();
    let slow = tokio::spawn(async move { run.drive().await });
    begun.notified().await;

    let mut rival = world.engine().open("r").await.unwrap();
    assert_eq!(rival.drive().await.unwrap(), done(value!(3)));
    let commits = world.view("r").await.commits;
    go.add_permits(10);
    let error = slow.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Fenced, "JF2014"));
    let view = world.view("r").await;
    assert_eq!((view.commits, view.result, view.failure), (commits, Some(value!(3)), None));
}

/// The task `add`, which tells that it has begun, waits for a permit and adds 100.
fn stalling(begun: &Arc<Notify>) -> (Tasks, Arc<Semaphore>) {
    let (mut tasks, go) = (Tasks::new(), Arc::new(Semaphore::new(0)));
    let (telling, waits) = (begun.clone(), go.clone());
    tasks.add("add", "1", move |_: TaskContext, (): (), input: f64| {
        let (telling, waits) = (telling.clone(), waits.clone());
        async move {
            telling.notify_one();
            waits.acquire().await?.forget();
            Ok::<f64, Failure>(input + 100.0)
        }
    });
    (tasks, go)
}

/// Lets everybody come to the gate.
async fn gather() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_claim_that_the_old_holder_outruns_is_made_again() {
    let storage = failing();
    let (world, begun) = (World::over(storage.clone()), Arc::new(Notify::new()));
    let (tasks, go) = stalling(&begun);
    let mut run = world.engine_with(tasks).start(Start::new(chain(3), value!(0)).with_id("r")).await.unwrap();
    let old = tokio::spawn(async move { run.drive().await });
    begun.notified().await;
    // The old one's next save and then the rival's claim come to the gate.
    let held = storage.hold_groups().await;
    go.add_permits(1);
    gather().await;
    let mut rival = world.engine().open("r").await.unwrap();
    let rival = tokio::spawn(async move { rival.drive().await });
    gather().await;
    drop(held);
    assert_eq!(rival.await.unwrap().unwrap(), done(value!(102)));
    go.add_permits(10);
    assert_eq!(old.await.unwrap().unwrap_err().code(), "JF2014");
    assert_eq!(world.view("r").await.result, Some(value!(102)));
}

#[tokio::test]
async fn a_drive_that_was_dropped_in_a_commit_does_not_fence_the_next_one() {
    let storage = failing();
    let (world, begun) = (World::over(storage.clone()), Arc::new(Notify::new()));
    let (tasks, go) = stalling(&begun);
    let mut run = world.engine_with(tasks).start(Start::new(chain(3), value!(0)).with_id("r")).await.unwrap();
    go.add_permits(10);
    let held = storage.hold_groups().await;
    tokio::select! {
        biased;
        ended = run.drive() => panic!("its commit waits at the gate: {ended:?}"),
        () = gather() => {}
    }
    let again = tokio::spawn(async move { run.drive().await });
    gather().await;
    drop(held);
    assert_eq!(again.await.unwrap().unwrap(), done(value!(300)));
}

#[tokio::test]
async fn a_drive_that_was_dropped_in_its_claim_does_not_fence_the_next_one() {
    let storage = failing();
    let world = World::over(storage.clone());
    let _ = world.engine().start(Start::new(chain(3), value!(0)).with_id("r")).await.unwrap();
    let mut run = world.engine().open("r").await.unwrap();
    let held = storage.hold_groups().await;
    tokio::select! {
        biased;
        ended = run.drive() => panic!("its claim waits at the gate: {ended:?}"),
        () = gather() => {}
    }
    // The next drive begins while the claim of the one before is still on its way.
    let again = tokio::spawn(async move { run.drive().await });
    gather().await;
    drop(held);
    assert_eq!(again.await.unwrap().unwrap(), done(value!(3)));
}

#[tokio::test]
async fn an_event_of_another_engine_does_not_disturb_the_work() {
    let world = World::new();
    let sender = world.engine();
    let mut tasks = Tasks::new();
    // Each step sends an event to its own run, from elsewhere, before it ends.
    tasks.add("add", "1", move |context: TaskContext, (): (), input: f64| {
        let sender = sender.clone();
        async move {
            let event = Event::new("ok", Value::Bool(true)).with_id(format!("from-{}", context.visit));
            let _ = sender.send(&context.run, event).await?;
            Ok::<f64, Failure>(input + 1.0)
        }
    });
    let mut run =
        world.engine_with(tasks).start(Start::new(waiting(), value!(0)).with_id("r")).await.unwrap();
    assert_eq!(run.drive().await.unwrap(), done(value!(2)));
    assert!(world.view("r").await.inbox.is_empty());
}

#[tokio::test]
async fn of_two_starts_one_creates_the_run() {
    let world = World::new();
    let engine = world.engine();
    let start = || engine.start(Start::new(chain(2), value!(0)).with_id("r"));
    let (one, other) = tokio::join!(start(), start());
    let (mut one, mut other) = (one.unwrap(), other.unwrap());
    assert!(one.is_new() ^ other.is_new());
    assert_eq!(one.drive().await.unwrap(), done(value!(2)));
    assert_eq!(other.drive().await.unwrap(), done(value!(2)));
}
