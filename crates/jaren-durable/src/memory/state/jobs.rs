//! Rows of jobs in memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use jaren_host::Timestamp;

use super::State;
use crate::{Batch, Claim, Job, JobConflict, JobCounts, JobExpected, JobWrite, JobsQuery, Page, limits};

impl State {
    pub(super) fn check_jobs(&self, batch: &Batch, now: Timestamp) -> Result<(), JobConflict> {
        for lease in &batch.leases {
            let expected = JobExpected::Lease(lease.token.clone());
            Job::check(self.jobs.get(&lease.job), &lease.job, &expected, now)?;
        }
        for write in &batch.jobs {
            if let JobWrite::Update { id, expected, .. } | JobWrite::Remove { id, expected } = write {
                Job::check(self.jobs.get(id), id, expected, now)?;
            }
        }
        Ok(())
    }

    /// Writes what was checked, and answers which of the enqueued jobs are new.
    pub(super) fn write_jobs(&mut self, writes: &[JobWrite], time: Timestamp) -> Vec<bool> {
        let mut enqueued = Vec::new();
        for write in writes {
            match write {
                JobWrite::Enqueue(new) => {
                    let is_new = !self.jobs.contains_key(&new.id);
                    if is_new {
                        self.jobs.insert(new.id.clone(), new.clone().into_job(time));
                    }
                    enqueued.push(is_new);
                }
                JobWrite::Update { id, next, .. } => {
                    if let Some(job) = self.jobs.remove(id) {
                        self.jobs.insert(id.clone(), job.updated(next.clone(), time));
                    }
                }
                JobWrite::Remove { id, .. } => {
                    self.jobs.remove(id);
                }
            }
        }
        enqueued
    }

    pub(in super::super) fn claim(&mut self, claim: &Claim, time: Timestamp) -> Vec<Job> {
        let kinds: HashSet<&Arc<str>> = claim.kinds.iter().collect();
        let due = |job: &&Job| kinds.contains(&job.kind) && job.ready_at().is_some_and(|ready| ready <= time);
        let mut jobs: Vec<&Job> = self.jobs.values().filter(due).collect();
        jobs.sort_by_key(|job| (Reverse(job.priority), job.now.run_at, job.created, job.id.clone()));
        let taken = jobs.into_iter().zip(&claim.tokens);
        let taken: Vec<Job> =
            taken.map(|(job, token)| job.clone().claimed(token.clone(), claim, time)).collect();
        self.jobs.extend(taken.iter().map(|job| (job.id.clone(), job.clone())));
        taken
    }

    pub(in super::super) fn job(&self, id: &Arc<str>) -> Option<Job> {
        self.jobs.get(id).cloned()
    }

    pub(in super::super) fn list_jobs(&self, query: &JobsQuery) -> Page<Job> {
        let limit = query.limit.clamp(1, limits::PAGE_ITEMS_MAX);
        let start = query.after.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let wanted = |job: &&Job| {
            query.state.is_none_or(|state| job.now.state == state)
                && query.kind.as_ref().is_none_or(|kind| job.kind == *kind)
        };
        let range = self.jobs.range((start, Bound::Unbounded)).map(|(_, job)| job);
        let mut items: Vec<Job> = range.filter(wanted).take(limit + 1).cloned().collect();
        let more = items.len() > limit;
        items.truncate(limit);
        Page { items, more }
    }

    pub(in super::super) fn job_counts(&self) -> Vec<JobCounts> {
        let mut kinds: BTreeMap<&Arc<str>, JobCounts> = BTreeMap::new();
        for job in self.jobs.values() {
            let counts = kinds.entry(&job.kind).or_insert_with(|| JobCounts::new(job.kind.clone()));
            counts.add(job.now.state, 1);
        }
        kinds.into_values().collect()
    }
}
