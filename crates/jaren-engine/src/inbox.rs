//! Sending events: appended to a run's inbox with an id, from any process, before or while the run is executed.

use std::fmt;

use jaren_durable::{At, Session, Storage};
use jaren_host::Timestamp;
use jaren_json::{Kind, Str, Value, digest, value};

use crate::documents::{self, INBOX, INBOX_SIZE, RECEIPT, RUN_KIND, RunStatus, STATUS_LABEL};
use crate::engine::{Engine, session_id};
use crate::error::EngineError;
use crate::limits;
use crate::numbers;
use crate::observe;
use crate::settle::Tries;

/// An id becomes a document's key.
const ID_BYTES_MAX: usize = 256;

/// An event for a run.
#[derive(Clone, PartialEq)]
pub struct Event {
    name: Str,
    payload: Option<Value>,
    id: Option<Str>,
}

impl Event {
    /// An event of that name, as the waits of the document have it. A null payload is the same as none.
    pub fn new(name: impl Into<Str>, payload: impl Into<Value>) -> Self {
        let payload = Some(payload.into()).filter(|payload| !payload.is_null());
        Event { name: name.into(), payload, id: None }
    }

    /// The same under an id of the caller's: sending it twice delivers it once. Without one an id is minted.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Str>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// Of the payload only the kind: it is the host's.
impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payload = self.payload.as_ref().map_or(Kind::Null, Value::kind);
        f.debug_struct("Event")
            .field("name", &self.name)
            .field("id", &self.id)
            .field("payload", &format_args!("{payload}"))
            .finish()
    }
}

/// What became of sending an event. What becomes of the event then is its [fate](EventFate).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an event that was rejected is not stored"]
pub enum Sent {
    /// It is durable in the run's inbox. A wait of the run will take or ignore it.
    Stored {
        /// Its id.
        id: Str,
    },
    /// The same event had been stored under that id before; nothing was written.
    Repeated {
        /// Its id.
        id: Str,
    },
    /// It was not stored.
    Rejected {
        /// Its id.
        id: Str,
        /// Why.
        reason: Rejection,
    },
}

/// Why an event was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// The run is done.
    Done,
    /// Another event, with another name or payload, has that id.
    IdTaken,
    /// So much is in the run's inbox that no more is taken ([`INBOX_EVENTS_MAX`](limits::INBOX_EVENTS_MAX),
    /// [`INBOX_BYTES_MAX`](limits::INBOX_BYTES_MAX)): somebody must drive the run.
    Full,
}

/// What became of an event that a run has, or had, in its inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventFate {
    /// No wait has met it yet.
    Waiting,
    /// A wait took it: it moved the run.
    Taken,
    /// A wait did not take it, because no branch is for it or no guard holds, and it is gone.
    Ignored,
}

/// What became of the event with this id; none when the run never had it.
pub async fn event_fate(
    storage: &dyn Storage,
    run: &str,
    event: &str,
) -> Result<Option<EventFate>, EngineError> {
    let id = session_id(run)?;
    // In this order: it moves from the one to the other.
    let read = |address| storage.document(id.clone(), address, At::Current);
    if read(INBOX.address(event)).await.map_err(EngineError::of_storage)?.is_some() {
        return Ok(Some(EventFate::Waiting));
    }
    let receipt = read(RECEIPT.address(event)).await.map_err(EngineError::of_storage)?;
    let taken = receipt.and_then(|receipt| receipt.value.get("accepted")?.as_bool());
    Ok(taken.map(|taken| if taken { EventFate::Taken } else { EventFate::Ignored }))
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
            return Err(EngineError::invalid("an event needs a name that is not blank"));
        }
        let event = documents::event(&name, payload.as_ref());
        limits::check("the event", &event)?;
        let id = id.unwrap_or_else(|| self.inner.ids.mint("event").into());
        if id.is_empty() || id.len() > ID_BYTES_MAX {
            return Err(EngineError::invalid(format!("an event's id needs 1 to {ID_BYTES_MAX} bytes")));
        }
        let session = Session::open(self.inner.storage.clone(), session_id(run)?).await;
        let session = session.map_err(EngineError::of_storage)?;
        let mut session = session.ok_or_else(|| EngineError::not_found(run))?;
        if session.kind() != RUN_KIND {
            return Err(EngineError::unreadable("the session is no run"));
        }
        let sent = append(&mut session, id, event, self.inner.clock.now()).await?;
        if matches!(sent, Sent::Stored { .. }) {
            observe::sent(run);
        }
        Ok(sent)
    }

    /// What became of the event with this id; none when the run never had it.
    pub async fn event(&self, run: &str, event: &str) -> Result<Option<EventFate>, EngineError> {
        event_fate(&**self.storage(), run, event).await.map_err(|error| error.of_run(run))
    }
}

async fn append(session: &mut Session, id: Str, event: Value, at: Timestamp) -> Result<Sent, EngineError> {
    let (mut tries, mut uncertain) = (Tries::default(), false);
    loop {
        match known(session, &id, &event).await? {
            // After a lost reply the event that is there is the one that was sent.
            Known::Same if uncertain => return Ok(Sent::Stored { id }),
            Known::Same => return Ok(Sent::Repeated { id }),
            Known::Other => return Ok(Sent::Rejected { id, reason: Rejection::IdTaken }),
            Known::No => {}
        }
        if session.label(STATUS_LABEL) == Some(RunStatus::Done.as_str()) {
            return Ok(Sent::Rejected { id, reason: Rejection::Done });
        }
        let Some(size) = InboxSize::of(session).await?.with(&event) else {
            return Ok(Sent::Rejected { id, reason: Rejection::Full });
        };
        let mut draft = session.draft();
        let members = [("event", event.clone()), ("at", numbers::millis(at))];
        draft.put_member(&INBOX, &id, Value::Object(members.into_iter().collect()));
        draft.put(&INBOX_SIZE, size.to_value());
        let Err(error) = session.commit(draft).await else { return Ok(Sent::Stored { id }) };
        uncertain |= tries.again(session, error).await?.is_unknown();
    }
}

async fn known(session: &mut Session, id: &str, event: &Value) -> Result<Known, EngineError> {
    if let Some(pending) = session.member(&INBOX, id).await.map_err(EngineError::of_session)? {
        return Ok(if pending.get("event") == Some(event) { Known::Same } else { Known::Other });
    }
    let receipt = session.member(&RECEIPT, id).await.map_err(EngineError::of_session)?;
    let Some(receipt) = receipt else { return Ok(Known::No) };
    let digest = digest(event).map(|digest| digest.to_string()).unwrap_or_default();
    let same = receipt.get("digest").and_then(Value::as_str) == Some(&*digest);
    Ok(if same { Known::Same } else { Known::Other })
}

/// How much is in a run's inbox. It stands beside the events, so that neither sending one nor taking one reads them all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InboxSize {
    events: u64,
    bytes: u64,
}

impl InboxSize {
    /// As the session has it.
    pub(crate) async fn of(session: &mut Session) -> Result<Self, EngineError> {
        let stored =
            session.document(&INBOX_SIZE).await.map_err(EngineError::of_session)?.unwrap_or_default();
        let member = |name: &str| stored.get(name).and_then(Value::as_u64).unwrap_or_default();
        Ok(InboxSize { events: member("events"), bytes: member("bytes") })
    }

    /// With one more event, if there is room for it.
    fn with(self, event: &Value) -> Option<Self> {
        let more = InboxSize { events: self.events + 1, bytes: self.bytes.saturating_add(bytes(event)) };
        let has_room = more.events <= limits::INBOX_EVENTS_MAX && more.bytes <= limits::INBOX_BYTES_MAX;
        has_room.then_some(more)
    }

    /// Without an event.
    pub(crate) fn without(self, event: &Value) -> Self {
        match self.events.saturating_sub(1) {
            0 => InboxSize::default(),
            events => InboxSize { events, bytes: self.bytes.saturating_sub(bytes(event)) },
        }
    }

    pub(crate) fn to_value(self) -> Value {
        value!({ "events": numbers::count(self.events), "bytes": numbers::count(self.bytes) })
    }
}

fn bytes(event: &Value) -> u64 {
    limits::bytes(event).try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_has_room_up_to_its_limits() {
        let event = value!({ "type": "x" });
        let at = |events, bytes| InboxSize { events, bytes };
        let (events, most) = (limits::INBOX_EVENTS_MAX, limits::INBOX_BYTES_MAX);
        assert_eq!(at(events - 1, 0).with(&event), Some(at(events, bytes(&event))));
        assert_eq!(at(events, 0).with(&event), None);
        assert_eq!(at(1, most - bytes(&event)).with(&event), Some(at(2, most)));
        assert_eq!(at(1, most - bytes(&event) + 1).with(&event), None);
    }

    #[test]
    fn an_empty_inbox_has_no_bytes() {
        let event = value!({ "type": "x" });
        assert_eq!(InboxSize { events: 1, bytes: 99 }.without(&event), InboxSize::default());
        assert_eq!(InboxSize::default().without(&event), InboxSize::default());
        let two = InboxSize::default().with(&event).unwrap().with(&event).unwrap();
        assert_eq!(Some(two.without(&event)), InboxSize::default().with(&event));
    }

    #[test]
    fn debug_has_no_payload() {
        let event = Event::new("pay", value!({ "card": "4711" })).with_id("e-1");
        let shown = format!("{event:?}");
        assert!(shown.contains("pay") && shown.contains("e-1") && !shown.contains("4711"), "{shown}");
    }
}
