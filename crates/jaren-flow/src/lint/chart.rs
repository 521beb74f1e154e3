//! Machines and statecharts.

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Pointer, Value};

use super::query::{Members, Scope, query};
use super::{STEP, Warnings};
use crate::document::statechart::StateType;
use crate::look::{holds, list, state_id, text};

pub(super) fn lint(document: &Value, warnings: &mut Warnings) {
    let (states, transitions) = (list(document, "states"), list(document, "transitions"));
    let members = Members::from_iter(STEP);
    let scope: &Scope<'_> = &[(&[], &members)];
    for (index, state) in states.iter().enumerate() {
        let pointer = Pointer::root().child("states").child_index(index);
        effects(state, "entry", &pointer, scope, warnings);
        effects(state, "exit", &pointer, scope, warnings);
    }
    for (index, transition) in transitions.iter().enumerate() {
        let pointer = Pointer::root().child("transitions").child_index(index);
        query(transition.get("guard"), &pointer.child("guard"), scope, warnings);
        effects(transition, "effects", &pointer, scope, warnings);
    }
    shadowed(transitions, warnings);
    if let Some(initial) = text(document, "initial") {
        unreached(initial, states, transitions, warnings);
    }
}

fn effects(of: &Value, member: &str, pointer: &Pointer, scope: &Scope<'_>, warnings: &mut Warnings) {
    for (index, effect) in list(of, member).iter().enumerate() {
        let pointer = pointer.child(member).child_index(index).child("with");
        query(effect.get("with"), &pointer, scope, warnings);
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
    fn of(transition: &'a Value) -> Option<Self> {
        match transition.get("after") {
            Some(_) => None,
            None if holds(transition, "done") => Some(Self::Done),
            None if holds(transition, "always") => Some(Self::Always),
            None => Some(Self::Event(text(transition, "event"))),
        }
    }
}

/// Warns of transitions behind one of the same source without a guard.
fn shadowed(transitions: &[Value], warnings: &mut Warnings) {
    let mut taken = BTreeMap::new();
    for (index, transition) in transitions.iter().enumerate() {
        let from = text(transition, "from");
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
fn unreached(initial: &str, states: &[Value], transitions: &[Value], warnings: &mut Warnings) {
    let tree = Tree::of(states);
    let mut ways: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for transition in transitions {
        if let Some((from, to)) = text(transition, "from").zip(text(transition, "to")) {
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
    for (index, state) in states.iter().enumerate() {
        if let Some(id) = state_id(state).filter(|id| !entered.contains(&***id)) {
            let message = format!("no way from the initial state enters the state '{id}'");
            warnings.push("JL0003", Pointer::root().child("states").child_index(index), message);
        }
    }
}

impl<'a> Tree<'a> {
    fn of(states: &'a [Value]) -> Self {
        let mut tree = Self::default();
        let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for state in states {
            let (Some(id), Some(parent)) = (state_id(state), text(state, "parent")) else { continue };
            tree.parents.insert(id, parent);
            if state.get("history").is_none() {
                children.entry(parent).or_default().push(id);
            }
        }
        for state in states {
            let Some(id) = state_id(state) else { continue };
            let with = match text(state, "initial") {
                Some(initial) => vec![initial],
                None if text(state, "type") == Some(StateType::Parallel.word()) => {
                    children.remove(id.as_str()).unwrap_or_default()
                }
                None => Vec::new(),
            };
            tree.with.insert(id, with);
        }
        tree
    }
}
