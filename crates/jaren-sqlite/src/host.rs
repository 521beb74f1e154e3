//! A batch in a transaction of the host.

use jaren_durable::{Batch, Outcome, Retry, StorageError, StorageErrorKind};
use jaren_host::Timestamp;
use rusqlite::Transaction;

use crate::apply::{Log, Memory};
use crate::{open, schema};

const OPERATION: &str = "apply a batch in the host's transaction";

/// Applies a batch in a transaction that the host began on the store's file, so that the host's own rows, in tables of
/// its own there, are committed together with it or not at all.
///
/// The outcome counts once the host has committed. A conflict, a refusal and an error have written nothing, and the
/// host decides what becomes of its transaction. `time` is the commit's time.
///
/// The durability is that of the host's connection (`PRAGMA synchronous`, by default `FULL` in SQLite), and the host
/// waits for its turn by SQLite's own lock: begin with [`rusqlite::TransactionBehavior::Immediate`] and a busy
/// timeout. Storages that have the file open notice the commit as they do another process's.
pub fn apply_in(
    transaction: &mut Transaction<'_>,
    batch: &Batch,
    time: Timestamp,
) -> Result<Outcome, StorageError> {
    let failed = |fault: crate::fault::Fault| fault.error(OPERATION);
    let found = open::identity(transaction).map_err(|error| failed(error.into()))?;
    if found != (schema::APPLICATION_ID, schema::VERSION) {
        let message =
            "the transaction is not on a store of this release; open the store once to create or upgrade it";
        return Err(StorageError::new(StorageErrorKind::Foreign, Retry::Never, OPERATION, message));
    }
    let savepoint = transaction.savepoint().map_err(|error| failed(error.into()))?;
    // Dropped by an error, it takes back what was written of the batch.
    let outcome = Log::of(&savepoint).and_then(|mut log| Memory::default().apply(&mut log, batch, time));
    let outcome = outcome.map_err(failed)?;
    savepoint.commit().map_err(|error| failed(error.into()))?;
    Ok(outcome)
}
