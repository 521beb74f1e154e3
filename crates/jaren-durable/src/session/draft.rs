//! A change in the making: what the caller wants the documents and labels to be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jaren_json::delta::BatchText;
use jaren_json::{Value, Written};

use crate::kinds::Form;
use crate::{Address, Body, CommitId, Family, JobWrite, LeaseCondition, Scope, Session, Singleton};

/// A change to one session's documents and labels, begun by [`Session::draft`].
///
/// It holds whole values: the handle finds out what differs. Of several writes to one document or label the last
/// counts.
#[derive(Debug, Clone)]
#[must_use = "a change does nothing until it is committed"]
pub struct Draft {
    /// The commit of the view that it was begun over.
    at: Option<CommitId>,
    /// In boxes, or a map of few would take much room.
    documents: BTreeMap<Address, Box<Intent>>,
    /// Scopes that end.
    scopes: BTreeSet<Scope>,
    /// Tasks that own something which this change creates.
    owners: BTreeSet<u64>,
    /// It has ids that were minted over its view.
    minted: bool,
    labels: BTreeMap<Arc<str>, Option<Arc<str>>>,
    jobs: Vec<JobWrite>,
    leases: Vec<LeaseCondition>,
    /// Parts of its values that are written already.
    written: Arc<[Written]>,
}

#[derive(Clone)]
pub(super) enum Intent {
    Put { form: Form, value: Value, change: Option<Change> },
    Retire { kept: bool },
}

/// How a value came of another one, where the caller knows.
#[derive(Clone)]
pub(super) struct Change {
    before: Value,
    /// None where there are no operations.
    delta: Option<Body>,
}

impl Change {
    /// Was it made for the stored value?
    pub(super) fn is_over(&self, stored: &Value) -> bool {
        self.before.ptr_eq(stored)
    }

    /// What leads on from there; none where nothing differs.
    pub(super) fn delta(&self) -> Option<&Body> {
        self.delta.as_ref()
    }
}

impl fmt::Debug for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Put { .. } => "Put",
            Self::Retire { .. } => "Retire",
        })
    }
}

/// What a change makes of a document.
#[derive(Clone, Copy)]
pub(crate) enum Staged<'a> {
    Untouched,
    Set(&'a Value),
    Ended,
}

impl Intent {
    /// Whether the view knows of the document.
    pub(super) fn is_kept(&self) -> bool {
        match self {
            Self::Put { form, .. } => form.kept,
            Self::Retire { kept } => *kept,
        }
    }
}

impl Draft {
    pub(super) fn new(at: Option<CommitId>) -> Self {
        Self {
            at,
            documents: BTreeMap::new(),
            scopes: BTreeSet::new(),
            owners: BTreeSet::new(),
            minted: false,
            labels: BTreeMap::new(),
            jobs: Vec::new(),
            leases: Vec::new(),
            written: Arc::default(),
        }
    }

    /// Sets the document of that kind, creating it if need be.
    pub fn put(&mut self, kind: &Singleton, value: Value) {
        let intent = Intent::Put { form: kind.form(), value, change: None };
        self.documents.insert(kind.address(), Box::new(intent));
    }

    /// The same by a caller who knows what differs: the operations lead from `before` to the value. They count if the
    /// handle still knows the document as `before`, the very value that was last put or read; else what differs is
    /// found out.
    #[doc(hidden)] // what the engine tells is believed; a host has `put`
    pub fn put_changed(&mut self, kind: &Singleton, before: &Value, batch: BatchText, value: Value) {
        let delta = if batch.is_empty() { Ok(None) } else { Body::batch(batch).map(Some) };
        // What cannot be stored is refused with its place, when it is found out.
        let change = delta.ok().map(|delta| Change { before: before.clone(), delta });
        self.documents.insert(kind.address(), Box::new(Intent::Put { form: kind.form(), value, change }));
    }

    /// Tells parts that values of this change may have, with their texts: they are not written again.
    #[doc(hidden)] // what the engine tells is believed; a host has `put`
    pub fn has_written(&mut self, parts: Arc<[Written]>) {
        self.written = parts;
    }

    /// Sets the member of that family with that key, creating it if need be.
    pub fn put_member(&mut self, family: &Family, key: &str, value: Value) {
        let intent = Intent::Put { form: family.form(), value, change: None };
        self.documents.insert(family.address(key), Box::new(intent));
    }

    /// Ends the document of that kind, if it lives.
    pub fn retire(&mut self, kind: &Singleton) {
        let kept = kind.form().kept;
        self.documents.insert(kind.address(), Box::new(Intent::Retire { kept }));
    }

    /// Ends the member of that family with that key, if it lives.
    pub fn retire_member(&mut self, family: &Family, key: &str) {
        let kept = family.form().kept;
        self.documents.insert(family.address(key), Box::new(Intent::Retire { kept }));
    }

    /// Ends every document of a scope, those that this change sets in it among them (durable A35).
    pub fn retire_scope(&mut self, scope: Scope) {
        self.scopes.insert(scope);
    }

    /// Sets a label of the session.
    pub fn label(&mut self, name: &str, value: &str) {
        self.labels.insert(name.into(), Some(value.into()));
    }

    /// Removes a label of the session.
    pub fn unlabel(&mut self, name: &str) {
        self.labels.insert(name.into(), None);
    }

    /// Does that to a job in the same commit; each job at most once.
    pub fn job(&mut self, write: JobWrite) {
        self.jobs.push(write);
    }

    /// Commits only while that lease holds.
    pub fn under(&mut self, lease: LeaseCondition) {
        self.leases.push(lease);
    }

    /// Declares that this change still holds over what the session has adopted since it was begun.
    ///
    /// A change with minted ids does not: others may have minted the same. It stays as it was, and is a conflict.
    pub fn rebase(&mut self, session: &Session) {
        if !self.minted {
            self.at = session.at;
        }
    }

    /// What this change makes of a document.
    pub(crate) fn staged(&self, address: &Address) -> Staged<'_> {
        if self.scopes.contains(&address.scope()) {
            return Staged::Ended;
        }
        match self.documents.get(address).map(|intent| &**intent) {
            None => Staged::Untouched,
            Some(Intent::Put { value, .. }) => Staged::Set(value),
            Some(Intent::Retire { .. }) => Staged::Ended,
        }
    }

    pub(crate) fn set_minted(&mut self) {
        self.minted = true;
    }

    pub(crate) fn owners(&mut self) -> &mut BTreeSet<u64> {
        &mut self.owners
    }

    pub(super) fn at(&self) -> Option<CommitId> {
        self.at
    }

    /// The tasks in whose scopes it sets documents.
    pub(crate) fn task_scopes(&self) -> BTreeSet<u64> {
        let tasks = self.documents().filter_map(|(address, intent)| match (address.scope(), intent) {
            (Scope::Task(task), Intent::Put { .. }) => Some(task),
            _ => None,
        });
        tasks.collect()
    }

    /// What is to become of documents whose scope does not end with this change.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&Address, &Intent)> {
        let documents = self.documents.iter().map(|(address, intent)| (address, &**intent));
        documents.filter(|(address, _)| !self.scopes.contains(&address.scope()))
    }

    pub(super) fn scopes(&self) -> impl Iterator<Item = Scope> {
        self.scopes.iter().copied()
    }

    pub(super) fn written(&self) -> &[Written] {
        &self.written
    }

    pub(super) fn jobs(&self) -> &[JobWrite] {
        &self.jobs
    }

    pub(super) fn leases(&self) -> &[LeaseCondition] {
        &self.leases
    }

    pub(super) fn labels(&self) -> impl Iterator<Item = (&Arc<str>, Option<&Arc<str>>)> {
        self.labels.iter().map(|(name, value)| (name, value.as_ref()))
    }
}
