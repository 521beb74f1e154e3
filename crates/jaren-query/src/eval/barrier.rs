//! Groups: the barrier `$groupby` (section 6.5) and the table behind it.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use super::item::{Got, Item, Seq};
use super::{KEPT, Next, Run, Stop};
use crate::budget::{Budget, Spent};
use crate::error::{EvalError, TYPE};
use crate::place::Places;
use crate::plan::Group;
use crate::relation::{Nan, equal, hash};
use foldhash::fast::RandomState;

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
        let (first, seed) = (HashMap::default(), RandomState::default());
        Self { width, parts: Vec::new(), first, next: Vec::new(), seed }
    }

    /// The position of a key, and whether it is new.
    pub(super) fn place(&mut self, key: &[Option<Item<'a>>], work: &Budget) -> Result<(usize, bool), Spent> {
        let hash = self.hash(key);
        let last = match self.look(hash, key, work)? {
            Ok(at) => return Ok((at, false)),
            Err(last) => last,
        };
        work.spend(KEPT * key.len())?;
        let at = self.next.len();
        match last.and_then(|last| self.next.get_mut(last)) {
            Some(next) => *next = Some(at),
            None => {
                self.first.insert(hash, at);
            }
        }
        self.parts.extend_from_slice(key);
        self.next.push(None);
        Ok((at, true))
    }

    /// The position of a key.
    pub(super) fn find(&self, key: &[Option<Item<'a>>], work: &Budget) -> Result<Option<usize>, Spent> {
        Ok(self.look(self.hash(key), key, work)?.ok())
    }

    fn hash(&self, key: &[Option<Item<'a>>]) -> u64 {
        let mut hasher = self.seed.build_hasher();
        for part in key {
            match part {
                None => hasher.write_u8(0),
                Some(item) => hash(item.value(), &mut hasher),
            }
        }
        hasher.finish()
    }

    /// The position of a key, or the last key of the same hash.
    fn look(
        &self,
        hash: u64,
        key: &[Option<Item<'a>>],
        work: &Budget,
    ) -> Result<Result<usize, Option<usize>>, Spent> {
        let mut last = None;
        let mut candidate = self.first.get(&hash).copied();
        while let Some(at) = candidate {
            work.spend(1)?;
            if same_key(self.key(at), key, work)? {
                return Ok(Ok(at));
            }
            last = candidate;
            candidate = self.next.get(at).copied().flatten();
        }
        Ok(Err(last))
    }

    fn key(&self, at: usize) -> &[Option<Item<'a>>] {
        let from = at * self.width;
        self.parts.get(from..from + self.width).unwrap_or_default()
    }
}

/// Whether two keys are equal as groups are.
fn same_key(a: &[Option<Item<'_>>], b: &[Option<Item<'_>>], work: &Budget) -> Result<bool, Spent> {
    for parts in a.iter().zip(b) {
        let same = match parts {
            (None, None) => true,
            (Some(a), Some(b)) => equal(a.value(), b.value(), Nan::Equal, work)?,
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
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
        let place = group.keys.first().map_or(Places::ROOT, |(_, key)| key.place);
        let placed = groups.table.place(&groups.key, &self.work);
        let (at, new) = placed.map_err(|Spent| self.spent(place))?;
        if new {
            groups.kept.push(vec![Vec::new(); group.kept.len()]);
        }
        let values = groups.kept.get_mut(at).into_iter().flatten();
        for (slot, values) in group.kept.iter().zip(values) {
            let items = self.slot(*slot).as_slice();
            self.spend(KEPT * items.len(), place)?;
            values.extend_from_slice(items);
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
}
