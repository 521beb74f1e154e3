//! The writer without its thread: what it does when SQLite fails in the middle.

use jaren_durable::{SessionBatch, SessionId};
use tempfile::TempDir;

use super::*;

fn writer() -> (TempDir, Writer) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    open::create(&path).unwrap();
    let writer = Writer::open(&path, SqliteOptions::new(), Arc::default()).unwrap();
    (folder, writer)
}

fn creating(name: &str) -> Batch {
    Batch::one(SessionBatch::create(SessionId::new(name).unwrap(), "test"))
}

fn is_committed(answers: &[Vec<Outcome>]) -> bool {
    matches!(answers, [outcomes] if matches!(outcomes.as_slice(), [Outcome::Committed(_)]))
}

// durable decision 7: after an I/O error a storage refuses further writes; the batch in flight is unknown.
#[test]
fn a_failed_commit_is_unknown_and_stops_all_writing() {
    let (_folder, mut writer) = writer();
    assert!(is_committed(&writer.transact(&[&[creating("a")]]).unwrap()));
    writer.connection.commit_hook(Some(|| true)).unwrap();
    let fault = writer.transact(&[&[creating("b")]]).unwrap_err();
    assert_eq!(fault.retry, Retry::Unknown);
    writer.connection.commit_hook(None::<fn() -> bool>).unwrap();
    let refused = writer.transact(&[&[creating("c")]]).unwrap_err();
    assert_eq!((refused.kind, refused.retry), (StorageErrorKind::Poisoned, Retry::Never));
    assert!(refused.error(APPLY).to_string().contains("open the store anew"));
}

#[test]
fn a_full_disk_before_the_commit_changes_nothing_and_stops_nothing() {
    let (_folder, mut writer) = writer();
    let pages: i64 = writer.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    writer.connection.pragma_update(None, "max_page_count", pages + 2).unwrap();
    let names: Vec<String> = (0..).map(|n| format!("{n}{}", "x".repeat(400))).take(60).collect();
    let fault =
        names.iter().find_map(|name| writer.transact(&[&[creating(name)]]).err()).expect("it fills up");
    assert_eq!((fault.kind, fault.retry), (StorageErrorKind::Full, Retry::Safe));
    assert!(writer.connection.is_autocommit(), "the failed transaction was rolled back");
    writer.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    assert!(is_committed(&writer.transact(&[&[creating("later")]]).unwrap()));
}

// What cannot be written fails alone: its group is tried again one by one.
#[test]
fn a_failure_of_one_request_fails_no_other() {
    let (_folder, mut writer) = writer();
    writer
        .connection
        .execute_batch("CREATE TRIGGER no BEFORE INSERT ON sessions WHEN new.id = 'bad' BEGIN SELECT raise(ABORT, 'no'); END")
        .unwrap();
    let (asks, answers): (Vec<Ask>, Vec<_>) = ["a", "bad", "b"]
        .map(|name| {
            let (answer, outcome) = oneshot::channel();
            (Ask { batches: vec![creating(name)], answer }, outcome)
        })
        .into_iter()
        .unzip();
    writer.answer(asks);
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.blocking_recv().unwrap()).collect();
    assert!(is_committed(&[answers[0].as_ref().unwrap().clone()]));
    assert_eq!(answers[1].as_ref().unwrap_err().kind(), StorageErrorKind::Corrupt);
    assert!(is_committed(&[answers[2].as_ref().unwrap().clone()]));
}

#[test]
fn the_settings_that_durability_rests_on_are_in_force() {
    let (folder, writer) = writer();
    let setting = |connection: &Connection, name: &str| -> String {
        let value: rusqlite::types::Value =
            connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap();
        match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => panic!("unexpected {other:?}"),
        }
    };
    assert_eq!(setting(&writer.connection, "journal_mode"), "wal");
    assert_eq!(setting(&writer.connection, "synchronous"), "2");
    assert_eq!(setting(&writer.connection, "wal_autocheckpoint"), "0");
    assert_eq!(setting(&writer.connection, "application_id"), 0x4A41_524E.to_string());
    assert_eq!(setting(&writer.connection, "user_version"), crate::schema::VERSION.to_string());
    let path = folder.path().join("test.db");
    let lesser = open::writer(&path, crate::Durability::ProcessCrash).unwrap();
    assert_eq!(setting(&lesser, "synchronous"), "1");
}
