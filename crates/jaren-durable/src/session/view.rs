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
    families: BTreeSet<(Scope, Arc<str>)>,
    /// What is in `documents` beside them.
    reach: Reach,
    /// Kinds that others wrote, and that whoever has this view never asked for: `reach` is not about them.
    foreign: BTreeSet<(Scope, Arc<str>)>,
}

/// Which documents a view has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Reach {
    /// Those that were read or written.
    #[default]
    Asked,
    /// Every living one that is kept, because the session was created over this view. What others write later in families
    /// that were never asked for stays away: it may be kept nowhere, and there may be ever more of it.
    Created,
    /// Those that were read so far of every living one: what others create belongs to them, and what they change of an
    /// unread one is read with it.
    Gathering,
    /// Every living one, also what others write.
    All,
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
        Self { reach: Reach::Created, ..Self::default() }
    }

    /// Declares that every living document will be in it.
    pub(super) fn gather(&mut self) {
        self.reach = Reach::Gathering;
    }

    /// Declares that every living document is in it.
    pub(super) fn complete_all(&mut self) {
        self.reach = Reach::All;
        self.documents.retain(|_, known| known.is_some());
    }

    /// The documents that it knows to live, in the order of their addresses.
    pub(super) fn living(&self) -> impl Iterator<Item = &StoredDocument> {
        self.documents.values().flatten()
    }

    pub(super) fn get(&self, address: &Address) -> Known<'_> {
        match self.documents.get(address) {
            Some(known) => known.as_ref().map_or(Known::Absent, Known::Living),
            None if self.covers(address) => Known::Absent,
            None => Known::Unread,
        }
    }

    /// The addresses that it knows of.
    pub(super) fn into_addresses(self) -> impl Iterator<Item = Address> {
        self.documents.into_keys()
    }

    pub(super) fn insert(&mut self, address: Address, document: Option<StoredDocument>) {
        if document.is_none() && self.covers(&address) {
            self.documents.remove(&address); // not being there says it, and costs nothing as members come and go
        } else {
            self.documents.insert(address, document);
        }
    }

    /// Whether the document at the address is here if it lives.
    fn covers(&self, address: &Address) -> bool {
        match address.key() {
            None => self.reaches(address.scope(), address.kind()),
            Some(_) => self.is_complete(address.scope(), address.kind()),
        }
    }

    fn reaches(&self, scope: Scope, kind: &str) -> bool {
        matches!(self.reach, Reach::Created | Reach::All) && !holds(&self.foreign, scope, kind)
    }

    pub(super) fn is_complete(&self, scope: Scope, kind: &str) -> bool {
        self.reaches(scope, kind) || holds(&self.families, scope, kind)
    }

    /// Declares that every living member of the family is in it, and that it stays so.
    pub(super) fn complete(&mut self, scope: Scope, kind: &str) {
        let family = (scope, Arc::from(kind));
        self.foreign.remove(&family);
        self.families.insert(family);
    }

    /// Whether it takes over what others make of a document that it does not have.
    fn takes(&mut self, address: &Address, revision: &Revision) -> bool {
        let (scope, kind) = (address.scope(), address.kind());
        let is_member = address.key().is_some();
        match self.reach {
            Reach::All => true,
            _ if is_member && holds(&self.families, scope, kind) => true,
            Reach::Asked => false,
            Reach::Gathering => !matches!(revision, Revision::Delta { .. }),
            Reach::Created if holds(&self.foreign, scope, kind) => false,
            Reach::Created => {
                // Of a family that handles keep it has members; a singleton is one document, if it is new here.
                let takes = if is_member {
                    self.members(scope, kind).next().is_some()
                } else {
                    matches!(revision, Revision::Base { .. })
                };
                if !takes {
                    self.foreign.insert((scope, kind.into()));
                }
                takes
            }
        }
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
        if !self.documents.contains_key(address) && !self.takes(address, revision) {
            return Ok(()); // it is read when it is asked for
        }
        let corrupt = |error| StorageError::corrupt(address, error);
        let document = match revision {
            Revision::Retired => None,
            Revision::Base { version, body } => {
                let replay = Replay::base(commit.seq, *version, body).map_err(corrupt)?;
                Some(replay.finish(address.clone(), *retention, *created))
            }
            Revision::Delta { body, .. } => match self.get(address) {
                Known::Unread | Known::Absent => {
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

fn holds(kinds: &BTreeSet<(Scope, Arc<str>)>, scope: Scope, kind: &str) -> bool {
    kinds.iter().any(|(of, known)| *of == scope && &**known == kind)
}
