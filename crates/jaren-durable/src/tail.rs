//! Publications: the commits of a session as they become durable, in order and complete, whoever makes them.
//!
//! A subscriber draws them from the change log, so a commit neither waits for it nor can fail because of it, and one
//! that is slow, or that ended and comes back, misses nothing.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::{Commit, Seq, SessionId, Storage, StorageError};

/// Commits that one read brings.
const READ_AHEAD: usize = 256;

/// The commits of a session after a point: those that were made, then those that are being made.
pub struct Follower {
    storage: Arc<dyn Storage>,
    session: SessionId,
    /// The last commit that was read, which may still stand in `read`.
    after: Seq,
    read: VecDeque<Commit>,
}

/// Follows a session from the commit after `after` on, in this process and in others.
///
/// The session need not exist yet. To begin with what it is now, use [`Session::tail`](crate::Session::tail).
pub fn tail(storage: Arc<dyn Storage>, session: SessionId, after: Seq) -> Follower {
    Follower { storage, session, after, read: VecDeque::new() }
}

impl Follower {
    /// The next commit, once it is durable: each exactly once, by its number, without gaps.
    ///
    /// An error loses nothing, nor does dropping the future: the next call goes on at the same commit. If that was
    /// pruned meanwhile, the error is of kind [`NotRetained`](crate::StorageErrorKind::NotRetained), and the
    /// subscriber begins anew.
    pub async fn next(&mut self) -> Result<Commit, StorageError> {
        loop {
            if let Some(commit) = self.read.pop_front() {
                return Ok(commit);
            }
            if self.fill().await? == 0 {
                self.storage.moved(self.session.clone(), self.after).await?;
            }
        }
    }

    /// The next commit if there is one already, without waiting for it to be made.
    pub async fn ready(&mut self) -> Result<Option<Commit>, StorageError> {
        if self.read.is_empty() {
            self.fill().await?;
        }
        Ok(self.read.pop_front())
    }

    /// Reads on, and answers how many commits that brought.
    async fn fill(&mut self) -> Result<usize, StorageError> {
        let commits = self.storage.changes(self.session.clone(), self.after, READ_AHEAD).await?;
        if let Some(last) = commits.last() {
            self.after = last.seq;
        }
        self.read.extend(commits);
        Ok(self.read.len())
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower")
            .field("session", &self.session)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}
