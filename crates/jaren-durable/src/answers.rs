//! What reads answer, and the queries of pages.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jaren_host::Timestamp;
use jaren_json::{Value, delta};

use crate::{
    Address, Body, BodyError, CommitId, Family, Retention, Retry, Scope, Seq, SessionId, StorageError,
    StorageErrorKind, limits,
};

/// A session's labels by name.
pub type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// Labels to set, or with `None` to remove, in order.
pub type LabelChanges = Vec<(Arc<str>, Option<Arc<str>>)>;

/// A point in a session's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum At {
    /// After the newest commit.
    Current,
    /// After that commit; the newest one if it is beyond the head.
    Seq(Seq),
}

/// What is known of a session without its documents.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionRecord {
    /// The session.
    pub id: SessionId,
    /// The storage's own number of it: greater than that of every session that was created before, and never given
    /// again. So it tells the session apart from another one of its name, and is the cursor of pages.
    pub number: u64,
    /// Its kind.
    pub kind: Arc<str>,
    /// Its labels.
    pub labels: Labels,
    /// Its newest commit.
    pub head: Seq,
    /// The time of its first commit.
    pub created: Timestamp,
    /// The time of its newest commit.
    pub updated: Timestamp,
}

impl SessionRecord {
    /// A record, as a storage read it.
    pub fn new(
        id: SessionId,
        number: u64,
        kind: Arc<str>,
        head: Seq,
        created: Timestamp,
        updated: Timestamp,
    ) -> Self {
        Self { id, number, kind, labels: Labels::new(), head, created, updated }
    }

    /// Its newest commit.
    pub fn newest(&self) -> CommitId {
        CommitId { session: self.number, seq: self.head }
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(AsRef::as_ref)
    }
}

/// A document's value at a point. Its `Debug` leaves out the value.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredDocument {
    /// Where it lives.
    pub address: Address,
    /// What reads can see of its past.
    pub retention: Retention,
    /// The commit that created it.
    pub created: Seq,
    /// The commit of this revision.
    pub seq: Seq,
    /// The schema version of the value.
    pub version: u32,
    /// The value.
    pub value: Value,
    /// What is stored of it since its last base.
    pub chain: DeltaChain,
}

impl fmt::Debug for StoredDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredDocument")
            .field("address", &self.address)
            .field("retention", &self.retention)
            .field("created", &self.created)
            .field("seq", &self.seq)
            .field("version", &self.version)
            .field("chain", &self.chain)
            .finish_non_exhaustive()
    }
}

/// How a value is stored: the sizes that decide when the next base is due (durable decision 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeltaChain {
    /// Bytes of the newest base.
    pub base_bytes: usize,
    /// Deltas after it.
    pub deltas: u32,
    /// Their bytes.
    pub delta_bytes: usize,
}

impl DeltaChain {
    /// After a base of that size.
    pub fn base(bytes: usize) -> Self {
        Self { base_bytes: bytes, deltas: 0, delta_bytes: 0 }
    }

    /// After one more delta of that size.
    #[must_use]
    pub fn delta(self, bytes: usize) -> Self {
        let deltas = self.deltas.saturating_add(1);
        Self { deltas, delta_bytes: self.delta_bytes.saturating_add(bytes), ..self }
    }

    /// Whether a further delta of that size must be a base instead: so a read replays at most
    /// [`deltas_max`](Self::deltas_max) deltas, and at most as many bytes of them as the base has.
    pub fn base_is_due(self, bytes: usize) -> bool {
        self.deltas >= self.deltas_max() || self.delta_bytes.saturating_add(bytes) >= self.base_bytes
    }

    /// How many deltas may gather over the base: [`limits::DELTAS_MAX`], and more over a large one, so that neither
    /// reading them nor writing it again takes the larger part of the work.
    pub fn deltas_max(self) -> u32 {
        let more = self.base_bytes / limits::BASE_BYTES_PER_DELTA;
        limits::DELTAS_MAX.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
    }
}

/// Rebuilds a value from its stored revisions: a base, then the deltas after it in order.
pub struct Replay {
    value: Value,
    chain: DeltaChain,
    seq: Seq,
    version: u32,
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("chain", &self.chain)
            .field("seq", &self.seq)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Replay {
    /// Begins with a base.
    pub fn base(seq: Seq, version: u32, body: &Body) -> Result<Self, BodyError> {
        Ok(Self { value: body.value()?, chain: DeltaChain::base(body.len()), seq, version })
    }

    /// Applies the next delta.
    pub fn delta(&mut self, seq: Seq, body: &Body) -> Result<(), BodyError> {
        self.value = delta::apply(Some(&self.value), &body.ops()?).map_err(BodyError::Delta)?;
        self.chain = self.chain.delta(body.len());
        self.seq = seq;
        Ok(())
    }

    /// The document as of the last revision given.
    pub fn finish(self, address: Address, retention: Retention, created: Seq) -> StoredDocument {
        let Self { value, chain, seq, version } = self;
        StoredDocument { address, retention, created, seq, version, value, chain }
    }
}

impl From<StoredDocument> for Replay {
    /// Goes on from a document that was read before.
    fn from(stored: StoredDocument) -> Self {
        let StoredDocument { seq, version, value, chain, .. } = stored;
        Self { value, chain, seq, version }
    }
}

/// One commit of a session's change log.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Commit {
    /// The [number](SessionRecord::number) of its session.
    pub session: u64,
    /// Its number.
    pub seq: Seq,
    /// The storage's time of it.
    pub time: Timestamp,
    /// The labels that it set, or with `None` removed, as the batch listed them.
    pub labels: LabelChanges,
    /// The documents that it changed, in the order of the batch; those of bulk retention are only counted.
    pub changes: Vec<Change>,
    /// What it did to documents of bulk retention, by scope and kind.
    pub bulk: Vec<BulkChange>,
}

/// How many documents of bulk retention of one kind a commit changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkChange {
    /// Their scope.
    pub scope: Scope,
    /// Their kind.
    pub kind: Arc<str>,
    /// Documents created or replaced.
    pub written: u64,
    /// Documents retired.
    pub retired: u64,
}

impl BulkChange {
    /// So many documents of a kind that were written, and that ended.
    pub fn new(scope: Scope, kind: Arc<str>, written: u64, retired: u64) -> Self {
        Self { scope, kind, written, retired }
    }

    /// Counts a write to a document of bulk retention.
    pub fn count(all: &mut Vec<Self>, address: &Address, retired: bool) {
        let of_kind = |one: &&mut Self| one.scope == address.scope() && &*one.kind == address.kind();
        let (written, retired) = (u64::from(!retired), u64::from(retired));
        match all.iter_mut().find(of_kind) {
            Some(one) => (one.written, one.retired) = (one.written + written, one.retired + retired),
            None => all.push(Self { scope: address.scope(), kind: address.kind().into(), written, retired }),
        }
    }
}

impl Commit {
    /// A commit that has changed nothing yet.
    pub fn new(id: CommitId, time: Timestamp) -> Self {
        let CommitId { session, seq } = id;
        Self { session, seq, time, labels: Vec::new(), changes: Vec::new(), bulk: Vec::new() }
    }

    /// What tells it apart from every other one of the store.
    pub fn id(&self) -> CommitId {
        CommitId { session: self.session, seq: self.seq }
    }

    /// Bytes of its bodies.
    pub fn body_bytes(&self) -> usize {
        self.changes.iter().map(|change| change.revision.body_bytes()).fold(0, usize::saturating_add)
    }
}

/// What a commit did to one document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// Where it lives.
    pub address: Address,
    /// What reads can see of its past.
    pub retention: Retention,
    /// The commit that created this document; it is this commit itself when the document is new.
    pub created: Seq,
    /// Its new revision.
    pub revision: Revision,
}

impl Change {
    /// A document's new revision, as a storage read it.
    pub fn new(address: Address, retention: Retention, created: Seq, revision: Revision) -> Self {
        Self { address, retention, created, revision }
    }
}

/// A stored revision of a document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Revision {
    /// The whole value.
    Base {
        /// Its schema version.
        version: u32,
        /// The value.
        body: Body,
    },
    /// A change to the value before it.
    Delta {
        /// The schema version, the same as before.
        version: u32,
        /// The operations.
        body: Body,
    },
    /// The document ended.
    Retired,
}

impl Revision {
    /// Bytes of its body.
    pub fn body_bytes(&self) -> usize {
        match self {
            Self::Base { body, .. } | Self::Delta { body, .. } => body.len(),
            Self::Retired => 0,
        }
    }
}

/// One page of a longer list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items, in the order of the list.
    pub items: Vec<T>,
    /// Whether there are further ones: ask again after the last item.
    pub more: bool,
}

impl<T> Page<T> {
    /// Items, and whether there are further ones.
    pub fn new(items: Vec<T>, more: bool) -> Self {
        Self { items, more }
    }

    /// No item, and no further one.
    pub fn empty() -> Self {
        Self::new(Vec::new(), false)
    }
}

/// The direction of a list; there is no third one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// From the least on.
    #[default]
    Ascending,
    /// From the greatest on.
    Descending,
}

/// Which members of a family to read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FamilyQuery {
    /// The session.
    pub session: SessionId,
    /// The scope.
    pub scope: Scope,
    /// The family.
    pub kind: Arc<str>,
    /// The point in history.
    pub at: At,
    /// The direction, by the byte order of the keys.
    pub order: Order,
    /// Only members whose key is beyond it in the direction.
    pub after: Option<Arc<str>>,
    /// At most so many; [`limits::PAGE_ITEMS_MAX`] if greater.
    pub limit: usize,
}

impl FamilyQuery {
    /// The first page of a family's current members in the scope of the session, ascending.
    pub fn new(session: SessionId, kind: impl Into<Arc<str>>) -> Self {
        let (scope, at, order, limit) =
            (Scope::Session, At::Current, Order::Ascending, limits::PAGE_ITEMS_MAX);
        Self { session, scope, kind: kind.into(), at, order, after: None, limit }
    }

    /// The first page of the current members of that family in its scope, ascending.
    pub fn of(session: SessionId, family: &Family) -> Self {
        Self { scope: family.scope(), ..Self::new(session, family.kind()) }
    }
}

/// Which documents to list, in the order that [`Storage::documents`](crate::Storage::documents) tells.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DocumentsQuery {
    /// The session.
    pub session: SessionId,
    /// Only documents of exactly that scope.
    pub scope: Option<Scope>,
    /// The point in history.
    pub at: At,
    /// Only documents beyond this address.
    pub after: Option<Address>,
    /// At most so many; [`limits::PAGE_ITEMS_MAX`] if greater.
    pub limit: usize,
}

impl DocumentsQuery {
    /// The first page of the documents that live in any scope.
    pub fn all(session: SessionId) -> Self {
        Self { session, scope: None, at: At::Current, after: None, limit: limits::PAGE_ITEMS_MAX }
    }

    /// The first page of the documents that live in a scope.
    pub fn new(session: SessionId, scope: Scope) -> Self {
        Self { scope: Some(scope), ..Self::all(session) }
    }
}

/// A document without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentRecord {
    /// Where it lives.
    pub address: Address,
    /// What reads can see of its past.
    pub retention: Retention,
    /// The commit that created it.
    pub created: Seq,
}

impl DocumentRecord {
    /// A document that lives, as a storage read it.
    pub fn new(address: Address, retention: Retention, created: Seq) -> Self {
        Self { address, retention, created }
    }
}

/// Which sessions to list, in the order of their creation or against it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionsQuery {
    /// Only sessions of that kind.
    pub kind: Option<Arc<str>>,
    /// Only sessions with that label, name and value; needs a kind.
    pub label: Option<(Arc<str>, Arc<str>)>,
    /// Only sessions beyond that [`SessionRecord::number`] in the order of the list.
    pub after: Option<u64>,
    /// Newest first.
    pub newest_first: bool,
    /// At most so many; [`limits::PAGE_ITEMS_MAX`] if greater.
    pub limit: usize,
}

impl SessionsQuery {
    /// All sessions, oldest first.
    pub fn all() -> Self {
        Self { kind: None, label: None, after: None, newest_first: false, limit: limits::PAGE_ITEMS_MAX }
    }

    /// The sessions of a kind, oldest first.
    pub fn kind(kind: impl Into<Arc<str>>) -> Self {
        Self { kind: Some(kind.into()), ..Self::all() }
    }

    /// Of these only the ones with that label.
    #[must_use]
    pub fn label(self, name: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        Self { label: Some((name.into(), value.into())), ..self }
    }

    /// Newest first.
    #[must_use]
    pub fn newest_first(self) -> Self {
        Self { newest_first: true, ..self }
    }

    /// The page after the session with that number.
    #[must_use]
    pub fn after(self, number: u64) -> Self {
        Self { after: Some(number), ..self }
    }

    /// At most so many.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Refuses a label without a kind. Every storage calls it first.
    pub fn check(&self) -> Result<(), StorageError> {
        if self.label.is_some() && self.kind.is_none() {
            let message = "a label is looked up within a kind of sessions, and the query names none";
            return Err(StorageError::new(StorageErrorKind::Invalid, Retry::Never, "list sessions", message));
        }
        Ok(())
    }
}
