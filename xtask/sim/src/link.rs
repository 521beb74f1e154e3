//! A process's way to the store: everything waits for the schedule, and nothing passes after a crash.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jaren_durable::{
    Address, At, Batch, CommitId, Committed, Expected, MemoryStorage, Outcome, Overlay, Retry, Seq,
    SessionId, Storage, StorageError, StorageErrorKind, StoredDocument,
};
use jaren_durable_kit::faults::Fault;
use jaren_host::Timestamp;
use jaren_json::{Object, Value};
use tokio::sync::oneshot;

use crate::board::{Answer, Board, Item, Life};
use crate::tasks::{INNER, INNER_OTHER};

/// A guard of the engine, taken away by changing what the store tells it. Each must be condemned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Control {
    /// Whatever a batch expects of the store, it is as expected.
    NoExpectedGeneration,
    /// A batch is acknowledged when it is sent, and applied later.
    EarlyAcknowledgement,
    /// A saved run always seems to be of these tasks' versions.
    NoIdentityCheck,
    /// Whoever resumes work derives another input than it was admitted with, as if a release had changed what queries
    /// make.
    OtherInput,
}

impl Control {
    pub(crate) const ALL: [Control; 4] = [
        Control::NoExpectedGeneration,
        Control::EarlyAcknowledgement,
        Control::NoIdentityCheck,
        Control::OtherInput,
    ];
}

/// Counts the commits of all processes, and knows which of them fails.
#[derive(Debug, Default)]
pub(crate) struct Script {
    commits: AtomicUsize,
    pub(crate) fault: Option<(usize, Fault)>,
}

impl Script {
    pub(crate) fn commits(&self) -> usize {
        self.commits.load(Ordering::Relaxed)
    }

    /// The fault of the next commit.
    pub(crate) fn next(&self) -> Option<Fault> {
        let number = self.commits.fetch_add(1, Ordering::Relaxed) + 1;
        self.fault.filter(|(at, _)| *at == number).map(|(_, fault)| fault)
    }
}

/// The storage that one engine is given.
#[derive(Debug)]
pub(crate) struct Link {
    memory: Arc<MemoryStorage>,
    board: Arc<Board>,
    life: Life,
    control: Option<Control>,
    dead: AtomicBool,
    /// Acknowledged already, but not applied.
    behind: Mutex<Vec<Vec<Batch>>>,
}

pub(crate) fn failed(retry: Retry) -> StorageError {
    StorageError::new(StorageErrorKind::Io, retry, "apply a group", "the simulation wants it so")
}

impl Link {
    pub(crate) fn new(
        memory: Arc<MemoryStorage>,
        board: Arc<Board>,
        life: Life,
        control: Option<Control>,
    ) -> Arc<Self> {
        let (dead, behind) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Link { memory, board, life, control, dead, behind })
    }

    /// The process is gone: nothing that it does reaches the store any more.
    pub(crate) fn cut(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// What was acknowledged too early, oldest first.
    pub(crate) fn take_behind(&self) -> Option<Vec<Batch>> {
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        if behind.is_empty() { None } else { Some(behind.remove(0)) }
    }

    async fn send(&self, group: Vec<Batch>) -> Answer {
        if self.is_dead() {
            return Err(failed(Retry::Never));
        }
        if self.control == Some(Control::EarlyAcknowledgement) {
            let answer = group.iter().map(acknowledged).collect();
            self.behind.lock().unwrap_or_else(PoisonError::into_inner).push(group);
            return Ok(answer);
        }
        let group = match self.control {
            Some(Control::NoExpectedGeneration) => self.unconditional(group).await,
            _ => group,
        };
        let (tx, rx) = oneshot::channel();
        self.board.push(self.life, Item::Apply { group, tx });
        rx.await.unwrap_or_else(|_| Err(failed(Retry::Never)))
    }

    async fn unconditional(&self, mut group: Vec<Batch>) -> Vec<Batch> {
        for part in group.iter_mut().flat_map(|batch| &mut batch.sessions) {
            if let Ok(Some(record)) = self.memory.session(part.session.clone()).await {
                part.expected = Expected::Head(record.head);
            }
        }
        group
    }

    async fn reading<T>(&self, answer: Reading<'_, T>) -> Result<T, StorageError> {
        if self.board.rough() {
            if self.board.percent(8) {
                let (tx, rx) = oneshot::channel();
                self.board.push(self.life, Item::Read { tx });
                if rx.await.is_err() {
                    return Err(failed(Retry::Never));
                }
            }
            if self.board.faulty() && self.board.percent(1) {
                return Err(failed(Retry::Safe));
            }
        }
        if self.is_dead() { Err(failed(Retry::Never)) } else { answer.await }
    }

    async fn disguised(
        &self,
        session: SessionId,
        address: Address,
        at: At,
    ) -> Result<Option<StoredDocument>, StorageError> {
        let mut found = self.memory.document(session, address, at).await?;
        if let Some(stored) = &mut found {
            match self.control {
                Some(Control::NoIdentityCheck) => {
                    stored.value = adapted(&stored.value, crate::tasks::inner_of(self.life));
                }
                Some(Control::OtherInput) => stored.value = with_other_input(&stored.value),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The answer to a batch that was not applied.
fn acknowledged(batch: &Batch) -> Outcome {
    let next = |expected: &Expected| match expected {
        Expected::Absent { .. } => Seq::new(1),
        Expected::Head(head) => head.next(),
    };
    // The number of a session that is created is the first one's: that is true where there is one run.
    let commits = batch
        .sessions
        .iter()
        .map(|part| CommitId { session: part.number.unwrap_or(1), seq: next(&part.expected) });
    Outcome::Committed(Committed::new(commits.collect(), Timestamp::from_millis(0), Vec::new()))
}

/// The value with the version of the inner task that the reader has.
fn adapted(value: &Value, inner: &str) -> Value {
    match value {
        Value::String(text) if [INNER, INNER_OTHER].contains(&text.as_str()) => Value::from(inner),
        Value::Array(items) => items.iter().map(|item| adapted(item, inner)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, member)| (name, adapted(member, inner)));
            Value::Object(members.collect::<Object>())
        }
        other => other.clone(),
    }
}

/// A stored snapshot of pending work from whose context another input follows; anything else as it is.
fn with_other_input(value: &Value) -> Value {
    let pending = value.get("pending").is_some_and(|pending| !pending.is_null());
    let (Some(snapshot), Some(context)) =
        (value.as_object(), value.get("context").and_then(Value::as_object).filter(|_| pending))
    else {
        return value.clone();
    };
    Value::Object(snapshot.with("context", Value::Object(context.with("data", "another"))))
}

type Reading<'a, T> = jaren_durable::Answer<'a, T>;

impl Overlay for Link {
    fn under(&self) -> &dyn Storage {
        &*self.memory
    }

    fn apply(&self, group: Vec<Batch>) -> Reading<'_, Vec<Outcome>> {
        Box::pin(self.send(group))
    }

    fn read<'a, T: Send + 'a>(&'a self, answer: Reading<'a, T>) -> Reading<'a, T> {
        Box::pin(self.reading(answer))
    }

    fn document(&self, session: SessionId, address: Address, at: At) -> Reading<'_, Option<StoredDocument>> {
        Box::pin(self.disguised(session, address, at))
    }

    fn moved(&self, session: SessionId, after: Seq) -> Reading<'_, Seq> {
        // The memory storage wakes its watchers in an order of tokio's own chance.
        Box::pin(async move {
            loop {
                let record = self.memory.session(session.clone()).await?;
                let head = record.map_or(Seq::ZERO, |record| record.head);
                if head != after {
                    return Ok(head);
                }
                if self.board.watch().await.is_err() {
                    return Err(failed(Retry::Never));
                }
            }
        })
    }
}
