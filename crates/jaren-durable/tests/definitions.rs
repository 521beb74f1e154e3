//! Definitions of documents: schema versions and migrations, scopes and their end, bulk retention.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;

use jaren_durable::{
    At, CommitError, DocumentsQuery, Family, MemoryStorage, Order, Revision, Scope, Seq, Session,
    SessionError, SessionId, Singleton, Storage,
};
use jaren_json::{Value, value};

const NAME: Singleton = Singleton::new("test.name", 1);
/// Version 2 calls it `title`.
const TITLE: Singleton = Singleton::new("test.name", 2).migrating(|value, version| match value.get("name") {
    Some(name) if version == 1 => Ok(value!({"title": name.clone()})),
    _ => Err("a name was expected".into()),
});
const FACT: Family = Family::new("test.fact", 1).bulk();
const NOTE: Family = Family::new("test.note", 1);

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

fn session(storage: &Arc<dyn Storage>) -> Session {
    Session::create(storage.clone(), id(), "test")
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

async fn open(storage: &Arc<dyn Storage>) -> Session {
    Session::open(storage.clone(), id()).await.unwrap().unwrap()
}

async fn put(session: &mut Session, kind: &Singleton, value: Value) -> Result<Seq, CommitError> {
    let mut draft = session.draft();
    draft.put(kind, value);
    session.commit(draft).await.map(|receipt| receipt.seq)
}

async fn stored_version(storage: &Arc<dyn Storage>) -> u32 {
    storage.document(id(), NAME.address(), At::Current).await.unwrap().unwrap().version
}

// durable H26; A45, A46: reading migrates in memory only, writing stores a base of the new version.
#[tokio::test]
async fn an_older_value_is_migrated_by_reading_and_stored_by_writing() {
    let storage = memory();
    let mut session = session(&storage);
    put(&mut session, &NAME, value!({"name": "a"})).await.unwrap();
    let migrated = value!({"title": "a"});
    let mut fresh = open(&storage).await;
    for handle in [&mut session, &mut fresh] {
        assert_eq!(handle.document(&TITLE).await.unwrap(), Some(migrated.clone()));
        assert_eq!(handle.document(&NAME).await.unwrap(), Some(value!({"name": "a"})), "both may read it");
    }
    assert_eq!(stored_version(&storage).await, 1);

    put(&mut session, &TITLE, migrated.clone()).await.unwrap();
    assert_eq!(stored_version(&storage).await, 2);
    let log = storage.changes(id(), Seq::new(1), 10).await.unwrap();
    assert!(
        matches!(&log[0].changes[0].revision, Revision::Base { version: 2, .. }),
        "though it is the same"
    );
    assert_eq!(session.document(&TITLE).await.unwrap(), Some(migrated));

    let error = session.document(&NAME).await.unwrap_err();
    assert!(matches!(&error, SessionError::Version { stored: 2, supported: 1, .. }));
    assert!(error.to_string().contains("later release"), "{error}");
    let refused = put(&mut session, &NAME, value!({"name": "b"})).await.unwrap_err();
    assert!(matches!(refused, CommitError::Session(SessionError::Version { stored: 2, supported: 1, .. })));
    put(&mut session, &TITLE, value!({"title": "c"})).await.expect("the handle goes on");
}

// durable A45: without a migration an older value is an error; A47: a failing one leaves everything as it is, and
// history is migrated after it was replayed.
#[tokio::test]
async fn a_migration_must_exist_and_succeed_and_serves_history() {
    let storage = memory();
    let mut session = session(&storage);
    put(&mut session, &NAME, value!({"name": "a"})).await.unwrap();
    put(&mut session, &NAME, value!({"none": true})).await.unwrap();
    let unable = Singleton::new("test.name", 3);
    for error in [
        session.document(&unable).await.unwrap_err(),
        match put(&mut session, &unable, value!({})).await.unwrap_err() {
            CommitError::Session(error) => error,
            other => unreachable!("{other}"),
        },
    ] {
        assert!(matches!(&error, SessionError::Version { stored: 1, supported: 3, .. }));
        assert!(error.to_string().contains("needs a migration"), "{error}");
    }
    let error = session.document(&TITLE).await.unwrap_err();
    assert!(matches!(&error, SessionError::Migration { stored: 1, supported: 2, .. }), "{error}");
    assert_eq!(stored_version(&storage).await, 1);
    let first = storage.document(id(), NAME.address(), At::Seq(Seq::new(1))).await.unwrap().unwrap();
    assert_eq!(TITLE.read(&first).unwrap(), value!({"title": "a"}));
}

// durable A35, H29: what belongs to a scope ends with it, what the same commit sets in it included; nothing else does.
#[tokio::test]
async fn a_scope_ends_as_a_whole() {
    let storage = memory();
    let mut session = session(&storage);
    let (ours, theirs) = (Scope::Task(5), Scope::Task(6));
    let mut draft = session.draft();
    for scope in [ours, theirs, Scope::Session] {
        draft.put(&NAME.within(scope), value!({"name": "x"}));
        draft.put_member(&NOTE.within(scope), "k", value!({"n": 1}));
        draft.put_member(&FACT.within(scope), "f", value!({"n": 1}));
    }
    session.commit(draft).await.unwrap();
    // One handle knows all of it, another nothing.
    let mut fresh = open(&storage).await;
    let mut draft = fresh.draft();
    draft.put_member(&NOTE.within(ours), "late", value!({"n": 2}));
    draft.put(&NAME.within(ours), value!({"name": "y"}));
    draft.retire_scope(ours);
    draft.label("status", "done");
    let seq = fresh.commit(draft).await.unwrap().seq;

    let list = async |scope| storage.documents(DocumentsQuery::new(id(), scope)).await.unwrap().items.len();
    assert_eq!((list(ours).await, list(theirs).await, list(Scope::Session).await), (0, 3, 3));
    let commit = &storage.changes(id(), Seq::new(1), 10).await.unwrap()[0];
    let retired: Vec<_> = commit.changes.iter().map(|change| (&change.address, &change.revision)).collect();
    let (name, note) = (NAME.within(ours).address(), NOTE.within(ours).address("k"));
    assert_eq!(retired, [(&name, &Revision::Retired), (&note, &Revision::Retired)]);
    assert_eq!((commit.bulk[0].written, commit.bulk[0].retired), (0, 1));

    session.refresh().await.unwrap();
    for handle in [&mut session, &mut fresh] {
        assert_eq!(handle.head(), seq);
        assert_eq!(handle.document(&NAME.within(ours)).await.unwrap(), None);
        assert_eq!(handle.member(&NOTE.within(ours), "late").await.unwrap(), None);
        assert_eq!(handle.member(&FACT.within(ours), "f").await.unwrap(), None);
        assert_eq!(handle.document(&NAME.within(theirs)).await.unwrap(), Some(value!({"name": "x"})));
        assert_eq!(handle.family(&NOTE.within(ours)).await.unwrap(), []);
        assert_eq!(handle.family(&NOTE).await.unwrap().len(), 1);
    }
    let mut draft = fresh.draft();
    draft.retire_scope(Scope::Conversation(1));
    assert_eq!(fresh.commit(draft).await.unwrap().seq, seq, "an empty scope is no commit");
}

// durable decision 4: bulk documents are read from the storage each time, whoever wrote them.
#[tokio::test]
async fn a_handle_reads_bulk_documents_from_the_storage() {
    let storage = memory();
    let mut session = session(&storage);
    assert_eq!(session.member(&FACT, "f1").await.unwrap(), None);
    let mut draft = session.draft();
    for n in 0..10 {
        draft.put_member(&FACT, &format!("f{n}"), value!({"n": n}));
    }
    session.commit(draft).await.unwrap();
    assert_eq!(session.member(&FACT, "f1").await.unwrap(), Some(value!({"n": 1})));
    let mut draft = session.draft();
    draft.put_member(&FACT, "f1", value!({"n": 11}));
    draft.retire_member(&FACT, "f2");
    draft.retire_member(&FACT, "none");
    session.commit(draft).await.unwrap();
    assert_eq!(session.member(&FACT, "f1").await.unwrap(), Some(value!({"n": 11})));
    assert_eq!(session.member(&FACT, "f2").await.unwrap(), None);
    assert_eq!(session.family(&FACT).await.unwrap().len(), 9);
    assert_eq!(session.known(&FACT.address("f1")), None, "it is not kept");

    let page = session.page(&FACT, Order::Descending, Some("f8".into()), 3).await.unwrap();
    let keys: Vec<&str> = page.items.iter().map(|(key, _)| &**key).collect();
    assert_eq!((keys, page.more), (vec!["f7", "f6", "f5"], true));

    let mut behind = open(&storage).await;
    let mut draft = session.draft();
    draft.put_member(&FACT, "f1", value!({"n": 12}));
    session.commit(draft).await.unwrap();
    let error = behind.member(&FACT, "f1").await.unwrap_err();
    assert!(matches!(error, SessionError::Outdated(_)), "{error}");
    behind.refresh().await.unwrap();
    assert_eq!(behind.member(&FACT, "f1").await.unwrap(), Some(value!({"n": 12})));
}
