//! Storages that break a law are caught by it: what the laws would not notice, they would not protect.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use jaren_durable::{
    Answer, Batch, Expected, JobExpected, JobWrite, MemoryStorage, Outcome, Overlay, Storage, StorageError,
    Write,
};
use jaren_durable_kit::laws::{conditions, documents, handles, jobs, listings, publications};
use jaren_durable_kit::{histories, run};

/// How a storage is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Break {
    /// The head that a batch expects is not compared.
    HeadNotChecked,
    /// A batch of several sessions is applied session by session.
    HalfApplied,
    /// The third delta is not written.
    DeltaLost,
    /// A group is answered first and written with the next one.
    AnsweredBeforeWritten,
    /// A refused batch refuses the whole group.
    GroupSharesFate,
    /// A lease's token is not compared.
    LeaseNotChecked,
    /// Jobs are written though the documents beside them are in conflict.
    JobsApart,
    /// Label changes are not written.
    LabelsLost,
    /// The number of the session that a batch means is not compared.
    NumberNotCompared,
    /// Nothing is broken.
    Nothing,
}

#[derive(Debug)]
struct Broken {
    inner: MemoryStorage,
    /// Answers what the storage should, before it is written.
    ahead: MemoryStorage,
    how: Break,
    state: Mutex<(u32, Vec<Batch>)>,
}

impl Broken {
    fn storage(how: Break) -> Arc<dyn Storage> {
        let (inner, ahead) = (MemoryStorage::new(), MemoryStorage::new());
        Arc::new(Self { inner, ahead, how, state: Mutex::default() })
    }

    async fn head_of(&self, batch: &mut Batch) -> Result<(), StorageError> {
        for part in &mut batch.sessions {
            if let Some(record) = self.inner.session(part.session.clone()).await? {
                part.number = None;
                part.expected = Expected::Head(record.head);
            }
        }
        Ok(())
    }

    async fn hold_leases(&self, batch: &mut Batch) -> Result<(), StorageError> {
        batch.leases.clear();
        for write in &mut batch.jobs {
            if let JobWrite::Update { id, expected, .. } | JobWrite::Remove { id, expected } = write
                && let Some(job) = self.inner.job(id.clone()).await?
            {
                *expected = JobExpected::Version(job.version);
            }
        }
        Ok(())
    }

    fn lose_deltas(&self, batch: &mut Batch) {
        let mut state = self.state.lock().unwrap();
        for part in &mut batch.sessions {
            part.writes.retain(|write| {
                state.0 += u32::from(matches!(write, Write::Delta { .. }));
                !(matches!(write, Write::Delta { .. }) && state.0 == 3)
            });
        }
    }

    async fn one(&self, mut batch: Batch) -> Result<Outcome, StorageError> {
        match self.how {
            Break::HeadNotChecked => self.head_of(&mut batch).await?,
            Break::NumberNotCompared => batch.sessions.iter_mut().for_each(|part| part.number = None),
            Break::LeaseNotChecked => self.hold_leases(&mut batch).await?,
            Break::DeltaLost => self.lose_deltas(&mut batch),
            Break::LabelsLost => batch.sessions.iter_mut().for_each(|part| part.labels.clear()),
            Break::HalfApplied if batch.sessions.len() > 1 => {
                let first = Batch::one(batch.sessions.remove(0));
                let _ = self.inner.apply(vec![first]).await?;
            }
            Break::JobsApart if !batch.sessions.is_empty() => {
                let mut apart = Batch::new();
                apart.jobs = std::mem::take(&mut batch.jobs);
                let _ = self.inner.apply(vec![apart]).await?;
            }
            _ => {}
        }
        self.inner.apply(vec![batch]).await.map(|mut outcomes| outcomes.remove(0))
    }
}

impl Overlay for Broken {
    fn under(&self) -> &dyn Storage {
        &self.inner
    }

    fn apply(&self, group: Vec<Batch>) -> Answer<'_, Vec<Outcome>> {
        Box::pin(async move {
            if self.how == Break::AnsweredBeforeWritten {
                let late = std::mem::replace(&mut self.state.lock().unwrap().1, group.clone());
                self.inner.apply(late).await?;
                return self.ahead.apply(group).await;
            }
            if self.how == Break::GroupSharesFate {
                let refused = group.iter().find_map(|batch| batch.check().err());
                if let Some(refusal) = refused {
                    return Ok(group.iter().map(|_| Outcome::Refused(refusal.clone())).collect());
                }
            }
            let mut outcomes = Vec::new();
            for batch in group {
                outcomes.push(self.one(batch).await?);
            }
            Ok(outcomes)
        })
    }
}

fn is_caught(law: impl Future<Output = ()>) -> bool {
    catch_unwind(AssertUnwindSafe(|| run(law))).is_err()
}

/// Whether a law, or generated histories, notice.
fn notices(how: Break, law: impl Future<Output = ()>) {
    assert!(is_caught(law), "the law does not notice {how:?}");
}

#[test]
fn broken_storages_are_caught_by_the_laws() {
    use Break as B;
    let broken = Broken::storage;
    let head = B::HeadNotChecked;
    notices(head, conditions::a_stale_head_is_a_conflict_that_changes_nothing(broken(head)));
    let number = B::NumberNotCompared;
    notices(number, conditions::a_batch_may_name_the_session_that_it_means(broken(number)));
    notices(B::HalfApplied, conditions::two_sessions_change_together_or_not_at_all(broken(B::HalfApplied)));
    notices(B::DeltaLost, documents::revisions_replay_to_the_value(broken(B::DeltaLost)));
    let early = B::AnsweredBeforeWritten;
    notices(early, conditions::a_session_is_created_once(broken(early)));
    notices(early, handles::a_handle_settles_every_fault(broken(early)));
    notices(
        B::LeaseNotChecked,
        jobs::a_lease_holds_until_it_ends_or_is_given_back(broken(B::LeaseNotChecked)),
    );
    notices(
        B::LeaseNotChecked,
        jobs::leases_and_versions_are_conditions_of_a_batch(broken(B::LeaseNotChecked)),
    );
    notices(B::JobsApart, jobs::jobs_are_enqueued_once_and_with_their_batch(broken(B::JobsApart)));
    notices(B::LabelsLost, listings::sessions_page_by_kind_and_label(broken(B::LabelsLost)));
}

#[test]
fn broken_storages_are_caught_by_generated_histories() {
    for how in [
        Break::HeadNotChecked,
        Break::NumberNotCompared,
        Break::HalfApplied,
        Break::DeltaLost,
        Break::AnsweredBeforeWritten,
        Break::GroupSharesFate,
        Break::JobsApart,
        Break::LabelsLost,
    ] {
        let caught = (0..20).any(|seed| {
            let storage = Broken::storage(how);
            is_caught(histories::compare(seed, 60, || storage.clone()))
        });
        assert!(caught, "no history notices {how:?}");
    }
}

/// The wrapper itself breaks nothing: otherwise it would prove nothing.
#[test]
fn the_wrapper_that_breaks_nothing_passes() {
    let sound = || Broken::storage(Break::Nothing);
    run(conditions::two_sessions_change_together_or_not_at_all(sound()));
    run(jobs::leases_and_versions_are_conditions_of_a_batch(sound()));
    run(publications::a_follower_is_complete_and_in_order(sound()));
    let storage = sound();
    run(histories::compare(1, 60, || storage.clone()));
}
