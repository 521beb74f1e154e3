//! From SQLite's errors to ours: which kind each is, and what may be done about it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{Retry, StorageError, StorageErrorKind};
use rusqlite::ErrorCode;

/// A busy store is asked again after this pause.
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// A failure that several waiting callers get, each as its own error.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) kind: StorageErrorKind,
    pub(crate) retry: Retry,
    /// The disk or the file as a whole is not to be trusted with further writes.
    pub(crate) distrust: bool,
    message: &'static str,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Fault {
    /// A failure before which, or with which, everything was rolled back.
    pub(crate) fn definite(error: rusqlite::Error) -> Self {
        let (kind, retry, message) = classify(&error);
        let code = error.sqlite_error_code();
        let distrust = kind == StorageErrorKind::Io || code == Some(ErrorCode::DatabaseCorrupt);
        Self { kind, retry, distrust, message, source: Some(Arc::new(error)) }
    }

    /// A failure of the commit itself: it may or may not be durable.
    pub(crate) fn unknown(error: rusqlite::Error) -> Self {
        let (kind, _, _) = classify(&error);
        let message = match kind {
            StorageErrorKind::Full => {
                "the disk is full, and a commit broke off; free some space, open the store anew, and read whether it was made"
            }
            _ => "a commit broke off; open the store anew, and read whether it was made",
        };
        Self { kind, retry: Retry::Unknown, distrust: true, message, source: Some(Arc::new(error)) }
    }

    /// Something panicked in a transaction, before its commit or after it.
    pub(crate) fn panicked() -> Self {
        let message = "a transaction was broken off by a panic, such as one of the host's clock or tracing subscriber; mend that, open the store anew, and read whether it was made";
        let (kind, retry) = (StorageErrorKind::Io, Retry::Unknown);
        Self { kind, retry, distrust: true, message, source: None }
    }

    /// Stored data that contradict themselves: whoever needs them fails, nobody else.
    pub(crate) fn corrupt(message: &'static str) -> Self {
        Self { kind: StorageErrorKind::Corrupt, retry: Retry::Never, distrust: false, message, source: None }
    }

    /// The name of the store, or of its log, no longer stands for the file that is open.
    pub(crate) fn replaced() -> Self {
        let message = "the store's files were removed or replaced while they were open; nothing was changed, put them back or open the store anew";
        Self { kind: StorageErrorKind::Missing, retry: Retry::Never, distrust: true, message, source: None }
    }

    /// Somebody else kept the store for too long.
    pub(crate) fn busy(message: &'static str) -> Self {
        Self {
            kind: StorageErrorKind::Busy,
            retry: Retry::AfterDelay(BUSY_PAUSE),
            distrust: false,
            message,
            source: None,
        }
    }

    /// What a storage answers that this failure has stopped: the new request was not even tried.
    pub(crate) fn refusal(&self) -> Self {
        let message = "an earlier failure stopped all writing; nothing was changed, open the store anew";
        let cause: Arc<dyn Error + Send + Sync> = Arc::new(self.error("write to the store"));
        let (kind, retry, source) = (StorageErrorKind::Poisoned, Retry::Never, Some(cause));
        Self { kind, retry, distrust: true, message, source }
    }

    /// The error for one caller.
    pub(crate) fn error(&self, operation: &'static str) -> StorageError {
        let error = StorageError::new(self.kind, self.retry, operation, self.message);
        match &self.source {
            Some(source) => error.with_source(source.clone()),
            None => error,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::definite(error)
    }
}

fn classify(error: &rusqlite::Error) -> (StorageErrorKind, Retry, &'static str) {
    use StorageErrorKind as Kind;
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (Kind::Busy, Retry::AfterDelay(BUSY_PAUSE), "another process keeps the store busy")
        }
        Some(ErrorCode::DiskFull) => {
            (Kind::Full, Retry::Safe, "the disk is full; nothing was changed, free some space and try again")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            Kind::ReadOnly,
            Retry::Never,
            "the store may not be written; check the permissions of the file and its folder",
        ),
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::FileLockingProtocolFailed) => {
            (Kind::Io, Retry::Never, "the operating system failed to read or write the store")
        }
        Some(ErrorCode::NotADatabase) => (Kind::Foreign, Retry::Never, "the file is not a database"),
        _ => (Kind::Corrupt, Retry::Never, "the stored data are not what they should be"),
    }
}
