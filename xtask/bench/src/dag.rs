//! What a dataflow 1 → n → 1 of trivial nodes costs: that of the peers, which do it by hand on tokio.

use std::time::{Duration, Instant};

use jaren::engine::port::{DagCall, Dags};
use jaren::prelude::*;

use crate::Failed;

/// How often each is run.
const RUNS: u32 = 2000;

/// Prints one line for each way to run it.
pub(crate) async fn dag(width: u32) -> Result<(), Failed> {
    let expected = f64::from(width) + f64::from(width) * (f64::from(width) - 1.0) / 2.0;
    let report = |peer: &str, times: Vec<Duration>| {
        let best = quantile(&times, 50);
        println!("{{\"peer\":\"{peer}\",\"width\":{width},\"run_p50_us\":{:.1}}}", best.as_secs_f64() * 1e6);
    };
    for (peer, document) in [("jaren-rust-dag-query", queries(width)), ("jaren-rust-dag-task", calls(width))]
    {
        let dags = &Dags::compile(&document, tasks(), None, None)?;
        let run = || async {
            let call = DagCall::new("run", Value::from(0));
            let result = dags.run(call).await?;
            result.as_f64().ok_or_else(|| Failed::from("the result is no number"))
        };
        report(peer, timed(expected, run).await?);
    }
    Ok(())
}

/// The sorted times of many runs, after some that warm up.
async fn timed<F: Future<Output = Result<f64, Failed>> + Send>(
    expected: f64,
    run: impl Fn() -> F,
) -> Result<Vec<Duration>, Failed> {
    let mut times = Vec::new();
    for round in 0..RUNS + RUNS / 10 {
        let start = Instant::now();
        let result = run().await?;
        if round >= RUNS / 10 {
            times.push(start.elapsed());
        }
        #[expect(clippy::float_cmp, reason = "small integers are exact")]
        if result != expected {
            return Err(format!("expected {expected}, found {result}").into());
        }
    }
    times.sort_unstable();
    Ok(times)
}

fn quantile(sorted: &[Duration], hundredths: usize) -> Duration {
    sorted.get(sorted.len().saturating_sub(1) * hundredths / 100).copied().unwrap_or_default()
}

fn graph(width: u32, root: &Value, leaf: impl Fn(u32) -> Value, join: &Value) -> Value {
    let mut nodes = vec![
        ("in".to_owned(), value!({ "kind": "input" })),
        ("root".to_owned(), root.clone()),
        ("join".to_owned(), join.clone()),
        ("out".to_owned(), value!({ "kind": "output" })),
    ];
    let mut edges = vec![value!({ "from": "in", "to": "root" }), value!({ "from": "join", "to": "out" })];
    for add in 0..width {
        let id = format!("l{add}");
        edges.push(value!({ "from": "root", "to": (&*id) }));
        edges.push(value!({ "from": (&*id), "to": "join", "port": (format!("p{add}")) }));
        nodes.push((id, leaf(add)));
    }
    let nodes = nodes.into_iter().collect::<jaren::json::Object>();
    value!({ "$dag": "0.1", "nodes": nodes, "edges": edges })
}

fn queries(width: u32) -> Value {
    let query = |query: Value| value!({ "kind": "query", "query": query });
    let root = query(value!({ "$add": ["$", 1] }));
    graph(width, &root, |add| query(value!({ "$add": ["$", add] })), &query(value!({ "$sum": "$.*" })))
}

fn calls(width: u32) -> Value {
    let task = |name: &str| value!({ "kind": "task", "run": name, "version": "1" });
    let leaf = |add: u32| value!({ "kind": "task", "run": "leaf", "version": "1", "with": add });
    graph(width, &task("root"), leaf, &task("join"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn tasks() -> Tasks {
    let mut tasks = Tasks::new();
    tasks.add_value("root", "1", async |_: TaskContext, _: Value, input: Value| {
        Ok::<_, Failure>(Value::from(number(&input) + 1.0))
    });
    tasks.add_value("leaf", "1", async |_: TaskContext, add: Value, input: Value| {
        Ok::<_, Failure>(Value::from(number(&input) + number(&add)))
    });
    tasks.add_value("join", "1", async |_: TaskContext, _: Value, input: Value| {
        let ports = input.as_object().map(jaren::json::Object::values).unwrap_or_default();
        Ok::<_, Failure>(Value::from(ports.iter().map(number).sum::<f64>()))
    });
    tasks
}
