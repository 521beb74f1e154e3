//! The least that a storage must have: eight methods. It keeps the laws of sessions and says of jobs that it has none.
//! And its sessions' numbers have gaps, as those of a server's sequence do.

use std::sync::Arc;

use jaren_durable::{
    Address, Answer, At, Batch, Commit, DocumentRecord, DocumentsQuery, FamilyQuery, MemoryStorage, Outcome,
    Page, Refusal, RefusalKind, Seq, SessionId, SessionRecord, SessionsQuery, Storage, StorageError,
    StorageErrorKind, StoredDocument,
};
use jaren_durable_kit::{Fixture, histories, run};

/// From one number to the next.
const GAP: u64 = 7;

#[derive(Debug, Default)]
struct Jobless(MemoryStorage);

fn told(mut record: SessionRecord) -> SessionRecord {
    record.number *= GAP;
    record
}

impl Jobless {
    async fn one(&self, mut batch: Batch) -> Result<Outcome, StorageError> {
        for number in batch.sessions.iter_mut().filter_map(|part| part.number.as_mut()) {
            *number = if number.is_multiple_of(GAP) { *number / GAP } else { u64::MAX };
        }
        let mut outcome = self.0.apply(vec![batch]).await?.remove(0);
        if let Outcome::Committed(committed) = &mut outcome {
            for commit in &mut committed.commits {
                commit.session *= GAP;
            }
        }
        Ok(outcome)
    }
}

impl Storage for Jobless {
    fn apply(&self, group: Vec<Batch>) -> Answer<'_, Vec<Outcome>> {
        Box::pin(async move {
            let mut outcomes = Vec::new();
            for batch in group {
                let has_jobs = !(batch.jobs.is_empty() && batch.leases.is_empty());
                outcomes.push(match batch.check() {
                    Ok(()) if has_jobs => {
                        Outcome::Refused(Refusal::new(None, None, RefusalKind::Unsupported("jobs")))
                    }
                    _ => self.one(batch).await?,
                });
            }
            Ok(outcomes)
        })
    }

    fn session(&self, session: SessionId) -> Answer<'_, Option<SessionRecord>> {
        Box::pin(async move { Ok(self.0.session(session).await?.map(told)) })
    }

    fn document(&self, session: SessionId, address: Address, at: At) -> Answer<'_, Option<StoredDocument>> {
        self.0.document(session, address, at)
    }

    fn family(&self, query: FamilyQuery) -> Answer<'_, Page<StoredDocument>> {
        self.0.family(query)
    }

    fn documents(&self, query: DocumentsQuery) -> Answer<'_, Page<DocumentRecord>> {
        self.0.documents(query)
    }

    fn sessions(&self, mut query: SessionsQuery) -> Answer<'_, Page<SessionRecord>> {
        query.after = query.after.map(|number| number / GAP);
        Box::pin(async move {
            let mut page = self.0.sessions(query).await?;
            page.items = page.items.into_iter().map(told).collect();
            Ok(page)
        })
    }

    fn changes(&self, session: SessionId, after: Seq, limit: usize) -> Answer<'_, Vec<Commit>> {
        Box::pin(async move {
            let mut commits = self.0.changes(session, after, limit).await?;
            for commit in &mut commits {
                commit.session *= GAP;
            }
            Ok(commits)
        })
    }

    fn moved(&self, session: SessionId, after: Seq) -> Answer<'_, Seq> {
        self.0.moved(session, after)
    }
}

jaren_durable_kit::laws! { sessions Fixture::new(Arc::new(Jobless::default())) }

#[test]
fn what_it_has_not_it_says() {
    run(async {
        let storage: Arc<dyn Storage> = Arc::new(Jobless::default());
        assert!(storage.upkeep().is_none());
        let counts = storage.job_counts().await.expect_err("there are no jobs");
        assert_eq!(counts.kind(), StorageErrorKind::Unsupported);
        histories::compare(3, 50, || storage.clone()).await;
    });
}
