//! What the owner of a store does beside the programs that use it: check it, measure it, let go of old history.

use std::fmt;
use std::sync::Arc;

use jaren_host::Timestamp;

use crate::{BoxFuture, Retry, Seq, SessionId, SessionsQuery, Storage, StorageError, StorageErrorKind};

/// The operations of a store's owner. A storage that lives elsewhere, or that wraps another, need not have them.
pub trait Upkeep: Storage {
    /// Reads everything that is stored and tells what does not agree. Changes nothing.
    ///
    /// An error means that the check could not be made; a damaged store is a report that is not clean.
    fn integrity(&self) -> BoxFuture<'_, Result<Integrity, StorageError>>;

    /// Counts what is stored, by kind of session. Changes nothing, and reads all of the store.
    fn size(&self) -> BoxFuture<'_, Result<Size, StorageError>>;

    /// Lets go of the history of one session before the commits to keep: their entries of the change log, the
    /// revisions that no kept point needs, the documents that ended before.
    ///
    /// The newest commit, every living document and every point from [`Pruned::oldest`] on stay as they were. What
    /// was pruned is afterwards an error of kind [`NotRetained`](crate::StorageErrorKind::NotRetained), never
    /// silently absent. A dropped future may have pruned a part, which is a pruned session like any other.
    fn prune(&self, session: SessionId, keep: Keep) -> BoxFuture<'_, Result<Pruned, StorageError>>;

    /// Lets go of a whole session, if its head is still that one: nothing of it stays, and its name is free.
    ///
    /// Whoever follows it is told by an error of kind [`NotRetained`](crate::StorageErrorKind::NotRetained), and
    /// every commit over a head that it had is a conflict, unless another session of that name has come to the same
    /// head: remove what nobody writes to. The number of a removed session is never given again. A dropped future
    /// may have pruned a part, or removed it.
    fn remove(&self, session: SessionId, head: Seq) -> BoxFuture<'_, Result<Removal, StorageError>>;
}

/// Which commits of a session to keep, besides the newest, which always stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// The newest so many.
    Newest(u64),
    /// From the first one on whose time is not before this.
    Since(Timestamp),
}

/// What was let go of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Pruned {
    /// The oldest commit that is still kept; [`Seq::ZERO`] if there is no such session.
    pub oldest: Seq,
    /// Commits taken from the change log.
    pub commits: u64,
    /// Bases, deltas and retirements taken from the documents.
    pub revisions: u64,
}

impl Pruned {
    /// What a storage let go of, and the oldest commit that it keeps.
    pub fn new(oldest: Seq, commits: u64, revisions: u64) -> Self {
        Self { oldest, commits, revisions }
    }
}

/// What became of a session that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Removal {
    /// It is gone.
    Removed,
    /// There was none.
    Absent,
    /// Somebody committed to it since: its head is this one. It stays, though some of its history may be pruned.
    Moved(Seq),
}

/// Removes every session of a query whose newest commit was made before that time, and answers how many went.
/// One that is committed to meanwhile stays.
///
/// What it is going to remove, [`Storage::sessions`] lists: the records of that query with an earlier `updated`.
pub async fn remove_all(
    store: &dyn Upkeep,
    mut query: SessionsQuery,
    before: Timestamp,
) -> Result<u64, StorageError> {
    let mut removed = 0u64;
    loop {
        let page = store.sessions(query.clone()).await?;
        query.after = page.items.last().map(|record| record.number);
        for record in page.items.into_iter().filter(|record| record.updated < before) {
            let removal = store.remove(record.id, record.head).await?;
            removed = removed.saturating_add(u64::from(removal == Removal::Removed));
        }
        if !page.more {
            return Ok(removed);
        }
    }
}

/// Prunes every session of a query, page by page, and answers how many commits and revisions went.
pub async fn prune_all(
    store: &dyn Upkeep,
    mut query: SessionsQuery,
    keep: Keep,
) -> Result<Pruned, StorageError> {
    let mut total = Pruned::default();
    loop {
        let page = store.sessions(query.clone()).await?;
        query.after = page.items.last().map(|record| record.number);
        for record in page.items {
            let pruned = store.prune(record.id, keep).await?;
            total.commits = total.commits.saturating_add(pruned.commits);
            total.revisions = total.revisions.saturating_add(pruned.revisions);
        }
        if !page.more {
            return Ok(total);
        }
    }
}

/// The answer of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Integrity {
    /// Sessions that were read.
    pub sessions: u64,
    /// Commits that were read.
    pub commits: u64,
    /// Bases and deltas that were replayed.
    pub revisions: u64,
    /// What does not agree, in the order in which it was found: the first [`Integrity::FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// Further findings that are not listed.
    pub unlisted: u64,
}

impl Integrity {
    /// Findings that a report lists; one damaged page can cause thousands.
    pub const FINDINGS_MAX: usize = 100;

    /// Whether everything agrees.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding.
    pub fn report(&mut self, session: Option<&str>, what: impl Into<String>) {
        if self.findings.len() < Self::FINDINGS_MAX {
            self.findings.push(Finding { session: session.map(Arc::from), what: what.into() });
        } else {
            self.unlisted = self.unlisted.saturating_add(1);
        }
    }
}

/// Something in a store that contradicts the rest of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The session, where it can be told.
    pub session: Option<Arc<str>>,
    /// What is wrong, without values.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.session {
            Some(session) => write!(f, "session {session}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// How much is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Size {
    /// By kind of session, in the order of the kinds.
    pub kinds: Vec<KindSize>,
    /// Jobs, in whatever state.
    pub jobs: u64,
    /// Bytes that the store takes where it lives, all files together; in memory, those of the bodies.
    pub stored_bytes: u64,
    /// Bytes of these that are free for what comes next.
    pub free_bytes: u64,
}

/// How much the sessions of one kind hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindSize {
    /// The kind.
    pub kind: Arc<str>,
    /// Sessions.
    pub sessions: u64,
    /// Commits in their change logs.
    pub commits: u64,
    /// Documents that live.
    pub documents: u64,
    /// Bases, deltas and retirements.
    pub revisions: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
}

impl KindSize {
    /// A kind of which nothing is stored yet.
    pub fn new(kind: Arc<str>) -> Self {
        Self { kind, sessions: 0, commits: 0, documents: 0, revisions: 0, body_bytes: 0 }
    }
}

impl StorageError {
    /// A storage that breaks its law: it is not followed further.
    pub(crate) fn untold(after: Seq) -> Self {
        let message =
            format!("the storage does not tell the commit after {after}, and neither that it was pruned");
        Self::new(StorageErrorKind::Corrupt, Retry::Never, "follow a session", message)
    }

    /// A point of a session's history, or a part of its change log, that was pruned.
    pub fn pruned(oldest: Seq) -> Self {
        let message = format!("the asked commits were pruned; the oldest that is kept is {oldest}");
        Self::new(StorageErrorKind::NotRetained, Retry::Never, "read history", message)
    }

    /// A commit that a session should have, and has not, because it was removed.
    pub fn removed(after: Seq) -> Self {
        let message = format!("no commit of the session is number {after}: it was removed");
        Self::new(StorageErrorKind::NotRetained, Retry::Never, "read history", message)
    }
}
