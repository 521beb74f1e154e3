//! The state of one run and how events move it (workflow §4).

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use jaren_flow::dag::Node;
use jaren_flow::statechart::StepResult;
use jaren_flow::workflow::{self, Form, Workflow};
use jaren_flow::{FlowError, Given};
use jaren_json::{Str, Value};

use super::activation::Activation;
use super::context::{self, Context};
use super::dataflow::{CONCURRENCY, DagRun, Surroundings, TaskCall};
use super::error::{Cause, RunError};
use super::pending::Pending;
use super::record::{NodeStatus, Record};
use super::snapshot::{Snapshot, SnapshotStatus};
use super::{Arrival, Consumed, Input, Output, Phase, SaveCause, SavePoint, StartTask, Step};
use crate::failure::Failure;

/// What a sequential step answers: six save points, some records and the next task; or one for all of them, and the task.
const OUTPUTS_USUAL: usize = 16;
const OUTPUTS_FEW: usize = 4;

/// After this many outputs a step stops between two states, so that a long stretch without tasks is saved on the way.
const OUTPUTS_MAX: usize = 1024;
/// After this many nodes a step stops within a dag, for the same reason.
const NODES_MAX: usize = 512;

/// The active work state's dag, running.
#[derive(Clone, Debug)]
struct Running {
    activation: u64,
    dag: DagRun,
}

/// A task's answer: the node, the value or failure, and how long it took.
type Answer = (usize, Result<Value, Failure>, f64);

/// One run: its compiled workflow, its newest state and what is in flight. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunState {
    workflow: Workflow,
    run: Str,
    snapshot: Snapshot,
    inbox: VecDeque<Arrival>,
    running: Option<Running>,
    activations: u64,
    concurrency: NonZeroUsize,
    /// A drive has claimed the run; before, events only gather.
    begun: bool,
    /// The last time that was passed in: what waits are advanced to.
    now: Option<f64>,
    /// When the work that is about to end did end: its control step happens then.
    clock: Option<f64>,
    /// Somebody wants the records.
    watched: bool,
    /// Save points that travel together are answered as one.
    coalesced: bool,
    /// How many there are that a later one stands for, and what the last of them is for.
    unanswered: Option<(u64, SaveCause)>,
    phase: Phase,
}

impl RunState {
    /// A new run. Nothing is saved until its first [`Input::Begin`]. `now` is the time of its statechart, 0 if
    /// absent.
    pub fn start(workflow: Workflow, run: &str, input: Value, now: Option<f64>) -> Result<Self, RunError> {
        if !input.is_json() {
            return Err(RunError::new("JF2016", "the run's input holds a number that is not JSON"));
        }
        let mut context = Context::fresh(input);
        let scope = Value::Object(context.to_object());
        let given = Given { context: Some(&scope), payload: None };
        let started = workflow.chart().start(now, &given).map_err(RunError::from_flow)?;
        let status = if started.is_final { SnapshotStatus::Done } else { SnapshotStatus::Running };
        context.admit(&workflow, &started.entered)?;
        let snapshot = Snapshot::fresh(run, workflow.identity(), started.state, context, status);
        let mut state = RunState::at(workflow, run, snapshot);
        state.phase = Phase::More;
        Ok(state)
    }

    /// A run at a snapshot that has been checked.
    pub(super) fn at(workflow: Workflow, run: &str, snapshot: Snapshot) -> Self {
        let phase = match snapshot.status() {
            SnapshotStatus::Running => Phase::More,
            SnapshotStatus::Waiting => waiting(&workflow, &snapshot),
            SnapshotStatus::Done => Phase::Done(snapshot.data().clone()),
        };
        RunState {
            workflow,
            run: Str::from(run),
            snapshot,
            inbox: VecDeque::new(),
            running: None,
            activations: 0,
            concurrency: CONCURRENCY,
            begun: false,
            now: None,
            clock: None,
            watched: true,
            coalesced: false,
            unanswered: None,
            phase,
        }
    }

    /// The same with another bound on the tasks that are under way at once ([`CONCURRENCY`]). Further ones wait in the
    /// order in which they became ready, ties in document order, and take no memory before it is their turn.
    #[must_use]
    pub fn with_concurrency(mut self, concurrency: NonZeroUsize) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Whether steps answer records, which they do unless this says otherwise.
    pub fn set_watched(&mut self, watched: bool) {
        self.watched = watched;
    }

    /// Whether a step answers the last of its save points for those before it, which are never made then. A claim, and
    /// one that ends an arrival, are answered for themselves.
    pub fn set_coalesced(&mut self, coalesced: bool) {
        self.coalesced = coalesced;
    }

    /// Where the run stands. Before its first `Begin`: where it was saved.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Has a drive of this process claimed the run?
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// The newest state, saved or to be saved.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The workflow that it runs.
    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// Moves the run. `now` is the explicit time: a `Begin` takes it as the time of its next control transition and a
    /// wait advances to it; absent, time stands still (workflow §4). It may not be before the run's own time.
    pub fn step(&mut self, input: Input, now: Option<f64>) -> Step {
        let few = self.coalesced && !self.watched;
        let mut outputs = Vec::with_capacity(if few { OUTPUTS_FEW } else { OUTPUTS_USUAL });
        self.phase = match self.take(input, now, &mut outputs) {
            Ok(phase) => phase,
            Err(error) => {
                if let Some(running) = self.running.take() {
                    outputs.push(Output::Abandon { activation: running.activation });
                }
                Phase::Failed(error)
            }
        };
        self.answer_saves(None, &mut outputs);
        Step { outputs, phase: self.phase.clone() }
    }

    fn take(&mut self, input: Input, now: Option<f64>, out: &mut Vec<Output>) -> Result<Phase, RunError> {
        if let Some(now) = now {
            if !now.is_finite() || now < self.snapshot.control().time() {
                let reason = "the run's time must be finite and cannot move backwards";
                return Err(RunError::new("JF2011", reason));
            }
            self.now = Some(now);
        }
        match input {
            Input::Begin => self.begin(now, out),
            Input::Settled { activation, node, result, ms } => {
                let running = self.running.take_if(|running| running.activation == activation);
                let Some(running) = running else { return Ok(self.phase.clone()) };
                self.clock = now;
                match self.drive_dag(running, Some((node, result, ms)), out)? {
                    Some(phase) => Ok(phase),
                    None => self.go(out),
                }
            }
            Input::Arrived(arrival) => {
                self.inbox.push_back(arrival);
                self.resume_wait(out)
            }
            Input::Due => self.resume_wait(out),
            Input::Continue if self.begun && matches!(self.phase, Phase::More) => self.go(out),
            Input::Continue => Ok(self.phase.clone()),
        }
    }

    /// Claims the run before anything else happens in it.
    fn begin(&mut self, now: Option<f64>, out: &mut Vec<Output>) -> Result<Phase, RunError> {
        // A drive that begins again, in the same process, starts its tasks again.
        if let Some(running) = self.running.take() {
            out.push(Output::Abandon { activation: running.activation });
        }
        let waits = self.form() == Some(Form::On);
        if let Some(now) = now
            && self.snapshot.status() != SnapshotStatus::Done
            && !waits
        {
            // No timer can fall due on the way: only waits have them.
            let moved =
                self.workflow.chart().at(self.snapshot.control(), now).map_err(RunError::from_flow)?;
            self.snapshot.set_control(moved);
        }
        self.begun = true;
        self.save(SaveCause::Claim, None, out)?;
        self.go(out)
    }

    fn resume_wait(&mut self, out: &mut Vec<Output>) -> Result<Phase, RunError> {
        let waits = self.begun && self.snapshot.status() == SnapshotStatus::Waiting;
        if waits { self.go(out) } else { Ok(self.phase.clone()) }
    }

    /// Moves control until a task, an event or the time is needed, or the run is done.
    fn go(&mut self, out: &mut Vec<Output>) -> Result<Phase, RunError> {
        let full = self.passed(out) + OUTPUTS_MAX;
        if let Some(running) = self.running.take()
            && let Some(phase) = self.drive_dag(running, None, out)?
        {
            return Ok(phase);
        }
        while self.snapshot.status() != SnapshotStatus::Done {
            if self.passed(out) > full {
                return Ok(Phase::More);
            }
            let stop = match self.form() {
                Some(Form::Work) => self.work(out)?,
                Some(Form::Choose) => {
                    let context = Value::Object(self.snapshot.context());
                    let moved = self.control(workflow::NEXT, &Value::Null, &context)?;
                    if !moved.changed {
                        return Err(RunError::new("JF2016", "the choice selected no transition"));
                    }
                    self.apply(moved, None, out)?;
                    None
                }
                Some(Form::On) => self.wait(full, out)?,
                Some(Form::Flow | Form::Final) | None => {
                    let reason = "control rests in a state that is neither work, a choice nor a wait";
                    return Err(RunError::new("JF2016", reason).in_state(self.snapshot.active()));
                }
            };
            if let Some(phase) = stop {
                return Ok(phase);
            }
        }
        self.tell(out, |generation, active| Record::Done { active, generation });
        Ok(Phase::Done(self.snapshot.data().clone()))
    }

    fn form(&self) -> Option<Form> {
        self.workflow.form(self.snapshot.control().leaf()?)
    }

    /// Answers a record of the newest generation and the active leaves.
    fn tell(&self, out: &mut Vec<Output>, record: impl FnOnce(u64, Vec<Str>) -> Record) {
        if self.watched {
            let generation = self.snapshot.generation();
            let active = self.snapshot.control().active().cloned().collect();
            out.push(Output::Record { after: generation, record: record(generation, active) });
        }
    }

    fn refused(&self, error: FlowError) -> RunError {
        RunError::from_flow(error).in_state(self.snapshot.active())
    }
}

/// Control.
impl RunState {
    /// A wait takes a due deadline before an event, and each waiting event once (workflow §4). With more than `full`
    /// outputs it stops before the next event.
    fn wait(&mut self, full: usize, out: &mut Vec<Output>) -> Result<Option<Phase>, RunError> {
        if let Some(now) = self.now {
            let context = Value::Object(self.snapshot.context());
            let given = Given { context: Some(&context), payload: None };
            let moved = self.workflow.chart().advance_one(self.snapshot.control(), now, &given);
            let moved = moved.map_err(|error| self.refused(error))?;
            let changed = moved.changed;
            self.apply(moved, None, out)?;
            if changed {
                return Ok(None);
            }
        }
        while let Some(arrival) = self.inbox.pop_front() {
            if self.passed(out) > full {
                self.inbox.push_front(arrival);
                return Ok(Some(Phase::More));
            }
            let id = arrival.id.clone();
            match self.deliver(arrival, out) {
                Ok(true) => return Ok(None),
                Ok(false) => {}
                Err(error) => {
                    out.push(Output::Refused(Consumed { id, accepted: false }));
                    return Err(error);
                }
            }
        }
        self.snapshot.set_status(SnapshotStatus::Waiting);
        self.save(SaveCause::Wait, None, out)?;
        self.tell(out, |generation, active| Record::Waiting { active, generation });
        Ok(Some(waiting(&self.workflow, &self.snapshot)))
    }

    /// Offers an event to the wait. Answers whether it was taken.
    fn deliver(&mut self, arrival: Arrival, out: &mut Vec<Output>) -> Result<bool, RunError> {
        let name = arrival.event.get("type").and_then(Value::as_str).unwrap_or_default();
        let payload = arrival.event.get("payload").unwrap_or(&Value::Null);
        let context = Value::Object(self.snapshot.context());
        let moved = self.control(&workflow::event_name(name), payload, &context)?;
        let accepted = moved.changed;
        if accepted {
            self.snapshot.context_mut().set_event(arrival.event);
        }
        self.apply(moved, Some(Consumed { id: arrival.id, accepted }), out)?;
        Ok(accepted)
    }

    /// One event to the statechart, at the time that it has.
    fn control(&self, event: &str, payload: &Value, context: &Value) -> Result<StepResult, RunError> {
        self.control_at(event, None, &Given { payload: Some(payload), context: Some(context) })
    }

    fn control_at(&self, event: &str, now: Option<f64>, given: &Given<'_>) -> Result<StepResult, RunError> {
        let stepped = self.workflow.chart().step(self.snapshot.control(), event, now, given);
        stepped.map_err(|error| self.refused(error))
    }

    /// Makes a control step part of the run. A guard that failed and a state entered too often refuse it before
    /// anything is saved (workflow §§1–2).
    fn apply(
        &mut self,
        moved: StepResult,
        consumed: Option<Consumed>,
        out: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        if let Some(first) = moved.errors.into_iter().next() {
            let error = RunError::new("JF2016", first.reason()).at(first.pointer().to_string());
            return Err(error.in_state(self.snapshot.active()).because(Cause::Guard(Box::new(first))));
        }
        self.snapshot.context_mut().admit(&self.workflow, &moved.entered)?;
        self.snapshot.set_control(moved.state);
        self.snapshot.set_status(if moved.is_final { SnapshotStatus::Done } else { SnapshotStatus::Running });
        self.save(SaveCause::Control, consumed, out)?;
        let StepResult { transitions, entered, exited, .. } = moved;
        self.tell(out, |generation, active| Record::Transition {
            transitions,
            entered,
            exited,
            active,
            generation,
        });
        Ok(())
    }

    fn save(
        &mut self,
        cause: SaveCause,
        consumed: Option<Consumed>,
        out: &mut Vec<Output>,
    ) -> Result<u64, RunError> {
        let alone = !self.coalesced || consumed.is_some() || cause == SaveCause::Claim;
        if alone {
            self.answer_saves(None, out);
        }
        let generation = self.snapshot.advance()?;
        let before = self.unanswered.take().map_or(0, |(saves, _)| saves);
        self.unanswered = Some((before + 1, cause));
        if alone {
            self.answer_saves(consumed, out);
        }
        Ok(generation)
    }

    /// Answers a save point for those that were passed since the last one, if there are any.
    fn answer_saves(&mut self, consumed: Option<Consumed>, out: &mut Vec<Output>) {
        if let Some((saves, cause)) = self.unanswered.take() {
            out.push(Output::Save(SavePoint { snapshot: self.snapshot.clone(), cause, consumed, saves }));
        }
    }

    /// How much a step has come to.
    fn passed(&self, out: &[Output]) -> usize {
        let saves = self.unanswered.as_ref().map_or(0, |(saves, _)| *saves);
        out.len().saturating_add(usize::try_from(saves).unwrap_or(usize::MAX))
    }
}

/// Work.
impl RunState {
    /// Admits the active work state, records the identity of its dag and starts that. Answers nothing when the work
    /// is done already.
    fn work(&mut self, out: &mut Vec<Output>) -> Result<Option<Phase>, RunError> {
        let id = self.snapshot.active();
        let visit = self.snapshot.visits(&id);
        let pending = match self.snapshot.pending() {
            Some(pending) => pending.clone(),
            None => self.admit(&id, visit, out)?,
        };
        if let Some(result) = pending.result() {
            self.finish(&id, Ok(result.clone()), out)?;
            return Ok(None);
        }
        if let Some(pending) = self.snapshot.pending_mut()
            && !pending.has_identity()
        {
            pending.identify();
            self.save(SaveCause::Provenance, None, out)?;
        }
        let Some(dag) = self.workflow.dag(&id).cloned() else {
            return Err(RunError::new("JF2016", "the active state does no work").in_state(id));
        };
        self.activations += 1;
        let (activation, admitted) = (self.activations, self.snapshot.generation());
        let concurrency = self.concurrency;
        let mut around = Around { activation, visit, state: id, run: self, out };
        let (input, saved) = (pending.input().clone(), pending.values());
        let dag = DagRun::new(&dag, input, saved, admitted, &mut around).with_concurrency(concurrency);
        self.drive_dag(Running { activation, dag }, None, out)
    }

    /// Captures the input of the active work state.
    fn admit(&mut self, id: &Str, visit: u64, out: &mut Vec<Output>) -> Result<Pending, RunError> {
        let activation = Activation { run: &self.run, state: id, visit };
        let input = activation.input(&self.workflow, &self.snapshot);
        let input = input.map_err(|error| error.in_state(id.clone()))?;
        let pending = Pending::new(&self.workflow, id, visit, input);
        self.snapshot.set_pending(Some(pending.clone()));
        self.save(SaveCause::Admission, None, out)?;
        Ok(pending)
    }

    /// Goes on with the active dag. Answers nothing when it ended and control has moved.
    fn drive_dag(
        &mut self,
        mut running: Running,
        answer: Option<Answer>,
        out: &mut Vec<Output>,
    ) -> Result<Option<Phase>, RunError> {
        let id = self.snapshot.active();
        let activation = running.activation;
        let visit = self.snapshot.visits(&id);
        let mut around = Around { activation, visit, state: id.clone(), run: self, out };
        let settled = match answer {
            Some((node, result, ms)) => running.dag.settle(node, result, ms, &mut around),
            None => Ok(()),
        };
        let ended = settled.and_then(|()| running.dag.pump(NODES_MAX, &mut around));
        match ended.map(|()| running.dag.result()) {
            Ok(None) => {
                let is_ready = running.dag.is_ready();
                self.running = Some(running);
                Ok(Some(if is_ready { Phase::More } else { Phase::Working }))
            }
            Ok(Some(result)) => {
                if let Some(pending) = self.snapshot.pending_mut() {
                    pending.complete(result.clone());
                }
                self.save(SaveCause::Result, None, out)?;
                self.finish(&id, Ok(result), out)?;
                Ok(None)
            }
            Err(error) => {
                out.push(Output::Abandon { activation });
                let error = error.in_state(id.clone());
                if error.code() != "JF2006" || !self.workflow.catches(&id) {
                    return Err(error);
                }
                self.finish(&id, Err(error), out)?;
                Ok(None)
            }
        }
    }

    /// The end of a work state: its result, or what its `catch` target starts with, becomes the data.
    fn finish(
        &mut self,
        id: &Str,
        ended: Result<Value, RunError>,
        out: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let event = if ended.is_ok() { workflow::DONE } else { workflow::ERROR };
        let data = ended.unwrap_or_else(|error| context::catch_data(&error));
        let before = self.snapshot.clone();
        let finished = self.finish_with(id, event, data, out);
        finished.inspect_err(|_| self.snapshot = before)
    }

    fn finish_with(
        &mut self,
        id: &Str,
        event: &str,
        data: Value,
        out: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        // Work that ended later than it began moves the time with it, so that the delays of the next wait count from its
        // end. No guard stands there, so that the chart needs no context.
        let now = self.clock.take();
        let moved = self.control_at(event, now, &Given::default())?;
        let context = self.snapshot.context_mut();
        context.set_data(data.clone());
        context.set_result(&self.workflow, id, data);
        self.snapshot.set_pending(None);
        self.apply(moved, None, out)
    }
}

/// What a dag run of this run does to it.
struct Around<'a> {
    run: &'a mut RunState,
    activation: u64,
    state: Str,
    visit: u64,
    out: &'a mut Vec<Output>,
}

impl Surroundings for Around<'_> {
    fn checkpoint(&mut self, node: &Node, value: &Value) -> Result<u64, RunError> {
        if let Some(pending) = self.run.snapshot.pending_mut() {
            pending.keep(node, value.clone());
        }
        self.run.save(SaveCause::Node(node.id().clone()), None, self.out)
    }

    fn start(&mut self, call: TaskCall) {
        // A task is asked for by a pending activation.
        let key = self.run.snapshot.pending().map(|pending| pending.key(&self.run.run).clone());
        self.out.push(Output::Start(StartTask {
            after: call.after,
            activation: self.activation,
            node: call.node,
            id: call.id,
            state: self.state.clone(),
            visit: self.visit,
            key: key.unwrap_or_default(),
            task: call.task,
            version: call.version,
            with: call.with,
            input: call.input,
        }));
    }

    fn record(&mut self, node: &Node, status: NodeStatus, ms: f64) {
        if !self.run.watched {
            return;
        }
        let (state, node) = (self.state.clone(), node.id().clone());
        let record = Record::Node { state, visit: self.visit, node, status, ms };
        self.out.push(Output::Record { after: self.run.snapshot.generation(), record });
    }
}

/// The phase of a run that rests in a wait.
fn waiting(workflow: &Workflow, snapshot: &Snapshot) -> Phase {
    // The snapshot is this chart's own, so it can be asked.
    let named = workflow.chart().events(snapshot.control()).unwrap_or_default();
    let events = named.iter().filter_map(|name| name.strip_prefix("event:")).map(Str::from).collect();
    Phase::Waiting { events, deadline: snapshot.control().deadline() }
}
