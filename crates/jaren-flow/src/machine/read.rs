//! Reading a jaren-fsm 0.1 document: shapes only (JF0001, JF0002, JF0004, JF0005). Unknown members are ignored.

use jaren_json::{Object, Pointer, Str, Value};

use crate::defects::Defects;
use crate::look::state_id;

/// Checks the head of the document: the marker may be missing, but not be another one.
pub(super) fn head<'a>(document: &'a Value, defects: &mut Defects) -> Option<&'a Object> {
    let Some(object) = document.as_object() else {
        let message = format!("a machine is an object, found {}", document.kind());
        defects.push("JF0001", Pointer::root(), message);
        return None;
    };
    match object.get("$fsm") {
        None => {}
        Some(Value::String(version)) if version.as_str() == "0.1" => {}
        Some(_) => {
            let message = "this is no machine of version \"0.1\"";
            defects.push("JF0001", Pointer::root().child("$fsm"), message);
            return None;
        }
    }
    Some(object)
}

/// A list that the document must have.
pub(super) fn list<'a>(
    document: &'a Object,
    member: &str,
    code: &'static str,
    defects: &mut Defects,
) -> Option<&'a [Value]> {
    let list = document.get(member).and_then(Value::as_array);
    if list.is_none() {
        defects.push(code, Pointer::root().child(member), format!("{member} must be a list"));
    }
    list.map(|list| &**list)
}

/// One declared state: its id, and whether it is final.
pub(super) fn state<'a>(
    item: &'a Value,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<(&'a Str, bool)> {
    let Some(id) = state_id(item) else {
        let message = format!("a state is an id or an object with a string \"id\", found {}", item.kind());
        defects.push("JF0002", pointer.clone(), message);
        return None;
    };
    let is_final = match item.get("final") {
        None => false,
        Some(Value::Bool(is_final)) => *is_final,
        Some(other) => {
            let message = format!("final must be true or false, found {}", other.kind());
            defects.push("JF0002", pointer.child("final"), message);
            false
        }
    };
    Some((id, is_final))
}

/// One transition, its ends still names.
pub(super) struct TransitionDocument<'a> {
    pub(super) object: &'a Object,
    pub(super) from: &'a Str,
    pub(super) to: &'a Str,
    /// `None` is any event.
    pub(super) event: Option<&'a Str>,
}

pub(super) fn transition<'a>(
    item: &'a Value,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<TransitionDocument<'a>> {
    let Some(object) = item.as_object() else {
        let message = format!(
            "a transition is an object {{from, event?, guard?, to, effects?}}, found {}",
            item.kind()
        );
        defects.push("JF0005", pointer.clone(), message);
        return None;
    };
    let mut end = |member| {
        if let Some(Value::String(id)) = object.get(member) {
            return Some(id);
        }
        defects.push("JF0005", pointer.child(member), format!("a transition needs a string \"{member}\""));
        None
    };
    let (from, to) = (end("from"), end("to"));
    let event = match object.get("event") {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(event)) => Some(Some(event)),
        Some(other) => {
            let message = format!("event must be a string or null, found {}", other.kind());
            defects.push("JF0005", pointer.child("event"), message);
            None
        }
    };
    Some(TransitionDocument { object, from: from?, to: to?, event: event? })
}
