//! The pure step from a change to a batch: what differs from the view, and in which form it is stored.

use jaren_json::{Value, delta};

use super::draft::{Draft, Intent};
use super::error::check_version;
use super::view::View;
use crate::{
    Address, Body, BodyError, CommitError, Expected, LabelChanges, Labels, Retention, Seq, SessionBatch,
    SessionId, Stored, Tail, Write,
};

/// What to write, and what the view is once it was written.
pub(super) struct Plan {
    writes: Vec<Write>,
    documents: Vec<(Address, Option<Stored>)>,
    labels: LabelChanges,
}

impl Plan {
    /// Plans a change whose documents are all known to the view.
    pub(super) fn new(view: &View, labels: &Labels, change: &Draft) -> Result<Self, CommitError> {
        let mut plan = Self { writes: Vec::new(), documents: Vec::new(), labels: Vec::new() };
        for (address, intent) in change.documents() {
            let living = view.get(address).living();
            match (intent, living) {
                (Intent::Retire, None) => {}
                (Intent::Retire, Some(_)) => plan.push(Write::Retire { address: address.clone() }, None),
                (Intent::Put { version, retention, value }, None) => {
                    plan.create(address, *version, *retention, value)?;
                }
                (Intent::Put { version, value, .. }, Some(stored)) => {
                    check_version(address, stored.version, *version)?;
                    plan.update(stored, value)?;
                }
            }
        }
        for (name, value) in change.labels() {
            if labels.get(name) != value {
                plan.labels.push((name.clone(), value.cloned()));
            }
        }
        Ok(plan)
    }

    fn create(
        &mut self,
        address: &Address,
        version: u32,
        retention: Retention,
        value: &Value,
    ) -> Result<(), CommitError> {
        let body = Body::base(value).map_err(unstorable(address))?;
        let tail = Tail::base(body.len());
        let (created, seq) = (Seq::ZERO, Seq::ZERO); // set when the commit's number is known
        let (address, value) = (address.clone(), value.clone());
        let write = Write::Base { address: address.clone(), retention, version, body };
        self.push(write, Some(Stored { address, retention, created, seq, version, value, tail }));
        Ok(())
    }

    fn update(&mut self, stored: &Stored, value: &Value) -> Result<(), CommitError> {
        if stored.value.ptr_eq(value) {
            return Ok(());
        }
        let ops = delta::diff(&stored.value, value);
        if ops.is_empty() {
            return Ok(());
        }
        let address = stored.address.clone();
        let version = stored.version;
        let body = Body::delta(&ops).map_err(unstorable(&address))?;
        let (write, tail) = if stored.tail.base_is_due(body.len()) {
            let body = Body::base(value).map_err(unstorable(&address))?;
            let (tail, retention) = (Tail::base(body.len()), stored.retention);
            (Write::Base { address, retention, version, body }, tail)
        } else {
            let tail = stored.tail.delta(body.len());
            (Write::Delta { address, version, body }, tail)
        };
        self.push(write, Some(Stored { value: value.clone(), tail, ..stored.clone() }));
        Ok(())
    }

    fn push(&mut self, write: Write, document: Option<Stored>) {
        self.documents.push((write.address().clone(), document));
        self.writes.push(write);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.labels.is_empty()
    }

    pub(super) fn batch(&mut self, session: &SessionId, expected: Expected) -> SessionBatch {
        let (writes, labels) = (std::mem::take(&mut self.writes), self.labels.clone());
        SessionBatch { session: session.clone(), expected, labels, writes }
    }

    /// Moves the view on to the commit that this plan became.
    pub(super) fn adopt(self, seq: Seq, view: &mut View, labels: &mut Labels) {
        for (address, document) in self.documents {
            let document = document.map(|stored| {
                let created = if stored.created == Seq::ZERO { seq } else { stored.created };
                Stored { created, seq, ..stored }
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

fn unstorable(address: &Address) -> impl FnOnce(BodyError) -> CommitError {
    let address = address.clone();
    move |source| CommitError::Value { address, source }
}
