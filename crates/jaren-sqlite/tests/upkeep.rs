//! What an owner does with a store file: check it, copy it while it is used, let go of history, take it along to a
//! new release.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::Path;
use std::sync::Arc;

use jaren_durable::{
    Batch, Body, Family, JobWrite, Keep, NewJob, Outcome, Removal, Retry, Seq, Session, SessionId,
    SessionsQuery, Singleton, Storage, StorageErrorKind, Upkeep, prune_all,
};
use jaren_json::value;
use jaren_sqlite::{Durability, SqliteOptions, SqliteStorage};
use rusqlite::Connection;

const STATE: Singleton = Singleton::new("fix.state", 1);
const NEWEST: Singleton = Singleton::new("fix.newest", 2).current();
const NOTE: Family = Family::new("fix.note", 1);
const FACT: Family = Family::new("fix.fact", 1).bulk();

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn open(path: &Path) -> Arc<SqliteStorage> {
    // What survives a loss of power is not tested here, and there are thousands of commits.
    let options = SqliteOptions::new().with_durability(Durability::ProcessCrash);
    Arc::new(SqliteStorage::open_with(path, options).unwrap())
}

async fn put(storage: &Arc<SqliteStorage>, name: &str, numbers: std::ops::Range<u32>) {
    let mut session = match Session::open(storage.clone(), id(name)).await.unwrap() {
        Some(session) => session,
        None => Session::create(storage.clone(), id(name), "fix"),
    };
    for n in numbers {
        let mut change = session.draft();
        change.put(&STATE, value!({"n": n, "text": "long enough that the next change is a delta over this"}));
        change.label("status", "open");
        session.commit(change).await.unwrap();
    }
}

async fn state(storage: &Arc<SqliteStorage>, name: &str) -> Option<f64> {
    let mut session = Session::open(storage.clone(), id(name)).await.unwrap()?;
    session.document(&STATE).await.unwrap()?.get("n")?.as_f64()
}

/// Written by the first release. Every release must read it, and go on from it (durable H55).
#[tokio::test]
async fn a_store_of_the_first_schema_version_is_read_and_taken_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v1.db");
    let fixture = include_bytes!("fixtures/v1.db");
    std::fs::write(&path, fixture).unwrap();

    let reader = Arc::new(SqliteStorage::open_read_only(&path).unwrap());
    assert!(reader.integrity().await.unwrap().is_clean());
    let mut session = Session::open(reader.clone(), id("one")).await.unwrap().expect("it is in the fixture");
    assert_eq!((session.head(), session.label("status")), (Seq::new(40), Some("done")));
    assert_eq!(session.document(&NEWEST).await.unwrap(), Some(value!({"n": 39})));
    let keys: Vec<String> =
        session.family(&NOTE).await.unwrap().iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys, ["k0", "k20", "k30"]);
    reader.close().await;
    assert_eq!(std::fs::read(&path).unwrap(), fixture, "reading writes nothing, and upgrades nothing");

    let storage = open(&path);
    assert!(storage.integrity().await.unwrap().is_clean());
    put(&storage, "one", 40..45).await;
    assert_eq!((state(&storage, "one").await, state(&storage, "two").await), (Some(44.0), Some(39.0)));
    let past = jaren_durable::At::Seq(Seq::new(7));
    let stored = storage.document(id("one"), STATE.address(), past).await.unwrap().expect("it lived");
    assert_eq!(stored.value.get("n"), Some(&value!(6)));
    storage.close().await;
    assert!(SqliteStorage::open_read_only(&path).unwrap().integrity().await.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_one_state_of_a_store_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(&folder.path().join("test.db"));
    put(&storage, "a", 0..50).await;
    let writer = {
        let storage = storage.clone();
        tokio::spawn(async move { put(&storage, "b", 0..100).await })
    };
    for n in 0..3 {
        let target = folder.path().join(format!("copy-{n}.db"));
        storage.backup(&target).await.unwrap();
        let copy = SqliteStorage::open_read_only(&target).unwrap();
        assert!(copy.integrity().await.unwrap().is_clean());
        let copy = Arc::new(copy);
        assert_eq!(state(&copy, "a").await, Some(49.0));
        let head = copy.session(id("b")).await.unwrap().map_or(0, |record| record.head.get());
        let expected = head.checked_sub(1).map(|n| f64::from(u32::try_from(n).unwrap()));
        assert_eq!(state(&copy, "b").await, expected);
    }
    writer.await.unwrap();
    let target = folder.path().join("copy-0.db");
    let before = std::fs::read(&target).unwrap();
    let error = storage.backup(&target).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (StorageErrorKind::Invalid, Retry::Never));
    assert_eq!(std::fs::read(&target).unwrap(), before, "what exists is not overwritten");
    storage.backup(folder.path().join("none/copy.db")).await.expect_err("there is no such folder");
    assert!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().ends_with(".partial") })
    );
    let copy = open(&target);
    put(&copy, "a", 50..52).await;
    assert_eq!(state(&copy, "a").await, Some(51.0), "a copy is a store to write to");
}

#[tokio::test]
async fn a_reader_checks_and_measures_and_does_not_prune() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let storage = open(&path);
    put(&storage, "a", 0..10).await;
    storage.close().await;
    let before = std::fs::read(&path).unwrap();
    let reader = SqliteStorage::open_read_only(&path).unwrap();
    assert!(reader.integrity().await.unwrap().is_clean());
    let size = reader.size().await.unwrap();
    assert_eq!(size.kinds.len(), 1);
    assert!(size.stored_bytes >= before.len() as u64);
    for error in
        [reader.prune(id("a"), Keep::Newest(1)).await.unwrap_err(), reader.compact().await.unwrap_err()]
    {
        assert_eq!((error.kind(), error.retry()), (StorageErrorKind::ReadOnly, Retry::Never));
    }
    reader.close().await;
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

// Pruning takes several steps, and a second storage on the file notices.
#[tokio::test]
async fn what_was_pruned_is_given_back_by_compacting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (storage, other) = (open(&path), open(&path));
    put(&storage, "a", 0..2_500).await;
    put(&storage, "b", 0..500).await;
    let mut behind = Session::open(other.clone(), id("a")).await.unwrap().expect("it exists");
    assert!(behind.document(&STATE).await.unwrap().is_some());
    put(&storage, "a", 2_500..2_501).await;
    let pruned = prune_all(&*storage, SessionsQuery::kind("fix").limit(1), Keep::Newest(1)).await.unwrap();
    assert_eq!(pruned.commits, 2_500 + 499);
    assert!(storage.integrity().await.unwrap().is_clean());
    put(&other, "b", 500..505).await;

    let refreshed = behind.refresh().await.unwrap();
    assert_eq!(refreshed.changed, [STATE.address()], "all that was known may have changed");
    assert_eq!(behind.document(&STATE).await.unwrap().unwrap().get("n"), Some(&value!(2_500)));
    let before = storage.size().await.unwrap();
    assert!(before.free_bytes > 200_000, "{before:?}");
    storage.compact().await.unwrap();
    let after = storage.size().await.unwrap();
    assert_eq!((after.free_bytes, &after.kinds), (0, &before.kinds));
    assert!(storage.integrity().await.unwrap().is_clean());
    put(&other, "a", 2_501..2_503).await;
    assert_eq!((state(&storage, "a").await, state(&storage, "b").await), (Some(2_502.0), Some(504.0)));
}

// A long history goes in steps, so that others wait for milliseconds; whoever breaks off between two leaves a session with
// less history, and whoever commits between two keeps it.
#[tokio::test]
async fn a_removal_that_is_broken_off_leaves_a_whole_session() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(&folder.path().join("test.db"));
    put(&storage, "a", 0..2_500).await;
    let mut removal = storage.remove(id("a"), Seq::new(2_500));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(removal.as_mut().poll(&mut context).is_pending());
    drop(removal);
    let pruned = storage.prune(id("a"), Keep::Newest(u64::MAX)).await.unwrap(); // waits for the step
    assert_eq!(pruned.oldest, Seq::new(2_001));
    assert!(storage.integrity().await.unwrap().is_clean());
    assert_eq!(state(&storage, "a").await, Some(2_499.0));
    put(&storage, "a", 2_500..2_501).await;
    let moved = storage.remove(id("a"), Seq::new(2_500)).await.unwrap();
    assert_eq!(moved, Removal::Moved(Seq::new(2_501)));
    assert_eq!(storage.remove(id("a"), Seq::new(2_501)).await.unwrap(), Removal::Removed);
}

/// Damages a closed store by SQL, or in its bytes, and answers what the check finds.
async fn findings(damage: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let storage = open(&path);
    put(&storage, "a", 0..20).await;
    put(&storage, "b", 0..20).await;
    let mut session = Session::create(storage.clone(), id("c"), "other");
    let mut change = session.draft();
    change.put_member(&FACT, "f", value!({"n": 1}));
    session.commit(change).await.unwrap();
    let mut batch = Batch::new();
    batch.jobs.push(JobWrite::Enqueue(NewJob::new("j", "fix", Body::base(&value!(1)).unwrap())));
    assert!(matches!(storage.apply(vec![batch]).await.unwrap()[..], [Outcome::Committed(_)]));
    storage.close().await;
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(damage).unwrap();
    drop(connection);
    let report = SqliteStorage::open_read_only(&path).unwrap().integrity().await.unwrap();
    assert!(!report.is_clean(), "{damage}");
    report.findings.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn every_kind_of_damage_is_found() {
    for (damage, finding) in [
        ("DELETE FROM log WHERE session = 1", "session a: it has no commit"),
        ("DELETE FROM log WHERE session = 1 AND document = 0 AND seq = 5", "numbered without gaps"),
        ("DELETE FROM log WHERE session = 1 AND document = 0 AND seq = 5", "by a commit that does not exist"),
        ("DELETE FROM log WHERE session = 2 AND form = 1", "session b: a document's revisions"),
        ("UPDATE log SET body = '[]x' WHERE form = 2 AND seq = 3 AND session = 1", "session a: a document's"),
        ("UPDATE log SET body = NULL WHERE form = 1", "revisions cannot be replayed"),
        ("UPDATE log SET detail = 7 WHERE form = 2 AND seq = 3", "revisions cannot be replayed"),
        ("UPDATE documents SET version = 9", "revisions cannot be replayed"),
        ("DELETE FROM documents WHERE session = 1", "a document that does not exist"),
        ("UPDATE documents SET retired = 9 WHERE session = 1", "session a: a document's end"),
        ("DELETE FROM labels WHERE session = 2", "session b: a label is not in the index"),
        ("INSERT INTO labels VALUES ('fix', 'x', 'y', 1)", "entries that no session has"),
        ("UPDATE bulk SET body = 'x'", "a value of bulk retention cannot be read"),
        ("DELETE FROM bulk", "a value of bulk retention cannot be read"),
        ("INSERT INTO bulk VALUES (99, 1, 1, '1')", "that no document has"),
        ("UPDATE jobs SET ready = NULL", "a job's row contradicts itself"),
        ("UPDATE jobs SET state = 1", "a job's row contradicts itself"),
        ("UPDATE job_counts SET jobs = 2", "the counts of jobs"),
        ("INSERT INTO job_counts VALUES ('other', 0, 1)", "the counts of jobs"),
        ("DELETE FROM job_counts", "the counts of jobs"),
        ("UPDATE sessions SET labels = '[]' WHERE number = 1", "session a: its labels"),
        ("UPDATE log SET form = 9 WHERE seq = 3", "an unknown form"),
        ("INSERT INTO log (session, document, seq, form, detail) VALUES (0, 9, 0, 1, 0)", "an unknown form"),
    ] {
        let found = findings(damage).await;
        assert!(found.iter().any(|one| one.contains(finding)), "{damage}: {found:?}");
    }
}
