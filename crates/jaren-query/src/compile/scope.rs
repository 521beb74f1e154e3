//! Names in scope while a document is read.

use std::collections::BTreeMap;

use jaren_json::Str;

use crate::plan::Slot;

/// Names with what they mean, the innermost meaning of each first.
#[derive(Debug)]
pub(crate) struct Names<'d, T> {
    /// The meanings of each name, the innermost last.
    bound: BTreeMap<&'d str, Vec<T>>,
    /// Names in the order in which they were bound.
    order: Vec<&'d str>,
}

impl<T> Default for Names<'_, T> {
    fn default() -> Self {
        Self { bound: BTreeMap::new(), order: Vec::new() }
    }
}

impl<'d, T: Copy> Names<'d, T> {
    /// Lets `name` mean something until [`Self::leave`].
    pub(crate) fn bind(&mut self, name: &'d str, meaning: T) {
        self.bound.entry(name).or_default().push(meaning);
        self.order.push(name);
    }

    /// A mark to give to [`Self::leave`].
    pub(crate) fn enter(&self) -> usize {
        self.order.len()
    }

    /// Forgets what was bound since the mark.
    pub(crate) fn leave(&mut self, mark: usize) {
        for name in self.order.drain(mark.min(self.order.len())..) {
            if let Some(meanings) = self.bound.get_mut(name) {
                meanings.pop();
            }
        }
    }

    /// The innermost meaning of a name.
    pub(crate) fn get(&self, name: &str) -> Option<T> {
        self.bound.get(name)?.last().copied()
    }
}

/// The variables in scope and the external parameters met so far.
#[derive(Debug, Default)]
pub(super) struct Scope<'d> {
    names: Names<'d, Slot>,
    external_index: BTreeMap<&'d str, usize>,
    /// External parameters in the order of their first appearance.
    pub(super) externals: Vec<Str>,
    /// How many slots were given out.
    pub(super) slots: usize,
    /// Every slot that a compiled expression reads, in order: what a clause reads is a tail of this list.
    pub(super) reads: Vec<Slot>,
}

impl<'d> Scope<'d> {
    /// A fresh slot.
    pub(super) fn slot(&mut self) -> Slot {
        self.slots += 1;
        self.slots - 1
    }

    /// Lets `name` mean `slot` until [`Self::leave`].
    pub(super) fn bind(&mut self, name: &'d str, slot: Slot) {
        self.names.bind(name, slot);
    }

    /// A mark to give to [`Self::leave`].
    pub(super) fn enter(&self) -> usize {
        self.names.enter()
    }

    /// Forgets what was bound since the mark.
    pub(super) fn leave(&mut self, mark: usize) {
        self.names.leave(mark);
    }

    /// The names that are bound.
    pub(super) fn names(&self) -> impl Iterator<Item = &'d str> {
        self.names.order.iter().copied()
    }

    /// The innermost binding of a name, noting that it is read.
    pub(super) fn read(&mut self, name: &str) -> Option<Slot> {
        let slot = self.names.get(name)?;
        self.reads.push(slot);
        Some(slot)
    }

    /// The index of an external parameter, which is new at its first appearance.
    pub(super) fn external(&mut self, name: &'d str) -> usize {
        let Self { external_index, externals, .. } = self;
        *external_index.entry(name).or_insert_with(|| {
            externals.push(Str::from(name));
            externals.len() - 1
        })
    }
}
