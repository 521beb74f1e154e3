//! Machines and statecharts.

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Object, Pointer, Value};

use super::STEP;
use super::query::{Scope, query};
use crate::defects::Defects;

const SCOPE: &Scope<'static> = &[(&[], &STEP)];

pub(super) fn lint(document: &Value, warnings: &mut Defects) {
    let list = |member: &str| document.get(member).and_then(Value::as_array).map_or(&[][..], |list| list);
    let (states, transitions) = (list("states"), list("transitions"));
    for (index, state) in states.iter().enumerate() {
        let pointer = Pointer::root().child("states").child_index(index);
        effects(state, "entry", &pointer, warnings);
        effects(state, "exit", &pointer, warnings);
    }
    for (index, transition) in transitions.iter().enumerate() {
        let pointer = Pointer::root().child("transitions").child_index(index);
        query(transition.get("guard"), &pointer.child("guard"), SCOPE, warnings);
        effects(transition, "effects", &pointer, warnings);
    }
    shadowed(transitions, warnings);
    if let Some(initial) = document.get("initial").and_then(Value::as_str) {
        unreached(initial, states, transitions, warnings);
    }
}

fn effects(of: &Value, member: &str, pointer: &Pointer, warnings: &mut Defects) {
    let effects = of.get(member).and_then(Value::as_array);
    for (index, effect) in effects.into_iter().flatten().enumerate() {
        let pointer = pointer.child(member).child_index(index).child("with");
        query(effect.get("with"), &pointer, SCOPE, warnings);
    }
}

/// What makes a transition fire; `None` is any event. A delay is none of these: each has a time of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trigger<'a> {
    Event(Option<&'a str>),
    Done,
    Always,
}

impl<'a> Trigger<'a> {
    fn of(transition: &'a Object) -> Option<Self> {
        let holds = |member: &str| transition.get(member).and_then(Value::as_bool) == Some(true);
        match transition.get("after") {
            Some(_) => None,
            None if holds("done") => Some(Self::Done),
            None if holds("always") => Some(Self::Always),
            None => Some(Self::Event(transition.get("event").and_then(Value::as_str))),
        }
    }
}

/// Warns of transitions behind one of the same source without a guard.
fn shadowed(transitions: &[Value], warnings: &mut Defects) {
    let mut taken = BTreeMap::new();
    for (index, transition) in transitions.iter().enumerate() {
        let Some(transition) = transition.as_object() else { continue };
        let from = transition.get("from").and_then(Value::as_str);
        let Some(trigger) = Trigger::of(transition) else { continue };
        let any = taken.get(&(from, Trigger::Event(None))).filter(|_| matches!(trigger, Trigger::Event(_)));
        if let Some(by) = any.or_else(|| taken.get(&(from, trigger))) {
            let message = format!(
                "this never fires: /transitions/{by} stands before it, takes the same and has no guard"
            );
            warnings.push("JL0004", Pointer::root().child("transitions").child_index(index), message);
        } else if transition.get("guard").is_none_or(Value::is_null) {
            taken.insert((from, trigger), index);
        }
    }
}

/// The tree of states as far as being entered goes.
#[derive(Default)]
struct Tree<'a> {
    parents: BTreeMap<&'a str, &'a str>,
    /// What is entered with a state: the initial child, or all children of a parallel one.
    with: BTreeMap<&'a str, Vec<&'a str>>,
}

/// Warns of states that no way from the initial one enters. What a history remembers was entered before.
fn unreached(initial: &str, states: &[Value], transitions: &[Value], warnings: &mut Defects) {
    let id = |state: &'_ Value| state.as_str().or_else(|| state.get("id")?.as_str()).map(str::to_owned);
    let ids: Vec<Option<String>> = states.iter().map(id).collect();
    let tree = Tree::of(states, &ids);
    let mut ways: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for transition in transitions {
        let end = |member: &str| transition.get(member).and_then(Value::as_str);
        if let Some((from, to)) = end("from").zip(end("to")) {
            ways.entry(from).or_default().push(to);
        }
    }
    let mut entered = BTreeSet::new();
    let mut waiting = vec![initial];
    while let Some(state) = waiting.pop() {
        if entered.insert(state) {
            waiting.extend(ways.get(state).into_iter().flatten());
            waiting.extend(tree.parents.get(state));
            waiting.extend(tree.with.get(state).into_iter().flatten());
        }
    }
    for (index, id) in ids.iter().enumerate() {
        if let Some(id) = id.as_deref().filter(|id| !entered.contains(id)) {
            let message = format!("no way from the initial state enters the state '{id}'");
            warnings.push("JL0003", Pointer::root().child("states").child_index(index), message);
        }
    }
}

impl<'a> Tree<'a> {
    fn of(states: &'a [Value], ids: &'a [Option<String>]) -> Self {
        let mut tree = Self::default();
        let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (state, id) in states.iter().zip(ids) {
            let (Some(id), Some(parent)) = (id, state.get("parent").and_then(Value::as_str)) else {
                continue;
            };
            tree.parents.insert(id, parent);
            if state.get("history").is_none() {
                children.entry(parent).or_default().push(id);
            }
        }
        for (state, id) in states.iter().zip(ids) {
            let Some(id) = id else { continue };
            let with = match state.get("initial").and_then(Value::as_str) {
                Some(initial) => vec![initial],
                None if state.get("type").and_then(Value::as_str) == Some("parallel") => {
                    children.remove(id.as_str()).unwrap_or_default()
                }
                None => Vec::new(),
            };
            tree.with.insert(id, with);
        }
        tree
    }
}
