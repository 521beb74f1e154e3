//! Sending events: appended to a run's inbox with an id, from any process, before or while the run is executed.

use jaren_durable::{CommitError, Retry, Session};
use jaren_host::Timestamp;
use jaren_json::{Value, digest};

use crate::documents::{self, INBOX, RECEIPT, RUN_KIND, RunStatus, STATUS_LABEL};
use crate::engine::{Engine, session_id};
use crate::error::EngineError;
use crate::limits;
use crate::numbers;
use crate::observe;

/// Each conflict means that somebody else has committed; this bounds a store that answers nothing else.
const CONFLICTS_MAX: u32 = 10_000;
/// How often an append that may or may not have happened is settled by reading.
const RETRIES_MAX: u32 = 3;
/// An id becomes a document's key.
const ID_BYTES_MAX: usize = 256;

/// An event for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    name: String,
    payload: Option<Value>,
    id: Option<String>,
}

impl Event {
    /// An event of that type, as the waits of the document name it. A null payload is the same as none.
    pub fn new(name: impl Into<String>, payload: Value) -> Self {
        Event { name: name.into(), payload: Some(payload).filter(|payload| !payload.is_null()), id: None }
    }

    /// The same under an id of the caller's: sending it twice delivers it once. Without one an id is minted.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// What became of sending an event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an event that was refused is not stored"]
pub enum Sent {
    /// It is durable in the run's inbox. The next wait takes or refuses it.
    Accepted {
        /// Its id.
        id: String,
    },
    /// The same event under that id had been accepted before; nothing was written.
    Repeated {
        /// Its id.
        id: String,
    },
    /// It was not accepted; nothing was written.
    Refused {
        /// Its id.
        id: String,
        /// Why.
        reason: Refusal,
    },
}

/// Why an event was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The run is done.
    Done,
    /// Another event, with another type or payload, has that id.
    IdTaken,
}

enum Known {
    Same,
    Other,
    No,
}

impl Engine {
    /// Appends an event to the inbox of a run. It is durable when this returns.
    pub async fn send(&self, run: &str, event: Event) -> Result<Sent, EngineError> {
        self.send_to(run, event).await.map_err(|error| error.of_run(run))
    }

    async fn send_to(&self, run: &str, event: Event) -> Result<Sent, EngineError> {
        let Event { name, payload, id } = event;
        if name.trim().is_empty() {
            return Err(EngineError::invalid("an event needs a type that is not blank"));
        }
        let event = documents::event(&name, payload.as_ref());
        if !event.is_json() {
            return Err(EngineError::invalid("the event's payload holds a number that is not JSON"));
        }
        if let Some(defect) = limits::defect(&event) {
            return Err(EngineError::invalid(format!("the event {defect}")));
        }
        let id = id.unwrap_or_else(|| self.inner.ids.mint("event"));
        if id.is_empty() || id.len() > ID_BYTES_MAX {
            return Err(EngineError::invalid(format!("an event's id needs 1 to {ID_BYTES_MAX} bytes")));
        }
        let session = Session::open(self.inner.storage.clone(), session_id(run)?).await?;
        let mut session = session.ok_or_else(|| EngineError::not_found(run))?;
        if session.kind() != RUN_KIND {
            return Err(EngineError::unreadable("the session is no run"));
        }
        let sent = append(&mut session, id, event, self.inner.clock.now()).await?;
        if matches!(sent, Sent::Accepted { .. }) {
            observe::sent(run);
        }
        Ok(sent)
    }
}

async fn append(session: &mut Session, id: String, event: Value, at: Timestamp) -> Result<Sent, EngineError> {
    let (mut conflicts, mut retries, mut uncertain) = (0, 0, false);
    loop {
        match known(session, &id, &event).await? {
            // After a lost reply the event that is there is the one that was sent.
            Known::Same if uncertain => return Ok(Sent::Accepted { id }),
            Known::Same => return Ok(Sent::Repeated { id }),
            Known::Other => return Ok(Sent::Refused { id, reason: Refusal::IdTaken }),
            Known::No => {}
        }
        if session.label(STATUS_LABEL) == Some(RunStatus::Done.as_str()) {
            return Ok(Sent::Refused { id, reason: Refusal::Done });
        }
        let mut draft = session.draft();
        let members = [("event", event.clone()), ("at", numbers::millis(at))];
        draft.put_member(&INBOX, &id, Value::Object(members.into_iter().collect()));
        let Err(error) = session.commit(draft).await else { return Ok(Sent::Accepted { id }) };
        match &error {
            CommitError::Conflict(_) if conflicts < CONFLICTS_MAX => conflicts += 1,
            CommitError::Storage(storage) if retries < RETRIES_MAX => {
                retries += 1;
                match storage.retry() {
                    Retry::Unknown => uncertain = true,
                    Retry::Safe => {}
                    Retry::AfterDelay(pause) => tokio::time::sleep(pause).await,
                    _ => return Err(error.into()),
                }
            }
            CommitError::Refused(_) | CommitError::Value { .. } => {
                return Err(
                    EngineError::invalid(format!("the event cannot be stored: {error}")).caused_by(error)
                );
            }
            _ => return Err(error.into()),
        }
        if let Err(unread) = session.refresh().await {
            // A conflict alone says nothing about the event.
            let conflict = matches!(error, CommitError::Conflict(_));
            return Err(if conflict { unread.into() } else { error.into() });
        }
    }
}

async fn known(session: &mut Session, id: &str, event: &Value) -> Result<Known, EngineError> {
    if let Some(pending) = session.member(&INBOX, id).await? {
        return Ok(if pending.get("event") == Some(event) { Known::Same } else { Known::Other });
    }
    let Some(receipt) = session.member(&RECEIPT, id).await? else { return Ok(Known::No) };
    let digest = digest(event).map(|digest| digest.to_string()).unwrap_or_default();
    let same = receipt.get("digest").and_then(Value::as_str) == Some(&*digest);
    Ok(if same { Known::Same } else { Known::Other })
}
