//! A saved run is believed only after everything in it has been checked against the workflow (workflow §§4–5).

use jaren_flow::dag::Node;
use jaren_flow::statechart;
use jaren_flow::workflow::{FORMAT, Form, Workflow};
use jaren_json::{Object, Str, Value};

use super::activation::Activation;
use super::error::RunError;
use super::pending::Pending;
use super::run::RunState;
use super::snapshot::{Snapshot, SnapshotStatus};
use crate::difference;

impl RunState {
    /// A run at a saved snapshot. The workflow, its lowering, the task versions and the input must be exactly those
    /// that it was saved with (JF2013), and the rest must be a state that the workflow can be in (JF2010, JF2016).
    pub fn restore(workflow: Workflow, run: &str, saved: &Value, input: &Value) -> Result<Self, RunError> {
        let parts = Parts::read(saved, run)?;
        compare_identity(saved.get("identity"), workflow.identity())?;
        if parts.input != input {
            return Err(changed("the run's input"));
        }
        let control = saved.get("control").unwrap_or(&Value::Null);
        let control = workflow.chart().restore(control).map_err(RunError::from_flow)?;
        check_records(&workflow, &parts)?;
        let active = check_control(&workflow, &control, &parts)?;
        let pending = match saved.get("pending") {
            None => return Err(malformed("the pending activation is missing")),
            Some(Value::Null) => None,
            Some(Value::Object(pending)) => Some(pending.clone()),
            Some(_) => return Err(malformed("the pending activation is not an object")),
        };
        let Parts { top, context, generation, status, .. } = parts;
        let snapshot = Snapshot::checked(top.clone(), context, control, None, generation, status);
        let Some(members) = pending else { return Ok(RunState::at(workflow, run, snapshot)) };
        check_pending(&workflow, run, &snapshot, &active, &members)?;
        let pending = Pending::checked(&workflow, &active, &members);
        Ok(RunState::at(workflow, run, snapshot.resumed(pending)))
    }

    /// The same of what [`Snapshot::to_stored`] wrote: the pending activation's input and the identity of its dataflow
    /// follow from the rest, which is checked first.
    pub fn restore_stored(
        workflow: Workflow,
        run: &str,
        stored: &Value,
        input: &Value,
    ) -> Result<Self, RunError> {
        match Self::complete(&workflow, run, stored)? {
            Some(saved) => Self::restore(workflow, run, &saved, input),
            None => Self::restore(workflow, run, stored, input),
        }
    }

    /// The published snapshot of a stored one. The workflow must be exactly the one that it was saved with (JF2013).
    pub fn publish(workflow: &Workflow, run: &str, stored: &Value) -> Result<Value, RunError> {
        Ok(Self::complete(workflow, run, stored)?.unwrap_or_else(|| stored.clone()))
    }

    /// The snapshot with what follows from the rest; nothing where nothing is missing.
    fn complete(workflow: &Workflow, run: &str, stored: &Value) -> Result<Option<Value>, RunError> {
        let pending = stored.get("pending").and_then(Value::as_object);
        let Some(pending) = pending.filter(|pending| !pending.contains_key("input")) else { return Ok(None) };
        let Parts { top, context, generation, status, .. } = Parts::read(stored, run)?;
        compare_identity(stored.get("identity"), workflow.identity())?;
        let control = workflow.chart().restore(stored.get("control").unwrap_or(&Value::Null));
        let control = control.map_err(RunError::from_flow)?;
        let snapshot = Snapshot::checked(top.clone(), context, control, None, generation, status);
        let active = snapshot.active();
        if pending.get("state").and_then(Value::as_str) != Some(&*active) {
            return Err(malformed("the pending activation is of another state"));
        }
        let activation = Activation { run, state: &active, visit: snapshot.visits(&active) };
        let input = activation.input(workflow, &snapshot)?;
        let pending = Pending::checked(workflow, &active, &pending.with("input", input));
        Ok(Some(snapshot.resumed(pending).to_value()))
    }
}

/// The members of a snapshot that have the right types.
struct Parts<'a> {
    top: &'a Object,
    context: &'a Object,
    input: &'a Value,
    results: &'a Object,
    visits: &'a Object,
    generation: u64,
    status: SnapshotStatus,
}

impl<'a> Parts<'a> {
    fn read(saved: &'a Value, run: &str) -> Result<Self, RunError> {
        let top = saved.as_object().ok_or_else(|| malformed("it is not an object"))?;
        if top.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(malformed("its format is not jaren-workflow-run/0.1"));
        }
        if top.get("runId").and_then(Value::as_str) != Some(run) {
            return Err(malformed("it belongs to another run"));
        }
        let generation = top.get("generation").and_then(Value::as_u64).filter(|generation| *generation > 0);
        let generation = generation.ok_or_else(|| malformed("its generation is not a positive integer"))?;
        let status = top.get("status").and_then(Value::as_str).and_then(SnapshotStatus::parse);
        let status = status.ok_or_else(|| malformed("its status is unknown"))?;
        let context = top.get("context").and_then(Value::as_object);
        let context = context.ok_or_else(|| malformed("its context is not an object"))?;
        let input = context.get("input").ok_or_else(|| malformed("its context has no input"))?;
        let object = |name: &str| {
            let found = context.get(name).and_then(Value::as_object);
            found.ok_or_else(|| malformed("its context has no object of results or of visits"))
        };
        let (results, visits) = (object("results")?, object("visits")?);
        let event_ok = context.get("event").is_some_and(|event| {
            let name = event.get("type").and_then(Value::as_str);
            event.is_null() || name.is_some_and(|name| !name.trim().is_empty())
        });
        if !event_ok || !context.contains_key("data") {
            return Err(malformed("its context has no data, or an event without a type"));
        }
        Ok(Parts { top, context, input, results, visits, generation, status })
    }
}

fn malformed(what: &str) -> RunError {
    RunError::new("JF2016", format!("the saved snapshot is malformed: {what}"))
}

fn changed(what: &str) -> RunError {
    RunError::new("JF2013", format!("{what} differs from what the run was saved with"))
}

/// Names the part of the identity that differs.
fn compare_identity(saved: Option<&Value>, expected: &Value) -> Result<(), RunError> {
    let Some(saved) = saved else { return Err(changed("the identity, which is missing,")) };
    if saved == expected {
        return Ok(());
    }
    const PARTS: [(&str, &str); 5] = [
        ("document", "the workflow document"),
        ("lowering", "the version of the lowering"),
        ("control", "the lowered control"),
        ("dags", "the set of lowered dataflows"),
        ("taskVersions", "the version of a task"),
    ];
    let part = PARTS.into_iter().find(|(member, _)| saved.get(member) != expected.get(member));
    let Some((member, words)) = part else { return Err(changed("the identity")) };
    let side = |identity: &Value| identity.get(member).cloned().unwrap_or_default();
    let (then, now) = (side(saved), side(expected));
    let both = match member {
        "document" => difference::of_documents(&then, &now),
        "taskVersions" => difference::of_versions(&then, &now),
        "lowering" => format!("{then} then, {now} now"),
        _ => difference::of_values(&then, &now),
    };
    Err(RunError::new("JF2013", format!("{words} differs from what the run was saved with: {both}")))
}

fn check_records(workflow: &Workflow, parts: &Parts<'_>) -> Result<(), RunError> {
    for (state, visits) in parts.visits {
        let limit = workflow.limit(state).unwrap_or(u64::MAX);
        let valid = visits.as_u64().is_some_and(|visits| (1..=limit).contains(&visits));
        if workflow.form(state).is_none() || !valid {
            return Err(malformed("a visit record names no state, or a count outside its limit"));
        }
    }
    match parts.results.iter().find(|(state, _)| workflow.dag(state).is_none()) {
        Some(_) => Err(malformed("a result belongs to no work state")),
        None => Ok(()),
    }
}

fn check_control(
    workflow: &Workflow,
    control: &statechart::Snapshot,
    parts: &Parts<'_>,
) -> Result<Str, RunError> {
    let Some(active) = control.leaf() else {
        return Err(malformed("a workflow has one active leaf"));
    };
    if !parts.visits.contains_key(active) {
        return Err(malformed("the active state was never entered"));
    }
    let is_final = workflow.chart().is_final(control).map_err(RunError::from_flow)?;
    let waits = workflow.form(active) == Some(Form::On);
    if (parts.status == SnapshotStatus::Done) != is_final
        || (parts.status == SnapshotStatus::Waiting && !waits)
    {
        return Err(malformed("its status disagrees with its control"));
    }
    Ok(active.clone())
}

/// The pending activation must be the active state's, with the input that its query gives, and saved values only of
/// nodes that declare them, under the exact identity of the dag.
fn check_pending(
    workflow: &Workflow,
    run: &str,
    snapshot: &Snapshot,
    active: &Str,
    pending: &Object,
) -> Result<(), RunError> {
    let values = pending.get("values").and_then(Value::as_object);
    let (Some(values), Some(dag)) = (values, workflow.dag(active)) else {
        return Err(malformed("the pending activation belongs to no work state or has no values"));
    };
    let activation = Activation { run, state: active, visit: snapshot.visits(active) };
    if pending.get("state").and_then(Value::as_str) != Some(active)
        || pending.get("visit").and_then(Value::as_u64) != Some(activation.visit)
    {
        return Err(malformed("the pending activation is of another state or visit"));
    }
    let declared = |id: &str| {
        let node = dag.find(id).and_then(|index| dag.nodes().get(index));
        node.is_some_and(Node::checkpoint)
    };
    if values.iter().any(|(id, _)| !declared(id)) {
        return Err(malformed("a saved value belongs to no node that declares a checkpoint"));
    }
    let input = activation.input(workflow, snapshot)?;
    let saved = pending.get("input").unwrap_or(&Value::Null);
    if *saved != input {
        return Err(malformed("the pending input disagrees with its context"));
    }
    match pending.get("identity") {
        Some(identity) => {
            let expected = workflow.dag_identity(active, saved).map_err(RunError::from_flow)?;
            if *identity == expected { Ok(()) } else { Err(changed("the pending activation's dataflow")) }
        }
        None if !values.is_empty() || pending.get("result").is_some() => {
            Err(malformed("saved values need the identity of their dataflow"))
        }
        None => Ok(()),
    }
}
