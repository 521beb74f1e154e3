//! How many tasks run at once, and what many wide runs hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jaren_durable::MemoryStorage;
use jaren_engine::{Engine, Failure, Start, Status, TaskContext, Tasks};
use jaren_json::{Value, value};

use crate::core::fan;

/// How many are there at once, and at most.
#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    async fn within(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_wide_dag_runs_as_many_tasks_at_once_as_its_engine_allows() {
    let node = value!({ "kind": "task", "run": "t", "version": "1", "checkpoint": true });
    let document = value!({
        "$workflow": "0.2", "revision": "r/1", "initial": "s",
        "states": { "s": { "work": { "dag": (fan(500, &node)) }, "then": "end" }, "end": { "final": true } }
    });
    for concurrency in [1, 8] {
        let gauge = Arc::new(Gauge::default());
        let mut tasks = Tasks::new();
        let within = gauge.clone();
        tasks.add_value("t", "1", move |_: TaskContext, _: Value, input: Value| {
            let within = within.clone();
            async move {
                within.within().await;
                Ok::<_, Failure>(input)
            }
        });
        let engine = Engine::new(Arc::new(MemoryStorage::new()), tasks);
        let engine = engine.with_concurrency(concurrency.try_into().unwrap());
        let mut run = engine.start(Start::new(document.clone(), value!(1)).with_id("r")).await.unwrap();
        let Status::Done { result } = run.drive().await.unwrap() else { panic!("it ends") };
        assert_eq!(result.as_object().unwrap().len(), 500);
        assert_eq!(gauge.most.load(Ordering::SeqCst), concurrency);
    }
}
