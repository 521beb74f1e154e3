//! What follows a commit that failed: whether it is tried again, and the session read anew, so that what the store holds
//! decides.

use jaren_durable::{CommitError, Retry, Session};

use crate::error::EngineError;

/// Each conflict means that somebody else has committed; this bounds a store that answers nothing else.
const CONFLICTS_MAX: u32 = 10_000;
/// How often a commit that may not have happened is tried again.
const RETRIES_MAX: u32 = 3;

/// The tries of one commit so far.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    conflicts: u32,
    retries: u32,
}

/// A commit that failed, after which the session holds what the store has now.
#[derive(Debug)]
pub(crate) struct Failed {
    /// Why.
    pub(crate) error: CommitError,
}

impl Failed {
    /// Somebody else has committed.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self.error, CommitError::Conflict(_))
    }

    /// It may have happened all the same: its reply was lost.
    pub(crate) fn is_unknown(&self) -> bool {
        EngineError::retry_of(&self.error) == Retry::Unknown
    }
}

impl Tries {
    /// Waits as the store asks, and reads the session anew. The caller looks there whether the commit has happened, and
    /// tries it again if it has not.
    ///
    /// # Errors
    ///
    /// The commit's own, when it is not to be tried again or the store cannot be read after it. After a conflict that
    /// cannot be looked into the store's failure is told: a conflict alone does not say that the commit was lost.
    pub(crate) async fn again(
        &mut self,
        session: &mut Session,
        error: CommitError,
    ) -> Result<Failed, EngineError> {
        let failed = Failed { error };
        match EngineError::retry_of(&failed.error) {
            _ if failed.is_conflict() && self.conflicts < CONFLICTS_MAX => self.conflicts += 1,
            Retry::Unknown | Retry::Safe if self.retries < RETRIES_MAX => self.retries += 1,
            Retry::AfterDelay(pause) if self.retries < RETRIES_MAX => {
                self.retries += 1;
                tokio::time::sleep(pause).await;
            }
            _ => return Err(EngineError::of_commit(failed.error)),
        }
        match session.refresh().await {
            Ok(_) => Ok(failed),
            Err(unread) if failed.is_conflict() => Err(EngineError::of_session(unread)),
            Err(_) => Err(EngineError::of_commit(failed.error)),
        }
    }
}
