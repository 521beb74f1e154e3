//! The storage in memory: the reference of what every storage answers, and a fast one for tests.
//!
//! It keeps bodies as text, as the others do, so that a value that cannot be stored fails here too.

mod state;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jaren_host::{Clock, SystemClock};
use tokio::sync::watch;

use self::state::State;
use crate::{
    Address, At, Batch, BoxFuture, Claim, Commit, DocumentRecord, DocumentsQuery, FamilyQuery, Integrity,
    Job, JobCounts, JobsQuery, Keep, Outcome, Page, Pruned, Removal, Retry, Seq, SessionId, SessionRecord,
    SessionsQuery, Size, Storage, StorageError, StorageErrorKind, StoredDocument, Upkeep,
};

/// Sessions in memory, gone with the process: durable against nothing, otherwise under the same laws.
pub struct MemoryStorage {
    state: Mutex<State>,
    applied: watch::Sender<()>,
    clock: Arc<dyn Clock>,
}

impl MemoryStorage {
    /// An empty storage with the system's clock.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// An empty storage whose commits carry that clock's time.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { state: Mutex::default(), applied: watch::Sender::new(()), clock }
    }

    /// A panic while the lock is held is not possible between two writes of a batch: applying cannot fail.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStorage").finish_non_exhaustive()
    }
}

impl Storage for MemoryStorage {
    fn apply(&self, group: Vec<Batch>) -> BoxFuture<'_, Result<Vec<Outcome>, StorageError>> {
        Box::pin(async move {
            let time = self.clock.now();
            let mut state = self.state();
            let outcomes = group.iter().map(|batch| state.apply(batch, time)).collect();
            drop(state);
            self.applied.send_replace(());
            Ok(outcomes)
        })
    }

    fn session(&self, session: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StorageError>> {
        Box::pin(async move { Ok(self.state().session(&session)) })
    }

    fn document(
        &self,
        session: SessionId,
        address: Address,
        at: At,
    ) -> BoxFuture<'_, Result<Option<StoredDocument>, StorageError>> {
        Box::pin(async move { self.state().document(&session, &address, at) })
    }

    fn family(&self, query: FamilyQuery) -> BoxFuture<'_, Result<Page<StoredDocument>, StorageError>> {
        Box::pin(async move { self.state().family(&query) })
    }

    fn documents(&self, query: DocumentsQuery) -> BoxFuture<'_, Result<Page<DocumentRecord>, StorageError>> {
        Box::pin(async move { self.state().documents(&query) })
    }

    fn sessions(&self, query: SessionsQuery) -> BoxFuture<'_, Result<Page<SessionRecord>, StorageError>> {
        Box::pin(async move {
            query.check()?;
            Ok(self.state().sessions(&query))
        })
    }

    fn changes(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Commit>, StorageError>> {
        Box::pin(async move { self.state().changes(&session, after, limit) })
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Vec<Job>, StorageError>> {
        Box::pin(async move {
            claim.check()?;
            Ok(self.state().claim(&claim, self.clock.now()))
        })
    }

    fn job(&self, id: Arc<str>) -> BoxFuture<'_, Result<Option<Job>, StorageError>> {
        Box::pin(async move { Ok(self.state().job(&id)) })
    }

    fn jobs(&self, query: JobsQuery) -> BoxFuture<'_, Result<Page<Job>, StorageError>> {
        Box::pin(async move { Ok(self.state().list_jobs(&query)) })
    }

    fn job_counts(&self) -> BoxFuture<'_, Result<Vec<JobCounts>, StorageError>> {
        Box::pin(async move { Ok(self.state().job_counts()) })
    }

    fn moved(&self, session: SessionId, after: Seq) -> BoxFuture<'_, Result<Seq, StorageError>> {
        Box::pin(async move {
            let mut applied = self.applied.subscribe();
            loop {
                applied.mark_unchanged();
                let head = self.state().head(&session).unwrap_or(Seq::ZERO);
                if head != after {
                    return Ok(head);
                }
                // The sender lives in `self`, which this future borrows.
                if applied.changed().await.is_err() {
                    let message = "the storage was dropped";
                    return Err(StorageError::new(
                        StorageErrorKind::Closed,
                        Retry::Never,
                        "wait for a commit",
                        message,
                    ));
                }
            }
        })
    }

    fn upkeep(&self) -> Option<&dyn Upkeep> {
        Some(self)
    }
}

impl Upkeep for MemoryStorage {
    fn integrity(&self) -> BoxFuture<'_, Result<Integrity, StorageError>> {
        Box::pin(async move { Ok(self.state().integrity()) })
    }

    fn size(&self) -> BoxFuture<'_, Result<Size, StorageError>> {
        Box::pin(async move { Ok(self.state().size()) })
    }

    fn prune(&self, session: SessionId, keep: Keep) -> BoxFuture<'_, Result<Pruned, StorageError>> {
        Box::pin(async move { Ok(self.state().prune(&session, keep)) })
    }

    fn remove(&self, session: SessionId, head: Seq) -> BoxFuture<'_, Result<Removal, StorageError>> {
        Box::pin(async move {
            let removal = self.state().remove(&session, head);
            self.applied.send_replace(());
            Ok(removal)
        })
    }
}
