//! Reading all of a store and telling what does not agree.

use jaren_durable::{Body, Integrity, Replay, Seq};
use rusqlite::{Connection, Row};

use crate::fault::Fault;
use crate::jobs;
use crate::open;
use crate::read::ReadFault;
use crate::row;
use crate::schema::{COMMIT, Form, WITH_BULK, WITH_JOBS};

/// SQLite's own check of its pages and indexes, then ours of what the rows say. Inside one read transaction.
pub(crate) fn check(connection: &Connection) -> Result<Integrity, ReadFault> {
    let mut report = Integrity::default();
    if let Err(error) = pages(connection, &mut report).and_then(|()| rows(connection, &mut report)) {
        if !error.distrust && error.kind != jaren_durable::StorageErrorKind::Corrupt {
            return Err(error.into());
        }
        report.report(None, "the file cannot be read to its end");
    }
    Ok(report)
}

fn pages(connection: &Connection, report: &mut Integrity) -> Result<(), Fault> {
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let found: String = row.get(0)?;
        if found != "ok" {
            report.report(None, found);
        }
    }
    Ok(())
}

fn rows(connection: &Connection, report: &mut Integrity) -> Result<(), Fault> {
    report.sessions = count(connection, "SELECT count(*) FROM sessions")?;
    report.commits = count(connection, "SELECT count(*) FROM log WHERE document = 0")?;
    for (sql, what) in CONTRADICTIONS {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            report.report(row.get::<_, Option<String>>(0)?.as_deref(), *what);
        }
    }
    labels(connection, report)?;
    revisions(connection, report)?;
    let version = open::schema_version(connection)?;
    if version >= WITH_BULK {
        bulk(connection, report)?;
    }
    if version >= WITH_JOBS {
        jobs::integrity(connection, report)?;
    }
    Ok(())
}

fn count(connection: &Connection, sql: &str) -> Result<u64, Fault> {
    let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Queries that find nothing in a sound store: the session, and what is wrong with it.
const CONTRADICTIONS: &[(&str, &str)] = &[
    (
        "SELECT NULL FROM log WHERE (session = 0) <> (form = 4) OR form NOT BETWEEN 0 AND 4",
        "the log has an entry of an unknown form",
    ),
    (
        "SELECT id FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM log WHERE session = s.number AND document = 0)",
        "it has no commit",
    ),
    (
        "SELECT s.id FROM log l JOIN sessions s ON s.number = l.session WHERE l.document = 0
         GROUP BY l.session HAVING max(l.seq) - min(l.seq) + 1 <> count(*)",
        "its commits are not numbered without gaps",
    ),
    (
        "SELECT DISTINCT s.id FROM log l LEFT JOIN sessions s ON s.number = l.session
         LEFT JOIN documents d ON d.number = l.document AND d.session = l.session
         WHERE l.session <> 0 AND (s.number IS NULL OR (l.document <> 0 AND d.number IS NULL))",
        "the log has entries of a session or a document that does not exist",
    ),
    (
        "SELECT DISTINCT s.id FROM log l JOIN sessions s ON s.number = l.session
         WHERE l.document <> 0
           AND l.seq >= (SELECT min(seq) FROM log WHERE session = l.session AND document = 0)
           AND NOT EXISTS (SELECT 1 FROM log WHERE session = l.session AND document = 0 AND seq = l.seq)",
        "a document was changed by a commit that does not exist",
    ),
    (
        "SELECT DISTINCT s.id FROM documents d JOIN sessions s ON s.number = d.session
         WHERE d.retention <> 2 AND (d.retired IS NOT NULL) <> EXISTS (SELECT 1 FROM log
           WHERE session = d.session AND document = d.number AND form = 3 AND seq IS d.retired)",
        "a document's end is not what the log says",
    ),
];

/// The labels of each session and their index must be the same.
fn labels(connection: &Connection, report: &mut Integrity) -> Result<(), Fault> {
    let mut sessions = connection.prepare("SELECT number, id, kind, labels FROM sessions")?;
    let mut listed = 0u64;
    let mut rows = sessions.query([])?;
    while let Some(row) = rows.next()? {
        let (number, id, kind): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let Ok(labels) = row::labels(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?) else {
            report.report(Some(&id), "its labels are not what they should be");
            continue;
        };
        listed = listed.saturating_add(labels.len() as u64);
        for (name, value) in &labels {
            let sql = "SELECT 1 FROM labels WHERE kind = ?1 AND name = ?2 AND value = ?3 AND session = ?4";
            let mut statement = connection.prepare_cached(sql)?;
            if !statement.exists(rusqlite::params![kind, &**name, &**value, number])? {
                report.report(Some(&id), "a label is not in the index");
            }
        }
    }
    if count(connection, "SELECT count(*) FROM labels")? != listed {
        report.report(None, "the index of labels has entries that no session has");
    }
    Ok(())
}

/// Every document must replay from a base, delta by delta, to the version that its row names.
fn revisions(connection: &Connection, report: &mut Integrity) -> Result<(), Fault> {
    let mut statement = connection.prepare(
        "SELECT l.document, l.seq, l.form, l.detail, l.body, s.id, d.version
         FROM log l JOIN documents d ON d.number = l.document AND d.session = l.session
         JOIN sessions s ON s.number = l.session
         WHERE l.document <> 0 ORDER BY l.session, l.document, l.seq",
    )?;
    let mut rows = statement.query([])?;
    let mut document = Document::default();
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        if number != document.number {
            document.end(report);
            document = Document { number, session: row.get(5)?, version: row.get(6)?, ..Document::default() };
        }
        report.revisions = report.revisions.saturating_add(u64::from(document.next(row)?));
    }
    document.end(report);
    Ok(())
}

/// Every living document of bulk retention has a value of the version that its row names, and nothing else has.
fn bulk(connection: &Connection, report: &mut Integrity) -> Result<(), Fault> {
    let mut statement = connection.prepare(
        "SELECT s.id, d.version, b.version, b.body
         FROM documents d JOIN sessions s ON s.number = d.session LEFT JOIN bulk b ON b.document = d.number
         WHERE d.retention = 2 AND d.retired IS NULL",
    )?;
    let mut rows = statement.query([])?;
    let mut values = 0u64;
    while let Some(row) = rows.next()? {
        let body = row.get::<_, Option<String>>(3)?.map(Body::stored);
        values = values.saturating_add(u64::from(body.is_some()));
        let readable = body.is_some_and(|body| body.value().is_ok());
        if !readable || row.get::<_, i64>(1)? != row.get::<_, i64>(2)? {
            report.report(Some(&row.get::<_, String>(0)?), "a value of bulk retention cannot be read");
        }
    }
    report.revisions = report.revisions.saturating_add(values);
    if count(connection, "SELECT count(*) FROM bulk")? != values {
        report.report(None, "there are values of bulk retention that no document has");
    }
    Ok(())
}

/// A document while its revisions pass.
#[derive(Default)]
struct Document {
    number: i64,
    session: String,
    /// The schema version of its row.
    version: i64,
    replay: Option<Replay>,
    last_version: i64,
    broken: bool,
}

impl Document {
    /// Whether the row was a base or a delta.
    fn next(&mut self, row: &Row<'_>) -> Result<bool, Fault> {
        let (seq, form): (Seq, i64) = (row::seq(row.get(1)?)?, row.get(2)?);
        if form == Form::Retired as i64 {
            return Ok(false);
        }
        let version: i64 = row.get(3)?;
        let Some(body) = row.get::<_, Option<String>>(4)?.map(Body::stored) else {
            self.broken = true;
            return Ok(true);
        };
        if form == Form::Base as i64 {
            self.replay = Replay::base(seq, row::schema_version(version)?, &body).ok();
            self.broken |= self.replay.is_none();
        } else {
            let replayed = self.replay.as_mut().is_some_and(|replay| replay.delta(seq, &body).is_ok());
            self.broken |= form != Form::Delta as i64 || !replayed || version != self.last_version;
        }
        self.last_version = version;
        Ok(true)
    }

    fn end(&self, report: &mut Integrity) {
        if self.number != COMMIT && (self.broken || self.last_version != self.version) {
            report.report(Some(&self.session), "a document's revisions cannot be replayed");
        }
    }
}
