//! What goes wrong with a session's handle.

use crate::{
    Address, BodyError, Conflict, JobConflict, JobExpected, Refusal, Retry, StorageError, StorageErrorKind,
};

/// A failed read through a handle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A commit's outcome was lost: the view may be outdated.
    #[error("the outcome of an earlier commit of this handle is unknown; refresh it before going on")]
    Unsettled,
    /// Somebody changed a document of current retention after this handle's view, before the handle had read it.
    #[error("the session has moved on beyond this handle; refresh it before reading")]
    Outdated(#[source] StorageError),
    /// The session was removed since this handle's view.
    #[error("the session was removed")]
    Removed,
    /// The stored value has a later schema version than the program knows, or an older one without a migration
    /// (durable A45).
    #[error("{address} has schema version {stored}, and this program reads version {supported}{}", advice(*.stored, *.supported))]
    Version {
        /// The document.
        address: Box<Address>,
        /// The stored version.
        stored: u32,
        /// The version of the definition that was given.
        supported: u32,
    },
    /// The definition's migration failed; what is stored stays as it is.
    #[error("{address} cannot be migrated from schema version {stored} to {supported}")]
    Migration {
        /// The document.
        address: Box<Address>,
        /// The stored version.
        stored: u32,
        /// The version of the definition that was given.
        supported: u32,
        /// What the migration says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl SessionError {
    /// Whether the same may be tried again; after [`Unsettled`](Self::Unsettled) and [`Outdated`](Self::Outdated) once the
    /// handle is [refreshed](crate::Session::refresh).
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unsettled => Retry::Unknown,
            Self::Outdated(_) => Retry::Safe,
            Self::Removed | Self::Version { .. } | Self::Migration { .. } => Retry::Never,
            Self::Storage(error) => error.retry(),
        }
    }

    /// What went wrong, without the cause.
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// The document that it is about.
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Version { address, .. } | Self::Migration { address, .. } => Some(address),
            Self::Unsettled | Self::Outdated(_) | Self::Removed | Self::Storage(_) => None,
        }
    }
}

fn advice(stored: u32, supported: u32) -> &'static str {
    if stored > supported { "; use the later release that wrote it" } else { "; it needs a migration" }
}

/// A commit that was not made, or of which that is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Somebody else committed since the view that the change was planned over; nothing was changed.
    #[error(transparent)]
    Conflict(Conflict),
    /// A job that the change writes, or a lease that it is under, was not as expected; nothing was changed.
    #[error(transparent)]
    Job(Box<JobConflict>),
    /// The change breaks a limit or a rule; nothing was changed.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// A value has no stored form; nothing was changed.
    #[error("the value for {address} cannot be stored")]
    Value {
        /// The document.
        address: Box<Address>,
        /// Why.
        #[source]
        source: BodyError,
    },
    /// The change sets a document in the scope of a task that has ended (durable A37); nothing was changed.
    #[error("task {0} is terminal, and its scope has ended with it")]
    Ended(u64),
    /// The handle could not be read; nothing was changed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The storage failed; its [`retry`](StorageError::retry) tells whether the commit may have happened.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl CommitError {
    /// Whether the same may be tried again; after a [`Conflict`](Self::Conflict) as a new change over the
    /// [refreshed](crate::Session::refresh) handle, after that of a [`Job`](Self::Job) over its newest version.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Conflict(_) => Retry::Safe,
            Self::Job(conflict) => match conflict.expected {
                JobExpected::Lease(_) => Retry::Never,
                JobExpected::Version(_) => Retry::Safe,
            },
            Self::Refused(_) | Self::Value { .. } | Self::Ended(_) => Retry::Never,
            Self::Session(error) => error.retry(),
            Self::Storage(error) => error.retry(),
        }
    }

    /// What went wrong, without the cause.
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// The document that it is about.
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Value { address, .. } => Some(address),
            Self::Refused(refusal) => refusal.address.as_ref(),
            Self::Session(error) => error.address(),
            Self::Conflict(_) | Self::Job(_) | Self::Ended(_) | Self::Storage(_) => None,
        }
    }
}

/// A failed read at the handle's head.
pub(super) fn reading(error: StorageError) -> SessionError {
    match error.kind() {
        StorageErrorKind::NotRetained => SessionError::Outdated(error),
        _ => SessionError::Storage(error),
    }
}
