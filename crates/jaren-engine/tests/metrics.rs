//! The metrics of the feature `metrics`: their names and labels are stable.
#![cfg(test)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jaren_durable::MemoryStorage;
use jaren_engine::{Drive, Engine, Event, Failure, RetryPolicy, Start, TaskContext, Tasks};
use jaren_json::value;
use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

/// Sums by name and labels.
#[derive(Clone, Default)]
struct Sums(Arc<Mutex<BTreeMap<String, u64>>>);

struct Sum(Sums, String);

impl Sum {
    fn add(&self, value: u64) {
        *self.0.0.lock().unwrap().entry(self.1.clone()).or_default() += value;
    }
}

impl CounterFn for Sum {
    fn increment(&self, value: u64) {
        self.add(value);
    }

    fn absolute(&self, _: u64) {}
}

/// How many values there were.
impl HistogramFn for Sum {
    fn record(&self, _: f64) {
        self.add(1);
    }
}

impl Sums {
    fn sum(&self, key: &Key) -> Arc<Sum> {
        let labels: Vec<String> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        Arc::new(Sum(self.clone(), format!("{}{{{}}}", key.name(), labels.join(","))))
    }
}

impl Recorder for Sums {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.sum(key))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.sum(key))
    }
}

async fn run() {
    let mut tasks = Tasks::new();
    tasks
        .add(
            "flaky",
            "1",
            async |context: TaskContext, (): (), _: f64| {
                if context.attempt == 1 { Err(Failure::new("busy")) } else { Ok(1) }
            },
        )
        .retry(RetryPolicy::times(1).with_backoff(Duration::ZERO, Duration::ZERO));
    let engine = Engine::new(Arc::new(MemoryStorage::new()), tasks);
    let document = value!({
        "$workflow": "0.2", "revision": "1", "initial": "work",
        "states": {
            "work": { "work": { "task": "flaky", "version": "1" }, "then": "wait" },
            "wait": { "on": [{ "event": "go", "to": "end" }] },
            "end": { "final": true }
        }
    });
    let mut run = engine.start(Start::new(document, value!(1)).with_id("r")).await.unwrap();
    run.drive().await.unwrap();
    let _ = engine.send("r", Event::new("go", value!(null))).await.unwrap();
    run.drive().await.unwrap();
}

#[test]
fn runs_and_tasks_are_counted() {
    let sums = Sums::default();
    metrics::with_local_recorder(&sums, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run());
    });
    let mut found = sums.0.lock().unwrap().clone();
    // How many commits there are is told elsewhere.
    assert!(
        found.remove("jaren_commits_total{}").unwrap() <= found.remove("jaren_save_points_total{}").unwrap()
    );
    let expected = [
        ("jaren_drives_ended_total{status=done}", 1),
        ("jaren_drives_ended_total{status=waiting}", 1),
        ("jaren_events_sent_total{}", 1),
        ("jaren_runs_started_total{}", 1),
        ("jaren_task_attempts_total{}", 2),
        ("jaren_task_retries_total{}", 1),
        ("jaren_task_seconds{task=flaky,status=ok}", 1),
        ("jaren_tasks_ended_total{task=flaky,status=ok}", 1),
    ];
    assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)).into());
}
