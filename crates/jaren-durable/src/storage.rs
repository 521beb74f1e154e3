//! The port: what a storage does, and the laws that each method keeps.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::{
    Address, At, Batch, Claim, Commit, DocumentRecord, DocumentsQuery, FamilyQuery, Job, JobCounts,
    JobsQuery, Outcome, Page, Seq, SessionId, SessionRecord, SessionsQuery, StorageError, StoredDocument,
    Upkeep,
};

/// A boxed future, as a trait object's method returns it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a storage's method returns.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StorageError>>;

/// What becomes a shared storage: one that nobody else has, or one that is shared already.
pub trait IntoStorage {
    /// The shared storage.
    fn into_storage(self) -> Arc<dyn Storage>;
}

impl<S: Storage> IntoStorage for S {
    fn into_storage(self) -> Arc<dyn Storage> {
        Arc::new(self)
    }
}

impl<S: Storage> IntoStorage for Arc<S> {
    fn into_storage(self) -> Arc<dyn Storage> {
        self
    }
}

impl IntoStorage for Arc<dyn Storage> {
    fn into_storage(self) -> Arc<dyn Storage> {
        self
    }
}

/// Where sessions are kept. Used as `Arc<dyn Storage>`.
///
/// Dropping a future of `apply` leaves each batch wholly applied or not applied at all; whoever dropped it must
/// treat the outcome as unknown and read. A dropped `claim` may have leased some jobs. All other methods change nothing.
///
/// Each read sees one state of the store: the one after some commit, and never an older one than the last commit
/// that was answered before the read began.
///
/// **Required** is what sessions need. What a storage may go without has a default, which says so: jobs, by errors of kind
/// [`Unsupported`](crate::StorageErrorKind::Unsupported) (and by refusing batches that name jobs or leases, with
/// [`RefusalKind::Unsupported`](crate::RefusalKind::Unsupported)), and [`upkeep`](Self::upkeep), by none. **A method that a
/// later release adds** comes with such a default, too, so it breaks no storage; a storage that wraps another is an
/// [`Overlay`](crate::Overlay), which passes it on without being written again.
pub trait Storage: Send + Sync + Debug + 'static {
    /// Applies independent batches and answers each, in their order, once its outcome is durable.
    ///
    /// Within a group a batch sees those before it. All conditions of a batch are checked before it writes (its own
    /// form, the heads, the leases, the jobs, the documents; the first that fails is answered), so an
    /// [`Outcome::Conflict`], [`Outcome::JobConflict`] or [`Outcome::Refused`] changed nothing, and fails no other batch.
    ///
    /// An error speaks of the whole group: with [`Retry::Unknown`](crate::Retry::Unknown) any of the batches may
    /// have been applied, otherwise none was.
    fn apply(&self, group: Vec<Batch>) -> Answer<'_, Vec<Outcome>>;

    /// The record of a session; none if it has no commit.
    fn session(&self, session: SessionId) -> Answer<'_, Option<SessionRecord>>;

    /// One document at a point; none if the session or a document there and then does not exist.
    ///
    /// Reading a document of current or bulk retention as of a commit before its newest revision is an error of kind
    /// [`NotRetained`](crate::StorageErrorKind::NotRetained), as is a point that was [pruned](crate::Upkeep::prune).
    fn document(&self, session: SessionId, address: Address, at: At) -> Answer<'_, Option<StoredDocument>>;

    /// The living members of a family at a point, in the byte order of their keys or against it.
    fn family(&self, query: FamilyQuery) -> Answer<'_, Page<StoredDocument>>;

    /// The living documents of one scope or of all at a point, of all kinds: those of a scope in the order of their
    /// addresses, the scopes in an order of the storage's own.
    fn documents(&self, query: DocumentsQuery) -> Answer<'_, Page<DocumentRecord>>;

    /// The sessions of a kind, and with a label, in the order of their creation.
    fn sessions(&self, query: SessionsQuery) -> Answer<'_, Page<SessionRecord>>;

    /// The commits of a session after `after`, oldest first: its change log.
    ///
    /// At most `limit` of them, all of one session; the next page is asked for after the last one's `seq`. An absent
    /// session has none after [`Seq::ZERO`]. An `after` whose successor was [pruned](crate::Upkeep::prune), or that no
    /// commit of the session has (it was [removed](crate::Upkeep::remove)), is an error of kind
    /// [`NotRetained`](crate::StorageErrorKind::NotRetained), never a gap.
    fn changes(&self, session: SessionId, after: Seq, limit: usize) -> Answer<'_, Vec<Commit>>;

    /// Waits until the session's head is not `after`, whoever commits, and answers the head.
    ///
    /// Answers at once if it already is beyond; or before it, which only a session is that was
    /// [removed](crate::Upkeep::remove). An absent session has the head [`Seq::ZERO`]. Commits of this process are
    /// seen immediately, those of another one within a fraction of a second. Dropping the future is harmless.
    fn moved(&self, session: SessionId, after: Seq) -> Answer<'_, Seq>;

    /// Leases jobs that are due, each under one of the tokens, and answers them in the order of the claim.
    ///
    /// No job is answered to two claims while its lease holds. A dropped future may have leased some, which come
    /// back when their leases end.
    fn claim(&self, _claim: Claim) -> Answer<'_, Vec<Job>> {
        unsupported("claim jobs")
    }

    /// The row of a job.
    fn job(&self, _id: Arc<str>) -> Answer<'_, Option<Job>> {
        unsupported("read a job")
    }

    /// The rows of jobs, by their ids.
    fn jobs(&self, _query: JobsQuery) -> Answer<'_, Page<Job>> {
        unsupported("list jobs")
    }

    /// How many jobs of each kind are in each state, in the order of the kinds. It may read all rows of jobs.
    fn job_counts(&self) -> Answer<'_, Vec<JobCounts>> {
        unsupported("count jobs")
    }

    /// What the owner of the store may do with it, if this storage can do that: so whoever holds an `Arc<dyn Storage>` can
    /// check, measure and prune it.
    fn upkeep(&self) -> Option<&dyn Upkeep> {
        None
    }
}

fn unsupported<'a, T: Send + 'a>(operation: &'static str) -> Answer<'a, T> {
    Box::pin(async move { Err(StorageError::unsupported(operation)) })
}
