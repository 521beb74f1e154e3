//! What the process's own observation sees: spans and events by their stable names, without values.
//!
//! A process of its own: what a thread without a subscriber meets first, `tracing` may keep as unwanted.
#![cfg(test)]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jaren_durable::MemoryStorage;
use jaren_engine::{Drive, Engine, Event, Failure, RetryPolicy, Start, Status, TaskContext, Tasks};
use jaren_json::{Value, value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record as Fields};
use tracing::{Metadata, Subscriber};

/// Work, then a wait, then work.
fn waiting() -> Value {
    value!({
        "$workflow": "0.2", "revision": "1", "initial": "begin",
        "states": {
            "begin": { "work": { "task": "add", "version": "1" }, "then": "wait" },
            "wait": { "on": [{ "event": "ok", "to": "after" }] },
            "after": { "work": { "task": "add", "version": "1" }, "then": "end" },
            "end": { "final": true }
        }
    })
}

/// Two tasks side by side.
fn fork() -> Value {
    value!({
        "$workflow": "0.2", "revision": "1", "initial": "begin",
        "states": {
            "begin": {
                "work": { "dag": {
                    "$dag": "0.1",
                    "nodes": {
                        "in": { "kind": "input" },
                        "left": { "kind": "task", "run": "flaky", "version": "1" },
                        "right": { "kind": "task", "run": "add", "version": "1" },
                        "out": { "kind": "output" }
                    },
                    "edges": [
                        { "from": "in", "to": "left" }, { "from": "in", "to": "right" },
                        { "from": "left", "to": "out", "port": "l" }, { "from": "right", "to": "out", "port": "r" }
                    ]
                } },
                "then": "end"
            },
            "end": { "final": true }
        }
    })
}

/// `name field=value …` of every span and event of the engine, and `child < parent` of every span in another.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Log>>);

#[derive(Default)]
struct Log {
    lines: Vec<String>,
    spans: Vec<&'static str>,
    /// The spans that are entered, by their numbers. All of it is one thread's.
    entered: Vec<usize>,
}

struct Shown(String);

impl Visit for Shown {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        use std::fmt::Write as _;
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Seen {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "jaren::engine"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let name = span.metadata().name();
        let mut shown = Shown(name.to_owned());
        span.record(&mut shown);
        let mut log = self.0.lock().unwrap();
        if let Some(parent) = log.entered.last().map(|id| log.spans[*id]) {
            log.lines.push(format!("{name} < {parent}"));
        }
        log.lines.push(shown.0);
        log.spans.push(name);
        Id::from_u64(log.spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Fields<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut shown = Shown(event.metadata().name().to_owned());
        event.record(&mut shown);
        self.0.lock().unwrap().lines.push(shown.0);
    }

    fn enter(&self, id: &Id) {
        self.0.lock().unwrap().entered.push(usize::try_from(id.into_u64()).unwrap() - 1);
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().entered.pop();
    }
}

#[tokio::test]
async fn spans_and_events_have_stable_names_and_no_values() {
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(seen.clone());
    let mut tasks = Tasks::new();
    tasks.add("add", "1", async |_: TaskContext, (): (), input: f64| Ok::<_, Failure>(input + 1.0));
    tasks
        .add("flaky", "1", async |context: TaskContext, (): (), _: Value| {
            context.progress("secret");
            Err::<f64, _>(Failure::new("secret").with_code("busy"))
        })
        .retry(RetryPolicy::times(1).with_backoff(Duration::ZERO, Duration::ZERO));
    let engine = Engine::new(Arc::new(MemoryStorage::new()), tasks);
    let mut run = engine.start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap();
    assert!(matches!(run.drive_with(Drive::new().without_timers()).await.unwrap(), Status::Waiting { .. }));
    let _ = engine.send("r", Event::new("ok", value!(true))).await.unwrap();
    assert!(matches!(run.drive().await.unwrap(), Status::Done { .. }));
    let mut run = engine.start(Start::new(fork(), value!("secret")).with_id("s")).await.unwrap();
    assert!(matches!(run.drive().await.unwrap(), Status::Failed { .. }));

    let seen = std::mem::take(&mut seen.0.lock().unwrap().lines);
    let names: BTreeSet<&str> = seen.iter().map(|line| line.split(' ').next().unwrap()).collect();
    let expected = [
        "jaren.drive",
        "jaren.event.sent",
        "jaren.node.ended",
        "jaren.run.committed",
        "jaren.run.done",
        "jaren.run.failed",
        "jaren.run.moved",
        "jaren.run.started",
        "jaren.run.waiting",
        "jaren.task",
        "jaren.task.progress",
        "jaren.task.retry",
        "jaren.task.started",
    ];
    assert_eq!(names, BTreeSet::from(expected));
    let has = |line: &str| assert!(seen.iter().any(|seen| seen == line), "{line} in {seen:#?}");
    has("jaren.drive run=\"r\"");
    has("jaren.task run=\"r\" state=\"/states/begin\" visit=1 node=\"task\" task=\"add\" attempt=1");
    has("jaren.task.started run=\"r\" state=\"/states/begin\" visit=1 node=\"task\" attempt=1");
    has("jaren.run.failed run=\"s\" code=\"JF2006\" state=\"/states/begin\" node=\"left\"");
    assert!(!seen.iter().any(|line| line.contains("secret")), "{seen:#?}");
    // Every attempt is within its drive: one task alone, two side by side, and one of them twice.
    let within = |line: &&String| line.starts_with("jaren.task <");
    assert!(seen.iter().filter(within).all(|line| line == "jaren.task < jaren.drive"), "{seen:#?}");
    let tasks = seen.iter().filter(|line| line.starts_with("jaren.task run"));
    assert_eq!((seen.iter().filter(within).count(), tasks.count()), (5, 5));
}
