//! The SQLite storage of jaren: one file, group commit, durable when acknowledged.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use jaren_durable::{Session, SessionId, Singleton, Storage};
//! use jaren_json::value;
//! use jaren_sqlite::{SqliteOptions, SqliteStorage};
//!
//! const ORDER: Singleton = Singleton::new("shop.order", 1);
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("shop.db");
//! let storage = Arc::new(SqliteStorage::open(&path)?);
//! let mut session = Session::create(storage.clone(), SessionId::new("order-7")?, "shop.order");
//! let mut draft = session.draft();
//! draft.put(&ORDER, value!({"total": 12}));
//! session.commit(draft).await?; // synced to the disk when it returns
//! drop(session);
//! storage.close().await;
//!
//! let reader = SqliteStorage::open_read_only(&path)?;
//! assert!(reader.session(SessionId::new("order-7")?).await?.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! The laws, beyond those of [`Storage`]:
//!
//! - What an acknowledged commit survives is named by [`Durability`]; the default is the loss of power.
//! - All batches that wait are written in one transaction and share one sync; each has its own outcome.
//! - Several processes, and several storages of one process, may open one file; a busy one starves none.
//! - A file that is not ours, or that a later release wrote, is refused and not changed.
//! - After a failure of the disk the storage refuses to write; what was in flight is unknown, and is found out by
//!   opening the file anew.
//!
//! What it will not do: it never truncates its log while it is open, never repairs a file, and never writes through
//! a storage that was opened to read.
//!
//! A host commits its own rows together with a batch by `apply_in`, with the `rusqlite` of this crate (feature
//! `host-transactions`).
//!
//! Reads run on tokio's blocking threads, so they need a tokio runtime. Writes have a thread of their own; a small one that
//! comes alone on a quick disk is committed on the caller's thread, if its runtime has others to go on with.
#![forbid(unsafe_code)]

mod apply;
mod backup;
mod checkpoint;
mod fault;
#[cfg(feature = "host-transactions")]
mod host;
mod integrity;
mod jobs;
mod open;
mod options;
mod place;
#[cfg(test)]
mod plans;
mod prune;
mod read;
mod readers;
mod remove;
mod row;
mod schema;
mod size;
mod turn;
mod watch;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jaren_durable::{
    Address, At, Batch, BoxFuture, Claim, Commit, DocumentRecord, DocumentsQuery, FamilyQuery, Integrity,
    Job, JobCounts, JobsQuery, Keep, Outcome, Page, Pruned, Removal, Retry, Seq, SessionId, SessionRecord,
    SessionsQuery, Size, Storage, StorageError, StorageErrorKind, StoredDocument, Upkeep,
};

#[cfg(feature = "host-transactions")]
pub use self::host::apply_in;
use self::open::{Found, ReaderSource};
pub use self::options::{Durability, SqliteOptions};
use self::readers::Readers;
use self::watch::Watch;
use self::writer::{Writer, WriterHandle};
/// The crate whose transactions [`apply_in`] takes. Its releases are breaking ones of whoever names it here.
#[cfg(feature = "host-transactions")]
pub use rusqlite;

/// A store in one SQLite file.
#[derive(Debug)]
pub struct SqliteStorage {
    path: PathBuf,
    readers: Readers,
    watch: Arc<Watch>,
    /// None when it was opened to read.
    writer: Option<WriterHandle>,
}

impl SqliteStorage {
    /// Opens a store for reading and writing, and creates it where there is none. What it acknowledges survives a loss of
    /// power.
    ///
    /// It blocks and fails as [`open_with`](Self::open_with) does.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StorageError> {
        Self::open_with(path, SqliteOptions::new())
    }

    /// The same as the options say.
    ///
    /// A new file is readable by its owner alone. It blocks for a few milliseconds. Errors tell a folder, a file of
    /// another program, a later release's store, a missing folder or store, and missing permissions apart; none of them
    /// changes anything.
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StorageError> {
        let path = path.as_ref();
        let found = open::inspect(path)?;
        if found != Found::Ours && !options.create {
            return Err(open::missing(path));
        }
        open::prepare(path, found)?;
        let path = &*open::resolve(path)?;
        open::create(path)?;
        let watch = Arc::new(Watch::default());
        let writer = writer::start(path, options, watch.clone())?;
        let readers = Readers::new(ReaderSource::new(path));
        Ok(Self { path: path.to_owned(), readers, watch, writer: Some(writer) })
    }

    /// Opens an existing store for reading only; it never writes to the file.
    ///
    /// SQLite may create its shared index beside the file. Where it cannot, because the folder is not ours to
    /// write, a store that nobody has open is read as it stands.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StorageError> {
        let path = path.as_ref();
        if open::inspect(path)? != Found::Ours {
            return Err(open::missing(path));
        }
        let path = &*open::resolve(path)?;
        let source = ReaderSource::new(path);
        let watch = Arc::new(Watch::default());
        watch.start(source.clone()).map_err(|error| {
            let message = "the system cannot start a thread";
            StorageError::new(StorageErrorKind::Io, Retry::Safe, "open the store to read", message)
                .with_source(error)
        })?;
        Ok(Self { path: path.to_owned(), readers: Readers::new(source), watch, writer: None })
    }

    /// Where the file is, whatever links led to it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a copy of the store as it is at one moment to a new file, while others go on reading and writing.
    ///
    /// The copy is compact, synced, and gets its name only when it is whole; meanwhile it is called `….partial`. A
    /// file that exists is an error of kind `Invalid`.
    pub async fn backup(&self, target: impl AsRef<Path>) -> Result<(), StorageError> {
        let target = target.as_ref().to_owned();
        self.readers.run(backup::BACKUP, move |store| backup::write(store, &target)).await
    }

    /// Gives the space of what was pruned back to the file system.
    ///
    /// It rewrites the whole file, and whoever writes waits for it. Without it the space is used for what comes.
    pub async fn compact(&self) -> Result<(), StorageError> {
        const OPERATION: &str = "compact the store";
        self.for_writing(OPERATION)?.upkeep(OPERATION, Writer::compact).await
    }

    fn for_writing(&self, operation: &'static str) -> Result<&WriterHandle, StorageError> {
        self.writer.as_ref().ok_or_else(|| {
            let message = "the store was opened to read; open it for writing";
            StorageError::new(StorageErrorKind::ReadOnly, Retry::Never, operation, message)
        })
    }

    /// Finishes what was handed over, closes the file and folds the log into it. Later calls fail.
    ///
    /// A storage that is dropped instead does the same in the background.
    pub async fn close(&self) {
        self.readers.close();
        match &self.writer {
            Some(writer) => writer.close().await,
            None => self.watch.close(),
        }
    }
}

impl Drop for SqliteStorage {
    fn drop(&mut self) {
        // The writer closes it too, after its last group; a reader has only this.
        if self.writer.is_none() {
            self.watch.close();
        }
    }
}

impl Storage for SqliteStorage {
    fn apply(&self, group: Vec<Batch>) -> BoxFuture<'_, Result<Vec<Outcome>, StorageError>> {
        Box::pin(async move {
            let writer = self.for_writing(writer::APPLY)?;
            if group.is_empty() { Ok(Vec::new()) } else { writer.apply(group).await }
        })
    }

    fn session(&self, session: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StorageError>> {
        Box::pin(self.readers.read("read a session", move |store| read::session(store, &session)))
    }

    fn document(
        &self,
        session: SessionId,
        address: Address,
        at: At,
    ) -> BoxFuture<'_, Result<Option<StoredDocument>, StorageError>> {
        let read = move |store: &_| read::document(store, &session, &address, at);
        Box::pin(self.readers.read("read a document", read))
    }

    fn family(&self, query: FamilyQuery) -> BoxFuture<'_, Result<Page<StoredDocument>, StorageError>> {
        Box::pin(self.readers.read("read a family", move |store| read::family(store, &query)))
    }

    fn documents(&self, query: DocumentsQuery) -> BoxFuture<'_, Result<Page<DocumentRecord>, StorageError>> {
        Box::pin(self.readers.read("list documents", move |store| read::documents(store, &query)))
    }

    fn sessions(&self, query: SessionsQuery) -> BoxFuture<'_, Result<Page<SessionRecord>, StorageError>> {
        Box::pin(async move {
            query.check()?;
            self.readers.read("list sessions", move |store| read::sessions(store, &query)).await
        })
    }

    fn changes(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Commit>, StorageError>> {
        let read = move |store: &_| read::changes(store, &session, after, limit);
        Box::pin(self.readers.read("read the change log", read))
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Vec<Job>, StorageError>> {
        Box::pin(async move {
            claim.check()?;
            self.for_writing(writer::CLAIM)?.claim(claim).await
        })
    }

    fn job(&self, id: Arc<str>) -> BoxFuture<'_, Result<Option<Job>, StorageError>> {
        Box::pin(self.readers.read("read a job", move |store| jobs::read(store, &id)))
    }

    fn jobs(&self, query: JobsQuery) -> BoxFuture<'_, Result<Page<Job>, StorageError>> {
        Box::pin(self.readers.read("list jobs", move |store| jobs::list(store, &query)))
    }

    fn job_counts(&self) -> BoxFuture<'_, Result<Vec<JobCounts>, StorageError>> {
        Box::pin(self.readers.read("count jobs", jobs::counts))
    }

    fn moved(&self, session: SessionId, after: Seq) -> BoxFuture<'_, Result<Seq, StorageError>> {
        const OPERATION: &str = "wait for a commit";
        Box::pin(async move {
            let mut waiter = self.watch.register(&session);
            loop {
                waiter.begin();
                let id = session.clone();
                let head = self.readers.read(OPERATION, move |store| read::head_of(store, &id)).await?;
                if head != after {
                    return Ok(head);
                }
                if !waiter.ticked().await {
                    let message = "the storage was closed";
                    return Err(StorageError::new(
                        StorageErrorKind::Closed,
                        Retry::Never,
                        OPERATION,
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

impl Upkeep for SqliteStorage {
    fn integrity(&self) -> BoxFuture<'_, Result<Integrity, StorageError>> {
        Box::pin(self.readers.read("check the store", integrity::check))
    }

    fn size(&self) -> BoxFuture<'_, Result<Size, StorageError>> {
        let path = self.path.clone();
        Box::pin(self.readers.read("measure the store", move |store| size::measure(store, &path)))
    }

    fn prune(&self, session: SessionId, keep: Keep) -> BoxFuture<'_, Result<Pruned, StorageError>> {
        const OPERATION: &str = "prune a session";
        Box::pin(async move {
            let writer = self.for_writing(OPERATION)?;
            let mut total = Pruned::default();
            loop {
                let session = session.clone();
                let step = move |writer: &mut Writer| {
                    writer.transaction(|connection, _| prune::step(connection, &session, keep))
                };
                let step = writer.upkeep(OPERATION, step).await?;
                total.oldest = step.pruned.oldest;
                total.commits = total.commits.saturating_add(step.pruned.commits);
                total.revisions = total.revisions.saturating_add(step.pruned.revisions);
                if step.done {
                    return Ok(total);
                }
            }
        })
    }

    fn remove(&self, session: SessionId, head: Seq) -> BoxFuture<'_, Result<Removal, StorageError>> {
        const OPERATION: &str = "remove a session";
        Box::pin(async move {
            let writer = self.for_writing(OPERATION)?;
            loop {
                let id = session.clone();
                let step = move |writer: &mut Writer| {
                    writer.transaction(|connection, memory| remove::step(connection, memory, &id, head))
                };
                if let Some(removal) = writer.upkeep(OPERATION, step).await? {
                    self.watch.tick(std::iter::once(&session));
                    return Ok(removal);
                }
            }
        })
    }
}
