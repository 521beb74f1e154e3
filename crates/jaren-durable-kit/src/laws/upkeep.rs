//! Laws of upkeep: checking, measuring, pruning.

use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{
    Address, At, Batch, Body, Claim, Family, FamilyQuery, JobWrite, Keep, NewJob, Published, Retention, Seq,
    Session, SessionsQuery, Singleton, Storage, StorageErrorKind, Upkeep, prune_all, subscribe,
};
use jaren_host::Timestamp;
use jaren_json::{Value, value};

use crate::steps::{after, base, base_of, commit, create, delta, head, id, retire, value, value_at, writing};

const STATE: Singleton = Singleton::new("kit.state", 1);
const NOTE: Family = Family::new("kit.note", 1);

fn state(n: u32) -> Value {
    value!({"n": n, "text": "long enough that the next change is a delta over this"})
}

/// Commits 1 to `commits`: each changes the state, every tenth one creates a note, every tenth one ends it again.
async fn fill(storage: &Arc<dyn Storage>, name: &str, commits: u32) {
    let mut session = Session::create(storage.clone(), id(name), "kit");
    for n in 1..=commits {
        let mut draft = session.draft();
        draft.put(&STATE, state(n));
        match n % 10 {
            1 => draft.put_member(&NOTE, &n.to_string(), value!({"n": n})),
            6 => draft.retire_member(&NOTE, &(n - 5).to_string()),
            _ => {}
        }
        session.commit(draft).await.expect("a commit");
    }
}

/// A store that was only written by commits has nothing to find, and its parts are counted by kind.
pub async fn a_sound_store_is_clean_and_counted(storage: Arc<dyn Upkeep>) {
    let empty = storage.integrity().await.unwrap();
    assert!(empty.is_clean() && empty.sessions == 0, "{empty:?}");
    let plain: Arc<dyn Storage> = storage.clone();
    fill(&plain, "a", 100).await;
    let same = plain.upkeep().expect("whoever holds the storage has its upkeep").size().await.unwrap();
    assert_eq!(same.kinds, storage.size().await.unwrap().kinds);
    let at = Address::singleton("kit.one");
    let (old, new) = (value!({"n": 1, "text": "long enough"}), value!({"n": 2, "text": "long enough"}));
    let mut other = writing(create("b"), [base(&at, &old)]);
    if let jaren_durable::Expected::Absent { kind } = &mut other.sessions[0].expected {
        *kind = "zoo".into();
    }
    commit(&plain, other).await;
    commit(&plain, writing(after("b", 1), [delta(&at, &old, &new)])).await;
    commit(&plain, writing(after("b", 2), [retire(&at)])).await;

    let payload = Body::base(&old).unwrap();
    let mut jobs = Batch::new();
    jobs.jobs.push(JobWrite::Enqueue(NewJob::new("j", "kit.job", payload.clone())));
    jobs.jobs.push(JobWrite::Enqueue(NewJob::new("k", "kit.job", payload)));
    commit(&plain, jobs).await;
    let claim = Claim::new(vec!["kit.job".into()], "kit", Duration::from_secs(1), vec!["t".into()]);
    assert_eq!(plain.claim(claim).await.unwrap().len(), 1);

    let report = storage.integrity().await.unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!((report.sessions, report.commits, report.revisions), (2, 103, 100 + 10 + 2));
    let size = storage.size().await.unwrap();
    let [kit, zoo] = size.kinds.as_slice() else { panic!("two kinds, found {:?}", size.kinds) };
    assert_eq!((&*kit.kind, kit.sessions, kit.commits, kit.documents), ("kit", 1, 100, 1));
    assert_eq!(kit.revisions, 100 + 20);
    assert_eq!((&*zoo.kind, zoo.sessions, zoo.commits, zoo.documents, zoo.revisions), ("zoo", 1, 3, 0, 3));
    let bytes = jaren_json::to_text(&old).unwrap().len() as u64;
    assert!(zoo.body_bytes > bytes && zoo.body_bytes < bytes + 40, "{zoo:?}");
    assert_eq!(size.jobs, 2);
    assert!(size.stored_bytes >= kit.body_bytes + zoo.body_bytes);
}

/// Whatever is kept reads as before; whatever was pruned is an error of its own kind, and never silently absent.
pub async fn pruning_keeps_what_it_promises(storage: Arc<dyn Upkeep>) {
    let plain: Arc<dyn Storage> = storage.clone();
    fill(&plain, "a", 200).await;
    let log = plain.changes(id("a"), Seq::ZERO, 1000).await.unwrap();
    let record = plain.session(id("a")).await.unwrap();
    assert_eq!(storage.prune(id("none"), Keep::Newest(1)).await.unwrap().oldest, Seq::ZERO);
    let untouched = storage.prune(id("a"), Keep::Newest(u64::MAX)).await.unwrap();
    assert_eq!((untouched.oldest, untouched.commits, untouched.revisions), (Seq::new(1), 0, 0));

    for oldest in [57, 100, 101, 106, 200] {
        let before = storage.size().await.unwrap().kinds[0].clone();
        let pruned = storage.prune(id("a"), Keep::Newest(201 - oldest)).await.unwrap();
        assert_eq!(pruned.oldest, Seq::new(oldest));
        let after = storage.size().await.unwrap().kinds[0].clone();
        assert_eq!(before.commits - after.commits, pruned.commits);
        assert_eq!(before.revisions - after.revisions, pruned.revisions);
        assert_eq!(plain.session(id("a")).await.unwrap(), record, "its creation stays known");
        assert!(storage.integrity().await.unwrap().is_clean());

        let kept = plain.changes(id("a"), Seq::new(oldest - 1), 1000).await.unwrap();
        assert_eq!(kept, log[usize::try_from(oldest).unwrap() - 1..]);
        for after in [0, oldest - 2] {
            let error = plain.changes(id("a"), Seq::new(after), 10).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::NotRetained);
        }
        for seq in oldest..=200 {
            let n = u32::try_from(seq).unwrap();
            assert_eq!(value_at(&plain, "a", &STATE.address(), seq).await, Some(state(n)));
            let mut notes = FamilyQuery::new(id("a"), NOTE.kind());
            notes.at = At::Seq(Seq::new(seq));
            let living = plain.family(notes).await.unwrap().items.len();
            assert_eq!(living, usize::from((1..=5).contains(&(n % 10))), "notes at {n}");
        }
        for seq in [0, oldest - 1] {
            let error = plain.document(id("a"), STATE.address(), At::Seq(Seq::new(seq))).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::NotRetained);
        }
    }
    assert_eq!(
        storage.prune(id("a"), Keep::Newest(0)).await.unwrap().oldest,
        Seq::new(200),
        "the newest stays"
    );
    commit(&plain, writing(after("a", 200), [base(&STATE.address(), &state(201))])).await;
    assert_eq!(value(&plain, "a", &STATE.address()).await, Some(state(201)));
}

/// Pruning by time and by query touches the named sessions only, and documents of current retention keep their value.
pub async fn pruning_takes_from_one_session_only(storage: Arc<dyn Upkeep>) {
    let plain: Arc<dyn Storage> = storage.clone();
    let newest = Address::singleton("kit.newest");
    // Commits of two sessions lie between each other in the store.
    commit(&plain, writing(create("a"), [base_of(&newest, &state(1), Retention::Current, 1)])).await;
    commit(&plain, writing(create("b"), [base(&newest, &state(1))])).await;
    for n in 1..50 {
        let change = |name| writing(after(name, u64::from(n)), [delta(&newest, &state(n), &state(n + 1))]);
        plain.apply(vec![change("a"), change("b")]).await.unwrap();
    }
    let log = plain.changes(id("b"), Seq::ZERO, 1000).await.unwrap();
    let far = Keep::Since(Timestamp::from_millis(i64::MAX));
    assert_eq!(storage.prune(id("a"), Keep::Since(Timestamp::from_millis(0))).await.unwrap().commits, 0);
    assert_eq!(storage.prune(id("a"), far).await.unwrap().oldest, Seq::new(50));
    assert_eq!(value(&plain, "a", &newest).await, Some(state(50)));
    assert_eq!(plain.changes(id("b"), Seq::ZERO, 1000).await.unwrap(), log);
    for seq in 1..=50 {
        let n = u32::try_from(seq).unwrap();
        assert_eq!(value_at(&plain, "b", &newest, seq).await, Some(state(n)));
    }
    let none = prune_all(&*storage, SessionsQuery::kind("other"), far).await.unwrap();
    assert_eq!(none.commits, 0);
    let rest = prune_all(&*storage, SessionsQuery::kind("kit").limit(1), far).await.unwrap();
    assert_eq!(rest.commits, 49);
    assert_eq!((head(&plain, "a").await, head(&plain, "b").await), (Some(50), Some(50)));
    assert!(storage.integrity().await.unwrap().is_clean());
}

/// A handle whose view was overtaken by pruning refreshes to the newest state.
pub async fn a_handle_that_missed_what_was_pruned_begins_anew(storage: Arc<dyn Upkeep>) {
    let plain: Arc<dyn Storage> = storage.clone();
    fill(&plain, "a", 20).await;
    let mut behind = Session::open(plain.clone(), id("a")).await.unwrap().expect("it exists");
    assert_eq!(behind.document(&STATE).await.unwrap(), Some(state(20)));
    let mut other = Session::open(plain.clone(), id("a")).await.unwrap().expect("it exists");
    for n in 21..=30 {
        let mut draft = other.draft();
        draft.put(&STATE, state(n));
        draft.label("n", &n.to_string());
        other.commit(draft).await.expect("a commit");
    }
    storage.prune(id("a"), Keep::Newest(3)).await.unwrap();
    let refreshed = behind.refresh().await.unwrap();
    assert_eq!((refreshed.from, refreshed.to), (Seq::new(20), Seq::new(30)));
    assert_eq!(refreshed.changed, [STATE.address()]);
    assert_eq!(behind.label("n"), Some("30"));
    assert_eq!(behind.document(&STATE).await.unwrap(), Some(state(30)));
    let mut draft = behind.draft();
    draft.put(&STATE, state(31));
    behind.commit(draft).await.expect("it is the newest");
}

/// A subscriber whose next commits were pruned is told which, and goes on with the state after them.
pub async fn a_subscriber_is_told_of_what_was_pruned(storage: Arc<dyn Upkeep>) {
    let plain: Arc<dyn Storage> = storage.clone();
    fill(&plain, "a", 10).await;
    let mut subscriber = subscribe(plain.clone(), id("a")).await.unwrap().expect("it exists");
    let mut other = Session::open(plain.clone(), id("a")).await.unwrap().expect("it exists");
    for n in 11..=20 {
        let mut draft = other.draft();
        draft.put(&STATE, state(n));
        other.commit(draft).await.expect("a commit");
    }
    storage.prune(id("a"), Keep::Newest(1)).await.unwrap();
    let gap = subscriber.next().await.unwrap();
    assert_eq!(gap, Published::Gap { from: Seq::new(10), to: Seq::new(20) });
    assert_eq!(subscriber.document(&STATE.address()).map(|stored| &stored.value), Some(&state(20)));
    assert_eq!(subscriber.ready().await.unwrap(), None);
    let mut draft = other.draft();
    draft.put(&STATE, state(21));
    other.commit(draft).await.expect("a commit");
    assert!(
        matches!(subscriber.next().await.unwrap(), Published::Commit(next) if next.commit.seq == Seq::new(21))
    );
}
