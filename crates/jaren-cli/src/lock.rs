//! One execution of a run at a time: a lock file for each run, beside the store.
//!
//! The kernel releases the lock when the last process that holds the file open is gone, so nothing has to be cleaned up
//! after a crash. The file stays; it holds the id of the process that locked it last, for the message to others.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::test_kill_process;

use crate::exec::process_id;
use crate::exit::Exit;
use crate::problem::Problem;

/// How long a lock that a dying program's watcher still holds is waited for.
const WATCHER_GONE_WITHIN: Duration = Duration::from_secs(5);
/// How long a lock is waited for while its holder is alive: it may be about to exit.
const HOLDER_GONE_WITHIN: Duration = Duration::from_millis(200);
const POLL: Duration = Duration::from_millis(5);

/// A run's lock, held.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
}

/// What asking for a lock came to.
#[derive(Debug)]
pub(crate) enum Asked {
    /// It is ours.
    Held(RunLock),
    /// Another process executes the run; its id, where it could be read.
    Busy(Option<i32>),
}

impl RunLock {
    /// Asks for the lock of the run whose lock file has this name, in the folder of `store`.
    pub(crate) async fn ask(store: &Path, name: &str) -> Result<Asked, Problem> {
        let path = file_path(store, name);
        let failed = |error: std::io::Error| {
            Problem::new(Exit::Io, format!("lock file {} cannot be used: {error}", path.display()))
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => {
                    note_holder(&mut file).map_err(failed)?;
                    return Ok(Asked::Held(Self { file }));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            let holder = read_holder(&mut file);
            let patience = if holder.is_some_and(is_gone) { WATCHER_GONE_WITHIN } else { HOLDER_GONE_WITHIN };
            if since.elapsed() >= patience {
                return Ok(Asked::Busy(holder));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The locked file, for the watcher that keeps the lock until our commands are gone.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Lets the lock go, even where a watcher still has the file open.
    pub(crate) fn release(self) {
        // A lock that cannot be let go now is let go by the kernel at our exit.
        let _ = self.file.unlock();
    }
}

/// `<store>-locks/<name>.lock`, the same by whatever path the store is named.
fn file_path(store: &Path, name: &str) -> PathBuf {
    let mut folder = std::fs::canonicalize(store).unwrap_or_else(|_| store.to_owned()).into_os_string();
    folder.push("-locks");
    PathBuf::from(folder).join(format!("{name}.lock"))
}

fn note_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

fn read_holder(file: &mut File) -> Option<i32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim_end().parse().ok()
}

fn is_gone(id: i32) -> bool {
    process_id(id).is_none_or(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_second_asker_learns_who_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("jaren.db");
        let link = folder.path().join("link.db");
        std::fs::write(&store, "").unwrap();
        std::os::unix::fs::symlink(&store, &link).unwrap();
        let Asked::Held(first) = RunLock::ask(&store, "abc").await.unwrap() else {
            panic!("the lock is free")
        };
        let Asked::Busy(holder) = RunLock::ask(&link, "abc").await.unwrap() else {
            panic!("the lock is held")
        };
        assert_eq!(holder, i32::try_from(std::process::id()).ok());
        assert!(matches!(RunLock::ask(&store, "other").await.unwrap(), Asked::Held(_)));

        // A duplicate of the file, as the watcher has it, does not keep a lock that was let go.
        let duplicate = first.file().try_clone().unwrap();
        first.release();
        assert!(matches!(RunLock::ask(&store, "abc").await.unwrap(), Asked::Held(_)));
        drop(duplicate);
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("jaren.db-locks"), "a file").unwrap();
        let problem = RunLock::ask(&folder.path().join("jaren.db"), "abc").await.unwrap_err();
        assert_eq!(problem.exit(), Exit::Io);
    }
}
