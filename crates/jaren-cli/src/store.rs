//! Opening a store, and its failures in words.

use std::path::Path;
use std::sync::Arc;

use jaren::durable::{Storage, StorageError, StorageErrorKind};
use jaren::sqlite::{SqliteOptions, SqliteStorage};

use crate::exit::Exit;
use crate::problem::Problem;

/// How a command uses its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It may create the store.
    Create,
    /// The store must be there.
    Write,
    /// The store must be there and is not changed.
    Read,
}

/// Opens a store.
pub(crate) fn open(path: &Path, how: Use) -> Result<Arc<dyn Storage>, Problem> {
    Ok(Arc::new(open_file(path, how)?))
}

/// Opens a store for its owner's upkeep.
pub(crate) fn open_file(path: &Path, how: Use) -> Result<SqliteStorage, Problem> {
    let opened = match how {
        Use::Create => SqliteStorage::open(path),
        Use::Write => SqliteStorage::open_with(path, SqliteOptions::new().existing()),
        Use::Read => SqliteStorage::open_read_only(path),
    };
    match opened {
        Ok(storage) => Ok(storage),
        Err(error) if error.kind() == StorageErrorKind::Missing && how != Use::Create => {
            Err(problem(path, &error).with_help("`jaren run` creates a store; --store names another one"))
        }
        Err(error) => Err(problem(path, &error)),
    }
}

/// A storage's failure as a problem.
pub(crate) fn problem(path: &Path, error: &StorageError) -> Problem {
    let exit = if error.kind() == StorageErrorKind::Missing { Exit::NotFound } else { Exit::Store };
    let mut message = format!("store {}: {error}", path.display());
    let mut source = std::error::Error::source(error);
    let mut said = String::new();
    while let Some(cause) = source {
        let text = cause.to_string();
        // SQLite's errors repeat themselves on their way up.
        if said.is_empty() || !text.contains(&said) {
            message = format!("{message}: {text}");
            said = text;
        }
        source = cause.source();
    }
    let problem = Problem::new(exit, message);
    match error.kind() {
        StorageErrorKind::Foreign => {
            problem.with_help("--store names the file that holds the runs; this one was left as it was")
        }
        StorageErrorKind::Newer => {
            problem.with_help("use the newer release that wrote it; the file was left as it was")
        }
        StorageErrorKind::Full
        | StorageErrorKind::Poisoned
        | StorageErrorKind::Io
        | StorageErrorKind::Busy => problem
            .with_help("what was stored before is safe; when the cause is gone, give the command again"),
        _ => problem,
    }
}
