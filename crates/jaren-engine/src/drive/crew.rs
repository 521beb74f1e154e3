//! The tasks of one run: each is spawned, owned, cancelled and joined here.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jaren_host::{Clock, Millis};
use jaren_json::{Str, Value};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::core::StartTask;
use crate::failure::Failure;
use crate::task::{Handler, TaskContext, TaskFuture};

/// A task that ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) activation: u64,
    pub(super) node: usize,
    pub(super) id: Str,
    pub(super) state: Str,
    pub(super) visit: u64,
    pub(super) result: Result<Value, Failure>,
    pub(super) ms: f64,
}

/// Dropping it aborts what still runs.
#[derive(Debug, Default)]
pub(super) struct Crew {
    running: JoinSet<Ended>,
    /// One token an activation, present while its answers count.
    live: BTreeMap<u64, CancellationToken>,
}

impl Crew {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn token(&mut self, activation: u64) -> CancellationToken {
        self.live.entry(activation).or_default().clone()
    }

    /// Do the answers of this activation still count?
    pub(super) fn is_live(&self, activation: u64) -> bool {
        self.live.contains_key(&activation)
    }

    pub(super) fn start(
        &mut self,
        call: StartTask,
        handler: Arc<dyn Handler>,
        context: TaskContext,
        clock: Arc<dyn Clock>,
    ) {
        let StartTask { activation, node, id, state, visit, with, input, .. } = call;
        self.running.spawn(async move {
            let started = clock.now();
            let result = guarded(&*handler, context, with, input).await;
            let ms = elapsed(started, clock.now());
            Ended { activation, node, id, state, visit, result, ms }
        });
    }

    /// Its answers do not count any more; its tasks are asked to stop.
    pub(super) fn abandon(&mut self, activation: u64) {
        if let Some(token) = self.live.remove(&activation) {
            token.cancel();
        }
    }

    /// Asks all tasks to stop. What they answer in time still counts.
    pub(super) fn cancel(&self) {
        self.live.values().for_each(CancellationToken::cancel);
    }

    /// Stops all tasks at their next await.
    pub(super) fn abort(&mut self) {
        self.running.abort_all();
    }

    /// The next task that ended by itself; none when there is nothing left to join.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        loop {
            match self.running.join_next().await? {
                Ok(ended) => return Some(ended),
                // Only an abort gets here: a panic of the handler is an answer. Nobody waits for an aborted task.
                Err(_) => {}
            }
        }
    }
}

fn elapsed(from: Millis, to: Millis) -> f64 {
    to.since(from).as_secs_f64() * 1e3
}

/// Runs a handler; a panic in it is a failure of its node, not of the process.
async fn guarded(handler: &dyn Handler, context: TaskContext, with: Value, input: Value) -> Result<Value, Failure> {
    let made = catch_unwind(AssertUnwindSafe(|| handler.run(context, with, input)));
    let mut future: TaskFuture = made.map_err(|panic| panicked(&*panic))?;
    poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll,
        Err(panic) => Err(panicked(&*panic)).into(),
    })
    .await
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure::new(format!("the task panicked: {}", text.unwrap_or("without a message"))).with_code("JE0006")
}
