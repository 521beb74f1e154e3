//! How much is stored.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use jaren_durable::{KindSize, Size};
use rusqlite::Connection;

use crate::fault::Fault;
use crate::open;
use crate::place;
use crate::read::ReadFault;
use crate::schema::{WITH_BULK, WITH_JOBS};

/// Counts rows by kind of session, and asks the file system for the files. Inside one read transaction.
pub(crate) fn measure(connection: &Connection, path: &Path) -> Result<Size, ReadFault> {
    let mut size = Size::default();
    // Sessions and documents have their own scans: joined to the log they would be counted once an entry.
    let mut statement = connection.prepare(
        "SELECT s.kind, count(*), sum(l.commits), sum(l.revisions), sum(l.bytes),
           sum((SELECT count(*) FROM documents WHERE session = s.number AND retired IS NULL))
         FROM sessions s JOIN (
           SELECT session, sum(document = 0) AS commits, sum(document <> 0) AS revisions,
             sum(iif(document = 0, 0, coalesce(octet_length(body), 0))) AS bytes
           FROM log GROUP BY session) l ON l.session = s.number
         GROUP BY s.kind ORDER BY s.kind",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number =
            |at: usize| -> Result<u64, Fault> { Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0)) };
        let mut kind = KindSize::new(row.get::<_, Arc<str>>(0)?);
        (kind.sessions, kind.commits, kind.revisions) = (number(1)?, number(2)?, number(3)?);
        (kind.body_bytes, kind.documents) = (number(4)?, number(5)?);
        size.kinds.push(kind);
    }
    let version = open::schema_version(connection)?;
    if version >= WITH_BULK {
        add_bulk(connection, &mut size)?;
    }
    if version >= WITH_JOBS {
        let count = connection.query_row("SELECT count(*) FROM jobs", [], |row| row.get(0))?;
        size.jobs = unsigned(count);
    }
    let pragma = |name: &str| -> Result<u64, Fault> {
        Ok(unsigned(connection.pragma_query_value(None, name, |row| row.get(0))?))
    };
    size.free_bytes = pragma("freelist_count")?.saturating_mul(pragma("page_size")?);
    size.stored_bytes = file_bytes(path, "").saturating_add(file_bytes(path, "-wal"));
    Ok(size)
}

/// The values of bulk retention are not in the log.
fn add_bulk(connection: &Connection, size: &mut Size) -> Result<(), Fault> {
    let mut statement = connection.prepare(
        "SELECT s.kind, count(*), sum(octet_length(b.body)) FROM bulk b
         JOIN documents d ON d.number = b.document JOIN sessions s ON s.number = d.session GROUP BY s.kind",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        if let Some(kind) = size.kinds.iter_mut().find(|kind| *kind.kind == *name) {
            kind.revisions = kind.revisions.saturating_add(unsigned(row.get(1)?));
            kind.body_bytes = kind.body_bytes.saturating_add(unsigned(row.get(2)?));
        }
    }
    Ok(())
}

/// A count or a sum of lengths, which is never negative.
fn unsigned(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

/// The log of a store that nobody has open does not exist.
fn file_bytes(path: &Path, suffix: &str) -> u64 {
    fs::metadata(place::beside(path, suffix)).map_or(0, |metadata| metadata.len())
}
