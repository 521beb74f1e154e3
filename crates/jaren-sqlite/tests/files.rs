//! What is refused, and that it is not changed; opening to read; closing.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jaren_durable::{
    Batch, Retry, Session, SessionBatch, SessionId, Singleton, Storage, StorageError, StorageErrorKind,
};
use jaren_json::value;
use jaren_sqlite::{SqliteOptions, SqliteStorage};
use rusqlite::Connection;
use tempfile::TempDir;

const NOTE: Singleton = Singleton::new("test.note", 1);

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

async fn note(storage: &Arc<SqliteStorage>, name: &str, n: u32) {
    let mut session = Session::create(storage.clone(), id(name), "test");
    let mut change = session.draft();
    change.put(&NOTE, value!({"n": n}));
    session.commit(change).await.unwrap();
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), std::fs::read(&path).ok())).collect()
}

/// Both ways of opening refuse the file with that kind, and leave the folder as it was.
fn refuse(folder: &TempDir, path: &Path, kind: StorageErrorKind, says: &str) {
    let before = contents(folder.path());
    let check = |error: StorageError| {
        assert_eq!((error.kind(), error.retry()), (kind, Retry::Never));
        assert!(error.to_string().contains(says), "{error}");
    };
    check(SqliteStorage::open(path).unwrap_err());
    check(SqliteStorage::open_with(path, SqliteOptions::new().existing()).unwrap_err());
    check(SqliteStorage::open_read_only(path).unwrap_err());
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn what_is_not_ours_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("folder")).unwrap();
    refuse(&folder, &at("folder"), StorageErrorKind::Foreign, "is a folder");
    std::fs::write(at("text"), "a text, and a long one: ".repeat(20)).unwrap();
    refuse(&folder, &at("text"), StorageErrorKind::Foreign, "is not a database");
    std::fs::write(at("short"), "SQLite format 3\0").unwrap();
    refuse(&folder, &at("short"), StorageErrorKind::Foreign, "is not a database");
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let error = SqliteStorage::open(at("pipe")).unwrap_err();
    assert_eq!(
        error.kind(),
        StorageErrorKind::Foreign,
        "and it does not wait for the pipe's other end: {error}"
    );
    std::fs::remove_file(at("pipe")).unwrap();
    refuse(&folder, &at("none/test.db"), StorageErrorKind::Missing, "does not exist");
}

// The log beside a foreign database is not recovered into it either.
#[test]
fn a_foreign_database_with_a_log_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "journal_mode", "wal").unwrap();
    other.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    refuse(&folder, &path, StorageErrorKind::Foreign, "another program");
    let rows: i64 = other.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

// durable H55.
#[tokio::test]
async fn a_later_schema_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let storage = Arc::new(SqliteStorage::open(&path).unwrap());
    note(&storage, "a", 1).await;
    storage.close().await;
    let later = Connection::open(&path).unwrap();
    later.pragma_update(None, "user_version", 99).unwrap();
    drop(later);
    refuse(&folder, &path, StorageErrorKind::Newer, "schema version 99");
}

#[test]
fn nothing_is_created_where_a_store_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("empty"), "").unwrap();
    let before = contents(folder.path());
    for name in ["missing", "empty"] {
        for error in [
            SqliteStorage::open_with(at(name), SqliteOptions::new().existing()).unwrap_err(),
            SqliteStorage::open_read_only(at(name)).unwrap_err(),
        ] {
            assert_eq!(error.kind(), StorageErrorKind::Missing, "{error}");
        }
    }
    assert_eq!(contents(folder.path()), before);
    SqliteStorage::open(at("empty")).expect("an empty file becomes a store");
}

// The header in the main file is ours from the first moment on, so that it is known without reading the log.
#[tokio::test]
async fn a_store_is_known_while_it_is_open_and_unfolded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let storage = Arc::new(SqliteStorage::open(&path).unwrap());
    note(&storage, "a", 1).await;
    let second = SqliteStorage::open_with(&path, SqliteOptions::new().existing()).unwrap();
    assert!(second.session(id("a")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_reader_sees_what_is_written_meanwhile_and_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let writer = Arc::new(SqliteStorage::open(&path).unwrap());
    let reader = SqliteStorage::open_read_only(&path).unwrap();
    note(&writer, "a", 1).await;
    assert_eq!(reader.session(id("a")).await.unwrap().map(|record| record.head.get()), Some(1));
    let batch = Batch::one(SessionBatch::create(id("b"), "test"));
    let error = reader.apply(vec![batch]).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (StorageErrorKind::ReadOnly, Retry::Never));
}

#[tokio::test]
async fn a_closed_store_is_one_file_and_can_be_read_from_a_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a #?% name.db");
    let storage = Arc::new(SqliteStorage::open(&path).unwrap());
    note(&storage, "a", 1).await;
    storage.close().await;
    assert!(!folder.path().join("a #?% name.db-wal").exists(), "the log was folded in");
    let error = storage.session(id("a")).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Closed);
    let error = storage.apply(vec![Batch::new()]).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Closed);

    let before = std::fs::read(&path).unwrap();
    let mut permissions = std::fs::metadata(folder.path()).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(folder.path(), permissions.clone()).unwrap();
    let reader = Arc::new(SqliteStorage::open_read_only(&path).unwrap());
    let mut session = Session::open(reader, id("a")).await.unwrap().expect("it exists");
    assert_eq!(session.document(&NOTE).await.unwrap(), Some(value!({"n": 1})));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    #[expect(clippy::permissions_set_readonly_false, reason = "a temporary folder, to be deleted")]
    permissions.set_readonly(false);
    std::fs::set_permissions(folder.path(), permissions).unwrap();
}

// durable H38, C.3 case 25: what was handed over is answered, and is there; what comes later is told that the store was
// closed; closing twice is closing once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_answers_everybody() {
    const WRITERS: u32 = 40;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let storage = Arc::new(SqliteStorage::open(&path).unwrap());
    note(&storage, "first", 0).await;
    let mut writers = Vec::new();
    for n in 0..WRITERS {
        let storage = storage.clone();
        writers.push(tokio::spawn(async move {
            let mut committed = Vec::new();
            for turn in 0.. {
                let name = format!("{n}-{turn}");
                match storage.apply(vec![Batch::one(SessionBatch::create(id(&name), "test"))]).await {
                    Ok(_) => committed.push(name),
                    Err(error) => {
                        assert!(
                            error.kind() == StorageErrorKind::Closed || error.retry() == Retry::Unknown,
                            "{error}"
                        );
                        break;
                    }
                }
            }
            committed
        }));
    }
    tokio::task::yield_now().await;
    tokio::join!(storage.close(), storage.close());
    let anew = SqliteStorage::open(&path).unwrap();
    for writer in writers {
        for name in writer.await.unwrap() {
            assert!(anew.session(id(&name)).await.unwrap().is_some(), "{name} was acknowledged");
        }
    }
}

// Many processes may create one store at once; each finds it whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_may_be_created_by_several_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let mut openers = Vec::new();
    for n in 0..8 {
        let path = path.clone();
        openers.push(tokio::task::spawn_blocking(move || {
            let storage = Arc::new(SqliteStorage::open(path).unwrap());
            tokio::runtime::Handle::current().block_on(note(&storage, &format!("s{n}"), n));
        }));
    }
    for opener in openers {
        opener.await.unwrap();
    }
    let reader = SqliteStorage::open_read_only(&path).unwrap();
    let page = reader.sessions(jaren_durable::SessionsQuery::all()).await.unwrap();
    assert_eq!(page.items.len(), 8);
}

/// A creator that died between its two transactions leaves a file of ours that is not yet in its journal mode.
#[tokio::test]
async fn an_unfinished_creation_holds_nothing_and_is_finished_by_the_next_opening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    SqliteStorage::open(&path).unwrap().close().await;
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "journal_mode", "delete").unwrap();
    drop(connection);
    let before = contents(folder.path());
    assert_eq!(SqliteStorage::open_read_only(&path).unwrap_err().kind(), StorageErrorKind::Missing);
    let error = SqliteStorage::open_with(&path, SqliteOptions::new().existing()).unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Missing);
    assert_eq!(contents(folder.path()), before);
    let storage = Arc::new(SqliteStorage::open(&path).unwrap());
    note(&storage, "s", 1).await;
    assert!(SqliteStorage::open_read_only(&path).is_ok());
}

#[cfg(unix)]
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().mode() & 0o777))
        .collect()
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_store_and_its_copies_are_their_owner_s_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let storage = Arc::new(SqliteStorage::open(at("a.db")).unwrap());
    note(&storage, "a", 1).await;
    storage.backup(at("copy.db")).await.unwrap();
    let found = modes(folder.path());
    assert!(found.len() >= 6 && found.values().all(|mode| *mode == 0o600), "{found:?}");
    storage.close().await;

    // What the owner has opened to others stays open to them, with all that is beside it.
    for name in ["a.db", "shared.db"] {
        std::fs::File::options().create(true).append(true).open(at(name)).unwrap();
        std::fs::set_permissions(at(name), PermissionsExt::from_mode(0o660)).unwrap();
        let storage = Arc::new(SqliteStorage::open(at(name)).unwrap());
        note(&storage, "b", 1).await;
        storage.backup(at(&format!("copy-of-{name}"))).await.unwrap();
    }
    let found = modes(folder.path());
    let open = found.iter().filter(|(name, _)| *name != "copy.db").all(|(_, mode)| *mode == 0o660);
    assert!(open, "{found:?}");
}

// The turns of a store that has two names are one: the lock files are beside the file, not beside the link.
#[cfg(unix)]
#[tokio::test]
async fn a_store_is_one_by_whatever_link_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (links, stores) = (folder.path().join("links"), folder.path().join("stores"));
    std::fs::create_dir(&links).unwrap();
    std::fs::create_dir(&stores).unwrap();
    std::os::unix::fs::symlink(stores.join("test.db"), links.join("link.db")).unwrap();
    let by_link = Arc::new(SqliteStorage::open(links.join("link.db")).unwrap());
    let by_name = Arc::new(SqliteStorage::open(stores.join("test.db")).unwrap());
    assert_eq!(by_link.path(), by_name.path());
    note(&by_link, "a", 1).await;
    note(&by_name, "b", 1).await;
    let reader = SqliteStorage::open_read_only(links.join("link.db")).unwrap();
    assert!(reader.session(id("b")).await.unwrap().is_some());
    assert_eq!(modes(&links).len(), 1, "the link alone");
    let beside: Vec<String> = modes(&stores).into_keys().collect();
    assert_eq!(beside, ["test.db", "test.db-next", "test.db-shm", "test.db-turn", "test.db-wal"]);
}

/// Whoever goes on with a file that lost its name is told: what it would write is nobody's.
#[cfg(unix)]
#[tokio::test]
async fn a_store_that_is_removed_or_replaced_while_it_is_open_is_noticed() {
    for (name, replaced) in
        [("test.db", false), ("test.db", true), ("test.db-wal", false), ("test.db-wal", true)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let storage = Arc::new(SqliteStorage::open(&path).unwrap());
        note(&storage, "a", 1).await;
        let away = folder.path().join("away");
        std::fs::rename(folder.path().join(name), &away).unwrap();
        if replaced {
            std::fs::copy(&away, folder.path().join(name)).unwrap();
        }
        let creating = |name| vec![Batch::one(SessionBatch::create(id(name), "test"))];
        let error = storage.apply(creating("b")).await.unwrap_err();
        assert_eq!((error.kind(), error.retry()), (StorageErrorKind::Missing, Retry::Never), "{name}");
        assert!(error.to_string().contains("removed or replaced"), "{error}");
        if name == "test.db" {
            let error = storage.session(id("a")).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Missing);
        }
        std::fs::rename(&away, folder.path().join(name)).unwrap();
        let error = storage.apply(creating("b")).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Poisoned);
        let cause = std::error::Error::source(&error).expect("the first failure").to_string();
        assert!(cause.contains("removed or replaced"), "{cause}");
        let anew = Arc::new(SqliteStorage::open(&path).unwrap());
        assert!(anew.session(id("a")).await.unwrap().is_some());
        assert!(anew.session(id("b")).await.unwrap().is_none());
        note(&anew, "b", 1).await;
    }
}
