//! Composed workflows, jaren-workflow 0.2: work, choices, waits, nested flows and finals, lowered to one statechart
//! and a dag for each work state.
//!
//! [`lower`] is the published lowering, a function of the document. [`Workflow::compile`] checks the result against
//! a registry of tasks and gives what an engine needs to drive a run purely: [`Workflow::start`],
//! [`Workflow::next`], [`Workflow::completed`], [`Workflow::failed`], [`Workflow::event`], [`Workflow::due`] for
//! control, [`Workflow::work_input`] and the [`Dag`] of a state for work, [`Workflow::admit`] for the limits.

mod compile;
mod context;
mod document;
mod lower;
mod order;
mod proof;
mod revision;

use std::collections::BTreeMap;
use std::sync::Arc;

use jaren_json::{Diagnostic, Object, Pointer, Report, Str, Value, canonical};
use jaren_query::{Query, Scope};

use self::compile::Plan;
pub use self::context::{Activation, Context};
pub use self::lower::{Lowered, lower};
use crate::dag::Dag;
use crate::error::{FlowError, quote};
use crate::statechart::{SAFE_INTEGER_MAX, Snapshot, Statechart, Step, StepResult, safe_integer};
use crate::tasks::TaskVersions;

/// The published format of a run's snapshot.
pub const FORMAT: &str = "jaren-workflow-run/0.1";
/// The version of the lowering, a part of a run's identity.
pub const LOWERING: &str = "0.1";
/// The internal event that makes a choice choose.
pub const NEXT: &str = "@workflow/next";
/// The internal event of completed work.
pub const DONE: &str = "@workflow/done";
/// The internal event of work that failed and is caught.
pub const ERROR: &str = "@workflow/error";

/// The name by which an outside event reaches the chart. Its prefix keeps outside callers from forging the internal
/// events.
pub fn event_name(event: &str) -> String {
    format!("event:{event}")
}

/// A compiled workflow: immutable, `Send + Sync`, cheap to clone.
#[derive(Debug, Clone)]
pub struct Workflow {
    plan: Arc<Plan>,
}

/// Short fingerprints of the lowered parts, for people and traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revisions {
    /// That of the statechart.
    pub control: String,
    /// That of each work state's dag.
    pub dags: BTreeMap<Str, String>,
}

impl Revisions {
    /// `{control, dags}`.
    pub fn to_value(&self) -> Value {
        let dags = self.dags.iter().map(|(state, revision)| (state.clone(), Value::from(revision.as_str())));
        let members = [("control", Value::from(self.control.as_str())), ("dags", Value::Object(dags.collect()))];
        Value::Object(members.into_iter().collect())
    }
}

/// One state of a workflow, by its qualified id: a JSON Pointer into the document.
#[derive(Debug)]
pub struct State {
    id: Str,
    pointer: Pointer,
    form: Form,
    limit: Option<u64>,
}

impl State {
    /// The qualified id, `/states/review` for example.
    pub fn id(&self) -> &Str {
        &self.id
    }

    /// The same as a pointer.
    pub fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// What it does.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// How often a run may enter it.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Its work, when it is a work state.
    pub fn work(&self) -> Option<&Work> {
        match &self.form {
            Form::Work(work) => Some(work),
            Form::Choice | Form::Wait | Form::Flow | Form::Final => None,
        }
    }
}

/// The forms of a state.
#[derive(Debug)]
pub enum Form {
    /// Runs a dag and replaces the data by its result.
    Work(Work),
    /// Goes on at once, where the first guard that holds says.
    Choice,
    /// Waits for an event or a delay.
    Wait,
    /// Contains states of its own.
    Flow,
    /// Ends its scope.
    Final,
}

/// What a work state runs.
#[derive(Debug)]
pub struct Work {
    dag: Dag,
    revision: String,
    /// `None` is the default: the current data.
    input: Option<Query>,
    catches: bool,
}

impl Work {
    /// The dataflow.
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// The fingerprint of the dag document.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Whether a node's failure leads to a state of the workflow.
    pub fn catches(&self) -> bool {
        self.catches
    }
}

impl Workflow {
    /// Compiles a jaren-workflow 0.2 document. The report has every defect: those of [`lower`], JF0014 for inputs, and
    /// the defects of its dags, whose pointers lead into the dag and whose places lead into the workflow.
    pub fn compile(document: &Value, tasks: &dyn TaskVersions) -> Result<Self, Report> {
        compile::compile(document, tasks)
    }

    /// The lowered form.
    pub fn lowered(&self) -> &Lowered {
        &self.plan.lowered
    }

    /// The declared revision.
    pub fn revision(&self) -> &Str {
        self.plan.lowered.revision()
    }

    /// The fingerprints of chart and dags.
    pub fn revisions(&self) -> &Revisions {
        &self.plan.revisions
    }

    /// Every task version by its path `state/node`, sorted.
    pub fn task_versions(&self) -> &Object {
        &self.plan.task_versions
    }

    /// What a stored run must agree with to be resumed: `{document, lowering, control, dags, taskVersions}`.
    pub fn identity(&self) -> &Value {
        &self.plan.identity
    }

    /// The lowered statechart.
    pub fn chart(&self) -> &Statechart {
        &self.plan.chart
    }

    /// A state by its qualified id.
    pub fn state(&self, id: &str) -> Option<&State> {
        self.plan.by_id.get(id).and_then(|index| self.plan.states.get(*index))
    }

    /// The states in the order of the lowering.
    pub fn states(&self) -> impl Iterator<Item = &State> {
        self.plan.states.iter()
    }

    /// What the kept values of one activation depend on (section 4). JF2016 when the state does no work or the input
    /// is not JSON.
    pub fn dag_identity(&self, state: &str, input: &Value) -> Result<Value, FlowError> {
        let work = self.state(state).and_then(State::work);
        let work = work.ok_or_else(|| FlowError::new("JF2016", format!("'{state}' is no work state")))?;
        work.dag.identity(&work.revision, input).map_err(|error| {
            FlowError::new("JF2016", format!("the input of '{state}' is not JSON: {error}"))
        })
    }

    /// Starts a run: enters the initial state and admits it (JF2011, JF2015).
    pub fn start(&self, now: f64, context: &mut Context) -> Result<StepResult, FlowError> {
        let value = context.to_value();
        let started = self.chart().start(&Step { now: Some(now), context: Some(&value), payload: None })?;
        let started = sound(started)?;
        self.admit(context, &started.entered)?;
        Ok(started)
    }

    /// Makes an active choice choose. JF2016 when a guard fails or nothing is selected.
    pub fn next(&self, control: &Snapshot, context: &Context) -> Result<StepResult, FlowError> {
        self.internal(NEXT, control, context)
    }

    /// Goes on after the active state's work is done; `context.data` is its result already.
    pub fn completed(&self, control: &Snapshot, context: &Context) -> Result<StepResult, FlowError> {
        self.internal(DONE, control, context)
    }

    /// Goes on after the active state's work failed and is caught; `context.data` is
    /// [`FlowError::catch_data`] already.
    pub fn failed(&self, control: &Snapshot, context: &Context) -> Result<StepResult, FlowError> {
        self.internal(ERROR, control, context)
    }

    fn internal(&self, event: &str, control: &Snapshot, context: &Context) -> Result<StepResult, FlowError> {
        let value = context.to_value();
        let step = Step { context: Some(&value), ..Step::default() };
        let result = sound(self.chart().step(control, event, &step)?)?;
        if result.changed {
            Ok(result)
        } else {
            Err(FlowError::new("JF2016", format!("the active state does not answer '{event}'")))
        }
    }

    /// Delivers an outside event to an active wait. `changed` is false when the wait does not take it. JF2016 when a
    /// guard fails.
    pub fn event(
        &self,
        control: &Snapshot,
        context: &Context,
        event: &str,
        payload: &Value,
    ) -> Result<StepResult, FlowError> {
        let value = context.to_value();
        let step = Step { now: None, payload: Some(payload), context: Some(&value) };
        sound(self.chart().step(control, &event_name(event), &step)?)
    }

    /// Fires at most one delay that is due at `now`; when none is, moves time to `now`.
    pub fn due(&self, control: &Snapshot, context: &Context, now: f64) -> Result<StepResult, FlowError> {
        let value = context.to_value();
        let step = Step { context: Some(&value), ..Step::default() };
        sound(self.chart().advance_one(control, now, &step)?)
    }

    /// The input of an activation: the state's `input` query over the current control and context, by default
    /// `$.context.data`; nothing found is null. JF2016 at the query when it fails or its value is not JSON.
    pub fn work_input(
        &self,
        state: &State,
        activation: &Activation<'_>,
        context: &Context,
        control: &Snapshot,
    ) -> Result<Value, FlowError> {
        let Some(work) = state.work() else {
            return Err(FlowError::new("JF2016", format!("'{}' is no work state", state.id)));
        };
        let refuse = |reason: String| FlowError::new("JF2016", reason).at(state.pointer.child("input"));
        let input = match &work.input {
            None => context.data.clone(),
            Some(query) => {
                let value = context.with_activation(activation.to_value());
                let parts = [
                    ("state", control.active_value()),
                    ("event", &Value::Null),
                    ("payload", &Value::Null),
                    ("context", &value),
                ];
                query.value(&Scope::record(&parts)).map(Option::unwrap_or_default).map_err(|error| {
                    let cause = Diagnostic::from(error);
                    refuse(format!("the input of the work failed: {}", quote(&cause))).caused_by(cause)
                })?
            }
        };
        match canonical(&input) {
            Ok(_) => Ok(input),
            Err(error) => Err(refuse(format!("the input of the work is not JSON: {error}"))),
        }
    }

    /// Counts the entries to states and refuses one beyond its limit: JF2015 at the state.
    pub fn admit(&self, context: &mut Context, entered: &[Str]) -> Result<(), FlowError> {
        for id in entered {
            let visits = context.visit(id) + 1;
            let state = self.state(id);
            let limit = state.and_then(State::limit).unwrap_or(SAFE_INTEGER_MAX);
            if visits > limit {
                let error = FlowError::new("JF2015", format!("state '{id}' was entered {limit} times, its limit"));
                return Err(state.map_or(error.clone(), |state| error.at(state.pointer.clone())));
            }
            context.visits = context.visits.with(id, context::count(visits));
        }
        Ok(())
    }

    /// Checks a stored context against this workflow: counts of known states within their limits, results of work
    /// states. JF2016.
    pub fn check_counts(&self, context: &Context) -> Result<(), FlowError> {
        let malformed = |reason: &str| Err(FlowError::new("JF2016", format!("malformed snapshot: {reason}")));
        for (id, visits) in context.visits.iter() {
            let limit = self.state(id).map(|state| state.limit.unwrap_or(SAFE_INTEGER_MAX));
            let visits = safe_integer(Some(visits)).filter(|visits| *visits > 0);
            if limit.zip(visits).is_none_or(|(limit, visits)| visits > limit) {
                return malformed("the visits of a state are no count within its limit");
            }
        }
        if context.results.iter().any(|(id, _)| self.state(id).and_then(State::work).is_none()) {
            return malformed("a result does not belong to a work state");
        }
        Ok(())
    }
}

/// A workflow does not decide on a broken predicate: a recorded failure of a guard refuses the step (JF2016).
fn sound(result: StepResult) -> Result<StepResult, FlowError> {
    match result.errors.first() {
        None => Ok(result),
        Some(error) => {
            let refused = FlowError::new("JF2016", error.message()).at(error.pointer().clone());
            Err(match error.cause() {
                Some(cause) => refused.caused_by(cause.clone()),
                None => refused,
            })
        }
    }
}
