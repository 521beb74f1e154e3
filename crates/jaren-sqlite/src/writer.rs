//! The one writer of a storage: it applies all waiting batches in one transaction and answers each after the commit is
//! durable. How it is reached stands in [`handle`].

mod handle;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use jaren_durable::{Batch, Claim, Job, Outcome, Retry, StorageError, StorageErrorKind};
use jaren_host::Clock;
use rusqlite::Connection;
use tokio::sync::oneshot;

pub(crate) use self::handle::{WriterHandle, start};

use crate::apply::Memory;
use crate::checkpoint::{self, Checkpoints, PAGES_DUE};
use crate::fault::Fault;
use crate::jobs;
use crate::open::{self, BUSY_TIMEOUT};
use crate::options::SqliteOptions;
use crate::turn::{Patience, Turn};
use crate::watch::{self, Watch};

pub(crate) const APPLY: &str = "apply a group of batches";
const OPEN: &str = "open the store for writing";

/// A group that waits for its outcomes.
struct Ask {
    batches: Vec<Batch>,
    answer: oneshot::Sender<Result<Vec<Outcome>, StorageError>>,
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

    /// Applies a group in one transaction. If that fails, each request is tried alone, so that none suffers from
    /// another's failure; not if the failure speaks of the whole storage.
    fn answer(&mut self, group: Vec<Ask>) {
        let asks: Vec<&[Batch]> = group.iter().map(|ask| ask.batches.as_slice()).collect();
        match self.transact(&asks, Patience::Long) {
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

    fn transact(&mut self, asks: &[&[Batch]], patience: Patience) -> Result<Vec<Vec<Outcome>>, Fault> {
        let clock = self.clock.clone();
        let answers = self.transaction_in_turn(patience, |connection, memory| {
            let time = clock.now();
            let apply = |batches: &&[Batch]| {
                batches.iter().map(|batch| memory.apply(connection, batch, time)).collect()
            };
            asks.iter().map(apply).collect::<Result<Vec<Vec<Outcome>>, Fault>>()
        })?;
        self.tell(asks, &answers);
        Ok(answers)
    }

    /// Applies one group, or answers that the store is busy instead of waiting for another process.
    fn transact_at_once(&mut self, batches: &[Batch]) -> Result<Vec<Outcome>, Fault> {
        self.connection.busy_timeout(Duration::ZERO)?;
        let answers = self.transact(&[batches], Patience::None);
        self.connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(answers?.into_iter().next().unwrap_or_default())
    }

    /// Runs something in one transaction, in this process's turn.
    pub(crate) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut Memory) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.transaction_in_turn(Patience::Long, work)
    }

    fn transaction_in_turn<T>(
        &mut self,
        patience: Patience,
        work: impl FnOnce(&Connection, &mut Memory) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if let Some(fault) = self.poison.get() {
            return Err(fault.refusal());
        }
        let Self { connection, turn, memory, data_version, .. } = self;
        let result = turn.run(patience, || {
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
        let result = turn.run(Patience::Long, || Ok(connection.execute_batch("VACUUM")?));
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

    /// Whether the write-ahead log is to be tended, which may take long.
    fn must_tend_log(&self) -> bool {
        self.checkpoints.has_caught_up() || self.pages.load(Ordering::Relaxed) >= self.pages_due
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
