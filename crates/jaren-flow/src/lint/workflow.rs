//! Workflows.

use std::collections::BTreeSet;

use jaren_json::{Object, Pointer, Str, Value};

use super::query::{Members, query};
use super::{STEP, Warnings, dag};
use crate::look::{list, text};
use crate::workflow::DEPTH_MAX;

/// The members of the context; inputs read `activation`, too.
const CONTEXT: [&str; 5] = ["input", "data", "event", "results", "visits"];

pub(super) fn lint(document: &Value, warnings: &mut Warnings) {
    let flows = flows(document);
    let ids = flows.iter().flat_map(|(_, states, pointer)| states.iter().map(|(id, _)| pointer.child(id)));
    let ids: Vec<Pointer> = ids.collect();
    // Results and visits are kept by the pointers of the states.
    let ids: Members<'_> = ids.iter().map(Pointer::as_str).collect();
    let (step, context) = (Members::from_iter(STEP), Members::from_iter(CONTEXT));
    let with_activation: Members<'_> = CONTEXT.into_iter().chain(["activation"]).collect();
    let scope = |context| -> [(&[&str], &Members<'_>); 4] {
        [
            (&[], &step),
            (&["context"], context),
            (&["context", "results"], &ids),
            (&["context", "visits"], &ids),
        ]
    };
    let (guard, input) = (scope(&context), scope(&with_activation));
    for (flow, states, pointer) in &flows {
        for (id, state) in *states {
            let pointer = pointer.child(id);
            for member in ["choose", "on"] {
                let branches = list(state, member);
                for (index, branch) in branches.iter().enumerate() {
                    let pointer = pointer.child(member).child_index(index).child("guard");
                    query(branch.get("guard"), &pointer, &guard, warnings);
                }
                if member == "on" {
                    shadowed(branches, &pointer.child("on"), warnings);
                }
            }
            query(state.get("input"), &pointer.child("input"), &input, warnings);
            if let Some(work) = state.get("work") {
                let pointer = pointer.child("work");
                let members = state.get("input").and_then(constructed);
                let scope: Option<[(&[&str], &Members<'_>); 1]> =
                    members.as_ref().map(|members| [(&[][..], members)]);
                let scope = scope.as_ref().map_or(&[][..], |scope| scope);
                query(work.get("with"), &pointer.child("with"), scope, warnings);
                if let Some(document) = work.get("dag") {
                    dag::at(document, &pointer.child("dag"), warnings);
                }
            }
        }
        unreached(flow, states, pointer, warnings);
    }
}

/// The members of what a query answers, where it says so itself: `{"key": …}`.
fn constructed(query: &Value) -> Option<Members<'_>> {
    let object = query.as_object()?;
    let is_one = !object.is_empty() && object.keys().iter().all(|name| !name.starts_with('$'));
    is_one.then(|| object.keys().iter().map(Str::as_str).collect())
}

/// The document and the flows in it: each with its states and their pointer.
fn flows(document: &Value) -> Vec<(&Value, &Object, Pointer)> {
    let mut found = Vec::new();
    let mut waiting = vec![(document, Pointer::root(), 0)];
    while let Some((flow, pointer, depth)) = waiting.pop() {
        let Some(states) = flow.get("states").and_then(Value::as_object) else { continue };
        let pointer = pointer.child("states");
        for (id, state) in states.iter().filter(|_| depth < DEPTH_MAX) {
            if let Some(flow) = state.get("flow") {
                waiting.push((flow, pointer.child(id).child("flow"), depth + 1));
            }
        }
        found.push((flow, states, pointer));
    }
    found
}

/// Warns of events behind the same one without a guard.
fn shadowed(branches: &[Value], pointer: &Pointer, warnings: &mut Warnings) {
    let mut taken = BTreeSet::new();
    for (index, branch) in branches.iter().enumerate() {
        let Some(event) = text(branch, "event") else { continue };
        if taken.contains(event) {
            let message =
                format!("this is never taken: the event '{event}' is taken before it, without a guard");
            warnings.push("JL0004", pointer.child_index(index), message);
        } else if branch.get("guard").is_none_or(Value::is_null) {
            taken.insert(event);
        }
    }
}

/// Warns of states that no way from the initial one enters.
fn unreached(flow: &Value, states: &Object, pointer: &Pointer, warnings: &mut Warnings) {
    let mut entered = BTreeSet::new();
    let mut waiting: Vec<&str> = text(flow, "initial").into_iter().collect();
    while let Some(id) = waiting.pop() {
        if !entered.insert(id) {
            continue;
        }
        let Some(state) = states.get(id) else { continue };
        waiting.extend(["then", "otherwise", "catch"].into_iter().filter_map(|member| text(state, member)));
        let branches = ["choose", "on"].into_iter().flat_map(|member| list(state, member));
        waiting.extend(branches.chain(state.get("after")).filter_map(|branch| text(branch, "to")));
    }
    for (id, _) in states.iter().filter(|(id, _)| !entered.contains(id)) {
        let message = format!("no way from the initial state of its flow enters the state '{id}'");
        warnings.push("JL0003", pointer.child(id), message);
    }
}
