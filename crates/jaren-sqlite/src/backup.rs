//! A copy of a store that is in use: one state of it, in a file of its own.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use jaren_durable::{Retry, StorageError, StorageErrorKind};
use rusqlite::Connection;

use crate::fault::Fault;
use crate::open;
use crate::place;
use crate::read::ReadFault;

pub(crate) const BACKUP: &str = "back up the store";

/// Writes the copy under another name, syncs it, and gives it its name when it is whole. On a reader's connection,
/// outside a transaction.
pub(crate) fn write(connection: &Connection, target: &Path) -> Result<(), ReadFault> {
    let io = |error| ReadFault::from(unwritable(target, error));
    if fs::symlink_metadata(target).is_ok() {
        let message = format!("{} exists; name a file that does not", target.display());
        return Err(StorageError::new(StorageErrorKind::Invalid, Retry::Never, BACKUP, message).into());
    }
    let partial = place::beside(target, ".partial");
    // What a broken-off backup left, its log above all: it would be taken for this copy's.
    for suffix in ["", "-wal", "-shm"] {
        match fs::remove_file(place::beside(&partial, suffix)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
    }
    let result = copy(connection, &partial).and_then(|()| {
        File::open(&partial).and_then(|file| file.sync_all()).map_err(io)?;
        fs::rename(&partial, target).map_err(io)?;
        sync_folder(target).map_err(io)
    });
    if result.is_err() {
        // The failure is what is told; a rest is removed by the next backup to this name.
        let _ = fs::remove_file(&partial);
    }
    result
}

fn copy(connection: &Connection, partial: &Path) -> Result<(), ReadFault> {
    let Some(name) = partial.to_str() else {
        let message = "the name of the copy is not valid Unicode";
        return Err(StorageError::new(StorageErrorKind::Invalid, Retry::Never, BACKUP, message).into());
    };
    let source = connection.path().map_or(partial, Path::new);
    place::create_like(partial, source).map_err(|error| ReadFault::from(unwritable(partial, error)))?;
    connection.execute("VACUUM INTO ?1", [name])?;
    let copied = Connection::open(partial)?;
    open::switch_to_log(&copied)?;
    copied.close().map_err(|(_, error)| Fault::definite(error))?;
    Ok(())
}

#[cfg(unix)]
fn sync_folder(target: &Path) -> std::io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn unwritable(target: &Path, error: std::io::Error) -> StorageError {
    let message = format!("{} cannot be written", target.display());
    StorageError::new(StorageErrorKind::Io, Retry::Safe, BACKUP, message).with_source(error)
}
