//! The tasks: each tells that it was called, and ends when the schedule lets it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jaren_engine::{Failure, RetryPolicy, TaskContext, Tasks};
use jaren_json::{Value, value};
use tokio::sync::oneshot;

use crate::board::{Board, Item, Life, News, Task};
use crate::document::{FAIL, KEEP, MIX, VERSION, mix};

/// The version of the task inside `mix` with which all runs begin.
pub(crate) const INNER: &str = "inner/1";
/// That of a deployment which must not touch them.
pub(crate) const INNER_OTHER: &str = "inner/2";

/// The time limit of a task, where it has one.
const LIMIT: Duration = Duration::from_millis(300);
/// The pauses before retries.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Lives with this bit have the other inner task.
const OTHER_LIFE: Life = 1 << 40;

/// The number of a life with the other inner task.
pub(crate) fn other(life: Life) -> Life {
    life | OTHER_LIFE
}

pub(crate) fn is_other(life: Life) -> bool {
    life & OTHER_LIFE != 0
}

/// The version of the inner task in that life.
pub(crate) fn inner_of(life: Life) -> &'static str {
    if is_other(life) { INNER_OTHER } else { INNER }
}

/// How a life runs its tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Care {
    /// How often a task that failed is tried again.
    pub(crate) retries: u32,
    /// Each attempt has a time limit.
    pub(crate) limited: bool,
}

/// The most retries of a task.
pub(crate) const RETRIES_MAX: u32 = 2;

/// The tasks of one life.
pub(crate) fn tasks(board: &Arc<Board>, life: Life, care: Care) -> Tasks {
    let mut tasks = Tasks::new();
    let answer = move |with: &Value, input: &Value| {
        let answer = mix(with, input);
        // What another inner task answers is something else.
        Ok(if is_other(life) { mix(&value!("other"), &answer) } else { answer })
    };
    let nested = BTreeMap::from([("inner".to_owned(), inner_of(life).to_owned())]);
    for name in [MIX, KEEP] {
        let mut added = tasks.add_nested(name, VERSION, nested.clone(), handler(board, life, answer));
        if care.retries > 0 {
            added = added.retry(RetryPolicy::times(care.retries).with_backoff(PAUSE, PAUSE_MAX));
        }
        if care.limited && name == MIX {
            added.time_limit(LIMIT);
        }
    }
    tasks.add_value(FAIL, VERSION, handler(board, life, |_, _| Err(Failure::new("boom"))));
    tasks
}

type Ended = Result<Value, Failure>;

fn handler<A>(board: &Arc<Board>, life: Life, answer: A) -> impl jaren_engine::Handler + use<A>
where
    A: Fn(&Value, &Value) -> Ended + Send + Sync + 'static,
{
    let board = Arc::clone(board);
    move |context: TaskContext, with: Value, input: Value| {
        let task = Task {
            run: run_number(&context.run),
            state: context.state.to_string(),
            visit: context.visit,
            node: context.node.to_string(),
            answer: answer(&with, &input),
        };
        let (tx, rx) = oneshot::channel();
        board.tell(News::Started(life, task.clone()));
        let listens = board.rough() && board.percent(30);
        board.push(life, Item::Task { task, tx });
        async move {
            let stopped = || Failure::new("stopped");
            tokio::select! {
                biased;
                ended = rx => ended.unwrap_or_else(|_| Err(stopped())),
                () = context.cancel.cancelled(), if listens => Err(stopped()),
            }
        }
    }
}

/// The name of the run of that number.
pub(crate) fn run_name(run: usize) -> String {
    format!("run-{run}")
}

/// The number of the run of that name.
pub(crate) fn run_number(name: &str) -> usize {
    name.strip_prefix("run-").and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
}
