//! The tasks: each tells that it was called, and ends when the schedule lets it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jaren_engine::{Failure, RetryPolicy, TaskContext, Tasks};
use jaren_flow::{TaskEntry, TaskVersions};
use jaren_json::{Value, value};
use tokio::sync::oneshot;

use crate::board::{Board, Ending, Item, Life, News, Task};
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

/// What a drive lends to its tasks.
#[derive(Clone, Debug)]
pub(crate) struct Lent {
    pub(crate) life: Life,
    pub(crate) run: usize,
    /// Held by whoever may still use it.
    pub(crate) _held: Arc<()>,
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
            added = added.time_limit(LIMIT);
        }
        added.needs::<Lent>();
    }
    tasks.add_value(FAIL, VERSION, handler(board, life, |_, _| Err(Failure::new("boom"))));
    tasks
}

/// The registry of a life that is no stranger, for whoever compiles without handlers.
#[derive(Debug)]
pub(crate) struct Declared;

impl TaskVersions for Declared {
    fn entry(&self, _: &str, _: Option<&str>) -> TaskEntry<'_> {
        TaskEntry::Found
    }

    fn nested(&self, task: &str, _: Option<&str>) -> Box<dyn Iterator<Item = (&str, &str)> + '_> {
        Box::new([("inner", INNER)].into_iter().filter(|_| task != FAIL).collect::<Vec<_>>().into_iter())
    }
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
        let lent = context.resource::<Lent>().ok();
        if lent.as_ref().is_none_or(|lent| (lent.life, lent.run) != (life, task.run)) {
            board.tell(News::Broken(task.run, format!("a task was lent {lent:?} by a drive of {life}")));
        }
        let (tx, rx) = oneshot::channel();
        board.tell(News::Started(life, task.clone()));
        let listens = board.rough() && board.percent(30);
        board.push(life, Item::Task { task, tx });
        async move {
            let stopped = || Failure::new("stopped");
            let ending = tokio::select! {
                biased;
                ended = rx => ended.unwrap_or_else(|_| Ending::Answers(Err(stopped()))),
                () = context.cancel.cancelled(), if listens => Ending::Answers(Err(stopped())),
            };
            drop(lent);
            match ending {
                Ending::Answers(answer) => answer,
                // Without the words that a panic of ours would print.
                Ending::Panics => std::panic::resume_unwind(Box::new("the simulation wants it so")),
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
