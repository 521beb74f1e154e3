//! Between columns and our types.

use std::borrow::Cow;
use std::sync::Arc;

use jaren_durable::{Address, BulkChange, Commit, LabelChanges, Labels, Retention, Scope, Seq, limits};
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

pub(crate) fn session_number(column: i64) -> Result<u64, Fault> {
    u64::try_from(column).map_err(|_| Fault::corrupt("a session's number is negative"))
}

pub(crate) fn schema_version(column: i64) -> Result<u32, Fault> {
    u32::try_from(column).map_err(|_| Fault::corrupt("a stored schema version is out of range"))
}

pub(crate) fn retention_number(retention: Retention) -> Result<i64, Fault> {
    match retention {
        Retention::Full => Ok(0),
        Retention::Current => Ok(1),
        Retention::Bulk => Ok(2),
        _ => Err(Fault::corrupt("a retention that this storage does not know passed the checks")),
    }
}

pub(crate) fn retention(column: i64) -> Result<Retention, Fault> {
    match column {
        0 => Ok(Retention::Full),
        1 => Ok(Retention::Current),
        2 => Ok(Retention::Bulk),
        _ => Err(Fault::corrupt("a stored retention is unknown")),
    }
}

/// The columns `member` and `key` of an address.
pub(crate) fn key(address: &Address) -> (i64, &str) {
    (i64::from(address.key().is_some()), address.key().unwrap_or(""))
}

/// Stands before and after a scope in the column `kind`; no kind has such a character.
const SCOPE: char = '\u{1}';

/// The column `kind` of an address: the kind, and before it the scope if it is not the session. So the documents of
/// one scope are a range of the index.
pub(crate) fn kind(scope: Scope, kind: &str) -> Cow<'_, str> {
    match scope {
        Scope::Session => Cow::Borrowed(kind),
        Scope::Conversation(id) => Cow::Owned(format!("{SCOPE}c{id}{SCOPE}{kind}")),
        Scope::Task(id) => Cow::Owned(format!("{SCOPE}t{id}{SCOPE}{kind}")),
    }
}

/// The range of the column `kind` that a scope takes: from the first, before the second.
pub(crate) fn scope_range(scope: Scope) -> (String, String) {
    const AFTER_SCOPE: char = '\u{2}';
    if scope == Scope::Session {
        // A kind of as many bytes is not greater, whatever its characters.
        return (AFTER_SCOPE.to_string(), char::MAX.to_string().repeat(limits::KIND_BYTES_MAX));
    }
    let first = kind(scope, "").into_owned();
    let end = format!("{}{AFTER_SCOPE}", first.trim_end_matches(SCOPE));
    (first, end)
}

/// An address from its columns.
pub(crate) fn address(column: &str, member: i64, key: String) -> Result<Address, Fault> {
    let corrupt = || Fault::corrupt("a stored document has an unknown scope");
    let (scope, kind) = match column.strip_prefix(SCOPE) {
        None => (Scope::Session, column),
        Some(scoped) => {
            let (scope, kind) = scoped.split_once(SCOPE).ok_or_else(corrupt)?;
            let id = |text: &str| text.parse().map_err(|_| corrupt());
            let scope = match (scope.strip_prefix('c'), scope.strip_prefix('t')) {
                (Some(text), _) => Scope::Conversation(id(text)?),
                (_, Some(text)) => Scope::Task(id(text)?),
                _ => return Err(corrupt()),
            };
            (scope, kind)
        }
    };
    let address = if member == 0 { Address::singleton(kind) } else { Address::member(kind, key) };
    Ok(address.within(scope))
}

/// What a commit's own row says of it: labels set, or null for a removed one, in their order; and under the empty
/// name, which no label has, what it did to documents of bulk retention: written and retired by kind. None if
/// there is nothing to say.
pub(crate) fn summary_text(labels: &LabelChanges, bulk: &[BulkChange]) -> Result<Option<String>, Fault> {
    if labels.is_empty() && bulk.is_empty() {
        return Ok(None);
    }
    let label = |value: &Option<Arc<str>>| value.as_deref().map_or(Value::Null, Value::from);
    let mut summary: Object = labels.iter().map(|(name, change)| (&**name, label(change))).collect();
    if !bulk.is_empty() {
        #[expect(clippy::cast_precision_loss, reason = "a batch has some thousand writes")]
        let number = |count: u64| Value::Number(count as f64);
        let counts = |one: &BulkChange| [one.written, one.retired].map(number).into_iter().collect();
        let kinds = bulk.iter().map(|one| (kind(one.scope, &one.kind), Value::Array(counts(one))));
        summary = summary.with("", Value::Object(kinds.collect()));
    }
    text(&summary).map(Some)
}

/// Reads a commit's own row into it.
pub(crate) fn summary(text: &str, commit: &mut Commit) -> Result<(), Fault> {
    for (name, value) in &object(text)? {
        match value {
            Value::Object(kinds) if name.is_empty() => {
                for (kind, counts) in kinds {
                    let address = address(kind, 0, String::new())?;
                    let (scope, kind) = (address.scope(), address.kind().into());
                    let (written, retired) = (count(counts.at(0))?, count(counts.at(1))?);
                    commit.bulk.push(BulkChange::new(scope, kind, written, retired));
                }
            }
            label => commit.labels.push((name.into(), label.as_str().map(Arc::from))),
        }
    }
    Ok(())
}

fn count(value: Option<&Value>) -> Result<u64, Fault> {
    let number = value.and_then(Value::as_f64).filter(|number| (0.0..9e15).contains(number));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    number.map(|number| number as u64).ok_or_else(|| Fault::corrupt("a stored count is not a number"))
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
