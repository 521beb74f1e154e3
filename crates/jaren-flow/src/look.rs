//! Looking into documents whose shape is known, or taken as it is.

use jaren_json::{Str, Value};

/// The items of a member that is a list.
pub(crate) fn list<'a>(of: &'a Value, member: &str) -> &'a [Value] {
    of.get(member).and_then(Value::as_array).map_or(&[], |list| list)
}

/// A member that is a text.
pub(crate) fn text<'a>(of: &'a Value, member: &str) -> Option<&'a str> {
    of.get(member).and_then(Value::as_str)
}

/// Whether a member is true.
pub(crate) fn holds(of: &Value, member: &str) -> bool {
    of.get(member).and_then(Value::as_bool) == Some(true)
}

/// The id of a state of a machine or a statechart: the declaration itself, or its member.
pub(crate) fn state_id(declaration: &Value) -> Option<&Str> {
    match declaration {
        Value::String(id) => Some(id),
        Value::Object(object) => match object.get("id") {
            Some(Value::String(id)) => Some(id),
            _ => None,
        },
        _ => None,
    }
}
