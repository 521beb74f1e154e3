//! Rows of jobs and their leases, as storages keep them. The rules about them (back-off, dead letters, who may cancel
//! what) are those of whoever plans the batches; a storage compares, writes, and picks what is due.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jaren_host::Timestamp;

use crate::batch::limit;
use crate::names::check_name;
use crate::{Body, RefusalKind, limits};

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum JobState {
    /// It waits to be claimed.
    Pending,
    /// Somebody has it until its lease ends.
    Leased,
    /// It failed, and waits to be claimed again.
    Failed,
    /// It is not to be claimed until somebody says so.
    Paused,
    /// It is done.
    Done,
    /// It failed for good.
    Dead,
    /// It was cancelled.
    Cancelled,
}

impl JobState {
    /// All states.
    pub const ALL: &'static [Self] =
        &[Self::Pending, Self::Leased, Self::Failed, Self::Paused, Self::Done, Self::Dead, Self::Cancelled];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Leased => "leased",
            Self::Failed => "failed",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Somebody's hold on a job.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// Proves the hold; a secret of whoever has it.
    pub token: Arc<str>,
    /// Who has it, for people to read; proves nothing.
    pub owner: Arc<str>,
    /// When it ends: at this time it no longer holds.
    pub until: Timestamp,
}

impl Lease {
    /// A hold until a time.
    pub fn new(token: Arc<str>, owner: Arc<str>, until: Timestamp) -> Self {
        Self { token, owner, until }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("owner", &self.owner)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

/// The row of a job.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Job {
    /// Its name, unique in the storage.
    pub id: Arc<str>,
    /// Its kind.
    pub kind: Arc<str>,
    /// What it was enqueued with.
    pub payload: Body,
    /// Those of a greater one are claimed first.
    pub priority: i32,
    /// Attempts after which a job whose lease ran out is not claimed again.
    pub max_attempts: u32,
    /// When it was enqueued.
    pub created: Timestamp,
    /// When it was last written.
    pub updated: Timestamp,
    /// Grows by one with each write.
    pub version: u64,
    /// What changes.
    pub now: JobUpdate,
}

/// The part of a job's row that a batch may replace: planned as a changed copy of [`Job::now`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JobUpdate {
    /// Where it is.
    pub state: JobState,
    /// When it may be claimed.
    pub run_at: Timestamp,
    /// How often it was claimed.
    pub attempts: u32,
    /// Grows with each claim, and whenever older holders must be shut out.
    pub generation: u64,
    /// Who has it; only a leased job has one.
    pub lease: Option<Lease>,
    /// What its planner keeps with it: a result, an error, a reason.
    pub detail: Option<Body>,
}

impl JobUpdate {
    /// A state, and the time from which it may be claimed; never claimed, of generation 0, without lease and detail.
    pub fn new(state: JobState, run_at: Timestamp) -> Self {
        Self { state, run_at, attempts: 0, generation: 0, lease: None, detail: None }
    }
}

/// A job to enqueue.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NewJob {
    /// Its name, unique in the storage.
    pub id: Arc<str>,
    /// Its kind.
    pub kind: Arc<str>,
    /// What it carries.
    pub payload: Body,
    /// Those of a greater one are claimed first.
    pub priority: i32,
    /// When it may be claimed.
    pub run_at: Timestamp,
    /// Attempts after which a job whose lease ran out is not claimed again.
    pub max_attempts: u32,
}

impl NewJob {
    /// A job that may be claimed at once, of priority 0, with five attempts.
    pub fn new(id: impl Into<Arc<str>>, kind: impl Into<Arc<str>>, payload: Body) -> Self {
        let (priority, run_at, max_attempts) = (0, Timestamp::from_millis(0), 5);
        Self { id: id.into(), kind: kind.into(), payload, priority, run_at, max_attempts }
    }

    /// Its row once it is enqueued.
    pub fn into_job(self, time: Timestamp) -> Job {
        let Self { id, kind, payload, priority, run_at, max_attempts } = self;
        let now = JobUpdate::new(JobState::Pending, run_at);
        Job { id, kind, payload, priority, max_attempts, created: time, updated: time, version: 1, now }
    }
}

/// What a batch does to one job.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JobWrite {
    /// Adds it, unless there is a job of that id, in whatever state; see [`Committed::enqueued`](crate::Committed).
    Enqueue(NewJob),
    /// Replaces the part of its row that changes.
    Update {
        /// The job.
        id: Arc<str>,
        /// What must hold.
        expected: JobExpected,
        /// The part after it.
        next: JobUpdate,
    },
    /// Deletes its row.
    Remove {
        /// The job.
        id: Arc<str>,
        /// What must hold.
        expected: JobExpected,
    },
}

impl JobWrite {
    /// The job.
    pub fn id(&self) -> &Arc<str> {
        match self {
            Self::Enqueue(job) => &job.id,
            Self::Update { id, .. } | Self::Remove { id, .. } => id,
        }
    }

    pub(crate) fn body_bytes(&self) -> usize {
        match self {
            Self::Enqueue(job) => job.payload.len(),
            Self::Update { next, .. } => next.detail.as_ref().map_or(0, Body::len),
            Self::Remove { .. } => 0,
        }
    }

    pub(crate) fn check(&self) -> Result<(), RefusalKind> {
        check_name("job id", self.id(), limits::SESSION_ID_BYTES_MAX)?;
        limit("bytes of a job's body", limits::BODY_BYTES_MAX, self.body_bytes())?;
        match self {
            Self::Enqueue(job) => Ok(check_name("job kind", &job.kind, limits::KIND_BYTES_MAX)?),
            Self::Update { next, .. } if next.lease.is_some() != (next.state == JobState::Leased) => {
                Err(RefusalKind::Lease)
            }
            _ => Ok(()),
        }
    }
}

/// The condition on a job's row. A storage compares it wholly, so there are no further cases.
#[derive(Clone, PartialEq, Eq)]
pub enum JobExpected {
    /// It is leased with this token, and the lease has not ended at the storage's time.
    Lease(Arc<str>),
    /// It was not written since this [`Job::version`].
    Version(u64),
}

impl fmt::Debug for JobExpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease(_) => f.write_str("Lease"),
            Self::Version(version) => f.debug_tuple("Version").field(version).finish(),
        }
    }
}

impl fmt::Display for JobExpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease(_) => f.write_str("a lease that holds"),
            Self::Version(version) => write!(f, "version {version}"),
        }
    }
}

/// A lease that must hold for a batch to be applied, whatever else it does.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseCondition {
    /// The job.
    pub job: Arc<str>,
    /// The lease's token.
    pub token: Arc<str>,
}

impl LeaseCondition {
    /// The job must be leased with that token.
    pub fn new(job: impl Into<Arc<str>>, token: impl Into<Arc<str>>) -> Self {
        Self { job: job.into(), token: token.into() }
    }
}

impl fmt::Debug for LeaseCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseCondition").field("job", &self.job).finish_non_exhaustive()
    }
}

/// A job that was not as a batch expected; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("job {job} was not as expected: expected {expected}, found {}", Found(.found.as_ref()))]
pub struct JobConflict {
    /// The job.
    pub job: Arc<str>,
    /// What the batch expected.
    pub expected: JobExpected,
    /// What was found; none if there is no such job.
    pub found: Option<JobFound>,
}

impl JobConflict {
    /// What a storage answers for a batch whose job was not as expected.
    pub fn new(job: Arc<str>, expected: JobExpected, found: Option<JobFound>) -> Self {
        Self { job, expected, found }
    }
}

/// What is told of a job to somebody who does not hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobFound {
    /// Its state.
    pub state: JobState,
    /// Its version.
    pub version: u64,
    /// Its generation.
    pub generation: u64,
    /// When its lease ends, or ended.
    pub until: Option<Timestamp>,
}

impl JobFound {
    /// Of a job's row what anybody may know.
    pub fn of(job: &Job) -> Self {
        let JobUpdate { state, generation, lease, .. } = &job.now;
        let until = lease.as_ref().map(|lease| lease.until);
        Self { state: *state, version: job.version, generation: *generation, until }
    }
}

struct Found<'a>(Option<&'a JobFound>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("no job"),
            Some(found) => write!(f, "a {} one of version {}", found.state, found.version),
        }
    }
}

impl Job {
    /// Compares a condition with the row; every storage calls it.
    pub fn check(
        job: Option<&Self>,
        id: &Arc<str>,
        expected: &JobExpected,
        now: Timestamp,
    ) -> Result<(), JobConflict> {
        let holds = job.is_some_and(|job| match expected {
            JobExpected::Version(version) => job.version == *version,
            JobExpected::Lease(token) => {
                job.now.lease.as_ref().is_some_and(|lease| lease.token == *token && lease.until > now)
            }
        });
        if holds {
            return Ok(());
        }
        Err(JobConflict::new(id.clone(), expected.clone(), job.map(JobFound::of)))
    }

    /// When it may be claimed next, if ever: a leased one when its lease ends, if it has attempts left.
    pub fn ready_at(&self) -> Option<Timestamp> {
        match (self.now.state, &self.now.lease) {
            (JobState::Pending | JobState::Failed, _) => Some(self.now.run_at),
            (JobState::Leased, Some(lease)) if self.now.attempts < self.max_attempts => Some(lease.until),
            _ => None,
        }
    }

    /// The row after somebody else's update.
    #[must_use]
    pub fn updated(self, next: JobUpdate, time: Timestamp) -> Self {
        Self { now: next, updated: time, version: self.version.saturating_add(1), ..self }
    }

    /// The row after it was claimed.
    #[must_use]
    pub fn claimed(self, token: Arc<str>, claim: &Claim, time: Timestamp) -> Self {
        let until = time.plus(claim.lease);
        let next = JobUpdate {
            state: JobState::Leased,
            attempts: self.now.attempts.saturating_add(1),
            generation: self.now.generation.saturating_add(1),
            lease: Some(Lease::new(token, claim.owner.clone(), until)),
            ..self.now.clone()
        };
        self.updated(next, time)
    }
}

/// Which jobs to claim: as many as there are tokens, of these kinds, those that are due; by priority, then the
/// longest due, then the oldest, then by id.
#[derive(Clone)]
#[non_exhaustive]
pub struct Claim {
    /// The kinds that the claimer can run.
    pub kinds: Vec<Arc<str>>,
    /// Who claims, for people to read.
    pub owner: Arc<str>,
    /// How long the leases hold, by the storage's time; at least a millisecond.
    pub lease: Duration,
    /// A new secret for each job.
    pub tokens: Vec<Arc<str>>,
}

impl Claim {
    /// A claim for one job a token.
    pub fn new(
        kinds: Vec<Arc<str>>,
        owner: impl Into<Arc<str>>,
        lease: Duration,
        tokens: Vec<Arc<str>>,
    ) -> Self {
        Self { kinds, owner: owner.into(), lease, tokens }
    }

    /// Refuses a lease that has no length, and more jobs than a page has items. Every storage calls it first.
    pub fn check(&self) -> Result<(), crate::StorageError> {
        if !self.lease.is_zero() && self.tokens.len() <= limits::PAGE_ITEMS_MAX {
            return Ok(());
        }
        let message = "a lease must have a length, and one claim takes at most a page of jobs";
        let kind = crate::StorageErrorKind::Invalid;
        Err(crate::StorageError::new(kind, crate::Retry::Never, "claim jobs", message))
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Claim");
        f.field("kinds", &self.kinds).field("owner", &self.owner).field("lease", &self.lease);
        f.field("jobs", &self.tokens.len()).finish_non_exhaustive()
    }
}

/// Which jobs to list, in the byte order of their ids.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JobsQuery {
    /// Only jobs in that state.
    pub state: Option<JobState>,
    /// Only jobs of that kind.
    pub kind: Option<Arc<str>>,
    /// Only jobs whose id is greater.
    pub after: Option<Arc<str>>,
    /// At most so many; [`limits::PAGE_ITEMS_MAX`] if greater.
    pub limit: usize,
}

impl JobsQuery {
    /// All jobs.
    pub fn all() -> Self {
        Self { state: None, kind: None, after: None, limit: limits::PAGE_ITEMS_MAX }
    }
}

/// How many jobs of one kind are in each state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCounts {
    /// The kind.
    pub kind: Arc<str>,
    /// By state, in the order of [`JobState::ALL`].
    states: [u64; JobState::ALL.len()],
}

impl JobCounts {
    /// A kind without jobs.
    pub fn new(kind: Arc<str>) -> Self {
        Self { kind, states: [0; JobState::ALL.len()] }
    }

    /// Counts further jobs in a state.
    pub fn add(&mut self, state: JobState, jobs: u64) {
        for (count, of) in self.states.iter_mut().zip(JobState::ALL) {
            if *of == state {
                *count = count.saturating_add(jobs);
            }
        }
    }

    /// The jobs in a state.
    pub fn of(&self, state: JobState) -> u64 {
        self.states.iter().zip(JobState::ALL).find(|(_, of)| **of == state).map_or(0, |(count, _)| *count)
    }
}
