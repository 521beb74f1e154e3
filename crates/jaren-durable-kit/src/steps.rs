//! Small steps that laws are written in: batches by hand, and outcomes that must be so.

use std::sync::Arc;

use jaren_durable::{
    Address, At, Batch, Body, Committed, Conflict, JobConflict, Outcome, Refusal, Retention, Seq,
    SessionBatch, SessionId, Storage, StoredDocument, Write,
};
use jaren_json::{Value, delta};

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::new(name).expect("a valid session id")
}

pub(crate) fn create(name: &str) -> SessionBatch {
    SessionBatch::create(id(name), "kit")
}

pub(crate) fn after(name: &str, head: u64) -> SessionBatch {
    SessionBatch::after(id(name), Seq::new(head))
}

pub(crate) fn base(address: &Address, value: &Value) -> Write {
    base_of(address, value, Retention::Full, 1)
}

pub(crate) fn base_of(address: &Address, value: &Value, retention: Retention, version: u32) -> Write {
    let body = Body::base(value).expect("a storable value");
    Write::Base { address: address.clone(), retention, version, body }
}

pub(crate) fn delta(address: &Address, old: &Value, new: &Value) -> Write {
    delta_of(address, old, new, 1)
}

pub(crate) fn delta_of(address: &Address, old: &Value, new: &Value, version: u32) -> Write {
    let body = Body::delta(&delta::diff(old, new)).expect("a storable delta");
    Write::Delta { address: address.clone(), version, body }
}

pub(crate) fn retire(address: &Address) -> Write {
    Write::Retire { address: address.clone() }
}

pub(crate) fn writing(mut part: SessionBatch, writes: impl IntoIterator<Item = Write>) -> Batch {
    part.writes = writes.into_iter().collect();
    Batch::one(part)
}

pub(crate) fn labelling(mut part: SessionBatch, labels: &[(&str, Option<&str>)]) -> Batch {
    part.labels = labels.iter().map(|(name, value)| (Arc::from(*name), value.map(Arc::from))).collect();
    Batch::one(part)
}

pub(crate) async fn apply(storage: &Arc<dyn Storage>, batch: Batch) -> Outcome {
    let mut outcomes = storage.apply(vec![batch]).await.expect("a group is applied");
    assert_eq!(outcomes.len(), 1, "one outcome for one batch");
    outcomes.remove(0)
}

pub(crate) async fn commit(storage: &Arc<dyn Storage>, batch: Batch) -> Committed {
    committed(apply(storage, batch).await)
}

pub(crate) fn committed(outcome: Outcome) -> Committed {
    match outcome {
        Outcome::Committed(committed) => committed,
        other => panic!("expected a commit, found {other:?}"),
    }
}

pub(crate) fn conflict(outcome: Outcome) -> Conflict {
    match outcome {
        Outcome::Conflict(conflict) => conflict,
        other => panic!("expected a conflict, found {other:?}"),
    }
}

pub(crate) fn job_conflict(outcome: Outcome) -> JobConflict {
    match outcome {
        Outcome::JobConflict(conflict) => conflict,
        other => panic!("expected a conflict on a job, found {other:?}"),
    }
}

pub(crate) fn refusal(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused(refusal) => refusal,
        other => panic!("expected a refusal, found {other:?}"),
    }
}

pub(crate) async fn head(storage: &Arc<dyn Storage>, name: &str) -> Option<u64> {
    storage.session(id(name)).await.expect("a session is read").map(|record| record.head.get())
}

pub(crate) async fn stored(
    storage: &Arc<dyn Storage>,
    name: &str,
    address: &Address,
    at: At,
) -> Option<StoredDocument> {
    storage.document(id(name), address.clone(), at).await.expect("a document is read")
}

pub(crate) async fn value(storage: &Arc<dyn Storage>, name: &str, address: &Address) -> Option<Value> {
    stored(storage, name, address, At::Current).await.map(|stored| stored.value)
}

pub(crate) async fn value_at(
    storage: &Arc<dyn Storage>,
    name: &str,
    address: &Address,
    seq: u64,
) -> Option<Value> {
    stored(storage, name, address, At::Seq(Seq::new(seq))).await.map(|stored| stored.value)
}
