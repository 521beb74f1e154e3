//! The durable layer of jaren: a **session** is a named log of commits over typed JSON **documents**.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use jaren_durable::{Family, MemoryStorage, Session, SessionId, Singleton, Storage};
//! use jaren_json::value;
//!
//! const ORDER: Singleton = Singleton::new("shop.order", 1);
//! const NOTE: Family = Family::new("shop.note", 1);
//!
//! let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
//! let mut session = Session::create(storage.clone(), SessionId::new("order-7")?, "shop.order");
//! let mut draft = session.draft();
//! draft.put(&ORDER, value!({"total": 12}));
//! draft.put_member(&NOTE, "first", value!({"text": "fragile"}));
//! draft.label("status", "open");
//! session.commit(draft).await?; // durable when it returns
//!
//! let mut reader = Session::open(storage, SessionId::new("order-7")?).await?.expect("it was created");
//! assert_eq!(reader.document(&ORDER).await?, Some(value!({"total": 12})));
//! # Ok(())
//! # }
//! ```
//!
//! The laws:
//!
//! - A [`Batch`] is applied whole or not at all. It names, for each session that it touches, the head that it
//!   expects; another writer's commit in between answers a typed [`Conflict`] that changed nothing.
//! - [`Storage::apply`] takes a group of independent batches and answers each; none can fail another.
//! - A commit that was answered is durable. A commit whose answer was lost is unknown, and is settled by reading.
//! - Sequence numbers are per session and count from 1 without gaps.
//! - A document is stored as a base or as a delta over the revisions before it; a reader never sees which.
//! - Every commit keeps what it changed and when (the change log), until it is [pruned](Upkeep::prune).
//! - Whoever [follows](follow()) a session, or [subscribes](subscribe()) to it, gets its commits in order and complete, and
//!   costs those who commit nothing.
//! - Jobs and the leases that fence them are rows beside the documents, written and compared by the same batches.
//!
//! What it will not do: it holds no open transaction for a caller, runs no callback inside a commit, drives no task
//! and no job, and knows nothing of runs and effects.
//!
//! # How it is read
//!
//! - To keep documents: [`Session`], [`Draft`], and the definitions [`Singleton`] and [`Family`].
//! - To hear of commits: [`follow()`] and [`subscribe`].
//! - To plan over several sessions and jobs at once: [`Batch`] and [`Storage::apply`].
//! - To own a store: [`Upkeep`].
//! - To write a storage: [`Storage`], or an [`Overlay`] over another one; the crate `jaren-durable-kit` holds it to the laws.
//! - To supervise long work: [`records`], the second half, of which storages know nothing.
#![forbid(unsafe_code)]

mod answers;
mod batch;
mod body;
mod error;
mod follow;
mod jobs;
mod kinds;
pub mod limits;
mod memory;
mod names;
mod outcome;
mod overlay;
pub mod records;
mod session;
mod storage;
mod upkeep;

pub use answers::{
    At, BulkChange, Change, Commit, DeltaChain, DocumentRecord, DocumentsQuery, FamilyQuery, LabelChanges,
    Labels, Order, Page, Replay, Revision, SessionRecord, SessionsQuery, StoredDocument,
};
pub use batch::{Batch, Expected, SessionBatch, Write};
pub use body::{Body, BodyError};
pub use error::{Retry, StorageError, StorageErrorKind};
pub use follow::{Follower, follow};
pub use jobs::{
    Claim, Job, JobConflict, JobCounts, JobExpected, JobFound, JobState, JobUpdate, JobWrite, JobsQuery,
    Lease, LeaseCondition, NewJob,
};
pub use kinds::{Family, Migrate, Singleton};
pub use memory::MemoryStorage;
pub use names::{Address, InvalidName, Retention, Scope, Seq, SessionId};
pub use outcome::{CommitId, Committed, Conflict, Outcome, Refusal, RefusalKind};
pub use overlay::Overlay;
pub use session::{
    CommitError, Draft, Planned, Publication, Published, PublishedDocument, Receipt, Refreshed, Session,
    SessionError, Subscription, subscribe,
};
pub use storage::{Answer, BoxFuture, IntoStorage, Storage};
pub use upkeep::{Finding, Integrity, Keep, KindSize, Pruned, Removal, Size, Upkeep, prune_all, remove_all};
