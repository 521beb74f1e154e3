//! Barriers of the tuple stream: `$groupby` (section 6.5) and `$orderby` (section 6.6), and the table behind them.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

use jaren_json::Value;

use super::compare::key_order;
use super::item::{Got, Item, Seq};
use super::{Next, Run, Stop};
use crate::error::{EvalError, ORDER, TYPE};
use crate::plan::{Group, Order, OrderKey};

/// Distinct keys in the order of their first appearance; each has the same number of parts, and `None` is the empty part.
///
/// Keys are equal as values are, which is the grouping relation of the language: NaN equals itself. Texts and numbers are
/// hashed with a seed of their own for every table, so that no choice of them makes it slow; the answer does not depend on
/// the seed.
pub(super) struct Table<'a> {
    width: usize,
    /// The parts of all keys, one key after the other.
    parts: Vec<Option<Item<'a>>>,
    /// The first key of each hash.
    first: HashMap<u64, usize, BuildHasherDefault<AlreadyHashed>>,
    /// For each key the next one of the same hash.
    next: Vec<Option<usize>>,
    seed: RandomState,
}

impl<'a> Table<'a> {
    pub(super) fn new(width: usize) -> Self {
        let (first, seed) = (HashMap::default(), RandomState::new());
        Self { width, parts: Vec::new(), first, next: Vec::new(), seed }
    }

    /// The position of a key, and whether it is new.
    pub(super) fn place(&mut self, key: &[Option<Item<'a>>]) -> (usize, bool) {
        let mut hasher = self.seed.build_hasher();
        for part in key {
            hash_part(part.as_ref().map(Item::value), &mut hasher);
        }
        let hash = hasher.finish();
        let mut last = None;
        let mut candidate = self.first.get(&hash).copied();
        while let Some(at) = candidate {
            let known = self.key(at).iter().map(|part| part.as_ref().map(Item::value));
            if known.eq(key.iter().map(|part| part.as_ref().map(Item::value))) {
                return (at, false);
            }
            last = candidate;
            candidate = self.next.get(at).copied().flatten();
        }
        let at = self.next.len();
        match last.and_then(|last| self.next.get_mut(last)) {
            Some(next) => *next = Some(at),
            None => {
                self.first.insert(hash, at);
            }
        }
        self.parts.extend_from_slice(key);
        self.next.push(None);
        (at, true)
    }

    fn key(&self, at: usize) -> &[Option<Item<'a>>] {
        let from = at * self.width;
        self.parts.get(from..from + self.width).unwrap_or_default()
    }
}

/// Equal parts hash alike. Containers hash as the kernel hashes them, which looks only a few levels down.
fn hash_part(part: Option<&Value>, hasher: &mut impl Hasher) {
    match part {
        None => hasher.write_u8(0),
        Some(Value::String(text)) => hasher.write(text.as_bytes()),
        // One bit pattern for both zeros, and one for every NaN.
        Some(Value::Number(number)) if number.is_nan() => hasher.write_u64(f64::NAN.to_bits()),
        Some(Value::Number(number)) => hasher.write_u64((number + 0.0).to_bits()),
        Some(other) => other.hash(hasher),
    }
}

/// Hands a number on that is a hash already.
#[derive(Default)]
struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The groups of a phrase: their keys, and for each the values of the kept variables.
pub(super) struct Groups<'a> {
    table: Table<'a>,
    kept: Vec<Vec<Vec<Item<'a>>>>,
    /// The key of the current tuple, kept only to use its room again.
    key: Vec<Option<Item<'a>>>,
}

impl Groups<'_> {
    pub(super) fn new(group: &Group) -> Self {
        let width = group.keys.len();
        Self { table: Table::new(width), kept: Vec::new(), key: Vec::with_capacity(width) }
    }
}

/// One tuple waiting to be ordered.
pub(super) struct Row<'a> {
    keys: Vec<Option<Item<'a>>>,
    kept: Vec<Seq<'a>>,
}

impl<'a> Run<'a> {
    /// Puts the current tuple into its group.
    pub(super) fn gather(&mut self, group: &'a Group, groups: &mut Groups<'a>) -> Result<(), EvalError> {
        groups.key.clear();
        for (_, expr) in &group.keys {
            groups.key.push(match self.one(expr)? {
                Got::None => None,
                Got::One(item) => Some(item),
                Got::Several => {
                    return Err(self.fail(TYPE, expr.place, "expected at most one item as a group's key"));
                }
            });
        }
        let (at, new) = groups.table.place(&groups.key);
        if new {
            groups.kept.push(vec![Vec::new(); group.kept.len()]);
        }
        let values = groups.kept.get_mut(at).into_iter().flatten();
        for (slot, values) in group.kept.iter().zip(values) {
            values.extend_from_slice(self.slot(*slot).as_slice());
        }
        Ok(())
    }

    /// Calls `next` with a tuple for each group.
    pub(super) fn each_group(
        &mut self,
        group: &'a Group,
        groups: Groups<'a>,
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        for (at, kept) in groups.kept.into_iter().enumerate() {
            for ((slot, _), part) in group.keys.iter().zip(groups.table.key(at)) {
                self.set(*slot, part.clone().map_or(Seq::Empty, Seq::One));
            }
            for (slot, values) in group.kept.iter().zip(kept) {
                self.set(*slot, Seq::from(values));
            }
            next(self)?;
        }
        Ok(())
    }

    /// The current tuple as a row to order.
    pub(super) fn row(&mut self, order: &'a Order) -> Result<Row<'a>, EvalError> {
        let mut keys = Vec::with_capacity(order.keys.len());
        for OrderKey { key, place, .. } in &order.keys {
            keys.push(match self.one(key)? {
                Got::None => None,
                Got::One(item) if matches!(item.value(), Value::Number(_) | Value::String(_)) => Some(item),
                got => {
                    let message =
                        format!("expected nothing, a number or a text to order by, found {}", got.describe());
                    return Err(self.fail(ORDER, *place, message));
                }
            });
        }
        let kept = order.kept.iter().map(|slot| self.slot(*slot).clone()).collect();
        Ok(Row { keys, kept })
    }

    /// Calls `next` with each row's tuple in order; the sort is stable.
    pub(super) fn ordered(
        &mut self,
        order: &'a Order,
        mut rows: Vec<Row<'a>>,
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        let mut mixed = None;
        if order.keys.iter().any(|key| key.collation.is_some()) {
            rows = merge_sorted(rows, &mut |left, right| row_order(order, left, right, &mut mixed));
        } else {
            rows.sort_by(|left, right| row_order(order, left, right, &mut mixed));
        }
        if let Some(key) = mixed {
            return Err(self.fail(ORDER, key.place, "a number and a text have no order").into());
        }
        for row in rows {
            for (slot, value) in order.kept.iter().zip(row.kept) {
                self.set(*slot, value);
            }
            next(self)?;
        }
        Ok(())
    }
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

/// The order of two rows; the first key found to hold a number and a text is left in `mixed`.
fn row_order<'a>(
    order: &'a Order,
    left: &Row<'_>,
    right: &Row<'_>,
    mixed: &mut Option<&'a OrderKey>,
) -> Ordering {
    for (key, (left, right)) in order.keys.iter().zip(left.keys.iter().zip(&right.keys)) {
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
