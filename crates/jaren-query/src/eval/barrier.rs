//! Groups: the barrier `$groupby` (section 6.5) and the table behind it.

use std::hash::{BuildHasher, Hasher};
use std::{iter, slice};

use super::item::{Got, Item, Seq};
use super::{KEPT, Next, Run, Stop};
use crate::budget::{Budget, Spent};
use crate::error::{EvalError, TYPE};
use crate::path::Sight;
use crate::place::Places;
use crate::plan::{Expr, Group};
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
    /// The hash of each key.
    hashes: Vec<u64>,
    /// A power of two of buckets, at least twice as many as keys: each has the number of a key and one more, or 0. A key is in
    /// the first free bucket from that of its hash on.
    buckets: Vec<usize>,
    seed: RandomState,
}

impl<'a> Table<'a> {
    const BUCKETS_MIN: usize = 16;

    pub(super) fn new(width: usize) -> Self {
        let buckets = vec![0; Self::BUCKETS_MIN];
        Self { width, parts: Vec::new(), hashes: Vec::new(), buckets, seed: RandomState::default() }
    }

    /// The position of a key, and whether it is new.
    pub(super) fn place(&mut self, key: &[Option<Item<'a>>], work: &Budget) -> Result<(usize, bool), Spent> {
        let hash = self.hash(key);
        match self.look(hash, key, work)? {
            Ok(at) => Ok((at, false)),
            Err(free) => self.add((hash, free), key, work).map(|at| (at, true)),
        }
    }

    /// The position of a key.
    pub(super) fn find(&self, key: &[Option<Item<'a>>], work: &Budget) -> Result<Option<usize>, Spent> {
        Ok(self.look(self.hash(key), key, work)?.ok())
    }

    #[inline]
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

    /// The position of a key, or the bucket that is free for it.
    #[inline]
    fn look(
        &self,
        hash: u64,
        key: &[Option<Item<'a>>],
        work: &Budget,
    ) -> Result<Result<usize, usize>, Spent> {
        let mut bucket = self.first_bucket(hash);
        // There is a free bucket, for there are more than keys.
        while let Some(at) = self.buckets.get(bucket).and_then(|number| number.checked_sub(1)) {
            if self.hashes.get(at) == Some(&hash) {
                work.spend(1)?;
                if same_key(self.key(at), key, work)? {
                    return Ok(Ok(at));
                }
            }
            bucket = (bucket + 1) & (self.buckets.len() - 1);
        }
        Ok(Err(bucket))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are those that count")]
    fn first_bucket(&self, hash: u64) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// Adds a key that is not in the table; answers its position.
    fn add(
        &mut self,
        (hash, free): (u64, usize),
        key: &[Option<Item<'a>>],
        work: &Budget,
    ) -> Result<usize, Spent> {
        work.spend(KEPT * key.len())?;
        let at = self.hashes.len();
        self.parts.extend_from_slice(key);
        self.hashes.push(hash);
        if let Some(bucket) = self.buckets.get_mut(free) {
            *bucket = self.hashes.len();
        }
        if self.hashes.len() * 2 > self.buckets.len() {
            self.grow();
        }
        Ok(at)
    }

    fn grow(&mut self) {
        self.buckets = vec![0; self.buckets.len() * 2];
        let mask = self.buckets.len() - 1;
        for (at, hash) in self.hashes.iter().enumerate() {
            let mut bucket = self.first_bucket(*hash);
            while self.buckets.get(bucket).is_some_and(|number| *number != 0) {
                bucket = (bucket + 1) & mask;
            }
            if let Some(bucket) = self.buckets.get_mut(bucket) {
                *bucket = at + 1;
            }
        }
    }

    #[inline]
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

/// The groups of a phrase: their keys, and for each the values of the kept variables.
pub(super) struct Groups<'a> {
    table: Table<'a>,
    /// The values of all groups, one group after the other.
    kept: Vec<Vec<Item<'a>>>,
}

impl Groups<'_> {
    pub(super) fn new(group: &Group) -> Self {
        Self { table: Table::new(group.keys.len()), kept: Vec::new() }
    }
}

impl<'a> Run<'a> {
    /// Puts the current tuple into its group.
    pub(super) fn gather(&mut self, group: &'a Group, groups: &mut Groups<'a>) -> Result<(), EvalError> {
        let (several, one);
        let key = if let [(_, expr)] = &group.keys[..] {
            one = self.group_key(expr)?;
            slice::from_ref(&one)
        } else {
            several =
                group.keys.iter().map(|(_, expr)| self.group_key(expr)).collect::<Result<Vec<_>, _>>()?;
            &several
        };
        let place = group.keys.first().map_or(Places::ROOT, |(_, key)| key.place);
        let placed = groups.table.place(key, &self.work);
        let (at, new) = placed.map_err(|Spent| self.spent(place))?;
        let from = at * group.kept.len();
        if new {
            groups.kept.resize(from + group.kept.len(), Vec::new());
        }
        for (slot, values) in group.kept.iter().zip(groups.kept.get_mut(from..).unwrap_or_default()) {
            let items = self.slot(*slot);
            self.spend(KEPT * items.len(), place)?;
            match items {
                Seq::One(item) => values.extend(iter::once_with(|| item.clone())),
                items => values.extend_from_slice(items.as_slice()),
            }
        }
        Ok(())
    }

    #[inline]
    fn group_key(&mut self, expr: &'a Expr) -> Result<Option<Item<'a>>, EvalError> {
        self.step(expr)?;
        let got = match self.sight(expr) {
            Sight::At(value) => return Ok(Some(Item::Ref(value))),
            Sight::Nowhere => return Ok(None),
            Sight::Hidden => self.one_stepped(expr)?,
        };
        match got {
            Got::None => Ok(None),
            Got::One(item) => Ok(Some(item)),
            Got::Several => Err(self.fail(TYPE, expr.place, "expected at most one item as a group's key")),
        }
    }

    /// Calls `next` with a tuple for each group.
    pub(super) fn each_group(
        &mut self,
        group: &'a Group,
        groups: Groups<'a>,
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        let Groups { table, kept } = groups;
        let mut kept = kept.into_iter();
        for at in 0..table.hashes.len() {
            for ((slot, _), part) in group.keys.iter().zip(table.key(at)) {
                self.set(*slot, part.clone().map_or(Seq::Empty, Seq::One));
            }
            for (slot, values) in group.kept.iter().zip(&mut kept) {
                self.set(*slot, Seq::from(values));
            }
            next(self)?;
        }
        Ok(())
    }
}
