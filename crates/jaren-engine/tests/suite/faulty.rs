//! A storage that fails at one chosen commit, counts commits, and can hold one back.

use std::sync::Arc;
use std::sync::Mutex;

use jaren_durable::{
    Address, At, Batch, BoxFuture, Claim, Commit, DocumentRecord, DocumentsQuery, FamilyQuery, Job,
    JobCounts, JobsQuery, MemoryStorage, Outcome, Page, Refusal, RefusalKind, Retry, Seq, SessionId,
    SessionRecord, SessionsQuery, Storage, StorageError, StorageErrorKind, StoredDocument,
};
use tokio::sync::Semaphore;

/// What happens at the chosen commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing is written, and nothing works afterwards: the process died before the commit.
    DiesBefore,
    /// It is written, and nothing works afterwards: the process died after the commit.
    DiesAfter,
    /// It is written, but the reply says that nobody knows; everything works afterwards.
    ReplyLost,
    /// Nothing is written, and the reply says that nobody knows; everything works afterwards.
    NotWritten,
    /// Nothing is written, and the reply says so; everything works afterwards.
    Refused,
    /// The batch is too large for the store, which works.
    Unstorable,
}

#[derive(Debug, Default)]
struct Plan {
    commits: usize,
    at: Option<(usize, Fault)>,
    dead: bool,
}

#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) inner: Arc<MemoryStorage>,
    plan: Mutex<Plan>,
    /// One permit a commit; plenty unless a test takes them.
    pub(crate) gate: Semaphore,
    /// One permit a lost reply; plenty unless a test takes them.
    pub(crate) replies: Semaphore,
}

impl Faulty {
    pub(crate) fn new(at: Option<(usize, Fault)>) -> Arc<Self> {
        Arc::new(Faulty {
            inner: Arc::new(MemoryStorage::new()),
            plan: Mutex::new(Plan { at, ..Plan::default() }),
            gate: Semaphore::new(1 << 20),
            replies: Semaphore::new(1 << 20),
        })
    }

    pub(crate) fn commits(&self) -> usize {
        self.plan.lock().unwrap().commits
    }

    fn next(&self) -> Option<Fault> {
        let mut plan = self.plan.lock().unwrap();
        plan.commits += 1;
        let fault = plan.at.filter(|(at, _)| *at == plan.commits).map(|(_, fault)| fault);
        if plan.dead {
            return Some(Fault::DiesBefore);
        }
        plan.dead = matches!(fault, Some(Fault::DiesBefore | Fault::DiesAfter));
        fault
    }

    fn alive(&self) -> Result<(), StorageError> {
        if self.plan.lock().unwrap().dead { Err(failed(Retry::Never)) } else { Ok(()) }
    }
}

fn failed(retry: Retry) -> StorageError {
    StorageError::new(StorageErrorKind::Io, retry, "apply a group", "a test wants it so")
}

impl Storage for Faulty {
    fn apply(&self, group: Vec<Batch>) -> BoxFuture<'_, Result<Vec<Outcome>, StorageError>> {
        Box::pin(async move {
            self.gate.acquire().await.unwrap().forget();
            match self.next() {
                None => self.inner.apply(group).await,
                Some(Fault::DiesBefore) => Err(failed(Retry::Never)),
                Some(Fault::DiesAfter) => {
                    let _ = self.inner.apply(group).await;
                    Err(failed(Retry::Never))
                }
                Some(Fault::ReplyLost) => {
                    let _ = self.inner.apply(group).await;
                    self.replies.acquire().await.unwrap().forget();
                    Err(failed(Retry::Unknown))
                }
                Some(Fault::NotWritten) => Err(failed(Retry::Unknown)),
                Some(Fault::Refused) => Err(failed(Retry::Safe)),
                Some(Fault::Unstorable) => {
                    let kind = RefusalKind::Limit { what: "bytes of a batch", max: 1, found: 2 };
                    Ok(vec![Outcome::Refused(Refusal { session: None, address: None, kind })])
                }
            }
        })
    }

    fn session(&self, session: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StorageError>> {
        Box::pin(async move {
            self.alive()?;
            self.inner.session(session).await
        })
    }

    fn document(
        &self,
        session: SessionId,
        address: Address,
        at: At,
    ) -> BoxFuture<'_, Result<Option<StoredDocument>, StorageError>> {
        Box::pin(async move {
            self.alive()?;
            self.inner.document(session, address, at).await
        })
    }

    fn family(&self, query: FamilyQuery) -> BoxFuture<'_, Result<Page<StoredDocument>, StorageError>> {
        self.inner.family(query)
    }

    fn documents(&self, query: DocumentsQuery) -> BoxFuture<'_, Result<Page<DocumentRecord>, StorageError>> {
        self.inner.documents(query)
    }

    fn sessions(&self, query: SessionsQuery) -> BoxFuture<'_, Result<Page<SessionRecord>, StorageError>> {
        self.inner.sessions(query)
    }

    fn changes(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Commit>, StorageError>> {
        Box::pin(async move {
            self.alive()?;
            self.inner.changes(session, after, limit).await
        })
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Vec<Job>, StorageError>> {
        self.inner.claim(claim)
    }

    fn job(&self, id: Arc<str>) -> BoxFuture<'_, Result<Option<Job>, StorageError>> {
        self.inner.job(id)
    }

    fn jobs(&self, query: JobsQuery) -> BoxFuture<'_, Result<Page<Job>, StorageError>> {
        self.inner.jobs(query)
    }

    fn job_counts(&self) -> BoxFuture<'_, Result<Vec<JobCounts>, StorageError>> {
        self.inner.job_counts()
    }

    fn moved(&self, session: SessionId, after: Seq) -> BoxFuture<'_, Result<Seq, StorageError>> {
        self.inner.moved(session, after)
    }
}
