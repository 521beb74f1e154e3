//! What a store gets to write of a run whose context is large: bytes follow what changes.

use std::sync::Arc;

use jaren_durable::{MemoryStorage, Seq, SessionId, Storage};
use jaren_engine::{Engine, Event, Failure, RunView, Sent, Start, Status, TaskContext, Tasks};
use jaren_json::{Object, ReadOptions, Value, read, value};

/// About a megabyte.
fn large() -> Value {
    let line = |index: u32| value!({ "index": index, "text": "some text of a line ".repeat(10) });
    let lines: Value = (0..4_000).map(line).collect();
    value!({ "n": 0, "lines": lines, "note": "x".repeat(20_000) })
}

fn count(data: &Value) -> f64 {
    data.get("n").and_then(Value::as_f64).unwrap()
}

fn counted(data: &Value) -> Object {
    data.as_object().unwrap().with("n", count(data) + 1.0)
}

fn engine(storage: &Arc<MemoryStorage>) -> Engine {
    let mut tasks = Tasks::new();
    tasks.add_value("change", "1", async |_: TaskContext, _: Value, data: Value| {
        Ok::<_, Failure>(Value::Object(counted(&data)))
    });
    // What a typed handler does: nothing of its answer is the allocation that it was given.
    tasks.add_value("rebuild", "1", async |_: TaskContext, _: Value, data: Value| {
        let text = jaren_json::to_text(&counted(&data).into()).unwrap();
        Ok::<_, Failure>(read(text.as_bytes(), &ReadOptions::data()).unwrap())
    });
    Engine::new(storage.clone(), tasks)
}

fn workflow(states: impl Into<Value>) -> Value {
    let states = states.into();
    value!({ "$workflow": "0.2", "revision": "r/1", "initial": "s0", "states": states })
}

/// The bytes of each commit of the run.
async fn commits(storage: &Arc<MemoryStorage>) -> Vec<usize> {
    let (mut bytes, mut after) = (Vec::new(), Seq::ZERO);
    loop {
        let page = storage.changes(SessionId::new("r").unwrap(), after, 1000).await.unwrap();
        let Some(last) = page.last() else { return bytes };
        after = last.seq;
        bytes.extend(page.iter().map(jaren_durable::Commit::body_bytes));
    }
}

/// Runs to the end, with an `ok` for every wait.
async fn run(document: &Value, input: Value) -> (Value, Vec<usize>) {
    let storage = Arc::new(MemoryStorage::new());
    let engine = engine(&storage);
    let mut run = engine.start(Start::new(document.clone(), input).with_id("r")).await.unwrap();
    loop {
        match run.drive().await.unwrap() {
            Status::Done { result } => return (result, commits(&storage).await),
            Status::Waiting { .. } => {
                let sent = engine.send("r", Event::new("ok", Value::Null)).await.unwrap();
                assert!(matches!(sent, Sent::Stored { .. }));
            }
            other => panic!("it goes on: {other:?}"),
        }
    }
}

/// More than that is no small commit.
const SMALL: usize = 4_000;

/// Three work states and a wait, entered again and again until the count is reached: the first time around, each state's
/// result is new to the context; after that everything large is there.
fn rounds(task: &str, count: u32) -> Value {
    let state =
        |then: &str| value!({ "work": { "task": task, "version": "1" }, "then": then, "limit": 1000 });
    workflow(value!({
        "s0": (state("s1")),
        "s1": (state("wait")),
        "wait": { "on": [{ "event": "ok", "to": "s2" }] },
        "s2": {
            "work": { "task": task, "version": "1" },
            "input": { "n": "$.context.data.n", "lines": "$.context.input.lines", "note": "$.context.data.note" },
            "then": "again", "limit": 1000
        },
        "again": { "choose": [{ "guard": { "$lt": ["$.context.data.n", count] }, "to": "s0" }], "otherwise": "end" },
        "end": { "final": true }
    }))
}

#[tokio::test]
async fn a_large_context_with_small_changes_costs_small_commits() {
    /// Of a round: two sent and consumed events, and three steps.
    const COMMITS: usize = 6;
    for task in ["change", "rebuild"] {
        let (result, commits) = run(&rounds(task, 60), large()).await;
        assert_eq!(result.get("n"), Some(&value!(60)));
        assert!(commits[0] > 1_000_000, "the first one has the input");
        let rest = &commits[1 + COMMITS..];
        assert!(rest.iter().all(|bytes| *bytes < SMALL), "{task}: {commits:?}");
    }
}

// workflow §5: what is not stored is made again when somebody reads it.
#[tokio::test]
async fn what_follows_from_the_rest_is_not_stored_and_read_all_the_same() {
    let storage = Arc::new(MemoryStorage::new());
    let document = workflow(value!({
        "s0": { "work": { "task": "change", "version": "1" }, "then": "end" },
        "end": { "final": true }
    }));
    let engine = engine(&storage);
    engine.start(Start::new(document, large()).with_id("r")).await.unwrap();
    let storage: Arc<dyn Storage> = storage;
    let view = RunView::load(&*storage, "r").await.unwrap().unwrap();
    assert_eq!(view.snapshot.get("pending").and_then(|pending| pending.get("input")), None);
    let published = view.published().unwrap();
    let pending = published.get("pending").unwrap();
    assert_eq!(pending.get("input"), Some(&view.input));
    let text = jaren_json::canonical(&view.input).unwrap();
    let identity = pending.get("identity").and_then(|identity| identity.get("input"));
    assert_eq!(identity.and_then(Value::as_str), Some(&*text));
    let mut run = engine.open("r").await.unwrap();
    assert!(
        matches!(run.drive().await.unwrap(), Status::Done { result } if result.get("n") == Some(&value!(1)))
    );
}
