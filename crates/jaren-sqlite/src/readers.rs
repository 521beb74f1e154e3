//! Readers: connections that cannot write, kept in a pool and used on blocking threads.

use std::sync::{Arc, Mutex, PoisonError};

use jaren_durable::{Retry, StorageError, StorageErrorKind};
use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task::JoinError;

use crate::fault::Fault;
use crate::open::ReaderSource;
use crate::read::ReadFault;

/// Reads at one time; further ones wait.
const READERS_MAX: usize = 8;

#[derive(Debug)]
pub(crate) struct Readers {
    source: ReaderSource,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(source: ReaderSource) -> Self {
        Self { source, idle: Arc::default(), permits: Arc::new(Semaphore::new(READERS_MAX)) }
    }

    /// Runs a read in one transaction on a blocking thread.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        read: impl FnOnce(&Connection) -> Result<T, ReadFault> + Send + 'static,
    ) -> Result<T, StorageError> {
        let in_transaction = move |connection: &Connection| {
            // Ends when it is dropped: a read transaction has nothing to commit.
            let transaction = connection.unchecked_transaction().map_err(Fault::definite)?;
            read(&transaction)
        };
        self.run(operation, in_transaction).await
    }

    /// Runs something that opens its own transaction on a blocking thread.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, ReadFault> + Send + 'static,
    ) -> Result<T, StorageError> {
        let failed = |kind, retry, message| StorageError::new(kind, retry, operation, message);
        let closed = |_| failed(StorageErrorKind::Closed, Retry::Never, "the storage was closed");
        let permit = self.permits.clone().acquire_owned().await.map_err(closed)?;
        let (idle, permits, source) = (self.idle.clone(), self.permits.clone(), self.source.clone());
        let on_thread = move || {
            let _permit = permit;
            source.check()?;
            let pooled = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match pooled {
                Some(connection) => connection,
                None => source.connect().map_err(Fault::definite)?,
            };
            let result = work(&connection);
            if !permits.is_closed() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            }
            result
        };
        let broken = |error: JoinError| {
            failed(StorageErrorKind::Io, Retry::Safe, "the read was broken off").with_source(error)
        };
        let result = tokio::task::spawn_blocking(on_thread).await.map_err(broken)?;
        result.map_err(|fault| match fault {
            ReadFault::Fault(fault) => fault.error(operation),
            ReadFault::Storage(error) => error,
        })
    }

    /// Refuses further reads and closes the idle connections.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
