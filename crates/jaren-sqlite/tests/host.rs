//! A host that commits rows of its own together with a batch.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{
    Batch, Body, JobWrite, NewJob, Outcome, Retention, Session, SessionBatch, SessionId, Singleton, Storage,
    StorageErrorKind, Upkeep, Write,
};
use jaren_host::Timestamp;
use jaren_json::value;
use jaren_sqlite::{SqliteStorage, apply_in};
use rusqlite::{Connection, TransactionBehavior};

const ORDER: Singleton = Singleton::new("shop.order", 1);

fn id() -> SessionId {
    SessionId::new("order-7").unwrap()
}

fn host(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection.execute_batch("CREATE TABLE IF NOT EXISTS shop (n INTEGER UNIQUE)").unwrap();
    connection
}

fn batch(mut part: SessionBatch, n: u32) -> Batch {
    let body = Body::base(&value!({"n": n})).unwrap();
    let (address, retention) = (ORDER.address(), Retention::Full);
    part.writes.push(Write::Base { address, retention, version: 1, body: body.clone() });
    let mut batch = Batch::one(part);
    batch.jobs.push(JobWrite::Enqueue(NewJob::new(format!("job-{n}"), "shop.send", body)));
    batch
}

fn count(connection: &Connection) -> i64 {
    connection.query_row("SELECT count(*) FROM shop", [], |row| row.get(0)).unwrap()
}

// DESIGN.md section 5: its rows, the documents and the jobs are there together or not at all.
#[tokio::test]
async fn rows_of_the_host_and_a_batch_are_committed_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let storage = Arc::new(SqliteStorage::open(&path).unwrap());
    let mut connection = host(&path);
    for commits in [false, true] {
        let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        transaction.execute("INSERT INTO shop VALUES (1)", []).unwrap();
        let batch = batch(SessionBatch::create(id(), "shop"), 1);
        let outcome = apply_in(&mut transaction, &batch, Timestamp::from_millis(5)).unwrap();
        assert!(
            matches!(outcome, Outcome::Committed(committed) if committed.time == Timestamp::from_millis(5))
        );
        if commits {
            transaction.commit().unwrap();
        } else {
            drop(transaction);
        }
        assert_eq!(count(&connection), i64::from(commits));
        assert_eq!(storage.session(id()).await.unwrap().is_some(), commits);
        assert_eq!(storage.job("job-1".into()).await.unwrap().is_some(), commits);
    }
    // The storage goes on from it, and the host from the storage.
    let mut session = Session::open(storage.clone(), id()).await.unwrap().unwrap();
    let mut change = session.draft();
    change.put(&ORDER, value!({"n": 2}));
    session.commit(change).await.unwrap();
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    transaction.execute("INSERT INTO shop VALUES (2)", []).unwrap();
    let stale = batch(SessionBatch::after(id(), jaren_durable::Seq::new(1)), 3);
    let outcome = apply_in(&mut transaction, &stale, Timestamp::from_millis(9)).unwrap();
    assert!(matches!(outcome, Outcome::Conflict(_)), "{outcome:?}");
    transaction.commit().unwrap();
    assert_eq!(count(&connection), 2, "the host decides about its own rows");
    let next = batch(SessionBatch::after(id(), jaren_durable::Seq::new(2)), 3);
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let outcome = apply_in(&mut transaction, &next, Timestamp::from_millis(9)).unwrap();
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    transaction.commit().unwrap();
    session.refresh().await.unwrap();
    assert_eq!(session.document(&ORDER).await.unwrap(), Some(value!({"n": 3})));
    assert!(storage.integrity().await.unwrap().is_clean());
    assert_eq!(storage.job("job-3".into()).await.unwrap().map(|job| job.version), Some(1));
}

// What fails in the middle of a batch takes the batch back, and leaves the host's transaction as it was.
#[tokio::test]
async fn a_batch_that_fails_leaves_the_hosts_transaction_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    drop(SqliteStorage::open(&path).unwrap());
    let mut connection = host(&path);
    connection
        .execute_batch("CREATE TRIGGER no BEFORE INSERT ON jobs BEGIN SELECT raise(ABORT, 'no'); END")
        .unwrap();
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    transaction.execute("INSERT INTO shop VALUES (1)", []).unwrap();
    apply_in(&mut transaction, &batch(SessionBatch::create(id(), "shop"), 1), Timestamp::from_millis(1))
        .unwrap_err();
    transaction.commit().unwrap();
    assert_eq!(count(&connection), 1);
    let storage = SqliteStorage::open(&path).unwrap();
    assert!(storage.session(id()).await.unwrap().is_none());

    let mut stranger = Connection::open(folder.path().join("other.db")).unwrap();
    let mut transaction = stranger.transaction().unwrap();
    let error = apply_in(&mut transaction, &Batch::new(), Timestamp::from_millis(1)).unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Foreign);
}
