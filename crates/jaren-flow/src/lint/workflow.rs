//! Workflows.

use std::collections::BTreeSet;

use jaren_json::{Object, Pointer, Str, Value};

use super::query::query;
use super::{STEP, dag};
use crate::defects::Defects;

/// The members of the context, the last one for inputs only.
const CONTEXT: [&str; 6] = ["input", "data", "event", "results", "visits", "activation"];
/// How deep flows nest.
const DEPTH_MAX: usize = 64;

pub(super) fn lint(document: &Value, warnings: &mut Defects) {
    let flows = flows(document);
    let ids = flows.iter().flat_map(|(_, states, pointer)| states.iter().map(|(id, _)| pointer.child(id)));
    let ids: Vec<Pointer> = ids.collect();
    let ids: Vec<&str> = ids.iter().map(Pointer::as_str).collect();
    // Results and visits are kept by the pointers of the states.
    let guard: [(&[&str], &[&str]); 4] = [
        (&[], &STEP),
        (&["context"], CONTEXT.split_at(5).0),
        (&["context", "results"], &ids),
        (&["context", "visits"], &ids),
    ];
    let mut input = guard;
    input[1].1 = &CONTEXT;
    for (flow, states, pointer) in &flows {
        for (id, state) in *states {
            let pointer = pointer.child(id);
            for member in ["choose", "on"] {
                let branches = state.get(member).and_then(Value::as_array).map_or(&[][..], |list| list);
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
                let scope = members.as_ref().map(|members| [(&[][..], members.as_slice())]);
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
fn constructed(query: &Value) -> Option<Vec<&str>> {
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
fn shadowed(branches: &[Value], pointer: &Pointer, warnings: &mut Defects) {
    let mut taken = BTreeSet::new();
    for (index, branch) in branches.iter().enumerate() {
        let Some(event) = branch.get("event").and_then(Value::as_str) else { continue };
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
fn unreached(flow: &Value, states: &Object, pointer: &Pointer, warnings: &mut Defects) {
    let mut entered = BTreeSet::new();
    let mut waiting: Vec<&str> = flow.get("initial").and_then(Value::as_str).into_iter().collect();
    while let Some(id) = waiting.pop() {
        if !entered.insert(id) {
            continue;
        }
        let Some(state) = states.get(id) else { continue };
        let one = |member: &str| state.get(member).and_then(Value::as_str);
        waiting.extend(["then", "otherwise", "catch"].into_iter().filter_map(one));
        let lists = ["choose", "on"].into_iter().filter_map(|member| state.get(member)?.as_array());
        let branches = lists.flatten().chain(state.get("after"));
        waiting.extend(branches.filter_map(|branch| branch.get("to").and_then(Value::as_str)));
    }
    for (id, _) in states.iter().filter(|(id, _)| !entered.contains(id)) {
        let message = format!("no way from the initial state of its flow enters the state '{id}'");
        warnings.push("JL0003", pointer.child(id), message);
    }
}
