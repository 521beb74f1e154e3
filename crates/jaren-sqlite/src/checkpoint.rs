//! Moving the write-ahead log into the main file, off the commit path.
//!
//! A thread of its own runs passive checkpoints while the writer goes on. When one has caught up, the writer runs a
//! last short one between two groups, so that its next commit starts the log from the beginning. The log is
//! recycled, never truncated.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use crate::open;
use crate::options::Durability;

/// Pages in the log from which on a checkpoint is due: some 4 MB.
///
/// Twice as many gain a busy writer about 3 % of its rate, and make its slowest commits a quarter slower, which are those
/// that the last short checkpoint holds up. As long as the log grows, each sync has to write the file's new length, too,
/// which costs a commit that is alone half as much again; it grows until it begins anew for the first time.
pub(crate) const PAGES_DUE: usize = 2000;

/// The part that the writer sees.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    state: Mutex<State>,
    wake: Condvar,
    caught_up: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    due: bool,
    closing: bool,
}

impl Checkpoints {
    /// Starts the thread.
    pub(crate) fn start(
        self: &Arc<Self>,
        path: &Path,
        durability: Durability,
    ) -> std::io::Result<JoinHandle<()>> {
        let (this, path) = (self.clone(), path.to_owned());
        std::thread::Builder::new().name("jaren-checkpoint".to_owned()).spawn(move || {
            match open::writer(&path, durability) {
                Ok(connection) => this.run(&connection),
                Err(error) => {
                    tracing::warn!(target: "jaren::sqlite", %error, "no checkpoints: the log will grow");
                }
            }
        })
    }

    fn run(&self, connection: &Connection) {
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            while !state.due && !state.closing {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.closing {
                return;
            }
            state.due = false;
            drop(state);
            if checkpoint(connection) {
                self.caught_up.store(true, Ordering::Release);
            }
        }
    }

    /// Asks for a checkpoint; returns at once.
    pub(crate) fn request(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).due = true;
        self.wake.notify_one();
    }

    /// Whether the thread finished one that nobody has taken note of.
    pub(crate) fn has_caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }

    /// Whether the thread finished one since the last call, so that a short one makes the log start anew.
    pub(crate) fn take_caught_up(&self) -> bool {
        self.caught_up.swap(false, Ordering::Acquire)
    }

    /// Ends the thread.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closing = true;
        self.wake.notify_one();
    }
}

/// Whether it worked. A failure is not the commits' business: the log stays as it is, and the next request tries again.
pub(crate) fn checkpoint(connection: &Connection) -> bool {
    let done = connection.wal_checkpoint_v2(Some(rusqlite::MAIN_DB), CheckpointMode::PASSIVE);
    if let Err(error) = &done {
        tracing::debug!(target: "jaren::sqlite", %error, "a checkpoint was put off");
    }
    done.is_ok()
}
