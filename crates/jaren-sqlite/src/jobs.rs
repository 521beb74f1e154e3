//! Rows of jobs.

use std::sync::Arc;

use jaren_durable::{
    Batch, Body, Claim, Integrity, Job, JobConflict, JobCounts, JobExpected, JobState, JobUpdate, JobWrite,
    JobsQuery, Lease, NewJob, Page, limits,
};
use jaren_host::Timestamp;
use rusqlite::{Connection, Row, ToSql, params, params_from_iter};

use crate::fault::Fault;
use crate::open;
use crate::read::{ReadFault, bind};
use crate::schema::{WITH_JOB_COUNTS, WITH_JOBS};

const COLUMNS: &str =
    "id, kind, payload, priority, max_attempts, created, updated, version, state, run_at, attempts,
    generation, token, owner, until, detail";

/// All conditions of a batch on jobs and leases, before anything is written.
pub(crate) fn check(
    connection: &Connection,
    batch: &Batch,
    now: Timestamp,
) -> Result<Result<(), JobConflict>, Fault> {
    for lease in &batch.leases {
        let expected = JobExpected::Lease(lease.token.clone());
        let found = job(connection, &lease.job)?;
        if let Err(conflict) = Job::check(found.as_ref(), &lease.job, &expected, now) {
            return Ok(Err(conflict));
        }
    }
    for write in &batch.jobs {
        if let JobWrite::Update { id, expected, .. } | JobWrite::Remove { id, expected } = write {
            let found = job(connection, id)?;
            if let Err(conflict) = Job::check(found.as_ref(), id, expected, now) {
                return Ok(Err(conflict));
            }
        }
    }
    Ok(Ok(()))
}

/// Writes what was checked, and answers which of the enqueued jobs are new.
pub(crate) fn write(
    connection: &Connection,
    writes: &[JobWrite],
    time: Timestamp,
) -> Result<Vec<bool>, Fault> {
    let mut enqueued = Vec::new();
    for write in writes {
        match write {
            JobWrite::Enqueue(new) => enqueued.push(enqueue(connection, new, time)?),
            JobWrite::Update { id, next, .. } => {
                if let Some(job) = job(connection, id)? {
                    update(connection, &job.updated(next.clone(), time))?;
                }
            }
            JobWrite::Remove { id, .. } => {
                connection.prepare_cached("DELETE FROM jobs WHERE id = ?1")?.execute([&**id])?;
            }
            _ => return Err(Fault::corrupt("a write to a job of an unknown form passed the checks")),
        }
    }
    Ok(enqueued)
}

/// Whether there was none of that id.
fn enqueue(connection: &Connection, new: &NewJob, time: Timestamp) -> Result<bool, Fault> {
    let job = new.clone().into_job(time);
    let mut statement = connection.prepare_cached(
        "INSERT INTO jobs (id, kind, payload, priority, max_attempts, created, updated, version, state, run_at,
           attempts, generation, ready)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9, 0, 0, ?9) ON CONFLICT (id) DO NOTHING",
    )?;
    let rows = statement.execute(params![
        &*job.id,
        &*job.kind,
        job.payload.as_str(),
        job.priority,
        job.max_attempts,
        time.as_millis(),
        number(job.version)?,
        state_number(job.now.state)?,
        job.now.run_at.as_millis(),
    ])?;
    Ok(rows == 1)
}

fn update(connection: &Connection, job: &Job) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "UPDATE jobs SET updated = ?2, version = ?3, state = ?4, run_at = ?5, attempts = ?6, generation = ?7,
           token = ?8, owner = ?9, until = ?10, detail = ?11, ready = ?12 WHERE id = ?1",
    )?;
    let lease = job.now.lease.as_ref();
    statement.execute(params![
        &*job.id,
        job.updated.as_millis(),
        number(job.version)?,
        state_number(job.now.state)?,
        job.now.run_at.as_millis(),
        job.now.attempts,
        number(job.now.generation)?,
        lease.map(|lease| &*lease.token),
        lease.map(|lease| &*lease.owner),
        lease.map(|lease| lease.until.as_millis()),
        job.now.detail.as_ref().map(Body::as_str),
        job.ready_at().map(Timestamp::as_millis),
    ])?;
    Ok(())
}

/// Leases what is due. Inside a transaction that may write.
pub(crate) fn claim(connection: &Connection, claim: &Claim, now: Timestamp) -> Result<Vec<Job>, Fault> {
    if claim.kinds.is_empty() || claim.tokens.is_empty() {
        return Ok(Vec::new());
    }
    let kinds = vec!["?"; claim.kinds.len()].join(", ");
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM jobs WHERE ready <= ? AND kind IN ({kinds})
         ORDER BY priority DESC, run_at, created, id LIMIT ?"
    ))?;
    let (now_number, limit) = (now.as_millis(), i64::try_from(claim.tokens.len()).unwrap_or(i64::MAX));
    let names: Vec<&str> = claim.kinds.iter().map(|kind| &**kind).collect();
    let mut values: Vec<&dyn ToSql> = vec![&now_number];
    values.extend(names.iter().map(|name| -> &dyn ToSql { name }));
    values.push(&limit);
    let mut rows = statement.query(params_from_iter(values))?;
    let mut due = Vec::new();
    while let Some(row) = rows.next()? {
        due.push(from_row(row)?);
    }
    let mut claimed = Vec::with_capacity(due.len());
    for (job, token) in due.into_iter().zip(&claim.tokens) {
        let job = job.claimed(token.clone(), claim, now);
        update(connection, &job)?;
        claimed.push(job);
    }
    Ok(claimed)
}

pub(crate) fn job(connection: &Connection, id: &str) -> Result<Option<Job>, Fault> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM jobs WHERE id = ?1"))?;
    let mut rows = statement.query([id])?;
    rows.next()?.map(from_row).transpose()
}

/// A job, for readers, who may meet a store of an older schema: it has none.
pub(crate) fn read(connection: &Connection, id: &str) -> Result<Option<Job>, ReadFault> {
    if open::schema_version(connection)? < WITH_JOBS { Ok(None) } else { Ok(job(connection, id)?) }
}

pub(crate) fn list(connection: &Connection, query: &JobsQuery) -> Result<Page<Job>, ReadFault> {
    let mut page = Page::empty();
    if open::schema_version(connection)? < WITH_JOBS {
        return Ok(page);
    }
    let limit = query.limit.clamp(1, limits::PAGE_ITEMS_MAX);
    let mut conditions = Vec::new();
    conditions.extend(query.after.is_some().then_some("id > :after"));
    conditions.extend(query.state.is_some().then_some("state = :state"));
    conditions.extend(query.kind.is_some().then_some("kind = :kind"));
    let filter = if conditions.is_empty() { "" } else { "WHERE" };
    let conditions = conditions.join(" AND ");
    let sql = format!("SELECT {COLUMNS} FROM jobs {filter} {conditions} ORDER BY id");
    let mut statement = connection.prepare_cached(&sql)?;
    bind(&mut statement, ":after", query.after.as_deref())?;
    bind(&mut statement, ":state", query.state.map(state_number).transpose()?)?;
    bind(&mut statement, ":kind", query.kind.as_deref())?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if page.items.len() >= limit {
            page.more = true;
            break;
        }
        page.items.push(from_row(row)?);
    }
    Ok(page)
}

/// The counts, from the jobs themselves.
const BY_READING: &str = "SELECT kind, state, count(*) FROM jobs GROUP BY kind, state ORDER BY kind, state";

/// How many jobs of each kind are in each state.
pub(crate) fn counts(connection: &Connection) -> Result<Vec<JobCounts>, ReadFault> {
    let mut kinds: Vec<JobCounts> = Vec::new();
    let sql = match open::schema_version(connection)? {
        version if version < WITH_JOBS => return Ok(kinds),
        version if version < WITH_JOB_COUNTS => BY_READING,
        _ => "SELECT kind, state, jobs FROM job_counts ORDER BY kind, state",
    };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, jobs): (Arc<str>, i64) = (row.get(0)?, row.get(2)?);
        let (state, jobs) = (state(row.get(1)?)?, u64::try_from(jobs).unwrap_or(0));
        match kinds.last_mut() {
            Some(last) if last.kind == kind => last.add(state, jobs),
            _ => {
                let mut counts = JobCounts::new(kind);
                counts.add(state, jobs);
                kinds.push(counts);
            }
        }
    }
    Ok(kinds)
}

/// Every job is readable, is leased if and only if it has a lease, is found by claims when it should be, and is counted.
pub(crate) fn integrity(connection: &Connection, report: &mut Integrity) -> Result<(), Fault> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS}, ready FROM jobs"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let ready = row.get::<_, Option<i64>>(16)?;
        let sound = from_row(row).is_ok_and(|job| {
            let readable = job.payload.value().is_ok()
                && job.now.detail.as_ref().is_none_or(|detail| detail.value().is_ok());
            let leased = job.now.lease.is_some() == (job.now.state == JobState::Leased);
            readable && leased && ready == job.ready_at().map(Timestamp::as_millis)
        });
        if !sound {
            report.report(None, "a job's row contradicts itself");
        }
    }
    if open::schema_version(connection)? >= WITH_JOB_COUNTS {
        let stored = "SELECT kind, state, jobs FROM job_counts";
        let sql = format!(
            "SELECT EXISTS (SELECT * FROM ({BY_READING}) EXCEPT {stored})
               OR EXISTS ({stored} EXCEPT SELECT * FROM ({BY_READING}))"
        );
        if connection.query_row(&sql, [], |row| row.get(0))? {
            report.report(None, "the counts of jobs are not those of the jobs");
        }
    }
    Ok(())
}

fn from_row(row: &Row<'_>) -> Result<Job, Fault> {
    let unsigned = |at: usize| -> Result<u64, Fault> {
        let number: i64 = row.get(at)?;
        u64::try_from(number).map_err(|_| Fault::corrupt("a stored number of a job is negative"))
    };
    let time = |at: usize| row.get(at).map(Timestamp::from_millis);
    let payload = Body::stored(row.get::<_, Arc<str>>(2)?);
    let mut job =
        NewJob::new(row.get::<_, Arc<str>>(0)?, row.get::<_, Arc<str>>(1)?, payload).into_job(time(5)?);
    (job.priority, job.max_attempts) = (row.get(3)?, row.get(4)?);
    (job.updated, job.version) = (time(6)?, unsigned(7)?);
    let lease = match (row.get(12)?, row.get(13)?, row.get(14)?) {
        (Some(token), Some(owner), Some(until)) => {
            Some(Lease::new(token, owner, Timestamp::from_millis(until)))
        }
        _ => None,
    };
    job.now = JobUpdate::new(state(row.get(8)?)?, time(9)?);
    (job.now.attempts, job.now.generation) = (row.get(10)?, unsigned(11)?);
    (job.now.lease, job.now.detail) = (lease, row.get::<_, Option<Arc<str>>>(15)?.map(Body::stored));
    Ok(job)
}

fn number(number: u64) -> Result<i64, Fault> {
    i64::try_from(number).map_err(|_| Fault::corrupt("a number of a job is beyond the range of the store"))
}

/// The states as they are stored: by their places here.
const STATES: [JobState; 7] = [
    JobState::Pending,
    JobState::Leased,
    JobState::Failed,
    JobState::Paused,
    JobState::Done,
    JobState::Dead,
    JobState::Cancelled,
];

fn state_number(state: JobState) -> Result<i64, Fault> {
    let place = STATES.iter().position(|known| *known == state).and_then(|place| i64::try_from(place).ok());
    place.ok_or_else(|| Fault::corrupt("a state of a job that this storage does not know"))
}

fn state(column: i64) -> Result<JobState, Fault> {
    let known = usize::try_from(column).ok().and_then(|place| STATES.get(place).copied());
    known.ok_or_else(|| Fault::corrupt("a stored state of a job is unknown"))
}
