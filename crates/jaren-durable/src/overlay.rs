//! A storage over another one, which passes everything on but what it is about.

use std::fmt::Debug;
use std::sync::Arc;

use crate::{
    Address, Answer, At, Batch, Claim, Commit, DocumentRecord, DocumentsQuery, FamilyQuery, Job, JobCounts,
    JobsQuery, Outcome, Page, Seq, SessionId, SessionRecord, SessionsQuery, Storage, StoredDocument, Upkeep,
};

/// A storage over another one: to measure, to trace, to refuse, and in tests to fail.
///
/// Whoever implements it is a [`Storage`]. Every method passes its call on to the storage under it; override those that
/// are to do something else, and [`read`](Self::read) for what is to happen with every read. What a later release adds to
/// the port passes through.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use jaren_durable::{Answer, Batch, MemoryStorage, Outcome, Overlay, Storage};
///
/// /// Counts the groups that are applied.
/// #[derive(Debug)]
/// struct Counting {
///     under: Arc<dyn Storage>,
///     groups: AtomicU64,
/// }
///
/// impl Overlay for Counting {
///     fn under(&self) -> &dyn Storage {
///         &*self.under
///     }
///
///     fn apply(&self, group: Vec<Batch>) -> Answer<'_, Vec<Outcome>> {
///         self.groups.fetch_add(1, Ordering::Relaxed);
///         self.under.apply(group)
///     }
/// }
///
/// let storage: Arc<dyn Storage> =
///     Arc::new(Counting { under: Arc::new(MemoryStorage::new()), groups: AtomicU64::new(0) });
/// ```
pub trait Overlay: Send + Sync + Debug + 'static {
    /// The storage under it.
    fn under(&self) -> &dyn Storage;

    /// What becomes of the answer to a read: of every method but `apply`, `claim` and `moved`.
    fn read<'a, T: Send + 'a>(&'a self, answer: Answer<'a, T>) -> Answer<'a, T> {
        answer
    }

    /// See [`Storage::apply`].
    fn apply(&self, group: Vec<Batch>) -> Answer<'_, Vec<Outcome>> {
        self.under().apply(group)
    }

    /// See [`Storage::document`].
    fn document(&self, session: SessionId, address: Address, at: At) -> Answer<'_, Option<StoredDocument>> {
        self.under().document(session, address, at)
    }

    /// See [`Storage::changes`].
    fn changes(&self, session: SessionId, after: Seq, limit: usize) -> Answer<'_, Vec<Commit>> {
        self.under().changes(session, after, limit)
    }

    /// See [`Storage::moved`].
    fn moved(&self, session: SessionId, after: Seq) -> Answer<'_, Seq> {
        self.under().moved(session, after)
    }

    /// See [`Storage::claim`].
    fn claim(&self, claim: Claim) -> Answer<'_, Vec<Job>> {
        self.under().claim(claim)
    }

    /// See [`Storage::upkeep`]. That of the storage under it, which knows nothing of this one.
    fn upkeep(&self) -> Option<&dyn Upkeep> {
        self.under().upkeep()
    }
}

impl<O: Overlay> Storage for O {
    fn apply(&self, group: Vec<Batch>) -> Answer<'_, Vec<Outcome>> {
        Overlay::apply(self, group)
    }

    fn session(&self, session: SessionId) -> Answer<'_, Option<SessionRecord>> {
        self.read(self.under().session(session))
    }

    fn document(&self, session: SessionId, address: Address, at: At) -> Answer<'_, Option<StoredDocument>> {
        self.read(Overlay::document(self, session, address, at))
    }

    fn family(&self, query: FamilyQuery) -> Answer<'_, Page<StoredDocument>> {
        self.read(self.under().family(query))
    }

    fn documents(&self, query: DocumentsQuery) -> Answer<'_, Page<DocumentRecord>> {
        self.read(self.under().documents(query))
    }

    fn sessions(&self, query: SessionsQuery) -> Answer<'_, Page<SessionRecord>> {
        self.read(self.under().sessions(query))
    }

    fn changes(&self, session: SessionId, after: Seq, limit: usize) -> Answer<'_, Vec<Commit>> {
        self.read(Overlay::changes(self, session, after, limit))
    }

    fn moved(&self, session: SessionId, after: Seq) -> Answer<'_, Seq> {
        Overlay::moved(self, session, after)
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Vec<Job>> {
        Overlay::claim(self, claim)
    }

    fn job(&self, id: Arc<str>) -> Answer<'_, Option<Job>> {
        self.read(self.under().job(id))
    }

    fn jobs(&self, query: JobsQuery) -> Answer<'_, Page<Job>> {
        self.read(self.under().jobs(query))
    }

    fn job_counts(&self) -> Answer<'_, Vec<JobCounts>> {
        self.read(self.under().job_counts())
    }

    fn upkeep(&self) -> Option<&dyn Upkeep> {
        Overlay::upkeep(self)
    }
}
