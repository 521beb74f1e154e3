//! Carrying out a batch (durable D4 to D8).

use super::draft::Draft;
use super::error::{DeltaError, DeltaErrorKind};
use super::form::check;
use super::op::{Op, Segment};
use crate::Value;

/// The value after a batch; what the batch does not touch is shared with the value before.
///
/// From nothing, the first operation is `r` (durable D7). After an error there is no half-changed value.
pub fn apply(value: Option<&Value>, ops: &[Op]) -> Result<Value, DeltaError> {
    let mut root = value.map(|value| Draft::Shared(value.clone()));
    for (index, op) in ops.iter().enumerate() {
        root = Some(step(root, op).map_err(|error| error.of_op(index))?);
    }
    match root {
        Some(root) => Ok(root.finish()),
        None => Err(DeltaError::new(NO_VALUE, &[])),
    }
}

const NO_VALUE: DeltaErrorKind = DeltaErrorKind::Path("a value: there is none before the first 'r'");

fn step(root: Option<Draft>, op: &Op) -> Result<Draft, DeltaError> {
    let (path, change) = match op {
        Op::Replace(value) => return Ok(Draft::Shared(value.clone())),
        Op::Set { path, value } => (path, Change::Set(value)),
        Op::Delete { path } => (path, Change::Delete),
        Op::Append { path, text } => (path, Change::Append(text)),
        Op::Trim { path, units } => (path, Change::Trim(*units)),
        Op::Splice { path, index, remove, items } => (path, Change::Splice(*index, *remove, items)),
        Op::Reorder { path, order } => (path, Change::Reorder(order)),
    };
    check(path)?;
    let mut root = root.ok_or_else(|| DeltaError::new(NO_VALUE, &[]))?;
    change.make(&mut root, path)?;
    Ok(root)
}

/// An operation without its path.
enum Change<'a> {
    Set(&'a Value),
    Delete,
    Append(&'a str),
    Trim(u64),
    Splice(u64, u64, &'a [Value]),
    Reorder(&'a [u64]),
}

impl Change<'_> {
    fn make(&self, root: &mut Draft, path: &[Segment]) -> Result<(), DeltaError> {
        let at = |kind| DeltaError::new(kind, path);
        match self {
            Self::Set(_) | Self::Delete => {
                let Some((last, way)) = path.split_last() else {
                    return Err(at(DeltaErrorKind::Form("path is empty: only r, p and m reach the root")));
                };
                let container = root.follow(way)?;
                match self {
                    Self::Set(value) => container.set(last, value),
                    _ => container.delete(last),
                }
                .map_err(at)
            }
            Self::Append(_) | Self::Trim(_) if path.is_empty() => {
                Err(at(DeltaErrorKind::Form("path is empty: only r, p and m reach the root")))
            }
            Self::Append(text) => root.follow(path)?.append(text).map_err(at),
            Self::Trim(units) => root.follow(path)?.trim(*units).map_err(at),
            Self::Splice(index, remove, items) => {
                root.follow(path)?.splice(*index, *remove, items).map_err(at)
            }
            Self::Reorder(order) => root.follow(path)?.reorder(order).map_err(at),
        }
    }
}
