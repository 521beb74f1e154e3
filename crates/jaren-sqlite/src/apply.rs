//! Applying a batch inside an open transaction: all conditions first, then the writes.

use std::collections::HashMap;
use std::sync::Arc;

use jaren_durable::{
    Address, Batch, Body, BulkChange, CommitId, Committed, Expected, Labels, Outcome, Refusal, Retention,
    Seq, SessionBatch, SessionId, Write,
};
use jaren_host::Timestamp;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use crate::fault::Fault;
use crate::jobs;
use crate::read;
use crate::row::{self, as_i64};
use crate::schema::{COMMIT, Form};

/// Sessions and documents that the writer remembers; beyond that it forgets all and reads again.
const REMEMBERED_MAX: usize = 20_000;

/// What the writer remembers of the sessions that it wrote. It is forgotten when another process has written and
/// after every failure.
#[derive(Default)]
pub(crate) struct Memory {
    /// The place of each session in `known`, so that a batch looks for a name once.
    places: HashMap<SessionId, usize>,
    /// What was forgotten by its name alone stays here until all is forgotten.
    known: Vec<Known>,
    /// At least as many as are remembered.
    remembered: usize,
}

struct Known {
    number: i64,
    kind: Arc<str>,
    head: Seq,
    labels: Labels,
    living: HashMap<Address, Living>,
}

#[derive(Clone, Copy, PartialEq)]
struct Living {
    number: i64,
    version: u32,
    retention: Retention,
}

/// A session's part of a batch whose conditions hold.
struct Checked {
    /// None if the session is to be created.
    place: Option<usize>,
    labels: Option<Labels>,
    living: Vec<Option<Living>>,
}

/// The log in a transaction that may write. Whoever writes much makes it once: looking for the prepared statement at each
/// entry took a tenth of a commit's time.
pub(crate) struct Log<'c> {
    connection: &'c Connection,
    append: CachedStatement<'c>,
}

impl<'c> Log<'c> {
    pub(crate) fn of(connection: &'c Connection) -> Result<Self, Fault> {
        let append = connection.prepare_cached(
            "INSERT INTO log (session, document, seq, form, detail, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        Ok(Self { connection, append })
    }
}

impl Memory {
    pub(crate) fn forget(&mut self) {
        self.places.clear();
        self.known.clear();
        self.remembered = 0;
    }

    /// Counts what is remembered, and forgets it if that is so much that counting would come again soon. Sessions that are
    /// written all the time were counted at each write; they stay.
    fn recount(&mut self) {
        self.remembered = self.known.iter().map(|known| known.living.len() + 1).sum();
        if self.remembered > REMEMBERED_MAX / 2 {
            self.forget();
        }
    }

    pub(crate) fn forget_session(&mut self, session: &SessionId) {
        self.places.remove(session);
    }

    /// Applies one batch. An error leaves the transaction to be rolled back.
    pub(crate) fn apply(
        &mut self,
        log: &mut Log<'_>,
        batch: &Batch,
        time: Timestamp,
    ) -> Result<Outcome, Fault> {
        if let Err(refusal) = batch.check() {
            return Ok(Outcome::Refused(refusal));
        }
        if self.remembered > REMEMBERED_MAX {
            self.recount();
        }
        let touched = batch.sessions.iter().map(|part| part.writes.len() + 1).sum::<usize>();
        self.remembered += touched;
        let connection = log.connection;
        let mut places = Vec::with_capacity(batch.sessions.len());
        for part in &batch.sessions {
            let place = self.place(connection, &part.session)?;
            let found = self.at(place).map(|known| known.newest()).transpose()?;
            if let Err(conflict) = part.check_found(found) {
                return Ok(Outcome::Conflict(conflict));
            }
            places.push(place);
        }
        if let Err(conflict) = jobs::check(connection, batch, time)? {
            return Ok(Outcome::JobConflict(conflict));
        }
        let mut checked = Vec::with_capacity(batch.sessions.len());
        for (part, place) in batch.sessions.iter().zip(places) {
            match self.check(connection, part, place)? {
                Ok(part) => checked.push(part),
                Err(refusal) => return Ok(Outcome::Refused(refusal)),
            }
        }
        let mut commits = Vec::with_capacity(batch.sessions.len());
        for (part, checked) in batch.sessions.iter().zip(checked) {
            commits.push(self.write(log, part, checked, time)?);
        }
        let enqueued = jobs::write(connection, &batch.jobs, time)?;
        Ok(Outcome::Committed(Committed::new(commits, time, enqueued)))
    }

    /// Where a session is that exists; it is read if it is not known yet.
    fn place(&mut self, connection: &Connection, session: &SessionId) -> Result<Option<usize>, Fault> {
        if let Some(place) = self.places.get(session) {
            return Ok(Some(*place));
        }
        let Some(found) = read::session_row(connection, session)? else { return Ok(None) };
        let (head, _) = read::head(connection, found.number)?;
        let read::SessionRow { number, kind, labels, .. } = found;
        Ok(Some(self.remember(session, Known { number, kind, head, labels, living: HashMap::new() })))
    }

    fn remember(&mut self, session: &SessionId, known: Known) -> usize {
        let place = self.known.len();
        self.known.push(known);
        self.places.insert(session.clone(), place);
        place
    }

    fn at(&mut self, place: Option<usize>) -> Option<&mut Known> {
        self.known.get_mut(place?)
    }

    fn check(
        &mut self,
        connection: &Connection,
        part: &SessionBatch,
        place: Option<usize>,
    ) -> Result<Result<Checked, Refusal>, Fault> {
        let mut known = self.at(place);
        let mut living = Vec::with_capacity(part.writes.len());
        for write in &part.writes {
            let found = match &mut known {
                Some(known) => known.living(connection, write.address())?,
                None => None,
            };
            if let Err(kind) = write.check(found.map(|living| (living.version, living.retention))) {
                let (session, address) = (Some(part.session.clone()), Some(write.address().clone()));
                return Ok(Err(Refusal::new(session, address, kind)));
            }
            living.push(found);
        }
        if part.labels.is_empty() {
            return Ok(Ok(Checked { place, labels: None, living }));
        }
        let labels = part.labels_over(known.as_ref().map_or(&Labels::new(), |known| &known.labels));
        Ok(labels.map(|labels| Checked { place, labels: Some(labels), living }))
    }

    fn write(
        &mut self,
        log: &mut Log<'_>,
        part: &SessionBatch,
        checked: Checked,
        time: Timestamp,
    ) -> Result<CommitId, Fault> {
        let place = match &part.expected {
            Expected::Absent { kind } => {
                let known = create_session(log.connection, &part.session, kind, time)?;
                Some(self.remember(&part.session, known))
            }
            Expected::Head(_) => checked.place,
        };
        let known = self.at(place);
        let known = known.ok_or_else(|| Fault::corrupt("a session vanished within a transaction"))?;
        let seq = known.head.next();
        let mut entry = Entry { log, session: known.number, seq: as_i64(seq.get())? };
        let summary = row::summary_text(&part.labels, &bulk_changes(part, &checked.living))?;
        entry.append(COMMIT, Form::Commit, time.as_millis(), summary.as_deref())?;
        for (write, before) in part.writes.iter().zip(checked.living) {
            let after = entry.write(write, before)?;
            match after {
                // What lived before is known since it was checked.
                Some(_) if after == before => None,
                Some(after) => known.living.insert(write.address().clone(), after),
                None => known.living.remove(write.address()),
            };
        }
        if let Some(labels) = checked.labels {
            write_labels(entry.log.connection, known, &labels)?;
            known.labels = labels;
        }
        known.head = seq;
        known.newest()
    }
}

impl Known {
    fn newest(&self) -> Result<CommitId, Fault> {
        Ok(CommitId { session: row::session_number(self.number)?, seq: self.head })
    }

    fn living(&mut self, connection: &Connection, address: &Address) -> Result<Option<Living>, Fault> {
        if let Some(living) = self.living.get(address) {
            return Ok(Some(*living));
        }
        let mut statement = connection.prepare_cached(
            "SELECT number, version, retention FROM documents
             WHERE session = ?1 AND kind = ?2 AND member = ?3 AND key = ?4 AND retired IS NULL",
        )?;
        let (member, key) = row::key(address);
        let found = statement
            .query_row(params![self.number, row::kind(address.scope(), address.kind()), member, key], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        let Some((number, version, retention)) = found else { return Ok(None) };
        let living = Living { number, version, retention: row::retention(retention)? };
        self.living.insert(address.clone(), living);
        Ok(Some(living))
    }
}

/// One commit of one session being written.
struct Entry<'a, 'c> {
    log: &'a mut Log<'c>,
    session: i64,
    seq: i64,
}

impl Entry<'_, '_> {
    fn append(&mut self, document: i64, form: Form, detail: i64, body: Option<&str>) -> Result<(), Fault> {
        self.log.append.execute(params![self.session, document, self.seq, form as i64, detail, body])?;
        Ok(())
    }

    /// Writes one document, and answers what then lives at its address.
    fn write(&mut self, write: &Write, living: Option<Living>) -> Result<Option<Living>, Fault> {
        match (write, living) {
            (Write::Base { version, body, .. }, Some(living)) => {
                self.base(living, *version, body)?;
                if living.version != *version {
                    self.set_version(living.number, *version)?;
                }
                Ok(Some(Living { version: *version, ..living }))
            }
            (Write::Base { address, retention, version, body }, None) => {
                let number = self.create_document(address, *retention, *version)?;
                let living = Living { number, version: *version, retention: *retention };
                self.base(living, *version, body)?;
                Ok(Some(living))
            }
            (Write::Delta { version, body, .. }, Some(living)) => {
                self.append(living.number, Form::Delta, i64::from(*version), Some(body.as_str()))?;
                Ok(Some(living))
            }
            (Write::Retire { .. }, Some(living)) => {
                if living.retention == Retention::Bulk {
                    let sql = "DELETE FROM bulk WHERE document = ?1";
                    self.log.connection.prepare_cached(sql)?.execute([living.number])?;
                } else {
                    self.append(living.number, Form::Retired, 0, None)?;
                }
                let sql = "UPDATE documents SET retired = ?2 WHERE number = ?1";
                self.log.connection.prepare_cached(sql)?.execute([living.number, self.seq])?;
                Ok(None)
            }
            _ => Err(Fault::corrupt("a write of an unknown form passed the checks")),
        }
    }

    fn base(&mut self, living: Living, version: u32, body: &Body) -> Result<(), Fault> {
        if living.retention != Retention::Bulk {
            return self.append(living.number, Form::Base, i64::from(version), Some(body.as_str()));
        }
        let sql = "INSERT OR REPLACE INTO bulk (document, seq, version, body) VALUES (?1, ?2, ?3, ?4)";
        let values = params![living.number, self.seq, version, body.as_str()];
        self.log.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn set_version(&self, document: i64, version: u32) -> Result<(), Fault> {
        let sql = "UPDATE documents SET version = ?2 WHERE number = ?1";
        self.log.connection.prepare_cached(sql)?.execute([document, i64::from(version)])?;
        Ok(())
    }

    fn create_document(&self, address: &Address, retention: Retention, version: u32) -> Result<i64, Fault> {
        let mut statement = self.log.connection.prepare_cached(
            "INSERT INTO documents (session, kind, member, key, retention, version, created)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        let (member, key) = row::key(address);
        let retention = row::retention_number(retention)?;
        let kind = row::kind(address.scope(), address.kind());
        let values = params![self.session, kind, member, key, retention, version, self.seq];
        Ok(statement.insert(values)?)
    }
}

/// What the part does to documents of bulk retention, counted by kind.
fn bulk_changes(part: &SessionBatch, living: &[Option<Living>]) -> Vec<BulkChange> {
    let mut changes = Vec::new();
    for (write, living) in part.writes.iter().zip(living) {
        let retention = match (write, living) {
            (_, Some(living)) => living.retention,
            (Write::Base { retention, .. }, None) => *retention,
            _ => continue,
        };
        if retention == Retention::Bulk {
            BulkChange::count(&mut changes, write.address(), matches!(write, Write::Retire { .. }));
        }
    }
    changes
}

fn create_session(
    connection: &Connection,
    session: &SessionId,
    kind: &Arc<str>,
    time: Timestamp,
) -> Result<Known, Fault> {
    // A number that was once given is never given again, so that it may be the cursor of a list.
    let sql = "INSERT INTO sessions (number, id, kind, labels, created)
               VALUES (1 + max(coalesce((SELECT max(number) FROM sessions), 0),
                               coalesce((SELECT max(document) FROM log WHERE session = 0), 0)), ?1, ?2, '{}', ?3)";
    let values = params![session.as_str(), &**kind, time.as_millis()];
    let number = connection.prepare_cached(sql)?.insert(values)?;
    let kind = kind.clone();
    Ok(Known { number, kind, head: Seq::ZERO, labels: Labels::new(), living: HashMap::new() })
}

/// Brings the label index from the known labels to the new ones.
fn write_labels(connection: &Connection, known: &Known, labels: &Labels) -> Result<(), Fault> {
    let sql = "UPDATE sessions SET labels = ?2 WHERE number = ?1";
    connection.prepare_cached(sql)?.execute(params![known.number, row::labels_text(labels)?])?;
    for (name, value) in &known.labels {
        if labels.get(name) != Some(value) {
            let sql = "DELETE FROM labels WHERE kind = ?1 AND name = ?2 AND value = ?3 AND session = ?4";
            connection.prepare_cached(sql)?.execute(params![
                &*known.kind,
                &**name,
                &**value,
                known.number
            ])?;
        }
    }
    for (name, value) in labels {
        if known.labels.get(name) != Some(value) {
            let sql = "INSERT INTO labels (kind, name, value, session) VALUES (?1, ?2, ?3, ?4)";
            connection.prepare_cached(sql)?.execute(params![
                &*known.kind,
                &**name,
                &**value,
                known.number
            ])?;
        }
    }
    Ok(())
}
