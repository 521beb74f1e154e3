//! Deadlines by the host's clock, and events that come before them.

use std::time::Duration;

use jaren_engine::{Drive, Engine, Event, RunStatus, Start, Status};
use jaren_host::Timestamp;
use jaren_json::{Value, value};

use crate::support::{World, done, waiting};

fn engine(world: &World) -> Engine {
    world.engine()
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_answered_or_waited_for() {
    let world = World::new();
    let mut run = engine(&world).start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let status = run.drive_with(Drive::new().without_timers()).await.unwrap();
    assert!(
        matches!(status, Status::Waiting { deadline: Some(at), .. } if at == Timestamp::from_millis(61_000))
    );
    // Not yet.
    world.clock.set(Timestamp::from_millis(60_999));
    assert!(matches!(run.drive_with(Drive::new().without_timers()).await.unwrap(), Status::Waiting { .. }));
    // Now, for whoever comes first.
    world.clock.set(Timestamp::from_millis(61_000));
    let mut other = engine(&world).open("r").await.unwrap();
    assert_eq!(other.drive_with(Drive::new().without_timers()).await.unwrap(), done(value!(2)));
    assert_eq!(world.view("r").await.state, "/states/late");
    assert_eq!(run.drive().await.unwrap(), done(value!(2)));
}

#[tokio::test(start_paused = true)]
async fn a_parked_drive_wakes_when_the_clock_reaches_its_deadline() {
    let world = World::new();
    let mut run = engine(&world).start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let driving = tokio::spawn(async move { run.drive().await.unwrap() });
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert!(!driving.is_finished(), "the host's clock stands still");
    }
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(driving.await.unwrap(), done(value!(2)));
    assert_eq!(world.view("r").await.state, "/states/late");
}

/// Nothing is slept: neither the runtime's time nor the system's passes.
#[tokio::test]
async fn days_pass_in_an_instant() {
    let world = World::new();
    let mut run = engine(&world).start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let driving = tokio::spawn(async move { run.drive().await.unwrap() });
    while world.view("r").await.status != RunStatus::Waiting {
        tokio::task::yield_now().await;
    }
    world.clock.advance(Duration::from_millis(59_999));
    tokio::task::yield_now().await;
    assert!(!driving.is_finished());
    world.clock.advance(Duration::from_hours(24));
    assert_eq!(driving.await.unwrap(), done(value!(2)));
}

#[tokio::test(start_paused = true)]
async fn a_parked_drive_notices_an_event_of_another_engine() {
    let world = World::new();
    let mut run = engine(&world).start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let driving = tokio::spawn(async move { run.drive().await.unwrap() });
    tokio::time::sleep(Duration::from_secs(10)).await;
    let _ = engine(&world).send("r", Event::new("ok", value!(true))).await.unwrap();
    assert_eq!(driving.await.unwrap(), done(value!(3)));
}

#[tokio::test(start_paused = true)]
async fn two_parked_drives_agree_on_who_moves_the_run() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let park = || {
        let engine = engine(&world);
        tokio::spawn(async move { engine.open("r").await.unwrap().drive().await })
    };
    let (one, other) = (park(), park());
    tokio::time::sleep(Duration::from_secs(10)).await;
    let _ = engine(&world).send("r", Event::new("ok", value!(true))).await.unwrap();
    let mut fenced = 0;
    for ended in [one.await.unwrap(), other.await.unwrap()] {
        match ended {
            Ok(status) => assert_eq!(status, done(value!(3))),
            Err(error) => {
                assert_eq!(error.code(), "JF2014");
                fenced += 1;
            }
        }
    }
    assert!(fenced < 2);
    assert_eq!(world.view("r").await.result, Some(value!(3)));
}

#[tokio::test]
async fn a_wait_without_a_deadline_is_not_waited_for() {
    let world = World::new();
    let document = crate::support::workflow(value!({
        "begin": { "on": [{ "event": "go", "to": "end" }] }, "end": { "final": true }
    }));
    let mut run = engine(&world).start(Start::new(document, Value::Null).with_id("r")).await.unwrap();
    let status = run.drive().await.unwrap();
    assert_eq!(status, Status::Waiting { events: vec!["go".into()], deadline: None });
}

#[tokio::test]
async fn a_clock_that_was_set_back_stops_nothing() {
    let world = World::new();
    let mut run = engine(&world).start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    let _ = run.drive_with(Drive::new().without_timers()).await.unwrap();
    world.clock.set(Timestamp::from_millis(0));
    let _ = engine(&world).send("r", Event::new("ok", value!(true))).await.unwrap();
    assert_eq!(run.drive_with(Drive::new().without_timers()).await.unwrap(), done(value!(3)));
}
