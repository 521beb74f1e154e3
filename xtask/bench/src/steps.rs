//! Steps in memory: the same workflows as the durable ones, without a disk. The rows that are compared with the
//! reference keep what a run saves, as its store does.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jaren::durable::{BoxFuture, MemoryStorage};
use jaren::engine::core::{Input, Output, Phase, RunState, SavePoint, Snapshot};
use jaren::engine::port::{Call, CheckpointStore, StoreError, Workflows};
use jaren::flow::DeclaredTasks;
use jaren::flow::workflow::Workflow;
use jaren::prelude::*;

use crate::{Failed, document};

/// Steps of a workflow, as the peers have them.
const STEPS: usize = 10;

/// Prints one line for each way to run them.
pub(crate) async fn steps(workflows: usize) -> Result<(), Failed> {
    let document = document::sequence(STEPS);
    for round in [workflows / 10, workflows] {
        let is_warm = round == workflows;
        let core = time(round, || core(&document, round))?;
        let start = Instant::now();
        through_port(&document, round).await?;
        let port = nanos(start, round);
        let start = Instant::now();
        over_memory(&document, round).await?;
        let engine = nanos(start, round);
        if is_warm {
            for (peer, ns) in [("jaren-core", core), ("jaren-mem", port), ("jaren-engine-mem", engine)] {
                println!("{{\"peer\":\"{peer}\",\"n\":{round},\"k\":{STEPS},\"ns_per_step\":{ns:.0}}}");
            }
        }
    }
    Ok(())
}

fn time(workflows: usize, work: impl FnOnce() -> Result<(), Failed>) -> Result<f64, Failed> {
    let start = Instant::now();
    work()?;
    Ok(nanos(start, workflows))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench are far below 2^53")]
fn nanos(start: Instant, workflows: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / (workflows * STEPS) as f64
}

/// The pure core, driven by hand.
fn core(document: &Value, workflows: usize) -> Result<(), Failed> {
    let workflow = Workflow::compile(document, &DeclaredTasks)?;
    for run in 0..workflows {
        let mut run = RunState::start(workflow.clone(), &format!("run-{run}"), Value::Null, Some(0.0))?;
        let mut step = run.step(Input::Begin, Some(0.0));
        loop {
            let call = step.outputs.into_iter().find_map(|output| match output {
                Output::Start(call) => Some(call),
                _ => None,
            });
            let Some(call) = call else { break };
            let (activation, node) = (call.activation, call.node);
            step = run.step(Input::Settled { activation, node, result: Ok(call.input), ms: 0.0 }, Some(0.0));
        }
        let Phase::Done(result) = step.phase else { return Err("a run of the core did not end".into()) };
        black_box(result);
    }
    Ok(())
}

/// The newest snapshot of each run.
#[derive(Default)]
struct Kept(Mutex<HashMap<String, Snapshot>>);

impl CheckpointStore for Kept {
    fn load<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<Value>, StoreError>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(run).map(Snapshot::to_value);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn save<'a>(
        &'a self,
        run: &'a str,
        point: &'a SavePoint,
        expected: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = point.snapshot.clone();
        let saved = match kept.get_mut(run) {
            Some(found) if found.generation() == expected => {
                *found = snapshot;
                true
            }
            None if expected == 0 => kept.insert(run.to_owned(), snapshot).is_none(),
            _ => false,
        };
        Box::pin(std::future::ready(Ok(saved)))
    }
}

fn tasks() -> Tasks {
    let mut tasks = Tasks::new();
    tasks.add_value("nothing", "1", async |_: TaskContext, _: Value, input: Value| Ok::<_, Failure>(input));
    tasks
}

/// The port with a store in memory: every save point is one.
async fn through_port(document: &Value, workflows: usize) -> Result<(), Failed> {
    let port = Workflows::compile(document, tasks(), Some(Arc::new(Kept::default())))?;
    for run in 0..workflows {
        black_box(port.run(Call::new(format!("run-{run}"), Value::Null)).await?);
    }
    Ok(())
}

/// The engine over storage in memory, with sessions, deltas and their texts.
async fn over_memory(document: &Value, workflows: usize) -> Result<(), Failed> {
    let engine = Engine::new(Arc::new(MemoryStorage::new()), tasks());
    for run in 0..workflows {
        let mut run =
            engine.start(Start::new(document.clone(), Value::Null).with_id(format!("run-{run}"))).await?;
        let _ = black_box(run.drive().await?);
    }
    Ok(())
}
