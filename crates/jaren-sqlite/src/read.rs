//! Reading: each function is called inside one read transaction, and so sees one state of the store.

use std::sync::Arc;

use jaren_durable::{
    Address, At, Body, Change, Commit, CommitId, DocumentRecord, DocumentsQuery, FamilyQuery, Labels, Order,
    Page, Replay, Retention, Revision, Seq, SessionId, SessionRecord, SessionsQuery, StorageError,
    StoredDocument, limits,
};
use jaren_host::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::Fault;
use crate::row;
use crate::schema::{COMMIT, Form};

/// A failed read: SQLite's, or already ours.
pub(crate) enum ReadFault {
    Fault(Fault),
    Storage(StorageError),
}

impl From<Fault> for ReadFault {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<rusqlite::Error> for ReadFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Fault(error.into())
    }
}

impl From<StorageError> for ReadFault {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// The row of a session.
pub(crate) struct SessionRow {
    pub(crate) number: i64,
    pub(crate) kind: Arc<str>,
    pub(crate) labels: Labels,
    created: i64,
}

pub(crate) fn session_row(connection: &Connection, session: &SessionId) -> Result<Option<SessionRow>, Fault> {
    let sql = "SELECT number, kind, labels, created FROM sessions WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([session.as_str()])?;
    match rows.next()? {
        None => Ok(None),
        Some(row) => {
            let labels = row::labels(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?)?;
            Ok(Some(SessionRow { number: row.get(0)?, kind: row.get(1)?, labels, created: row.get(3)? }))
        }
    }
}

/// The newest commit of a session and its time.
pub(crate) fn head(connection: &Connection, session: i64) -> Result<(Seq, Timestamp), Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, detail FROM log WHERE session = ?1 AND document = 0 ORDER BY seq DESC LIMIT 1",
    )?;
    let found = statement.query_row([session], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (seq, time) = found.ok_or_else(|| Fault::corrupt("a stored session has no commit"))?;
    Ok((row::seq(seq)?, Timestamp::from_millis(time)))
}

/// The oldest commit of a session that was not pruned.
pub(crate) fn oldest(connection: &Connection, session: i64) -> Result<Seq, Fault> {
    let sql = "SELECT seq FROM log WHERE session = ?1 AND document = 0 ORDER BY seq LIMIT 1";
    let found = connection.prepare_cached(sql)?.query_row([session], |row| row.get(0)).optional()?;
    row::seq(found.ok_or_else(|| Fault::corrupt("a stored session has no commit"))?)
}

/// The head of a session by its name; zero if there is no such session.
pub(crate) fn head_of(connection: &Connection, session: &SessionId) -> Result<Seq, ReadFault> {
    let sql =
        "SELECT seq FROM log WHERE session = (SELECT number FROM sessions WHERE id = ?1) AND document = 0
               ORDER BY seq DESC LIMIT 1";
    let found = connection.prepare_cached(sql)?.query_row([session.as_str()], |row| row.get(0)).optional()?;
    Ok(row::seq(found.unwrap_or(0))?)
}

pub(crate) fn session(connection: &Connection, id: &SessionId) -> Result<Option<SessionRecord>, ReadFault> {
    let Some(found) = session_row(connection, id)? else { return Ok(None) };
    Ok(Some(record(connection, id.clone(), found)?))
}

fn record(connection: &Connection, id: SessionId, found: SessionRow) -> Result<SessionRecord, Fault> {
    let (head, updated) = head(connection, found.number)?;
    let number = row::session_number(found.number)?;
    let mut record =
        SessionRecord::new(id, number, found.kind, head, Timestamp::from_millis(found.created), updated);
    record.labels = found.labels;
    Ok(record)
}

/// A document's row.
struct DocumentRow {
    number: i64,
    retention: Retention,
    created: Seq,
}

/// A point in a session's history, resolved.
#[derive(Clone, Copy)]
struct Point {
    session: i64,
    at: i64,
    /// The point is the head: no document retired by now is visible.
    newest: bool,
}

fn point(connection: &Connection, session: &SessionId, at: At) -> Result<Option<Point>, ReadFault> {
    let sql = "SELECT number FROM sessions WHERE id = ?1";
    let number =
        connection.prepare_cached(sql)?.query_row([session.as_str()], |row| row.get(0)).optional()?;
    let Some(session) = number else { return Ok(None) };
    let (head, _) = head(connection, session)?;
    let at = match at {
        At::Seq(seq) if seq < head => {
            let oldest = oldest(connection, session)?;
            if seq < oldest && oldest > Seq::new(1) {
                return Err(StorageError::pruned(oldest).into());
            }
            seq
        }
        At::Seq(_) | At::Current => head,
        _ => return Err(StorageError::unsupported("read at a point of that kind").into()),
    };
    Ok(Some(Point { session, at: row::point(at), newest: at == head }))
}

pub(crate) fn document(
    connection: &Connection,
    session: &SessionId,
    address: &Address,
    at: At,
) -> Result<Option<StoredDocument>, ReadFault> {
    let Some(point) = point(connection, session, at)? else { return Ok(None) };
    let mut found = find(connection, point, address, LIVING)?;
    if found.is_none() && !point.newest {
        found = find(connection, point, address, RETIRED)?;
    }
    let Some(found) = found else { return Ok(None) };
    materialize(connection, point, &found, address).map(Some)
}

const LIVING: &str = "SELECT number, retention, created FROM documents
    WHERE session = ?1 AND kind = ?2 AND member = ?3 AND key = ?4 AND retired IS NULL AND created <= ?5";
const RETIRED: &str = "SELECT number, retention, created FROM documents
    WHERE session = ?1 AND kind = ?2 AND member = ?3 AND key = ?4 AND retired IS NOT NULL
      AND created <= ?5 AND retired > ?5";

fn find(
    connection: &Connection,
    point: Point,
    address: &Address,
    sql: &str,
) -> Result<Option<DocumentRow>, Fault> {
    let (member, key) = row::key(address);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![
        point.session,
        row::kind(address.scope(), address.kind()),
        member,
        key,
        point.at
    ])?;
    rows.next()?.map(|row| document_row(row, 0)).transpose()
}

fn document_row(row: &Row<'_>, first: usize) -> Result<DocumentRow, Fault> {
    let retention = row::retention(row.get(first + 1)?)?;
    Ok(DocumentRow { number: row.get(first)?, retention, created: row::seq(row.get(first + 2)?)? })
}

/// Reads the newest base at or before the point and the deltas after it.
fn materialize(
    connection: &Connection,
    point: Point,
    document: &DocumentRow,
    address: &Address,
) -> Result<StoredDocument, ReadFault> {
    if document.retention == Retention::Bulk {
        return bulk(connection, point, document, address);
    }
    if document.retention == Retention::Current && !point.newest {
        let sql = "SELECT 1 FROM log WHERE session = ?1 AND document = ?2 AND seq > ?3 AND form <> 3 LIMIT 1";
        if connection.prepare_cached(sql)?.exists([point.session, document.number, point.at])? {
            return Err(StorageError::not_retained(address).into());
        }
    }
    let mut statement = connection.prepare_cached(
        "SELECT seq, form, detail, body FROM log
         WHERE session = ?1 AND document = ?2 AND seq <= ?3 AND form <> 3 ORDER BY seq DESC",
    )?;
    let mut rows = statement.query([point.session, document.number, point.at])?;
    let corrupt = |error| StorageError::corrupt(address, error);
    let mut deltas = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, body) = (row::seq(row.get(0)?)?, Body::stored(row.get::<_, Arc<str>>(3)?));
        if row.get::<_, i64>(1)? == Form::Delta as i64 {
            deltas.push((seq, body));
            continue;
        }
        let version = row::schema_version(row.get(2)?)?;
        let mut replay = Replay::base(seq, version, &body).map_err(corrupt)?;
        for (seq, body) in deltas.iter().rev() {
            replay.delta(*seq, body).map_err(corrupt)?;
        }
        return Ok(replay.finish(address.clone(), document.retention, document.created));
    }
    Err(Fault::corrupt("a stored document has no base").into())
}

/// The value of a document of bulk retention, if it is not newer than the point, and has not ended since.
fn bulk(
    connection: &Connection,
    point: Point,
    document: &DocumentRow,
    address: &Address,
) -> Result<StoredDocument, ReadFault> {
    let sql = "SELECT seq, version, body FROM bulk WHERE document = ?1 AND seq <= ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([document.number, point.at])?;
    let Some(row) = rows.next()? else { return Err(StorageError::not_retained(address).into()) };
    let (seq, version) = (row::seq(row.get(0)?)?, row::schema_version(row.get(1)?)?);
    let body = Body::stored(row.get::<_, Arc<str>>(2)?);
    let corrupt = |error| StorageError::corrupt(address, error);
    let replay = Replay::base(seq, version, &body).map_err(corrupt)?;
    Ok(replay.finish(address.clone(), document.retention, document.created))
}

pub(crate) fn family(
    connection: &Connection,
    query: &FamilyQuery,
) -> Result<Page<StoredDocument>, ReadFault> {
    let mut page = Page::empty();
    let Some(point) = point(connection, &query.session, query.at)? else { return Ok(page) };
    let limit = query.limit.clamp(1, limits::PAGE_ITEMS_MAX);
    let (order, beyond) = match query.order {
        Order::Ascending => ("", "AND key > :after"),
        Order::Descending => ("DESC", "AND key < :after"),
    };
    let beyond = if query.after.is_some() { beyond } else { "" };
    let living = format!(
        "SELECT number, retention, created, key FROM documents WHERE session = :session
           AND kind = :kind AND member = 1 {beyond} AND retired IS NULL AND created <= :at"
    );
    let mut statement = connection.prepare_cached(&at_point(&living, point, &format!("key {order}")))?;
    bind(&mut statement, ":session", point.session)?;
    bind(&mut statement, ":kind", row::kind(query.scope, &query.kind))?;
    bind(&mut statement, ":after", query.after.as_deref())?;
    bind(&mut statement, ":at", point.at)?;
    let mut rows = statement.raw_query();
    let mut bytes = 0usize;
    while let Some(row) = rows.next()? {
        if page.items.len() >= limit || bytes >= limits::PAGE_BYTES_MAX {
            page.more = true;
            break;
        }
        let address = Address::member(query.kind.clone(), row.get::<_, Arc<str>>(3)?).within(query.scope);
        let stored = materialize(connection, point, &document_row(row, 0)?, &address)?;
        bytes = bytes.saturating_add(stored.chain.base_bytes);
        page.items.push(stored);
    }
    Ok(page)
}

/// A query for the documents that live at the head as one for those that lived at the point.
fn at_point(living: &str, point: Point, order: &str) -> String {
    if point.newest {
        return format!("{living} ORDER BY {order}");
    }
    let retired = living.replace("retired IS NULL", "retired IS NOT NULL AND retired > :at");
    format!("{living} UNION ALL {retired} ORDER BY {order}")
}

pub(crate) fn documents(
    connection: &Connection,
    query: &DocumentsQuery,
) -> Result<Page<DocumentRecord>, ReadFault> {
    let mut page = Page::empty();
    let Some(point) = point(connection, &query.session, query.at)? else { return Ok(page) };
    let limit = query.limit.clamp(1, limits::PAGE_ITEMS_MAX);
    let beyond = if query.after.is_some() { "AND (kind, member, key) > (:kind, :member, :key)" } else { "" };
    let scope = if query.scope.is_some() { "AND kind >= :first AND kind < :end" } else { "" };
    let living = format!(
        "SELECT number, retention, created, kind, member, key FROM documents WHERE session = :session
           {scope} {beyond} AND retired IS NULL AND created <= :at"
    );
    let mut statement = connection.prepare_cached(&at_point(&living, point, "kind, member, key"))?;
    bind(&mut statement, ":session", point.session)?;
    if let Some(scope) = query.scope {
        let (first, end) = row::scope_range(scope);
        bind(&mut statement, ":first", first)?;
        bind(&mut statement, ":end", end)?;
    }
    bind(&mut statement, ":at", point.at)?;
    if let Some(after) = &query.after {
        let (member, key) = row::key(after);
        bind(&mut statement, ":kind", row::kind(query.scope.unwrap_or_else(|| after.scope()), after.kind()))?;
        bind(&mut statement, ":member", member)?;
        bind(&mut statement, ":key", key)?;
    }
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if page.items.len() >= limit {
            page.more = true;
            break;
        }
        let DocumentRow { retention, created, .. } = document_row(row, 0)?;
        let address = row::address(&row.get::<_, String>(3)?, row.get(4)?, row.get(5)?)?;
        page.items.push(DocumentRecord::new(address, retention, created));
    }
    Ok(page)
}

pub(crate) fn sessions(
    connection: &Connection,
    query: &SessionsQuery,
) -> Result<Page<SessionRecord>, ReadFault> {
    let limit = query.limit.clamp(1, limits::PAGE_ITEMS_MAX);
    let (table, condition) = match (&query.kind, &query.label) {
        (None, _) => ("sessions s", ""),
        (Some(_), None) => ("sessions s", "s.kind = :kind AND"),
        (Some(_), Some(_)) => (
            "labels l JOIN sessions s ON s.number = l.session",
            "l.kind = :kind AND l.name = :name AND l.value = :value AND",
        ),
    };
    let number = if query.label.is_some() { "l.session" } else { "s.number" };
    let (beyond, order, start) = if query.newest_first { ("<", "DESC", i64::MAX) } else { (">", "ASC", 0) };
    let sql = format!(
        "SELECT s.id, s.number, s.kind, s.labels, s.created FROM {table}
         WHERE {condition} {number} {beyond} :after ORDER BY {number} {order} LIMIT :limit"
    );
    let after = query.after.map_or(start, |number| i64::try_from(number).unwrap_or(i64::MAX));
    let mut statement = connection.prepare_cached(&sql)?;
    bind(&mut statement, ":after", after)?;
    bind(&mut statement, ":limit", i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))?;
    bind(&mut statement, ":kind", query.kind.as_deref())?;
    let (name, value) = query.label.as_ref().map_or((None, None), |(name, value)| (Some(name), Some(value)));
    bind(&mut statement, ":name", name.map(|name| &**name))?;
    bind(&mut statement, ":value", value.map(|value| &**value))?;
    let mut rows = statement.raw_query();
    let mut page = Page::empty();
    while let Some(row) = rows.next()? {
        if page.items.len() >= limit {
            page.more = true;
            break;
        }
        let id = SessionId::new(row.get::<_, Arc<str>>(0)?)
            .map_err(|_| Fault::corrupt("a stored session has an invalid name"))?;
        let labels = row::labels(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?)?;
        let found = SessionRow { number: row.get(1)?, kind: row.get(2)?, labels, created: row.get(4)? };
        page.items.push(record(connection, id, found)?);
    }
    Ok(page)
}

/// Binds a parameter if the statement has it.
pub(crate) fn bind(
    statement: &mut rusqlite::Statement<'_>,
    name: &str,
    value: impl rusqlite::ToSql,
) -> rusqlite::Result<()> {
    match statement.parameter_index(name)? {
        Some(index) => statement.raw_bind_parameter(index, value),
        None => Ok(()),
    }
}

pub(crate) fn changes(
    connection: &Connection,
    session: &SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Commit>, ReadFault> {
    let point = point(connection, session, At::Current)?;
    if row::point(after) > point.map_or(0, |point| point.at) {
        return Err(StorageError::removed(after).into());
    }
    let Some(point) = point else { return Ok(Vec::new()) };
    let limit = i64::try_from(limit.clamp(1, limits::PAGE_ITEMS_MAX)).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(
        "SELECT entry, seq, detail, body FROM log WHERE session = ?1 AND document = 0 AND seq > ?2
         ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = statement.query([point.session, row::point(after), limit])?;
    let mut commits = Vec::new();
    let mut bytes = 0usize;
    while let Some(row) = rows.next()? {
        if bytes >= limits::PAGE_BYTES_MAX {
            break;
        }
        let seq = row::seq(row.get(1)?)?;
        if commits.is_empty() && seq > after.next() {
            return Err(StorageError::pruned(seq).into());
        }
        let id = CommitId { session: row::session_number(point.session)?, seq };
        let mut commit = Commit::new(id, Timestamp::from_millis(row.get(2)?));
        if let Some(text) = row.get_ref(3)?.as_str_or_null().map_err(rusqlite::Error::from)? {
            row::summary(text, &mut commit)?;
        }
        commit.changes = commit_changes(connection, row.get(0)?, point.session, row.get(1)?)?;
        bytes = bytes.saturating_add(commit.body_bytes());
        commits.push(commit);
    }
    Ok(commits)
}

/// The entries after a commit's own that belong to it; what pruning left of others may follow at once.
fn commit_changes(connection: &Connection, entry: i64, session: i64, seq: i64) -> Result<Vec<Change>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT l.document, l.form, l.detail, l.body, d.kind, d.member, d.key, d.retention, d.created,
           l.session, l.seq
         FROM log l LEFT JOIN documents d ON d.number = l.document WHERE l.entry > ?1 ORDER BY l.entry",
    )?;
    let mut rows = statement.query([entry])?;
    let mut changes = Vec::new();
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(0)? == COMMIT || (row.get(9)?, row.get(10)?) != (session, seq) {
            break;
        }
        let form = row.get::<_, i64>(1)?;
        let revision = if form == Form::Retired as i64 {
            Revision::Retired
        } else {
            let version = row::schema_version(row.get(2)?)?;
            let body = Body::stored(row.get::<_, Arc<str>>(3)?);
            if form == Form::Base as i64 {
                Revision::Base { version, body }
            } else {
                Revision::Delta { version, body }
            }
        };
        let address = row::address(&row.get::<_, String>(4)?, row.get(5)?, row.get(6)?)?;
        let (retention, created) = (row::retention(row.get(7)?)?, row::seq(row.get(8)?)?);
        changes.push(Change::new(address, retention, created, revision));
    }
    Ok(changes)
}
