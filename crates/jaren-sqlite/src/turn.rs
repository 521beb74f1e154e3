//! Taking turns between processes, so that a busy writer starves nobody.
//!
//! SQLite's own lock has no queue: whoever commits without pause takes it again before a sleeping waiter looks. Two
//! locks on files beside the store make one: whoever waits for `main` holds `next`, so the present writer, who must
//! pass `next` too, cannot come again before it.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::fault::Fault;

/// How long a writer waits for its turn before it reports that the store is busy.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// How often a waiter looks.
const PAUSE: Duration = Duration::from_micros(200);

/// The two lock files of a store.
#[derive(Debug)]
pub(crate) struct Turn {
    main: File,
    next: File,
}

impl Turn {
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let open = |suffix: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            File::options().create(true).truncate(false).write(true).open(name)
        };
        Ok(Self { main: open("-turn")?, next: open("-next")? })
    }

    /// Waits for this process's turn, and runs the work in it.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        let deadline = Instant::now() + WAIT_MAX;
        lock(&self.next, deadline)?;
        let main = lock(&self.main, deadline);
        release(&self.next);
        main?;
        let result = work();
        release(&self.main);
        result
    }
}

fn lock(file: &File, deadline: Instant) -> Result<(), Fault> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
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

fn release(file: &File) {
    if let Err(error) = file.unlock() {
        tracing::debug!(target: "jaren::sqlite", %error, "the store's turn cannot be released");
    }
}
