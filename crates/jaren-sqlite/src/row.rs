//! Between columns and our types.

use std::sync::Arc;

use jaren_durable::{Address, LabelChanges, Labels, Retention, Seq};
use jaren_json::{Object, ReadOptions, Value, read};

use crate::fault::Fault;

pub(crate) fn as_i64(number: u64) -> Result<i64, Fault> {
    i64::try_from(number).map_err(|_| Fault::corrupt("a sequence number is beyond the range of the store"))
}

/// A point in history as a column: what is beyond the range is beyond every commit.
pub(crate) fn point(seq: Seq) -> i64 {
    i64::try_from(seq.get()).unwrap_or(i64::MAX)
}

pub(crate) fn seq(column: i64) -> Result<Seq, Fault> {
    u64::try_from(column).map(Seq::new).map_err(|_| Fault::corrupt("a stored sequence number is negative"))
}

pub(crate) fn schema_version(column: i64) -> Result<u32, Fault> {
    u32::try_from(column).map_err(|_| Fault::corrupt("a stored schema version is out of range"))
}

pub(crate) fn retention_number(retention: Retention) -> Result<i64, Fault> {
    match retention {
        Retention::Full => Ok(0),
        Retention::Current => Ok(1),
        _ => Err(Fault::corrupt("a retention that this storage does not know passed the checks")),
    }
}

pub(crate) fn retention(column: i64) -> Result<Retention, Fault> {
    match column {
        0 => Ok(Retention::Full),
        1 => Ok(Retention::Current),
        _ => Err(Fault::corrupt("a stored retention is unknown")),
    }
}

/// The columns `member` and `key` of an address.
pub(crate) fn key(address: &Address) -> (i64, &str) {
    (i64::from(address.key().is_some()), address.key().unwrap_or(""))
}

pub(crate) fn address(kind: String, member: i64, key: String) -> Address {
    if member == 0 { Address::singleton(kind) } else { Address::member(kind, key) }
}

/// Labels set and removed, in their order: a JSON object, null for a removed one.
pub(crate) fn label_changes_text(changes: &[(Arc<str>, Option<Arc<str>>)]) -> Result<String, Fault> {
    let value = |value: &Option<Arc<str>>| value.as_deref().map_or(Value::Null, Value::from);
    text(&changes.iter().map(|(name, change)| (&**name, value(change))).collect())
}

pub(crate) fn label_changes(text: &str) -> Result<LabelChanges, Fault> {
    let object = object(text)?;
    Ok(object.iter().map(|(name, value)| (name.into(), value.as_str().map(Arc::from))).collect())
}

pub(crate) fn labels_text(labels: &Labels) -> Result<String, Fault> {
    text(&labels.iter().map(|(name, value)| (&**name, Value::from(&**value))).collect())
}

pub(crate) fn labels(text: &str) -> Result<Labels, Fault> {
    let object = object(text)?;
    let label = |(name, value): (&str, &Value)| Some((Arc::from(name), Arc::from(value.as_str()?)));
    Ok(object.iter().filter_map(label).collect())
}

fn text(object: &Object) -> Result<String, Fault> {
    jaren_json::to_text(&Value::Object(object.clone()))
        .map_err(|_| Fault::corrupt("labels have no JSON form"))
}

fn object(text: &str) -> Result<Object, Fault> {
    match read(text.as_bytes(), &ReadOptions::data()) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(Fault::corrupt("stored labels are not a JSON object")),
    }
}
