//! The least that a storage must have: eight methods. It keeps the laws of sessions and says of jobs that it has none.

use std::sync::Arc;

use jaren_durable::{
    Address, Answer, At, Batch, Commit, DocumentRecord, DocumentsQuery, FamilyQuery, MemoryStorage, Outcome,
    Page, Refusal, RefusalKind, Seq, SessionId, SessionRecord, SessionsQuery, Storage, StorageErrorKind,
    StoredDocument,
};
use jaren_durable_kit::{Fixture, histories, run};

#[derive(Debug, Default)]
struct Jobless(MemoryStorage);

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
                    _ => self.0.apply(vec![batch]).await?.remove(0),
                });
            }
            Ok(outcomes)
        })
    }

    fn session(&self, session: SessionId) -> Answer<'_, Option<SessionRecord>> {
        self.0.session(session)
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

    fn sessions(&self, query: SessionsQuery) -> Answer<'_, Page<SessionRecord>> {
        self.0.sessions(query)
    }

    fn changes(&self, session: SessionId, after: Seq, limit: usize) -> Answer<'_, Vec<Commit>> {
        self.0.changes(session, after, limit)
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
