//! The relations of items, which paths and expressions share.

use std::cmp::Ordering;

use jaren_json::Value;

/// Item equality of the language (D2): that of values, save that NaN equals nothing.
#[inline]
pub(crate) fn item_eq(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::Array(_) | Value::Object(_), Value::Array(_) | Value::Object(_)) => a == b && !holds_nan(a),
        _ => a == b,
    }
}

/// Whether a NaN stands anywhere in a value.
pub(crate) fn holds_nan(value: &Value) -> bool {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Number(number) if number.is_nan() => return true,
            Value::Array(array) => waiting.extend(array.iter()),
            Value::Object(object) => waiting.extend(object.values()),
            _ => {}
        }
    }
    false
}

/// The order of two numbers or two texts; others have none. UTF-8 orders texts by code points.
#[inline]
pub(crate) fn ordered(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.partial_cmp(right),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}
