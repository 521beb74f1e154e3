//! A task under way, as its crew owns it: polled where it was started, or in a task of its own.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use jaren_host::{Clock, Timestamp};
use jaren_json::{Str, Value};

use crate::attempt::{Answer, Execution, Going, panicked};
use crate::failure::Failure;

/// A task that ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) activation: u64,
    pub(crate) node: usize,
    pub(crate) id: Str,
    pub(crate) state: Str,
    pub(crate) visit: u64,
    pub(crate) result: Result<Value, Failure>,
    /// How many attempts it took beyond the first one.
    pub(crate) retries: u32,
    /// How long it took, its pauses included.
    pub(crate) ms: f64,
}

/// A task under way. Whatever panics, it ends with an answer.
pub(crate) struct Work {
    activation: u64,
    node: usize,
    new: Option<Execution>,
    going: Option<Going>,
    /// What names it in its answer.
    id: Str,
    state: Str,
    visit: u64,
    #[cfg(feature = "metrics")]
    task: Str,
    clock: Arc<dyn Clock>,
    started: Option<Timestamp>,
    /// The clock's last reading.
    seen: Option<Timestamp>,
}

impl Work {
    /// Work that is not begun yet.
    pub(crate) fn new(activation: u64, node: usize, execution: Execution) -> Self {
        let context = &execution.context;
        Work {
            activation,
            node,
            id: context.node.clone(),
            state: context.state.clone(),
            visit: context.visit,
            #[cfg(feature = "metrics")]
            task: context.task.clone(),
            clock: Arc::clone(&context.lent.clock),
            new: Some(execution),
            going: None,
            started: None,
            seen: None,
        }
    }

    /// The clock's last reading: when it ended, or when it began; none where that panicked.
    pub(crate) fn seen(&self) -> Option<Timestamp> {
        self.seen
    }

    fn go_on(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        if let Some(new) = self.new.take() {
            self.started = Some(self.clock.now());
            self.seen = self.started;
            self.going = Some(new.begin());
        }
        let polled = self.going.as_mut().map(|going| going.poll(cx));
        let answer = match polled {
            Some(Poll::Pending) => return Poll::Pending,
            Some(Poll::Ready(answer)) => answer,
            // It is not polled after its end.
            None => Answer::failed(Failure::new("the task has ended before")),
        };
        // What a handler's future does when it is dropped may panic, too.
        let dropped = catch_unwind(AssertUnwindSafe(|| self.going = None));
        self.seen = Some(self.clock.now());
        Poll::Ready(match dropped {
            Ok(()) => answer,
            Err(panic) => Answer { result: Err(panicked(&*panic)), ..answer },
        })
    }

    fn ended(&mut self, answer: Answer) -> Ended {
        let took = self.seen.zip(self.started).map(|(ended, started)| ended.since(started));
        let Answer { result, retries } = answer;
        Ended {
            activation: self.activation,
            node: self.node,
            id: self.id.clone(),
            state: self.state.clone(),
            visit: self.visit,
            result,
            retries,
            ms: took.map_or(0.0, |took| took.as_secs_f64() * 1e3),
        }
    }
}

impl Future for Work {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        let work = &mut *self;
        // A host's clock or recorder may panic as well as its handler, and the drive waits for an answer.
        let polled = catch_unwind(AssertUnwindSafe(|| {
            work.go_on(cx).map(|answer| {
                let ended = work.ended(answer);
                #[cfg(feature = "metrics")]
                crate::observe::task_ended(&work.task, ended.result.is_ok(), ended.ms);
                ended
            })
        }));
        polled.unwrap_or_else(|panic| {
            let failure = panicked(&*panic);
            // Its future has panicked, and may do so once more when it is dropped.
            let _ = catch_unwind(AssertUnwindSafe(|| work.going = None));
            Poll::Ready(work.ended(Answer::failed(failure)))
        })
    }
}
