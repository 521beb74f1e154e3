//! Retries, time limits and blocking handlers: by a clock that the tests move.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jaren_engine::{
    CancellationToken, Drive, Engine, EngineError, ErrorKind, Failure, Record, Resources, Retry, RetryPolicy,
    Run, RunStatus, Start, Status, TaskContext, Tasks,
};
use jaren_host::SeededRandom;
use jaren_json::{Value, value};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

use crate::support::{World, done, failed, fork, work, workflow};

fn one(task: &str) -> Value {
    workflow(value!({ "begin": work(task, "end"), "end": { "final": true } }))
}

/// A task `flaky` that fails `failures` times, and how often it was called.
fn flaky(failures: u32, failure: Failure) -> (Tasks, Arc<AtomicU32>) {
    let (mut tasks, calls) = (Tasks::new(), Arc::new(AtomicU32::new(0)));
    let counted = calls.clone();
    tasks
        .add("flaky", "1", move |context: TaskContext, (): (), _: Value| {
            let call = counted.fetch_add(1, Ordering::SeqCst) + 1;
            let failure = failure.clone();
            async move { if call <= failures { Err(failure) } else { Ok(context.attempt) } }
        })
        .retry(RetryPolicy::times(3).with_backoff(Duration::from_secs(10), Duration::from_mins(1)));
    (tasks, calls)
}

/// How a drive ended, and its handle.
type Driven = (Result<Status, EngineError>, Run);

/// Drives in the background; the records come one by one.
fn driven(mut run: Run, drive: Drive) -> (JoinHandle<Driven>, UnboundedReceiver<Record>) {
    let (send, records) = unbounded_channel();
    let drive = drive.with_observer(move |record: &Record| {
        let _ = send.send(record.clone());
    });
    (tokio::spawn(async move { (run.drive_with(drive).await, run) }), records)
}

async fn started(engine: &Engine, document: Value) -> Run {
    engine.start(Start::new(document, value!(0)).with_id("r")).await.unwrap()
}

/// The next pause before a retry.
async fn pause(records: &mut UnboundedReceiver<Record>) -> (u32, Duration) {
    loop {
        if let Record::Retry { attempt, pause, .. } = records.recv().await.unwrap() {
            return (attempt, pause);
        }
    }
}

#[tokio::test]
async fn a_failed_attempt_is_tried_again_when_the_clock_has_passed_its_pause() {
    let pauses = || async {
        let world = World::new();
        let (tasks, calls) = flaky(3, Failure::new("busy"));
        let engine = world.engine_with(tasks).with_random(Arc::new(SeededRandom::new(3)));
        let (driving, mut records) = driven(started(&engine, one("flaky")).await, Drive::new());
        let mut pauses = Vec::new();
        for attempt in 1..=3 {
            let (failed, pause) = pause(&mut records).await;
            assert_eq!((failed, calls.load(Ordering::SeqCst)), (attempt, attempt));
            assert!(pause <= Duration::from_secs(10 << (attempt - 1)));
            // A moment before its end nothing has happened.
            world.clock.advance(pause.saturating_sub(Duration::from_millis(1)));
            tokio::task::yield_now().await;
            assert_eq!(calls.load(Ordering::SeqCst), attempt);
            world.clock.advance(Duration::from_millis(1));
            assert!(
                matches!(records.recv().await, Some(Record::Started { attempt: next, .. }) if next == attempt + 1)
            );
            pauses.push(pause);
        }
        assert_eq!(driving.await.unwrap().0.unwrap(), done(value!(4)));
        pauses
    };
    // The pauses are drawn from the engine's source alone.
    assert_eq!(pauses().await, pauses().await);
}

#[tokio::test]
async fn what_may_not_be_retried_is_not() {
    for failure in [
        Failure::new("no").with_retry(Retry::Never),
        Failure::new("x").with_code("JE0001").with_retry(Retry::Never),
    ] {
        let world = World::new();
        let (tasks, calls) = flaky(1, failure);
        let mut run = started(&world.engine_with(tasks), one("flaky")).await;
        assert_eq!(failed(run.drive().await).code, "JF2006");
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn retries_end_with_the_last_failure_and_a_new_drive_begins_a_new_series() {
    let world = World::new();
    let (mut tasks, calls) = (Tasks::new(), Arc::new(AtomicU32::new(0)));
    let counted = calls.clone();
    tasks
        .add("flaky", "1", move |context: TaskContext, (): (), _: Value| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { Err::<(), _>(Failure::new(format!("attempt {}", context.attempt))) }
        })
        .retry(RetryPolicy::times(2).with_backoff(Duration::ZERO, Duration::ZERO));
    let mut run = started(&world.engine_with(tasks), one("flaky")).await;
    for (calls_after, message) in [(3, "attempt 3"), (6, "attempt 6")] {
        assert_eq!(failed(run.drive().await).failure.unwrap().message, message);
        assert_eq!(calls.load(Ordering::SeqCst), calls_after);
    }
    // Attempts are not stored: another handle, as of another process, counts from one.
    let stored = world.view("r").await.failure.unwrap().failure.unwrap().message;
    assert_eq!(stored, "attempt 6");
}

/// The law of a crash in a pause: the run is not lost, and the next process starts the node at once, from the first
/// attempt. With `n` retries and `k` interruptions a task runs at most `(n + 1) * (k + 1)` times.
#[tokio::test]
async fn a_drive_that_ends_in_a_pause_loses_the_pause_and_nothing_else() {
    for dropped in [true, false] {
        let world = World::new();
        let (tasks, calls) = flaky(2, Failure::new("busy"));
        let engine = world.engine_with(tasks);
        let stop = CancellationToken::new();
        let drive = Drive::new().with_cancel(stop.clone());
        let (driving, mut records) = driven(started(&engine, one("flaky")).await, drive);
        pause(&mut records).await;
        if dropped {
            driving.abort();
            assert!(driving.await.unwrap_err().is_cancelled());
        } else {
            stop.cancel();
            assert_eq!(driving.await.unwrap().0.unwrap(), Status::Interrupted);
        }
        let view = world.view("r").await;
        assert_eq!((view.status, view.failure), (RunStatus::Running, None));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let (driving, mut records) = driven(engine.open("r").await.unwrap(), Drive::new());
        let (attempt, _) = pause(&mut records).await; // it was started without the clock having moved
        assert_eq!((attempt, calls.load(Ordering::SeqCst)), (1, 2));
        world.clock.advance(Duration::from_secs(10));
        assert_eq!(driving.await.unwrap().0.unwrap(), done(value!(2)));
    }
}

#[tokio::test]
async fn a_sibling_that_failed_ends_the_pauses_of_the_others() {
    let world = World::new();
    let (mut tasks, _) = flaky(9, Failure::new("busy"));
    let gate = Arc::new(tokio::sync::Notify::new());
    let waits = gate.clone();
    tasks.add("broken", "1", move |_: TaskContext, (): (), _: Value| {
        let waits = waits.clone();
        async move {
            waits.notified().await;
            Err::<(), _>(Failure::new("broken"))
        }
    });
    let (driving, mut records) =
        driven(started(&world.engine_with(tasks), fork("flaky", "broken")).await, Drive::new());
    pause(&mut records).await;
    gate.notify_one();
    assert_eq!(failed(driving.await.unwrap().0).node.as_deref(), Some("right"));
}

#[tokio::test]
async fn the_policy_is_no_part_of_what_a_run_is_compared_by() {
    let world = World::new();
    let (tasks, _) = flaky(9, Failure::new("busy").with_retry(Retry::Never));
    failed(started(&world.engine_with(tasks), one("flaky")).await.drive().await);
    let mut tasks = Tasks::new();
    tasks
        .add_blocking("flaky", "1", |_: TaskContext, (): (), input: Value| Ok::<_, Failure>(input))
        .time_limit(Duration::from_secs(5));
    let mut run = world.engine_with(tasks).open("r").await.unwrap();
    assert_eq!(run.drive().await.unwrap(), done(value!(0)));
}

#[tokio::test]
async fn a_registration_that_makes_no_sense_is_told_before_anything_is_stored() {
    type Change = fn(jaren_engine::Registration<'_>);
    let wrong: [Change; 3] =
        [
            |task| drop(task.time_limit(Duration::ZERO)),
            |task| {
                drop(task.retry(
                    RetryPolicy::times(1).with_backoff(Duration::from_secs(2), Duration::from_secs(1)),
                ));
            },
            |task| drop(task.retry(RetryPolicy::times(1).only_codes([] as [&str; 0]))),
        ];
    for change in wrong {
        let world = World::new();
        let mut tasks = world.tasks();
        change(tasks.add_value("odd", "1", async |_: TaskContext, _: Value, input: Value| Ok(input)));
        let engine = world.engine_with(tasks);
        let error = engine.start(Start::new(one("odd"), value!(0)).with_id("r")).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, "JE0005"));
        assert!(error.to_string().contains("\"odd\""), "{error}");
        assert_eq!(engine.open("r").await.unwrap_err().kind(), ErrorKind::NotFound);
    }
}

/// A task that waits for its cancellation, then does as `then` says.
fn slow(then: fn() -> Result<u32, Failure>, retries: u32) -> Tasks {
    let mut tasks = Tasks::new();
    tasks
        .add("slow", "1", move |context: TaskContext, (): (), _: Value| async move {
            if context.attempt == 1 {
                assert!(context.deadline.is_some());
                context.cancel.cancelled().await;
                return then();
            }
            Ok(context.attempt)
        })
        .time_limit(Duration::from_secs(30))
        .retry(
            RetryPolicy::times(retries).only_codes(["JE0008"]).with_backoff(Duration::ZERO, Duration::ZERO),
        );
    tasks
}

#[tokio::test]
async fn an_attempt_ends_with_its_time_limit() {
    for (then, retries, expected) in [
        (Ok(7), 0, Some(7)), // what comes within the grace counts
        (Err(()), 0, None),
        (Err(()), 1, Some(2)),
    ] as [(Result<u32, ()>, u32, Option<u32>); 3]
    {
        let world = World::new();
        let then: fn() -> Result<u32, Failure> =
            if then.is_ok() { || Ok(7) } else { || Err(Failure::new("stopped")) };
        let (driving, mut records) =
            driven(started(&world.engine_with(slow(then, retries)), one("slow")).await, Drive::new());
        let limit = loop {
            if let Record::Started { limit, .. } = records.recv().await.unwrap() {
                break limit;
            }
        };
        assert_eq!(limit, Some(Duration::from_secs(30)));
        world.clock.advance(Duration::from_millis(29_999));
        tokio::task::yield_now().await;
        assert!(!driving.is_finished());
        world.clock.advance(Duration::from_millis(1));
        match (driving.await.unwrap().0, expected) {
            (ended, Some(expected)) => assert_eq!(ended.unwrap(), done(value!(expected))),
            (ended, None) => {
                assert_eq!(failed(ended).failure.unwrap().code.as_deref(), Some("JE0008"));
            }
        }
    }
}

/// The grace goes by the runtime's timer, which is paused here.
#[tokio::test(start_paused = true)]
async fn a_deaf_attempt_is_dropped_after_the_grace() {
    struct Dropped(Arc<Mutex<Vec<&'static str>>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.lock().unwrap().push("dropped");
        }
    }
    let world = World::new();
    let (mut tasks, log) = (Tasks::new(), Arc::new(Mutex::new(Vec::new())));
    let seen = log.clone();
    tasks
        .add("deaf", "1", move |context: TaskContext, (): (), _: Value| {
            let held = Dropped(seen.clone());
            async move {
                if context.attempt == 1 {
                    std::future::pending::<()>().await;
                }
                held.0.lock().unwrap().push("again");
                Ok::<_, Failure>(())
            }
        })
        .time_limit(Duration::from_secs(1))
        .retry(RetryPolicy::times(1).with_backoff(Duration::ZERO, Duration::ZERO));
    let (driving, mut records) = driven(started(&world.engine_with(tasks), one("deaf")).await, Drive::new());
    while !matches!(records.recv().await, Some(Record::Started { .. })) {}
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(driving.await.unwrap().0.unwrap(), done(Value::Null));
    assert_eq!(*log.lock().unwrap(), ["dropped", "again", "dropped"]);
}

#[tokio::test]
async fn a_blocking_handler_is_waited_for_before_it_is_tried_again() {
    let world = World::new();
    let (mut tasks, ended) = (Tasks::new(), AtomicU32::new(0));
    let clock = world.clock.clone();
    tasks
        .add_blocking("block", "1", move |context: TaskContext, (): (), input: f64| {
            if context.attempt == 1 {
                clock.advance(Duration::from_secs(10)); // its time is over
                while !context.cancel.is_cancelled() {
                    std::thread::yield_now();
                }
                ended.fetch_add(1, Ordering::SeqCst);
                panic!("by the way");
            }
            assert_eq!(ended.load(Ordering::SeqCst), 1, "no second thread beside the first");
            Ok::<f64, Failure>(input + f64::from(context.attempt))
        })
        .time_limit(Duration::from_secs(10))
        .retry(RetryPolicy::times(1).only_codes(["JE0008"]).with_backoff(Duration::ZERO, Duration::ZERO));
    let engine = world.engine_with(tasks).with_grace(Duration::ZERO);
    let mut run = started(&engine, one("block")).await;
    assert_eq!(run.drive().await.unwrap(), done(value!(2)));
}

#[tokio::test]
async fn a_task_may_tell_how_far_it_is() {
    let world = World::new();
    let mut tasks = Tasks::new();
    tasks.add_blocking("work", "1", |context: TaskContext, (): (), _: Value| {
        context.progress(0.5);
        context.progress("almost");
        Ok::<_, Failure>(())
    });
    let (driving, mut records) = driven(started(&world.engine_with(tasks), one("work")).await, Drive::new());
    let _ = driving.await.unwrap().0.unwrap();
    let mut told = Vec::new();
    while let Ok(record) = records.try_recv() {
        told.push(record.to_value());
    }
    let progress = |value: Value| value!({ "type": "progress", "state": "/states/begin", "activation": 1, "id": "task", "attempt": 1, "value": value });
    let at = told.iter().position(|record| *record == progress(value!(0.5))).unwrap();
    assert_eq!(told[at + 1], progress(value!("almost")));
    assert_eq!(told[at - 1].get("type"), Some(&value!("started")));
    assert!(
        told[at..]
            .iter()
            .any(|record| record.get("id") == Some(&value!("task")) && record.get("status").is_some())
    );
}

#[tokio::test]
async fn a_handler_can_be_called_by_hand() {
    let context = TaskContext::by_hand("t", Resources::new().with(7_u8));
    assert_eq!(*context.resource::<u8>().unwrap(), 7);
    let failure = context.resource::<u16>().unwrap_err();
    assert_eq!((failure.code.as_deref(), failure.retry), (Some("JE0009"), Retry::Never));
    context.progress(value!(1));
}
