//! What the memory storage holds, and the rules of applying and reading it.

mod jobs;
mod upkeep;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use jaren_host::Timestamp;

use crate::answers::Replay;
use crate::{
    Address, At, Batch, BulkChange, Change, Commit, CommitId, Committed, DocumentRecord, DocumentsQuery,
    Expected, FamilyQuery, Integrity, Job, Keep, KindSize, Labels, Order, Outcome, Page, Pruned, Refusal,
    Removal, Retention, Retry, Revision, Seq, SessionBatch, SessionId, SessionRecord, SessionsQuery, Size,
    StorageError, StorageErrorKind, StoredDocument, Write, limits,
};

#[derive(Default)]
pub(super) struct State {
    /// By their numbers, which are the order of creation.
    sessions: BTreeMap<u64, Kept>,
    numbers: HashMap<SessionId, u64>,
    /// The greatest number that was given to a session.
    last_number: u64,
    jobs: BTreeMap<Arc<str>, Job>,
}

/// One session.
struct Kept {
    id: SessionId,
    number: u64,
    kind: Arc<str>,
    labels: Labels,
    created: Timestamp,
    /// Commits that were pruned: those numbered up to it.
    pruned: u64,
    commits: Vec<Commit>,
    /// Every document that ever lived at an address, in order; only the last can be alive.
    documents: BTreeMap<Address, Vec<Document>>,
}

/// One document from its creation to its retirement.
struct Document {
    retention: Retention,
    created: Seq,
    retired: Option<Seq>,
    /// Bases and deltas; the first is a base.
    revisions: Vec<(Seq, Revision)>,
}

impl State {
    pub(super) fn apply(&mut self, batch: &Batch, time: Timestamp) -> Outcome {
        match self.check(batch, time) {
            Err(outcome) => outcome,
            Ok(labels) => {
                let parts = batch.sessions.iter().zip(labels);
                let commits = parts.map(|(part, labels)| self.write(part, labels, time)).collect();
                let enqueued = self.write_jobs(&batch.jobs, time);
                Outcome::Committed(Committed::new(commits, time, enqueued))
            }
        }
    }

    /// All conditions, before anything is written. Answers the new labels of each session.
    fn check(&self, batch: &Batch, time: Timestamp) -> Result<Vec<Labels>, Outcome> {
        batch.check().map_err(Outcome::Refused)?;
        for part in &batch.sessions {
            let found = self.kept(&part.session).map(Kept::newest);
            part.check_found(found).map_err(Outcome::Conflict)?;
        }
        self.check_jobs(batch, time).map_err(Outcome::JobConflict)?;
        batch.sessions.iter().map(|part| self.check_part(part).map_err(Outcome::Refused)).collect()
    }

    fn check_part(&self, part: &SessionBatch) -> Result<Labels, Refusal> {
        let kept = self.kept(&part.session);
        for write in &part.writes {
            let living = kept.and_then(|kept| kept.living(write.address()));
            write.check(living.map(|document| (document.version(), document.retention))).map_err(|kind| {
                Refusal::new(Some(part.session.clone()), Some(write.address().clone()), kind)
            })?;
        }
        part.labels_over(kept.map_or(&Labels::new(), |kept| &kept.labels))
    }

    fn write(&mut self, part: &SessionBatch, labels: Labels, time: Timestamp) -> CommitId {
        let number = *self.numbers.entry(part.session.clone()).or_insert_with(|| {
            self.last_number += 1;
            self.last_number
        });
        let kept = self.sessions.entry(number).or_insert_with(|| {
            let kind = match &part.expected {
                Expected::Absent { kind } => kind.clone(),
                Expected::Head(_) => Arc::from(""), // never: the head was checked, so the session exists
            };
            let id = part.session.clone();
            let (labels, commits, documents) = (Labels::new(), Vec::new(), BTreeMap::new());
            let created = time;
            Kept { id, number, kind, labels, created, pruned: 0, commits, documents }
        });
        kept.write(part, labels, time)
    }

    fn kept(&self, session: &SessionId) -> Option<&Kept> {
        self.numbers.get(session).and_then(|number| self.sessions.get(number))
    }

    pub(super) fn head(&self, session: &SessionId) -> Option<Seq> {
        self.kept(session).map(Kept::head)
    }

    pub(super) fn session(&self, session: &SessionId) -> Option<SessionRecord> {
        self.kept(session).and_then(Kept::record)
    }

    pub(super) fn document(
        &self,
        session: &SessionId,
        address: &Address,
        at: At,
    ) -> Result<Option<StoredDocument>, StorageError> {
        let Some(kept) = self.kept(session) else { return Ok(None) };
        let at = kept.point(at)?;
        let Some(document) = kept.at(address, at) else { return Ok(None) };
        document.materialize(address, at).map(Some)
    }

    pub(super) fn family(&self, query: &FamilyQuery) -> Result<Page<StoredDocument>, StorageError> {
        let mut page = Page::empty();
        let Some(kept) = self.kept(&query.session) else { return Ok(page) };
        let at = kept.point(query.at)?;
        let limit = query.limit.clamp(1, limits::PAGE_ITEMS_MAX);
        let member = |address: Address| address.within(query.scope);
        let before_all = Bound::Excluded(member(Address::singleton(query.kind.clone())));
        // No kind lies between a kind and itself with a NUL.
        let after_all = Bound::Excluded(member(Address::singleton(format!("{}\0", query.kind))));
        let beyond =
            query.after.clone().map(|key| Bound::Excluded(member(Address::member(query.kind.clone(), key))));
        let range = match query.order {
            Order::Ascending => kept.documents.range((beyond.unwrap_or(before_all), after_all)),
            Order::Descending => kept.documents.range((before_all, beyond.unwrap_or(after_all))),
        };
        let mut range = range.map(|(address, _)| address);
        let mut next = || match query.order {
            Order::Ascending => range.next(),
            Order::Descending => range.next_back(),
        };
        let mut bytes = 0usize;
        while let Some(address) = next() {
            let Some(document) = kept.at(address, at) else { continue };
            if page.items.len() >= limit || bytes >= limits::PAGE_BYTES_MAX {
                page.more = true;
                break;
            }
            let stored = document.materialize(address, at)?;
            bytes = bytes.saturating_add(stored.chain.base_bytes);
            page.items.push(stored);
        }
        Ok(page)
    }

    pub(super) fn documents(&self, query: &DocumentsQuery) -> Result<Page<DocumentRecord>, StorageError> {
        let mut page = Page::empty();
        let Some(kept) = self.kept(&query.session) else { return Ok(page) };
        let at = kept.point(query.at)?;
        let limit = query.limit.clamp(1, limits::PAGE_ITEMS_MAX);
        let within = |address: Address| match query.scope {
            Some(scope) => address.within(scope),
            None => address,
        };
        // No kind is empty.
        let start = query.after.clone().unwrap_or_else(|| Address::singleton(""));
        let start = Bound::Excluded(within(start));
        for (address, _) in kept.documents.range((start, Bound::Unbounded)) {
            if query.scope.is_some_and(|scope| address.scope() != scope) {
                break;
            }
            let Some(document) = kept.at(address, at) else { continue };
            if page.items.len() >= limit {
                page.more = true;
                break;
            }
            let (retention, created) = (document.retention, document.created);
            page.items.push(DocumentRecord::new(address.clone(), retention, created));
        }
        Ok(page)
    }

    pub(super) fn sessions(&self, query: &SessionsQuery) -> Page<SessionRecord> {
        let limit = query.limit.clamp(1, limits::PAGE_ITEMS_MAX);
        let wanted = |kept: &&Kept| {
            let beyond = query.after.is_none_or(|after| {
                if query.newest_first { kept.number < after } else { kept.number > after }
            });
            beyond
                && query.kind.as_ref().is_none_or(|kind| kept.kind == *kind)
                && query.label.as_ref().is_none_or(|(name, value)| kept.labels.get(name) == Some(value))
        };
        let mut items: Vec<SessionRecord> = if query.newest_first {
            self.sessions.values().rev().filter(wanted).filter_map(Kept::record).take(limit + 1).collect()
        } else {
            self.sessions.values().filter(wanted).filter_map(Kept::record).take(limit + 1).collect()
        };
        let more = items.len() > limit;
        items.truncate(limit);
        Page { items, more }
    }

    pub(super) fn changes(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Commit>, StorageError> {
        if after > self.head(session).unwrap_or(Seq::ZERO) {
            return Err(StorageError::removed(after));
        }
        let Some(kept) = self.kept(session) else { return Ok(Vec::new()) };
        let Some(skip) = after.get().checked_sub(kept.pruned) else {
            return Err(StorageError::pruned(kept.oldest()));
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let mut bytes = 0usize;
        let mut commits = Vec::new();
        for commit in kept.commits.iter().skip(skip).take(limit.clamp(1, limits::PAGE_ITEMS_MAX)) {
            if bytes >= limits::PAGE_BYTES_MAX {
                break;
            }
            bytes = bytes.saturating_add(commit.body_bytes());
            commits.push(commit.clone());
        }
        Ok(commits)
    }

    pub(super) fn prune(&mut self, session: &SessionId, keep: Keep) -> Pruned {
        let kept = self.numbers.get(session).and_then(|number| self.sessions.get_mut(number));
        kept.map_or_else(Pruned::default, |kept| kept.prune(keep))
    }

    pub(super) fn remove(&mut self, session: &SessionId, head: Seq) -> Removal {
        match self.head(session) {
            None => Removal::Absent,
            Some(found) if found != head => Removal::Moved(found),
            Some(_) => {
                self.numbers.remove(session).and_then(|number| self.sessions.remove(&number));
                Removal::Removed
            }
        }
    }

    pub(super) fn integrity(&self) -> Integrity {
        let mut report = Integrity::default();
        for kept in self.sessions.values() {
            kept.integrity(&mut report);
        }
        report
    }

    pub(super) fn size(&self) -> Size {
        let mut kinds: BTreeMap<Arc<str>, KindSize> = BTreeMap::new();
        for kept in self.sessions.values() {
            let kind = kinds.entry(kept.kind.clone()).or_insert_with(|| KindSize::new(kept.kind.clone()));
            kept.add_to(kind);
        }
        let kinds: Vec<KindSize> = kinds.into_values().collect();
        let stored_bytes = kinds.iter().map(|kind| kind.body_bytes).sum();
        Size { kinds, jobs: self.jobs.len() as u64, stored_bytes, free_bytes: 0 }
    }
}

impl Kept {
    fn head(&self) -> Seq {
        Seq::new(self.pruned + self.commits.len() as u64)
    }

    fn newest(&self) -> CommitId {
        CommitId { session: self.number, seq: self.head() }
    }

    /// The oldest commit that is kept.
    fn oldest(&self) -> Seq {
        Seq::new(self.pruned + 1)
    }

    fn record(&self) -> Option<SessionRecord> {
        let updated = self.commits.last()?.time;
        let (id, kind) = (self.id.clone(), self.kind.clone());
        let mut record = SessionRecord::new(id, self.number, kind, self.head(), self.created, updated);
        record.labels = self.labels.clone();
        Some(record)
    }

    /// The point as a commit that exists.
    fn point(&self, at: At) -> Result<Seq, StorageError> {
        match at {
            At::Current => Ok(self.head()),
            At::Seq(seq) if self.pruned > 0 && seq < self.oldest() => {
                Err(StorageError::pruned(self.oldest()))
            }
            At::Seq(seq) => Ok(seq.min(self.head())),
        }
    }

    fn living(&self, address: &Address) -> Option<&Document> {
        self.documents.get(address).and_then(|all| all.last()).filter(|document| document.retired.is_none())
    }

    /// The document that lived at the address at a point; lifetimes are half-open (durable A33).
    fn at(&self, address: &Address, at: Seq) -> Option<&Document> {
        let all = self.documents.get(address)?;
        all.iter().rev().find(|one| one.created <= at && one.retired.is_none_or(|retired| at < retired))
    }

    fn write(&mut self, part: &SessionBatch, labels: Labels, time: Timestamp) -> CommitId {
        let seq = self.head().next();
        let id = CommitId { session: self.number, seq };
        let mut commit = Commit::new(id, time);
        commit.labels.clone_from(&part.labels);
        for write in &part.writes {
            match self.write_document(seq, write) {
                Some(change) if change.retention == Retention::Bulk => {
                    let retired = change.revision == Revision::Retired;
                    BulkChange::count(&mut commit.bulk, &change.address, retired);
                }
                change => commit.changes.extend(change),
            }
        }
        self.labels = labels;
        self.commits.push(commit);
        id
    }

    /// None only for a delta or retirement of nothing, which was refused before.
    fn write_document(&mut self, seq: Seq, write: &Write) -> Option<Change> {
        let address = write.address();
        let all = self.documents.entry(address.clone()).or_default();
        if let Write::Base { retention, .. } = write
            && all.last().is_none_or(|last| last.retired.is_some())
        {
            let retention = *retention;
            all.push(Document { retention, created: seq, retired: None, revisions: Vec::new() });
        }
        let document = all.last_mut()?;
        let revision = match write {
            Write::Base { version, body, .. } => Revision::Base { version: *version, body: body.clone() },
            Write::Delta { version, body, .. } => Revision::Delta { version: *version, body: body.clone() },
            Write::Retire { .. } => Revision::Retired,
        };
        if document.retention == Retention::Bulk {
            document.revisions.clear(); // the newest value alone, and none once it ended
        }
        if revision == Revision::Retired {
            document.retired = Some(seq);
        } else {
            document.revisions.push((seq, revision.clone()));
        }
        let (retention, created) = (document.retention, document.created);
        Some(Change::new(address.clone(), retention, created, revision))
    }
}

impl Document {
    /// The schema version of the newest revision.
    fn version(&self) -> u32 {
        match self.revisions.last() {
            Some((_, Revision::Base { version, .. } | Revision::Delta { version, .. })) => *version,
            _ => 0,
        }
    }

    fn materialize(&self, address: &Address, at: Seq) -> Result<StoredDocument, StorageError> {
        let newest = self.revisions.last().map_or(Seq::ZERO, |(seq, _)| *seq);
        let past = newest > at || self.revisions.is_empty(); // an ended one of bulk retention has none
        if self.retention != Retention::Full && past {
            return Err(StorageError::not_retained(address));
        }
        let corrupt = |error| StorageError::corrupt(address, error);
        let visible = self.revisions.iter().rev().skip_while(|(seq, _)| *seq > at);
        let mut deltas = Vec::new();
        for (seq, revision) in visible {
            match revision {
                Revision::Base { version, body } => {
                    let mut replay = Replay::base(*seq, *version, body).map_err(corrupt)?;
                    for (seq, body) in deltas.into_iter().rev() {
                        replay.delta(seq, body).map_err(corrupt)?;
                    }
                    return Ok(replay.finish(address.clone(), self.retention, self.created));
                }
                Revision::Delta { body, .. } => deltas.push((*seq, body)),
                Revision::Retired => {}
            }
        }
        let message = "a stored document has no base";
        Err(StorageError::new(StorageErrorKind::Corrupt, Retry::Never, "read a document", message))
    }
}
