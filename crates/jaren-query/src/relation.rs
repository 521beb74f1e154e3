//! The relations of items, which paths and expressions share.
//!
//! Values share their parts, so a small one may unfold to more nodes than anybody can visit, and a text may be as long as the
//! document. What goes into values, and through long texts, is therefore paid for.

use std::cmp::Ordering;
use std::hash::Hasher;

use jaren_json::{Object, Value};

use crate::budget::{Budget, Spent};

/// What a NaN is equal to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nan {
    /// Nothing: item equality (D2).
    Unequal,
    /// A NaN: the equality of groups (section 6.5).
    Equal,
}

/// Whether two items are equal: structure counts, the order of members does not.
#[inline]
pub(crate) fn equal(a: &Value, b: &Value, nan: Nan, budget: &Budget) -> Result<bool, Spent> {
    match (a, b) {
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            equal_containers(a, b, nan, budget)
        }
        (Value::String(a), Value::String(b)) if a.len() == b.len() => {
            read(a.len(), budget)?;
            Ok(a == b)
        }
        _ => Ok(equal_scalars(a, b, nan)),
    }
}

/// The bytes of a text that are looked at for one unit of work; what is shorter is read for nothing.
const READ_EACH: usize = 64;

/// Pays for looking at so many bytes of a text.
#[inline]
fn read(bytes: usize, budget: &Budget) -> Result<(), Spent> {
    if bytes < READ_EACH { Ok(()) } else { budget.spend(bytes / READ_EACH) }
}

#[inline]
fn equal_scalars(a: &Value, b: &Value, nan: Nan) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => equal_numbers(*a, *b, nan),
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Null, Value::Null) => true,
        _ => false,
    }
}

#[inline]
#[expect(clippy::float_cmp, reason = "equality of doubles is what is meant")]
pub(crate) fn equal_numbers(a: f64, b: f64, nan: Nan) -> bool {
    a == b || (nan == Nan::Equal && a.is_nan() && b.is_nan())
}

fn equal_containers(a: &Value, b: &Value, nan: Nan, budget: &Budget) -> Result<bool, Spent> {
    let mut pending = vec![(a, b)];
    while let Some((a, b)) = pending.pop() {
        let len = match (a, b) {
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() && a.depth() == b.depth() => {
                // The same array is equal to itself, save that a NaN may be in it.
                if !(nan == Nan::Equal && a.ptr_eq(b)) {
                    pending.extend(a.iter().zip(b.iter()));
                }
                a.len()
            }
            (Value::Object(a), Value::Object(b)) if a.len() == b.len() && a.depth() == b.depth() => {
                let same = nan == Nan::Equal && a.ptr_eq(b);
                if !same && !pair_members(a, b, &mut pending) {
                    return Ok(false);
                }
                a.len()
            }
            (a, b) if equal_scalars(a, b, nan) => a.as_str().map_or(0, |text| text.len() / READ_EACH),
            _ => return Ok(false),
        };
        budget.spend(1 + len)?;
    }
    Ok(true)
}

/// Adds the values of the members of both objects, or answers that their names differ.
fn pair_members<'v>(a: &'v Object, b: &'v Object, pending: &mut Vec<(&'v Value, &'v Value)>) -> bool {
    if a.keys() == b.keys() {
        pending.extend(a.values().iter().zip(b.values()));
        return true;
    }
    a.iter().all(|(name, a)| {
        b.get(name).is_some_and(|b| {
            pending.push((a, b));
            true
        })
    })
}

/// How many values inside a container take part in its hash, and how deep they lie at most.
const HASHED_MAX: u32 = 64;
const HASHED_LEVELS: u32 = 8;
/// How many bytes of a text inside a container do.
const HASHED_BYTES: usize = 256;

/// Feeds a hash so that values that are equal as groups are hash alike.
#[inline]
pub(crate) fn hash(value: &Value, hasher: &mut impl Hasher, budget: &Budget) -> Result<(), Spent> {
    match value {
        Value::Number(number) => hash_number(*number, hasher),
        Value::String(text) => {
            read(text.len(), budget)?;
            hasher.write(text.as_bytes());
        }
        _ => hash_some(value, (&mut HASHED_MAX.clone(), HASHED_LEVELS), hasher),
    }
    Ok(())
}

#[inline]
pub(crate) fn hash_number(number: f64, hasher: &mut impl Hasher) {
    // Adding zero makes a negative zero a positive one.
    let number = if number.is_nan() { f64::NAN } else { number + 0.0 };
    hasher.write_u64(number.to_bits());
}

/// The same for at most so many values and levels.
fn hash_some(value: &Value, (left, levels): (&mut u32, u32), hasher: &mut impl Hasher) {
    let (Some(fewer), Some(levels)) = (left.checked_sub(1), levels.checked_sub(1)) else { return };
    *left = fewer;
    match value {
        Value::Null => hasher.write_u8(1),
        Value::Bool(bool) => hasher.write_u8(2 + u8::from(*bool)),
        Value::Number(number) => hash_number(*number, hasher),
        Value::String(text) => {
            hasher.write_usize(text.len());
            hasher.write(text.as_bytes().get(..HASHED_BYTES).unwrap_or(text.as_bytes()));
        }
        Value::Array(array) => {
            hasher.write_usize(array.len());
            for element in array.iter().take(HASHED_MAX as usize) {
                hash_some(element, (left, levels), hasher);
            }
        }
        Value::Object(object) => {
            hasher.write_usize(object.len());
            for (name, value) in object.iter_sorted().take(HASHED_MAX as usize) {
                hasher.write(name.as_bytes());
                hash_some(value, (left, levels), hasher);
            }
        }
    }
}

/// The order of two numbers or two texts; others have none. UTF-8 orders texts by code points.
#[inline]
pub(crate) fn ordered(left: &Value, right: &Value, budget: &Budget) -> Result<Option<Ordering>, Spent> {
    Ok(match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.partial_cmp(right),
        (Value::String(left), Value::String(right)) => {
            read(left.len().min(right.len()), budget)?;
            Some(left.cmp(right))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use jaren_json::value;

    use super::*;

    fn eq(a: &Value, b: &Value, nan: Nan) -> bool {
        equal(a, b, nan, &Budget::new(1000)).unwrap()
    }

    #[test]
    fn structure_counts_and_order_of_members_does_not() {
        let values = [
            value!(null),
            value!(false),
            value!(true),
            value!(0),
            value!(1),
            value!(""),
            value!("0"),
            value!([]),
            value!({}),
            value!([0]),
            value!([[0]]),
            value!([0, 1]),
            value!([1, 0]),
            value!({"a": 0}),
            value!({"b": 0}),
            value!({"a": [0]}),
            value!({"a": 0, "b": {"c": 1, "d": [null]}}),
        ];
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(eq(a, b, Nan::Unequal), i == j, "{a} {b}");
                assert_eq!(eq(a, b, Nan::Equal), i == j, "{a} {b}");
            }
        }
        let (a, b) = (value!({"a": 0, "b": {"c": 1, "d": 2}}), value!({"b": {"d": 2, "c": 1}, "a": -0.0}));
        assert!(eq(&a, &b, Nan::Unequal));
        let hashed = |value: &Value| {
            let mut hasher = DefaultHasher::new();
            hash(value, &mut hasher, &Budget::new(1000)).unwrap();
            hasher.finish()
        };
        assert_eq!(hashed(&a), hashed(&b));
        let nan = value!([(f64::NAN)]);
        assert!(eq(&nan, &nan, Nan::Equal) && !eq(&nan, &nan, Nan::Unequal));
        assert_eq!(hashed(&nan), hashed(&value!([(-f64::NAN)])));
    }

    #[test]
    fn a_value_that_unfolds_without_end_is_not_followed() {
        let unfolding = || (0..100).fold(value!(1), |inner, _| value!([(inner.clone()), (inner)]));
        let (a, b) = (unfolding(), unfolding());
        let budget = Budget::new(1_000_000);
        assert!(equal(&a, &b, Nan::Equal, &budget).is_err());
        assert_eq!(budget.left(), 0);
        hash(&a, &mut DefaultHasher::new(), &budget).unwrap();
    }

    #[test]
    fn a_long_text_is_paid_for() {
        let (a, b) = (Value::from("a".repeat(6400)), Value::from("a".repeat(6400)));
        let paid = |looking: &dyn Fn(&Budget)| {
            let budget = Budget::new(1000);
            looking(&budget);
            1000 - budget.left()
        };
        assert_eq!(paid(&|budget| assert!(equal(&a, &b, Nan::Equal, budget).unwrap())), 100);
        assert_eq!(
            paid(&|budget| assert!(ordered(&a, &b, budget).unwrap().is_some_and(Ordering::is_eq))),
            100
        );
        assert_eq!(paid(&|budget| hash(&a, &mut DefaultHasher::new(), budget).unwrap()), 100);
        let (a, b) = (value!([(a)]), value!([(b)]));
        assert_eq!(paid(&|budget| assert!(equal(&a, &b, Nan::Equal, budget).unwrap())), 103);
        assert_eq!(paid(&|budget| hash(&a, &mut DefaultHasher::new(), budget).unwrap()), 0);
    }
}
