//! What one commit carries, and how its outcome is settled when somebody else committed or the reply was lost.

use std::sync::Arc;

use jaren_durable::{Draft, Session};
use jaren_flow::workflow::Workflow;
use jaren_host::Timestamp;
use jaren_json::{Value, digest};

use crate::core::{Consumed, Snapshot};
use crate::documents::{
    self, DEFINITION, FAILURE, HOLDER, INBOX, INBOX_SIZE, RECEIPT, REVISION_LABEL, RunFailure, RunStatus,
    SNAPSHOT, STATUS_LABEL,
};
use crate::error::EngineError;
use crate::inbox::InboxSize;
use crate::numbers;
use crate::settle::Tries;

/// The changes of one commit. Whoever holds the run's claim alone writes all but the inbox.
#[derive(Debug)]
pub(super) struct Cargo {
    /// Proves whose commit it is, should its reply be lost.
    pub(super) token: String,
    /// The generation that the store holds; none before the session exists.
    pub(super) base: Option<u64>,
    /// The newest state; none when only the failure is told.
    pub(super) snapshot: Option<Kept>,
    /// What this process knows the store to have of it.
    pub(super) before: Option<Kept>,
    /// What is stored of all runs of the workflow.
    pub(super) workflow: Workflow,
    /// How many save points travel together.
    pub(super) saves: u64,
    /// The claim of the run is among them.
    pub(super) claims: bool,
    /// The events that end here, each with the generation of its save point.
    pub(super) consumed: Vec<(Consumed, u64)>,
    /// The definition and the revision, at the start of a run.
    pub(super) definition: Option<(Value, String)>,
    /// Why the run fails here.
    pub(super) failure: Option<RunFailure>,
    pub(super) status: RunStatus,
    pub(super) at: Timestamp,
}

/// A state, and how the store keeps it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) snapshot: Snapshot,
    stored: Value,
}

impl Kept {
    pub(super) fn of(snapshot: Snapshot) -> Self {
        Kept { stored: snapshot.to_stored(), snapshot }
    }
}

/// How a commit ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Landed {
    /// It is durable. `met` tells that others had committed, so there may be news.
    Durable { met: bool },
    /// It was to create the run's session, which exists.
    Exists,
    /// It was to claim the run, which its holder has saved further meanwhile: what is to be claimed must be loaded
    /// again.
    Moved,
}

enum Outcome {
    Landed,
    Open,
    Moved,
    Lost,
}

impl Cargo {
    /// The generation of the store once this has landed.
    pub(super) fn target(&self) -> u64 {
        self.snapshot.as_ref().map(|kept| kept.snapshot.generation()).or(self.base).unwrap_or(0)
    }

    /// Commits. It is awaited to its end, whatever becomes of the drive (`super::ledger::Flight`).
    pub(super) async fn commit(&self, session: &mut Session) -> Result<Landed, EngineError> {
        let (mut tries, mut met) = (Tries::default(), false);
        let before = if self.claims { holder(session).await? } else { None };
        loop {
            let draft = self.draft(session).await?;
            let Err(error) = session.commit(draft).await else { return Ok(Landed::Durable { met }) };
            let failed = tries.again(session, error).await?;
            met |= failed.is_conflict();
            match self.outcome(session, before.as_deref()).await? {
                Outcome::Landed => return Ok(Landed::Durable { met: true }),
                Outcome::Open => {}
                Outcome::Moved => return Ok(Landed::Moved),
                Outcome::Lost if self.base.is_none() => return Ok(Landed::Exists),
                Outcome::Lost => return Err(EngineError::fenced().caused_by(failed.error)),
            }
        }
    }

    /// Did this commit happen, could it still, or has another engine claimed the run? `before` held it when it was
    /// loaded.
    async fn outcome(&self, session: &mut Session, before: Option<&str>) -> Result<Outcome, EngineError> {
        let stored = session.document(&SNAPSHOT).await.map_err(EngineError::of_session)?;
        let Some(stored) = stored else {
            let fresh = self.base.is_none() && session.head().get() == 0;
            return Ok(if fresh { Outcome::Open } else { Outcome::Lost });
        };
        let generation = stored.get("generation").and_then(Value::as_u64).unwrap_or(0);
        let holder = holder(session).await?;
        let ours = holder.as_deref() == Some(&*self.token);
        if ours && generation == self.target() && self.told(session).await? {
            return Ok(Outcome::Landed);
        }
        Ok(match Some(generation) == self.base {
            true if ours || self.claims => Outcome::Open,
            // A claim fences whoever held the run when it was loaded, also one that was quicker by a save point.
            false if self.claims && !ours && holder.is_some() && holder.as_deref() == before => {
                Outcome::Moved
            }
            _ => Outcome::Lost,
        })
    }

    /// Is the failure, if there is one, the stored one?
    async fn told(&self, session: &mut Session) -> Result<bool, EngineError> {
        let Some(failure) = &self.failure else { return Ok(true) };
        let stored = session.document(&FAILURE).await.map_err(EngineError::of_session)?;
        Ok(stored.is_some_and(|stored| stored == failure.to_value()))
    }

    async fn draft(&self, session: &mut Session) -> Result<Draft, EngineError> {
        let mut draft = session.draft();
        draft.has_written(Arc::clone(self.workflow.written()));
        if let Some((definition, revision)) = &self.definition {
            draft.put(&DEFINITION, definition.clone());
            draft.label(REVISION_LABEL, revision);
        }
        if let Some(Kept { snapshot, stored }) = &self.snapshot {
            let before = self.before.as_ref();
            match before.and_then(|before| Some((before, snapshot.changes(&before.snapshot)?))) {
                Some((before, batch)) => {
                    draft.put_changed(&SNAPSHOT, &before.stored, batch, stored.clone());
                }
                None => draft.put(&SNAPSHOT, stored.clone()),
            }
        }
        if self.claims {
            draft.put(&HOLDER, documents::holder(&self.token, self.target(), self.at));
            draft.retire(&FAILURE);
        }
        if let Some(failure) = &self.failure {
            draft.put(&FAILURE, failure.to_value());
        }
        let mut size = None;
        for (consumed, generation) in &self.consumed {
            let pending = session.member(&INBOX, &consumed.id).await.map_err(EngineError::of_session)?;
            if let Some(pending) = pending {
                let event = pending.get("event").unwrap_or(&Value::Null);
                let before = match size {
                    Some(size) => size,
                    None => InboxSize::of(session).await?,
                };
                size = Some(before.without(event));
                draft.retire_member(&INBOX, &consumed.id);
                draft.put_member(&RECEIPT, &consumed.id, receipt(&pending, consumed.accepted, *generation));
            }
        }
        if let Some(size) = size {
            draft.put(&INBOX_SIZE, size.to_value());
        }
        if session.label(STATUS_LABEL) != Some(self.status.as_str()) {
            draft.label(STATUS_LABEL, self.status.as_str());
        }
        Ok(draft)
    }
}

/// Whose the run is.
async fn holder(session: &mut Session) -> Result<Option<String>, EngineError> {
    let holder = session.document(&HOLDER).await.map_err(EngineError::of_session)?;
    Ok(holder.as_ref().and_then(|holder| holder.get("token")).and_then(Value::as_str).map(String::from))
}

/// What is kept of an event once a wait has met it.
fn receipt(pending: &Value, accepted: bool, generation: u64) -> Value {
    let event = pending.get("event").cloned().unwrap_or_default();
    let digest = digest(&event).map(|digest| digest.to_string()).unwrap_or_default();
    let members = [
        ("type", event.get("type").cloned().unwrap_or_default()),
        ("digest", Value::from(digest)),
        ("at", pending.get("at").cloned().unwrap_or_default()),
        ("accepted", Value::Bool(accepted)),
        ("generation", numbers::count(generation)),
    ];
    Value::Object(members.into_iter().collect())
}
