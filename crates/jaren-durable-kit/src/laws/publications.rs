//! Laws of publications: every commit, in order, after it is durable, and at nobody's expense.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jaren_durable::{Commit, Follower, Seq, Session, Singleton, Storage, tail};
use jaren_json::value;

use crate::steps::{id, value};

const STATE: Singleton = Singleton::new("kit.state", 1).current();
const COMMITS: u32 = 60;

async fn put(session: &mut Session, n: u32) {
    let mut change = session.change();
    change.put(&STATE, value!({"n": n, "text": "long enough that the next change is a delta over this"}));
    session.commit(change).await.expect("a commit");
}

/// Commits the numbers from `from` to [`COMMITS`], each as the commit of that number.
fn write(storage: &Arc<dyn Storage>, from: u32) -> tokio::task::JoinHandle<()> {
    let storage = storage.clone();
    tokio::spawn(async move {
        let session = Session::open(storage.clone(), id("a")).await.expect("a session");
        let mut session = session.unwrap_or_else(|| Session::create(storage, id("a"), "kit"));
        for n in from..=COMMITS {
            put(&mut session, n).await;
        }
    })
}

async fn next(tail: &mut Follower) -> Commit {
    let next = tokio::time::timeout(Duration::from_secs(20), tail.next()).await;
    next.expect("a commit within twenty seconds").expect("a commit")
}

/// A tail brings each commit once, by its number, from wherever it begins; a dropped wait loses none; and what it
/// brings can be read.
pub async fn a_tail_is_complete_and_in_order(storage: Arc<dyn Storage>) {
    let early = tail(storage.clone(), id("a"), Seq::ZERO); // before the session exists
    let writer = write(&storage, 1);
    let middle = tail(storage.clone(), id("a"), Seq::new(20));
    for (mut tail, from) in [(early, 1), (middle, 21)] {
        for seq in from..=u64::from(COMMITS) {
            let mut early = None;
            for _ in 0..seq % 3 {
                // Begun, and dropped if it is not done at once.
                let mut future = pin!(tail.next());
                let mut context = Context::from_waker(Waker::noop());
                if let Poll::Ready(commit) = future.as_mut().poll(&mut context) {
                    early = Some(commit.expect("a commit"));
                    break;
                }
            }
            let commit = match early {
                Some(commit) => commit,
                None => next(&mut tail).await,
            };
            assert_eq!(commit.seq, Seq::new(seq));
            assert_eq!(commit.changes.len(), 1);
            let head = storage.session(id("a")).await.unwrap().expect("it exists").head;
            assert!(head >= commit.seq, "a commit is durable before it is published");
        }
        assert_eq!(tail.ready().await.unwrap(), None, "and then there are no more");
    }
    writer.await.expect("the writer ends");
}

/// A subscriber that never looks costs a commit nothing, and finds everything when it does.
pub async fn nobody_who_commits_waits_for_a_subscriber(storage: Arc<dyn Storage>) {
    let mut idle: Vec<Follower> = (0..50).map(|_| tail(storage.clone(), id("a"), Seq::ZERO)).collect();
    let waiting = {
        let storage = storage.clone();
        tokio::spawn(async move { tail(storage, id("a"), Seq::ZERO).next().await.map(drop) })
    };
    waiting.abort(); // one that went away
    write(&storage, 1).await.expect("the writer ends");
    for tail in &mut idle {
        assert_eq!(next(tail).await.seq, Seq::new(1));
    }
}

/// A handle and its tail are one state and what changes it, whenever they are made beside writers.
pub async fn a_subscriber_that_joins_has_a_consistent_start(storage: Arc<dyn Storage>) {
    write_first(&storage).await;
    let writer = write(&storage, 2);
    for _ in 0..5 {
        let mut joined = loop {
            let mut session = Session::open(storage.clone(), id("a")).await.unwrap().expect("it exists");
            // Somebody may commit between the two reads; then the handle says so, and joins again.
            if session.document(&STATE).await.is_ok() {
                break session;
            }
        };
        let mut tail = joined.tail();
        let last = joined.head().get() + 8;
        while joined.head().get() < last.min(u64::from(COMMITS)) {
            let commit = next(&mut tail).await;
            joined.adopt(&commit).expect("it is the next");
            joined.adopt(&commit).expect_err("it is no longer the next");
            let state = joined.document(&STATE).await.expect("it is known").expect("it lives");
            let n = u32::try_from(joined.head().get()).expect("small");
            assert_eq!(state.get("n"), Some(&value!(n)), "the state as of that commit");
        }
    }
    writer.await.expect("the writer ends");
    let last = value(&storage, "a", &STATE.address()).await.expect("it lives");
    assert_eq!(last.get("n"), Some(&value!(COMMITS)));
}

async fn write_first(storage: &Arc<dyn Storage>) {
    put(&mut Session::create(storage.clone(), id("a"), "kit"), 1).await;
}
