//! Files that were damaged: a store and a tasks file with any bytes changed are read or refused, and never end in a panic
//! or a hang.
#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use jaren::prelude::*;
use jaren_tests::program;
use jaren_tests::random::{Seeded, seed};

/// How often each file is damaged.
const TIMES: u64 = 150;
/// How many runs the store has.
const RUNS: u32 = 5;

const TASKS: &str = r#"
[tasks.greet]
version = "1"
exec = ["sh", "-c", "cat", "--", "a b"]
dir = "."
timeout = "30s"
output = "1MiB"
env = ["HOME"]

[tasks."sum up"]
version = "2.0"
exec = ["/bin/true"]
grace = "5s"
"#;

/// Some bytes changed, removed, doubled, or the rest cut off.
fn damaged(bytes: &[u8], random: &mut Seeded) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(6) {
        let length = bytes.len() as u64;
        let at = usize::try_from(random.below(length)).expect("it is within the file");
        let end = (at + 1 + usize::try_from(random.below(64)).expect("a small number")).min(bytes.len());
        match random.below(30) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let again = bytes.get(at..end).unwrap_or_default().to_vec();
                bytes.splice(at..at, again);
            }
            3 => bytes.iter_mut().take(end).skip(at).for_each(|byte| *byte = 0),
            _ => {
                let value = u8::try_from(random.below(256)).expect("a byte");
                bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = value);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

fn document() -> Value {
    value!({
        "$workflow": "0.2", "revision": "damaged/1", "initial": "work",
        "states": {
            "work": { "work": { "task": "greet", "version": "1" }, "then": "wait" },
            "wait": { "on": [{ "event": "go", "to": "end" }], "after": { "ms": 3_600_000, "to": "end" } },
            "end": { "final": true }
        }
    })
}

/// An engine over a store, with the task of the document.
fn engine(store: Arc<SqliteStorage>) -> Engine {
    let mut tasks = Tasks::new();
    tasks.add_value("greet", "1", async |_: TaskContext, _: Value, input: Value| Ok::<_, Failure>(input));
    Engine::new(store, tasks)
}

/// A store with runs that wait, that are done, and that have events.
async fn make(path: &Path) {
    let store = Arc::new(SqliteStorage::open(path).expect("a store is made"));
    let engine = engine(Arc::clone(&store));
    for number in 0..RUNS {
        let id = format!("run-{number}");
        let start =
            Start::new(document(), value!({ "number": number, "text": "x".repeat(700) })).with_id(&*id);
        let mut run = engine.start(start).await.expect("it starts");
        assert!(
            matches!(run.drive_with(Drive::new().without_timers()).await, Ok(Status::Waiting { .. })),
            "it comes to its wait"
        );
        if number % 2 == 0 {
            let sent = engine.send(&id, Event::new("go", Value::Null)).await.expect("the store takes it");
            assert!(matches!(sent, Sent::Stored { .. }), "{sent:?}");
        }
        if number % 4 == 0 {
            assert!(
                matches!(run.drive_with(Drive::new().without_timers()).await, Ok(Status::Done { .. })),
                "it comes to its end"
            );
        }
    }
    store.close().await;
}

/// Reads everything, and drives what can be.
async fn use_it(path: &Path) {
    let Ok(store) = SqliteStorage::open(path) else { return };
    let engine = engine(Arc::new(store));
    let _ = engine.runs(RunsQuery::new()).await;
    for number in 0..RUNS {
        let id = format!("run-{number}");
        let _ = engine.view(&id).await;
        if let Ok(mut run) = engine.open(&id).await {
            let _ = run.drive_with(Drive::new().without_timers()).await;
        }
        let _ = engine.send(&id, Event::new("go", Value::Null)).await;
    }
}

#[tokio::test]
async fn a_damaged_store_is_read_or_refused() {
    let seed = seed(7);
    let mut random = Seeded::new(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole.db");
    make(&whole).await;
    let bytes = fs::read(&whole).expect("the store is one file once it is closed");
    for time in 0..TIMES {
        println!("JAREN_SEED={seed}, damage {time}"); // shown when it fails
        let path = folder.path().join(format!("{time}.db"));
        fs::write(&path, damaged(&bytes, &mut random)).expect("a copy is written");
        use_it(&path).await;
    }
}

#[test]
fn a_damaged_tasks_file_is_read_or_refused() {
    let seed = seed(7);
    let mut random = Seeded::new(seed);
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("document.json"), document().to_string()).expect("it is written");
    for time in 0..TIMES {
        let damaged = damaged(TASKS.as_bytes(), &mut random);
        fs::write(folder.path().join("tasks.toml"), &damaged).expect("a copy is written");
        let output = program::run(folder.path(), ["check", "document.json", "--tasks", "tasks.toml"]);
        assert!(answers(&output), "JAREN_SEED={seed}, damage {time}: {damaged:?}: {output:?}");
    }
}

/// The program ended by itself, and said why where it refused.
fn answers(output: &Output) -> bool {
    match output.status.code() {
        Some(0) => true,
        Some(101) | None => false,
        Some(_) => !output.stderr.is_empty(),
    }
}
