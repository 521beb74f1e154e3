//! Laws of removal: a whole session goes, nothing else does, and whoever knew it is told.

use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{
    Address, Commit, CommitError, Family, Removal, Retention, Seq, Session, SessionError, SessionsQuery,
    Singleton, Storage, StorageErrorKind, Upkeep, follow, remove_all, subscribe,
};
use jaren_host::Timestamp;
use jaren_json::value;

use crate::steps::{
    after, apply, base, base_of, commit, conflict, create, delta, head, id, labelling, value, writing,
};

const STATE: Singleton = Singleton::new("kit.state", 1);
const NOTE: Family = Family::new("kit.note", 1);

/// Three commits with documents of each retention, in two scopes, and a label.
async fn fill(storage: &Arc<dyn Storage>, name: &str) {
    let (old, new) = (value!({"n": 1, "text": "long enough"}), value!({"n": 2, "text": "long enough"}));
    let (full, bulk) = (STATE.address(), NOTE.address("b"));
    let current = NOTE.address("c").within(jaren_durable::Scope::Task(7));
    let writes = [
        base(&full, &old),
        base_of(&bulk, &old, Retention::Bulk, 1),
        base_of(&current, &old, Retention::Current, 1),
    ];
    commit(storage, writing(create(name), writes)).await;
    commit(storage, writing(after(name, 1), [delta(&full, &old, &new)])).await;
    commit(storage, labelling(after(name, 2), &[("status", Some("done"))])).await;
}

async fn names(storage: &Arc<dyn Storage>) -> Vec<(String, u64)> {
    let page = storage.sessions(SessionsQuery::kind("kit").label("status", "done")).await.expect("a page");
    page.items.into_iter().map(|record| (record.id.to_string(), record.number)).collect()
}

/// Nothing of a removed session is left, its name is free, its number is never given again, and no other session is
/// touched.
pub async fn a_removed_session_is_gone_and_leaves_no_trace_in_others(storage: Arc<dyn Upkeep>) {
    let plain: Arc<dyn Storage> = storage.clone();
    for name in ["a", "b", "c"] {
        fill(&plain, name).await;
    }
    let log = plain.changes(id("b"), Seq::ZERO, 100).await.unwrap();
    assert_eq!(storage.remove(id("none"), Seq::ZERO).await.unwrap(), Removal::Absent);
    let mut last = plain.session(id("c")).await.unwrap().expect("it exists").number;
    for name in ["c", "a", "c"] {
        assert_eq!(storage.remove(id(name), Seq::new(3)).await.unwrap(), Removal::Removed);
        assert_eq!(storage.remove(id(name), Seq::new(3)).await.unwrap(), Removal::Absent);
        assert_eq!(head(&plain, name).await, None);
        assert_eq!(value(&plain, name, &STATE.address()).await, None);
        assert!(plain.changes(id(name), Seq::ZERO, 10).await.unwrap().is_empty());
        let report = storage.integrity().await.unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        fill(&plain, name).await;
        let number = plain.session(id(name)).await.unwrap().expect("it exists").number;
        assert!(number > last, "{number} after {last}");
        last = number;
    }
    for name in ["a", "c"] {
        storage.remove(id(name), Seq::new(3)).await.unwrap();
    }
    assert_eq!(plain.changes(id("b"), Seq::ZERO, 100).await.unwrap(), log);
    assert_eq!(names(&plain).await.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["b"]);
    let size = storage.size().await.unwrap();
    let [kit] = size.kinds.as_slice() else { panic!("one kind, found {:?}", size.kinds) };
    assert_eq!((kit.sessions, kit.commits, kit.documents, kit.revisions), (1, 3, 3, 4));
    let report = storage.integrity().await.unwrap();
    assert!(report.is_clean() && report.sessions == 1, "{report:?}");
}

/// A session that was committed to since somebody decided about it stays.
pub async fn a_session_that_moved_stays(storage: Arc<dyn Upkeep>) {
    let plain: Arc<dyn Storage> = storage.clone();
    fill(&plain, "a").await;
    for head in [0, 2, 4] {
        assert_eq!(storage.remove(id("a"), Seq::new(head)).await.unwrap(), Removal::Moved(Seq::new(3)));
    }
    let new = value!({"n": 2, "text": "long enough"});
    assert_eq!(value(&plain, "a", &STATE.address()).await, Some(new));
    assert_eq!(head(&plain, "a").await, Some(3));
}

/// A commit over what was removed is a conflict; a handle, a follower, a subscriber and a waiter are told, also when
/// another session has the name by then, of fewer commits.
pub async fn whoever_knew_a_removed_session_is_told(storage: Arc<dyn Upkeep>) {
    let plain: Arc<dyn Storage> = storage.clone();
    for again in [false, true] {
        fill(&plain, "a").await;
        let mut handle = Session::open(plain.clone(), id("a")).await.unwrap().expect("it exists");
        let mut follower = follow(plain.clone(), id("a"), Seq::new(3));
        let mut subscriber = subscribe(plain.clone(), id("a")).await.unwrap().expect("it exists");
        assert_eq!(follower.ready().await.unwrap(), None);
        let waiting = {
            let storage = plain.clone();
            tokio::spawn(async move { storage.moved(id("a"), Seq::new(3)).await })
        };
        tokio::task::yield_now().await;
        assert_eq!(storage.remove(id("a"), Seq::new(3)).await.unwrap(), Removal::Removed);
        if again {
            commit(&plain, writing(create("a"), [])).await;
        }
        let found = tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("it wakes");
        assert!(found.unwrap().unwrap() <= Seq::new(1));
        let stale = conflict(apply(&plain, writing(after("a", 3), [])).await);
        assert_eq!(stale.found, again.then(|| Seq::new(1)));
        let mut draft = handle.draft();
        draft.put(&STATE, value!({}));
        assert!(matches!(handle.commit(draft).await, Err(CommitError::Conflict(_))));
        let told = |gone: Result<Option<Commit>, jaren_durable::StorageError>| {
            assert_eq!(gone.expect_err("it is gone").kind(), StorageErrorKind::NotRetained);
        };
        told(follower.ready().await);
        told(follower.next().await.map(Some));
        assert!(matches!(subscriber.next().await, Err(SessionError::Removed)));
        assert!(matches!(handle.refresh().await, Err(SessionError::Removed)));
        if again {
            storage.remove(id("a"), Seq::new(1)).await.unwrap();
        }
    }
    let absent = plain.changes(id("a"), Seq::new(1), 10).await.unwrap_err();
    assert_eq!(absent.kind(), StorageErrorKind::NotRetained);
    assert!(subscribe(plain.clone(), id("a")).await.unwrap().is_none());
    let read = plain.document(id("a"), Address::singleton("kit.state"), jaren_durable::At::Current).await;
    assert_eq!(read.unwrap(), None);
}

/// Another session of a removed one's name is never taken for it, not even when it has come to the same head, or beyond it.
pub async fn another_session_of_the_name_is_not_the_removed_one(storage: Arc<dyn Upkeep>) {
    let plain: Arc<dyn Storage> = storage.clone();
    let state = STATE.address();
    for name in ["opened", "created"] {
        for head in [3, 5] {
            // The handle that created a session knows it as well as one that opened it.
            let mut handle = Session::create(plain.clone(), id(name), "kit");
            for n in 1..=3 {
                let mut draft = handle.draft();
                draft.put(&STATE, value!({"n": n, "text": "of the removed one"}));
                handle.commit(draft).await.expect("a commit");
            }
            if name == "opened" {
                handle = Session::open(plain.clone(), id(name)).await.unwrap().expect("it exists");
            }
            let number = handle.number().expect("it exists");
            let mut followers = [handle.follow(), follow(plain.clone(), id(name), Seq::new(3)).of(number)];
            let mut subscriber = subscribe(plain.clone(), id(name)).await.unwrap().expect("it exists");
            storage.remove(id(name), Seq::new(3)).await.unwrap();
            for n in 0..head {
                let part = if n == 0 { create(name) } else { after(name, n) };
                let other = value!({"n": (n.to_string()), "text": "of another one"});
                commit(&plain, writing(part, [base(&state, &other)])).await;
            }
            let other = plain.session(id(name)).await.unwrap().expect("it exists");
            assert!(other.number > number);

            let mut draft = handle.draft();
            draft.put(&STATE, value!({"n": 9}));
            match handle.commit(draft).await {
                Err(CommitError::Conflict(conflict)) => assert_eq!(conflict.found, None),
                found => panic!("expected a conflict, found {found:?}"),
            }
            assert!(matches!(handle.refresh().await, Err(SessionError::Removed)));
            commit(&plain, writing(after(name, head), [])).await;
            for follower in &mut followers {
                let told = follower.next().await.expect_err("it is gone");
                assert_eq!(told.kind(), StorageErrorKind::NotRetained);
            }
            assert!(matches!(subscriber.next().await, Err(SessionError::Removed)));
            assert_eq!(storage.remove(id(name), other.head.next()).await.unwrap(), Removal::Removed);
        }
    }
}

/// Removing by a query takes those whose newest commit was made before a time, page by page, and no others.
pub async fn sessions_are_removed_by_age(storage: Arc<dyn Upkeep>) {
    let plain: Arc<dyn Storage> = storage.clone();
    for name in ["a", "b", "c", "d"] {
        fill(&plain, name).await;
    }
    commit(&plain, labelling(after("b", 3), &[("status", Some("waiting"))])).await;
    let done = || SessionsQuery::kind("kit").label("status", "done").limit(1);
    assert_eq!(remove_all(&*storage, done(), Timestamp::from_millis(0)).await.unwrap(), 0);
    tokio::time::sleep(Duration::from_millis(2)).await;
    let old = plain.session(id("d")).await.unwrap().expect("it exists").updated;
    let end = Timestamp::from_millis(old.as_millis() + 1);
    assert_eq!(remove_all(&*storage, done(), end).await.unwrap(), 3);
    assert_eq!(head(&plain, "b").await, Some(4));
    assert!(names(&plain).await.is_empty());
    assert_eq!(
        remove_all(&*storage, SessionsQuery::all(), Timestamp::from_millis(i64::MAX)).await.unwrap(),
        1
    );
    assert!(storage.integrity().await.unwrap().is_clean());
}
