//! Order: the barrier `$orderby` (section 6.6).
//!
//! Keys and variables of all rows stand in two flat lists. What is sorted are marks, which are numbers: the beginning of a
//! row's key as a number that orders as the key does, before the row's position. First by the first key; then the rows among
//! which it does not decide by the next one.

use std::cmp::Ordering;
use std::iter;

use jaren_json::Value;

use super::compare::key_order;
use super::item::{Got, Item, Seq};
use super::{KEPT, Next, Run, Stop};
use crate::error::{EvalError, ORDER};
use crate::path::Sight;
use crate::place::Place;
use crate::plan::{Order, OrderKey};

/// The bytes of a key that take a unit of work when it is sorted, being compared some twenty times.
const SORTED_EACH: usize = 16;

/// The tuples that wait to be ordered.
#[derive(Default)]
pub(super) struct Rows<'a> {
    len: usize,
    keys: Vec<Option<Item<'a>>>,
    kept: Vec<Seq<'a>>,
}

impl<'a> Run<'a> {
    /// Adds the current tuple to the rows.
    pub(super) fn add_row(&mut self, order: &'a Order, rows: &mut Rows<'a>) -> Result<(), EvalError> {
        for key in &order.keys {
            if let Sight::At(value @ (Value::Number(_) | Value::String(_))) = self.sight(&key.key) {
                self.step(&key.key)?;
                self.spend_sorted(value, key.place)?;
                rows.keys.extend(iter::once_with(|| Some(Item::Ref(value))));
            } else {
                let item = self.order_key(key)?;
                if let Some(item) = &item {
                    self.spend_sorted(item.value(), key.place)?;
                }
                rows.keys.push(item);
            }
        }
        if let Some(first) = order.keys.first() {
            self.spend(KEPT * (order.keys.len() + order.kept.len()), first.place)?;
        }
        rows.kept.extend(order.kept.iter().map(|slot| self.slot(*slot).clone()));
        rows.len += 1;
        Ok(())
    }

    /// Pays for the comparisons of a long text with others that begin like it.
    #[inline]
    pub(super) fn spend_sorted(&self, key: &Value, place: Place) -> Result<(), EvalError> {
        match key {
            Value::String(text) if text.len() >= SORTED_EACH => self.spend(text.len() / SORTED_EACH, place),
            _ => Ok(()),
        }
    }

    fn order_key(
        &mut self,
        OrderKey { key, place, .. }: &'a OrderKey,
    ) -> Result<Option<Item<'a>>, EvalError> {
        match self.one(key)? {
            Got::None => Ok(None),
            Got::One(item) if matches!(item.value(), Value::Number(_) | Value::String(_)) => Ok(Some(item)),
            got => {
                let message =
                    format!("expected nothing, a number or a text to order by, found {}", got.describe());
                Err(self.fail(ORDER, *place, message))
            }
        }
    }

    /// Calls `next` with each row's tuple in order; the sort is stable.
    pub(super) fn ordered(
        &mut self,
        order: &'a Order,
        mut rows: Rows<'a>,
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        let mut marks: Vec<Mark> = (0..rows.len).map(|row| Mark::new(0, row)).collect();
        let sorted = if order.keys.iter().any(|key| key.collation.is_some()) {
            rows.merge(order, &mut marks)
        } else {
            rows.sort(order, &mut marks)
        };
        if let Err(Mixed(key)) = sorted {
            return Err(self.fail(ORDER, key.place, "a number and a text have no order").into());
        }
        let variables = order.kept.len();
        for mark in marks {
            for (position, slot) in order.kept.iter().enumerate() {
                let value = rows
                    .kept
                    .get_mut(mark.row() * variables + position)
                    .map(|value| std::mem::replace(value, Seq::Empty));
                self.set(*slot, value.unwrap_or(Seq::Empty));
            }
            next(self)?;
        }
        Ok(())
    }
}

/// A number and a text are to be ordered by this key.
struct Mixed<'k>(&'k OrderKey);

impl<'a> Rows<'a> {
    fn keys_of(&self, order: &Order, row: usize) -> &[Option<Item<'a>>] {
        let width = order.keys.len();
        self.keys.get(row * width..).and_then(|keys| keys.get(..width)).unwrap_or_default()
    }

    /// Sorts by one key after the other, each time only the rows among which those before it do not decide.
    fn sort<'k>(&self, order: &'k Order, marks: &mut [Mark]) -> Result<(), Mixed<'k>> {
        let mut pending = vec![(0..marks.len(), 0)];
        while let Some((range, level)) = pending.pop() {
            let (Some(key), Some(marks)) = (order.keys.get(level), marks.get_mut(range.clone())) else {
                continue;
            };
            let (mut numbers, mut texts) = (false, false);
            for mark in marks.iter_mut() {
                let item = self.keys.get(mark.row() * order.keys.len() + level).and_then(Option::as_ref);
                let value = item.map(Item::value);
                numbers |= matches!(value, Some(Value::Number(_)));
                texts |= matches!(value, Some(Value::String(_)));
                *mark = Mark::new(beginning(value, key), mark.row());
            }
            if numbers && texts {
                return Err(Mixed(key));
            }
            marks.sort_unstable();
            let mut from = range.start;
            for run in marks.chunk_by_mut(|a, b| a.beginning() == b.beginning()) {
                let range = from..from + run.len();
                from = range.end;
                match run {
                    [first, _, ..] if !texts || is_whole_text(first.beginning(), key) => {
                        pending.push((range, level + 1));
                    }
                    [_, _, ..] => self.sort_texts(order, run, level)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Sorts rows whose texts are longer than marks tell.
    fn sort_texts<'k>(&self, order: &'k Order, run: &mut [Mark], level: usize) -> Result<(), Mixed<'k>> {
        let mut mixed = None;
        let keys_of = |mark: &Mark| self.keys_of(order, mark.row()).get(level..).unwrap_or_default();
        let keys = order.keys.get(level..).unwrap_or_default();
        run.sort_unstable_by(|a, b| {
            row_order(keys, keys_of(a), keys_of(b), &mut mixed).then(a.row().cmp(&b.row()))
        });
        mixed.map_or(Ok(()), |key| Err(Mixed(key)))
    }

    /// The same where a key has an order of its host.
    fn merge<'k>(&self, order: &'k Order, marks: &mut Vec<Mark>) -> Result<(), Mixed<'k>> {
        let kinds = |kind: fn(&Value) -> bool| {
            self.keys.iter().step_by(order.keys.len().max(1)).flatten().any(|item| kind(item.value()))
        };
        let mixed_first = kinds(|value| matches!(value, Value::Number(_)))
            && kinds(|value| matches!(value, Value::String(_)));
        let mut mixed = order.keys.first().filter(|_| mixed_first);
        let mut compare = |a: &Mark, b: &Mark| {
            row_order(&order.keys, self.keys_of(order, a.row()), self.keys_of(order, b.row()), &mut mixed)
        };
        *marks = merge_sorted(std::mem::take(marks), &mut compare);
        mixed.map_or(Ok(()), |key| Err(Mixed(key)))
    }
}

/// The beginning of a key and, below it, the position of its row: one number, which is compared at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark(u128);

impl Mark {
    fn new(beginning: u64, row: usize) -> Self {
        Self(u128::from(beginning) << 64 | row as u128)
    }

    fn beginning(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn row(self) -> usize {
        self.0 as usize
    }
}

/// The beginning of a key: it orders as the key does, as far as it goes.
fn beginning(key: Option<&Value>, OrderKey { descending, empty_greatest, .. }: &OrderKey) -> u64 {
    let ascending = match key {
        Some(Value::Number(number)) => number_beginning(*number),
        Some(Value::String(text)) => text_beginning(text),
        _ if *empty_greatest => u64::MAX,
        _ => 0,
    };
    if *descending { !ascending } else { ascending }
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

/// How many bytes of a text its beginning has; the last byte tells how many there are.
const TEXT_BYTES: usize = 7;
/// That byte where there are more.
const MORE: u8 = 9;

/// The first bytes of a text, then whether there are more: UTF-8 orders as code points do. Never the least nor the greatest
/// number of all.
fn text_beginning(text: &str) -> u64 {
    let mut bytes = [0; 8];
    for (byte, of_text) in bytes.iter_mut().zip(text.bytes().take(TEXT_BYTES)) {
        *byte = of_text;
    }
    u64::from_be_bytes(bytes) | u64::from(u8::try_from(text.len() + 1).map_or(MORE, |len| len.min(MORE)))
}

/// Whether the beginning of a text is all of it.
fn is_whole_text(beginning: u64, OrderKey { descending, .. }: &OrderKey) -> bool {
    let ascending = if *descending { !beginning } else { beginning };
    ascending & 0xFF < u64::from(MORE)
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
fn row_order<'k>(
    keys: &'k [OrderKey],
    left: &[Option<Item<'_>>],
    right: &[Option<Item<'_>>],
    mixed: &mut Option<&'k OrderKey>,
) -> Ordering {
    for (key, (left, right)) in keys.iter().zip(left.iter().zip(right)) {
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
    use jaren_json::value;

    use super::*;
    use crate::place::Places;
    use crate::plan::{Expr, Kind};

    #[test]
    fn beginnings_order_as_keys_do() {
        let numbers =
            [f64::NAN, f64::NEG_INFINITY, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.5, f64::INFINITY];
        let beginnings: Vec<_> = numbers.iter().map(|number| number_beginning(*number)).collect();
        assert!(beginnings.is_sorted_by(|a, b| a < b));
        assert!(beginnings.iter().all(|beginning| *beginning > 0 && *beginning < u64::MAX));
        assert_eq!(number_beginning(-0.0), number_beginning(0.0));
        let texts = ["", "\0", "a", "a\0", "aa", "ab", "abcdefg", "abcdefg\0", "b", "é", "\u{e000}", "😀"];
        assert!(texts.map(text_beginning).is_sorted_by(|a, b| a < b));
        assert!(texts.map(text_beginning).iter().all(|beginning| *beginning > 0 && *beginning < u64::MAX));
        assert_eq!(text_beginning("abcdefgh"), text_beginning("abcdefghi"));
    }

    #[test]
    fn marks_sort_as_keys_do() {
        let numbers = [value!(0), value!(-0.0), value!(1), value!(-2.5), Value::Number(f64::NAN)];
        let texts = ["", "a", "a\0", "abcdefg", "abcdefg\0", "abcdefgh", "abcdefgi", "é"].map(Value::from);
        let pools = [&numbers[..], &texts[..], &texts[4..]];
        let mut state = 1_u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            usize::try_from(state >> 8).unwrap() % below
        };
        for _ in 0..500 {
            let keys: Vec<_> =
                (0..=random(3)).map(|_| (random(2) == 0, random(2) == 0, pools[random(3)])).collect();
            let order = Order {
                keys: keys
                    .iter()
                    .map(|(descending, empty_greatest, _)| order_key(*descending, *empty_greatest))
                    .collect(),
                kept: Vec::new(),
            };
            let mut rows = Rows { len: random(60), ..Rows::default() };
            for _ in 0..rows.len {
                for (_, _, pool) in &keys {
                    rows.keys.push(pool.get(random(pool.len() + 1)).map(Item::Ref));
                }
            }
            let mut marks: Vec<Mark> = (0..rows.len).map(|row| Mark::new(0, row)).collect();
            assert!(rows.sort(&order, &mut marks).is_ok());
            let mut expected: Vec<usize> = (0..rows.len).collect();
            expected.sort_by(|a, b| {
                row_order(&order.keys, rows.keys_of(&order, *a), rows.keys_of(&order, *b), &mut None)
            });
            assert_eq!(marks.iter().map(|mark| mark.row()).collect::<Vec<_>>(), expected);
        }
    }

    fn order_key(descending: bool, empty_greatest: bool) -> OrderKey {
        let key = Expr { place: Places::ROOT, kind: Kind::Literal(Value::Null) };
        OrderKey { place: Places::ROOT, key, descending, empty_greatest, collation: None }
    }
}
