//! What is under way, in all processes: store operations and tasks that wait for the schedule to let them end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jaren_durable::{Batch, Outcome, StorageError};
use jaren_engine::{EngineError, Failure, Rebound, Sent, Status};
use jaren_json::Value;
use tokio::sync::oneshot::{Receiver, Sender, channel};

use crate::dice::Dice;
use crate::document::Edition;

/// What the store answers to a group.
pub(crate) type Answer = Result<Vec<Outcome>, StorageError>;

/// One engine of one process from its start to its crash.
pub(crate) type Life = usize;

/// Something that the schedule lets end.
#[derive(Debug)]
pub(crate) enum Item {
    /// A group on its way to the store.
    Apply { group: Vec<Batch>, tx: Sender<Answer> },
    /// The store's answer on its way back.
    Reply { answer: Answer, tx: Sender<Answer> },
    /// A read.
    Read { tx: Sender<()> },
    /// A task.
    Task { task: Task, tx: Sender<Ending> },
}

/// How a handler ends.
#[derive(Debug)]
pub(crate) enum Ending {
    Answers(Result<Value, Failure>),
    Panics,
}

/// A task that was started.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) run: usize,
    pub(crate) state: String,
    pub(crate) visit: u64,
    pub(crate) node: String,
    pub(crate) answer: Result<Value, Failure>,
}

/// What a future of a process reports.
#[derive(Debug)]
pub(crate) enum News {
    /// A handler was called.
    Started(Life, Task),
    /// A drive was told that this generation of this run is durable.
    Told(usize, u64),
    /// A drive ended; none when it was dropped. `last`: its handle is gone with it.
    Driven { life: Life, run: usize, ended: Option<Result<Status, EngineError>>, last: bool },
    /// A send ended.
    Sent { run: usize, id: String, ended: Result<Sent, EngineError> },
    /// A start with another input ended.
    Probed(Life, usize, Result<(), EngineError>),
    /// A rebinding ended; `actor` is its alone.
    Rebound { run: usize, actor: String, edition: Edition, over: bool, ended: Result<Rebound, EngineError> },
    /// What only who was there can know: a law of this run is broken.
    Broken(usize, String),
}

#[derive(Debug)]
struct Inner {
    pending: Vec<(Life, Item)>,
    news: Vec<News>,
    watchers: Vec<Sender<()>>,
    dice: Dice,
}

/// Shared by the schedule and all that it lets end. One thread uses it; the lock is for the types only.
#[derive(Debug)]
pub(crate) struct Board {
    inner: Mutex<Inner>,
    /// Things take their time.
    rough: AtomicBool,
    /// Reads may fail.
    faulty: AtomicBool,
}

impl Board {
    pub(crate) fn new(dice: Dice, rough: bool, faulty: bool) -> Arc<Self> {
        let inner = Inner { pending: Vec::new(), news: Vec::new(), watchers: Vec::new(), dice };
        Arc::new(Board {
            inner: Mutex::new(inner),
            rough: AtomicBool::new(rough),
            faulty: AtomicBool::new(faulty),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn faulty(&self) -> bool {
        self.faulty.load(Ordering::Relaxed)
    }

    pub(crate) fn rough(&self) -> bool {
        self.rough.load(Ordering::Relaxed)
    }

    /// From now on everything goes well.
    pub(crate) fn calm(&self) {
        self.rough.store(false, Ordering::Relaxed);
        self.faulty.store(false, Ordering::Relaxed);
    }

    pub(crate) fn percent(&self, percent: usize) -> bool {
        self.inner().dice.percent(percent)
    }

    pub(crate) fn push(&self, life: Life, item: Item) {
        self.inner().pending.push((life, item));
    }

    pub(crate) fn tell(&self, news: News) {
        self.inner().news.push(news);
    }

    /// Ends when something was applied to the store.
    pub(crate) fn watch(&self) -> Receiver<()> {
        let (tx, rx) = channel();
        self.inner().watchers.push(tx);
        rx
    }

    /// Something was applied to the store: whoever watches it is woken, in the order in which they came.
    pub(crate) fn wake(&self) {
        let watchers = std::mem::take(&mut self.inner().watchers);
        for watcher in watchers {
            let _ = watcher.send(());
        }
    }

    pub(crate) fn take_news(&self) -> Vec<News> {
        std::mem::take(&mut self.inner().news)
    }

    /// How many items somebody still waits for.
    pub(crate) fn pending(&self) -> usize {
        let mut inner = self.inner();
        inner.pending.retain(|(_, item)| !match item {
            Item::Apply { tx, .. } | Item::Reply { tx, .. } => tx.is_closed(),
            Item::Read { tx } => tx.is_closed(),
            Item::Task { tx, .. } => tx.is_closed(),
        });
        inner.pending.len()
    }

    /// Takes one of the pending items.
    pub(crate) fn take(&self, index: usize) -> Option<(Life, Item)> {
        let mut inner = self.inner();
        (index < inner.pending.len()).then(|| inner.pending.remove(index))
    }

    /// Takes all items of a life that ended.
    pub(crate) fn take_all(&self, life: Life) -> Vec<Item> {
        let mut inner = self.inner();
        let all = std::mem::take(&mut inner.pending);
        let (gone, kept) = all.into_iter().partition(|(of, _)| *of == life);
        inner.pending = kept;
        let gone: Vec<(Life, Item)> = gone;
        gone.into_iter().map(|(_, item)| item).collect()
    }
}
