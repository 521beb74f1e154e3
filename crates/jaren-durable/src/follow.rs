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
/// How often in a row a session may have moved without a commit to read: one may be created and removed again before
/// it is looked at, but not for ever.
const MOVES_MAX: u32 = 1000;

/// The commits of a session after a point: those that were made, then those that are being made.
pub struct Follower {
    storage: Arc<dyn Storage>,
    session: SessionId,
    /// That of the session that is followed, once it is known.
    number: Option<u64>,
    /// The last commit that was read, which may still stand in `read`.
    after: Seq,
    read: VecDeque<Commit>,
}

/// Follows a session from the commit after `after` on, in this process and in others.
///
/// The session need not exist yet. To begin with what it is now, use [`Session::follow`](crate::Session::follow).
pub fn follow(storage: Arc<dyn Storage>, session: SessionId, after: Seq) -> Follower {
    Follower { storage, session, number: None, after, read: VecDeque::new() }
}

impl Follower {
    /// The same for the session of that [number](crate::SessionRecord::number) alone: that of the last commit that was
    /// read, for one who comes back. Without it, it is that of the first commit that is read.
    ///
    /// Once the session is [removed](crate::Upkeep::remove) the error is of kind
    /// [`NotRetained`](crate::StorageErrorKind::NotRetained), also when another one has its name and more commits.
    #[must_use]
    pub fn of(self, number: u64) -> Self {
        Self { number: Some(number), ..self }
    }

    /// The next commit, once it is durable: each exactly once, by its number, without gaps.
    ///
    /// An error loses nothing, nor does dropping the future: the next call goes on at the same commit. If that was
    /// pruned meanwhile, the error is of kind [`NotRetained`](crate::StorageErrorKind::NotRetained), and the
    /// subscriber begins anew.
    pub async fn next(&mut self) -> Result<Commit, StorageError> {
        for _ in 0..MOVES_MAX {
            if self.read.is_empty() && self.fill().await? == 0 {
                self.storage.moved(self.session.clone(), self.after).await?;
            }
            if let Some(commit) = self.read.pop_front() {
                return Ok(commit);
            }
        }
        Err(StorageError::untold(self.after))
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
        for commit in commits {
            if *self.number.get_or_insert(commit.session) != commit.session {
                return Err(StorageError::removed(self.after));
            }
            if commit.seq != self.after.next() {
                return Err(StorageError::untold(self.after));
            }
            self.after = commit.seq;
            self.read.push_back(commit);
        }
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
