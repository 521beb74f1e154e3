//! The pure step from a change to a batch: what differs from the view, and in which form it is stored.

use std::collections::BTreeSet;
use std::fmt;

use jaren_json::{Value, Written, delta};

use super::draft::{Change, Draft, Intent};
use super::view::View;
use crate::kinds::Form;
use crate::{
    Address, Body, BodyError, CommitError, DeltaChain, DocumentRecord, LabelChanges, Labels, Retention, Seq,
    StoredDocument, Write,
};

/// What to write, and what the view is once it was written.
pub(super) struct Plan {
    /// Nothing differs from the view.
    is_empty: bool,
    writes: Vec<Write>,
    documents: Vec<(Address, Option<StoredDocument>)>,
    labels: LabelChanges,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("documents", &self.documents.len()).finish_non_exhaustive()
    }
}

/// What a plan needs to know besides the view: what is never kept in it.
#[derive(Default)]
pub(super) struct Looked {
    /// Documents that are to be retired, and live.
    pub(super) unkept: BTreeSet<Address>,
    /// The documents of the scopes that end.
    pub(super) scopes: Vec<DocumentRecord>,
}

impl Plan {
    /// Plans a change whose documents are all known to the view, or looked up.
    pub(super) fn new(
        view: &View,
        labels: &Labels,
        change: &Draft,
        looked: &Looked,
    ) -> Result<Self, CommitError> {
        let mut plan = Self { is_empty: true, writes: Vec::new(), documents: Vec::new(), labels: Vec::new() };
        for (address, intent) in change.documents() {
            if !intent.is_kept() {
                plan.unkept(address, intent, looked)?;
                continue;
            }
            let living = view.get(address).living();
            match (intent, living) {
                (Intent::Retire { .. }, None) => {}
                (Intent::Retire { .. }, Some(_)) => {
                    plan.push(Write::Retire { address: address.clone() }, None);
                }
                (Intent::Put { form, value, .. }, None) => {
                    plan.create(address, form, value, change.written())?;
                }
                (Intent::Put { form, value, change: known }, Some(stored)) => {
                    plan.update(stored, form, value, known.as_ref(), change.written())?;
                }
            }
        }
        for DocumentRecord { address, retention, .. } in &looked.scopes {
            let write = Write::Retire { address: address.clone() };
            if *retention == Retention::Bulk {
                plan.writes.push(write);
            } else {
                plan.push(write, None);
            }
        }
        for (name, value) in change.labels() {
            if labels.get(name) != value {
                plan.labels.push((name.clone(), value.cloned()));
            }
        }
        plan.is_empty = plan.writes.is_empty() && plan.labels.is_empty();
        Ok(plan)
    }

    /// What is not kept in the view is written whole.
    fn unkept(&mut self, address: &Address, intent: &Intent, looked: &Looked) -> Result<(), CommitError> {
        let address = address.clone();
        match intent {
            Intent::Put { form, value, .. } => {
                let body = Body::base(value).map_err(unstorable(&address))?;
                let (retention, version) = (form.retention, form.version);
                self.writes.push(Write::Base { address, retention, version, body });
            }
            Intent::Retire { .. } if looked.unkept.contains(&address) => {
                self.writes.push(Write::Retire { address });
            }
            Intent::Retire { .. } => {}
        }
        Ok(())
    }

    fn create(
        &mut self,
        address: &Address,
        form: &Form,
        value: &Value,
        parts: &[Written],
    ) -> Result<(), CommitError> {
        let body = Body::base_with(value, parts).map_err(unstorable(address))?;
        let chain = DeltaChain::base(body.len());
        let (created, seq) = (Seq::ZERO, Seq::ZERO); // set when the commit's number is known
        let (address, value) = (address.clone(), value.clone());
        let (version, retention) = (form.version, form.retention);
        let write = Write::Base { address: address.clone(), retention, version, body };
        self.push(write, Some(StoredDocument { address, retention, created, seq, version, value, chain }));
        Ok(())
    }

    fn update(
        &mut self,
        stored: &StoredDocument,
        form: &Form,
        value: &Value,
        change: Option<&Change>,
        parts: &[Written],
    ) -> Result<(), CommitError> {
        form.check_version(&stored.address, stored.version)?;
        if stored.version != form.version {
            return self.replace(stored, form.version, value); // even an equal one (durable A46)
        }
        let write = match change.filter(|change| change.is_over(&stored.value)) {
            Some(change) => {
                let Some(delta) = change.delta() else { return Ok(()) };
                Write::led_to(stored, value, Some(delta.clone()), parts).map(Some)
            }
            None => Write::update(stored, value),
        };
        let Some(write) = write.map_err(|error| unstorable(&stored.address)(error))? else { return Ok(()) };
        debug_assert!(
            leads_to(stored, &write, value),
            "the operations that a caller told lead to the value that it told"
        );
        let chain = match &write {
            Write::Delta { body, .. } => stored.chain.delta(body.len()),
            write => DeltaChain::base(write.body_bytes()),
        };
        self.push(write, Some(StoredDocument { value: value.clone(), chain, ..stored.clone() }));
        Ok(())
    }

    fn replace(&mut self, stored: &StoredDocument, version: u32, value: &Value) -> Result<(), CommitError> {
        let (address, retention) = (stored.address.clone(), stored.retention);
        let body = Body::base(value).map_err(unstorable(&address))?;
        let chain = DeltaChain::base(body.len());
        let write = Write::Base { address, retention, version, body };
        self.push(write, Some(StoredDocument { value: value.clone(), chain, version, ..stored.clone() }));
        Ok(())
    }

    fn push(&mut self, write: Write, document: Option<StoredDocument>) {
        self.documents.push((write.address().clone(), document));
        self.writes.push(write);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// What is to be written: labels and documents.
    pub(super) fn part(&mut self) -> (LabelChanges, Vec<Write>) {
        (self.labels.clone(), std::mem::take(&mut self.writes))
    }

    /// Moves the view on to the commit that this plan became.
    pub(super) fn adopt(self, seq: Seq, view: &mut View, labels: &mut Labels) {
        for (address, document) in self.documents {
            let document = document.map(|stored| {
                let created = if stored.created == Seq::ZERO { seq } else { stored.created };
                StoredDocument { created, seq, ..stored }
            });
            view.insert(address, document);
        }
        for (name, value) in self.labels {
            match value {
                Some(value) => labels.insert(name, value),
                None => labels.remove(&name),
            };
        }
    }
}

/// What a caller told is believed; tests check it.
fn leads_to(stored: &StoredDocument, write: &Write, value: &Value) -> bool {
    let Write::Delta { body, .. } = write else { return true };
    let reached = body.ops().ok().and_then(|ops| delta::apply(Some(&stored.value), &ops).ok());
    reached.is_some_and(|reached| reached == *value)
}

fn unstorable(address: &Address) -> impl FnOnce(BodyError) -> CommitError {
    let address = Box::new(address.clone());
    move |source| CommitError::Value { address, source }
}
