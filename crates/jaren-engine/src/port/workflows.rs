//! One call of a workflow over the format's store port.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use jaren_durable::BoxFuture;
use jaren_flow::workflow::Workflow;
use jaren_json::{Report, Str, Value};

use super::{StoreError, store_failed};
use crate::attempt::Lent;
use crate::core::{
    Arrival, Cause, Input, NodeStatus, Output, Phase, Record, RunError, RunState, SaveCause, SavePoint,
    StartTask,
};
use crate::crew::{Crew, Ended as TaskEnded};
use crate::drive::Drive;
use crate::limits;
use crate::observe::Teller;
use crate::task::Tasks;

/// Where a host keeps the snapshots of its runs (workflow §5).
pub trait CheckpointStore: Send + Sync + 'static {
    /// The last saved snapshot of a run; none if nothing was saved.
    fn load<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<Value>, StoreError>>;

    /// Replaces the run's snapshot if the stored generation is `expected` (0 if nothing is stored), all at once, and
    /// answers whether it was. The point tells what changed; [`Snapshot::to_value`](crate::core::Snapshot::to_value)
    /// is the whole JSON and costs nothing.
    fn save<'a>(
        &'a self,
        run: &'a str,
        point: &'a SavePoint,
        expected: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// One call of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// The run's id.
    pub run: String,
    /// The run's original input.
    pub input: Value,
    /// The snapshot to go on from; only without a store.
    pub snapshot: Option<Value>,
    /// Refuse (JF2014) unless the run has this generation; 0 if it must be new.
    pub expected_generation: Option<u64>,
    /// The explicit time. Absent: the run's own, 0 for a new one, and no deadline fires.
    pub now: Option<f64>,
    /// `{type, payload?}` for the first wait that is reached. It is consumed even if no guard accepts it.
    pub event: Option<Value>,
    /// The token and the observer; timers are the caller's, who passes the time.
    pub drive: Drive,
}

impl Call {
    /// A call without time, event and expectation.
    pub fn new(run: impl Into<String>, input: Value) -> Self {
        Call {
            run: run.into(),
            input,
            snapshot: None,
            expected_generation: None,
            now: None,
            event: None,
            drive: Drive::new(),
        }
    }
}

/// What a call answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended {
    /// The run's result; none while it waits.
    pub result: Option<Value>,
    /// The last snapshot.
    pub snapshot: Value,
    /// Its generation.
    pub generation: u64,
}

/// A compiled workflow with its tasks and, if it has one, its store.
pub struct Workflows {
    workflow: Workflow,
    tasks: Tasks,
    store: Option<Arc<dyn CheckpointStore>>,
    running: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for Workflows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workflows").field("tasks", &self.tasks).finish_non_exhaustive()
    }
}

impl Workflows {
    /// Compiles a document for the tasks.
    pub fn compile(
        document: &Value,
        tasks: Tasks,
        store: Option<Arc<dyn CheckpointStore>>,
    ) -> Result<Self, Report> {
        let workflow = Workflow::compile(document, &tasks)?;
        Ok(Workflows { workflow, tasks, store, running: Mutex::default() })
    }

    /// The compiled workflow.
    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// Runs to a wait or to the end. Calls for one run at the same time are refused (JF2014).
    pub async fn run(&self, call: Call) -> Result<Ended, RunError> {
        if self.store.is_some() && call.snapshot.is_some() {
            return Err(RunError::new("JF2016", "give either a store or a snapshot, not both"));
        }
        let named = call.event.as_ref().is_none_or(|event| {
            event.get("type").and_then(Value::as_str).is_some_and(|name| !name.trim().is_empty())
        });
        if !named {
            return Err(RunError::new("JF2016", "an event needs a type that is not blank"));
        }
        let dags = self.workflow.lowered().dags().iter().map(|(_, dag)| dag);
        ready(dags, &self.tasks, &call.drive)?;
        let busy = Busy::new(&self.running, &call.run);
        let busy = busy.ok_or_else(|| RunError::new("JF2014", "the run is running already"))?;
        // Whatever it has to do, a call is not over before others of the same moment have been made.
        tokio::task::yield_now().await;
        let ended = self.run_alone(&call).await;
        drop(busy);
        ended
    }

    async fn run_alone(&self, call: &Call) -> Result<Ended, RunError> {
        live(call)?;
        let saved = match &self.store {
            Some(store) => {
                store.load(&call.run).await.map_err(|error| store_failed("load the run", &error))?
            }
            None => call.snapshot.clone(),
        };
        live(call)?;
        let mut state = match saved.filter(|saved| !saved.is_null()) {
            Some(saved) => RunState::restore(self.workflow.clone(), &call.run, &saved, &call.input)?,
            None => RunState::start(self.workflow.clone(), &call.run, call.input.clone(), call.now)?,
        };
        let generation = state.snapshot().generation();
        if call.expected_generation.is_some_and(|expected| expected != generation) {
            return Err(RunError::new(
                "JF2014",
                format!("the run has generation {generation}, not the expected one"),
            ));
        }
        let run = Str::from(&*call.run);
        let lent = lent(&run, &call.drive);
        state.set_watched(lent.teller.is_watched());
        let mut turn = Turn { runs: self, call, run, state, crew: Crew::default(), lent };
        let ended = turn.run().await;
        for task in turn.crew.dismiss().await {
            turn.aborted(task);
        }
        ended
    }
}

fn live(call: &Call) -> Result<(), RunError> {
    if call.drive.cancel.is_cancelled() { Err(interrupted()) } else { Ok(()) }
}

/// Told before anything is executed: what is wrong with how the tasks were registered, and which resource nobody lends.
pub(super) fn ready<'a>(
    dags: impl IntoIterator<Item = &'a Value>,
    tasks: &Tasks,
    drive: &Drive,
) -> Result<(), RunError> {
    limits::check_dags(dags, tasks, &drive.resources)
        .map_err(|error| RunError::new(error.code(), error.message()))
}

/// What the tasks of one call are lent.
pub(super) fn lent(run: &Str, drive: &Drive) -> Arc<Lent> {
    let teller = Teller::new(run.clone(), drive.observer.clone());
    let (resources, span) = (drive.resources.clone(), tracing::Span::current());
    Arc::new(Lent { resources, teller, span, ..Lent::default() })
}

fn interrupted() -> RunError {
    RunError::new("JF2007", "the run was interrupted")
}

/// The mark that a run is running here.
struct Busy<'a> {
    running: &'a Mutex<BTreeSet<String>>,
    run: &'a str,
}

impl<'a> Busy<'a> {
    fn new(running: &'a Mutex<BTreeSet<String>>, run: &'a str) -> Option<Self> {
        let new = running.lock().unwrap_or_else(PoisonError::into_inner).insert(run.to_owned());
        new.then_some(Busy { running, run })
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(self.run);
    }
}

/// One call under way.
struct Turn<'a> {
    runs: &'a Workflows,
    call: &'a Call,
    run: Str,
    state: RunState,
    crew: Crew,
    lent: Arc<Lent>,
}

impl Turn<'_> {
    async fn run(&mut self) -> Result<Ended, RunError> {
        if let Some(event) = self.call.event.clone() {
            // Before the run begins events only gather.
            let _ = self.state.step(Input::Arrived(Arrival { id: Str::default(), event }), None);
        }
        let mut phase = self.feed(Input::Begin, self.call.now).await?;
        loop {
            tokio::task::coop::consume_budget().await;
            phase = match phase {
                Phase::More => self.feed(Input::Continue, None).await?,
                Phase::Working => self.join().await?,
                Phase::Waiting { .. } => return Ok(self.ended(None)),
                Phase::Done(result) => return Ok(self.ended(Some(result))),
                Phase::Failed(error) => return Err(error),
            };
        }
    }

    /// Waits for a task.
    async fn join(&mut self) -> Result<Phase, RunError> {
        live(self.call)?;
        let ended = if let Some(ended) = self.crew.next_at_hand() {
            Some(ended)
        } else {
            tokio::select! {
                biased;
                () = self.call.drive.cancel.cancelled() => return Err(interrupted()),
                ended = self.crew.next() => ended,
            }
        };
        let Some(task) = ended else {
            return Err(RunError::new("JF2016", "the run waits for a task that nobody runs"));
        };
        if !self.crew.is_live(task.activation) {
            self.aborted(task);
            return Ok(self.state.phase().clone());
        }
        let TaskEnded { activation, node, result, ms, .. } = task;
        self.feed(Input::Settled { activation, node, result, ms }, None).await
    }

    fn aborted(&self, task: TaskEnded) {
        let TaskEnded { id: node, state, visit, ms, .. } = task;
        self.lent.teller.tell(&Record::Node { state, visit, node, status: NodeStatus::Aborted, ms });
    }

    /// Feeds the core and does what it says, in order: nothing behind a save point happens before it is stored.
    async fn feed(&mut self, input: Input, now: Option<f64>) -> Result<Phase, RunError> {
        let step = self.state.step(input, now);
        for output in step.outputs {
            match output {
                Output::Save(point) => self.save(&point).await?,
                Output::Start(call) => self.start(call),
                // A store of the host's keeps no inbox: the call's event is gone with the call.
                Output::Refused(_) => {}
                Output::Abandon { activation } => self.crew.abandon(activation, None),
                Output::Record { record, .. } => self.lent.teller.tell(&record),
            }
        }
        Ok(step.phase)
    }

    fn start(&mut self, call: StartTask) {
        let attempt = 1;
        if self.lent.teller.is_watched() {
            let (state, visit, node) = (call.state.clone(), call.visit, call.id.clone());
            let limit = self.runs.tasks.limit(&call.task, call.version.as_deref());
            self.lent.teller.tell(&Record::Started { state, visit, node, attempt, limit });
        }
        self.crew.start(&self.runs.tasks, &self.run, call, attempt, &self.lent);
    }

    async fn save(&mut self, point: &SavePoint) -> Result<(), RunError> {
        live(self.call)?;
        let Some(store) = &self.runs.store else { return Ok(()) };
        let expected = point.snapshot.generation() - 1;
        let stored = match store.save(&self.call.run, point, expected).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(RunError::new("JF2014", "the stored snapshot has another generation")),
            Err(error) => Err(store_failed("save the run", &error)),
        };
        stored.map_err(|error| self.misplaced(point, error))?;
        live(self.call)
    }

    /// What a store does inside a dag is told from there (dag §7.6).
    fn misplaced(&self, point: &SavePoint, error: RunError) -> RunError {
        let state = point.snapshot.active();
        let wrapped =
            |what: &str| RunError::new("JF2009", format!("the checkpoint store failed to {what}: {error}"));
        match &point.cause {
            SaveCause::Provenance => wrapped("load the activation").at("").because(Cause::Run(error)),
            SaveCause::Result => wrapped("complete the activation").at("").because(Cause::Run(error)),
            SaveCause::Node(id) => {
                let dag = self.runs.workflow.dag(&state);
                let node = dag.and_then(|dag| dag.nodes().get(dag.find(id)?));
                let pointer = node.map(|node| node.pointer().to_string()).unwrap_or_default();
                wrapped("save a node").at(pointer).on_node(id.clone()).because(Cause::Run(error))
            }
            SaveCause::Claim | SaveCause::Admission | SaveCause::Control | SaveCause::Wait => error,
        }
        .in_state(state)
    }

    fn ended(&self, result: Option<Value>) -> Ended {
        let snapshot = self.state.snapshot();
        Ended { result, snapshot: snapshot.to_value(), generation: snapshot.generation() }
    }
}
