//! Groups: the barrier `$groupby` (section 6.5) and the table behind it.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use foldhash::fast::RandomState;
use jaren_json::Value;

use super::item::{Got, Item, Seq};
use super::{Next, Run, Stop};
use crate::error::{EvalError, TYPE};
use crate::plan::Group;

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
    pub(super) fn place(&mut self, key: &[Option<Item<'a>>]) -> (usize, bool) {
        let hash = self.hash(key);
        let last = match self.look(hash, key) {
            Ok(at) => return (at, false),
            Err(last) => last,
        };
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

    /// The position of a key.
    pub(super) fn find(&self, key: &[Option<Item<'a>>]) -> Option<usize> {
        self.look(self.hash(key), key).ok()
    }

    fn hash(&self, key: &[Option<Item<'a>>]) -> u64 {
        let mut hasher = self.seed.build_hasher();
        for part in key {
            hash_part(part.as_ref().map(Item::value), &mut hasher);
        }
        hasher.finish()
    }

    /// The position of a key, or the last key of the same hash.
    fn look(&self, hash: u64, key: &[Option<Item<'a>>]) -> Result<usize, Option<usize>> {
        let mut last = None;
        let mut candidate = self.first.get(&hash).copied();
        while let Some(at) = candidate {
            let known = self.key(at).iter().map(|part| part.as_ref().map(Item::value));
            if known.eq(key.iter().map(|part| part.as_ref().map(Item::value))) {
                return Ok(at);
            }
            last = candidate;
            candidate = self.next.get(at).copied().flatten();
        }
        Err(last)
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
}
