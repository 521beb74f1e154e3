//! Reading a jaren-fsm 0.2 document: shapes only, each member typed or refused with its pointer (JF0020).
//! What a name refers to is the compiler's business.

use std::collections::BTreeSet;

use jaren_json::{Object, Pointer, Str, Value};

use crate::defects::{Defects, unknown_members};
use crate::document::statechart::{HistoryType, StateType};
use crate::look::state_id;

const CODE: &str = "JF0020";

/// One declared state.
#[derive(Debug)]
pub(super) struct StateDocument<'a> {
    pub(super) id: Str,
    pub(super) parent: Option<Str>,
    pub(super) initial: Option<Str>,
    pub(super) declared: Option<StateType>,
    pub(super) history: Option<HistoryType>,
    pub(super) entry: Option<&'a Value>,
    pub(super) exit: Option<&'a Value>,
    pub(super) pointer: Pointer,
}

/// Checks the head of the document and gives its members, unless it is no statechart at all.
pub(super) fn head<'a>(document: &'a Value, defects: &mut Defects) -> Option<&'a Object> {
    let root = Pointer::root();
    let marked = document.get("$fsm").and_then(Value::as_str) == Some("0.2");
    let Some(object) = document.as_object().filter(|_| marked) else {
        let message = "a statechart is an object with \"$fsm\": \"0.2\"";
        defects.push(CODE, root.child("$fsm"), message);
        return None;
    };
    unknown_members(
        defects,
        CODE,
        &root,
        object,
        &["$fsm", "initial", "states", "transitions"],
        "a statechart",
    );
    Some(object)
}

/// The list of states.
pub(super) fn states<'a>(document: &'a Object, defects: &mut Defects) -> &'a [Value] {
    match document.get("states") {
        Some(Value::Array(items)) if !items.is_empty() => items,
        _ => {
            let pointer = Pointer::root().child("states");
            defects.push(CODE, pointer, "states must be a list with at least one state");
            &[]
        }
    }
}

/// Reads one declaration. `seen` are the ids of those before it: the second of one id is refused.
pub(super) fn state<'a>(
    item: &'a Value,
    pointer: Pointer,
    seen: &mut BTreeSet<Str>,
    defects: &mut Defects,
) -> Option<StateDocument<'a>> {
    let Some(id) = state_id(item).filter(|id| !id.is_empty()).cloned() else {
        let message = format!("a state is an id or an object with a non-empty \"id\", found {}", item.kind());
        defects.push(CODE, pointer, message);
        return None;
    };
    let members = ["id", "parent", "initial", "type", "history", "final", "entry", "exit"];
    let empty = Object::default();
    let object = item.as_object().unwrap_or(&empty);
    unknown_members(defects, CODE, &pointer, object, &members, "a state");
    if !seen.insert(id.clone()) {
        defects.push(CODE, pointer, format!("another state has the id '{id}' already"));
        return None;
    }
    let parent = name(object, "parent", false, &pointer, defects);
    let initial = name(object, "initial", true, &pointer, defects);
    let (declared, history) = declared(object, &pointer, defects);
    let (entry, exit) = (item.get("entry"), item.get("exit"));
    Some(StateDocument { id, parent, initial, declared, history, entry, exit, pointer })
}

/// The type and the memory that a declaration states.
fn declared(
    object: &Object,
    pointer: &Pointer,
    defects: &mut Defects,
) -> (Option<StateType>, Option<HistoryType>) {
    let stated = choice(object, "type", StateType::ALL, StateType::word, pointer, defects);
    let history = choice(object, "history", HistoryType::ALL, HistoryType::word, pointer, defects);
    let is_final = match object.get("final") {
        None => false,
        Some(Value::Bool(is_final)) => *is_final,
        Some(other) => {
            let message = format!("final must be true or false, found {}", other.kind());
            defects.push(CODE, pointer.child("final"), message);
            false
        }
    };
    let shorthand = match (history, is_final) {
        (Some(_), _) => Some(StateType::History),
        (None, true) => Some(StateType::Final),
        (None, false) => None,
    };
    let declared = stated.or(shorthand);
    if (is_final && declared != Some(StateType::Final))
        || (history.is_some() && declared != Some(StateType::History))
    {
        let message = "type, final and history of this state contradict each other";
        defects.push(CODE, pointer.clone(), message);
    }
    (declared, history)
}

/// A member that names a state.
fn name(
    object: &Object,
    member: &str,
    may_be_empty: bool,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<Str> {
    match object.get(member) {
        None => None,
        Some(Value::String(id)) if may_be_empty || !id.is_empty() => Some(id.clone()),
        Some(other) => {
            let message = format!("{member} must be the id of a state, found {}", other.kind());
            defects.push(CODE, pointer.child(member), message);
            None
        }
    }
}

/// A member that is one of a few words.
fn choice<T: Copy>(
    object: &Object,
    member: &str,
    all: &[T],
    word: fn(T) -> &'static str,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<T> {
    let value = object.get(member)?;
    let found = all.iter().copied().find(|one| value.as_str() == Some(word(*one)));
    if found.is_none() {
        let known: Vec<&str> = all.iter().map(|one| word(*one)).collect();
        defects.push(CODE, pointer.child(member), format!("{member} must be one of {}", known.join(", ")));
    }
    found
}

/// What makes a transition fire (statechart format, section 2).
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Trigger {
    /// Any external event.
    Any,
    /// The external event of this name.
    Event(Str),
    /// This many milliseconds in the source state.
    After(f64),
    /// Completion of the source state.
    Done,
    /// At once, whenever its guard holds.
    Always,
}

/// Refuses what is no member of a transition.
pub(super) fn transition_members(object: &Object, pointer: &Pointer, defects: &mut Defects) {
    let members = ["from", "to", "event", "after", "done", "always", "type", "guard", "effects"];
    unknown_members(defects, CODE, pointer, object, &members, "a transition");
}

/// Reads the trigger of a transition; the absent one is a wildcard over external events.
pub(super) fn trigger(object: &Object, pointer: &Pointer, defects: &mut Defects) -> Trigger {
    let mut triggers = Vec::new();
    match object.get("event") {
        None => {}
        Some(Value::Null) => triggers.push(Trigger::Any),
        Some(Value::String(event)) => triggers.push(Trigger::Event(event.clone())),
        Some(other) => {
            let message = format!("event must be a string or null, found {}", other.kind());
            defects.push(CODE, pointer.child("event"), message);
        }
    }
    match object.get("after") {
        None => {}
        Some(Value::Number(after)) if after.is_finite() && *after >= 0.0 => {
            triggers.push(Trigger::After(*after));
        }
        Some(_) => {
            let message = "after must be a number of milliseconds, not negative";
            defects.push(CODE, pointer.child("after"), message);
        }
    }
    for (member, meaning) in [("done", Trigger::Done), ("always", Trigger::Always)] {
        match object.get(member) {
            None => {}
            Some(Value::Bool(true)) => triggers.push(meaning),
            Some(_) => {
                defects.push(CODE, pointer.child(member), format!("{member} is true where it is present"));
            }
        }
    }
    if triggers.len() > 1 {
        let message = "a transition has one trigger: one of event, after, done and always";
        defects.push(CODE, pointer.clone(), message);
    }
    triggers.into_iter().next().unwrap_or(Trigger::Any)
}

/// Whether the transition is internal; `None` when its type is no known word.
pub(super) fn is_internal(object: &Object) -> Option<bool> {
    match object.get("type") {
        None | Some(Value::Null) => Some(false),
        Some(Value::String(word)) if word.as_str() == "external" => Some(false),
        Some(Value::String(word)) if word.as_str() == "internal" => Some(true),
        Some(_) => None,
    }
}
