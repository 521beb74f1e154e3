//! Storages that tell or forget wrongly are caught by the laws of publications, removal and upkeep.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jaren_durable::{
    Address, At, Batch, BoxFuture, Claim, Commit, DocumentRecord, DocumentsQuery, FamilyQuery, Integrity,
    Job, JobCounts, JobsQuery, Keep, MemoryStorage, Outcome, Page, Pruned, Removal, Seq, SessionId,
    SessionRecord, SessionsQuery, Size, Storage, StorageError, StoredDocument, Upkeep,
};
use jaren_durable_kit::laws::{publications, removal, upkeep};
use jaren_durable_kit::{forward_to, histories, run};

/// What is done wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Careless {
    /// The change log leaves out every seventh commit.
    CommitUntold,
    /// A session is removed whatever its head is.
    HeadNotCompared,
    /// A removed session is there all the same.
    NothingRemoved,
    /// Pruning keeps one commit less than it was told to.
    PrunedTooMuch,
    /// A removed or pruned session has no history, but nobody is told.
    SilentlyAbsent,
    /// Nothing.
    Nothing,
}

#[derive(Debug)]
struct Storing {
    inner: MemoryStorage,
    how: Careless,
}

impl Storing {
    fn new(how: Careless) -> Arc<Self> {
        Arc::new(Self { inner: MemoryStorage::new(), how })
    }
}

impl Storage for Storing {
    fn apply(&self, group: Vec<Batch>) -> BoxFuture<'_, Result<Vec<Outcome>, StorageError>> {
        self.inner.apply(group)
    }

    fn changes(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Commit>, StorageError>> {
        Box::pin(async move {
            let told = self.inner.changes(session, after, limit).await;
            match self.how {
                Careless::CommitUntold => told
                    .map(|commits| commits.into_iter().filter(|commit| commit.seq.get() % 7 != 0).collect()),
                Careless::SilentlyAbsent => Ok(told.unwrap_or_default()),
                _ => told,
            }
        })
    }

    forward_to! { @each inner;
        session(session: SessionId) -> Option<SessionRecord>;
        document(session: SessionId, address: Address, at: At) -> Option<StoredDocument>;
        family(query: FamilyQuery) -> Page<StoredDocument>;
        documents(query: DocumentsQuery) -> Page<DocumentRecord>;
        sessions(query: SessionsQuery) -> Page<SessionRecord>;
        claim(claim: Claim) -> Vec<Job>;
        job(id: Arc<str>) -> Option<Job>;
        jobs(query: JobsQuery) -> Page<Job>;
        job_counts() -> Vec<JobCounts>;
        moved(session: SessionId, after: Seq) -> Seq;
    }
}

impl Upkeep for Storing {
    fn integrity(&self) -> BoxFuture<'_, Result<Integrity, StorageError>> {
        self.inner.integrity()
    }

    fn size(&self) -> BoxFuture<'_, Result<Size, StorageError>> {
        self.inner.size()
    }

    fn prune(&self, session: SessionId, keep: Keep) -> BoxFuture<'_, Result<Pruned, StorageError>> {
        let keep = match keep {
            Keep::Newest(count) if self.how == Careless::PrunedTooMuch => {
                Keep::Newest(count.saturating_sub(1))
            }
            keep => keep,
        };
        self.inner.prune(session, keep)
    }

    fn remove(&self, session: SessionId, head: Seq) -> BoxFuture<'_, Result<Removal, StorageError>> {
        Box::pin(async move {
            let found = self.inner.session(session.clone()).await?.map(|record| record.head);
            match (self.how, found) {
                (Careless::HeadNotCompared, Some(found)) => self.inner.remove(session, found).await,
                (Careless::NothingRemoved, Some(found)) if found == head => Ok(Removal::Removed),
                _ => self.inner.remove(session, head).await,
            }
        })
    }
}

fn notices(how: Careless, law: impl Future<Output = ()>) {
    let caught = catch_unwind(AssertUnwindSafe(|| run(law))).is_err();
    assert!(caught, "the law does not notice {how:?}");
}

#[test]
fn careless_storages_are_caught_by_the_laws() {
    use Careless as C;
    let new = Storing::new;
    notices(
        C::CommitUntold,
        publications::a_publication_has_whole_values_and_what_led_to_them(new(C::CommitUntold)),
    );
    let head = C::HeadNotCompared;
    notices(head, removal::a_session_that_moved_stays(new(head)));
    let stays = C::NothingRemoved;
    notices(stays, removal::a_removed_session_is_gone_and_leaves_no_trace_in_others(new(stays)));
    notices(stays, removal::sessions_are_removed_by_age(new(stays)));
    notices(C::PrunedTooMuch, upkeep::pruning_keeps_what_it_promises(new(C::PrunedTooMuch)));
    let silent = C::SilentlyAbsent;
    notices(silent, removal::whoever_knew_a_removed_session_is_told(new(silent)));
    notices(silent, upkeep::a_handle_that_missed_what_was_pruned_begins_anew(new(silent)));
}

#[test]
fn careless_storages_are_caught_by_generated_histories() {
    for how in [
        Careless::CommitUntold,
        Careless::HeadNotCompared,
        Careless::NothingRemoved,
        Careless::PrunedTooMuch,
        Careless::SilentlyAbsent,
    ] {
        let caught = (0..20).any(|seed| {
            let storage: Arc<dyn Upkeep> = Storing::new(how);
            let compared = histories::compare_upkeep(seed, 60, || storage.clone());
            catch_unwind(AssertUnwindSafe(|| run(compared))).is_err()
        });
        assert!(caught, "no history notices {how:?}");
    }
}

/// The wrapper itself does nothing wrong: otherwise it would prove nothing.
#[test]
fn the_wrapper_that_is_not_careless_passes() {
    run(removal::whoever_knew_a_removed_session_is_told(Storing::new(Careless::Nothing)));
    run(upkeep::pruning_keeps_what_it_promises(Storing::new(Careless::Nothing)));
    let storage: Arc<dyn Upkeep> = Storing::new(Careless::Nothing);
    run(histories::compare_upkeep(1, 60, || storage.clone()));
}
