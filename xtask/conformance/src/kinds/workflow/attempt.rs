//! One call of a run: the engine's pure core, driven by hand against the case's store and tasks.
//!
//! Everything that the core asks for is done at once and in its order, so that every answer is determined. The engine's
//! own driver, which does these things concurrently, has suites of its own.

use std::collections::VecDeque;

use jaren_engine::Failure;
use jaren_engine::core::{
    Arrival, Cause, Event, Output, Phase, Record, RunError, RunState, SaveCause, SavePoint, StartTask, Step,
};
use jaren_flow::workflow::Workflow;
use jaren_json::{Array, Object, ObjectBuilder, Str, Value, value};

use super::store::{CaseStore, SaveFailed, run_id};
use crate::answer::count;
use crate::errors;
use crate::tasks::{Called, Handlers};

/// A task that was started and has not been settled.
struct InFlight {
    call: StartTask,
    /// When it must wait for lower turns, its own.
    turn: Option<u64>,
    result: Result<Value, String>,
}

/// Why a call ended before the run rested.
enum Stopped {
    /// As the format tells it, the error's object.
    Error(Value),
    /// The case asks for what we do not have.
    Unbuilt(String),
}

/// One call.
pub(super) struct Attempt<'a> {
    call: &'a Value,
    store: Option<&'a mut CaseStore>,
    handlers: &'a mut Handlers,
    in_flight: VecDeque<InFlight>,
    /// The turns that have ended.
    turns: Vec<u64>,
    saves: Vec<Value>,
    tasks: Vec<Value>,
    trace: Vec<Value>,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(call: &'a Value, store: Option<&'a mut CaseStore>, handlers: &'a mut Handlers) -> Self {
        Self {
            call,
            store,
            handlers,
            in_flight: VecDeque::new(),
            turns: Vec::new(),
            saves: Vec::new(),
            tasks: Vec::new(),
            trace: Vec::new(),
        }
    }

    /// What the call answers, in the form of a run's `expect`.
    pub(super) fn answer(mut self, workflow: &Workflow, loaded: Option<Value>) -> Result<Value, String> {
        for unbuilt in ["abort", "expectedGeneration"] {
            if self.call.get(unbuilt).is_some() {
                return Err(format!("the engine's core takes no `{unbuilt}`"));
            }
        }
        let mut answer = ObjectBuilder::new();
        match self.drive(workflow, loaded) {
            Ok((state, result)) => {
                answer.insert("status", state.snapshot().status().as_str());
                answer.insert("result", result);
                answer.insert("generation", count(state.snapshot().generation()));
                answer.insert("snapshot", state.snapshot().to_value());
            }
            Err(Stopped::Error(error)) => answer.insert("error", error),
            Err(Stopped::Unbuilt(what)) => return Err(what),
        }
        answer.insert("saves", self.saves.into_iter().collect::<Array>());
        answer.insert("tasks", self.tasks.into_iter().collect::<Array>());
        answer.insert("trace", self.trace.into_iter().collect::<Array>());
        Ok(Value::Object(answer.build()))
    }

    fn drive(&mut self, workflow: &Workflow, loaded: Option<Value>) -> Result<(RunState, Value), Stopped> {
        let call = self.call;
        if call.get("storeFail").and_then(|fault| fault.get("load")).is_some() {
            return Err(Stopped::Error(threw()));
        }
        // Our types take no time that is no number; not-a-number is the nearest mistake that they let a caller make.
        let now = call.get("now").map(|now| now.as_f64().unwrap_or(f64::NAN));
        let input = call.get("input").cloned().unwrap_or_default();
        let saved = call.get("snapshot").filter(|saved| !saved.is_null()).cloned().or(loaded);
        let state = match saved {
            None => RunState::start(workflow.clone(), run_id(call), input, now),
            Some(saved) => RunState::restore(workflow.clone(), run_id(call), &saved, &input),
        };
        let mut state = state.map_err(|error| refused(&error))?;
        if let Some(event) = call.get("event") {
            let arrived = Event::Arrived(Arrival { id: Str::from("event"), event: event.clone() });
            self.take(state.step(arrived, None))?;
        }
        let mut phase = self.take(state.step(Event::Begin, now))?;
        loop {
            let event = match phase {
                Phase::Done(result) => return Ok((state, result)),
                Phase::Waiting { .. } => return Ok((state, Value::Null)),
                Phase::Failed(error) => return Err(refused(&error)),
                Phase::More => Event::Continue,
                Phase::Working => self.settled()?,
            };
            phase = self.take(state.step(event, None))?;
        }
    }

    /// Does what a step asks for, in order.
    fn take(&mut self, step: Step) -> Result<Phase, Stopped> {
        for output in step.outputs {
            match output {
                Output::Save(point) => self.save(&point)?,
                Output::Start(call) => self.start(call)?,
                Output::Abandon { activation } => {
                    self.in_flight.retain(|task| task.call.activation != activation);
                }
                Output::Record { record: Record::Started { .. } | Record::Committed { .. }, .. } => {}
                Output::Record { record, .. } => self.trace.push(without_time(&record.to_value())),
            }
        }
        Ok(step.phase)
    }

    fn save(&mut self, point: &SavePoint) -> Result<(), Stopped> {
        let Some(store) = self.store.as_mut() else { return Ok(()) };
        let n = self.saves.len() as u64 + 1;
        let expected = point.snapshot.generation().saturating_sub(1);
        let (told, result) = store.save(self.call, n, expected, &point.snapshot.to_value());
        self.saves.push(told);
        result.map_err(|failed| Stopped::Error(save_error(&point.cause, failed)))
    }

    fn start(&mut self, call: StartTask) -> Result<(), Stopped> {
        self.tasks.push(value!({ "task": (&call.task), "with": (&call.with), "input": (&call.input) }));
        let (turn, result) = match self.handlers.call(&call.task, &call.with, &call.input) {
            Some(Called::Ended(result)) => (None, result),
            Some(Called::Turn(turn, result)) => (Some(turn), result),
            Some(Called::Cancelled) => {
                return Err(Stopped::Unbuilt("the engine's core takes no `abort`".to_owned()));
            }
            None => return Err(Stopped::Unbuilt(format!("the corpus has no task `{}`", call.task))),
        };
        self.in_flight.push_back(InFlight { call, turn, result });
        Ok(())
    }

    /// The next task that ends: in the order in which they started, except for those that wait for their turn.
    fn settled(&mut self) -> Result<Event, Stopped> {
        let free = |task: &InFlight| {
            let lower = |turn: u64| self.turns.iter().filter(|ended| **ended < turn).count() as u64;
            task.turn.is_none_or(|turn| lower(turn) >= turn)
        };
        let next = self.in_flight.iter().position(free);
        let task = next.and_then(|index| self.in_flight.remove(index));
        let task =
            task.ok_or_else(|| Stopped::Unbuilt("every task in flight waits for its turn".to_owned()))?;
        self.turns.extend(task.turn);
        let result = task.result.map_err(Failure::new);
        Ok(Event::Settled { activation: task.call.activation, node: task.call.node, result, ms: 0.0 })
    }
}

/// A record of the trace without what differs from run to run.
fn without_time(record: &Value) -> Value {
    record.as_object().map(|record| Value::Object(record.without("ms"))).unwrap_or_default()
}

fn threw() -> Value {
    value!({ "code": "JF2009", "docPath": "" })
}

/// What the format calls a failed save. The core does not wait for saves, so naming the failure is its driver's part;
/// what was to be saved tells the place.
fn save_error(cause: &SaveCause, failed: SaveFailed) -> Value {
    let error = match failed {
        SaveFailed::Threw => threw(),
        SaveFailed::Stale => value!({ "code": "JF2014" }),
    };
    match cause {
        SaveCause::Node(id) => {
            let place = format!("/nodes/{}", id.replace('~', "~0").replace('/', "~1"));
            value!({ "code": "JF2009", "docPath": place, "nodeId": id, "cause": error })
        }
        SaveCause::Provenance | SaveCause::Result => {
            value!({ "code": "JF2009", "docPath": "", "cause": error })
        }
        _ => error,
    }
}

/// The core's own refusal, in the form of a case's error.
fn refused(error: &RunError) -> Stopped {
    let mut members = Object::default().with("code", error.code());
    if let Some(place) = error.pointer() {
        members = members.with("docPath", place);
    }
    if let Some(node) = error.node() {
        members = members.with("nodeId", node);
    }
    let cause = match error.cause() {
        Some(Cause::Flow(flow)) if flow.cause().is_some() && flow.code() == error.code() => {
            flow.cause().map(errors::diagnostic)
        }
        Some(Cause::Run(run)) => Some(value!({ "code": (run.code()) })),
        _ => None,
    };
    if let Some(cause) = cause {
        members = members.with("cause", cause);
    }
    Stopped::Error(Value::Object(members))
}
