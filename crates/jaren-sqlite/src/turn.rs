//! Taking turns between processes, so that a busy writer starves nobody.
//!
//! SQLite's own lock has no queue: whoever commits without pause takes it again before a sleeping waiter looks. Two
//! locks on files beside the store make one: whoever waits for `main` holds `next`, so the present writer, who must
//! pass `next` too, cannot come again before it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::place::{self, Identity};

/// How long a writer waits for its turn before it reports that the store is busy.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// How often a waiter looks.
const PAUSE: Duration = Duration::from_micros(200);

/// Whether a turn is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It is had at once, or the store is busy.
    None,
    /// As long as is decent.
    Long,
}

/// The two lock files of a store.
#[derive(Debug)]
pub(crate) struct Turn {
    main: File,
    next: File,
    store: Open,
}

/// The files that are written in a turn, which must still have their names: what is written to a file without a name is
/// lost.
#[derive(Debug)]
struct Open {
    path: PathBuf,
    identity: Option<Identity>,
    log: PathBuf,
    /// Known after the first turn, in which SQLite opens the log. It is there as long as the store is open.
    log_identity: OnceLock<Identity>,
}

impl Turn {
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let (main, next) = (place::open_beside(path, "-turn")?, place::open_beside(path, "-next")?);
        Ok(Self { main, next, store: Open::new(path) })
    }

    /// Waits for this process's turn, and runs the work in it.
    pub(crate) fn run<T>(
        &self,
        patience: Patience,
        work: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let deadline = (patience == Patience::Long).then(|| Instant::now() + WAIT_MAX);
        let next = Held::lock(&self.next, deadline)?;
        let main = Held::lock(&self.main, deadline);
        drop(next);
        let _main = main?;
        let result = self.store.check().and_then(|()| work());
        self.store.note_log();
        result
    }
}

/// A lock that is held until this is dropped, by a panic too.
struct Held<'a>(&'a File);

impl<'a> Held<'a> {
    fn lock(file: &'a File, deadline: Option<Instant>) -> Result<Self, Fault> {
        lock(file, deadline).map(|()| Self(file))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::debug!(target: "jaren::sqlite", %error, "the store's turn cannot be released");
        }
    }
}

impl Open {
    fn new(path: &Path) -> Self {
        let (identity, log) = (Identity::of(path), place::beside(path, "-wal"));
        Self { path: path.to_owned(), identity, log, log_identity: OnceLock::new() }
    }

    fn check(&self) -> Result<(), Fault> {
        let replaced = |path: &Path, opened: Option<&Identity>| Identity::of(path).as_ref() != opened;
        let log = self.log_identity.get();
        if replaced(&self.path, self.identity.as_ref()) || (log.is_some() && replaced(&self.log, log)) {
            return Err(Fault::replaced());
        }
        Ok(())
    }

    fn note_log(&self) {
        if self.log_identity.get().is_none()
            && let Some(found) = Identity::of(&self.log)
        {
            let _ = self.log_identity.set(found); // nobody else sets it: turns are taken one by one
        }
    }
}

fn lock(file: &File, deadline: Option<Instant>) -> Result<(), Fault> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if deadline.is_some_and(|deadline| Instant::now() < deadline) => {
                std::thread::sleep(PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Fault::busy("another process holds the store's turn for too long"));
            }
            // A file system without locks: SQLite's own lock still keeps the order, only not the fairness.
            Err(TryLockError::Error(error)) => {
                tracing::debug!(target: "jaren::sqlite", %error, "the store's turn cannot be locked");
                return Ok(());
            }
        }
    }
}
