//! Reading runs: what an operator sees. No engine and no tasks are needed, and nothing is written.

use std::fmt;
use std::sync::Arc;

use jaren_durable::{
    At, FamilyQuery, Page, SessionRecord, SessionsQuery, Singleton, Storage, StorageError, StorageErrorKind,
};
use jaren_host::Timestamp;
use jaren_json::{Object, Str, Value};

use crate::core::RunState;
use crate::documents::{
    DEFINITION, FAILURE, INBOX, REBINDS, REVISION_LABEL, RUN_KIND, RunFailure, RunStatus, SNAPSHOT,
    STATUS_LABEL, millis,
};
use crate::engine::{Engine, session_id};
use crate::error::EngineError;
use crate::load;
use crate::numbers;
use crate::rebind::{self, Rebound};
use crate::saved_tasks;

/// A run as its session holds it. It is read at one commit, and reads also when no engine would run it: an unknown
/// flag, missing tasks.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RunView {
    /// The run's id.
    pub id: Str,
    /// Where it stands.
    pub status: RunStatus,
    /// The document's declared revision.
    pub revision: Str,
    /// The active qualified state.
    pub state: Str,
    /// The names of the events that move it, in document order, when it waits.
    pub events: Vec<Str>,
    /// When time moves it, when it waits.
    pub deadline: Option<Timestamp>,
    /// How often each qualified state was entered.
    pub visits: Vec<(Str, u64)>,
    /// The latest result by qualified state.
    pub results: Object,
    /// The input.
    pub input: Value,
    /// The current data.
    pub data: Value,
    /// The result, when it is done.
    pub result: Option<Value>,
    /// Why its last drive failed, when it did.
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
    pub flags: Vec<Str>,
    /// When it was bound to another document, the oldest first.
    pub rebinds: Vec<Rebound>,
    /// The snapshot as it is stored: the published one, save for what is large and follows from the rest, the input of a
    /// pending activation and the identity of its dataflow ([`published`](Self::published)).
    pub snapshot: Value,
}

/// An event that waits in a run's inbox.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct PendingEvent {
    /// Its id.
    pub id: Str,
    /// Its name.
    pub name: Str,
    /// Its payload; null if there is none.
    pub payload: Value,
    /// When it was sent.
    pub at: Timestamp,
}

/// How often a view is begun again because the run was removed and started anew while it was read.
const READS_MAX: u32 = 16;

impl RunView {
    /// Reads a run; none if there is no such session.
    pub async fn load(storage: &dyn Storage, run: &str) -> Result<Option<Self>, EngineError> {
        let id = session_id(run)?;
        for _ in 0..READS_MAX {
            let record = storage.session(id.clone()).await.map_err(EngineError::of_storage)?;
            let Some(record) = record else { return Ok(None) };
            match Self::read(&Reader { storage, record: &record }).await {
                Err(Unread::Outdated) => {}
                Err(Unread::Error(error)) => return Err(error.of_run(run)),
                Ok(view) => return Ok(Some(view)),
            }
        }
        Err(EngineError::busy().of_run(run))
    }

    async fn read(reader: &Reader<'_>) -> Result<Self, Unread> {
        let record = reader.record;
        if &*record.kind != RUN_KIND {
            return Err(EngineError::unreadable("the session is no run").into());
        }
        let definition = load::definition_of(&reader.required(&DEFINITION).await?)?;
        let snapshot = reader.required(&SNAPSHOT).await?;
        let failure = reader.document(&FAILURE).await?;
        let inbox = reader.inbox().await?;
        let rebinds = reader.document(&REBINDS).await?;
        let status = status_of(record.label(STATUS_LABEL));
        let context = |name: &str| snapshot.get("context").and_then(|context| context.get(name)).cloned();
        let data = context("data").unwrap_or_default();
        let state = active(&snapshot).unwrap_or_default();
        let (events, deadline) = match status {
            RunStatus::Waiting => (awaited(&definition.document, state), deadline(&snapshot)),
            _ => (Vec::new(), None),
        };
        Ok(RunView {
            id: record.id.as_str().into(),
            status,
            revision: record.label(REVISION_LABEL).unwrap_or_default().into(),
            state: state.into(),
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
            commits: record.head.get(),
            document: definition.document,
            attachment: definition.attachment,
            flags: definition.flags,
            rebinds: rebind::read_all(rebinds.as_ref()),
            snapshot,
        })
    }

    /// The published `jaren-workflow-run/0.1` snapshot: what another implementation of the format resumes.
    ///
    /// An error where the document is none that this release compiles.
    pub fn published(&self) -> Result<Value, EngineError> {
        let workflow = saved_tasks::compile(&self.document, &self.snapshot);
        let workflow = workflow.map_err(EngineError::of_report)?;
        RunState::publish(&workflow, &self.id, &self.snapshot).map_err(EngineError::of_restore)
    }
}

/// Of the values only the kinds: they are the host's.
impl fmt::Debug for RunView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunView")
            .field("id", &self.id)
            .field("status", &self.status)
            .field("revision", &self.revision)
            .field("state", &self.state)
            .field("events", &self.events)
            .field("deadline", &self.deadline)
            .field("failure", &self.failure)
            .field("inbox", &self.inbox)
            .field("generation", &self.generation)
            .field("commits", &self.commits)
            .finish_non_exhaustive()
    }
}

/// Without the payload, which is the host's.
impl fmt::Debug for PendingEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingEvent")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// Why a view could not be read.
enum Unread {
    /// What it was to be read of is no longer kept.
    Outdated,
    Error(EngineError),
}

impl From<EngineError> for Unread {
    fn from(error: EngineError) -> Self {
        Unread::Error(error)
    }
}

impl From<StorageError> for Unread {
    fn from(error: StorageError) -> Self {
        match error.kind() {
            StorageErrorKind::NotRetained => Unread::Outdated,
            _ => Unread::Error(EngineError::of_storage(error)),
        }
    }
}

/// Reads a session's documents as of one commit.
struct Reader<'a> {
    storage: &'a dyn Storage,
    record: &'a SessionRecord,
}

impl Reader<'_> {
    async fn document(&self, kind: &Singleton) -> Result<Option<Value>, Unread> {
        let at = At::Seq(self.record.head);
        let Some(stored) = self.storage.document(self.record.id.clone(), kind.address(), at).await? else {
            return Ok(None);
        };
        Ok(Some(kind.read(&stored).map_err(EngineError::of_session)?))
    }

    async fn required(&self, kind: &Singleton) -> Result<Value, Unread> {
        let found = self.document(kind).await?;
        Ok(found.ok_or_else(|| load::missing(kind))?)
    }

    async fn inbox(&self) -> Result<Vec<PendingEvent>, Unread> {
        let mut query = FamilyQuery::of(self.record.id.clone(), &INBOX);
        query.at = At::Seq(self.record.head);
        let mut pending = Vec::new();
        loop {
            let page = self.storage.family(query.clone()).await?;
            query.after = page.items.last().and_then(|stored| stored.address.key().map(Arc::from));
            for stored in page.items {
                let event = stored.value.get("event").cloned().unwrap_or_default();
                let id = stored.address.key().unwrap_or_default().into();
                let name = event.get("type").and_then(Value::as_str).unwrap_or_default().into();
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
}

/// What a newer release has written is shown, too.
fn status_of(label: Option<&str>) -> RunStatus {
    label.and_then(RunStatus::parse).unwrap_or(RunStatus::Unknown)
}

/// The active qualified state of a stored snapshot.
pub(crate) fn active(snapshot: &Value) -> Option<&str> {
    snapshot.get("control")?.get("active")?.at(0)?.as_str()
}

/// The names of a wait's events, read from the document itself: a view needs no compiled workflow.
fn awaited(document: &Value, state: &str) -> Vec<Str> {
    let spec = jaren_json::Pointer::parse(state).ok();
    let spec = spec.and_then(|pointer| document.pointer(&pointer));
    let branches = spec.and_then(|spec| spec.get("on")).and_then(Value::as_array);
    let mut events: Vec<Str> = Vec::new();
    for branch in branches.into_iter().flat_map(|branches| branches.iter()) {
        let name = branch.get("event").and_then(Value::as_str).unwrap_or_default();
        if !events.iter().any(|known| *known == *name) {
            events.push(name.into());
        }
    }
    events
}

fn deadline(snapshot: &Value) -> Option<Timestamp> {
    let timers = snapshot.get("control")?.get("timers")?.as_array()?;
    let due = timers.iter().filter_map(|timer| timer.get("at")?.as_f64());
    due.min_by(f64::total_cmp).map(numbers::from_statechart)
}

fn visits(snapshot: &Value) -> Vec<(Str, u64)> {
    let visits = snapshot.get("context").and_then(|context| context.get("visits")).and_then(Value::as_object);
    let counts = visits.into_iter().flat_map(Object::iter);
    counts.filter_map(|(state, count)| Some((Str::from(state), count.as_u64()?))).collect()
}

/// Which runs to list, and in what order: all of them, the oldest first, unless it says otherwise.
#[derive(Clone, Debug, Default)]
pub struct RunsQuery {
    status: Option<RunStatus>,
    after: Option<u64>,
    newest_first: bool,
    limit: Option<usize>,
}

impl RunsQuery {
    /// All runs, the oldest first.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same of this status only.
    #[must_use]
    pub fn with_status(self, status: RunStatus) -> Self {
        Self { status: Some(status), ..self }
    }

    /// The same with at most so many runs a page; the storage's own bound without it.
    #[must_use]
    pub fn with_limit(self, runs: usize) -> Self {
        Self { limit: Some(runs), ..self }
    }

    /// The same beyond a page that was read ([`RunsPage::next`]).
    #[must_use]
    pub fn after(self, cursor: u64) -> Self {
        Self { after: Some(cursor), ..self }
    }

    /// The same with the newest first.
    #[must_use]
    pub fn newest_first(self) -> Self {
        Self { newest_first: true, ..self }
    }
}

/// One line of a list of runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunSummary {
    /// The run's id.
    pub id: Str,
    /// Where it stands.
    pub status: RunStatus,
    /// The document's declared revision.
    pub revision: Str,
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
pub async fn runs(storage: &dyn Storage, query: RunsQuery) -> Result<RunsPage, EngineError> {
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
    let Page { items, more, .. } = storage.sessions(sessions).await.map_err(EngineError::of_storage)?;
    let next = if more { items.last().map(|record| record.number) } else { None };
    Ok(RunsPage { runs: items.iter().map(summary).collect(), next })
}

fn summary(record: &SessionRecord) -> RunSummary {
    RunSummary {
        id: record.id.as_str().into(),
        status: status_of(record.label(STATUS_LABEL)),
        revision: record.label(REVISION_LABEL).unwrap_or_default().into(),
        created: record.created,
        updated: record.updated,
    }
}

/// Reading, for whoever has an engine.
impl Engine {
    /// A run as the store holds it; none if there is no such run. See [`RunView::load`].
    pub async fn view(&self, run: &str) -> Result<Option<RunView>, EngineError> {
        RunView::load(&**self.storage(), run).await
    }

    /// Lists the runs of the store. See [`runs`].
    pub async fn runs(&self, query: RunsQuery) -> Result<RunsPage, EngineError> {
        runs(&**self.storage(), query).await
    }
}
