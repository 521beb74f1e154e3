//! The one writer of a storage: a thread that applies all waiting batches in one transaction and answers each after
//! the commit is durable.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use jaren_durable::{Batch, Claim, Job, Outcome, Retry, StorageError, StorageErrorKind};
use jaren_host::Clock;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::apply::Memory;
use crate::checkpoint::{self, Checkpoints, PAGES_DUE};
use crate::fault::Fault;
use crate::jobs;
use crate::open::{self, ReaderSource};
use crate::options::SqliteOptions;
use crate::turn::Turn;
use crate::watch::{self, Watch};

/// Requests that wait for the writer; whoever comes later waits to be let in.
const QUEUE_MAX: usize = 1024;
/// Batches of one transaction: enough to share a sync, few enough to let another process have its turn soon.
const GROUP_BATCHES_MAX: usize = 1024;
/// Bytes of bodies after which a transaction takes no further batches.
const GROUP_BYTES_MAX: usize = 32 << 20;

pub(crate) const APPLY: &str = "apply a group of batches";
const OPEN: &str = "open the store for writing";

/// What is asked of the writer.
enum Request {
    Apply(Ask),
    Upkeep(Task),
    Close(oneshot::Sender<()>),
}

/// Something else that only the writer may do; it answers for itself.
type Task = Box<dyn FnOnce(&mut Writer) + Send>;

struct Ask {
    batches: Vec<Batch>,
    answer: oneshot::Sender<Result<Vec<Outcome>, StorageError>>,
}

/// The way to the writer's thread.
#[derive(Debug, Clone)]
pub(crate) struct WriterHandle {
    requests: mpsc::Sender<Request>,
    poison: Arc<OnceLock<Fault>>,
}

impl WriterHandle {
    /// Hands over a group and waits for its outcomes. Once it is in the queue, dropping the future changes nothing.
    pub(crate) async fn apply(&self, batches: Vec<Batch>) -> Result<Vec<Outcome>, StorageError> {
        if let Some(fault) = self.poison.get() {
            return Err(fault.refusal().error(APPLY));
        }
        let (answer, outcome) = oneshot::channel();
        self.requests.send(Request::Apply(Ask { batches, answer })).await.map_err(|_| closed())?;
        outcome.await.unwrap_or_else(|_| {
            let message =
                "the writer ended before it answered; find out by reading whether the group was applied";
            Err(StorageError::new(StorageErrorKind::Io, Retry::Unknown, APPLY, message))
        })
    }

    /// Has the writer do something between two groups.
    pub(crate) async fn upkeep<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&mut Writer) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StorageError> {
        let (answer, outcome) = oneshot::channel();
        let task = Box::new(move |writer: &mut Writer| {
            let _ = answer.send(work(writer)); // the caller may have stopped waiting
        });
        self.requests.send(Request::Upkeep(task)).await.map_err(|_| closed())?;
        let Ok(result) = outcome.await else {
            let message = "the writer ended before it answered";
            return Err(StorageError::new(StorageErrorKind::Io, Retry::Unknown, operation, message));
        };
        result.map_err(|fault| fault.error(operation))
    }

    /// Lets the writer finish what waits, and closes the file.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.requests.send(Request::Close(done)).await.is_ok() {
            // An error means that the writer is gone already, which is what was asked for.
            let _ = closed.await;
        }
    }
}

fn closed() -> StorageError {
    StorageError::new(StorageErrorKind::Closed, Retry::Never, APPLY, "the storage was closed")
}

pub(crate) struct Writer {
    connection: Connection,
    turn: Turn,
    memory: Memory,
    clock: Arc<dyn Clock>,
    data_version: i64,
    poison: Arc<OnceLock<Fault>>,
    watch: Arc<Watch>,
    checkpoints: Arc<Checkpoints>,
    /// Pages in the log after the newest commit.
    pages: Arc<AtomicUsize>,
    /// Pages from which on the next checkpoint is asked for.
    pages_due: usize,
    helpers: Vec<JoinHandle<()>>,
}

/// Opens the file for writing and starts the writer with its helpers.
pub(crate) fn start(
    path: &Path,
    options: SqliteOptions,
    watch: Arc<Watch>,
) -> Result<WriterHandle, StorageError> {
    let durability = options.durability;
    let mut writer = Writer::open(path, options, watch)?;
    let source = ReaderSource::new(path);
    let helpers = [writer.checkpoints.start(path, durability), writer.watch.start(source)];
    for helper in helpers {
        writer.helpers.push(helper.map_err(not_started)?);
    }
    let poison = writer.poison.clone();
    let (requests, queue) = mpsc::channel(QUEUE_MAX);
    let name = "jaren-writer".to_owned();
    std::thread::Builder::new().name(name).spawn(move || writer.run(queue)).map_err(not_started)?;
    Ok(WriterHandle { requests, poison })
}

fn not_started(error: std::io::Error) -> StorageError {
    let message = "the system cannot start a thread, or cannot create a lock file beside the store";
    StorageError::new(StorageErrorKind::Io, Retry::Safe, OPEN, message).with_source(error)
}

impl Writer {
    fn open(path: &Path, options: SqliteOptions, watch: Arc<Watch>) -> Result<Self, StorageError> {
        let failed = |error: rusqlite::Error| Fault::definite(error).error(OPEN);
        let mut connection = open::writer(path, options.durability).map_err(failed)?;
        let pages = Arc::new(AtomicUsize::new(0));
        let seen = pages.clone();
        let hook = move |_: &mut _, pages| {
            seen.store(usize::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(hook)).map_err(failed)?;
        Ok(Self {
            connection,
            turn: Turn::open(path).map_err(not_started)?,
            memory: Memory::default(),
            clock: options.clock,
            data_version: 0,
            poison: Arc::default(),
            watch,
            checkpoints: Arc::default(),
            pages,
            pages_due: PAGES_DUE,
            helpers: Vec::new(),
        })
    }

    fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        let mut closing = None;
        while closing.is_none() {
            let Some(first) = queue.blocking_recv() else { break };
            let (mut group, mut task) = (Vec::new(), None);
            let (mut batches, mut bytes) = (0usize, 0usize);
            let mut next = Some(first);
            while let Some(request) = next {
                match request {
                    Request::Close(done) => closing = Some(done),
                    Request::Upkeep(work) => task = Some(work),
                    Request::Apply(ask) => {
                        batches = batches.saturating_add(ask.batches.len());
                        bytes = ask.batches.iter().map(Batch::body_bytes).fold(bytes, usize::saturating_add);
                        group.push(ask);
                    }
                }
                let full = batches >= GROUP_BATCHES_MAX || bytes >= GROUP_BYTES_MAX;
                let full = full || closing.is_some() || task.is_some();
                next = if full { None } else { queue.try_recv().ok() };
            }
            if !group.is_empty() {
                self.answer(group);
                self.tend_log();
            }
            if let Some(work) = task {
                work(&mut self);
                self.tend_log();
            }
        }
        drop(queue);
        drop(self);
        if let Some(done) = closing {
            // Whoever closed may have stopped waiting.
            let _ = done.send(());
        }
    }

    /// Applies a group in one transaction. If that fails, each request is tried alone, so that none suffers from
    /// another's failure; not if the failure speaks of the whole storage.
    fn answer(&mut self, group: Vec<Ask>) {
        let asks: Vec<&[Batch]> = group.iter().map(|ask| ask.batches.as_slice()).collect();
        match self.transact(&asks) {
            Ok(answers) => {
                for (ask, outcomes) in group.into_iter().zip(answers) {
                    let _ = ask.answer.send(Ok(outcomes)); // the caller may have stopped waiting
                }
            }
            Err(fault)
                if group.len() > 1 && self.poison.get().is_none() && fault.kind != StorageErrorKind::Busy =>
            {
                for ask in group {
                    self.answer(vec![ask]);
                }
            }
            Err(fault) => {
                for ask in group {
                    let _ = ask.answer.send(Err(fault.error(APPLY)));
                }
            }
        }
    }

    fn transact(&mut self, asks: &[&[Batch]]) -> Result<Vec<Vec<Outcome>>, Fault> {
        let clock = self.clock.clone();
        let answers = self.transaction(|connection, memory| {
            let time = clock.now();
            let apply = |batches: &&[Batch]| {
                batches.iter().map(|batch| memory.apply(connection, batch, time)).collect()
            };
            asks.iter().map(apply).collect::<Result<Vec<Vec<Outcome>>, Fault>>()
        })?;
        self.tell(asks, &answers);
        Ok(answers)
    }

    /// Runs something in one transaction, in this process's turn.
    pub(crate) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut Memory) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if let Some(fault) = self.poison.get() {
            return Err(fault.refusal());
        }
        let Self { connection, turn, memory, data_version, .. } = self;
        let result = turn.run(|| {
            begin(connection, memory, data_version)?;
            let answer = work(connection, memory)?;
            connection.prepare_cached("COMMIT")?.execute([]).map_err(Fault::unknown)?;
            Ok(answer)
        });
        if let Err(fault) = &result {
            self.recover(fault);
        }
        result
    }

    /// Leases jobs that are due.
    pub(crate) fn claim(&mut self, claim: &Claim) -> Result<Vec<Job>, Fault> {
        let clock = self.clock.clone();
        self.transaction(|connection, _| jobs::claim(connection, claim, clock.now()))
    }

    /// Gives the space that nothing uses back to the file system: rewrites the whole file, in this process's turn.
    pub(crate) fn compact(&mut self) -> Result<(), Fault> {
        if let Some(fault) = self.poison.get() {
            return Err(fault.refusal());
        }
        let Self { connection, turn, .. } = self;
        let result = turn.run(|| Ok(connection.execute_batch("VACUUM")?));
        checkpoint::checkpoint(connection); // the file shrinks when the log is folded in
        if let Err(fault) = &result {
            self.recover(fault);
        }
        result
    }

    /// Wakes those who wait for sessions that were committed.
    fn tell(&self, asks: &[&[Batch]], answers: &[Vec<Outcome>]) {
        let batches = asks.iter().flat_map(|batches| batches.iter()).zip(answers.iter().flatten());
        let committed = batches.filter(|(_, outcome)| matches!(outcome, Outcome::Committed(_)));
        self.watch.tick(committed.flat_map(|(batch, _)| batch.sessions.iter().map(|part| &part.session)));
    }

    /// Rolls back, forgets what may be wrong, and stops all writing if the disk or the file is not to be trusted.
    fn recover(&mut self, fault: &Fault) {
        self.memory.forget();
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::warn!(target: "jaren::sqlite", %error, "a failed transaction could not be rolled back");
        }
        if fault.distrust || !self.connection.is_autocommit() {
            tracing::error!(target: "jaren::sqlite", kind = ?fault.kind, "the store failed; no further writes");
            let _ = self.poison.set(fault.clone()); // the first failure is the one to tell
        }
    }

    /// Sees to it that the write-ahead log does not grow for ever.
    fn tend_log(&mut self) {
        if self.poison.get().is_some() {
            return;
        }
        if self.checkpoints.take_caught_up() {
            checkpoint::checkpoint(&self.connection);
        }
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < PAGES_DUE {
            self.pages_due = PAGES_DUE; // the log began anew
        } else if pages >= self.pages_due {
            self.pages_due = pages.saturating_add(PAGES_DUE);
            self.checkpoints.request();
        }
    }
}

impl Drop for Writer {
    /// Ends the helpers, so that the writer's connection is the last one of this storage: it folds the log in.
    fn drop(&mut self) {
        self.checkpoints.close();
        self.watch.close();
        for helper in self.helpers.drain(..) {
            if helper.join().is_err() {
                tracing::warn!(target: "jaren::sqlite", "a helper thread panicked");
            }
        }
    }
}

/// Begins a transaction that may write, and forgets what another process has outdated.
fn begin(connection: &Connection, memory: &mut Memory, data_version: &mut i64) -> Result<(), Fault> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let now = watch::data_version(connection)?;
    if now != *data_version {
        memory.forget();
        *data_version = now;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
