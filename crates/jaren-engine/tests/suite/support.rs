//! What the tests share: documents, tasks that leave traces, engines over a store and a clock that stands still.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jaren_durable::{MemoryStorage, Storage};
use jaren_durable_kit::faults::{Fault, Faults};
use jaren_engine::{
    Drive, Engine, EngineError, Failure, Record, RetryPolicy, RunFailure, RunView, Start, Status,
    TaskContext, Tasks,
};
use jaren_host::{ManualClock, Timestamp};
use jaren_json::{Value, value};

/// Everything that happened, for assertions.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn push(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A store, a clock, and the tasks `add` (`with` is a number), `echo`, `flaky` (its second attempt succeeds) and `fail`.
pub(crate) struct World {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) log: Log,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::over(Arc::new(MemoryStorage::new()))
    }

    pub(crate) fn over(storage: Arc<dyn Storage>) -> Self {
        World {
            storage,
            clock: Arc::new(ManualClock::new(Timestamp::from_millis(1_000))),
            log: Log::default(),
        }
    }

    pub(crate) fn tasks(&self) -> Tasks {
        let mut tasks = Tasks::new();
        let log = self.log.clone();
        tasks.add("add", "1", move |context: TaskContext, with: Option<f64>, input: f64| {
            log.push(format!("add {} {}", context.state, context.visit));
            async move { Ok::<f64, Failure>(input + with.unwrap_or(1.0)) }
        });
        let log = self.log.clone();
        tasks.add_value("echo", "1", move |context: TaskContext, _: Value, input: Value| {
            log.push(format!("echo {} {}", context.state, context.visit));
            async move { Ok(input) }
        });
        tasks
            .add_value("flaky", "1", async |context: TaskContext, _: Value, input: Value| {
                if context.attempt % 2 == 1 { Err(Failure::new("not yet")) } else { Ok(input) }
            })
            .retry(RetryPolicy::times(1).with_backoff(Duration::ZERO, Duration::ZERO));
        tasks.add_value("fail", "1", async |_: TaskContext, _: Value, _: Value| {
            Err::<Value, _>(Failure::new("boom").with_code("E1"))
        });
        tasks
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine_with(self.tasks())
    }

    pub(crate) fn engine_with(&self, tasks: Tasks) -> Engine {
        Engine::new(self.storage.clone(), tasks).with_clock(self.clock.clone())
    }

    pub(crate) async fn view(&self, run: &str) -> RunView {
        RunView::load(&*self.storage, run).await.unwrap().unwrap()
    }

    /// Starts the run `r` and drives it without staying for timers.
    pub(crate) async fn run(&self, document: &Value, input: Value) -> Result<Status, EngineError> {
        let mut run = self.engine().start(Start::new(document.clone(), input).with_id("r")).await.unwrap();
        run.drive_with(Drive::new().without_timers()).await
    }
}

/// Why the run failed, as the drive tells.
pub(crate) fn failed(ended: Result<Status, EngineError>) -> RunFailure {
    match ended.unwrap() {
        Status::Failed { failure } => failure,
        other => panic!("{other:?}"),
    }
}

/// A store in memory that fails when it is told to.
pub(crate) fn failing() -> Arc<Faults> {
    Faults::new(Arc::new(MemoryStorage::new()))
}

/// One whose commit of that number, counted from 1, fails so.
pub(crate) fn failing_at(number: usize, fault: Fault) -> Arc<Faults> {
    Faults::at(Arc::new(MemoryStorage::new()), number, fault)
}

pub(crate) fn done(result: Value) -> Status {
    Status::Done { result }
}

/// A workflow of these states, which begins in `begin`.
pub(crate) fn workflow(states: Value) -> Value {
    value!({ "$workflow": "0.2", "revision": "test/1", "initial": "begin", "states": states })
}

/// A work state.
pub(crate) fn work(task: &str, then: &str) -> Value {
    value!({ "work": { "task": task, "version": "1" }, "then": then })
}

/// `begin`, `s1`, … that add one each, then `end`.
pub(crate) fn chain(steps: usize) -> Value {
    let name = |step: usize| if step == 0 { "begin".to_owned() } else { format!("s{step}") };
    let mut states = jaren_json::ObjectBuilder::new();
    for step in 0..steps {
        let then = if step + 1 == steps { "end".to_owned() } else { name(step + 1) };
        states.insert(name(step), work("add", &then));
    }
    states.insert("end", value!({ "final": true }));
    workflow(Value::Object(states.build()))
}

/// Waits for `ok` (when its payload is true) or `again`, at most 60 seconds.
pub(crate) fn waiting() -> Value {
    workflow(value!({
        "begin": work("add", "wait"),
        "wait": {
            "on": [
                { "event": "ok", "guard": "$.payload", "to": "after" },
                { "event": "again", "to": "begin" }
            ],
            "after": { "ms": 60000, "to": "late" }
        },
        "after": work("add", "end"),
        "late": { "final": true },
        "end": { "final": true }
    }))
}

/// Two tasks side by side, then their sum.
pub(crate) fn fork(left: &str, right: &str) -> Value {
    let task = |name: &str| value!({ "kind": "task", "run": name, "version": "1", "checkpoint": true });
    workflow(value!({
        "begin": {
            "work": { "dag": {
                "$dag": "0.1",
                "nodes": {
                    "in": { "kind": "input" }, "left": task(left), "right": task(right),
                    "sum": { "kind": "query", "query": { "$add": ["$.l", "$.r"] } },
                    "out": { "kind": "output" }
                },
                "edges": [
                    { "from": "in", "to": "left" }, { "from": "in", "to": "right" },
                    { "from": "left", "to": "sum", "port": "l" }, { "from": "right", "to": "sum", "port": "r" },
                    { "from": "sum", "to": "out" }
                ]
            } },
            "then": "end"
        },
        "end": { "final": true }
    }))
}

/// Notes the starts and the durable settlements.
pub(crate) fn observed(log: &Log) -> impl Fn(&Record) + Send + Sync + 'static {
    let log = log.clone();
    move |record: &Record| match record {
        Record::Started { state, visit, node, .. } => log.push(format!("started {state} {visit} {node}")),
        Record::Node { state, visit, node, status, .. } => {
            log.push(format!("{} {state} {visit} {node}", status.as_str()));
        }
        _ => {}
    }
}
