//! Checking, measuring and pruning a session in memory.

use super::{Document, Kept};
use crate::{Integrity, Keep, KindSize, Pruned, Retention, Revision, Seq};

impl Kept {
    pub(super) fn prune(&mut self, keep: Keep) -> Pruned {
        let len = self.commits.len() as u64;
        let wanted = match keep {
            Keep::Newest(count) => len.saturating_sub(count),
            Keep::Since(time) => {
                self.commits.iter().position(|commit| commit.time >= time).map_or(len, |at| at as u64)
            }
        };
        let commits = wanted.min(len.saturating_sub(1)); // the newest stays
        self.commits.drain(..usize::try_from(commits).unwrap_or(0));
        self.pruned += commits;
        let oldest = self.oldest();
        let mut revisions = 0;
        for all in self.documents.values_mut() {
            all.retain_mut(|document| document.prune(oldest, &mut revisions));
        }
        self.documents.retain(|_, all| !all.is_empty());
        Pruned { oldest, commits, revisions }
    }

    /// Commits are numbered by their place, so there is nothing to contradict; the documents must replay.
    pub(super) fn integrity(&self, report: &mut Integrity) {
        report.sessions += 1;
        report.commits += self.commits.len() as u64;
        for (address, all) in &self.documents {
            for document in all {
                report.revisions += document.revisions.len() as u64;
                let forgotten = document.retention == Retention::Bulk && document.retired.is_some();
                if !forgotten && document.materialize(address, self.head()).is_err() {
                    report.report(Some(self.id.as_str()), format!("{address} cannot be replayed"));
                }
            }
        }
    }

    pub(super) fn add_to(&self, size: &mut KindSize) {
        size.sessions += 1;
        size.commits += self.commits.len() as u64;
        for document in self.documents.values().flatten() {
            size.documents += u64::from(document.retired.is_none());
            let ended = document.retired.is_some() && document.retention != Retention::Bulk;
            size.revisions += document.revisions.len() as u64 + u64::from(ended);
            let bytes = document.revisions.iter().map(|(_, revision)| revision.body_bytes() as u64);
            size.body_bytes += bytes.sum::<u64>();
        }
    }
}

impl Document {
    /// Drops the revisions before the newest base that the oldest kept point needs. False if none is needed.
    fn prune(&mut self, oldest: Seq, dropped: &mut u64) -> bool {
        if self.retired.is_some_and(|retired| retired < oldest) {
            *dropped += self.revisions.len() as u64 + u64::from(self.retention != Retention::Bulk);
            return false;
        }
        let is_base = |revision: &Revision| matches!(revision, Revision::Base { .. });
        let needed = |(seq, revision): &(Seq, Revision)| *seq <= oldest && is_base(revision);
        let first = self.revisions.iter().rposition(needed).unwrap_or(0);
        self.revisions.drain(..first);
        *dropped += first as u64;
        true
    }
}
