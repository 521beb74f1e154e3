//! Large arrays of which a few elements were changed: the array before and the changes, so that a change of one element
//! copies none of the others, and so that what two versions share is known without a look at it.
//!
//! The plain form is made when somebody asks for the elements as a slice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::OnceLock;

use crate::deep::{DEPTH_DIRECT, Extent};
use crate::{Array, Value};

/// An array of so many elements shares them with the one that is changed.
const PATCHED_MIN: usize = 256;

/// Elements by their indexes.
pub(crate) type Changes = BTreeMap<usize, Value>;

pub(crate) struct Patched {
    /// A plain array.
    base: Array,
    /// At most as many as the square root of the base's length; the indexes are below it.
    changes: Changes,
    /// Of the array.
    extent: Extent,
    /// The same as a plain array.
    plain: OnceLock<Array>,
}

impl Patched {
    /// A plain array with these changes, or the changes where the result should be plain too.
    pub(crate) fn new(base: &Array, changes: Changes) -> Result<Self, Changes> {
        let is_few = changes.len().saturating_mul(changes.len()) <= base.len();
        if base.len() < PATCHED_MIN || !is_few {
            return Err(changes);
        }
        let extent = extent(base, &changes);
        // Deeper ones are let go of with a work list, which knows plain arrays only.
        if base.depth().max(extent.depth()) > DEPTH_DIRECT {
            return Err(changes);
        }
        Ok(Self { base: base.clone(), changes, extent, plain: OnceLock::new() })
    }

    /// The plain array that these changes make another version of, together with those that it needs besides.
    pub(crate) fn before(&self, changes: &mut Changes) -> &Array {
        if let Some(plain) = self.plain.get() {
            return plain;
        }
        for (index, element) in &self.changes {
            changes.entry(*index).or_insert_with(|| element.clone());
        }
        &self.base
    }

    pub(crate) fn len(&self) -> usize {
        self.base.len()
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Value> {
        self.changes.get(&index).or_else(|| self.base.get(index))
    }

    /// The plain form, made once.
    #[cold]
    pub(crate) fn plain(&self) -> &Array {
        self.plain.get_or_init(|| Array::from_exact(merged(&self.base, &self.changes).cloned(), self.extent))
    }

    /// What is changed in that plain array, if this is known to be made of it.
    fn over(&self, base: &Array) -> Option<&Changes> {
        if self.base.ptr_eq(base) {
            return Some(&self.changes);
        }
        self.plain.get().filter(|plain| plain.ptr_eq(base)).map(|_| &NONE)
    }
}

static NONE: Changes = Changes::new();

/// The plain array with these changes.
pub(crate) fn plain(base: &Array, changes: &Changes) -> Array {
    Array::from_exact(merged(base, changes).cloned(), extent(base, changes))
}

/// The indexes at which two versions of an array have another allocation, or another scalar, in order; nothing where that
/// is not known without a look at all.
pub(crate) fn differences(old: &Array, new: &Array) -> Option<Vec<usize>> {
    fn base(array: &Array) -> &Array {
        array.patched().map_or(array, |patched| &patched.base)
    }
    fn over<'a>(array: &'a Array, base: &Array) -> Option<&'a Changes> {
        match array.patched() {
            Some(patched) => patched.over(base),
            None => array.ptr_eq(base).then_some(&NONE),
        }
    }
    let changes = |base| Some((over(old, base)?, over(new, base)?));
    let (before, after) = changes(base(new)).or_else(|| changes(base(old)))?;
    let indexes: BTreeSet<usize> = before.keys().chain(after.keys()).copied().collect();
    let differs = |index: &usize| !old.get(*index).zip(new.get(*index)).is_some_and(|(a, b)| a.ptr_eq(b));
    Some(indexes.into_iter().filter(differs).collect())
}

/// The elements of a plain array with these changes.
fn merged<'a>(base: &'a Array, changes: &'a Changes) -> impl ExactSizeIterator<Item = &'a Value> {
    let mut changes = changes.iter().peekable();
    base.iter().enumerate().map(move |(index, element)| {
        changes.next_if(|(at, _)| **at == index).map_or(element, |(_, changed)| changed)
    })
}

fn extent(base: &Array, changes: &Changes) -> Extent {
    let join = |extent: Extent, value: &Value| extent.join(value.extent());
    let gone = changes.keys().filter_map(|index| base.get(*index)).fold(Extent::OPEN, join);
    let come = changes.values().fold(Extent::OPEN, join);
    let all = || merged(base, changes).fold(Extent::OPEN, join).around();
    base.extent().replaced(gone, come).unwrap_or_else(all)
}

impl fmt::Debug for Patched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patched").field("len", &self.len()).finish_non_exhaustive()
    }
}
