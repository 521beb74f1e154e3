//! Opening a file: refusing what is not ours before touching it, creating what is missing, setting up connections.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{Retry, StorageError, StorageErrorKind};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::fault::Fault;
use crate::options::Durability;
use crate::place::{self, Identity};
use crate::schema;

/// How long a connection waits for another process inside SQLite.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Prepared statements that a connection keeps; more than this crate has.
const STATEMENTS_MAX: usize = 64;

const OPEN: &str = "open the store";

/// What the bytes of a file say before SQLite sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    Empty,
    /// A store whose creator died before it was done: there is no commit in it, and whoever opens it to write finishes it.
    Unfinished,
    Ours,
}

/// Looks at a file without changing it, and refuses what is not a store of this schema or an older one.
///
/// It reads the bytes itself: to open a foreign database with SQLite may already write to it (a log beside it is
/// recovered). The header of our files is in the main file from their creation on.
pub(crate) fn inspect(path: &Path) -> Result<Found, StorageError> {
    // Asked before it is opened: to open a pipe would wait for its other end.
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return missing_parent(path),
        Err(error) => return Err(inaccessible(path, error)),
    };
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a folder" } else { "not a regular file" };
        return Err(foreign(path, &format!("is {what}; name a file")));
    }
    let file = File::open(path).map_err(|error| inaccessible(path, error))?;
    let mut header = Vec::with_capacity(100);
    file.take(100).read_to_end(&mut header).map_err(|error| inaccessible(path, error))?;
    if header.is_empty() {
        return Ok(Found::Empty);
    }
    if !header.starts_with(b"SQLite format 3\0") || header.len() < 100 {
        return Err(foreign(path, "is not a database; name another file, or none to create one"));
    }
    check_identity(path, header_number(&header, 68), header_number(&header, 60))?;
    Ok(if is_finished(path, &header) { Found::Ours } else { Found::Unfinished })
}

/// Whether the creation of a store is over: its header names the write-ahead log, and the rollback journal under
/// which it was created is gone. SQLite cannot read a file with such a journal without writing.
fn is_finished(path: &Path, header: &[u8]) -> bool {
    const WRITE_AHEAD_LOG: u8 = 2;
    let journal_is_empty =
        fs::metadata(place::beside(path, "-journal")).map_or(true, |metadata| metadata.len() == 0);
    journal_is_empty && header.get(18) == Some(&WRITE_AHEAD_LOG)
}

/// A big-endian number of the database header.
fn header_number(header: &[u8], at: usize) -> i32 {
    header.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| i32::from_be_bytes(*bytes))
}

fn check_identity(path: &Path, application: i32, version: i32) -> Result<(), StorageError> {
    if application != schema::APPLICATION_ID {
        return Err(foreign(path, "is a database of another program; name another file"));
    }
    if version > schema::VERSION {
        let message = format!(
            "{} was written by a later release: it has schema version {version}, and this one knows {}; use the \
             later release",
            path.display(),
            schema::VERSION
        );
        return Err(StorageError::new(StorageErrorKind::Newer, Retry::Never, OPEN, message));
    }
    Ok(())
}

fn missing_parent(path: &Path) -> Result<Found, StorageError> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            let message = format!("the folder {} does not exist; create it", parent.display());
            Err(StorageError::new(StorageErrorKind::Missing, Retry::Never, OPEN, message))
        }
        _ => Ok(Found::Nothing),
    }
}

fn foreign(path: &Path, what: &str) -> StorageError {
    let message = format!("{} {what}", path.display());
    StorageError::new(StorageErrorKind::Foreign, Retry::Never, OPEN, message)
}

/// There is no store, and none is to be created.
pub(crate) fn missing(path: &Path) -> StorageError {
    let message = format!("there is no store at {}", path.display());
    StorageError::new(StorageErrorKind::Missing, Retry::Never, OPEN, message)
}

fn inaccessible(path: &Path, error: std::io::Error) -> StorageError {
    let (kind, message) = match error.kind() {
        ErrorKind::PermissionDenied => (
            StorageErrorKind::ReadOnly,
            format!("{} may not be accessed; check its permissions", path.display()),
        ),
        _ => (StorageErrorKind::Io, format!("{} cannot be read", path.display())),
    };
    StorageError::new(kind, Retry::Never, OPEN, message).with_source(error)
}

/// The one name of a file that exists. The files beside a store are beside what a link leads to: whoever opens the store
/// by another name must find the same locks.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, StorageError> {
    fs::canonicalize(path).map_err(|error| inaccessible(path, error))
}

/// Creates a file that is missing, and refuses one that this process may not write, before SQLite tries.
pub(crate) fn prepare(path: &Path, found: Found) -> Result<(), StorageError> {
    if found == Found::Nothing {
        return place::create(path).map_err(|error| {
            let kind = match error.kind() {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => StorageErrorKind::ReadOnly,
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageErrorKind::Full,
                _ => StorageErrorKind::Io,
            };
            let message = format!("{} cannot be created; check its folder's permissions", path.display());
            StorageError::new(kind, Retry::Never, OPEN, message).with_source(error)
        });
    }
    match fs::OpenOptions::new().write(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) => {
            let message = format!("{} may not be written; check its permissions", path.display());
            Err(StorageError::new(StorageErrorKind::ReadOnly, Retry::Never, OPEN, message).with_source(error))
        }
    }
}

/// Makes a new file a store, brings an older schema to the newest, and does nothing else to a store. Several
/// processes may do so at once.
///
/// The tables are created under a rollback journal, so that the header in the main file is ours from the first
/// moment on; then the file is switched to the write-ahead log for good.
pub(crate) fn create(path: &Path) -> Result<(), StorageError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(opening(path))?;
    let (application, version) = create_tables(&mut connection).map_err(opening(path))?;
    check_identity(path, application, version)?;
    let mode = switch_to_log(&connection).map_err(opening(path))?;
    if mode != "wal" {
        let message = format!("{}: the file system does not support a write-ahead log", path.display());
        return Err(StorageError::new(StorageErrorKind::Io, Retry::Never, OPEN, message));
    }
    Ok(())
}

/// Creates the tables in an empty database, and answers the identity of what is there then.
fn create_tables(connection: &mut Connection) -> rusqlite::Result<(i32, i32)> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let found = identity(connection)?;
    if found.0 == schema::APPLICATION_ID && found.1 >= schema::VERSION {
        return Ok(found); // without the lock that a busy store would make us wait for
    }
    connection.pragma_update(None, "page_size", schema::PAGE_BYTES)?; // of a new file; others have theirs
    upgrade(connection, schema::UPGRADES)
}

/// Takes the steps that a store lacks, all or none; a database of somebody else lacks none.
fn upgrade(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<(i32, i32)> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let done = match identity(&transaction)? {
        (0, _) if tables == 0 => Some(0),
        (schema::APPLICATION_ID, version) => usize::try_from(version).ok(),
        _ => None,
    };
    if let Some(missing) = done.and_then(|done| steps.get(done..))
        && !missing.is_empty()
    {
        for step in missing {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", i64::try_from(steps.len()).unwrap_or(i64::MAX))?;
    }
    transaction.commit()?;
    identity(connection)
}

/// The application and schema version that a file names.
pub(crate) fn identity(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let application = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok((application, schema_version(connection)?))
}

/// The schema version of the file now; a reader may meet an older one.
pub(crate) fn schema_version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Has the file written by way of a log, for good; answers the mode that it is in then.
pub(crate) fn switch_to_log(connection: &Connection) -> rusqlite::Result<String> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode == "wal" {
        return Ok(mode);
    }
    connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
}

fn opening(path: &Path) -> impl Fn(rusqlite::Error) -> StorageError {
    move |error| {
        let fault = Fault::definite(error);
        let message = match fault.kind {
            StorageErrorKind::ReadOnly => "may not be written; check its permissions and its folder's",
            StorageErrorKind::Full => "cannot be created: the disk is full",
            StorageErrorKind::Busy => "is kept busy by another process",
            _ => "cannot be opened; check its permissions, its folder's, and that the disk is not full",
        };
        let message = format!("{} {message}", path.display());
        StorageError::new(fault.kind, fault.retry, OPEN, message).with_source(fault.error(OPEN))
    }
}

/// The connection of the writer.
pub(crate) fn writer(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.pragma_update(None, "synchronous", durability.synchronous())?;
    // The checkpoint thread moves the log; the commit path never does.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(connection)
}

/// Where readers' connections come from.
#[derive(Debug, Clone)]
pub(crate) struct ReaderSource {
    path: Arc<Path>,
    identity: Option<Identity>,
}

impl ReaderSource {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.into(), identity: Identity::of(path) }
    }

    /// Refuses to read on when the store's name stands for another file, or for none: a reader would see the old one
    /// for ever.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if Identity::of(&self.path) == self.identity { Ok(()) } else { Err(Fault::replaced()) }
    }

    /// A connection that cannot write.
    ///
    /// SQLite needs its index of the log even to read. Where that cannot be created (a folder that we may not
    /// write, a full disk) and the log holds nothing, nobody is writing, and the file is read as it stands.
    pub(crate) fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        match connection.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0)) {
            Ok(_) => Ok(connection),
            Err(error) if cannot_open(&error) && !self.log_holds_commits() => self.connect_immutable(),
            Err(error) => Err(error),
        }
    }

    fn log_holds_commits(&self) -> bool {
        fs::metadata(place::beside(&self.path, "-wal")).is_ok_and(|metadata| metadata.len() > 0)
    }

    fn connect_immutable(&self) -> rusqlite::Result<Connection> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(immutable_uri(&self.path), flags)
    }
}

fn cannot_open(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(CannotOpen | DiskFull | ReadOnly | SystemIoFailure))
}

/// The path as a URI; everything but plain characters is escaped.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?immutable=1");
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    // Tests that run as root cannot make a folder unwritable, so the last resort is called by itself.
    #[test]
    fn a_closed_store_can_be_read_as_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a #?%\u{e9} name.db");
        create(&path).unwrap();
        let before = fs::read_dir(folder.path()).unwrap().count();
        let source = ReaderSource::new(&path);
        assert!(!source.log_holds_commits());
        let connection = source.connect_immutable().unwrap();
        let tables: i64 = connection.query_row("SELECT count(*) FROM log", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before, "nothing was created beside it");
    }

    #[test]
    fn an_older_schema_takes_the_steps_that_it_lacks_all_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let mut connection = Connection::open(&path).unwrap();
        upgrade(&mut connection, schema::UPGRADES).unwrap();
        let mut steps = schema::UPGRADES.to_vec();
        steps
            .extend(["CREATE TABLE more (x)", "INSERT INTO more VALUES (1); INSERT INTO nothing VALUES (1)"]);
        upgrade(&mut connection, &steps).expect_err("the last step cannot be taken");
        assert_eq!(identity(&connection).unwrap(), (schema::APPLICATION_ID, schema::VERSION));
        let count = |connection: &Connection| {
            connection.query_row("SELECT count(*) FROM more", [], |row| row.get::<_, i64>(0))
        };
        count(&connection).expect_err("the step before it was not taken either");

        steps[schema::UPGRADES.len() + 1] = "INSERT INTO more VALUES (1)";
        for _ in 0..2 {
            let found = upgrade(&mut connection, &steps).unwrap();
            assert_eq!(found, (schema::APPLICATION_ID, schema::VERSION + 2));
            assert_eq!(count(&connection).unwrap(), 1, "each step is taken once");
        }
        assert_eq!(upgrade(&mut connection, &steps[..1]).unwrap().1, schema::VERSION + 2, "never back");
    }

    #[test]
    fn jobs_that_are_older_than_their_counts_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(folder.path().join("test.db")).unwrap();
        upgrade(&mut connection, &schema::UPGRADES[..4]).unwrap();
        let add = "INSERT INTO jobs (id, kind, payload, priority, max_attempts, created, updated, version, state,
              run_at, attempts, generation) SELECT value, 'k', '{}', 0, 1, 0, 0, 1, value % 3, 0, 0, 0 FROM json_each(?1)";
        connection.execute(add, ["[1,2,3,4,5]"]).unwrap();
        let counts = |connection: &Connection| -> Vec<usize> {
            let counts = crate::jobs::counts(connection).ok().unwrap();
            assert!(counts.len() <= 1, "there is one kind");
            let of = |state| counts.first().map_or(0, |counts| counts.of(state));
            let of = |state| usize::try_from(of(state)).unwrap();
            use jaren_durable::JobState::{Failed, Leased, Pending};
            [Pending, Leased, Failed].map(of).into()
        };
        assert_eq!(counts(&connection), [1, 2, 2], "read from the jobs, where nothing counts them");
        upgrade(&mut connection, schema::UPGRADES).unwrap();
        assert_eq!(counts(&connection), [1, 2, 2]);
        connection.execute(add, ["[6]"]).unwrap();
        connection.execute("UPDATE jobs SET state = 1 WHERE id IN ('2', '5')", []).unwrap();
        assert_eq!(counts(&connection), [2, 4, 0]);
        connection.execute("DELETE FROM jobs", []).unwrap();
        assert_eq!(counts(&connection), [0, 0, 0]);
        let rows: i64 =
            connection.query_row("SELECT count(*) FROM job_counts", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0);
    }

    #[test]
    fn a_store_is_made_in_steps_that_may_each_be_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let mut connection = Connection::open(&path).unwrap();
        create_tables(&mut connection).unwrap();
        drop(connection); // before the switch to the log
        assert_eq!(inspect(&path).unwrap(), Found::Unfinished);
        create(&path).unwrap();
        assert_eq!(inspect(&path).unwrap(), Found::Ours);
        let connection = ReaderSource::new(&path).connect().unwrap();
        assert_eq!(switch_to_log(&connection).unwrap(), "wal");
    }
}
