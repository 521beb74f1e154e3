//! The engine: what starts, opens and messages runs of one store with one set of tasks.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jaren_durable::{IntoStorage, Session, SessionId, Storage};
use jaren_flow::CompileOptions;
use jaren_flow::workflow::Workflow;
use jaren_host::{Clock, Ids, Random, SortableIds, SystemClock, SystemRandom};
use jaren_json::{Str, Value};

use crate::core::{CONCURRENCY, RunState};
use crate::difference;
use crate::documents::{Definition, QUERIES, RUN_KIND, SNAPSHOT};
use crate::drive::{CommitPolicy, Past, Pilot};
use crate::error::EngineError;
use crate::limits;
use crate::load;
use crate::numbers;
use crate::observe;
use crate::resources::Resources;
use crate::run::Run;
use crate::task::Tasks;

/// How long tasks that were asked to stop may take, unless the host says otherwise.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) tasks: Tasks,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) resources: Resources,
    pub(crate) policy: CommitPolicy,
    pub(crate) grace: Duration,
    pub(crate) concurrency: NonZeroUsize,
    options: CompileOptions,
    compiled: Compiled,
}

impl Inner {
    /// A document that this engine has compiled lately is not compiled again.
    pub(crate) fn compile(&self, document: &Value) -> Result<Workflow, EngineError> {
        if let Some(defect) = self.tasks.defect() {
            return Err(EngineError::invalid(defect));
        }
        if let Some(workflow) = self.compiled.find(document) {
            return Ok(workflow);
        }
        let workflow = Workflow::compile_with(document, &self.tasks, &self.options);
        let workflow = workflow.map_err(EngineError::of_report)?;
        self.compiled.keep(document, &workflow);
        Ok(workflow)
    }
}

/// The last documents compiled with an engine's tasks, the newest last.
#[derive(Default)]
struct Compiled(Mutex<Vec<(Value, Workflow)>>);

/// A host runs few kinds of workflows at a time.
const COMPILED_MAX: usize = 16;

impl Compiled {
    fn find(&self, document: &Value) -> Option<Workflow> {
        let compiled = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let same = |kept: &&(Value, Workflow)| is_same_text(&kept.0, document);
        compiled.iter().rev().find(same).map(|(_, workflow)| workflow.clone())
    }

    fn keep(&self, document: &Value, workflow: &Workflow) {
        let mut compiled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if compiled.len() >= COMPILED_MAX {
            compiled.remove(0);
        }
        compiled.push((document.clone(), workflow.clone()));
    }
}

/// Are two documents the same, also in the order of their members, by which ties are settled?
fn is_same_text(one: &Value, other: &Value) -> bool {
    let mut open = vec![(one, other)];
    while let Some((one, other)) = open.pop() {
        match (one, other) {
            _ if one.ptr_eq(other) => {}
            (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
                open.extend(items.iter().zip(others.iter()));
            }
            (Value::Object(members), Value::Object(others)) if members.len() == others.len() => {
                for ((name, member), (other_name, other)) in members.iter().zip(others.iter()) {
                    if name != other_name {
                        return false;
                    }
                    open.push((member, other));
                }
            }
            _ if one == other => {}
            _ => return false,
        }
    }
    true
}

impl Clone for Compiled {
    /// Another engine may get other tasks: it compiles for itself.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Runs workflows over one store. Cheap to clone; any number of engines, in any process, may share a store.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

impl Engine {
    /// An engine with the system's clock and random ids, over a storage of its own or one that is shared.
    pub fn new(storage: impl IntoStorage, tasks: Tasks) -> Self {
        let storage = storage.into_storage();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ids = Arc::new(SortableIds::system());
        let random = Arc::new(SystemRandom);
        let (policy, resources, grace) = (CommitPolicy::default(), Resources::new(), GRACE);
        let inner = Inner {
            storage,
            tasks,
            clock,
            ids,
            random,
            resources,
            policy,
            grace,
            concurrency: CONCURRENCY,
            options: CompileOptions::new(),
            compiled: Compiled::default(),
        };
        Engine { inner: Arc::new(inner) }
    }

    /// The same with another clock: timers, time limits and pauses of tasks, times of events and failures go by it.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        self.changed(|inner| inner.clock = clock)
    }

    /// The same with other minted ids.
    #[must_use]
    pub fn with_ids(self, ids: Arc<dyn Ids>) -> Self {
        self.changed(|inner| inner.ids = ids)
    }

    /// The same with another source of random bytes: the pauses before retries are drawn from it.
    #[must_use]
    pub fn with_random(self, random: Arc<dyn Random>) -> Self {
        self.changed(|inner| inner.random = random)
    }

    /// The same with what its tasks may ask for ([`TaskContext::resource`](crate::TaskContext::resource)); a drive may
    /// add to it.
    #[must_use]
    pub fn with_resources(self, resources: Resources) -> Self {
        self.changed(|inner| inner.resources = resources)
    }

    /// The same with another policy of what one commit carries.
    #[doc(hidden)]
    #[must_use]
    pub fn with_commit_policy(self, policy: CommitPolicy) -> Self {
        self.changed(|inner| inner.policy = policy)
    }

    /// The same with another time for tasks to end in after they were asked to stop, by the runtime's timer: it is for
    /// the code of this process. What still runs then is stopped at its next await.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        self.changed(|inner| inner.grace = grace)
    }

    /// The same with another bound on the tasks of one run that are under way at once
    /// ([`CONCURRENCY`](crate::core::CONCURRENCY) by default).
    ///
    /// Nodes of a dag that are ready beyond it wait in the order in which they became ready, ties in document order,
    /// and their inputs are not assembled before it is their turn: so a dag of any size takes memory for what runs.
    /// Many runs at once are bounded by whoever drives them.
    #[must_use]
    pub fn with_concurrency(self, tasks: NonZeroUsize) -> Self {
        self.changed(|inner| inner.concurrency = tasks)
    }

    /// The same with documents compiled so: with what the host lends to their queries and stylesheets (functions,
    /// operators, collations, schemas, time zones), and with other limits.
    ///
    /// What is lent is code of the host's, as a task is. A run's identity has of it what its document has, the names: so
    /// one that comes to answer otherwise gets another name, and the old one stays for as long as runs name it. A run
    /// whose document names what is not lent does not open ([`ErrorKind::Document`](crate::ErrorKind::Document)).
    #[must_use]
    pub fn with_compile_options(self, options: CompileOptions) -> Self {
        self.changed(|inner| {
            inner.options = options;
            inner.compiled = Compiled::default();
        })
    }

    fn changed(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        change(&mut inner);
        Engine { inner: Arc::new(inner) }
    }

    /// The store.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.inner.storage
    }

    /// Starts a run: one commit makes it durable, with its first task admitted. Nothing is executed before
    /// [`Run::drive`].
    ///
    /// If a run of that id exists, it is that run when the document and the input are the same
    /// ([`Run::is_new`] tells), and else an error of kind [`Changed`](crate::ErrorKind::Changed).
    pub async fn start(&self, start: Start) -> Result<Run, EngineError> {
        let run: Str = match &start.id {
            Some(id) => id.clone(),
            None => self.inner.ids.mint("run").into(),
        };
        self.start_as(&run, start).await.map_err(|error| error.of_run(&run))
    }

    async fn start_as(&self, run: &Str, start: Start) -> Result<Run, EngineError> {
        let inner = &self.inner;
        let Start { document, input, attachment, .. } = start;
        let workflow = inner.compile(&document)?;
        limits::check("the run's input", &input)?;
        limits::check("the attachment", &attachment)?;
        let session_id = session_id(run)?;
        let revision = document.get("revision").and_then(Value::as_str).unwrap_or_default().to_owned();
        let now = numbers::to_statechart(inner.clock.now());
        let state =
            RunState::start(workflow, run, input.clone(), Some(now)).map_err(EngineError::of_start)?;
        let state = state.with_concurrency(inner.concurrency);
        let session = Session::create(inner.storage.clone(), session_id.clone(), RUN_KIND);
        let mut pilot = Pilot::new(inner.clone(), run.clone(), session, state, None, Past::default());
        let definition = Definition { document, attachment, flags: vec![QUERIES.into()] };
        if pilot.create(definition.to_value(), revision).await? {
            observe::started(run);
            return Ok(Run::created(self.clone(), run.clone(), definition.attachment, pilot));
        }
        // There is a run of that id, from before or from just now.
        match Session::open(inner.storage.clone(), session_id).await.map_err(EngineError::of_storage)? {
            Some(session) => self.adopt(session, &definition.document, &input).await,
            None => Err(EngineError::not_found(run)),
        }
    }

    /// The stored run, if it was started with the same document and input.
    async fn adopt(&self, mut session: Session, document: &Value, input: &Value) -> Result<Run, EngineError> {
        let definition = load::definition(&mut session).await?;
        if definition.document != *document {
            let both = difference::of_documents(&definition.document, document);
            return Err(EngineError::changed("workflow document", &both));
        }
        let snapshot = load::required(&mut session, &SNAPSHOT).await?;
        let began = snapshot.get("context").and_then(|context| context.get("input"));
        if began != Some(input) {
            let both = difference::of_values(began.unwrap_or(&Value::Null), input);
            return Err(EngineError::changed("input", &both));
        }
        self.opened(session).await
    }

    /// Opens a stored run. It writes nothing. A task that is missing or has another version is an error of kind
    /// [`Document`](crate::ErrorKind::Document) (JF0018, JF0019); a run that is done opens all the same.
    pub async fn open(&self, run: &str) -> Result<Run, EngineError> {
        let opened = async {
            let session = Session::open(self.inner.storage.clone(), session_id(run)?).await;
            let session = session.map_err(EngineError::of_storage)?;
            self.opened(session.ok_or_else(|| EngineError::not_found(run))?).await
        };
        opened.await.map_err(|error| error.of_run(run))
    }

    async fn opened(&self, session: Session) -> Result<Run, EngineError> {
        let run = Str::from(session.id().as_str());
        let mut run = Run::saved(self.clone(), run, session);
        run.check().await?;
        Ok(run)
    }
}

pub(crate) fn session_id(run: &str) -> Result<SessionId, EngineError> {
    SessionId::new(run).map_err(|error| EngineError::invalid(format!("the run's id: {error}")))
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { storage, tasks, policy, grace, .. } = &*self.inner;
        f.debug_struct("Engine")
            .field("storage", storage)
            .field("tasks", tasks)
            .field("policy", policy)
            .field("grace", grace)
            .finish_non_exhaustive()
    }
}

/// What a run is started with.
#[derive(Clone)]
pub struct Start {
    pub(crate) document: Value,
    pub(crate) input: Value,
    pub(crate) id: Option<Str>,
    pub(crate) attachment: Value,
}

impl Start {
    /// A workflow document and the run's input. An input of a type of the host's own is made by
    /// [`to_value`](jaren_json::to_value), as a result is read by [`from_value`](jaren_json::from_value).
    pub fn new(document: Value, input: impl Into<Value>) -> Self {
        Start { document, input: input.into(), id: None, attachment: Value::Null }
    }

    /// Under that id, instead of a minted one.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Str>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// With a value of the host's own that is stored with the run: where its task bindings are, for example. It is
    /// no part of the run's identity.
    #[must_use]
    pub fn with_attachment(mut self, attachment: impl Into<Value>) -> Self {
        self.attachment = attachment.into();
        self
    }
}

/// Of the values only the kinds: they are the host's.
impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start")
            .field("id", &self.id)
            .field("revision", &self.document.get("revision"))
            .field("input", &format_args!("{}", self.input.kind()))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use jaren_json::value;

    use super::*;

    #[test]
    fn documents_are_told_apart_by_the_order_of_their_members() {
        let document = value!({ "a": [1, { "b": true, "c": "x" }], "d": null });
        let copy = value!({ "a": [1, { "b": true, "c": "x" }], "d": null });
        assert!(is_same_text(&document, &document) && is_same_text(&document, &copy));
        for other in [
            value!({ "a": [1, { "c": "x", "b": true }], "d": null }),
            value!({ "d": null, "a": [1, { "b": true, "c": "x" }] }),
            value!({ "a": [1, { "b": true, "c": "y" }], "d": null }),
            value!({ "a": [1], "d": null }),
        ] {
            assert!(!is_same_text(&document, &other), "{other}");
        }
    }

    #[test]
    fn debug_has_no_input() {
        let start = Start::new(value!({ "revision": "r/1" }), value!({ "card": "4711" })).with_id("r");
        let shown = format!("{start:?}");
        assert!(shown.contains("r/1") && !shown.contains("4711"), "{shown}");
    }
}
