//! How many commits a run costs, and what travels together.

use std::collections::BTreeMap;
use std::sync::Arc;

use jaren_durable::{Address, At, SessionId, Storage};
use jaren_engine::{CommitPolicy, Drive, Failure, Start, TaskContext, Tasks};
use jaren_json::{Value, value};
use tokio::sync::Notify;

use crate::support::{World, chain, done, failing, fork, waiting, workflow};

/// The snapshot after each commit, by its generation.
async fn saved(storage: &Arc<dyn Storage>, commits: u64) -> Vec<Value> {
    let mut saved: Vec<Value> = Vec::new();
    for seq in 1..=commits {
        let id = SessionId::new("r").unwrap();
        let at = At::Seq(jaren_durable::Seq::new(seq));
        let stored =
            storage.document(id, Address::singleton("jaren.run.snapshot"), at).await.unwrap().unwrap();
        if saved.last() != Some(&stored.value) {
            saved.push(stored.value);
        }
    }
    saved
}

#[tokio::test]
async fn a_sequential_step_costs_one_commit() {
    for steps in [1u16, 10, 100] {
        let storage = failing();
        let world = World::over(storage.clone());
        let result = world.run(&chain(steps.into()), value!(0)).await.unwrap();
        assert_eq!(result, done(Value::from(steps)));
        assert_eq!(storage.groups(), usize::from(steps) + 1, "the start, and one a step");
    }
}

#[tokio::test]
async fn both_policies_end_alike_and_the_coalesced_saves_are_a_subsequence() {
    for document in [chain(3), fork("add", "add"), waiting()] {
        let mut saves = Vec::new();
        for policy in [CommitPolicy::EverySavePoint, CommitPolicy::Coalesced] {
            let world = World::new();
            let engine = world.engine().with_commit_policy(policy);
            let mut run = engine.start(Start::new(document.clone(), value!(1)).with_id("r")).await.unwrap();
            let status = run.drive_with(Drive::new().without_timers()).await.unwrap();
            saves.push((status, saved(&world.storage, world.view("r").await.commits).await));
        }
        let (every, coalesced) = (&saves[0], &saves[1]);
        assert_eq!(every.0, coalesced.0);
        let generation = |snapshot: &Value| snapshot.get("generation").and_then(Value::as_u64).unwrap();
        let by_generation: BTreeMap<_, _> = every.1.iter().map(|save| (generation(save), save)).collect();
        assert_eq!(
            by_generation.keys().copied().collect::<Vec<_>>(),
            (1..=by_generation.len() as u64).collect::<Vec<_>>()
        );
        assert!(coalesced.1.len() < every.1.len());
        for save in &coalesced.1 {
            assert_eq!(by_generation.get(&generation(save)), Some(&save));
        }
    }
}

#[tokio::test]
async fn what_completes_while_a_commit_is_in_flight_joins_the_next() {
    const WIDTH: usize = 20;
    let mut nodes = vec![("in".to_owned(), value!({ "kind": "input" }))];
    let mut edges = Vec::new();
    for index in 0..WIDTH {
        let task = value!({ "kind": "task", "run": "step", "version": "1", "checkpoint": true });
        nodes.push((format!("t{index}"), task));
        edges.push(value!({ "from": "in", "to": format!("t{index}") }));
        edges.push(value!({ "from": format!("t{index}"), "to": "out", "port": format!("t{index}") }));
    }
    nodes.push(("out".to_owned(), value!({ "kind": "output" })));
    let nodes: jaren_json::Object = nodes.into_iter().collect();
    let dag = value!({ "$dag": "0.1", "nodes": nodes, "edges": edges });
    let document = workflow(value!({
        "begin": { "work": { "dag": dag }, "then": "end" }, "end": { "final": true }
    }));

    let storage = failing();
    let world = World::over(storage.clone());
    let mut tasks = Tasks::new();
    let all = Arc::new(tokio::sync::Barrier::new(WIDTH));
    let ended = Arc::new(Notify::new());
    let told = ended.clone();
    tasks.add("step", "1", move |_: TaskContext, (): (), input: f64| {
        let (all, told) = (all.clone(), told.clone());
        async move {
            if all.wait().await.is_leader() {
                told.notify_one();
            }
            Ok::<f64, Failure>(input)
        }
    });
    let mut run = world.engine_with(tasks).start(Start::new(document, value!(1)).with_id("r")).await.unwrap();
    let before = storage.groups();
    // No commit gets through until all tasks have ended.
    let held = storage.hold_groups().await;
    let driving = tokio::spawn(async move { run.drive().await.unwrap() });
    ended.notified().await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop(held);
    let _ = driving.await.unwrap();
    assert!(storage.groups() - before <= 2, "{} commits for {WIDTH} nodes", storage.groups() - before);
}
