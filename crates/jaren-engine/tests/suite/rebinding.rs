//! Runs that are bound to another document: what is carried over, what is refused, and what is kept of it.

use std::sync::Arc;
use std::time::Duration;

use jaren_durable_kit::faults::Fault;
use jaren_engine::{
    CancellationToken, Drive, EngineError, ErrorKind, Event, Failure, Rebind, RunStatus, Start, Status,
    TaskContext, Tasks,
};
use jaren_host::Timestamp;
use jaren_json::{Value, value};

use crate::support::{World, done, failed, failing, failing_at, fork, waiting, work, workflow};

/// The document with another revision, and with this done to the states.
fn revised(document: &Value, change: impl FnOnce(jaren_json::Object) -> jaren_json::Object) -> Value {
    let document = document.as_object().unwrap();
    let states = document.get("states").unwrap().as_object().unwrap().clone();
    Value::Object(document.with("revision", "test/2").with("states", Value::Object(change(states))))
}

fn rebind(document: Value) -> Rebind {
    Rebind::new(document, "ann", "the approval got a new name")
}

async fn refused(world: &World, document: Value) -> EngineError {
    let before = world.view("r").await;
    let error = world.engine().rebind("r", rebind(document)).await.unwrap_err();
    assert_eq!(world.view("r").await, before, "nothing is changed");
    error
}

#[tokio::test]
async fn a_waiting_run_goes_on_under_the_new_document() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let old = world.view("r").await;
    // Another event, a longer delay, and a state before it, so that the transitions have other numbers.
    let new = revised(&waiting(), |states| {
        let wait = value!({
            "on": [{ "event": "approve", "to": "after" }, { "event": "again", "to": "begin" }],
            "after": { "ms": 90_000, "to": "late" }
        });
        let first = [("zero".into(), value!({ "on": [{ "event": "x", "to": "begin" }] }))];
        let states = states.with("wait", wait);
        first.into_iter().chain(states.iter().map(|(name, state)| (name.to_owned(), state.clone()))).collect()
    });
    world.clock.advance(Duration::from_millis(500));
    let engine = world.engine();
    let rebound = engine.rebind("r", rebind(new.clone()).with_attachment(value!("b"))).await.unwrap();
    assert_eq!((&*rebound.actor, &*rebound.reason), ("ann", "the approval got a new name"));
    assert_eq!((rebound.at, rebound.generation), (Timestamp::from_millis(1_500), old.generation + 1));
    assert_eq!((&*rebound.from.revision, &*rebound.to.revision), ("test/1", "test/2"));
    assert_ne!(rebound.from.digest, rebound.to.digest);

    let view = world.view("r").await;
    assert_eq!((view.status, &*view.state, &*view.revision), (RunStatus::Waiting, "/states/wait", "test/2"));
    assert_eq!(
        (view.events, view.deadline),
        (vec!["approve".into(), "again".into()], Some(Timestamp::from_millis(91_000)))
    );
    assert_eq!((view.document, view.attachment), (new.clone(), value!("b")));
    assert_eq!((view.data, view.results, view.visits), (old.data, old.results, old.visits));
    assert_eq!(view.rebinds, [rebound]);

    // The new document is the run's own: a start finds it, and the old one is refused by name.
    assert!(!engine.start(Start::new(new, value!(1)).with_id("r")).await.unwrap().is_new());
    let error = engine.start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    let mut run = engine.open("r").await.unwrap();
    world.clock.advance(Duration::from_mins(1)); // the old deadline
    assert!(matches!(run.drive_with(Drive::new().without_timers()).await.unwrap(), Status::Waiting { .. }));
    let _ = engine.send("r", Event::new("approve", Value::Null)).await.unwrap();
    assert_eq!(run.drive().await.unwrap(), done(value!(3)));
    let error = engine.rebind("r", rebind(waiting())).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unfit, "JE0010"));
}

#[tokio::test]
async fn a_delay_comes_and_goes_with_the_document() {
    for (after, deadline) in [
        (value!({ "ms": 60_000, "to": "late" }), Some(61_000)),
        (value!({ "ms": 10, "to": "late" }), Some(1_010)),
        (Value::Null, None),
    ] {
        let world = World::new();
        let _ = world.run(&waiting(), value!(1)).await.unwrap();
        let with = |after: &Value| {
            let mut wait = jaren_json::ObjectBuilder::new();
            wait.insert(
                "on",
                value!([{ "event": "ok", "to": "after" }, { "event": "again", "to": "begin" }]),
            );
            if !after.is_null() {
                wait.insert("after", after.clone());
            }
            revised(&waiting(), |states| states.with("wait", Value::Object(wait.build())))
        };
        world.engine().rebind("r", rebind(with(&after))).await.unwrap();
        assert_eq!(world.view("r").await.deadline, deadline.map(Timestamp::from_millis));
        // And back: a new delay counts from when the wait was entered.
        world.clock.advance(Duration::from_millis(3));
        world.engine().rebind("r", rebind(waiting())).await.unwrap();
        let view = world.view("r").await;
        assert_eq!((view.deadline, view.rebinds.len()), (Some(Timestamp::from_millis(61_000)), 2));
        world.clock.advance(Duration::from_mins(1));
        let mut run = world.engine().open("r").await.unwrap();
        assert_eq!(run.drive().await.unwrap(), done(value!(2)));
        assert_eq!(world.view("r").await.state, "/states/late");
    }
}

#[tokio::test]
async fn what_no_longer_fits_is_refused_by_name() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let renamed = |states: jaren_json::Object| {
        let states = states.with("hold", states.get("wait").unwrap().clone()).without("wait");
        states.with("begin", work("add", "hold"))
    };
    let again = value!({ "on": [{ "event": "ok", "to": "after" }], "limit": 1 });
    let cases: [(Value, &str, &str); 4] = [
        (revised(&waiting(), renamed), "/states/wait", "does not have"),
        (revised(&waiting(), |states| states.with("wait", work("add", "after"))), "/states/wait", "\"on\""),
        (
            revised(&waiting(), |states| {
                let begin = value!({ "on": [{ "event": "x", "to": "wait" }] });
                states.with("wait", again).without("begin").with("begin", begin)
            }),
            "/states/begin",
            "no work now",
        ),
        (
            workflow(value!({
                "begin": { "on": [{ "event": "x", "to": "wait" }] }, "wait": { "on": [{ "event": "x", "to": "end" }] },
                "end": { "final": true }
            })),
            "/states/begin",
            "no work now",
        ),
    ];
    for (document, state, what) in cases {
        let error = refused(&world, document).await;
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unfit, "JE0010"), "{error}");
        assert_eq!((error.state(), error.run()), (Some(state), Some("r")), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    // A document that does not compile, and a request without an actor or a reason.
    assert_eq!(refused(&world, value!({ "$workflow": "0.2" })).await.kind(), ErrorKind::Document);
    for (actor, reason) in [("", "because"), ("ann", " ")] {
        let error = world.engine().rebind("r", Rebind::new(waiting(), actor, reason)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    assert_eq!(world.engine().rebind("s", rebind(waiting())).await.unwrap_err().kind(), ErrorKind::NotFound);
}

/// The usual reason: a task fails, and its next version does not.
#[tokio::test]
async fn a_failed_task_is_run_in_its_new_version() {
    let world = World::new();
    let one = |version: &str| {
        workflow(value!({
            "begin": work("add", "pay"),
            "pay": { "work": { "task": "pay", "version": version }, "then": "end" }, "end": { "final": true }
        }))
    };
    let tasks = |version: &'static str| {
        let mut tasks = world.tasks();
        tasks.add("pay", version, move |_: TaskContext, (): (), input: f64| async move {
            if version == "1" { Err(Failure::new("no")) } else { Ok(input * 10.0) }
        });
        tasks
    };
    let mut run =
        world.engine_with(tasks("1")).start(Start::new(one("1"), value!(1)).with_id("r")).await.unwrap();
    failed(run.drive().await);
    let new = world.engine_with(tasks("2"));
    assert_eq!(new.open("r").await.unwrap_err().code(), "JF0019");
    new.rebind("r", rebind(one("2"))).await.unwrap();
    let view = world.view("r").await;
    assert_eq!((view.status, view.failure), (RunStatus::Running, None), "it was of the document before");
    // The handle of the old engine does not know the new version.
    assert_eq!(run.drive().await.unwrap_err().code(), "JF0019");
    assert_eq!(new.open("r").await.unwrap().drive().await.unwrap(), done(value!(20)));
}

#[tokio::test]
async fn saved_values_of_changed_work_are_dropped_only_when_that_is_asked_for() {
    let world = World::new();
    let mut run =
        world.engine().start(Start::new(fork("add", "fail"), value!(1)).with_id("r")).await.unwrap();
    failed(run.drive().await);
    world.log.take();
    let error = refused(&world, fork("add", "echo")).await;
    assert_eq!((error.kind(), error.state()), (ErrorKind::Unfit, Some("/states/begin")), "{error}");
    let rebound = world.engine().rebind("r", rebind(fork("add", "echo")).starting_over()).await.unwrap();
    assert!(rebound.started_over);
    assert!(world.log.take().is_empty(), "nothing is executed");
    let mut run = world.engine().open("r").await.unwrap();
    assert_eq!(run.drive().await.unwrap(), done(value!(3)));
    let mut ran = world.log.take();
    ran.sort();
    assert_eq!(ran, ["add /states/begin 1", "echo /states/begin 1"]);
}

#[tokio::test]
async fn the_same_work_keeps_its_values_and_its_input() {
    let world = World::new();
    let mut run =
        world.engine().start(Start::new(fork("add", "fail"), value!(1)).with_id("r")).await.unwrap();
    failed(run.drive().await);
    world.log.take();
    // Only what comes after it changes.
    let with_state = |input: Option<&str>| {
        revised(&fork("add", "fail"), |states| {
            let begin = states.get("begin").unwrap().as_object().unwrap().with("catch", "rescue");
            let begin = match input {
                Some(query) => begin.with("input", query),
                None => begin,
            };
            states.with("begin", Value::Object(begin)).with("rescue", work("echo", "end"))
        })
    };
    let error = refused(&world, with_state(Some("$.context.visits"))).await;
    assert!(error.to_string().contains("another input"), "{error}");
    world.engine().rebind("r", rebind(with_state(None))).await.unwrap();
    let mut run = world.engine().open("r").await.unwrap();
    assert!(matches!(run.drive().await.unwrap(), Status::Done { .. }));
    assert_eq!(world.log.take(), ["echo /states/rescue 1"], "the saved value was used");
}

#[tokio::test]
async fn whoever_drives_the_run_at_the_time_is_fenced() {
    let world = World::new();
    let mut tasks = Tasks::new();
    let (begun, goes) = (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
    let (told, waits) = (begun.clone(), goes.clone());
    tasks.add("add", "1", move |_: TaskContext, (): (), input: f64| {
        let (told, waits) = (told.clone(), waits.clone());
        async move {
            told.notify_one();
            waits.notified().await;
            Ok::<_, Failure>(input)
        }
    });
    let mut run =
        world.engine_with(tasks).start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let driving = tokio::spawn(async move { run.drive().await });
    begun.notified().await;
    let new = revised(&waiting(), |states| states.with("late", work("echo", "end")));
    world.engine().rebind("r", rebind(new)).await.unwrap();
    goes.notify_one();
    let error = driving.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Fenced, "JF2014"));
    assert_eq!(world.view("r").await.state, "/states/begin");
}

/// A drive that is parked on a deadline goes on under the new document, if its tasks fit that.
#[tokio::test]
async fn a_parked_drive_takes_the_new_document() {
    let world = World::new();
    let mut run = world.engine().start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let stop = CancellationToken::new();
    let drive = Drive::new().with_cancel(stop.clone());
    let driving = tokio::spawn(async move { run.drive_with(drive).await });
    while world.view("r").await.status != RunStatus::Waiting {
        tokio::task::yield_now().await;
    }
    let new = revised(&waiting(), |states| {
        states.with(
            "wait",
            value!({ "on": [{ "event": "ok", "to": "after" }], "after": { "ms": 5, "to": "end" } }),
        )
    });
    world.engine().rebind("r", rebind(new)).await.unwrap();
    world.clock.advance(Duration::from_millis(5));
    assert_eq!(driving.await.unwrap().unwrap(), done(value!(2)));
    assert_eq!(world.view("r").await.state, "/states/end");
}

/// The one commit of a rebinding fails before, after, and with its reply lost: the run has the one document or the other,
/// whole, and goes on with it.
#[tokio::test]
async fn the_commit_of_a_rebinding_may_fail() {
    let new = revised(&waiting(), |states| {
        states.with(
            "wait",
            value!({ "on": [{ "event": "ok", "to": "end" }], "after": { "ms": 5, "to": "late" } }),
        )
    });
    let untouched = failing();
    let _ = World::over(untouched.clone()).run(&waiting(), value!(1)).await.unwrap();
    let at = untouched.groups() + 1;
    for fault in Fault::MATRIX {
        let storage = failing_at(at, fault);
        let world = World::over(storage.clone());
        let _ = world.run(&waiting(), value!(1)).await.unwrap();
        let rebound = world.engine().rebind("r", rebind(new.clone())).await;
        let dies = fault.kills();
        assert_eq!(rebound.is_err(), dies, "{fault:?}: {rebound:?}");
        let world = World::over(storage.survivor());
        let view = world.view("r").await;
        let happened = fault != Fault::DiesBefore;
        assert_eq!(
            (view.rebinds.len(), view.document == new),
            (usize::from(happened), happened),
            "{fault:?}"
        );
        assert_eq!(view.revision, if happened { "test/2" } else { "test/1" });
        let _ = world.engine().send("r", Event::new("ok", value!(true))).await.unwrap();
        let mut run = world.engine().open("r").await.unwrap();
        let result = if happened { 2 } else { 3 };
        assert_eq!(run.drive().await.unwrap(), done(value!(result)));
    }
}

/// Its reply is lost, and before it can look another rebinding follows it: that one stays.
#[tokio::test]
async fn a_rebinding_whose_reply_is_lost_is_not_laid_over_a_later_one() {
    let untouched = failing();
    let _ = World::over(untouched.clone()).run(&waiting(), value!(1)).await.unwrap();
    let storage = failing_at(untouched.groups() + 1, Fault::ReplyLost);
    let world = World::over(storage.clone());
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let to = |event: &str| {
        let wait = value!({ "on": [{ "event": event, "to": "end" }] });
        revised(&waiting(), |states| states.with("wait", wait))
    };
    let (first, second) = (to("first"), to("second"));
    let held = storage.hold_replies().await;
    let (engine, document) = (world.engine(), first.clone());
    let slow = tokio::spawn(async move { engine.rebind("r", rebind(document)).await });
    while world.view("r").await.rebinds.is_empty() {
        tokio::task::yield_now().await;
    }
    world.engine().rebind("r", rebind(second.clone())).await.unwrap();
    drop(held);
    let rebound = slow.await.unwrap().unwrap();
    let view = world.view("r").await;
    assert_eq!(view.document, second);
    assert_eq!(view.rebinds.len(), 2);
    assert_eq!(view.rebinds[0], rebound);
}

/// A parked drive goes on with the new document, which may need what nobody lends.
#[tokio::test(start_paused = true)]
async fn a_parked_drive_asks_for_what_the_new_document_needs() {
    struct Bank;
    let world = World::new();
    let tasks = || {
        let mut tasks = world.tasks();
        tasks
            .add("pay", "1", async |_: TaskContext, (): (), input: f64| Ok::<f64, Failure>(input))
            .needs::<Bank>();
        tasks
    };
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let mut run = world.engine_with(tasks()).open("r").await.unwrap();
    let parked = tokio::spawn(async move { run.drive().await });
    tokio::time::sleep(Duration::from_secs(5)).await;
    let pays = revised(&waiting(), |states| states.with("after", work("pay", "end")));
    world.engine_with(tasks()).rebind("r", rebind(pays)).await.unwrap();
    let error = parked.await.unwrap().unwrap_err();
    assert_eq!(error.code(), "JE0009");
}
