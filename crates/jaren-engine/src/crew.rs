//! The tasks of one run: each is spawned, owned, cancelled and joined here.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jaren_host::Timestamp;
use jaren_json::Str;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

use crate::attempt::{Execution, Lent};
use crate::context::TaskContext;
use crate::core::StartTask;
use crate::task::Tasks;
pub(crate) use crate::work::Ended;
use crate::work::Work;

/// Dropping it aborts what still runs, but for threads: they hold what they were lent until they end.
#[derive(Debug)]
pub(crate) struct Crew {
    /// The tasks of the live activation.
    running: JoinSet<Ended>,
    /// Those of abandoned ones.
    leaving: Vec<Leaving>,
    /// Tasks that ended where they were started.
    ended: VecDeque<Ended>,
    /// What the clock said when the first task since the last one was awaited had been begun in place.
    began: Option<Timestamp>,
    /// It says something else since.
    is_late: bool,
    /// The threads of blocking handlers, of which each holds a receiver: an aborted task leaves its thread behind.
    threads: watch::Sender<()>,
    /// The activation whose answers count, and the token of its tasks. A run has one at a time: the next begins when
    /// all tasks of the one before have ended or are abandoned.
    live: Option<(u64, CancellationToken)>,
}

/// The tasks of an abandoned activation. They were asked to stop.
#[derive(Debug)]
struct Leaving {
    tasks: JoinSet<Ended>,
    /// They are stopped when it is over; none if that is so, or if they may take any time.
    grace: Option<Pin<Box<Sleep>>>,
}

impl Default for Crew {
    fn default() -> Self {
        Crew {
            running: JoinSet::new(),
            leaving: Vec::new(),
            ended: VecDeque::new(),
            began: None,
            is_late: false,
            threads: watch::Sender::new(()),
            live: None,
        }
    }
}

impl Crew {
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
            && self.ended.is_empty()
            && self.leaving.is_empty()
            && self.threads.is_closed()
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

    /// Starts a task; `attempt` is the number of its first attempt. It is begun in place, up to where it waits for
    /// something: most have little to do before that, and many end there. Once the clock has moved on under those that
    /// were, further ones are left to other threads.
    pub(crate) fn start(
        &mut self,
        tasks: &Tasks,
        run: &Str,
        call: StartTask,
        attempt: u32,
        lent: &Arc<Lent>,
    ) {
        let cancel = self.token(call.activation);
        let StartTask { activation, node, id, state, visit, key, task, version, with, input, .. } = call;
        let registered = tasks.find(&task, version.as_deref()).map(Arc::clone);
        let context = TaskContext {
            run: run.clone(),
            state,
            visit,
            node: id,
            task,
            key,
            attempt,
            deadline: None,
            cancel,
            lent: Arc::clone(lent),
        };
        let threads = self.threads.clone();
        let execution = Execution { task: registered, context, with, input, threads };
        let mut work = Work::new(activation, node, execution);
        if !self.is_late {
            // What it waits for is told the right waker when it is polled again, which is at once.
            let polled = Pin::new(&mut work).poll(&mut Context::from_waker(Waker::noop()));
            self.is_late = work.seen().is_none_or(|seen| seen != *self.began.get_or_insert(seen));
            if let Poll::Ready(ended) = polled {
                self.ended.push_back(ended);
                return;
            }
        }
        self.running.spawn(work);
    }

    /// Its answers do not count any more; its tasks are asked to stop, and those that still run after the grace, if
    /// there is one, are stopped at their next await.
    pub(crate) fn abandon(&mut self, activation: u64, grace: Option<Duration>) {
        let Some((_, token)) = self.live.take_if(|(live, _)| *live == activation) else { return };
        token.cancel();
        if !self.running.is_empty() {
            let tasks = std::mem::take(&mut self.running);
            self.leaving.push(Leaving { tasks, grace: grace.map(|grace| Box::pin(sleep(grace))) });
        }
    }

    /// Asks all tasks to stop. What they answer in time still counts.
    pub(crate) fn cancel(&self) {
        if let Some((_, token)) = &self.live {
            token.cancel();
        }
    }

    /// Stops all tasks at their next await. Threads cannot be stopped; their answers are void.
    pub(crate) fn abort(&mut self) {
        self.running.abort_all();
        for leaving in &mut self.leaving {
            leaving.tasks.abort_all();
        }
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
        if let Some(ended) = self.next_at_hand() {
            return Some(ended);
        }
        if let Some(ended) = poll_fn(|cx| self.poll_next(cx)).await {
            return Some(ended);
        }
        self.threads.closed().await;
        None
    }

    /// The next task that ended where it was started.
    pub(crate) fn next_at_hand(&mut self) -> Option<Ended> {
        (self.began, self.is_late) = (None, false);
        self.ended.pop_front()
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Ended>> {
        if let Some(ended) = poll_ended(&mut self.running, cx) {
            return Poll::Ready(Some(ended));
        }
        for Leaving { tasks, grace } in &mut self.leaving {
            if grace.as_mut().is_some_and(|grace| grace.as_mut().poll(cx).is_ready()) {
                *grace = None;
                tasks.abort_all();
            }
            if let Some(ended) = poll_ended(tasks, cx) {
                return Poll::Ready(Some(ended));
            }
        }
        self.leaving.retain(|leaving| !leaving.tasks.is_empty());
        let is_over = self.running.is_empty() && self.leaving.is_empty();
        if is_over { Poll::Ready(None) } else { Poll::Pending }
    }
}

/// The next of these tasks that ended by itself, if one has.
fn poll_ended(tasks: &mut JoinSet<Ended>, cx: &mut Context<'_>) -> Option<Ended> {
    while let Poll::Ready(Some(joined)) = tasks.poll_join_next(cx) {
        // Only an abort is an error here: a panic of the handler is an answer. Nobody waits for an aborted task.
        if let Ok(ended) = joined {
            return Some(ended);
        }
    }
    None
}
