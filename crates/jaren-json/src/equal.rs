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

/// How many values inside a container take part in its fingerprint, and how deep they lie at most: values share their parts,
/// so without a bound of both a small one could take for ever. The hash of keys in `jaren-query` is bounded alike.
const FINGERPRINT_MAX: u32 = 256;
const FINGERPRINT_LEVELS: u32 = 8;

/// A number that is the same for equal values, and nearly always another one for others.
///
/// It is no defence: whoever chooses the values can make them collide.
pub(crate) fn fingerprint(value: &Value) -> u64 {
    fingerprint_of_some(value, (&mut FINGERPRINT_MAX.clone(), FINGERPRINT_LEVELS))
}

/// The same of at most so many values and levels.
fn fingerprint_of_some(value: &Value, (left, levels): (&mut u32, u32)) -> u64 {
    let (Some(fewer), Some(levels)) = (left.checked_sub(1), levels.checked_sub(1)) else { return 0 };
    *left = fewer;
    match value {
        Value::Null => 1,
        Value::Bool(bool) => 2 + u64::from(*bool),
        Value::Number(number) if number.is_nan() => 4,
        // Adding zero makes a negative zero a positive one.
        Value::Number(number) => mix(5, (number + 0.0).to_bits()),
        Value::String(text) => bytes(6, text.as_bytes()),
        Value::Array(array) => {
            let elements = array.iter().take(FINGERPRINT_MAX as usize);
            elements.fold(mix(7, array.len() as u64), |hash, element| {
                mix(hash, fingerprint_of_some(element, (left, levels)))
            })
        }
        // In canonical order, so that equal objects have the same members among those that count.
        Value::Object(object) => {
            let members = object.iter_sorted().take(FINGERPRINT_MAX as usize);
            members.fold(mix(8, object.len() as u64), |hash, (name, value)| {
                mix(mix(hash, bytes(9, name.as_bytes())), fingerprint_of_some(value, (left, levels)))
            })
        }
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
    fn a_value_that_unfolds_without_end_has_a_fingerprint() {
        let wide = || (0..8).fold(value!(1), |inner, _| (0..1000).map(|_| inner.clone()).collect::<Value>());
        assert_eq!(fingerprint(&wide()), fingerprint(&wide()));
        // Those that count are the same ones, however the members stand.
        let members = |names: &mut dyn Iterator<Item = u32>| {
            names.map(|n| (format!("m{n}"), value!([(n), [(n), {"n": (n)}]]))).collect::<Object>()
        };
        let (a, b) = (members(&mut (0..500)).into(), members(&mut (0..500).rev()).into());
        assert_eq!(fingerprint(&a), fingerprint(&b));
    }

    #[test]
    fn nan_is_equal_to_nan() {
        assert_eq!(Value::Number(f64::NAN), Value::Number(-f64::NAN));
        assert_ne!(Value::Number(f64::NAN), Value::Number(0.0));
    }
}
