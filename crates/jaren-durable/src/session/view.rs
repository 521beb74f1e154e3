//! What a handle knows of a session's documents at its head.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::{
    Address, Change, Commit, Replay, Retry, Revision, Scope, StorageError, StorageErrorKind, StoredDocument,
};

/// Documents by address; `None` is known not to live.
#[derive(Default)]
pub(super) struct View {
    documents: BTreeMap<Address, Option<StoredDocument>>,
    /// Families of which every living member is in `documents`.
    families: Vec<(Scope, Arc<str>)>,
    /// The session was created by this handle: every living document is in `documents`.
    whole: bool,
}

/// What a view knows of an address.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known<'a> {
    Unread,
    Absent,
    Living(&'a StoredDocument),
}

impl<'a> Known<'a> {
    pub(super) fn living(self) -> Option<&'a StoredDocument> {
        match self {
            Self::Living(stored) => Some(stored),
            Self::Unread | Self::Absent => None,
        }
    }
}

impl View {
    pub(super) fn of_new_session() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// Declares that every living document is in it.
    pub(super) fn complete_all(&mut self) {
        self.whole = true;
        self.documents.retain(|_, known| known.is_some());
    }

    /// The documents that it knows to live, in the order of their addresses.
    pub(super) fn living(&self) -> impl Iterator<Item = &StoredDocument> {
        self.documents.values().flatten()
    }

    pub(super) fn get(&self, address: &Address) -> Known<'_> {
        match self.documents.get(address) {
            Some(known) => known.as_ref().map_or(Known::Absent, Known::Living),
            None if self.whole || self.knows_family_of(address) => Known::Absent,
            None => Known::Unread,
        }
    }

    /// The addresses that it knows of.
    pub(super) fn into_addresses(self) -> impl Iterator<Item = Address> {
        self.documents.into_keys()
    }

    pub(super) fn insert(&mut self, address: Address, document: Option<StoredDocument>) {
        if document.is_none() && (self.whole || self.knows_family_of(&address)) {
            self.documents.remove(&address); // not being there says it, and costs nothing as members come and go
        } else {
            self.documents.insert(address, document);
        }
    }

    fn knows_family_of(&self, address: &Address) -> bool {
        address.key().is_some() && self.is_complete(address.scope(), address.kind())
    }

    pub(super) fn is_complete(&self, scope: Scope, kind: &str) -> bool {
        self.whole || self.families.iter().any(|(of, family)| *of == scope && &**family == kind)
    }

    pub(super) fn complete(&mut self, scope: Scope, kind: &str) {
        self.families.push((scope, kind.into()));
    }

    /// The known living members of a family in key order.
    pub(super) fn members<'a>(
        &'a self,
        scope: Scope,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a Address, &'a StoredDocument)> {
        let start = Bound::Excluded(Address::singleton(kind).within(scope));
        let range = self.documents.range((start, Bound::Unbounded));
        range
            .take_while(move |(address, _)| address.scope() == scope && address.kind() == kind)
            .filter_map(|(address, stored)| stored.as_ref().map(|stored| (address, stored)))
    }

    /// Applies a commit of the change log.
    pub(super) fn adopt(
        &mut self,
        commit: &Commit,
        changed: &mut BTreeSet<Address>,
    ) -> Result<(), StorageError> {
        for change in &commit.changes {
            // A view that was read while others committed may be ahead of a document's past.
            if self.get(&change.address).living().is_some_and(|stored| stored.seq >= commit.seq) {
                continue;
            }
            self.adopt_change(commit, change)?;
            changed.insert(change.address.clone());
        }
        Ok(())
    }

    fn adopt_change(&mut self, commit: &Commit, change: &Change) -> Result<(), StorageError> {
        let Change { address, retention, created, revision } = change;
        let corrupt = |error| StorageError::corrupt(address, error);
        let document = match revision {
            Revision::Retired => None,
            Revision::Base { version, body } => {
                let replay = Replay::base(commit.seq, *version, body).map_err(corrupt)?;
                Some(replay.finish(address.clone(), *retention, *created))
            }
            Revision::Delta { body, .. } => match self.get(address) {
                Known::Unread => return Ok(()), // and need not be
                Known::Absent => {
                    let message = format!("the change log changes {address}, which does not live");
                    let kind = StorageErrorKind::Corrupt;
                    return Err(StorageError::new(kind, Retry::Never, "refresh a session", message));
                }
                Known::Living(stored) => {
                    let mut replay = Replay::from(stored.clone());
                    replay.delta(commit.seq, body).map_err(corrupt)?;
                    Some(replay.finish(address.clone(), *retention, *created))
                }
            },
        };
        self.insert(address.clone(), document);
        Ok(())
    }
}
