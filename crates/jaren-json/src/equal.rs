//! Equality and fingerprints of values: by content, without recursion.

use crate::{Array, Object, Value};

/// Numbers are equal as doubles are, and a NaN is equal to a NaN.
#[inline]
pub(crate) fn numbers(a: f64, b: f64) -> bool {
    #[expect(clippy::float_cmp, reason = "equality of doubles is what is meant")]
    let equal = a == b;
    equal || (a.is_nan() && b.is_nan())
}

/// Containers that remain to be compared.
type Pending<'a> = Vec<(&'a Value, &'a Value)>;

pub(crate) fn values(a: &Value, b: &Value) -> bool {
    let mut pending = Vec::new();
    step(a, b, &mut pending) && drain(pending)
}

pub(crate) fn arrays(a: &Array, b: &Array) -> bool {
    let mut pending = Vec::new();
    array_step(a, b, &mut pending) && drain(pending)
}

pub(crate) fn objects(a: &Object, b: &Object) -> bool {
    let mut pending = Vec::new();
    object_step(a, b, &mut pending) && drain(pending)
}

fn drain(mut pending: Pending<'_>) -> bool {
    while let Some((a, b)) = pending.pop() {
        let equal = match (a, b) {
            (Value::Array(a), Value::Array(b)) => array_step(a, b, &mut pending),
            (Value::Object(a), Value::Object(b)) => object_step(a, b, &mut pending),
            _ => false,
        };
        if !equal {
            return false;
        }
    }
    true
}

/// Compares scalars at once and leaves containers for later.
#[inline]
fn step<'a>(a: &'a Value, b: &'a Value, pending: &mut Pending<'a>) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => numbers(*a, *b),
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            pending.push((a, b));
            true
        }
        _ => false,
    }
}

fn array_step<'a>(a: &'a Array, b: &'a Array, pending: &mut Pending<'a>) -> bool {
    a.ptr_eq(b)
        || (a.len() == b.len()
            && a.depth() == b.depth()
            && a.iter().zip(b.iter()).all(|(a, b)| step(a, b, pending)))
}

fn object_step<'a>(a: &'a Object, b: &'a Object, pending: &mut Pending<'a>) -> bool {
    if a.ptr_eq(b) {
        return true;
    }
    if a.len() != b.len() || a.depth() != b.depth() {
        return false;
    }
    let (Some(shape_a), Some(shape_b)) = (a.shape(), b.shape()) else { return false };
    if shape_a.ptr_eq(shape_b) || shape_a.names() == shape_b.names() {
        return a.values().iter().zip(b.values()).all(|(a, b)| step(a, b, pending));
    }
    a.iter().all(|(name, a)| b.get(name).is_some_and(|b| step(a, b, pending)))
}

/// How many levels of a value take part in its fingerprint.
const FINGERPRINT_DEPTH: u32 = 8;

/// A number that is the same for equal values, and nearly always another one for others.
///
/// It is no defence: whoever chooses the values can make them collide.
pub(crate) fn fingerprint(value: &Value) -> u64 {
    fingerprint_to(value, FINGERPRINT_DEPTH)
}

fn fingerprint_to(value: &Value, levels: u32) -> u64 {
    let below = |value: &Value| levels.checked_sub(1).map_or(0, |levels| fingerprint_to(value, levels));
    match value {
        Value::Null => 1,
        Value::Bool(bool) => 2 + u64::from(*bool),
        Value::Number(number) if number.is_nan() => 4,
        // Adding zero makes a negative zero a positive one.
        Value::Number(number) => mix(5, (number + 0.0).to_bits()),
        Value::String(text) => bytes(6, text.as_bytes()),
        Value::Array(array) => {
            array.iter().fold(mix(7, array.len() as u64), |hash, element| mix(hash, below(element)))
        }
        Value::Object(object) => object
            .iter()
            // A sum does not see the order of members.
            .fold(mix(8, object.len() as u64), |sum, (name, value)| {
                sum.wrapping_add(mix(bytes(9, name.as_bytes()), below(value)))
            }),
    }
}

fn bytes(seed: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let hash =
        words.iter().fold(mix(seed, bytes.len() as u64), |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
}

fn mix(hash: u64, word: u64) -> u64 {
    // The odd constant is 2^64 divided by the golden ratio, as in Fibonacci hashing.
    let product = (hash.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ (product >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value;

    #[test]
    fn equal_values_have_equal_fingerprints() {
        let a = value!({"a": [0.0, {"x": 1, "y": null}], "b": "a text of some length"});
        let b = value!({"b": "a text of some length", "a": [-0.0, {"y": null, "x": 1}]});
        assert_eq!(a, b);
        assert_eq!(fingerprint(&a), fingerprint(&b));
        assert_ne!(fingerprint(&a), fingerprint(&value!({"a": 1})));
        assert_ne!(fingerprint(&value!([1, 2])), fingerprint(&value!([2, 1])));
    }

    #[test]
    fn nan_is_equal_to_nan() {
        assert_eq!(Value::Number(f64::NAN), Value::Number(-f64::NAN));
        assert_ne!(Value::Number(f64::NAN), Value::Number(0.0));
    }
}
