//! No statement reads what belongs to other sessions (durable C36): what an operation on one session costs does not
//! depend on how many others there are. Counted in the steps of SQLite's machine, so that it is the same everywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jaren_durable::{
    Address, At, Batch, Body, Claim, DocumentsQuery, FamilyQuery, JobWrite, JobsQuery, Keep, NewJob, Outcome,
    Retention, Scope, Seq, SessionBatch, SessionId, SessionsQuery, Write,
};
use jaren_host::Timestamp;
use jaren_json::value;
use rusqlite::Connection;

use crate::apply::{Log, Memory};
use crate::{jobs, open, options, prune, read, remove};

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// A commit with a document of each retention, in two scopes, one that ends, a label and a job.
fn batch(name: &str, seq: u64) -> Batch {
    let mut part = match seq {
        1 => SessionBatch::create(id(name), "test"),
        _ => SessionBatch::after(id(name), Seq::new(seq - 1)),
    };
    let body = Body::base(&value!({"n": seq.to_string()})).unwrap();
    let write = |address, retention| Write::Base { address, retention, version: 1, body: body.clone() };
    let ending = |seq: u64| Address::member("test.ends", seq.to_string());
    part.writes = vec![
        write(Address::singleton("test.full"), Retention::Full),
        write(Address::member("test.current", "k"), Retention::Current),
        write(Address::member("test.bulk", "k").within(Scope::Task(3)), Retention::Bulk),
        write(ending(seq), Retention::Full),
    ];
    if seq > 1 {
        part.writes.push(Write::Retire { address: ending(seq - 1) });
    }
    part.labels.push(("n".into(), Some(seq.to_string().into())));
    let mut batch = Batch::one(part);
    batch.jobs.push(JobWrite::Enqueue(NewJob::new(format!("{name}-{seq}"), "test", body.clone())));
    batch
}

struct Store {
    _folder: tempfile::TempDir,
    connection: Connection,
    steps: Arc<AtomicUsize>,
}

impl Store {
    fn with(others: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        open::create(&path).unwrap();
        let mut connection = open::writer(&path, options::Durability::ProcessCrash).unwrap();
        let steps = Arc::new(AtomicUsize::new(0));
        let counted = steps.clone();
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            false
        };
        connection.progress_handler(1, Some(count)).unwrap();
        let store = Self { _folder: folder, connection, steps };
        store.connection.execute_batch("BEGIN").unwrap();
        let names: Vec<String> = (0..others).map(|n| format!("other-{n}")).collect();
        for name in names.iter().map(String::as_str).chain(["a"]) {
            for seq in 1..=4 {
                store.apply(name, seq);
            }
        }
        store.connection.execute_batch("COMMIT; BEGIN").unwrap();
        store
    }

    fn apply(&self, name: &str, seq: u64) {
        let mut log = Log::of(&self.connection).ok().unwrap();
        let outcome = Memory::default().apply(&mut log, &batch(name, seq), Timestamp::from_millis(1)).ok();
        assert!(matches!(outcome, Some(Outcome::Committed(_))), "{outcome:?}");
    }

    /// The steps of each operation.
    fn measure(&self) -> Vec<(&'static str, usize)> {
        let store = &self.connection;
        let full = Address::singleton("test.full");
        let bulk = Address::member("test.bulk", "k").within(Scope::Task(3));
        let (newest, past) = (At::Current, At::Seq(Seq::new(2)));
        let mut family = FamilyQuery::new(id("a"), "test.ends");
        let mut documents = DocumentsQuery::all(id("a"));
        let in_scope = DocumentsQuery::new(id("a"), Scope::Task(3));
        let mut page = JobsQuery::all();
        (family.limit, documents.limit, page.limit) = (10, 10, 3);
        let labelled = SessionsQuery::kind("test").label("n", "9").limit(3);
        let claim =
            Claim::new(vec!["test".into()], "me", std::time::Duration::from_secs(1), vec!["t".into()]);
        let mut all = Vec::new();
        let mut count = |what, done: bool| {
            assert!(done, "{what}");
            all.push((what, self.steps.swap(0, Ordering::Relaxed)));
        };
        self.steps.store(0, Ordering::Relaxed);
        self.apply("a", 5);
        count("a commit", true);
        self.apply("new", 1);
        count("a new session", true);
        count("a session", read::session(store, &id("a")).is_ok_and(|found| found.is_some()));
        count("a head", read::head_of(store, &id("a")).is_ok());
        for (what, address, at) in
            [("a document", &full, newest), ("its past", &full, past), ("a bulk document", &bulk, newest)]
        {
            count(what, read::document(store, &id("a"), address, at).is_ok_and(|found| found.is_some()));
        }
        count("a family", read::family(store, &family).is_ok());
        family.at = past;
        count("a family's past", read::family(store, &family).is_ok());
        count("documents", read::documents(store, &documents).is_ok());
        documents.at = past;
        count("documents of the past", read::documents(store, &documents).is_ok());
        count("documents of a scope", read::documents(store, &in_scope).is_ok());
        count("changes", read::changes(store, &id("a"), Seq::new(1), 2).is_ok());
        count("a page of sessions", read::sessions(store, &SessionsQuery::kind("test").limit(3)).is_ok());
        count("sessions by a label", read::sessions(store, &labelled).is_ok());
        count("a job", jobs::read(store, "a-1").is_ok_and(|found| found.is_some()));
        count("the counts of jobs", jobs::counts(store).is_ok());
        count("a page of jobs", jobs::list(store, &page).is_ok());
        count(
            "a claim",
            jobs::claim(store, &claim, Timestamp::from_millis(9)).is_ok_and(|jobs| jobs.len() == 1),
        );
        count(
            "pruning",
            prune::step(store, &id("a"), Keep::Newest(1)).is_ok_and(|step| step.pruned.commits == 4),
        );
        count("a removal", remove::step(store, &mut Memory::default(), &id("a"), Seq::new(5)).is_ok());
        count(
            "another removal",
            remove::step(store, &mut Memory::default(), &id("new"), Seq::new(1)).is_ok(),
        );
        all
    }
}

#[test]
fn what_one_session_costs_does_not_depend_on_the_others() {
    let (few, many) = (Store::with(2).measure(), Store::with(400).measure());
    for ((what, alone), (_, crowded)) in few.iter().zip(&many) {
        assert!(*alone > 5, "{what}: {alone} steps are not counted");
        assert!(
            *crowded <= alone * 2 + 100,
            "{what}: {alone} steps beside two sessions, {crowded} beside four hundred"
        );
    }
}

// What a store costs to open depends on its log alone; a first read on a new connection is this and the schema.
#[test]
fn a_read_costs_the_same_after_many_commits() {
    let store = Store::with(0);
    let address = Address::singleton("test.full");
    let cost = || {
        store.steps.store(0, Ordering::Relaxed);
        assert!(read::document(&store.connection, &id("a"), &address, At::Current).is_ok());
        store.steps.load(Ordering::Relaxed)
    };
    cost(); // prepares the statements
    let young = cost();
    for seq in 5..=1_500 {
        store.apply("a", seq);
    }
    assert_eq!(cost(), young);
}
