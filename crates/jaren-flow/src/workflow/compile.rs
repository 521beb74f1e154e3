//! Compiling a workflow: its lowered chart and dags against a registry, and the identity that resumes compare.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jaren_json::{Object, Pointer, Str, Value, Written, canonical};

use super::lower::{Draft, Drafted, Lowered, draft};
use super::revision::fingerprint;
use super::{LOWERING, Revisions, State, Work};
use crate::dag::{Dag, Host};
use crate::defects::Defects;
use crate::statechart::Statechart;

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
    /// What every run of it stores, with its text.
    pub(super) written: OnceLock<Arc<[Written]>>,
}

/// Compiles into `defects`; a plan comes out only when the document is sound.
pub(super) fn check(document: &Value, host: Host<'_>, defects: &mut Defects) -> Option<Plan> {
    let before = defects.count();
    let Draft { lowered, states: drafted, chart } = draft(document, host.queries, defects)?;
    let states: Vec<State> = drafted.into_iter().map(|state| compile_state(state, host, defects)).collect();
    let chart = chart.filter(|_| defects.count() == before)?;
    let by_id = states.iter().enumerate().map(|(index, state)| (state.id.clone(), index)).collect();
    let mut task_versions = BTreeMap::new();
    let mut dag_revisions = BTreeMap::new();
    for (state, work) in states.iter().filter_map(|state| Some((state, state.work.as_ref()?))) {
        for (path, version) in work.dag.task_versions() {
            task_versions.insert(format!("{}/{path}", state.id), version.clone());
        }
        dag_revisions.insert(state.id.clone(), work.revision.clone());
    }
    let task_versions: Object = task_versions.into_iter().collect();
    // The document was found to be JSON before it was lowered.
    let control = canonical(lowered.fsm()).ok()?;
    let revisions = Revisions { control: fingerprint(&control), dags: dag_revisions };
    let identity = [
        ("document", Value::from(canonical(lowered.document()).ok()?)),
        ("lowering", Value::from(LOWERING)),
        ("control", Value::from(control)),
        ("dags", Value::from(canonical(&Value::Object(lowered.dags().clone())).ok()?)),
        ("taskVersions", Value::Object(task_versions.clone())),
    ];
    let identity = Value::Object(identity.into_iter().collect());
    Some(Plan { lowered, chart, states, by_id, revisions, task_versions, identity, written: OnceLock::new() })
}

fn compile_state(state: Drafted, host: Host<'_>, defects: &mut Defects) -> State {
    let Drafted { id, pointer, form, limit, catches, input, dag } = state;
    let dag = dag.and_then(|(document, is_task)| {
        let mut inner = Defects::default();
        let dag = Dag::check(&document, host, &mut inner);
        defects.take(inner, |defect| {
            let place = place(&pointer, is_task, defect.place());
            defect.with_place(place)
        });
        dag
    });
    let input = input.and_then(|input| {
        host.queries.in_step(&input, "JF0014", &pointer.child("input"), "the input of the work", defects)
    });
    let work = dag.map(|dag| Work { revision: fingerprint(dag.canonical()), dag, input, catches });
    State { id, pointer, form, limit, work, alone: OnceLock::new() }
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
