//! Order: the barrier `$orderby` (section 6.6).
//!
//! Keys and variables of all rows stand in two flat lists. What is sorted are small marks: the beginning of a row's first
//! key as a number that orders as the key does, and the row's position. Only rows of equal beginnings look at their keys.

use std::cmp::Ordering;

use jaren_json::Value;

use super::compare::key_order;
use super::item::{Got, Item, Seq};
use super::{KEPT, Next, Run, Stop};
use crate::error::{EvalError, ORDER};
use crate::plan::{Order, OrderKey};

/// The tuples that wait to be ordered.
#[derive(Default)]
pub(super) struct Rows<'a> {
    marks: Vec<(u64, usize)>,
    keys: Vec<Option<Item<'a>>>,
    kept: Vec<Seq<'a>>,
    /// Whether a first key was a number, and whether one was a text.
    met: (bool, bool),
}

impl<'a> Run<'a> {
    /// Adds the current tuple to the rows.
    pub(super) fn add_row(&mut self, order: &'a Order, rows: &mut Rows<'a>) -> Result<(), EvalError> {
        for (position, OrderKey { key, place, .. }) in order.keys.iter().enumerate() {
            let item = match self.one(key)? {
                Got::None => None,
                Got::One(item) if matches!(item.value(), Value::Number(_) | Value::String(_)) => Some(item),
                got => {
                    let message =
                        format!("expected nothing, a number or a text to order by, found {}", got.describe());
                    return Err(self.fail(ORDER, *place, message));
                }
            };
            if position == 0 {
                rows.mark(order, item.as_ref().map(Item::value));
            }
            rows.keys.push(item);
        }
        if let Some(first) = order.keys.first() {
            self.spend(KEPT * (order.keys.len() + order.kept.len()), first.place)?;
        }
        rows.kept.extend(order.kept.iter().map(|slot| self.slot(*slot).clone()));
        Ok(())
    }

    /// Calls `next` with each row's tuple in order; the sort is stable.
    pub(super) fn ordered(
        &mut self,
        order: &'a Order,
        rows: Rows<'a>,
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        let Rows { mut marks, keys, mut kept, met } = rows;
        let width = order.keys.len();
        let keys_of =
            |row: usize| keys.get(row * width..).and_then(|keys| keys.get(..width)).unwrap_or_default();
        let mut mixed = order.keys.first().filter(|_| met == (true, true));
        let mut compare = |left: &(u64, usize), right: &(u64, usize)| {
            let by_key = || row_order(order, keys_of(left.1), keys_of(right.1), &mut mixed);
            left.0.cmp(&right.0).then_with(by_key).then(left.1.cmp(&right.1))
        };
        if order.keys.iter().any(|key| key.collation.is_some()) {
            marks = merge_sorted(marks, &mut compare);
        } else {
            marks.sort_unstable_by(compare);
        }
        if let Some(key) = mixed {
            return Err(self.fail(ORDER, key.place, "a number and a text have no order").into());
        }
        let variables = order.kept.len();
        for (_, row) in marks {
            for (position, slot) in order.kept.iter().enumerate() {
                let value = kept
                    .get_mut(row * variables + position)
                    .map(|value| std::mem::replace(value, Seq::Empty));
                self.set(*slot, value.unwrap_or(Seq::Empty));
            }
            next(self)?;
        }
        Ok(())
    }
}

impl Rows<'_> {
    /// Marks a row by its first key.
    fn mark(&mut self, order: &Order, key: Option<&Value>) {
        let Some(OrderKey { descending, empty_greatest, collation, .. }) = order.keys.first() else { return };
        let beginning = match key {
            _ if collation.is_some() => 0,
            None => {
                if *empty_greatest {
                    u64::MAX
                } else {
                    0
                }
            }
            Some(Value::Number(number)) => {
                self.met.0 = true;
                number_beginning(*number)
            }
            Some(Value::String(text)) => {
                self.met.1 = true;
                text_beginning(text)
            }
            Some(_) => 0, // refused before
        };
        self.marks.push((
            if *descending && collation.is_none() { !beginning } else { beginning },
            self.marks.len(),
        ));
    }
}

/// A number as an unsigned one of the same order: a NaN is less than the others, and both zeros are one.
/// Neither the least nor the greatest of all is among them.
fn number_beginning(number: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    if number.is_nan() {
        return 1;
    }
    let bits = (number + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The first eight bytes of a text; UTF-8 orders as code points do.
fn text_beginning(text: &str) -> u64 {
    let mut bytes = [0; 8];
    for (byte, of_text) in bytes.iter_mut().zip(text.bytes()) {
        *byte = of_text;
    }
    u64::from_be_bytes(bytes)
}

/// A stable sort that takes any order: the sort of the standard library may panic where one contradicts itself, as that of
/// a host may.
fn merge_sorted<T>(items: Vec<T>, order: &mut dyn FnMut(&T, &T) -> Ordering) -> Vec<T> {
    let mut runs: Vec<Vec<T>> = items.into_iter().map(|item| vec![item]).collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            merged.push(match pairs.next() {
                Some(right) => merge(left, right, order),
                None => left,
            });
        }
        runs = merged;
    }
    runs.pop().unwrap_or_default()
}

/// Two runs as one; of equal items the left one comes first.
fn merge<T>(left: Vec<T>, right: Vec<T>, order: &mut dyn FnMut(&T, &T) -> Ordering) -> Vec<T> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
        let next = if order(first, second).is_gt() { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// The order of two rows by their keys; the first key found to hold a number and a text is left in `mixed`.
fn row_order<'a>(
    order: &'a Order,
    left: &[Option<Item<'_>>],
    right: &[Option<Item<'_>>],
    mixed: &mut Option<&'a OrderKey>,
) -> Ordering {
    for (key, (left, right)) in order.keys.iter().zip(left.iter().zip(right)) {
        let found = match (left, right) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) if key.empty_greatest => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) if key.empty_greatest => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => {
                let mut disagree = false;
                let found = match (&key.collation, left.value(), right.value()) {
                    (Some(collation), Value::String(left), Value::String(right)) => {
                        collation.compare(left, right)
                    }
                    _ => key_order(left, right, &mut disagree),
                };
                if disagree {
                    mixed.get_or_insert(key);
                }
                found
            }
        };
        if found != Ordering::Equal {
            return if key.descending { found.reverse() } else { found };
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_order_as_keys_do() {
        let numbers =
            [f64::NAN, f64::NEG_INFINITY, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.5, f64::INFINITY];
        let beginnings: Vec<_> = numbers.iter().map(|number| number_beginning(*number)).collect();
        assert!(beginnings.is_sorted_by(|a, b| a < b));
        assert!(beginnings.iter().all(|beginning| *beginning > 0 && *beginning < u64::MAX));
        assert_eq!(number_beginning(-0.0), number_beginning(0.0));
        let texts = ["", "a", "aa", "ab", "b", "é", "\u{e000}", "😀"];
        assert!(texts.map(text_beginning).is_sorted_by(|a, b| a < b));
        assert_eq!(text_beginning("abcdefgh"), text_beginning("abcdefghi"));
    }
}
