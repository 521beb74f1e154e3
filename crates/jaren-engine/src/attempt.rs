//! One execution of a task: its attempts, the pauses between them, and the time limit of each.
//!
//! All of it happens inside the task that the run's crew owns; the core sees one answer.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use jaren_host::{Clock, Random, SystemClock, SystemRandom};
use jaren_json::Value;
use tokio::sync::watch;
use tracing::{Instrument, Span};

use crate::context::TaskContext;
use crate::core::Record;
use crate::failure::Failure;
use crate::observe::{self, Teller};
use crate::resources::Resources;
use crate::task::{Code, Registered, TaskFuture};
use crate::time::until;

/// What a drive lends to its tasks. Each holds it until it has ended.
#[derive(Clone)]
pub(crate) struct Lent {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) grace: Duration,
    pub(crate) resources: Resources,
    pub(crate) teller: Teller,
    /// The span of the drive.
    pub(crate) span: Span,
}

impl Default for Lent {
    fn default() -> Self {
        Lent {
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            grace: Duration::ZERO,
            resources: Resources::new(),
            teller: Teller::default(),
            span: Span::none(),
        }
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").finish_non_exhaustive()
    }
}

/// How an execution ended.
pub(crate) struct Answer {
    pub(crate) result: Result<Value, Failure>,
    /// How many attempts it took beyond the first one.
    pub(crate) retries: u32,
}

impl Answer {
    pub(crate) fn failed(failure: Failure) -> Self {
        Answer { result: Err(failure), retries: 0 }
    }
}

/// An execution that has begun.
pub(crate) enum Going {
    /// One call of a handler, in the spans of its drive and of its only attempt.
    Plain { call: Option<TaskFuture>, drive: Span, attempt: Span },
    /// With all that there may be to one; in a box, for it is large.
    Whole(Pin<Box<dyn Future<Output = Answer> + Send>>),
}

impl Going {
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        match self {
            Going::Whole(execution) => execution.as_mut().poll(cx),
            Going::Plain { call: None, .. } => Poll::Pending,
            Going::Plain { call: Some(call), drive, attempt } => {
                let (_drive, _attempt) = (drive.enter(), attempt.enter());
                call.as_mut().poll(cx).map(|result| Answer { result, retries: 0 })
            }
        }
    }
}

impl Drop for Going {
    /// What the handler holds is dropped where it was used.
    fn drop(&mut self) {
        if let Going::Plain { call, drive, attempt } = self {
            let (_drive, _attempt) = (drive.enter(), attempt.enter());
            *call = None;
        }
    }
}

/// A task to execute.
pub(crate) struct Execution {
    pub(crate) task: Option<Arc<Registered>>,
    pub(crate) context: TaskContext,
    pub(crate) with: Value,
    pub(crate) input: Value,
    /// Knows the threads that work for the run.
    pub(crate) threads: watch::Sender<()>,
}

impl Execution {
    /// Begins it, within the span of its drive.
    pub(crate) fn begin(self) -> Going {
        let drive = self.context.lent.span.clone();
        let Some(handler) = self.task.as_ref().and_then(|task| task.plain()).map(Arc::clone) else {
            return Going::Whole(Box::pin(self.attempts().instrument(drive)));
        };
        let attempt = drive.in_scope(|| observe::task_span(&self.context));
        let call = drive.in_scope(|| attempt.in_scope(|| handler.run(self.context, self.with, self.input)));
        Going::Plain { call: Some(call), drive, attempt }
    }

    async fn attempts(mut self) -> Answer {
        let Some(task) = self.task.take() else {
            // The compiler has checked every task, so this speaks of a bug, but not by a panic.
            return Answer::failed(Failure::new("the task has no handler").with_code("JF0018"));
        };
        let mut retries = 0;
        loop {
            let span = observe::task_span(&self.context);
            let result = self.attempt(&task).instrument(span).await;
            let result = match result {
                Err(failure) => match self.pause(&task, retries + 1, failure).await {
                    None => {
                        retries += 1;
                        continue;
                    }
                    Some(last) => Err(last),
                },
                answer => answer,
            };
            return Answer { result, retries };
        }
    }

    /// Pauses before the next attempt. Answers the failure when there is none.
    async fn pause(&mut self, task: &Registered, retry: u32, failure: Failure) -> Option<Failure> {
        let TaskContext { lent, cancel, .. } = &self.context;
        let policy = task.retries.as_ref().filter(|_| !cancel.is_cancelled());
        let Some(pause) = policy.and_then(|policy| policy.pause(retry, &failure, &*lent.random)) else {
            return Some(failure);
        };
        let (state, node) = (self.context.state.clone(), self.context.node.clone());
        let (visit, attempt) = (self.context.visit, self.context.attempt);
        lent.teller.tell(&Record::Retry {
            state: state.clone(),
            visit,
            node: node.clone(),
            attempt,
            failure: failure.clone(),
            pause,
        });
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Some(failure),
            () = until(&*lent.clock, lent.clock.now().plus(pause)) => {}
        }
        self.context.attempt = attempt.saturating_add(1);
        let attempt = self.context.attempt;
        let limit = task.limit;
        self.context.lent.teller.tell(&Record::Started { state, visit, node, attempt, limit });
        None
    }

    /// One attempt, within its time limit.
    async fn attempt(&self, task: &Registered) -> Result<Value, Failure> {
        let mut context = self.context.clone();
        let Some(limit) = task.limit else { return self.call(task, context).await };
        let lent = Arc::clone(&context.lent);
        let at = lent.clock.now().plus(limit);
        let cancel = context.cancel.child_token();
        (context.deadline, context.cancel) = (Some(at), cancel.clone());
        let mut work = pin!(self.call(task, context));
        tokio::select! {
            biased;
            ended = &mut work => return ended,
            () = until(&*lent.clock, at) => cancel.cancel(),
        }
        match tokio::time::timeout(lent.grace, &mut work).await {
            Ok(Ok(answer)) => return Ok(answer),
            // A thread cannot be stopped, and a retry beside it would be a second one.
            Err(_) if matches!(task.code, Code::Blocking(_)) => drop(work.await),
            Ok(Err(_)) | Err(_) => {}
        }
        Err(Failure::new(format!("the task took longer than its time limit of {limit:?}"))
            .with_code("JE0008"))
    }

    async fn call(&self, task: &Registered, context: TaskContext) -> Result<Value, Failure> {
        let (with, input) = (self.with.clone(), self.input.clone());
        match &task.code {
            Code::Async(handler) => {
                let made = catch_unwind(AssertUnwindSafe(|| handler.run(context, with, input)));
                caught(made.map_err(|panic| panicked(&*panic))?).await
            }
            Code::Blocking(handler) => {
                let handler = Arc::clone(handler);
                let (held, span) = (self.threads.subscribe(), Span::current());
                let thread = tokio::task::spawn_blocking(move || {
                    let answer = span.in_scope(|| {
                        catch_unwind(AssertUnwindSafe(|| handler(context, with, input)))
                            .unwrap_or_else(|panic| Err(panicked(&*panic)))
                    });
                    drop(held);
                    answer
                });
                thread.await.unwrap_or_else(|_| Err(Failure::new("the runtime shut down under the task")))
            }
        }
    }
}

/// A panic in it is a failure of its node, not of the process.
async fn caught(future: impl Future<Output = Result<Value, Failure>>) -> Result<Value, Failure> {
    let mut future = pin!(future);
    poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll,
        Err(panic) => Err(panicked(&*panic)).into(),
    })
    .await
}

pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure::new(format!("the task panicked: {}", text.unwrap_or("without a message"))).with_code("JE0006")
}
