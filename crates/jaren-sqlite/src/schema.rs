//! The tables of a store file, and how such a file is known.
//!
//! The log is the store: every commit appends one entry for itself and one for each document that it changed, and
//! the entry's number is the order of all commits of the file. One index finds a session's commits (document 0) and
//! a document's revisions. The head of a session is its greatest commit, not a column, so that a commit touches the
//! end of the log and one index page.

/// `application_id` of our files: "JARN".
pub(crate) const APPLICATION_ID: i32 = 0x4A41_524E;

/// `user_version` of the newest schema. A greater one is a later release's.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a handful")]
pub(crate) const VERSION: i32 = UPGRADES.len() as i32;

/// What leads to each schema version from the one before: the first makes the tables in an empty file.
///
/// A step that was released is never changed; a new schema is one more. A new file takes all of them, so that it
/// is what an old one becomes. A step adds and does not take away: other processes may have the file open, and a
/// reader, which cannot upgrade, reads older versions.
pub(crate) const UPGRADES: &[&str] = &[VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5];

/// Bytes of a page. A commit dirties a few pages however small it is, so small ones cost a third less log than
/// SQLite's 4096, and less time.
pub(crate) const PAGE_BYTES: i64 = 2048;

/// The schema of version 1.
///
/// `log.detail` is a commit's time in Unix milliseconds, and a revision's schema version. `log.body` is a base's
/// value, a delta's operations, and a commit's label changes (null if it has none), as JSON.
const VERSION_1: &str = "
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  labels TEXT NOT NULL,
  created INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_kind ON sessions (kind);

CREATE TABLE labels (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  session INTEGER NOT NULL,
  PRIMARY KEY (kind, name, value, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
  number INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  kind TEXT NOT NULL,
  member INTEGER NOT NULL,
  key TEXT NOT NULL,
  retention INTEGER NOT NULL,
  version INTEGER NOT NULL,
  created INTEGER NOT NULL,
  retired INTEGER
) STRICT;
CREATE UNIQUE INDEX documents_living ON documents (session, kind, member, key) WHERE retired IS NULL;
CREATE INDEX documents_retired ON documents (session, kind, member, key, created) WHERE retired IS NOT NULL;

CREATE TABLE log (
  entry INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  document INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  form INTEGER NOT NULL,
  detail INTEGER NOT NULL,
  body TEXT
) STRICT;
CREATE UNIQUE INDEX log_by_document ON log (session, document, seq);
";

/// Version 2 adds the values of documents of bulk retention. Their only other row is the one in `documents`.
///
/// From it on `documents.kind` may name a scope (see `row::kind`), and a commit's `log.body` may count what it did to
/// such documents (see `row::summary_text`).
const VERSION_2: &str = "
CREATE TABLE bulk (
  document INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
";

/// The schema version from which on there are values of bulk retention.
pub(crate) const WITH_BULK: i32 = 2;

/// Version 3 adds jobs. `ready` is when a job may be claimed next, null if never; the index is the order of claims.
const VERSION_3: &str = "
CREATE TABLE jobs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  priority INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  version INTEGER NOT NULL,
  state INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  token TEXT,
  owner TEXT,
  until INTEGER,
  detail TEXT,
  ready INTEGER
) STRICT;
CREATE INDEX jobs_to_claim ON jobs (priority DESC, run_at, created, id) WHERE ready IS NOT NULL;
";

/// The schema version from which on there are jobs.
pub(crate) const WITH_JOBS: i32 = 3;

/// Version 4 changes no table: from it on sessions may be removed, and the log may have the note of that.
const VERSION_4: &str = "";

/// Version 5 counts jobs by kind and state where they are written, whoever writes them: to count them when somebody asks would
/// read every row. A count of none has no row.
const VERSION_5: &str = "
CREATE TABLE job_counts (
  kind TEXT NOT NULL,
  state INTEGER NOT NULL,
  jobs INTEGER NOT NULL,
  PRIMARY KEY (kind, state)
) STRICT, WITHOUT ROWID;
INSERT INTO job_counts SELECT kind, state, count(*) FROM jobs GROUP BY kind, state;

CREATE TRIGGER jobs_counted_in AFTER INSERT ON jobs BEGIN
  INSERT INTO job_counts VALUES (new.kind, new.state, 1) ON CONFLICT (kind, state) DO UPDATE SET jobs = jobs + 1;
END;
CREATE TRIGGER jobs_counted_out AFTER DELETE ON jobs BEGIN
  UPDATE job_counts SET jobs = jobs - 1 WHERE kind = old.kind AND state = old.state;
  DELETE FROM job_counts WHERE kind = old.kind AND state = old.state AND jobs = 0;
END;
CREATE TRIGGER jobs_counted_over AFTER UPDATE OF state ON jobs WHEN new.state <> old.state BEGIN
  UPDATE job_counts SET jobs = jobs - 1 WHERE kind = old.kind AND state = old.state;
  DELETE FROM job_counts WHERE kind = old.kind AND state = old.state AND jobs = 0;
  INSERT INTO job_counts VALUES (new.kind, new.state, 1) ON CONFLICT (kind, state) DO UPDATE SET jobs = jobs + 1;
END;
";

/// The schema version from which on jobs are counted.
pub(crate) const WITH_JOB_COUNTS: i32 = 5;

/// `log.session` of the one note that sessions were removed, which no session has as its number. Its `document` is the
/// greatest number that a removed session had.
pub(crate) const REMOVALS: i64 = 0;

/// `log.form`: what an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Commit = 0,
    Base = 1,
    Delta = 2,
    Retired = 3,
    Removals = 4,
}

/// `log.document` of an entry that stands for the commit itself.
pub(crate) const COMMIT: i64 = 0;
