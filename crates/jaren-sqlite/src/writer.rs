//! The one writer of a storage: it applies all waiting batches in one transaction and answers each after the commit is
//! durable. How it is reached stands in [`handle`].

mod handle;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use jaren_durable::{Batch, Claim, Job, Outcome, Retry, SessionId, StorageError, StorageErrorKind};
use jaren_host::Clock;
use rusqlite::Connection;
use tokio::sync::oneshot;

use self::handle::closed;
pub(crate) use self::handle::{WriterHandle, start};

use crate::apply::{Log, Memory};
use crate::checkpoint::{self, Checkpoints, PAGES_DUE};
use crate::fault::Fault;
use crate::jobs;
use crate::open::{self, BUSY_TIMEOUT};
use crate::options::SqliteOptions;
use crate::turn::{Patience, Turn};
use crate::watch::{self, Watch};

pub(crate) const APPLY: &str = "apply a group of batches";
pub(crate) const CLAIM: &str = "claim jobs";
const OPEN: &str = "open the store for writing";

/// Something that waits for its answer, and shares its transaction with what waits beside it.
enum Ask {
    /// `bytes` are those of the bodies.
    Apply {
        batches: Vec<Batch>,
        bytes: usize,
        answer: oneshot::Sender<Applied>,
    },
    Claim {
        claim: Claim,
        answer: oneshot::Sender<Result<Vec<Job>, StorageError>>,
    },
}

/// The answer to a group, which comes back with it: who asked frees it, on a thread of its own. The writer is what all
/// wait for.
type Applied = (Result<Vec<Outcome>, StorageError>, Vec<Batch>);

/// What is asked.
enum Asked<'a> {
    Apply(&'a [Batch]),
    Claim(&'a Claim),
}

enum Answer {
    Outcomes(Vec<Outcome>),
    Jobs(Vec<Job>),
}

impl Ask {
    fn asked(&self) -> Asked<'_> {
        match self {
            Self::Apply { batches, .. } => Asked::Apply(batches),
            Self::Claim { claim, .. } => Asked::Claim(claim),
        }
    }

    /// The batches, a claim being one, and the bytes of their bodies.
    fn size(&self) -> (usize, usize) {
        match self {
            Self::Apply { batches, bytes, .. } => (batches.len(), *bytes),
            Self::Claim { .. } => (1, 0),
        }
    }

    /// Answers that nothing was tried, as the storage was closed before.
    fn refuse(self) {
        match self {
            Self::Apply { batches, answer, .. } => drop(answer.send((Err(closed(APPLY)), batches))),
            Self::Claim { answer, .. } => drop(answer.send(Err(closed(CLAIM)))),
        }
    }

    /// Answers who asked, who may have stopped waiting.
    fn answer(self, result: Result<Answer, &Fault>) {
        match (self, result) {
            (Self::Apply { batches, answer, .. }, Ok(Answer::Outcomes(outcomes))) => {
                drop(answer.send((Ok(outcomes), batches)));
            }
            (Self::Claim { answer, .. }, Ok(Answer::Jobs(jobs))) => drop(answer.send(Ok(jobs))),
            (Self::Apply { batches, answer, .. }, Err(fault)) => {
                drop(answer.send((Err(fault.error(APPLY)), batches)));
            }
            (Self::Claim { answer, .. }, Err(fault)) => drop(answer.send(Err(fault.error(CLAIM)))),
            (_, Ok(_)) => {} // never: what is answered is of the kind of what was asked; dropping it tells an error
        }
    }
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

    /// Does what a group asks in one transaction. If that fails, each request is tried alone, so that none suffers from
    /// another's failure; not if the failure speaks of the whole storage.
    fn answer(&mut self, group: Vec<Ask>) {
        let asked: Vec<Asked<'_>> = group.iter().map(Ask::asked).collect();
        match self.transact(&asked, Patience::Long) {
            Ok(answers) => {
                self.tell(&asked, &answers);
                for (ask, answer) in group.into_iter().zip(answers) {
                    ask.answer(Ok(answer));
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
                    ask.answer(Err(&fault));
                }
            }
        }
    }

    fn transact(&mut self, asked: &[Asked<'_>], patience: Patience) -> Result<Vec<Answer>, Fault> {
        let clock = self.clock.clone();
        self.transaction_in_turn(patience, |connection, memory| {
            let time = clock.now(); // in its turn: commits have the order of their times, and leases hold until then
            let mut log = Log::of(connection)?;
            let answer = |asked: &Asked<'_>| match asked {
                Asked::Apply(batches) => {
                    let outcomes = batches.iter().map(|batch| memory.apply(&mut log, batch, time));
                    outcomes.collect::<Result<_, Fault>>().map(Answer::Outcomes)
                }
                Asked::Claim(claim) => jobs::claim(connection, claim, time).map(Answer::Jobs),
            };
            asked.iter().map(answer).collect::<Result<Vec<Answer>, Fault>>()
        })
    }

    /// Applies one group, or answers that the store is busy instead of waiting for another process. Nobody is told of
    /// it yet.
    fn transact_at_once(&mut self, batches: &[Batch]) -> Result<Vec<Outcome>, Fault> {
        self.connection.busy_timeout(Duration::ZERO)?;
        let answers = self.transact(&[Asked::Apply(batches)], Patience::None);
        if let Err(error) = self.connection.busy_timeout(BUSY_TIMEOUT) {
            // What was committed stays so; the next one to wait for another process is told that the store is busy.
            tracing::warn!(target: "jaren::sqlite", %error, "the store's patience could not be set");
        }
        match answers?.pop() {
            Some(Answer::Outcomes(outcomes)) => Ok(outcomes),
            _ => Ok(Vec::new()), // never: one answer for what was asked
        }
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
        let mut begun = false;
        let result = catch(|| {
            turn.run(patience, || {
                connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
                begun = true;
                forget_outdated(connection, memory, data_version)?;
                let answer = work(connection, memory)?;
                connection.prepare_cached("COMMIT")?.execute([]).map_err(Fault::unknown)?;
                Ok(answer)
            })
        });
        match &result {
            Err(fault) if begun || fault.distrust => self.recover(fault),
            _ => {} // what never began, as the store is busy, leaves nothing to mend
        }
        result
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
    fn tell(&self, asked: &[Asked<'_>], answers: &[Answer]) {
        let groups = asked.iter().zip(answers).map(|pair| match pair {
            (Asked::Apply(batches), Answer::Outcomes(outcomes)) => committed(batches, outcomes),
            _ => committed(&[], &[]),
        });
        self.watch.tick(groups.flatten());
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
            let _ = self.poison.set(fault.clone()); // the first failure is the one to tell
            tracing::error!(target: "jaren::sqlite", kind = ?fault.kind, "the store failed; no further writes");
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

/// Makes a panic a failure that stops all writing, since a transaction calls the host: its clock, its tracing subscriber.
/// The caller recovers from it, so that nothing is left half done: the thread may be one that has to live on.
fn catch<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Fault::panicked()))
}

/// The sessions whose commits were made.
fn committed<'a>(batches: &'a [Batch], outcomes: &'a [Outcome]) -> impl Iterator<Item = &'a SessionId> {
    let committed =
        batches.iter().zip(outcomes).filter(|(_, outcome)| matches!(outcome, Outcome::Committed(_)));
    committed.flat_map(|(batch, _)| batch.sessions.iter().map(|part| &part.session))
}

/// Forgets what another process has outdated. In a transaction that may write.
fn forget_outdated(
    connection: &Connection,
    memory: &mut Memory,
    data_version: &mut i64,
) -> Result<(), Fault> {
    let now = watch::data_version(connection)?;
    if now != *data_version {
        memory.forget();
        *data_version = now;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
