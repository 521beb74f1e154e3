//! Compiling a workflow: its lowered chart and dags against a registry, and the identity that resumes compare.

use std::collections::BTreeMap;
use std::sync::Arc;

use jaren_json::{Object, Pointer, Report, Str, Value, canonical};
use jaren_query::Query;

use super::document::Form as DeclaredForm;
use super::lower::{Draft, Drafted, Lowered, draft};
use super::revision::fingerprint;
use super::{Form, LOWERING, Revisions, State, Work, Workflow};
use crate::dag::Dag;
use crate::defects::Defects;
use crate::effect::compile_query;
use crate::statechart::Statechart;
use crate::tasks::TaskVersions;

/// Everything that a compiled workflow shares.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) lowered: Lowered,
    pub(super) chart: Statechart,
    pub(super) states: Vec<State>,
    pub(super) by_id: BTreeMap<Str, usize>,
    pub(super) revisions: Revisions,
    pub(super) task_versions: Object,
    pub(super) identity: Value,
}

/// Compiles, or reports every defect.
pub(super) fn compile(document: &Value, tasks: &dyn TaskVersions) -> Result<Workflow, Report> {
    let mut defects = Defects::default();
    let plan = draft(document, &mut defects).and_then(|draft| check(draft, tasks, &mut defects));
    defects.finish(document, plan.map(|plan| Workflow { plan: Arc::new(plan) }))
}

fn check(draft: Draft, tasks: &dyn TaskVersions, defects: &mut Defects) -> Option<Plan> {
    let Draft { lowered, states: drafted, chart } = draft;
    let mut states = Vec::with_capacity(drafted.len());
    for state in drafted {
        states.extend(compile_state(state, tasks, defects));
    }
    let chart = chart.filter(|_| defects.count() == 0)?;
    let by_id = states.iter().enumerate().map(|(index, state)| (state.id.clone(), index)).collect();
    let mut task_versions = BTreeMap::new();
    let mut revisions = Revisions { control: String::new(), dags: BTreeMap::new() };
    for (state, work) in states.iter().filter_map(|state| Some((state, state.work()?))) {
        for (path, version) in work.dag.task_versions() {
            task_versions.insert(format!("{}/{path}", state.id), version.clone());
        }
        revisions.dags.insert(state.id.clone(), work.revision.clone());
    }
    let task_versions: Object = task_versions.into_iter().collect();
    // The document was found to be JSON before it was lowered.
    let control = canonical(lowered.fsm()).ok()?;
    revisions.control = fingerprint(&control);
    let identity = [
        ("document", Value::from(canonical(lowered.document()).ok()?)),
        ("lowering", Value::from(LOWERING)),
        ("control", Value::from(control)),
        ("dags", Value::from(canonical(&Value::Object(lowered.dags().clone())).ok()?)),
        ("taskVersions", Value::Object(task_versions.clone())),
    ];
    let identity = Value::Object(identity.into_iter().collect());
    Some(Plan { lowered, chart, states, by_id, revisions, task_versions, identity })
}

/// Compiles what a state does; `None` where that is refused.
fn compile_state(state: Drafted, tasks: &dyn TaskVersions, defects: &mut Defects) -> Option<State> {
    let Drafted { id, pointer, form, limit, catches, input, dag } = state;
    let form = match form {
        DeclaredForm::Choose => Form::Choice,
        DeclaredForm::On => Form::Wait,
        DeclaredForm::Flow => Form::Flow,
        DeclaredForm::Final => Form::Final,
        DeclaredForm::Work => {
            let dag = dag.and_then(|(document, is_task)| {
                let mut inner = Defects::default();
                let dag = Dag::check(&document, tasks, &mut inner);
                defects.take(inner, |defect| {
                    let place = place(&pointer, is_task, defect.place());
                    defect.with_place(place)
                });
                dag
            });
            let input = input.map(|input| -> Option<Query> {
                compile_query(&input, "JF0014", &pointer.child("input"), "the input", defects)
            });
            let input = match input {
                None => None,
                Some(query) => Some(query?),
            };
            let dag = dag?;
            let revision = fingerprint(dag.canonical());
            Form::Work(Work { dag, revision, input, catches })
        }
    };
    Some(State { id, pointer, form, limit })
}

/// Where in the workflow a pointer into a state's dag leads.
fn place(state: &Pointer, is_task: bool, pointer: &Pointer) -> Pointer {
    let work = state.child("work");
    if !is_task {
        return work.child("dag").join(pointer);
    }
    // A task's dag is written by lowering: `/nodes/task/run`, `…/version` and `…/with` are what its author wrote.
    let mut tokens = pointer.tokens().skip(2);
    match tokens.next().as_deref() {
        Some("run") => work.child("task"),
        Some(member @ ("version" | "with")) => work.child(member).join(&Pointer::from_tokens(tokens)),
        _ => work,
    }
}
