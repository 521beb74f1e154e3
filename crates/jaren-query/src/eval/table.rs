//! The table of keys behind `$groupby`, joins, `$distinct` and `$asof`.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use jaren_json::Value;

use super::KEPT;
use super::item::Item;
use crate::budget::{Budget, Spent};
use crate::relation::{Nan, equal, equal_numbers, hash, hash_number};

/// Distinct keys in the order of their first appearance; each has the same number of parts, and `None` is the empty part.
///
/// Keys are equal as values are, which is the grouping relation of the language: NaN equals itself. Texts and numbers are
/// hashed with a seed of their own for every table, so that no choice of them makes it slow; the answer does not depend on
/// the seed.
pub(super) struct Table<'a> {
    width: usize,
    /// How many keys there are.
    len: u32,
    /// The parts of all keys, one key after the other.
    parts: Vec<Option<Item<'a>>>,
    /// A power of two of buckets, at least twice as many as keys. A key is in the first free bucket from that of its hash on.
    buckets: Vec<Bucket>,
    seed: RandomState,
}

/// A place for a key.
#[derive(Clone, Copy, Default)]
struct Bucket {
    /// The hash of the key: most others are told from it here.
    hash: u32,
    /// The number of the key and one more, or 0.
    number: u32,
}

/// The position of a key, or the bucket that is free for it.
type Found = Result<usize, usize>;

impl<'a> Table<'a> {
    const BUCKETS_MIN: usize = 16;
    const GROWTH: usize = 4;

    pub(super) fn new(width: usize) -> Self {
        let buckets = vec![Bucket::default(); Self::BUCKETS_MIN];
        Self { width, len: 0, parts: Vec::new(), buckets, seed: RandomState::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// The position of a key, and whether it is new.
    #[inline]
    pub(super) fn place(&mut self, key: &[Option<Item<'a>>], work: &Budget) -> Result<(usize, bool), Spent> {
        match self.look(key, work)? {
            (_, Ok(at)) => Ok((at, false)),
            (hash, Err(free)) => self.add((hash, free), key, work).map(|at| (at, true)),
        }
    }

    /// The position of a key.
    #[inline]
    pub(super) fn find(&self, key: &[Option<Item<'a>>], work: &Budget) -> Result<Option<usize>, Spent> {
        Ok(self.look(key, work)?.1.ok())
    }

    /// The hash of a key, and its position or the bucket that is free for it.
    #[inline]
    fn look(&self, key: &[Option<Item<'a>>], work: &Budget) -> Result<(u32, Found), Spent> {
        // Most keys are one number, which is told from others where it is kept.
        let [Some(item)] = key else { return self.look_for_parts(key, work) };
        let Value::Number(number) = item.value() else { return self.look_for_parts(key, work) };
        let mut hasher = self.seed.build_hasher();
        hash_number(*number, &mut hasher);
        self.probe(hasher.finish(), work, |at| {
            let part = self.parts.get(at).and_then(Option::as_ref).map(Item::value);
            Ok(part.and_then(Value::as_f64).is_some_and(|other| equal_numbers(other, *number, Nan::Equal)))
        })
    }

    #[inline(never)]
    fn look_for_parts(&self, key: &[Option<Item<'a>>], work: &Budget) -> Result<(u32, Found), Spent> {
        let mut hasher = self.seed.build_hasher();
        for part in key {
            match part {
                None => hasher.write_u8(0),
                Some(item) => hash(item.value(), &mut hasher, work)?,
            }
        }
        self.probe(hasher.finish(), work, |at| same_key(self.key(at), key, work))
    }

    /// Looks at the keys of one hash until it is the `same`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
    fn probe(
        &self,
        hash: u64,
        work: &Budget,
        same: impl Fn(usize) -> Result<bool, Spent>,
    ) -> Result<(u32, Found), Spent> {
        let hash = hash as u32;
        let mask = self.buckets.len() - 1;
        let mut at = hash as usize & mask;
        // There is a free bucket, for there are more than keys.
        while let Some(bucket) = self.buckets.get(at)
            && let Some(number) = bucket.number.checked_sub(1)
        {
            if bucket.hash == hash {
                work.spend(1)?;
                if same(number as usize)? {
                    return Ok((hash, Ok(number as usize)));
                }
            }
            at = (at + 1) & mask;
        }
        Ok((hash, Err(at)))
    }

    /// Adds a key that is not in the table; answers its position.
    #[inline]
    fn add(
        &mut self,
        (hash, free): (u32, usize),
        key: &[Option<Item<'a>>],
        work: &Budget,
    ) -> Result<usize, Spent> {
        work.spend(KEPT * key.len())?;
        // No memory has room for 2^32 keys.
        let number = self.len.checked_add(1).ok_or(Spent)?;
        let at = self.len();
        self.parts.extend(key.iter().map(|part| part.as_ref().map(kept)));
        self.len = number;
        if let Some(bucket) = self.buckets.get_mut(free) {
            *bucket = Bucket { hash, number };
        }
        if self.len() * 2 > self.buckets.len() {
            self.grow();
        }
        Ok(at)
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.buckets.len() * Self::GROWTH - 1;
        let before = std::mem::replace(&mut self.buckets, vec![Bucket::default(); mask + 1]);
        for bucket in before.into_iter().filter(|bucket| bucket.number != 0) {
            let mut at = bucket.hash as usize & mask;
            while self.buckets.get(at).is_some_and(|taken| taken.number != 0) {
                at = (at + 1) & mask;
            }
            if let Some(free) = self.buckets.get_mut(at) {
                *free = bucket;
            }
        }
    }

    #[inline]
    pub(super) fn key(&self, at: usize) -> &[Option<Item<'a>>] {
        let from = at * self.width;
        self.parts.get(from..from + self.width).unwrap_or_default()
    }
}

/// A part of a key as the table keeps it: a number where the table looks at it, so that nobody has to go where it stands.
#[inline]
fn kept<'a>(part: &Item<'a>) -> Item<'a> {
    match part.value() {
        Value::Number(number) => Item::number(*number),
        _ => part.clone(),
    }
}

/// Whether two keys are equal as groups are.
#[inline]
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
