//! The laws on a store that is opened anew after every group: whatever a storage remembers, it must have written
//! (durable C27, H47).
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use jaren_durable::{
    Address, At, Batch, BoxFuture, Claim, Commit, DocumentRecord, DocumentsQuery, FamilyQuery, Job,
    JobCounts, JobsQuery, Outcome, Page, Seq, SessionId, SessionRecord, SessionsQuery, Storage, StorageError,
    StoredDocument,
};
use jaren_durable_kit::Fixture;
use jaren_sqlite::{Durability, SqliteOptions, SqliteStorage};

jaren_durable_kit::laws! { Reopened::fixture() }

/// Who waits keeps the storage on which it waits; everybody else uses the newest.
#[derive(Debug)]
struct Reopened {
    path: PathBuf,
    newest: Mutex<Arc<SqliteStorage>>,
}

impl Reopened {
    fn fixture() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let storage: Arc<dyn Storage> = Arc::new(Self { newest: Mutex::new(open(&path)), path });
        Fixture::new(storage).keeping(folder)
    }

    fn newest(&self) -> Arc<SqliteStorage> {
        self.newest.lock().unwrap().clone()
    }
}

fn open(path: &Path) -> Arc<SqliteStorage> {
    // What survives a loss of power is tested elsewhere.
    let options = SqliteOptions::new().with_durability(Durability::ProcessCrash);
    Arc::new(SqliteStorage::open_with(path, options).unwrap())
}

macro_rules! on_the_newest {
    ($($method:ident($($name:ident: $kind:ty),*) -> $answer:ty;)*) => {$(
        fn $method(&self, $($name: $kind),*) -> BoxFuture<'_, Result<$answer, StorageError>> {
            let storage = self.newest();
            Box::pin(async move { storage.$method($($name),*).await })
        }
    )*};
}

impl Storage for Reopened {
    fn apply(&self, group: Vec<Batch>) -> BoxFuture<'_, Result<Vec<Outcome>, StorageError>> {
        Box::pin(async move {
            let outcomes = self.newest().apply(group).await;
            *self.newest.lock().unwrap() = open(&self.path);
            outcomes
        })
    }

    on_the_newest! {
        session(session: SessionId) -> Option<SessionRecord>;
        document(session: SessionId, address: Address, at: At) -> Option<StoredDocument>;
        family(query: FamilyQuery) -> Page<StoredDocument>;
        documents(query: DocumentsQuery) -> Page<DocumentRecord>;
        sessions(query: SessionsQuery) -> Page<SessionRecord>;
        changes(session: SessionId, after: Seq, limit: usize) -> Vec<Commit>;
        claim(claim: Claim) -> Vec<Job>;
        job(id: Arc<str>) -> Option<Job>;
        jobs(query: JobsQuery) -> Page<Job>;
        job_counts() -> Vec<JobCounts>;
        moved(session: SessionId, after: Seq) -> Seq;
    }
}
