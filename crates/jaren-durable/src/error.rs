//! What goes wrong with a storage, and whether trying again is right.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::{Address, BodyError};

/// Whether the same operation may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// It would fail again.
    Never,
    /// Nothing was changed; trying again is harmless.
    Safe,
    /// Nothing was changed; the storage is busy and asks for this pause.
    AfterDelay(Duration),
    /// It may or may not have happened: read before deciding.
    Unknown,
}

/// The sort of a [`StorageError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StorageErrorKind {
    /// The request makes no sense: a cursor of another query, a label without a kind.
    Invalid,
    /// The storage does not have what is asked for: jobs, or what a later release of the port added.
    Unsupported,
    /// The asked revision is no longer kept.
    NotRetained,
    /// The stored data contradict themselves.
    Corrupt,
    /// There is no such store, and none was to be created.
    Missing,
    /// The place holds something that is not a store of ours.
    Foreign,
    /// The store was written by a later release.
    Newer,
    /// The store may only be read, by permission or because it was opened so.
    ReadOnly,
    /// Another process holds the store for too long.
    Busy,
    /// The disk is full; what was in flight was rolled back.
    Full,
    /// The operating system failed to read or write.
    Io,
    /// An earlier failure stopped all writing; the storage must be opened anew.
    Poisoned,
    /// The storage was closed.
    Closed,
}

/// A failed storage operation: its kind, whether to retry, what was attempted, and the cause. One word wide.
pub struct StorageError(Box<Inner>);

struct Inner {
    kind: StorageErrorKind,
    retry: Retry,
    operation: &'static str,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StorageError {
    /// A failure of `operation` (an infinitive such as `"apply a group"`), with a message that names no values.
    pub fn new(
        kind: StorageErrorKind,
        retry: Retry,
        operation: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self(Box::new(Inner { kind, retry, operation, message: message.into(), source: None }))
    }

    /// A revision that is no longer kept.
    pub fn not_retained(address: &Address) -> Self {
        let message = format!("{address} keeps only its newest revision, which is after the asked commit");
        Self::new(StorageErrorKind::NotRetained, Retry::Never, "read a document", message)
    }

    /// A stored body that cannot be read.
    pub fn corrupt(address: &Address, error: BodyError) -> Self {
        let message = format!("the stored revisions of {address} cannot be replayed");
        Self::new(StorageErrorKind::Corrupt, Retry::Never, "read a document", message).with_source(error)
    }

    /// An operation that the storage does not have.
    pub fn unsupported(operation: &'static str) -> Self {
        Self::new(StorageErrorKind::Unsupported, Retry::Never, operation, "this storage does not have that")
    }

    /// The same with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The sort of failure.
    pub fn kind(&self) -> StorageErrorKind {
        self.0.kind
    }

    /// Whether the operation may be tried again.
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// What was attempted.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// What went wrong, without the operation and the cause.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}: {}", self.0.operation, self.0.message)
    }
}

impl fmt::Debug for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageError")
            .field("kind", &self.0.kind)
            .field("retry", &self.0.retry)
            .field("operation", &self.0.operation)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish()
    }
}

impl Error for StorageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
