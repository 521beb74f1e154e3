//! A handle of one session: a cached view of its documents, and the commits that move it on.
//!
//! All that it answers is as of its [`head`](Session::head), which moves only by its own commits and by
//! [`refresh`](Session::refresh). What it has read or written it keeps, so the common commit reads nothing.

mod commit;
mod draft;
mod error;
mod plan;
mod subscription;
mod view;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use jaren_host::Timestamp;
use jaren_json::Value;

pub use self::commit::{Planned, Receipt};
pub use self::draft::Draft;
pub(crate) use self::draft::Staged;
pub use self::error::{CommitError, SessionError};
pub use self::subscription::{Publication, Published, PublishedDocument, Subscription, subscribe};
use self::view::{Known, View};
use crate::kinds::Form;
use crate::{
    Address, At, Commit, CommitId, Family, FamilyQuery, Follower, Labels, Order, Page, Retry, Seq, SessionId,
    SessionRecord, Singleton, Storage, StorageError, StorageErrorKind, StoredDocument, follow, limits,
};

/// A handle of one session. Any number may exist, in any process; the storage decides which commit is first.
pub struct Session {
    storage: Arc<dyn Storage>,
    id: SessionId,
    kind: Arc<str>,
    /// The commit that the view is after; none while the session is not created.
    at: Option<CommitId>,
    updated: Option<Timestamp>,
    labels: Labels,
    view: View,
    /// Set while a commit is on its way, and left set when its outcome was lost.
    unsettled: bool,
}

/// What a refresh brought.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refreshed {
    /// The head before; [`Seq::ZERO`] if the session was not known to exist.
    pub from: Seq,
    /// The head now.
    pub to: Seq,
    /// The documents that changed in between, each once, in address order.
    pub changed: Vec<Address>,
}

impl Session {
    /// A handle of a session that does not exist yet; its first commit creates it.
    ///
    /// If it does exist, that commit answers a conflict, and [`refresh`](Self::refresh) adopts it.
    pub fn create(storage: Arc<dyn Storage>, id: SessionId, kind: impl Into<Arc<str>>) -> Self {
        let (kind, view) = (kind.into(), View::of_new_session());
        Self { storage, id, kind, at: None, updated: None, labels: Labels::new(), view, unsettled: false }
    }

    /// A handle of an existing session; none if there is no such session.
    pub async fn open(storage: Arc<dyn Storage>, id: SessionId) -> Result<Option<Self>, StorageError> {
        let Some(record) = storage.session(id).await? else { return Ok(None) };
        Ok(Some(Self {
            storage,
            at: Some(record.newest()),
            id: record.id,
            kind: record.kind,
            updated: Some(record.updated),
            labels: record.labels,
            view: View::default(),
            unsettled: false,
        }))
    }

    /// Its name.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The commit that this handle's view is after; [`Seq::ZERO`] while the session is not created.
    pub fn head(&self) -> Seq {
        self.at.map_or(Seq::ZERO, |at| at.seq)
    }

    /// The storage's number of the session ([`SessionRecord::number`](crate::SessionRecord::number)), by which it is told
    /// apart from another one of its name; none while it is not created.
    pub fn number(&self) -> Option<u64> {
        self.at.map(|at| at.session)
    }

    /// The labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(AsRef::as_ref)
    }

    /// The storage that it lives in.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The document of that kind.
    pub async fn document(&mut self, kind: &Singleton) -> Result<Option<Value>, SessionError> {
        self.value(kind.address(), kind.form()).await
    }

    /// The member of that family with that key.
    pub async fn member(&mut self, family: &Family, key: &str) -> Result<Option<Value>, SessionError> {
        self.value(family.address(key), family.form()).await
    }

    /// All members of that family, in the byte order of their keys. Read once, then known, unless the family
    /// is not kept. A family that grows for ever is read by [`page`](Self::page).
    pub async fn family(&mut self, family: &Family) -> Result<Vec<(Arc<str>, Value)>, SessionError> {
        self.settled()?;
        let (form, mut members) = (family.form(), Vec::new());
        if !form.kept {
            let mut after = None;
            loop {
                let page = self.page(family, Order::Ascending, after, limits::PAGE_ITEMS_MAX).await?;
                after = page.items.last().map(|(key, _)| key.clone());
                members.extend(page.items);
                if !page.more {
                    return Ok(members);
                }
            }
        }
        if self.view.is_complete(form.scope, form.kind) {
            self.view.complete(form.scope, form.kind);
        } else {
            self.load_family(family).await?;
        }
        for (address, stored) in self.view.members(form.scope, form.kind) {
            if let Some(key) = address.shared_key() {
                members.push((key.clone(), form.read(stored)?));
            }
        }
        Ok(members)
    }

    /// Members of that family beyond a key, at most `limit`, read from the storage and not kept.
    pub async fn page(
        &self,
        family: &Family,
        order: Order,
        after: Option<Arc<str>>,
        limit: usize,
    ) -> Result<Page<(Arc<str>, Value)>, SessionError> {
        self.settled()?;
        let mut page = Page::empty();
        let Some(CommitId { seq: head, .. }) = self.at else { return Ok(page) };
        let mut query = FamilyQuery::of(self.id.clone(), family);
        (query.at, query.order, query.after, query.limit) = (At::Seq(head), order, after, limit);
        let found = self.storage.family(query).await.map_err(error::reading)?;
        for stored in &found.items {
            if let Some(key) = stored.address.shared_key() {
                page.items.push((key.clone(), family.read(stored)?));
            }
        }
        page.more = found.more;
        Ok(page)
    }

    /// The commit that last changed the document, and the one that created it, if this handle knows it to live.
    pub fn known(&self, address: &Address) -> Option<(Seq, Seq)> {
        self.view.get(address).living().map(|stored| (stored.seq, stored.created))
    }

    /// An empty change over the present view.
    pub fn draft(&self) -> Draft {
        Draft::new(self.at)
    }

    /// Adopts what was committed since, by others or by a commit whose outcome was lost.
    ///
    /// If the commits in between were pruned, everything that this handle knew counts as changed. If the session was
    /// removed, this is [`SessionError::Removed`], also when there is another one of its name by now, and the handle is of
    /// no further use.
    ///
    /// A commit whose future was dropped may still be on its way and land later; the handle's next commit then
    /// answers a conflict, as after anybody else's.
    pub async fn refresh(&mut self) -> Result<Refreshed, SessionError> {
        let from = self.head();
        let mut changed = BTreeSet::new();
        if let Some(record) = self.record().await? {
            if self.at.is_none() {
                self.kind = record.kind;
            }
            while self.head() < record.head {
                self.read_on(&mut changed).await?;
            }
        }
        self.unsettled = false;
        Ok(Refreshed { from, to: self.head(), changed: changed.into_iter().collect() })
    }

    /// The record of the session that this handle is of; none while it is not created.
    async fn record(&self) -> Result<Option<SessionRecord>, SessionError> {
        let found = self.storage.session(self.id.clone()).await?;
        let is_ours = |record: &SessionRecord| self.number().is_none_or(|number| number == record.number);
        match found {
            Some(record) if is_ours(&record) => Ok(Some(record)),
            None if self.at.is_none() => Ok(None),
            _ => Err(SessionError::Removed),
        }
    }

    /// Adopts one page of commits, of which there are some.
    async fn read_on(&mut self, changed: &mut BTreeSet<Address>) -> Result<(), SessionError> {
        let after = self.head();
        let page = match self.storage.changes(self.id.clone(), after, limits::PAGE_ITEMS_MAX).await {
            Err(error) if error.kind() == StorageErrorKind::NotRetained => {
                return self.begin_anew(changed).await;
            }
            page => page?,
        };
        if page.is_empty() {
            // It was removed since there were some, or the storage breaks its law.
            return Err(match self.record().await? {
                None => SessionError::Removed,
                Some(_) => StorageError::untold(after).into(),
            });
        }
        for commit in page {
            self.adopt_next(&commit, changed)?;
        }
        Ok(())
    }

    /// The commits after this handle's view, as they become durable. Together they are a consistent start: what the
    /// handle reads now is the state that the first of them changes.
    pub fn follow(&self) -> Follower {
        let follower = follow(self.storage.clone(), self.id.clone(), self.head());
        match self.number() {
            Some(number) => follower.of(number),
            None => follower,
        }
    }

    /// Moves the view on by the one commit that follows it, as a [follower](Self::follow) brings it, so that the
    /// documents that this handle knows can be read as of each commit. Another commit than that is an error of kind
    /// `Invalid`, and changes nothing.
    pub fn adopt(&mut self, commit: &Commit) -> Result<(), SessionError> {
        self.settled()?;
        if commit.seq != self.head().next() {
            let message = format!("expected the commit {}, found {}", self.head().next(), commit.seq);
            let kind = StorageErrorKind::Invalid;
            return Err(StorageError::new(kind, Retry::Never, "adopt a commit", message).into());
        }
        self.adopt_next(commit, &mut BTreeSet::new())
    }

    fn adopt_next(&mut self, commit: &Commit, changed: &mut BTreeSet<Address>) -> Result<(), SessionError> {
        if self.number().is_some_and(|number| number != commit.session) {
            return Err(SessionError::Removed); // and this is another one of its name
        }
        self.view.adopt(commit, changed)?;
        for (name, value) in &commit.labels {
            match value {
                Some(value) => self.labels.insert(name.clone(), value.clone()),
                None => self.labels.remove(name),
            };
        }
        (self.at, self.updated) = (Some(commit.id()), Some(commit.time));
        Ok(())
    }

    /// What this handle missed was pruned: whatever it knew may have changed.
    async fn begin_anew(&mut self, changed: &mut BTreeSet<Address>) -> Result<(), SessionError> {
        let Some(record) = self.record().await? else { return Err(SessionError::Removed) };
        changed.extend(std::mem::take(&mut self.view).into_addresses());
        (self.at, self.updated) = (Some(record.newest()), Some(record.updated));
        (self.kind, self.labels) = (record.kind, record.labels);
        Ok(())
    }

    /// Waits until somebody committed beyond this handle's view, and answers the session's head.
    /// The view itself moves by [`refresh`](Self::refresh). Dropping the future is harmless.
    pub async fn moved(&self) -> Result<Seq, StorageError> {
        self.storage.moved(self.id.clone(), self.head()).await
    }

    fn settled(&self) -> Result<(), SessionError> {
        if self.unsettled { Err(SessionError::Unsettled) } else { Ok(()) }
    }

    pub(crate) async fn value(
        &mut self,
        address: Address,
        form: Form,
    ) -> Result<Option<Value>, SessionError> {
        self.settled()?;
        if !form.kept {
            return self.read(&address).await?.map(|stored| form.read(&stored)).transpose();
        }
        self.load(&address).await?;
        self.view.get(&address).living().map(|stored| form.read(stored)).transpose()
    }

    async fn load(&mut self, address: &Address) -> Result<(), SessionError> {
        if matches!(self.view.get(address), Known::Unread) {
            let found = self.read(address).await?;
            self.view.insert(address.clone(), found);
        }
        Ok(())
    }

    /// Reads a document as of the head; a session that does not exist has none.
    async fn read(&self, address: &Address) -> Result<Option<StoredDocument>, SessionError> {
        let Some(CommitId { seq: head, .. }) = self.at else { return Ok(None) };
        let found = self.storage.document(self.id.clone(), address.clone(), At::Seq(head)).await;
        found.map_err(error::reading)
    }

    async fn load_family(&mut self, family: &Family) -> Result<(), SessionError> {
        let mut query = FamilyQuery::of(self.id.clone(), family);
        query.at = At::Seq(self.head());
        loop {
            let page = self.storage.family(query.clone()).await.map_err(error::reading)?;
            query.after = page.items.last().and_then(|stored| stored.address.shared_key().cloned());
            for stored in page.items {
                self.view.insert(stored.address.clone(), Some(stored));
            }
            if !page.more {
                break;
            }
        }
        self.view.complete(family.scope(), family.kind());
        Ok(())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("head", &self.head())
            .field("unsettled", &self.unsettled)
            .finish_non_exhaustive()
    }
}
