//! A change in the making: what the caller wants the documents and labels to be.

use std::collections::BTreeMap;
use std::sync::Arc;

use jaren_json::Value;

use crate::{Address, Family, Retention, Seq, Session, Singleton};

/// A change to one session's documents and labels, begun by [`Session::change`].
///
/// It holds whole values: the handle finds out what differs. Of several writes to one document or label the last
/// counts.
#[derive(Debug, Clone)]
#[must_use = "a change does nothing until it is committed"]
pub struct Draft {
    head: Option<Seq>,
    documents: BTreeMap<Address, Intent>,
    labels: BTreeMap<Arc<str>, Option<Arc<str>>>,
}

#[derive(Debug, Clone)]
pub(super) enum Intent {
    Put { version: u32, retention: Retention, value: Value },
    Retire,
}

impl Draft {
    pub(super) fn new(head: Option<Seq>) -> Self {
        Self { head, documents: BTreeMap::new(), labels: BTreeMap::new() }
    }

    /// Sets the document of that kind, creating it if need be.
    pub fn put(&mut self, kind: &Singleton, value: Value) {
        self.put_at(kind.address(), kind.form(), value);
    }

    /// Sets the member of that family with that key, creating it if need be.
    pub fn put_member(&mut self, family: &Family, key: &str, value: Value) {
        self.put_at(family.address(key), family.form(), value);
    }

    fn put_at(&mut self, address: Address, (version, retention): (u32, Retention), value: Value) {
        self.documents.insert(address, Intent::Put { version, retention, value });
    }

    /// Ends the document of that kind, if it lives.
    pub fn retire(&mut self, kind: &Singleton) {
        self.documents.insert(kind.address(), Intent::Retire);
    }

    /// Ends the member of that family with that key, if it lives.
    pub fn retire_member(&mut self, family: &Family, key: &str) {
        self.documents.insert(family.address(key), Intent::Retire);
    }

    /// Sets a label of the session.
    pub fn label(&mut self, name: &str, value: &str) {
        self.labels.insert(name.into(), Some(value.into()));
    }

    /// Removes a label of the session.
    pub fn unlabel(&mut self, name: &str) {
        self.labels.insert(name.into(), None);
    }

    /// Declares that this change still holds over what the session has adopted since it was begun.
    pub fn rebase(&mut self, session: &Session) {
        self.head = session.change().head;
    }

    pub(super) fn head(&self) -> Option<Seq> {
        self.head
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.documents.keys()
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = (&Address, &Intent)> {
        self.documents.iter()
    }

    pub(super) fn labels(&self) -> impl Iterator<Item = (&Arc<str>, Option<&Arc<str>>)> {
        self.labels.iter().map(|(name, value)| (name, value.as_ref()))
    }
}
