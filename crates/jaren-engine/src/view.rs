//! Reading runs: what an operator sees. No engine and no tasks are needed, and nothing is written.

use std::sync::Arc;

use jaren_durable::{At, FamilyQuery, Page, Session, SessionRecord, SessionsQuery, Storage};
use jaren_flow::DeclaredTasks;
use jaren_flow::workflow::Workflow;
use jaren_host::Timestamp;
use jaren_json::{Object, Value};

use crate::core::RunState;
use crate::documents::{
    FAILURE, INBOX, RECEIPT, REVISION_LABEL, RUN_KIND, RunFailure, RunStatus, SNAPSHOT, STATUS_LABEL, millis,
};
use crate::engine::session_id;
use crate::error::EngineError;
use crate::load;
use crate::numbers;
use crate::rebind::{self, Rebound};

/// A run as its session holds it. It is read at one commit, and reads also when no engine would run it: an unknown
/// flag, missing tasks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunView {
    /// The run's id.
    pub id: String,
    /// Where it stands.
    pub status: RunStatus,
    /// The document's declared revision.
    pub revision: String,
    /// The active qualified state.
    pub state: String,
    /// The event types that move it, in document order, when it waits.
    pub events: Vec<String>,
    /// When time moves it, when it waits.
    pub deadline: Option<Timestamp>,
    /// How often each qualified state was entered.
    pub visits: Vec<(String, u64)>,
    /// The latest result by qualified state.
    pub results: Object,
    /// The input.
    pub input: Value,
    /// The current data.
    pub data: Value,
    /// The result, when it is done.
    pub result: Option<Value>,
    /// Why the last attempt failed, when it did.
    pub failure: Option<RunFailure>,
    /// The events that no wait has met yet, in order of arrival.
    pub inbox: Vec<PendingEvent>,
    /// When it was started.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// The snapshot's generation.
    pub generation: u64,
    /// How many commits its session has.
    pub commits: u64,
    /// The document.
    pub document: Value,
    /// The host's own value from the start.
    pub attachment: Value,
    /// The behaviours that it pins.
    pub flags: Vec<String>,
    /// When it was bound to another document, the oldest first.
    pub rebinds: Vec<Rebound>,
    /// The snapshot as it is stored: the published one, save for what is large and follows from the rest, the input of a
    /// pending activation and the identity of its dataflow ([`published`](Self::published)).
    pub snapshot: Value,
}

/// An event that waits in a run's inbox.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PendingEvent {
    /// Its id.
    pub id: String,
    /// Its type.
    pub name: String,
    /// Its payload; null if there is none.
    pub payload: Value,
    /// When it was sent.
    pub at: Timestamp,
}

impl RunView {
    /// Reads a run; none if there is no such session.
    pub async fn load(storage: &Arc<dyn Storage>, run: &str) -> Result<Option<Self>, EngineError> {
        let Some(record) = storage.session(session_id(run)?).await? else { return Ok(None) };
        let Some(mut session) = Session::open(storage.clone(), record.id.clone()).await? else {
            return Ok(None);
        };
        let definition = load::definition(&mut session).await?;
        let snapshot = load::required(&mut session, &SNAPSHOT).await?;
        let failure = session.document(&FAILURE).await?;
        let inbox = inbox(storage, &session).await?;
        let rebinds = rebind::rebinds(&mut session).await?;
        let status = status_of(session.label(STATUS_LABEL));
        let context = |name: &str| snapshot.get("context").and_then(|context| context.get(name)).cloned();
        let data = context("data").unwrap_or_default();
        let state = active(&snapshot).unwrap_or_default().to_owned();
        let (events, deadline) = match status {
            RunStatus::Waiting => (awaited(&definition.document, &state), deadline(&snapshot)),
            _ => (Vec::new(), None),
        };
        Ok(Some(RunView {
            id: run.to_owned(),
            status,
            revision: session.label(REVISION_LABEL).unwrap_or_default().to_owned(),
            state,
            events,
            deadline,
            visits: visits(&snapshot),
            results: context("results").as_ref().and_then(Value::as_object).cloned().unwrap_or_default(),
            input: context("input").unwrap_or_default(),
            result: (status == RunStatus::Done).then(|| data.clone()),
            data,
            failure: failure.as_ref().and_then(RunFailure::read),
            inbox,
            created: record.created,
            updated: record.updated,
            generation: snapshot.get("generation").and_then(Value::as_u64).unwrap_or_default(),
            commits: session.head().get(),
            document: definition.document,
            attachment: definition.attachment,
            flags: definition.flags.iter().map(ToString::to_string).collect(),
            rebinds,
            snapshot,
        }))
    }

    /// The published `jaren-workflow-run/0.1` snapshot: what another implementation of the format resumes.
    ///
    /// An error where the document is none that this release compiles.
    pub fn published(&self) -> Result<Value, EngineError> {
        let workflow = Workflow::compile(&self.document, &DeclaredTasks)?;
        Ok(RunState::publish(&workflow, &self.id, &self.snapshot)?)
    }
}

/// Whether a wait took the event with this id; none while no wait has met it, or when the run never had it.
pub async fn event_taken(
    storage: &Arc<dyn Storage>,
    run: &str,
    event: &str,
) -> Result<Option<bool>, EngineError> {
    let receipt = storage.document(session_id(run)?, RECEIPT.address(event), At::Current).await?;
    Ok(receipt.and_then(|receipt| receipt.value.get("accepted")?.as_bool()))
}

/// What a newer release has written is shown, too.
fn status_of(label: Option<&str>) -> RunStatus {
    label.and_then(RunStatus::parse).unwrap_or(RunStatus::Unknown)
}

/// The active qualified state of a stored snapshot.
pub(crate) fn active(snapshot: &Value) -> Option<&str> {
    snapshot.get("control")?.get("active")?.at(0)?.as_str()
}

/// The event types of a wait, read from the document itself: a view needs no compiled workflow.
fn awaited(document: &Value, state: &str) -> Vec<String> {
    let spec = jaren_json::Pointer::parse(state).ok();
    let spec = spec.and_then(|pointer| document.pointer(&pointer));
    let branches = spec.and_then(|spec| spec.get("on")).and_then(Value::as_array);
    let mut events: Vec<String> = Vec::new();
    for branch in branches.into_iter().flat_map(|branches| branches.iter()) {
        let name = branch.get("event").and_then(Value::as_str).unwrap_or_default();
        if !events.iter().any(|known| known == name) {
            events.push(name.to_owned());
        }
    }
    events
}

fn deadline(snapshot: &Value) -> Option<Timestamp> {
    let timers = snapshot.get("control")?.get("timers")?.as_array()?;
    let due = timers.iter().filter_map(|timer| timer.get("at")?.as_f64());
    due.min_by(f64::total_cmp).map(numbers::from_statechart)
}

fn visits(snapshot: &Value) -> Vec<(String, u64)> {
    let visits = snapshot.get("context").and_then(|context| context.get("visits")).and_then(Value::as_object);
    let counts = visits.into_iter().flat_map(Object::iter);
    counts.filter_map(|(state, count)| Some((state.to_owned(), count.as_u64()?))).collect()
}

async fn inbox(storage: &Arc<dyn Storage>, session: &Session) -> Result<Vec<PendingEvent>, EngineError> {
    let mut query = FamilyQuery::new(session.id().clone(), INBOX.kind());
    query.at = At::Seq(session.head());
    let mut pending = Vec::new();
    loop {
        let page = storage.family(query.clone()).await?;
        query.after = page.items.last().and_then(|stored| stored.address.key().map(Arc::from));
        for stored in page.items {
            let event = stored.value.get("event").cloned().unwrap_or_default();
            let id = stored.address.key().unwrap_or_default().to_owned();
            let name = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
            let payload = event.get("payload").cloned().unwrap_or_default();
            let at = millis(stored.value.get("at")).unwrap_or_default();
            pending.push((stored.created, PendingEvent { id, name, payload, at }));
        }
        if !page.more {
            break;
        }
    }
    pending.sort_by_key(|(created, _)| *created);
    Ok(pending.into_iter().map(|(_, event)| event).collect())
}

/// Which runs to list.
#[derive(Clone, Debug, Default)]
pub struct RunsQuery {
    /// Only runs of this status.
    pub status: Option<RunStatus>,
    /// After this cursor of an earlier page.
    pub after: Option<u64>,
    /// The newest first, instead of the oldest.
    pub newest_first: bool,
    /// At most so many; the storage's own bound if absent.
    pub limit: Option<usize>,
}

/// One line of a list of runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// Where it stands.
    pub status: RunStatus,
    /// The document's declared revision.
    pub revision: String,
    /// When it was started.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
}

/// A page of runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunsPage {
    /// In the order of their starts.
    pub runs: Vec<RunSummary>,
    /// Where the next page begins, if there is one.
    pub next: Option<u64>,
}

/// Lists the runs of a store.
pub async fn runs(storage: &Arc<dyn Storage>, query: RunsQuery) -> Result<RunsPage, EngineError> {
    let mut sessions = SessionsQuery::kind(RUN_KIND);
    if let Some(status) = query.status {
        sessions = sessions.label(STATUS_LABEL, status.as_str());
    }
    if query.newest_first {
        sessions = sessions.newest_first();
    }
    if let Some(after) = query.after {
        sessions = sessions.after(after);
    }
    if let Some(limit) = query.limit {
        sessions = sessions.limit(limit);
    }
    let Page { items, more, .. } = storage.sessions(sessions).await?;
    let next = if more { items.last().map(|record| record.number) } else { None };
    Ok(RunsPage { runs: items.iter().map(summary).collect(), next })
}

fn summary(record: &SessionRecord) -> RunSummary {
    RunSummary {
        id: record.id.to_string(),
        status: status_of(record.label(STATUS_LABEL)),
        revision: record.label(REVISION_LABEL).unwrap_or_default().to_owned(),
        created: record.created,
        updated: record.updated,
    }
}
