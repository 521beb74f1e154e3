//! Several storages on one file: turns, notifications, conflicts.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jaren_durable::{CommitError, Removal, Seq, Session, SessionId, Singleton, Storage, Upkeep};
use jaren_json::value;
use jaren_sqlite::SqliteStorage;
use tempfile::TempDir;

const NOTE: Singleton = Singleton::new("test.note", 1);

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn open(folder: &TempDir) -> Arc<SqliteStorage> {
    Arc::new(SqliteStorage::open(folder.path().join("test.db")).unwrap())
}

async fn put(session: &mut Session, n: u32) -> Result<(), CommitError> {
    let mut change = session.draft();
    change.put(&NOTE, value!({"n": n}));
    session.commit(change).await.map(|_| ())
}

#[tokio::test]
async fn a_handle_on_one_storage_notices_the_other_ones_commit() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (open(&folder), open(&folder));
    let mut ours = Session::create(here, id("a"), "test");
    put(&mut ours, 1).await.unwrap();
    let mut theirs = Session::open(there, id("a")).await.unwrap().expect("it exists");
    put(&mut theirs, 2).await.unwrap();
    let conflict = put(&mut ours, 3).await.unwrap_err();
    assert!(matches!(conflict, CommitError::Conflict(conflict) if conflict.found == Some(Seq::new(2))));
    let refreshed = ours.refresh().await.unwrap();
    assert_eq!((refreshed.from, refreshed.to), (Seq::new(1), Seq::new(2)));
    assert_eq!(refreshed.changed, [NOTE.address()]);
    put(&mut ours, 3).await.unwrap();
    theirs.refresh().await.unwrap();
    assert_eq!(theirs.document(&NOTE).await.unwrap(), Some(value!({"n": 3})));
}

#[tokio::test]
async fn waiting_notices_the_commits_of_another_storage() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (open(&folder), open(&folder));
    let mut session = Session::create(there, id("a"), "test");
    for n in 1..=3 {
        let storage = here.clone();
        let waiting = tokio::spawn(async move { storage.moved(id("a"), Seq::new(u64::from(n) - 1)).await });
        tokio::task::yield_now().await;
        put(&mut session, n).await.unwrap();
        let head = tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("it wakes");
        assert_eq!(head.unwrap().unwrap(), Seq::new(u64::from(n)));
    }
    let storage = here.clone();
    let waiting = tokio::spawn(async move { storage.moved(id("a"), Seq::new(3)).await });
    tokio::task::yield_now().await;
    here.close().await;
    waiting.await.unwrap().expect_err("closing ends all waiting");
}

#[tokio::test]
async fn a_tail_follows_the_commits_of_another_storage() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (open(&folder), open(&folder));
    let mut follower = jaren_durable::follow(here, id("a"), Seq::ZERO);
    let writer = tokio::spawn(async move {
        let mut session = Session::create(there, id("a"), "test");
        for n in 1..=40 {
            put(&mut session, n).await.unwrap();
        }
    });
    for n in 1..=40 {
        let commit = tokio::time::timeout(Duration::from_secs(20), follower.next()).await.expect("it comes");
        assert_eq!(commit.unwrap().seq, Seq::new(n));
    }
    writer.await.unwrap();
}

// The numbers of the log begin anew after the newest session is gone: whoever looks for new ones must not miss them.
#[tokio::test]
async fn waiting_notices_what_another_storage_removes_and_creates_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (open(&folder), open(&folder));
    let soon = |waiting| async {
        let answer = tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("it wakes");
        let answer: Result<Result<Seq, jaren_durable::StorageError>, _> = answer;
        answer.unwrap().unwrap()
    };
    for n in 1..=3 {
        let mut session = Session::create(there.clone(), id("a"), "test");
        put(&mut session, n).await.unwrap();
        let wait = |name: &'static str, after: u64| {
            let storage = here.clone();
            tokio::spawn(async move { storage.moved(id(name), Seq::new(after)).await })
        };
        let (gone, made) = (wait("a", 1), wait("b", 0));
        tokio::time::sleep(Duration::from_millis(60)).await; // until it has looked at the end of the log
        assert_eq!(there.remove(id("a"), Seq::new(1)).await.unwrap(), Removal::Removed);
        put(&mut Session::create(there.clone(), id("b"), "test"), n).await.unwrap();
        assert_eq!((soon(gone).await, soon(made).await), (Seq::ZERO, Seq::new(1)));
        assert_eq!(there.remove(id("b"), Seq::new(1)).await.unwrap(), Removal::Removed);
    }
}

// feasibility: with SQLite's own lock alone the second one got a dozen commits in two seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_storage_does_not_starve_another() {
    const COMMITS: u32 = 50;
    const WRITERS: u32 = 8;
    let folder = tempfile::tempdir().unwrap();
    let (busy, other) = (open(&folder), open(&folder));
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let (busy, stop) = (busy.clone(), stop.clone());
        writers.push(tokio::spawn(async move {
            let mut session = Session::create(busy, id(&format!("busy-{writer}")), "test");
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                put(&mut session, n).await.unwrap();
            }
            n
        }));
    }
    let mut session = Session::create(other, id("other"), "test");
    for n in 0..COMMITS {
        put(&mut session, n).await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let mut total = 0;
    for writer in writers {
        total += writer.await.unwrap();
    }
    assert!(total > COMMITS, "{total} commits beside {COMMITS}: the busy storage starved");
    // Turn by turn each makes a group; without turns one of the two gets a few commits and the other hundreds.
    assert!(total < COMMITS * WRITERS * 2, "{total} commits beside {COMMITS}");
}
