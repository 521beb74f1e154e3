//! Letting go of a session's history, in steps that each are a short transaction.

use jaren_durable::{Keep, Pruned, Seq, SessionId};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use crate::fault::Fault;
use crate::read;
use crate::row;

/// Commits that one transaction lets go of, so that others wait for milliseconds.
const STEP_COMMITS: i64 = 2_000;

/// One step, and whether it was the last.
pub(crate) struct Step {
    pub(crate) pruned: Pruned,
    pub(crate) done: bool,
}

/// Lets go of the oldest commits, at most a step's worth. Inside a transaction.
pub(crate) fn step(connection: &Connection, session: &SessionId, keep: Keep) -> Result<Step, Fault> {
    let Some(found) = read::session_row(connection, session)? else {
        return Ok(Step { pruned: Pruned::default(), done: true });
    };
    let session = found.number;
    let (first, head) = (read::oldest(connection, session)?, read::head(connection, session)?.0);
    let wanted = first_kept(connection, session, head, keep)?.clamp(first, head);
    let (first, wanted) = (row::point(first), row::point(wanted));
    let oldest = wanted.min(first.saturating_add(STEP_COMMITS));
    let commits = u64::try_from(oldest.saturating_sub(first)).unwrap_or(0);
    let revisions = if oldest > first { forget(connection, session, oldest)? } else { 0 };
    let pruned = Pruned::new(row::seq(oldest)?, commits, revisions);
    Ok(Step { pruned, done: oldest == wanted })
}

fn first_kept(connection: &Connection, session: i64, head: Seq, keep: Keep) -> Result<Seq, Fault> {
    match keep {
        Keep::Newest(count) => Ok(Seq::new(head.get().saturating_sub(count).saturating_add(1))),
        Keep::Since(time) => {
            let sql = "SELECT seq FROM log WHERE session = ?1 AND document = 0 AND detail >= ?2 ORDER BY seq LIMIT 1";
            let mut statement = connection.prepare_cached(sql)?;
            let found =
                statement.query_row(params![session, time.as_millis()], |row| row.get(0)).optional()?;
            found.map_or(Ok(head), row::seq)
        }
        _ => Err(Fault::corrupt("a choice of commits to keep that this storage does not know")),
    }
}

/// Deletes what no point from `oldest` on needs, and answers how many revisions that were.
fn forget(connection: &Connection, session: i64, oldest: i64) -> Result<u64, Fault> {
    let execute = |sql: &str| -> Result<u64, Fault> {
        let values = named_params! {":session": session, ":oldest": oldest};
        Ok(connection.prepare_cached(sql)?.execute(values)? as u64)
    };
    execute("DELETE FROM log WHERE session = :session AND document = 0 AND seq < :oldest")?;
    let ended = execute(
        "DELETE FROM log WHERE session = :session AND document IN
           (SELECT number FROM documents WHERE session = :session AND retired IS NOT NULL AND retired < :oldest)",
    )?;
    execute("DELETE FROM documents WHERE session = :session AND retired IS NOT NULL AND retired < :oldest")?;
    let superseded = execute(
        "DELETE FROM log WHERE entry IN (
           SELECT l.entry FROM
             (SELECT number FROM documents WHERE session = :session AND retired IS NULL
              UNION ALL SELECT number FROM documents WHERE session = :session AND retired IS NOT NULL) d
           JOIN log l ON l.session = :session AND l.document = d.number
             AND l.seq < (SELECT b.seq FROM log b WHERE b.session = :session AND b.document = d.number
                            AND b.seq <= :oldest AND b.form = 1 ORDER BY b.seq DESC LIMIT 1))",
    )?;
    Ok(ended.saturating_add(superseded))
}
