//! Binding a run to another document: explicit, with an actor and a reason, checked, recorded.

use std::fmt;

use jaren_durable::{Draft, Session};
use jaren_flow::workflow::Workflow;
use jaren_flow::{CompileOptions, DeclaredTasks};
use jaren_host::Timestamp;
use jaren_json::{Str, Value, value};

use crate::core::{RunState, Unfit};
use crate::difference::full_digest;
use crate::documents::{
    self, DEFINITION, Definition, FAILURE, HOLDER, REBINDS, REVISION_LABEL, RunStatus, SNAPSHOT,
    STATUS_LABEL, millis,
};
use crate::engine::{Engine, session_id};
use crate::error::EngineError;
use crate::limits;
use crate::load;
use crate::numbers;
use crate::observe;
use crate::settle::Tries;

/// A run's move to another document.
#[derive(Clone)]
pub struct Rebind {
    document: Value,
    actor: Str,
    reason: Str,
    attachment: Option<Value>,
    starting_over: bool,
}

impl Rebind {
    /// To this document: who decided it, and why. Neither may be blank; both are kept with the run.
    pub fn new(document: Value, actor: impl Into<Str>, reason: impl Into<Str>) -> Self {
        let (actor, reason) = (actor.into(), reason.into());
        Rebind { document, actor, reason, attachment: None, starting_over: false }
    }

    /// The same with another attachment ([`Start::with_attachment`](crate::Start::with_attachment)).
    #[must_use]
    pub fn with_attachment(mut self, attachment: impl Into<Value>) -> Self {
        self.attachment = Some(attachment.into());
        self
    }

    /// If the run is in the middle of a state's work, that work starts over: what its nodes have saved is dropped, and
    /// its tasks run again, with the input that the new document gives, under the same activation key. Without this,
    /// work under way must have the same input and, once values of it are saved, be the same.
    #[must_use]
    pub fn starting_over(mut self) -> Self {
        self.starting_over = true;
        self
    }
}

/// Without the document and the attachment, which are the host's.
impl fmt::Debug for Rebind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rebind")
            .field("revision", &self.document.get("revision"))
            .field("actor", &self.actor)
            .field("reason", &self.reason)
            .field("starting_over", &self.starting_over)
            .finish_non_exhaustive()
    }
}

/// One rebinding of a run, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rebound {
    /// Who decided it.
    pub actor: Str,
    /// Why.
    pub reason: Str,
    /// When.
    pub at: Timestamp,
    /// The generation that it made.
    pub generation: u64,
    /// The document before.
    pub from: Bound,
    /// The document since.
    pub to: Bound,
    /// Did the work under way start over?
    pub started_over: bool,
}

/// A document that a run is or was bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bound {
    /// Its declared revision.
    pub revision: Str,
    /// The SHA-256 of its canonical text, in hexadecimal digits.
    pub digest: Str,
}

impl Bound {
    fn of(document: &Value) -> Self {
        let revision = document.get("revision").and_then(Value::as_str).unwrap_or_default();
        Bound { revision: revision.into(), digest: full_digest(document).into() }
    }

    fn to_value(&self) -> Value {
        value!({ "revision": &*self.revision, "digest": &*self.digest })
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(Str::from);
        Some(Bound { revision: text("revision")?, digest: text("digest")? })
    }
}

impl Rebound {
    /// `token` proves whose commit it is, should its reply be lost.
    fn to_value(&self, token: &str) -> Value {
        value!({
            "actor": &*self.actor, "reason": &*self.reason, "at": numbers::millis(self.at),
            "generation": numbers::count(self.generation), "from": self.from.to_value(), "to": self.to.to_value(),
            "startedOver": self.started_over, "token": token,
        })
    }

    pub(crate) fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(Str::from);
        Some(Rebound {
            actor: text("actor")?,
            reason: text("reason")?,
            at: millis(value.get("at"))?,
            generation: value.get("generation")?.as_u64()?,
            from: Bound::read(value.get("from")?)?,
            to: Bound::read(value.get("to")?)?,
            started_over: value.get("startedOver")?.as_bool()?,
        })
    }
}

impl Engine {
    /// Binds a stored run to another document, in one commit, after checking that what was saved fits it: the state that
    /// the run is in is there with the same form, so are all states that it has entered or has results of, within their
    /// limits, and work under way has the same input ([`Rebind::starting_over`]). What does not fit is an error of kind
    /// [`Unfit`](crate::ErrorKind::Unfit) (JE0010) that names the state, and nothing is changed.
    ///
    /// A deadline that the wait had keeps its beginning; one that only the new document has counts from the last event that
    /// the wait has met, or from when it was entered. Events in the inbox stay. Whoever drives
    /// the run at the time is fenced; nothing is executed here.
    pub async fn rebind(&self, run: &str, rebind: Rebind) -> Result<Rebound, EngineError> {
        let rebound = self.rebind_run(run, &rebind).await.map_err(|error| error.of_run(run))?;
        observe::rebound(run, rebound.generation);
        Ok(rebound)
    }

    async fn rebind_run(&self, run: &str, rebind: &Rebind) -> Result<Rebound, EngineError> {
        if rebind.actor.trim().is_empty() || rebind.reason.trim().is_empty() {
            return Err(EngineError::invalid(
                "rebinding a run needs an actor and a reason that are not blank",
            ));
        }
        if let Some(attachment) = &rebind.attachment {
            limits::check("the attachment", attachment)?;
        }
        let to = self.inner.compile(&rebind.document)?;
        let session = Session::open(self.inner.storage.clone(), session_id(run)?).await;
        let session = session.map_err(EngineError::of_storage)?;
        let mut session = session.ok_or_else(|| EngineError::not_found(run))?;
        let token = self.inner.ids.mint("rebind");
        let mut tries = Tries::default();
        loop {
            let (rebound, draft) = self.rebinding(&mut session, rebind, &to, &token).await?;
            let Err(error) = session.commit(draft).await else { return Ok(rebound) };
            let failed = tries.again(&mut session, error).await?;
            // Ours may have been followed by another one, which it must not be laid over.
            let rebinds = listed(&mut session).await?;
            let ours = |rebind: &&Value| rebind.get("token").and_then(Value::as_str) == Some(&*token);
            if let Some(ours) = rebinds.iter().find(ours) {
                return Rebound::read(ours).ok_or_else(|| EngineError::of_commit(failed.error));
            }
        }
    }

    /// The one commit, against what the session holds.
    async fn rebinding(
        &self,
        session: &mut Session,
        rebind: &Rebind,
        to: &Workflow,
        token: &str,
    ) -> Result<(Rebound, Draft), EngineError> {
        let definition = load::runnable(session).await?;
        if session.label(STATUS_LABEL) == Some(RunStatus::Done.as_str()) {
            return Err(EngineError::unfit(&Unfit::new("the run is done, and goes on with nothing")));
        }
        let stored = load::required(session, &SNAPSHOT).await?;
        let reading = CompileOptions::for_reading();
        let from = Workflow::compile_with(&definition.document, &DeclaredTasks, &reading);
        let from = from.map_err(EngineError::of_report)?;
        let run = session.id().as_str();
        let snapshot = RunState::rebind(&from, to, run, &stored, rebind.starting_over);
        let snapshot = snapshot.map_err(|unfit| EngineError::unfit(&unfit))?;
        let at = self.inner.clock.now();
        let (generation, status) = (snapshot.generation(), RunStatus::from(snapshot.status()));
        let was_at_work = stored.get("pending").is_some_and(|pending| !pending.is_null());
        let rebound = Rebound {
            actor: rebind.actor.clone(),
            reason: rebind.reason.clone(),
            at,
            generation,
            from: Bound::of(&definition.document),
            to: Bound::of(&rebind.document),
            started_over: rebind.starting_over && was_at_work,
        };
        let attachment = rebind.attachment.clone().unwrap_or(definition.attachment);
        let definition =
            Definition { document: rebind.document.clone(), attachment, flags: definition.flags };
        let mut rebinds = listed(session).await?;
        rebinds.push(rebound.to_value(token));
        let mut draft = session.draft();
        draft.put(&SNAPSHOT, snapshot.to_stored());
        draft.put(&DEFINITION, definition.to_value());
        draft.put(&HOLDER, documents::holder(token, generation, at));
        draft.put(&REBINDS, rebinds.into_iter().collect());
        draft.label(REVISION_LABEL, &rebound.to.revision);
        // A failure speaks of the document before; it stays in the history.
        draft.retire(&FAILURE);
        draft.label(STATUS_LABEL, status.as_str());
        Ok((rebound, draft))
    }
}

/// The rebindings of a run, as they are stored.
async fn listed(session: &mut Session) -> Result<Vec<Value>, EngineError> {
    let stored = session.document(&REBINDS).await.map_err(EngineError::of_session)?;
    Ok(stored.as_ref().and_then(Value::as_array).map(|rebinds| rebinds.to_vec()).unwrap_or_default())
}

/// The rebindings that are stored, the oldest first.
pub(crate) fn read_all(stored: Option<&Value>) -> Vec<Rebound> {
    let listed = stored.and_then(Value::as_array).map(|listed| &**listed).unwrap_or_default();
    listed.iter().filter_map(Rebound::read).collect()
}
