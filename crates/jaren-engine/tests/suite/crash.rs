//! Every commit of a set of documents fails before, after, and with its reply lost; then the run is resumed. The end is
//! that of the undisturbed run, and a task whose completion was durable never runs again.

use std::collections::BTreeSet;

use jaren_durable_kit::faults::Fault;
use jaren_engine::{CommitPolicy, Drive, Engine, EngineError, Event, Start, Status};
use jaren_json::{Value, value};

use crate::support::{Log, World, chain, failing, failing_at, fork, observed, waiting, work, workflow};

const RUN: &str = "r";

/// Starts the run if it must be, drives it to its end, answering its wait on the way.
async fn whole(engine: &Engine, document: &Value, log: &Log) -> Result<Value, EngineError> {
    let mut run = engine.start(Start::new(document.clone(), value!(1)).with_id(RUN)).await?;
    loop {
        let drive = Drive::new().without_timers().with_observer(observed(log));
        match run.drive_with(drive).await? {
            Status::Done { result } => return Ok(result),
            Status::Waiting { .. } => {
                for (id, name, payload) in [("e1", "ok", value!(false)), ("e2", "again", Value::Null)] {
                    let _ = engine.send(RUN, Event::new(name, payload).with_id(id)).await?;
                }
                let _ = engine.send(RUN, Event::new("ok", value!(true)).with_id("e3")).await?;
            }
            other => panic!("it goes on: {other:?}"),
        }
    }
}

fn documents() -> Vec<Value> {
    let caught = workflow(value!({
        "begin": { "work": { "task": "fail", "version": "1" }, "then": "end", "catch": "rescue" },
        "rescue": work("echo", "nested"),
        "nested": {
            "flow": { "initial": "one", "states": { "one": work("echo", "two"), "two": { "final": true } } },
            "then": "check"
        },
        "check": { "choose": [{ "guard": "$.context.data.error", "to": "end" }], "otherwise": "begin", "limit": 1 },
        "end": { "final": true }
    }));
    let flaky = workflow(value!({ "begin": work("flaky", "end"), "end": { "final": true } }));
    vec![chain(3), fork("add", "echo"), waiting(), caught, flaky]
}

#[tokio::test]
async fn every_commit_may_fail() {
    for policy in [CommitPolicy::Coalesced, CommitPolicy::EverySavePoint] {
        for document in documents() {
            let storage = failing();
            let world = World::over(storage.clone());
            let expected =
                whole(&world.engine().with_commit_policy(policy), &document, &Log::default()).await.unwrap();
            let commits = storage.groups();
            for (fault, at) in
                Fault::MATRIX.into_iter().flat_map(|fault| (1..=commits).map(move |at| (fault, at)))
            {
                let found = disturbed(policy, &document, at, fault).await;
                assert_eq!(found, expected, "{policy:?}, commit {at} {fault:?} of {document}");
            }
        }
    }
}

async fn disturbed(policy: CommitPolicy, document: &Value, at: usize, fault: Fault) -> Value {
    let storage = failing_at(at, fault);
    let log = Log::default();
    let world = World::over(storage.clone());
    let first = whole(&world.engine().with_commit_policy(policy), document, &log).await;
    let dies = fault.kills();
    // What may be settled by reading is settled by the engine itself.
    assert_eq!(first.is_err(), dies, "{first:?}");
    let world = World::over(storage.survivor());
    let result = match first {
        Ok(result) => result,
        Err(_) => whole(&world.engine().with_commit_policy(policy), document, &log).await.unwrap(),
    };
    let view = world.view(RUN).await;
    assert_eq!((view.result, view.failure, view.inbox.len()), (Some(result.clone()), None, 0));
    let log = log.take();
    // Each of two drives at most has one series of attempts at a node.
    let attempts = |node: &&String| log.iter().filter(|line| line == node).count();
    let most = log.iter().filter(|line| line.starts_with("started")).max_by_key(attempts);
    assert!(most.is_none_or(|node| attempts(&node) <= 4), "{log:?}");
    assert_eq!(ran_again(log), None);
    result
}

/// A node that was started although its value was durable.
fn ran_again(log: Vec<String>) -> Option<String> {
    let mut settled = BTreeSet::new();
    for line in log {
        match line.split_once(' ') {
            Some(("ok", node)) => {
                settled.insert(node.to_owned());
            }
            Some(("started", node)) if settled.contains(node) => return Some(node.to_owned()),
            _ => {}
        }
    }
    None
}

/// The control: a run that forgets what was durable does not pass the same check.
#[tokio::test]
async fn a_task_that_runs_again_is_noticed() {
    let log = Log::default();
    for _ in 0..2 {
        let forgetful = World::new();
        whole(&forgetful.engine(), &chain(3), &log).await.unwrap();
    }
    assert_eq!(ran_again(log.take()).as_deref(), Some("/states/begin 1 task"));
}

#[tokio::test]
async fn a_store_that_stays_dead_is_told_as_such() {
    for at in 1..=4 {
        let world = World::over(failing_at(at, Fault::DiesBefore));
        let error = whole(&world.engine(), &chain(3), &Log::default()).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (jaren_engine::ErrorKind::Storage, "JF2009"));
    }
}
