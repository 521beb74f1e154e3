//! A disk that fails in the middle of a commit, by a limit on the size of files.
#![expect(clippy::panic, reason = "helpers of tests fail by panicking")]

use std::process::Command;
use std::sync::Arc;

use jaren_durable::{
    CommitError, Retry, Session, SessionId, Singleton, Storage, StorageError, StorageErrorKind,
};
use jaren_json::{Value, value};
use jaren_sqlite::SqliteStorage;

const NOTE: Singleton = Singleton::new("test.note", 1);
/// Names the store file to the child process.
const STORE: &str = "JAREN_TEST_STORE";

async fn put(session: &mut Session, n: u32) -> Result<(), StorageError> {
    let mut change = session.draft();
    change.put(&NOTE, value!({"n": n, "text": "x".repeat(4000)}));
    match session.commit(change).await {
        Ok(_) => Ok(()),
        Err(CommitError::Storage(error)) => Err(error),
        Err(other) => panic!("expected a failure of the storage, found {other}"),
    }
}

/// Writes until the disk fails; run by the test below in a process of its own, under a limit.
#[tokio::test]
async fn child() {
    let Ok(path) = std::env::var(STORE) else { return };
    let storage = Arc::new(SqliteStorage::open(path).unwrap());
    let mut acknowledged = 0;
    let mut failure = None;
    for n in 0..10_000 {
        // A new session each time: nothing is left to a small delta.
        let name = SessionId::new(format!("s{n}")).unwrap();
        let mut session = Session::create(storage.clone(), name, "test");
        match put(&mut session, n).await {
            Ok(()) => acknowledged += 1,
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let failure = failure.expect("the disk fails");
    assert_eq!((failure.kind(), failure.retry()), (StorageErrorKind::Io, Retry::Unknown), "{failure:?}");
    let mut later = Session::create(storage.clone(), SessionId::new("later").unwrap(), "test");
    let refused = put(&mut later, 0).await.unwrap_err();
    assert_eq!((refused.kind(), refused.retry()), (StorageErrorKind::Poisoned, Retry::Never));
    let read = storage.session(SessionId::new("s0").unwrap()).await.unwrap();
    assert!(read.is_some(), "what is stored can still be read");
    println!("acknowledged {acknowledged}");
}

// durable decision 7, H36, H52. What was acknowledged is there, the one in flight may be, nothing else is; all later
// writes are refused, and reading goes on.
#[tokio::test]
async fn a_failing_disk_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let binary = std::env::current_exe().unwrap();
    // Blocks of 512 or 1024 bytes, as the shell likes it; the log reaches either after some hundred commits.
    let script = "trap '' XFSZ; ulimit -f 1000; exec \"$0\" --exact child --nocapture";
    let output = Command::new("sh").args(["-c", script]).arg(binary).env(STORE, &path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let acknowledged: usize = text
        .lines()
        .find_map(|line| line.split_once("acknowledged ").map(|(_, count)| count.trim().parse().unwrap()))
        .expect("the child tells");
    assert!(acknowledged > 10, "{acknowledged}");

    let check = rusqlite::Connection::open(&path).unwrap();
    let integrity: String = check.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    let storage = Arc::new(SqliteStorage::open(&path).unwrap());
    let mut found = 0;
    for n in 0..acknowledged + 2 {
        let name = SessionId::new(format!("s{n}")).unwrap();
        let Some(mut session) = Session::open(storage.clone(), name).await.unwrap() else { break };
        let note = session.document(&NOTE).await.unwrap().expect("a commit is whole");
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let number = Value::Number(n as f64);
        assert_eq!(note.get("n"), Some(&number));
        found += 1;
    }
    assert!(found == acknowledged || found == acknowledged + 1, "{found} of {acknowledged}");
}
