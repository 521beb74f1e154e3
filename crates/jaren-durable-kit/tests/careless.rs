//! Storages that tell or forget wrongly are caught by the laws of publications, removal and upkeep.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jaren_durable::{
    Answer, Commit, Integrity, Keep, MemoryStorage, Overlay, Pruned, Removal, Seq, SessionId, Size, Storage,
    Upkeep,
};
use jaren_durable_kit::laws::{publications, removal, upkeep};
use jaren_durable_kit::{histories, run};

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
    /// The change log gives every session the same number.
    NumberUntold,
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

impl Overlay for Storing {
    fn under(&self) -> &dyn Storage {
        &self.inner
    }

    fn changes(&self, session: SessionId, after: Seq, limit: usize) -> Answer<'_, Vec<Commit>> {
        Box::pin(async move {
            let told = self.inner.changes(session, after, limit).await;
            match self.how {
                Careless::CommitUntold => told
                    .map(|commits| commits.into_iter().filter(|commit| commit.seq.get() % 7 != 0).collect()),
                Careless::SilentlyAbsent => Ok(told.unwrap_or_default()),
                Careless::NumberUntold => told.map(|mut commits| {
                    for commit in &mut commits {
                        commit.session = 1;
                    }
                    commits
                }),
                _ => told,
            }
        })
    }

    fn upkeep(&self) -> Option<&dyn Upkeep> {
        Some(self)
    }
}

impl Upkeep for Storing {
    fn integrity(&self) -> Answer<'_, Integrity> {
        self.inner.integrity()
    }

    fn size(&self) -> Answer<'_, Size> {
        self.inner.size()
    }

    fn prune(&self, session: SessionId, keep: Keep) -> Answer<'_, Pruned> {
        let keep = match keep {
            Keep::Newest(count) if self.how == Careless::PrunedTooMuch => {
                Keep::Newest(count.saturating_sub(1))
            }
            keep => keep,
        };
        self.inner.prune(session, keep)
    }

    fn remove(&self, session: SessionId, head: Seq) -> Answer<'_, Removal> {
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
    let untold = C::NumberUntold;
    notices(untold, removal::another_session_of_the_name_is_not_the_removed_one(new(untold)));
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
        Careless::NumberUntold,
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
