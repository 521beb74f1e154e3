//! Barriers of the tuple stream: `$groupby` (section 6.5) and `$orderby` (section 6.6), and the table behind them.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use jaren_json::Value;

use super::compare::key_order;
use super::item::{Got, Item, Seq};
use super::{Next, Run, Stop};
use crate::error::{EvalError, ORDER, TYPE};
use crate::plan::{Group, Order, OrderKey};

/// Distinct keys in the order of their first appearance.
///
/// Keys are equal as values are, which is the grouping relation of the language: NaN equals itself. The hash is seeded
/// anew for every table so that no input can be made slow on purpose; the answer does not depend on it.
pub(super) struct Table<K> {
    keys: Vec<K>,
    /// The first key of each hash.
    first: HashMap<u64, usize>,
    /// For each key the next one of the same hash.
    next: Vec<Option<usize>>,
    seed: RandomState,
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), first: HashMap::new(), next: Vec::new(), seed: RandomState::new() }
    }
}

/// The parts of a key; `None` is the empty key.
pub(super) trait Parts {
    fn parts(&self) -> impl Iterator<Item = Option<&Value>>;
}

impl Parts for Vec<Option<Item<'_>>> {
    fn parts(&self) -> impl Iterator<Item = Option<&Value>> {
        self.iter().map(|part| part.as_ref().map(Item::value))
    }
}

impl Parts for Item<'_> {
    fn parts(&self) -> impl Iterator<Item = Option<&Value>> {
        std::iter::once(Some(self.value()))
    }
}

impl<K: Parts> Table<K> {
    /// The position of a key, and whether it is new.
    fn place(&mut self, key: K) -> (usize, bool) {
        let mut hasher = self.seed.build_hasher();
        key.parts().for_each(|part| part.hash(&mut hasher));
        let hash = hasher.finish();
        let mut last = None;
        let mut candidate = self.first.get(&hash).copied();
        while let Some(at) = candidate {
            if self.keys.get(at).is_some_and(|known| known.parts().eq(key.parts())) {
                return (at, false);
            }
            last = candidate;
            candidate = self.next.get(at).copied().flatten();
        }
        let at = self.keys.len();
        match last.and_then(|last| self.next.get_mut(last)) {
            Some(next) => *next = Some(at),
            None => {
                self.first.insert(hash, at);
            }
        }
        self.keys.push(key);
        self.next.push(None);
        (at, true)
    }
}

/// The items met so far, for `$distinct`.
pub(super) type Distinct<'a> = Table<Item<'a>>;

impl<'a> Distinct<'a> {
    /// Whether an item is met for the first time.
    pub(super) fn is_new(&mut self, item: Item<'a>) -> bool {
        self.place(item).1
    }
}

/// The groups of a phrase: their keys, and for each the values of the kept variables.
#[derive(Default)]
pub(super) struct Groups<'a> {
    table: Table<Vec<Option<Item<'a>>>>,
    kept: Vec<Vec<Vec<Item<'a>>>>,
}

/// One tuple waiting to be ordered.
pub(super) struct Row<'a> {
    keys: Vec<Option<Item<'a>>>,
    kept: Vec<Seq<'a>>,
}

impl<'a> Run<'a> {
    /// Puts the current tuple into its group.
    pub(super) fn gather(&mut self, group: &'a Group, groups: &mut Groups<'a>) -> Result<(), EvalError> {
        let mut key = Vec::with_capacity(group.keys.len());
        for (_, expr) in &group.keys {
            key.push(match self.one(expr)? {
                Got::None => None,
                Got::One(item) => Some(item),
                Got::Several => {
                    return Err(self.fail(TYPE, expr.place, "expected at most one item as a group's key"));
                }
            });
        }
        let (at, new) = groups.table.place(key);
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
        for (keys, kept) in groups.table.keys.into_iter().zip(groups.kept) {
            for ((slot, _), key) in group.keys.iter().zip(keys) {
                self.set(*slot, key.map_or(Seq::Empty, Seq::One));
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
        rows.sort_by(|left, right| row_order(order, left, right, &mut mixed));
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
                let found = key_order(left, right, &mut disagree);
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
