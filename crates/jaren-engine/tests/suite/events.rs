//! The inbox.

use std::sync::Arc;

use jaren_engine::{
    CommitPolicy, Drive, Engine, ErrorKind, Event, EventFate, Record, Rejection, RunStatus, Sent, Start,
    Status,
};
use jaren_json::{Value, value};
use tokio::sync::Notify;

use crate::support::{World, chain, done, failed, waiting};

async fn drive(engine: &Engine) -> Status {
    engine.open("r").await.unwrap().drive_with(Drive::new().without_timers()).await.unwrap()
}

fn event(name: &str, payload: Value, id: &str) -> Event {
    Event::new(name, payload).with_id(id)
}

#[tokio::test]
async fn an_event_moves_a_waiting_run_once() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let engine = world.engine();
    let accepted = Sent::Stored { id: "e1".into() };
    assert_eq!(engine.send("r", event("ok", value!(true), "e1")).await.unwrap(), accepted);
    let commits = world.view("r").await.commits;
    let repeated = Sent::Repeated { id: "e1".into() };
    assert_eq!(engine.send("r", event("ok", value!(true), "e1")).await.unwrap(), repeated);
    let refused = Sent::Rejected { id: "e1".into(), reason: Rejection::IdTaken };
    assert_eq!(engine.send("r", event("ok", value!(false), "e1")).await.unwrap(), refused);
    assert_eq!(world.view("r").await.commits, commits, "a repeat writes nothing");
    assert_eq!(world.view("r").await.inbox.len(), 1);

    assert_eq!(drive(&engine).await, done(value!(3)));
    assert!(world.view("r").await.inbox.is_empty());
    assert_eq!(
        engine.send("r", event("ok", value!(true), "e1")).await.unwrap(),
        repeated,
        "also when it is done"
    );
    let refused = Sent::Rejected { id: "e2".into(), reason: Rejection::Done };
    assert_eq!(engine.send("r", event("ok", value!(true), "e2")).await.unwrap(), refused);
}

#[tokio::test]
async fn events_sent_before_the_wait_are_delivered_in_their_order() {
    let world = World::new();
    let engine = world.engine();
    engine.start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    // Their ids sort the other way round.
    for (id, name, payload) in [
        ("z", "again", Value::Null),
        ("y", "other", Value::Null),
        ("x", "ok", value!(true)),
        ("w", "ok", value!(1)),
    ] {
        let _ = engine.send("r", event(name, payload, id)).await.unwrap();
    }
    assert_eq!(drive(&engine).await, done(value!(4)));
    let visits = world.view("r").await.visits;
    assert!(visits.contains(&("/states/begin".into(), 2)));
    // What nobody asked for stays where it is.
    let left: Vec<_> = world.view("r").await.inbox.into_iter().map(|event| event.id).collect();
    assert_eq!(left, ["w"]);
}

#[tokio::test]
async fn a_refused_event_is_recorded_and_gone() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let engine = world.engine();
    let _ = engine.send("r", event("ok", value!(false), "e1")).await.unwrap();
    assert!(matches!(drive(&engine).await, Status::Waiting { .. }));
    assert!(world.view("r").await.inbox.is_empty());
    assert!(matches!(
        engine.send("r", event("ok", value!(false), "e1")).await.unwrap(),
        Sent::Repeated { .. }
    ));
    assert_eq!(world.view("r").await.status, RunStatus::Waiting);
}

#[tokio::test]
async fn a_parked_run_is_driven_again_without_a_commit() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let commits = world.view("r").await.commits;
    assert!(matches!(drive(&world.engine()).await, Status::Waiting { .. }));
    assert_eq!(world.view("r").await.commits, commits);
}

/// Each costs its commit two writes, and a commit takes 4,096 at most.
#[tokio::test]
async fn many_events_that_nobody_asked_for_do_not_stop_a_run() {
    for policy in [CommitPolicy::Coalesced, CommitPolicy::EverySavePoint] {
        let world = World::new();
        let _ = world.run(&waiting(), value!(1)).await.unwrap();
        let engine = world.engine().with_commit_policy(policy);
        flood(&engine).await;
        assert!(matches!(drive(&engine).await, Status::Waiting { .. }));
        assert!(world.view("r").await.inbox.is_empty());
        let repeated = Sent::Repeated { id: "2499".into() };
        assert_eq!(engine.send("r", event("other", Value::Null, "2499")).await.unwrap(), repeated);
        let _ = engine.send("r", event("ok", value!(true), "ok")).await.unwrap();
        assert_eq!(drive(&engine).await, done(value!(3)));
    }
}

#[tokio::test]
async fn many_events_that_nobody_asked_for_do_not_stop_a_parked_run() {
    let world = World::new();
    let engine = world.engine();
    let mut run = engine.start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let parked = Arc::new(Notify::new());
    let telling = parked.clone();
    let observer = move |record: &Record| {
        if matches!(record, Record::Waiting { .. }) {
            telling.notify_one();
        }
    };
    let mut driving = std::pin::pin!(run.drive_with(Drive::new().with_observer(observer)));
    tokio::select! {
        ended = &mut driving => panic!("nothing has been sent: {ended:?}"),
        () = parked.notified() => {}
    }
    // The drive does not look meanwhile.
    flood(&engine).await;
    let _ = engine.send("r", event("ok", value!(true), "ok")).await.unwrap();
    assert_eq!(driving.await.unwrap(), done(value!(3)));
    assert!(world.view("r").await.inbox.is_empty());
}

async fn flood(engine: &Engine) {
    for number in 0..2_500 {
        let _ = engine.send("r", event("other", Value::Null, &number.to_string())).await.unwrap();
    }
}

#[tokio::test]
async fn an_event_between_start_and_drive_is_met() {
    let world = World::new();
    let engine = world.engine();
    let document = crate::support::workflow(value!({
        "begin": { "on": [{ "event": "go", "to": "end" }] }, "end": { "final": true }
    }));
    let mut run = engine.start(Start::new(document, value!(1)).with_id("r")).await.unwrap();
    let _ = world.engine().send("r", Event::new("go", Value::Null)).await.unwrap();
    assert_eq!(run.drive_with(Drive::new().without_timers()).await.unwrap(), done(value!(1)));
}

#[tokio::test]
async fn events_that_make_no_sense_are_refused() {
    let world = World::new();
    let engine = world.engine();
    engine.start(Start::new(chain(1), value!(1)).with_id("r")).await.unwrap();
    let nan = Value::Number(f64::NAN);
    for bad in
        [Event::new(" ", Value::Null), Event::new("ok", nan), Event::new("ok", Value::Null).with_id("")]
    {
        assert_eq!(engine.send("r", bad).await.unwrap_err().kind(), ErrorKind::Invalid);
    }
    let unknown = engine.send("nobody", Event::new("ok", Value::Null)).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn an_event_that_breaks_a_guard_fails_one_drive_only() {
    let world = World::new();
    let document = crate::support::workflow(value!({
        "begin": { "on": [{ "event": "go", "guard": { "$idiv": [1, "$.payload"] }, "to": "end" }] },
        "end": { "final": true }
    }));
    let _ = world.run(&document, value!(1)).await.unwrap();
    let engine = world.engine();
    let _ = engine.send("r", event("go", value!(0), "bad")).await.unwrap();
    let _ = engine.send("r", event("go", value!(1), "good")).await.unwrap();
    let mut run = engine.open("r").await.unwrap();
    assert_eq!(failed(run.drive().await).code, "JF2016");
    let view = world.view("r").await;
    assert_eq!((view.status, &*view.state), (RunStatus::Failed, "/states/begin"));
    assert_eq!(view.inbox.iter().map(|event| &*event.id).collect::<Vec<_>>(), ["good"]);
    assert_eq!(run.drive().await.unwrap(), done(value!(1)));
}

#[tokio::test]
async fn the_fate_of_an_event_is_told() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let engine = world.engine();
    let fate = async |id: &str| engine.event("r", id).await.unwrap();
    for (id, payload) in [("no", value!(false)), ("yes", value!(true))] {
        let _ = engine.send("r", event("ok", payload, id)).await.unwrap();
        assert_eq!(fate(id).await, Some(EventFate::Waiting));
    }
    assert_eq!(drive(&engine).await, done(value!(3)));
    assert_eq!((fate("no").await, fate("yes").await), (Some(EventFate::Ignored), Some(EventFate::Taken)));
    assert_eq!(fate("never").await, None);
}

#[tokio::test]
async fn an_inbox_that_is_full_takes_no_more_until_somebody_drives() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let engine = world.engine();
    // Nearly as large as an event may be: four of them have more than the inbox takes.
    let large = Value::from("x".repeat((16 << 20) - 100).as_str());
    let send = async |id: &str| engine.send("r", event("other", large.clone(), id)).await.unwrap();
    for id in ["1", "2", "3", "4"] {
        assert!(matches!(send(id).await, Sent::Stored { .. }));
    }
    let commits = world.view("r").await.commits;
    assert_eq!(send("5").await, Sent::Rejected { id: "5".into(), reason: Rejection::Full });
    assert_eq!(world.view("r").await.commits, commits, "nothing is written");
    // The one that is there is known all the same.
    assert_eq!(send("4").await, Sent::Repeated { id: "4".into() });
    assert!(matches!(drive(&engine).await, Status::Waiting { .. }));
    assert!(matches!(send("5").await, Sent::Stored { .. }), "the wait has ignored the rest");
}
