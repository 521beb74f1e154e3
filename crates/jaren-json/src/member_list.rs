//! Named items in order, for whoever collects the members of an object: the builder, the reader and the drafts of deltas.

use std::collections::BTreeMap;

use crate::Str;

/// Named items in order: a short list is searched from the front, a long one through an index.
///
/// The index is a tree and not a hash table, so that no choice of names makes it slow.
#[derive(Clone, Debug)]
pub(crate) struct MemberList<T> {
    names: Vec<Str>,
    items: Vec<T>,
    index: BTreeMap<Str, usize>,
}

impl<T> Default for MemberList<T> {
    fn default() -> Self {
        Self { names: Vec::new(), items: Vec::new(), index: BTreeMap::new() }
    }
}

impl<T> MemberList<T> {
    /// Up to this many members are searched without the index.
    const LINEAR_MAX: usize = 16;

    /// A list of these names, known to differ, and as many items.
    pub(crate) fn from_distinct(names: Vec<Str>, items: Vec<T>) -> Self {
        let mut list = Self { names, items, index: BTreeMap::new() };
        list.reindex();
        list
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        if self.names.len() <= Self::LINEAR_MAX {
            return self.names.iter().position(|candidate| candidate.as_str() == name);
        }
        self.index.get(name).copied()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        self.items.get(self.position(name)?)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        let position = self.position(name)?;
        self.at_mut(position)
    }

    pub(crate) fn at_mut(&mut self, position: usize) -> Option<&mut T> {
        self.items.get_mut(position)
    }

    /// Sets an item in its place, or as the last one; answers the place.
    pub(crate) fn set(&mut self, name: Str, item: T) -> usize {
        if let Some(position) = self.position(&name) {
            if let Some(slot) = self.items.get_mut(position) {
                *slot = item;
            }
            return position;
        }
        let position = self.names.len();
        self.names.push(name.clone());
        self.items.push(item);
        match position.cmp(&Self::LINEAR_MAX) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => self.reindex(),
            std::cmp::Ordering::Greater => {
                self.index.insert(name, position);
            }
        }
        position
    }

    pub(crate) fn names(&self) -> &[Str] {
        &self.names
    }

    pub(crate) fn into_parts(self) -> (Vec<Str>, Vec<T>) {
        (self.names, self.items)
    }

    fn reindex(&mut self) {
        self.index.clear();
        if self.names.len() > Self::LINEAR_MAX {
            self.index.extend(self.names.iter().cloned().zip(0..));
        }
    }
}
