//! Laws of lists: families, sessions, the change log, and waiting for it to grow.

use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{
    Address, At, DocumentsQuery, FamilyQuery, Order, Retention, Revision, Scope, Seq, SessionBatch,
    SessionsQuery, Storage, StorageErrorKind,
};
use jaren_json::value;

use crate::steps::{after, base, base_of, commit, create, delta, id, labelling, retire, writing};

async fn keys(storage: &Arc<dyn Storage>, at: At, limit: usize) -> Vec<String> {
    let ascending = keys_in(storage, at, limit, Order::Ascending).await;
    let mut descending = keys_in(storage, at, limit, Order::Descending).await;
    descending.reverse();
    assert_eq!(ascending, descending, "both directions have the same members");
    ascending
}

async fn keys_in(storage: &Arc<dyn Storage>, at: At, limit: usize, order: Order) -> Vec<String> {
    let mut query = FamilyQuery::new(id("a"), "kit.f");
    (query.at, query.limit, query.order) = (at, limit, order);
    let mut keys = Vec::new();
    loop {
        let page = storage.family(query.clone()).await.expect("a page");
        assert!(page.items.len() <= limit, "a page holds at most its limit");
        assert!(!page.more || page.items.len() == limit, "small pages are filled");
        for stored in &page.items {
            let key = stored.address.key().expect("a member has a key").to_owned();
            assert_eq!(stored.value, value!({"key": key.as_str()}));
            keys.push(key);
        }
        if !page.more {
            return keys;
        }
        query.after = keys.last().map(|key| key.as_str().into());
    }
}

/// Members come in the byte order of their keys, whatever the page size.
pub async fn families_page_in_key_order(storage: Arc<dyn Storage>) {
    let mut expected = ["b", "a", "", "aa", "Z", "é", "a\0", "10", "9"];
    let member = |key: &str| base(&Address::member("kit.f", key), &value!({"key": key}));
    let strangers =
        [base(&Address::singleton("kit.f"), &value!({})), base(&Address::member("kit.e", "x"), &value!({}))];
    commit(&storage, writing(create("a"), expected.map(member).into_iter().chain(strangers))).await;
    commit(&storage, writing(create("b"), [member("other")])).await;
    expected.sort_unstable();
    for limit in [1, 2, 3, 9, 1000] {
        assert_eq!(keys(&storage, At::Current, limit).await, expected, "pages of {limit}");
    }
}

/// A family at a point in history has the members that lived then.
pub async fn a_family_at_a_point_has_its_members_then(storage: Arc<dyn Storage>) {
    let at = |key: &str| Address::member("kit.f", key);
    let member = |key: &str| base(&at(key), &value!({"key": key}));
    commit(&storage, writing(create("a"), [member("b"), member("d")])).await;
    commit(&storage, writing(after("a", 1), [member("c"), retire(&at("b"))])).await;
    commit(&storage, writing(after("a", 2), [member("b"), retire(&at("d")), member("a")])).await;
    for limit in [1, 10] {
        let then = |seq| keys(&storage, At::Seq(Seq::new(seq)), limit);
        assert!(then(0).await.is_empty());
        assert_eq!(then(1).await, ["b", "d"]);
        assert_eq!(then(2).await, ["c", "d"]);
        assert_eq!(then(3).await, ["a", "b", "c"]);
    }
    let point = base_of(&at("now"), &value!({"key": "now"}), Retention::Current, 1);
    commit(&storage, writing(after("a", 3), [point])).await;
    assert_eq!(keys(&storage, At::Seq(Seq::new(3)), 10).await, ["a", "b", "c"]);
}

async fn names(storage: &Arc<dyn Storage>, query: SessionsQuery, limit: usize) -> Vec<String> {
    let mut query = query.limit(limit);
    let mut names = Vec::new();
    loop {
        let page = storage.sessions(query.clone()).await.expect("a page");
        assert!(page.items.len() <= limit, "a page holds at most its limit");
        names.extend(page.items.iter().map(|record| record.id.to_string()));
        match page.items.last() {
            Some(last) if page.more => query = query.after(last.number),
            _ => return names,
        }
    }
}

/// Sessions are listed by kind and by their labels as they are now, in both directions, whatever the page size.
pub async fn sessions_page_by_kind_and_label(storage: Arc<dyn Storage>) {
    let labelled = |name: &str, kind: &str, status: &str| {
        labelling(SessionBatch::create(id(name), kind), &[("status", Some(status)), ("owner", Some("x"))])
    };
    for (name, kind, status) in
        [("c", "run", "waiting"), ("a", "run", "done"), ("b", "job", "waiting"), ("d", "run", "waiting")]
    {
        commit(&storage, labelled(name, kind, status)).await;
    }
    commit(&storage, labelling(after("a", 1), &[("status", Some("waiting"))])).await;
    commit(&storage, labelling(after("d", 1), &[("status", None)])).await;
    let run = || SessionsQuery::kind("run");
    for limit in [1, 2, 10] {
        assert_eq!(names(&storage, SessionsQuery::all(), limit).await, ["c", "a", "b", "d"]);
        assert_eq!(names(&storage, SessionsQuery::all().newest_first(), limit).await, ["d", "b", "a", "c"]);
        assert_eq!(names(&storage, run(), limit).await, ["c", "a", "d"]);
        assert_eq!(names(&storage, run().newest_first(), limit).await, ["d", "a", "c"]);
        let waiting = run().label("status", "waiting");
        assert_eq!(names(&storage, waiting.clone(), limit).await, ["c", "a"]);
        assert_eq!(names(&storage, waiting.newest_first(), limit).await, ["a", "c"]);
        assert_eq!(names(&storage, run().label("owner", "x"), limit).await, ["c", "a", "d"]);
        assert!(names(&storage, run().label("status", "done"), limit).await.is_empty());
        assert!(names(&storage, SessionsQuery::kind("none"), limit).await.is_empty());
    }
    let record = storage.session(id("d")).await.unwrap().expect("it exists");
    assert_eq!((record.label("status"), record.label("owner")), (None, Some("x")));
    let mut without_kind = run().label("status", "waiting");
    without_kind.kind = None;
    let error = storage.sessions(without_kind).await.expect_err("a label needs a kind");
    assert_eq!(error.kind(), StorageErrorKind::Invalid);
}

/// Documents are listed without their values: those of one scope by their addresses, or all, at any point, whatever the
/// page size.
pub async fn documents_are_listed_by_scope_and_all(storage: Arc<dyn Storage>) {
    let scopes = [Scope::Session, Scope::Conversation(3), Scope::Conversation(20), Scope::Task(3)];
    let addresses: Vec<Address> = scopes
        .iter()
        .flat_map(|scope| {
            let kinds =
                [Address::singleton("kit.b"), Address::member("kit.b", ""), Address::member("kit.a", "é")];
            kinds.map(|address| address.within(*scope))
        })
        .collect();
    let value = value!({});
    let of = |address: &Address| match address.scope() {
        Scope::Task(_) => base_of(address, &value, Retention::Bulk, 1),
        Scope::Conversation(_) => base_of(address, &value, Retention::Current, 1),
        Scope::Session => base(address, &value),
    };
    commit(&storage, writing(create("other"), [base(&addresses[0], &value)])).await;
    commit(&storage, writing(create("a"), addresses.iter().map(of))).await;
    commit(&storage, writing(after("a", 1), [retire(&addresses[1])])).await;
    for limit in [1, 4, 100] {
        let list = async |scope: Option<Scope>, at: u64| {
            let mut query = DocumentsQuery::all(id("a"));
            (query.scope, query.at, query.limit) = (scope, At::Seq(Seq::new(at)), limit);
            let mut found = Vec::new();
            loop {
                let page = storage.documents(query.clone()).await.expect("a page");
                assert!(page.items.len() <= limit, "a page holds at most its limit");
                query.after = page.items.last().map(|record| record.address.clone());
                found.extend(page.items.into_iter().map(|record| record.address));
                if !page.more {
                    return found;
                }
            }
        };
        for scope in scopes {
            let mut expected: Vec<Address> =
                addresses.iter().filter(|address| address.scope() == scope).cloned().collect();
            expected.sort_unstable();
            assert_eq!(list(Some(scope), 1).await, expected);
        }
        let sorted = |mut addresses: Vec<Address>| {
            addresses.sort_unstable();
            addresses
        };
        assert_eq!(sorted(list(None, 1).await), sorted(addresses.clone()));
        let living = addresses.iter().filter(|address| **address != addresses[1]).cloned().collect();
        assert_eq!(sorted(list(None, 2).await), sorted(living));
        assert!(list(None, 0).await.is_empty());
    }
}

/// The change log holds, for each commit, its time, its labels and each document's new revision, in the order of the
/// batch, and pages by commit (durable H32).
pub async fn the_change_log_tells_what_each_commit_changed(storage: Arc<dyn Storage>) {
    let (one, two) = (Address::singleton("kit.one"), Address::member("kit.two", "k"));
    let (old, new) = (value!({"n": 1, "text": "long enough"}), value!({"n": 2, "text": "long enough"}));
    let mut first = writing(create("a"), [base(&two, &old), base_of(&one, &old, Retention::Current, 4)]);
    first.sessions[0].labels = vec![("z".into(), Some("1".into())), ("a".into(), None)];
    let created = commit(&storage, first).await;
    commit(&storage, writing(create("b"), [base(&one, &new)])).await;
    commit(&storage, writing(after("a", 1), [delta(&two, &old, &new)])).await;
    commit(&storage, writing(after("a", 2), [retire(&two)])).await;
    commit(&storage, writing(after("a", 3), [])).await;

    let log = storage.changes(id("a"), Seq::ZERO, 100).await.unwrap();
    assert_eq!(log.iter().map(|commit| commit.seq.get()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(log[0].time, created.time);
    assert_eq!(log[0].labels, [("z".into(), Some("1".into())), ("a".into(), None)]);
    let addresses: Vec<&Address> = log[0].changes.iter().map(|change| &change.address).collect();
    assert_eq!(addresses, [&two, &one], "in the order of the batch");
    let current = &log[0].changes[1];
    assert_eq!((current.retention, current.created), (Retention::Current, Seq::new(1)));
    assert!(matches!(&current.revision, Revision::Base { version: 4, body } if body.value().unwrap() == old));
    let [change] = log[1].changes.as_slice() else { panic!("one change, found {:?}", log[1].changes) };
    assert!(matches!(&change.revision, Revision::Delta { version: 1, .. }));
    assert_eq!(change.created, Seq::new(1));
    assert_eq!(log[2].changes[0].revision, Revision::Retired);
    assert!(log[3].changes.is_empty() && log[3].labels.is_empty());

    assert_eq!(storage.changes(id("a"), Seq::ZERO, 3).await.unwrap(), log[..3]);
    assert_eq!(storage.changes(id("a"), Seq::new(2), 1).await.unwrap(), log[2..3]);
    assert!(storage.changes(id("a"), Seq::new(4), 10).await.unwrap().is_empty());
}

/// Waiting for a session answers at once if it has moved, else when it is committed to, and not for another session.
pub async fn moved_wakes_whoever_waits(storage: Arc<dyn Storage>) {
    let waits = |after: u64| {
        let storage = storage.clone();
        tokio::spawn(async move { storage.moved(id("a"), Seq::new(after)).await })
    };
    let created = waits(0);
    commit(&storage, writing(create("b"), [])).await;
    assert!(!created.is_finished(), "another session's commit wakes nobody here");
    commit(&storage, writing(create("a"), [])).await;
    assert_eq!(soon(created).await, Seq::new(1));
    assert_eq!(soon(waits(0)).await, Seq::new(1));
    let next = waits(1);
    commit(&storage, writing(after("a", 1), [])).await;
    assert_eq!(soon(next).await, Seq::new(2));
}

async fn soon(waiting: tokio::task::JoinHandle<Result<Seq, jaren_durable::StorageError>>) -> Seq {
    let answered = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    answered.expect("an answer within ten seconds").expect("no panic").expect("a head")
}
