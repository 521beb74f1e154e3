//! Laws of publications: every commit, in order, after it is durable, and at nobody's expense.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jaren_durable::{
    Commit, Family, Follower, Publication, Published, Seq, Session, Singleton, Storage, Subscription, follow,
    subscribe,
};
use jaren_json::{delta, value};

use crate::steps::{id, value};

const STATE: Singleton = Singleton::new("kit.state", 1).current();
const COMMITS: u32 = 60;

async fn put(session: &mut Session, n: u32) {
    let mut draft = session.draft();
    draft.put(&STATE, value!({"n": n, "text": "long enough that the next change is a delta over this"}));
    session.commit(draft).await.expect("a commit");
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

async fn next(follower: &mut Follower) -> Commit {
    let next = tokio::time::timeout(Duration::from_secs(20), follower.next()).await;
    next.expect("a commit within twenty seconds").expect("a commit")
}

/// Durable H39: a follower brings each commit once, by its number, from wherever it begins; a dropped wait loses none; and what it
/// brings can be read.
pub async fn a_follower_is_complete_and_in_order(storage: Arc<dyn Storage>) {
    let early = follow(storage.clone(), id("a"), Seq::ZERO); // before the session exists
    let writer = write(&storage, 1);
    let middle = follow(storage.clone(), id("a"), Seq::new(20));
    for (mut follower, from) in [(early, 1), (middle, 21)] {
        for seq in from..=u64::from(COMMITS) {
            let mut early = None;
            for _ in 0..seq % 3 {
                // Begun, and dropped if it is not done at once.
                let mut future = pin!(follower.next());
                let mut context = Context::from_waker(Waker::noop());
                if let Poll::Ready(commit) = future.as_mut().poll(&mut context) {
                    early = Some(commit.expect("a commit"));
                    break;
                }
            }
            let commit = match early {
                Some(commit) => commit,
                None => next(&mut follower).await,
            };
            assert_eq!(commit.seq, Seq::new(seq));
            assert_eq!(commit.changes.len(), 1);
            let head = storage.session(id("a")).await.unwrap().expect("it exists").head;
            assert!(head >= commit.seq, "a commit is durable before it is published");
        }
        assert_eq!(follower.ready().await.unwrap(), None, "and then there are no more");
    }
    writer.await.expect("the writer ends");
}

/// A subscriber that never looks costs a commit nothing, and finds everything when it does.
pub async fn nobody_who_commits_waits_for_a_subscriber(storage: Arc<dyn Storage>) {
    let mut idle: Vec<Follower> = (0..50).map(|_| follow(storage.clone(), id("a"), Seq::ZERO)).collect();
    let waiting = {
        let storage = storage.clone();
        tokio::spawn(async move { follow(storage, id("a"), Seq::ZERO).next().await.map(drop) })
    };
    waiting.abort(); // one that went away
    write(&storage, 1).await.expect("the writer ends");
    for follower in &mut idle {
        assert_eq!(next(follower).await.seq, Seq::new(1));
    }
}

/// A handle and its follower are one state and what changes it, whenever they are made beside writers.
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
        let mut follower = joined.follow();
        let last = joined.head().get() + 8;
        while joined.head().get() < last.min(u64::from(COMMITS)) {
            let commit = next(&mut follower).await;
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

/// A publication has each changed document's whole value and what led to it, however it is stored; a new document, one
/// of a new schema version and one that ended have no such operations; bulk documents are counted (durable B14 to B16;
/// H32, H33).
pub async fn a_publication_has_whole_values_and_what_led_to_them(storage: Arc<dyn Storage>) {
    const LATER: Singleton = Singleton::new("kit.state", 2).current().migrating(|value, _| Ok(value));
    const NOTE: Family = Family::new("kit.note", 1);
    const FACT: Family = Family::new("kit.fact", 1).bulk();
    write_first(&storage).await;
    let mut session = Session::open(storage.clone(), id("a")).await.unwrap().expect("it exists");
    let mut subscriber = subscribe(storage.clone(), id("a")).await.unwrap().expect("it exists");
    assert_eq!(
        subscriber.documents().map(|stored| stored.address.clone()).collect::<Vec<_>>(),
        [STATE.address()]
    );
    // So many that some are stored as bases.
    for n in 2..=40 {
        put(&mut session, n).await;
        let before = subscriber.document(&STATE.address()).map(|stored| stored.value.clone());
        let publication = published(&mut subscriber).await;
        assert_eq!(publication.commit.seq, Seq::new(u64::from(n)), "each, and in order");
        let [state] = publication.documents.as_slice() else { panic!("one document, found {publication:?}") };
        assert_eq!((state.version, state.created), (Some(1), Seq::new(1)));
        assert_eq!(state.value.as_ref().and_then(|value| value.get("n")), Some(&value!(n)));
        assert_eq!(state.ops.len(), 1, "also where the storage has a base");
        assert_eq!(delta::apply(before.as_ref(), &state.ops).ok(), state.value);
    }
    let mut draft = session.draft();
    draft.put(&LATER, value!({"n": 41}));
    draft.put_member(&NOTE, "k", value!({}));
    draft.put_member(&FACT, "f", value!({}));
    draft.label("status", "done");
    session.commit(draft).await.expect("a commit");
    let publication = published(&mut subscriber).await;
    let [note, state] = publication.documents.as_slice() else {
        panic!("two documents, found {publication:?}")
    };
    assert_eq!((note.address.clone(), note.value.clone()), (NOTE.address("k"), Some(value!({}))));
    assert_eq!((state.version, state.value.clone()), (Some(2), Some(value!({"n": 41}))));
    assert!(note.ops.is_empty() && state.ops.is_empty());
    assert_eq!(publication.commit.bulk.len(), 1);
    assert_eq!(subscriber.session().label("status"), Some("done"));

    let mut draft = session.draft();
    draft.retire_member(&NOTE, "k");
    session.commit(draft).await.expect("a commit");
    let publication = published(&mut subscriber).await;
    let [note] = publication.documents.as_slice() else { panic!("one document, found {publication:?}") };
    assert_eq!((note.version, note.value.clone(), note.ops.len()), (None, None, 0));
    assert_eq!(subscriber.document(&NOTE.address("k")), None);
    assert_eq!(subscriber.ready().await.unwrap(), None);
}

async fn published(subscriber: &mut Subscription) -> Publication {
    let next = tokio::time::timeout(Duration::from_secs(20), subscriber.next()).await;
    match next.expect("a publication within twenty seconds").expect("a publication") {
        Published::Commit(publication) => publication,
        other => panic!("expected a commit, found {other:?}"),
    }
}

/// Whoever joins while others commit without pause gets the documents as of one commit, those of current retention and
/// those that come and go among them, and then every commit: folded onto the start they are the end (durable F4, H67).
pub async fn a_subscriber_may_join_beside_writers(storage: Arc<dyn Storage>) {
    const NOTE: Family = Family::new("kit.note", 1).current();
    let mut writer = Session::create(storage.clone(), id("a"), "kit");
    put(&mut writer, 1).await;
    let writing = tokio::spawn(async move {
        for n in 2..=COMMITS {
            let mut draft = writer.draft();
            // What each commit leaves behind can be told from its number.
            draft.put(
                &STATE,
                value!({"n": n, "text": "long enough that the next change is a delta over this"}),
            );
            draft.put_member(&NOTE, &(n % 7).to_string(), value!({"n": n}));
            draft.retire_member(&NOTE, &((n + 3) % 7).to_string());
            writer.commit(draft).await.expect("a commit");
        }
    });
    for _ in 0..3 {
        let mut subscriber = subscribe(storage.clone(), id("a")).await.unwrap().expect("it exists");
        loop {
            let head = u32::try_from(subscriber.session().head().get()).expect("small");
            let value =
                |address| subscriber.document(&address).and_then(|stored| stored.value.get("n").cloned());
            assert_eq!(value(STATE.address()), Some(value!(head)));
            for key in 0..7u32 {
                // The newest commit up to this one that wrote or ended it.
                let last = (2..=head).rev().find(|n| n % 7 == key || (n + 3) % 7 == key);
                let expected = last.filter(|n| n % 7 == key).map(|n| value!(n));
                assert_eq!(value(NOTE.address(&key.to_string())), expected, "note {key} at {head}");
            }
            if head == COMMITS {
                break;
            }
            assert_eq!(published(&mut subscriber).await.commit.seq, Seq::new(u64::from(head) + 1));
        }
    }
    writing.await.expect("the writer ends");
}
