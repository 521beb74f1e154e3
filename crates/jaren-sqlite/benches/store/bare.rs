//! The floors: the disk alone, and SQLite by hand over our tables.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use jaren_durable::{Body, Session, SessionId};
use jaren_json::{Value, delta};
use jaren_sqlite::SqliteStorage;
use rusqlite::{Connection, params};

use crate::figures::{self, Figures};
use crate::work::{self, DELTAS, DOCUMENT, STATE};

/// Appends as many bytes as a commit of one session hands to the system, and syncs them.
pub(crate) fn disk(folder: &Path, time: Duration) {
    let path = work::fresh(folder, "disk.bin");
    let mut file = std::fs::File::create(&path).unwrap();
    let bytes = vec![7u8; 6 << 10];
    let (figures, begun, mut latencies) = (Figures::begin(), Instant::now(), Vec::new());
    while begun.elapsed() < time {
        let at = Instant::now();
        file.write_all(&bytes).unwrap();
        file.sync_data().unwrap();
        latencies.push(at.elapsed());
    }
    figures.print("disk", 1, latencies.len(), latencies);
    work::remove(&path);
}

/// A loop over our tables that checks nothing and hands nothing over: it writes the rows of so many sessions' commits
/// in each transaction.
pub(crate) fn sqlite(folder: &Path, time: Duration, callers: &[usize]) {
    for &rows in callers {
        let path = work::fresh(folder, "bare.db");
        create(&path, rows);
        rows_by_hand(&path, rows, time);
        work::remove(&path);
    }
}

/// A store with so many sessions of one document.
fn create(path: &Path, sessions: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let storage = std::sync::Arc::new(SqliteStorage::open(path).unwrap());
        for at in 0..sessions {
            let id = SessionId::new(format!("session-{at}")).unwrap();
            let mut session = Session::create(storage.clone(), id, "bench");
            let mut change = session.draft();
            change.put(&STATE, Value::Object(work::document(DOCUMENT)));
            session.commit(change).await.unwrap();
        }
        storage.close().await;
    });
}

fn rows_by_hand(path: &Path, rows: usize, time: Duration) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 8000").unwrap();
    let sql = "SELECT session, number FROM documents";
    let documents: Vec<(i64, i64)> = {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let before = work::document(DOCUMENT);
    let after = Value::Object(work::changed(&before, 1));
    let base = Body::base(&after).unwrap();
    let change = Body::delta(&delta::diff(&Value::Object(before), &after)).unwrap();
    let mut seq = 1i64;
    let mut commit = || {
        let at = Instant::now();
        connection.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
        let sql =
            "INSERT INTO log (session, document, seq, form, detail, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut insert = connection.prepare_cached(sql).unwrap();
        seq += 1;
        for (at, (session, document)) in documents.iter().enumerate() {
            // Each session at another point, as it comes about by itself.
            let is_base = (seq.unsigned_abs() + at as u64).is_multiple_of(DELTAS + 1);
            let (form, body) = if is_base { (1, base.as_str()) } else { (2, change.as_str()) };
            insert.execute(params![session, 0, seq, 0, 1_700_000_000_000_i64, None::<&str>]).unwrap();
            insert.execute(params![session, document, seq, form, 1, body]).unwrap();
        }
        drop(insert);
        connection.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
        at.elapsed()
    };
    let before = figures::bytes_written();
    while !figures::is_warm(before) {
        commit();
    }
    let (figures, begun, mut latencies) = (Figures::begin(), Instant::now(), Vec::new());
    while begun.elapsed() < time {
        latencies.push(commit());
    }
    let commits = latencies.len() * rows;
    figures.print("sqlite by hand", rows, commits, latencies);
}
