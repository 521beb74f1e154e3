//! Letting go of a whole session.
//!
//! Its history goes first, in steps that each are a short transaction, then all the rest in one. What is left of all
//! removals is one entry of the log: it is newer than everything that was removed, so that no number of the log and no
//! session's number is ever given twice, and whoever looks for new entries finds that something went.

use jaren_durable::{Keep, Removal, Seq, SessionId};
use rusqlite::{Connection, params};

use crate::apply::Memory;
use crate::fault::Fault;
use crate::prune;
use crate::read::{self, SessionRow};
use crate::schema::{Form, REMOVALS};

/// One step; none if there is more to do. Inside a transaction.
pub(crate) fn step(
    connection: &Connection,
    memory: &mut Memory,
    session: &SessionId,
    head: Seq,
) -> Result<Option<Removal>, Fault> {
    let Some(found) = read::session_row(connection, session)? else { return Ok(Some(Removal::Absent)) };
    let (now, _) = read::head(connection, found.number)?;
    if now != head {
        return Ok(Some(Removal::Moved(now)));
    }
    if !prune::step(connection, session, Keep::Newest(1))?.done {
        return Ok(None);
    }
    memory.forget_session(session);
    forget(connection, &found)?;
    Ok(Some(Removal::Removed))
}

fn forget(connection: &Connection, session: &SessionRow) -> Result<(), Fault> {
    note(connection, session.number)?;
    // Each index of documents holds the living or the retired ones only.
    for which in ["retired IS NULL", "retired IS NOT NULL"] {
        for sql in [
            format!(
                "DELETE FROM bulk WHERE document IN (SELECT number FROM documents WHERE session = ?1 AND {which})"
            ),
            format!("DELETE FROM documents WHERE session = ?1 AND {which}"),
        ] {
            connection.prepare_cached(&sql)?.execute([session.number])?;
        }
    }
    for (name, value) in &session.labels {
        let sql = "DELETE FROM labels WHERE kind = ?1 AND name = ?2 AND value = ?3 AND session = ?4";
        let row = params![&*session.kind, &**name, &**value, session.number];
        connection.prepare_cached(sql)?.execute(row)?;
    }
    for sql in ["DELETE FROM log WHERE session = ?1", "DELETE FROM sessions WHERE number = ?1"] {
        connection.prepare_cached(sql)?.execute([session.number])?;
    }
    Ok(())
}

/// Makes the note of removals the newest entry of the log.
fn note(connection: &Connection, session: i64) -> Result<(), Fault> {
    let sql = "UPDATE log SET entry = (SELECT max(entry) + 1 FROM log), document = max(document, ?2) WHERE session = ?1";
    let noted = connection.prepare_cached(sql)?.execute([REMOVALS, session])?;
    if noted == 0 {
        let sql = "INSERT INTO log (session, document, seq, form, detail) VALUES (?1, ?2, 0, ?3, 0)";
        connection.prepare_cached(sql)?.execute([REMOVALS, session, Form::Removals as i64])?;
    }
    Ok(())
}
