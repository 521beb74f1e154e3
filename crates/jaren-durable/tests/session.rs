//! The handle of a session: what it reads, what it refuses, how it follows others, and what a lost answer does to it.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use jaren_durable::{
    Answer, Batch, CommitError, Family, MemoryStorage, Outcome, Overlay, Retry, Seq, Session, SessionError,
    SessionId, Singleton, Storage, StorageError, StorageErrorKind,
};
use jaren_json::{Value, value};

const STATE: Singleton = Singleton::new("test.state", 1);
const INBOX: Family = Family::new("test.inbox", 1).current();

/// A memory storage that counts reads, and whose next answer to `apply` can be lost or held back.
#[derive(Debug, Default)]
struct Wrapped {
    inner: MemoryStorage,
    reads: AtomicUsize,
    lose: AtomicUsize,
    hold: AtomicUsize,
}

impl Wrapped {
    fn reads(&self) -> usize {
        self.reads.swap(0, Ordering::SeqCst)
    }
}

impl Overlay for Wrapped {
    fn under(&self) -> &dyn Storage {
        &self.inner
    }

    fn read<'a, T: Send + 'a>(&'a self, answer: Answer<'a, T>) -> Answer<'a, T> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        answer
    }

    fn apply(&self, group: Vec<Batch>) -> Answer<'_, Vec<Outcome>> {
        Box::pin(async move {
            let outcomes = self.inner.apply(group).await;
            if self.hold.swap(0, Ordering::SeqCst) > 0 {
                std::future::pending::<()>().await;
            }
            if self.lose.swap(0, Ordering::SeqCst) > 0 {
                return Err(StorageError::new(
                    StorageErrorKind::Io,
                    Retry::Unknown,
                    "test",
                    "the answer is lost",
                ));
            }
            outcomes
        })
    }
}

fn id() -> SessionId {
    SessionId::new("order-7").unwrap()
}

fn new(storage: &Arc<Wrapped>) -> Session {
    Session::create(storage.clone(), id(), "test.run")
}

async fn open(storage: &Arc<Wrapped>) -> Session {
    Session::open(storage.clone(), id()).await.unwrap().unwrap()
}

fn state(n: u32) -> Value {
    value!({"n": n, "text": "long enough that a change of n is stored as a delta"})
}

async fn put(session: &mut Session, n: u32) -> Result<Seq, CommitError> {
    let mut draft = session.draft();
    draft.put(&STATE, state(n));
    session.commit(draft).await.map(|receipt| receipt.seq)
}

#[tokio::test]
async fn the_common_commit_reads_nothing() {
    let storage = Arc::new(Wrapped::default());
    let mut session = new(&storage);
    for n in 1..=100 {
        let mut draft = session.draft();
        draft.put(&STATE, state(n));
        draft.put_member(&INBOX, &n.to_string(), value!({}));
        draft.label("status", if n % 2 == 0 { "waiting" } else { "running" });
        session.commit(draft).await.unwrap();
        assert_eq!(session.document(&STATE).await.unwrap(), Some(state(n)));
        assert_eq!(session.member(&INBOX, "none").await.unwrap(), None);
    }
    assert_eq!(session.family(&INBOX).await.unwrap().len(), 100);
    assert_eq!(storage.reads(), 0);

    let mut reopened = open(&storage).await;
    assert_eq!((reopened.head(), reopened.label("status")), (Seq::new(100), Some("waiting")));
    put(&mut reopened, 1000).await.unwrap();
    assert_eq!(storage.reads(), 2, "the record, and the document that was changed");
    put(&mut reopened, 1001).await.unwrap();
    assert_eq!(reopened.family(&INBOX).await.unwrap().len(), 100);
    reopened.family(&INBOX).await.unwrap();
    reopened.member(&INBOX, "none").await.unwrap();
    assert_eq!(storage.reads(), 1, "the family, once");
}

// durable B12, H12, H13: what is equal writes nothing, and neither does a change that is dropped.
#[tokio::test]
async fn a_change_that_changes_nothing_is_no_commit() {
    let storage = Arc::new(Wrapped::default());
    let mut session = new(&storage);
    let mut draft = session.draft();
    draft.put(&STATE, state(1));
    draft.label("status", "running");
    session.commit(draft).await.unwrap();
    let mut dropped = session.draft();
    dropped.put(&STATE, state(9));
    dropped.label("status", "waiting");
    drop(dropped);
    assert_eq!(session.document(&STATE).await.unwrap(), Some(state(1)));
    let mut draft = session.draft();
    draft.put(&STATE, state(1));
    draft.label("status", "running");
    draft.unlabel("never");
    draft.retire_member(&INBOX, "none");
    let receipt = session.commit(draft).await.unwrap();
    assert_eq!(receipt.seq, Seq::new(1));
    assert_eq!(open(&storage).await.head(), Seq::new(1));
}

#[tokio::test]
async fn a_new_session_may_be_created_with_nothing_in_it() {
    let storage = Arc::new(Wrapped::default());
    let mut session = new(&storage);
    assert_eq!(session.head(), Seq::ZERO);
    let draft = session.draft();
    assert_eq!(session.commit(draft).await.unwrap().seq, Seq::new(1));
}

#[tokio::test]
async fn a_conflict_is_resolved_by_adopting_what_others_did() {
    let storage = Arc::new(Wrapped::default());
    let mut ours = new(&storage);
    put(&mut ours, 1).await.unwrap();
    let mut theirs = open(&storage).await;
    let mut draft = theirs.draft();
    draft.put_member(&INBOX, "e-1", value!({"event": "approve"}));
    draft.label("status", "waiting");
    theirs.commit(draft).await.unwrap();

    let mut draft = ours.draft();
    draft.put(&STATE, state(2));
    let conflict = ours.commit(draft.clone()).await.unwrap_err();
    assert!(matches!(conflict, CommitError::Conflict(ref conflict) if conflict.found == Some(Seq::new(2))));
    assert_eq!(ours.document(&STATE).await.unwrap(), Some(state(1)), "the view stays at its head");

    storage.reads();
    let refreshed = ours.refresh().await.unwrap();
    assert_eq!((refreshed.from, refreshed.to), (Seq::new(1), Seq::new(2)));
    assert_eq!(refreshed.changed, [INBOX.address("e-1")]);
    assert_eq!(ours.label("status"), Some("waiting"));
    assert_eq!(ours.family(&INBOX).await.unwrap().len(), 1);

    assert!(
        matches!(ours.commit(draft.clone()).await, Err(CommitError::Conflict(_))),
        "planned over an old view"
    );
    draft.rebase(&ours);
    assert_eq!(ours.commit(draft).await.unwrap().seq, Seq::new(3));
    theirs.refresh().await.unwrap();
    assert_eq!(theirs.document(&STATE).await.unwrap(), Some(state(2)));
}

/// Entries of which there are ever more.
const LINE: Family = Family::new("test.line", 1).unkept();

// What others write stays away from a handle that never asked for its kind, and comes with the log to one that did.
#[tokio::test]
async fn what_others_write_is_taken_over_where_it_was_asked_for() {
    let storage = Arc::new(Wrapped::default());
    let mut created = new(&storage);
    put(&mut created, 1).await.unwrap();
    let mut opened = open(&storage).await;
    assert_eq!(opened.document(&STATE).await.unwrap(), Some(state(1)));
    let mut theirs = open(&storage).await;
    let write = async |theirs: &mut Session, n: u32| {
        let mut draft = theirs.draft();
        draft.put(&STATE, state(n));
        draft.put_member(&INBOX, &n.to_string(), value!({"n": n}));
        draft.put_member(&LINE, &n.to_string(), value!({"n": n}));
        theirs.commit(draft).await.unwrap();
    };
    for n in 2..=4 {
        write(&mut theirs, n).await;
    }
    for ours in [&mut created, &mut opened] {
        assert_eq!(ours.refresh().await.unwrap().changed.len(), 7, "each once, kept or not");
        storage.reads();
        assert_eq!(ours.document(&STATE).await.unwrap(), Some(state(4)));
        assert_eq!(storage.reads(), 0, "it was asked for");
        assert!(ours.known(&INBOX.address("2")).is_none() && ours.known(&LINE.address("2")).is_none());
        assert_eq!(ours.member(&INBOX, "2").await.unwrap(), Some(value!({"n": 2})));
        assert_eq!(ours.family(&INBOX).await.unwrap().len(), 3);
        assert_eq!(storage.reads(), 2, "the member, and the family, once");
    }
    write(&mut theirs, 5).await;
    let mut draft = theirs.draft();
    draft.retire_member(&INBOX, "2");
    theirs.commit(draft).await.unwrap();
    for ours in [&mut created, &mut opened] {
        ours.refresh().await.unwrap();
        storage.reads();
        assert_eq!(ours.family(&INBOX).await.unwrap().len(), 3);
        assert_eq!(ours.member(&INBOX, "2").await.unwrap(), None);
        assert_eq!(storage.reads(), 0, "the log brought the new member, and the end of an old one");
        assert!(ours.known(&LINE.address("5")).is_none());
        assert_eq!(ours.family(&LINE).await.unwrap().len(), 4);
    }
}

#[tokio::test]
async fn a_view_is_of_one_commit() {
    let storage = Arc::new(Wrapped::default());
    let mut writer = new(&storage);
    put(&mut writer, 1).await.unwrap();
    let mut reader = open(&storage).await;
    put(&mut writer, 2).await.unwrap();
    let mut draft = writer.draft();
    draft.put_member(&INBOX, "e", value!({}));
    writer.commit(draft).await.unwrap();
    assert_eq!(reader.document(&STATE).await.unwrap(), Some(state(1)), "first read after others committed");
    assert!(reader.family(&INBOX).await.unwrap().is_empty());
    reader.refresh().await.unwrap();
    assert_eq!(reader.document(&STATE).await.unwrap(), Some(state(2)));
    assert_eq!(reader.family(&INBOX).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_view_says_so_where_the_past_is_not_kept() {
    let storage = Arc::new(Wrapped::default());
    let mut writer = new(&storage);
    let mut draft = writer.draft();
    draft.put_member(&INBOX, "e", value!({"n": 1}));
    writer.commit(draft).await.unwrap();
    let mut reader = open(&storage).await;
    let mut draft = writer.draft();
    draft.put_member(&INBOX, "e", value!({"n": 2}));
    writer.commit(draft).await.unwrap();
    assert!(matches!(reader.member(&INBOX, "e").await, Err(SessionError::Outdated(_))));
    assert!(matches!(reader.family(&INBOX).await, Err(SessionError::Outdated(_))));
    reader.refresh().await.unwrap();
    assert_eq!(reader.member(&INBOX, "e").await.unwrap(), Some(value!({"n": 2})));
}

#[tokio::test]
async fn refreshing_follows_deltas_retirements_and_successors() {
    let storage = Arc::new(Wrapped::default());
    let mut writer = new(&storage);
    put(&mut writer, 0).await.unwrap();
    let mut reader = open(&storage).await;
    reader.document(&STATE).await.unwrap();
    for n in 1..80 {
        let mut draft = writer.draft();
        draft.put(&STATE, state(n));
        let key = (n % 3).to_string();
        if n % 2 == 0 {
            draft.retire_member(&INBOX, &key);
        } else {
            draft.put_member(&INBOX, &key, value!({"n": n}));
        }
        if n % 10 == 0 {
            draft.retire(&STATE);
        }
        writer.commit(draft).await.unwrap();
        if n % 7 == 0 {
            reader.refresh().await.unwrap();
            assert_eq!(reader.head(), writer.head());
            assert_eq!(reader.document(&STATE).await.unwrap(), writer.document(&STATE).await.unwrap());
            assert_eq!(reader.family(&INBOX).await.unwrap(), writer.family(&INBOX).await.unwrap());
        }
    }
    // A handle whose view was followed plans as one that wrote it all.
    reader.refresh().await.unwrap();
    put(&mut reader, 1000).await.unwrap();
    assert_eq!(open(&storage).await.document(&STATE).await.unwrap(), Some(state(1000)));
}

#[tokio::test]
async fn a_handle_of_a_new_session_adopts_one_that_exists() {
    let storage = Arc::new(Wrapped::default());
    put(&mut new(&storage), 1).await.unwrap();
    let mut second = Session::create(storage.clone(), id(), "test.other");
    assert!(matches!(put(&mut second, 2).await, Err(CommitError::Conflict(_))));
    let refreshed = second.refresh().await.unwrap();
    assert_eq!((refreshed.from, refreshed.to, second.kind()), (Seq::ZERO, Seq::new(1), "test.run"));
    assert_eq!(second.document(&STATE).await.unwrap(), Some(state(1)));
    put(&mut second, 2).await.unwrap();
}

/// Polls a future once and drops it.
fn poll_and_drop<T>(future: impl Future<Output = T>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(pin!(future).poll(&mut context), Poll::Ready(_))
}

// durable decision 7 and F11a.
#[tokio::test]
async fn a_handle_whose_commit_was_dropped_refuses_all_but_a_refresh() {
    let storage = Arc::new(Wrapped::default());
    let mut session = new(&storage);
    put(&mut session, 1).await.unwrap();
    storage.hold.store(1, Ordering::SeqCst);
    assert!(!poll_and_drop(put(&mut session, 2)), "the answer is held back");
    assert!(matches!(session.document(&STATE).await, Err(SessionError::Unsettled)));
    assert!(matches!(session.family(&INBOX).await, Err(SessionError::Unsettled)));
    assert!(matches!(put(&mut session, 3).await, Err(CommitError::Session(SessionError::Unsettled))));
    let refreshed = session.refresh().await.unwrap();
    assert_eq!((refreshed.from, refreshed.to), (Seq::new(1), Seq::new(2)), "it had happened");
    assert_eq!(session.document(&STATE).await.unwrap(), Some(state(2)));
    put(&mut session, 3).await.unwrap();
}

#[tokio::test]
async fn a_lost_answer_is_settled_by_a_refresh() {
    let storage = Arc::new(Wrapped::default());
    let mut session = new(&storage);
    storage.lose.store(1, Ordering::SeqCst);
    let lost = put(&mut session, 1).await.unwrap_err();
    assert!(matches!(lost, CommitError::Storage(error) if error.retry() == Retry::Unknown));
    assert!(matches!(session.document(&STATE).await, Err(SessionError::Unsettled)));
    assert_eq!(session.refresh().await.unwrap().to, Seq::new(1));
    assert_eq!(session.document(&STATE).await.unwrap(), Some(state(1)));
}

// durable A45: a newer stored version is never read as an older one.
#[tokio::test]
async fn another_schema_version_is_an_error_and_not_fatal() {
    const LATER: Singleton = Singleton::new("test.state", 2);
    let storage = Arc::new(Wrapped::default());
    let mut session = new(&storage);
    let mut draft = session.draft();
    draft.put(&LATER, state(1));
    session.commit(draft).await.unwrap();
    let error = session.document(&STATE).await.unwrap_err();
    assert!(matches!(error, SessionError::Version { stored: 2, supported: 1, .. }), "{error}");
    let error = put(&mut session, 2).await.unwrap_err();
    assert!(matches!(error, CommitError::Session(SessionError::Version { .. })), "{error}");
    assert_eq!(session.document(&LATER).await.unwrap(), Some(state(1)));
}

#[test]
fn errors_are_small_and_futures_may_move_between_threads() {
    assert!(size_of::<Result<Option<Value>, SessionError>>() <= 64);
    assert!(size_of::<CommitError>() <= 64);
    assert_eq!(size_of::<StorageError>(), size_of::<usize>());
    fn sendable<T: Send>(_: &T) {}
    let mut session = new(&Arc::new(Wrapped::default()));
    sendable(&session.document(&STATE));
    sendable(&session.refresh());
    let draft = session.draft();
    sendable(&session.commit(draft));
}
