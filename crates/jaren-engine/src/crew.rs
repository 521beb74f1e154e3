//! The tasks of one run: each is spawned, owned, cancelled and joined here.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jaren_host::Clock;
use jaren_json::{Str, Value};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::core::StartTask;
use crate::failure::Failure;
use crate::task::{Handler, TaskContext, TaskFuture, Tasks};

/// A task that ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) activation: u64,
    pub(crate) node: usize,
    pub(crate) id: Str,
    pub(crate) state: Str,
    pub(crate) visit: u64,
    pub(crate) result: Result<Value, Failure>,
    pub(crate) ms: f64,
}

/// Dropping it aborts what still runs.
#[derive(Debug, Default)]
pub(crate) struct Crew {
    running: JoinSet<Ended>,
    /// The activation whose answers count, and the token of its tasks. A run has one at a time: the next begins when
    /// all tasks of the one before have ended or are abandoned.
    live: Option<(u64, CancellationToken)>,
}

impl Crew {
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub(crate) fn token(&mut self, activation: u64) -> CancellationToken {
        match &self.live {
            Some((live, token)) if *live == activation => token.clone(),
            _ => self.live.insert((activation, CancellationToken::new())).1.clone(),
        }
    }

    /// Do the answers of this activation still count?
    pub(crate) fn is_live(&self, activation: u64) -> bool {
        self.live.as_ref().is_some_and(|(live, _)| *live == activation)
    }

    pub(crate) fn start(
        &mut self,
        call: StartTask,
        handler: Option<Arc<dyn Handler>>,
        context: TaskContext,
        clock: Option<Arc<dyn Clock>>,
    ) {
        let StartTask { activation, node, id, state, visit, with, input, .. } = call;
        self.running.spawn(async move {
            let now = || clock.as_ref().map(|clock| clock.now()).unwrap_or_default();
            let started = now();
            let result = match handler {
                Some(handler) => guarded(&*handler, context, with, input).await,
                // The compiler has checked every task, so this speaks of a bug, but not by a panic.
                None => Err(Failure::new("the task has no handler").with_code("JF0018")),
            };
            let ms = now().since(started).as_secs_f64() * 1e3;
            Ended { activation, node, id, state, visit, result, ms }
        });
    }

    /// Its answers do not count any more; its tasks are asked to stop.
    pub(crate) fn abandon(&mut self, activation: u64) {
        if let Some((_, token)) = self.live.take_if(|(live, _)| *live == activation) {
            token.cancel();
        }
    }

    /// Asks all tasks to stop. What they answer in time still counts.
    pub(crate) fn cancel(&self) {
        if let Some((_, token)) = &self.live {
            token.cancel();
        }
    }

    /// Stops all tasks at their next await.
    pub(crate) fn abort(&mut self) {
        self.running.abort_all();
    }

    /// Stops all tasks at their next await and joins them. Answers those that had ended by themselves.
    pub(crate) async fn dismiss(&mut self) -> Vec<Ended> {
        self.cancel();
        self.abort();
        let mut ended = Vec::new();
        while let Some(task) = self.next().await {
            ended.push(task);
        }
        ended
    }

    /// The next task that ended by itself; none when there is nothing left to join.
    pub(crate) async fn next(&mut self) -> Option<Ended> {
        loop {
            // Only an abort is an error here: a panic of the handler is an answer. Nobody waits for an aborted task.
            if let Ok(ended) = self.running.join_next().await? {
                return Some(ended);
            }
        }
    }
}

/// The handler of a call, and what it is told.
pub(crate) fn call_of(
    tasks: &Tasks,
    run: Arc<str>,
    call: &StartTask,
    attempt: u32,
    cancel: CancellationToken,
) -> (Option<Arc<dyn Handler>>, TaskContext) {
    let shared = |text: &Str| Arc::from(text.as_str());
    let context = TaskContext {
        run,
        state: shared(&call.state),
        visit: call.visit,
        node: shared(&call.id),
        task: shared(&call.task),
        key: shared(&call.key),
        attempt,
        cancel,
    };
    (tasks.handler(&call.task), context)
}

/// Runs a handler; a panic in it is a failure of its node, not of the process.
async fn guarded(
    handler: &dyn Handler,
    context: TaskContext,
    with: Value,
    input: Value,
) -> Result<Value, Failure> {
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
