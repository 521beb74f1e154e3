//! What became of a batch: committed, in conflict with what was found, or refused for what is wrong with it.

use std::fmt;

use jaren_host::Timestamp;

use crate::{Address, Expected, JobConflict, Seq, SessionId};

/// A commit, told apart from every other one of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommitId {
    /// The [number](crate::SessionRecord::number) of its session.
    pub session: u64,
    /// Its own number there.
    pub seq: Seq,
}

/// What became of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a batch that was not committed changed nothing"]
pub enum Outcome {
    /// It was applied and is durable.
    Committed(Committed),
    /// A session was not as expected; nothing was changed.
    Conflict(Conflict),
    /// A job or a lease was not as expected; nothing was changed.
    JobConflict(JobConflict),
    /// The batch contradicts itself, the limits or the stored documents; nothing was changed.
    Refused(Refusal),
}

/// An applied batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// The new commit of each session, in the batch's order.
    pub commits: Vec<CommitId>,
    /// The storage's time of the commit.
    pub time: Timestamp,
    /// For each job that the batch enqueues, in its order, whether it is new; if not, there was one of that id.
    pub enqueued: Vec<bool>,
}

impl Committed {
    /// What a storage answers for a batch that it applied.
    pub fn new(commits: Vec<CommitId>, time: Timestamp, enqueued: Vec<bool>) -> Self {
        Self { commits, time, enqueued }
    }
}

/// Another writer was first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("session {session} was not as expected: expected {expected}, found {}", Found(*.found))]
pub struct Conflict {
    /// The session.
    pub session: SessionId,
    /// What the batch expected.
    pub expected: Expected,
    /// The head that was found; none if there is no such session, or none of the expected number.
    pub found: Option<Seq>,
}

impl Conflict {
    /// What a storage answers for a batch whose session was not as expected.
    pub fn new(session: SessionId, expected: Expected, found: Option<Seq>) -> Self {
        Self { session, expected, found }
    }
}

struct Found(Option<Seq>);

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("no session"),
            Some(seq) => write!(f, "head {seq}"),
        }
    }
}

/// A batch that can never be applied as it stands: a mistake of whoever planned it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("batch refused{}: {kind}", Place(.session.as_ref(), .address.as_ref()))]
pub struct Refusal {
    /// The session of the refused part, where it has one.
    pub session: Option<SessionId>,
    /// The document of the refused part, where it has one.
    pub address: Option<Address>,
    /// What is wrong.
    pub kind: RefusalKind,
}

impl Refusal {
    /// A refusal of a part of a batch, or of the whole of it.
    pub fn new(session: Option<SessionId>, address: Option<Address>, kind: RefusalKind) -> Self {
        Self { session, address, kind }
    }
}

struct Place<'a>(Option<&'a SessionId>, Option<&'a Address>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(session) = self.0 {
            write!(f, " in session {session}")?;
        }
        if let Some(address) = self.1 {
            write!(f, " at {address}")?;
        }
        Ok(())
    }
}

/// Why a batch was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusalKind {
    /// A session, an address or a label stands twice in it.
    #[error("{0} stands twice in the batch; name each at most once")]
    Repeated(&'static str),
    /// A name is empty, too long or has control characters.
    #[error(transparent)]
    Name(#[from] crate::InvalidName),
    /// Something is beyond its limit (see [`limits`](crate::limits)).
    #[error("{what}: expected at most {max}, found {found}")]
    Limit {
        /// What was measured, with its unit.
        what: &'static str,
        /// The largest that is taken.
        max: usize,
        /// What the batch has.
        found: usize,
    },
    /// A schema version must be 1 or more.
    #[error("schema version 0; versions count from 1")]
    VersionZero,
    /// A delta or a retirement of a document that does not live.
    #[error("no document lives there; create it with a base")]
    Unknown,
    /// A delta whose schema version is not the stored one's.
    #[error("a delta of version {found} over a value of version {stored}; a version change needs a base")]
    Version {
        /// The stored version.
        stored: u32,
        /// The delta's version.
        found: u32,
    },
    /// A base of an older schema version than the stored one's: a program of a later release wrote that.
    #[error("a value of version {found} over one of version {stored}; use the later release that wrote it")]
    Downgrade {
        /// The stored version.
        stored: u32,
        /// The base's version.
        found: u32,
    },
    /// A job that is leased without a lease, or has a lease and is not leased.
    #[error("a job has a lease if and only if it is leased")]
    Lease,
    /// A delta over a document of bulk retention, which is stored whole.
    #[error("a delta of a document of bulk retention; write it whole")]
    Bulk,
    /// A base with another retention than the document was created with.
    #[error("the document was created with another retention, which cannot change")]
    Retention,
    /// The storage does not have what the batch asks for, such as jobs.
    #[error("this storage does not have {0}")]
    Unsupported(&'static str),
}
