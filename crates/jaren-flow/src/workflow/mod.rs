//! Composed workflows, jaren-workflow 0.2: work, choices, waits, nested flows and finals, lowered to one statechart
//! and a dag for each work state.
//!
//! [`lower`] is the published lowering, a function of the document. [`Workflow::compile`] checks the result against
//! a registry of tasks and keeps what driving a run takes: the chart, which form each state has, the dag and the input
//! of a work state, limits and catches, and the identity that a resume compares. Driving is `jaren-engine`'s.

mod compile;
mod lower;
mod order;
mod proof;
mod read;
mod revision;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jaren_json::{Object, Pointer, Report, Shape, Str, Value, Written};
use jaren_query::{Query, Scope};

use self::compile::Plan;
pub(crate) use self::lower::DEPTH_MAX;
pub use self::lower::{Lowered, lower, lower_with};
pub use self::read::Form;
use crate::dag::{Dag, Host};
use crate::defects::Defects;
use crate::error::FlowError;
use crate::options::{CompileOptions, Queries};
use crate::statechart::{Snapshot, Statechart};
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
#[non_exhaustive]
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
        let members =
            [("control", Value::from(self.control.as_str())), ("dags", Value::Object(dags.collect()))];
        Value::Object(members.into_iter().collect())
    }
}

/// One state of a workflow.
#[derive(Debug)]
struct State {
    id: Str,
    pointer: Pointer,
    form: Form,
    limit: Option<u64>,
    work: Option<Work>,
    /// That of a record of this state alone.
    alone: OnceLock<Option<Shape>>,
}

/// What a work state runs.
#[derive(Debug)]
struct Work {
    dag: Dag,
    /// The fingerprint of the dag document.
    revision: String,
    /// `None` is the default: the current data.
    input: Option<Query>,
    /// Whether a node's failure leads to a state of the workflow.
    catches: bool,
}

impl Workflow {
    /// Compiles a jaren-workflow 0.2 document. The report has every defect: those of [`lower`], JF0014 for inputs, and
    /// the defects of its dags, whose pointers lead into the dag and whose places lead into the workflow.
    pub fn compile(document: &Value, tasks: &dyn TaskVersions) -> Result<Self, Report> {
        Self::compile_with(document, tasks, &CompileOptions::new())
    }

    /// The same with options.
    pub fn compile_with(
        document: &Value,
        tasks: &dyn TaskVersions,
        options: &CompileOptions,
    ) -> Result<Self, Report> {
        let mut defects = Defects::default();
        let plan = compile::check(document, Host { tasks, queries: &Queries::new(options) }, &mut defects);
        defects.finish(document, plan.map(|plan| Self { plan: Arc::new(plan) }))
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

    /// The document and the identity with their texts, which are made once: every run of the workflow stores both.
    pub fn written(&self) -> &Arc<[Written]> {
        self.plan.written.get_or_init(|| {
            let parts = [self.plan.lowered.document(), &self.plan.identity];
            parts.into_iter().filter_map(|part| Written::of(part).ok()).collect()
        })
    }

    /// The lowered statechart.
    pub fn chart(&self) -> &Statechart {
        &self.plan.chart
    }

    fn state(&self, state: &str) -> Option<&State> {
        self.plan.by_id.get(state).and_then(|index| self.plan.states.get(*index))
    }

    fn work(&self, state: &str) -> Option<&Work> {
        self.state(state)?.work.as_ref()
    }

    /// The qualified ids of the states, in the order of the lowering: each is a JSON Pointer into the document.
    pub fn states(&self) -> impl Iterator<Item = &Str> {
        self.plan.states.iter().map(|state| &state.id)
    }

    /// The same record by state with that of one state set. What grows alike in the runs of one workflow shares its names.
    #[must_use]
    pub fn with_record(&self, records: &Object, state: &Str, value: Value) -> Object {
        if records.is_empty()
            && let Some(found) = self.state(state)
            && let Some(alone) = found.alone.get_or_init(|| Shape::new([state]))
        {
            return Object::from_shape(alone, vec![value]).unwrap_or_default();
        }
        records.with(state, value)
    }

    /// The form of a state.
    pub fn form(&self, state: &str) -> Option<Form> {
        self.state(state).map(|state| state.form)
    }

    /// How often a run may enter a state, where that is bounded.
    pub fn limit(&self, state: &str) -> Option<u64> {
        self.state(state)?.limit
    }

    /// The dataflow of a work state.
    pub fn dag(&self, state: &str) -> Option<&Dag> {
        self.work(state).map(|work| &work.dag)
    }

    /// Whether the failure of a node in this work state leads to another state, by the event [`ERROR`].
    pub fn catches(&self, state: &str) -> bool {
        self.work(state).is_some_and(|work| work.catches)
    }

    /// Whether the input of a work state is a query's answer. By default it is the current data.
    pub fn has_input(&self, state: &str) -> bool {
        self.work(state).is_some_and(|work| work.input.is_some())
    }

    /// The input of a work state over the control and the context, which has the member `activation` here; by default
    /// `$.context.data`. Nothing found is null. JF2016 at the query when it fails.
    ///
    /// The answer need not be JSON: whoever stores it checks that.
    pub fn input(&self, state: &str, control: &Snapshot, context: &Value) -> Result<Value, FlowError> {
        let (state, work) = self.worker(state)?;
        let Some(query) = &work.input else {
            return Ok(context.get("data").cloned().unwrap_or_default());
        };
        let parts = [
            ("state", control.active_value()),
            ("event", &Value::Null),
            ("payload", &Value::Null),
            ("context", context),
        ];
        query.value(&Scope::record(&parts)).map(Option::unwrap_or_default).map_err(|error| {
            FlowError::new("JF2016", "the input of the work failed")
                .at(state.pointer.child("input"))
                .caused_by(error.into())
        })
    }

    /// What the kept values of one activation depend on (section 4). JF2016 when the state does no work or the input
    /// is not JSON.
    pub fn dag_identity(&self, state: &str, input: &Value) -> Result<Value, FlowError> {
        let (state, work) = self.worker(state)?;
        work.dag.identity(&work.revision, input).map_err(|error| {
            let reason = format!("the input of the work is not JSON: {error}");
            FlowError::new("JF2016", reason).at(state.pointer.child("input"))
        })
    }

    fn worker(&self, state: &str) -> Result<(&State, &Work), FlowError> {
        let found = self.state(state).and_then(|state| Some((state, state.work.as_ref()?)));
        found.ok_or_else(|| FlowError::new("JF2016", format!("'{state}' is no work state of this workflow")))
    }
}
