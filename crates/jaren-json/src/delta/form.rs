//! The JSON form of a batch: an array of tuples (durable D1, D2).

use super::error::{DeltaError, DeltaErrorKind};
use super::op::{Op, Path, Segment};
use super::{PATH_MAX, is_reserved};
use crate::write::{self, Numbers, Style};
use crate::{Array, NotJson, Str, Value, number};

type Formed<T> = Result<T, DeltaError>;

/// The JSON form of a batch.
pub fn ops_to_value(ops: &[Op]) -> Value {
    ops.iter().map(op_to_value).collect()
}

fn op_to_value(op: &Op) -> Value {
    match op {
        Op::Replace(value) => tuple("r", [value.clone()]),
        Op::Set { path, value } => tuple("s", [path_to_value(path), value.clone()]),
        Op::Delete { path } => tuple("d", [path_to_value(path)]),
        Op::Append { path, text } => tuple("a", [path_to_value(path), Value::from(text)]),
        Op::Trim { path, units } => tuple("t", [path_to_value(path), count_to_value(*units)]),
        Op::Splice { path, index, remove, items } => {
            let items = Value::Array(Array::from(items.as_slice()));
            tuple("p", [path_to_value(path), count_to_value(*index), count_to_value(*remove), items])
        }
        Op::Reorder { path, order } => {
            tuple("m", [path_to_value(path), order.iter().map(|index| count_to_value(*index)).collect()])
        }
    }
}

fn tuple<const N: usize>(verb: &str, rest: [Value; N]) -> Value {
    std::iter::once(Value::from(verb)).chain(rest).collect()
}

fn path_to_value(path: &[Segment]) -> Value {
    let segments = path.iter().map(|segment| match segment {
        Segment::Key(name) => Value::from(name),
        Segment::Index(index) => count_to_value(*index),
    });
    segments.collect()
}

fn count_to_value(count: u64) -> Value {
    // A count beyond 2^53 reaches behind the end of any array or string, as the nearest double does.
    Value::from_count(count)
}

/// The text of the JSON form of a batch: what [`to_text`](crate::to_text) makes of [`ops_to_value`], in one pass.
pub fn ops_to_text(ops: &[Op]) -> Result<String, NotJson> {
    /// Mostly enough, so that the text is not moved as it grows.
    const TYPICAL_OP_BYTES: usize = 64;
    let mut out = Vec::with_capacity(ops.len().saturating_mul(TYPICAL_OP_BYTES));
    for (index, op) in ops.iter().enumerate() {
        out.push(if index == 0 { b'[' } else { b',' });
        if op_to_text(op, &mut out).is_err() {
            // A number without a JSON form: the whole batch knows where it stands.
            return crate::to_text(&ops_to_value(ops));
        }
    }
    out.extend_from_slice(if ops.is_empty() { b"[]" } else { b"]" });
    Ok(write::into_string(out))
}

pub(super) fn op_to_text(op: &Op, out: &mut Vec<u8>) -> Result<(), NotJson> {
    match op {
        Op::Replace(value) => {
            out.extend_from_slice(b"[\"r\",");
            value_to_text(value, out)?;
        }
        Op::Set { path, value } => {
            begin(b's', path, out);
            out.push(b',');
            value_to_text(value, out)?;
        }
        Op::Delete { path } => begin(b'd', path, out),
        Op::Append { path, text } => {
            begin(b'a', path, out);
            out.push(b',');
            write::string(text, out);
        }
        Op::Trim { path, units } => {
            begin(b't', path, out);
            out.push(b',');
            count_to_text(*units, out);
        }
        Op::Splice { path, index, remove, items } => {
            begin(b'p', path, out);
            for count in [index, remove] {
                out.push(b',');
                count_to_text(*count, out);
            }
            out.push(b',');
            list(items, out, value_to_text)?;
        }
        Op::Reorder { path, order } => {
            begin(b'm', path, out);
            out.push(b',');
            list(order, out, |index, out| {
                count_to_text(*index, out);
                Ok(())
            })?;
        }
    }
    out.push(b']');
    Ok(())
}

/// The verb and the path.
fn begin(verb: u8, path: &[Segment], out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'[', b'"', verb, b'"', b',']);
    // A segment has a text whatever it is.
    let _ = list(path, out, |segment, out| {
        match segment {
            Segment::Key(name) => write::string(name, out),
            Segment::Index(index) => count_to_text(*index, out),
        }
        Ok(())
    });
}

/// The verb and a path of members.
pub(super) fn begin_at(verb: u8, path: &[&str], out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'[', b'"', verb, b'"', b',']);
    let _ = list(path, out, |name, out| {
        write::string(name, out);
        Ok(())
    });
}

fn list<T>(
    items: &[T],
    out: &mut Vec<u8>,
    mut write: impl FnMut(&T, &mut Vec<u8>) -> Result<(), NotJson>,
) -> Result<(), NotJson> {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out)?;
    }
    out.push(b']');
    Ok(())
}

pub(super) fn value_to_text(value: &Value, out: &mut Vec<u8>) -> Result<(), NotJson> {
    write::write(value, Style::Compact, Numbers::Refuse, out)
}

fn count_to_text(count: u64, out: &mut Vec<u8>) {
    // As `count_to_value` has it.
    #[expect(clippy::cast_precision_loss, reason = "see there")]
    number::write(count as f64, out);
}

/// Reads the JSON form of a batch.
pub fn ops_from_value(batch: &Value) -> Result<Vec<Op>, DeltaError> {
    let Some(batch) = batch.as_array() else { return Err(form("a batch is an array of operations")) };
    batch
        .iter()
        .enumerate()
        .map(|(index, op)| op_from_value(op).map_err(|error| error.of_op(index)))
        .collect()
}

#[cold]
fn form(message: &'static str) -> DeltaError {
    DeltaError::new(DeltaErrorKind::Form(message), &[])
}

fn op_from_value(op: &Value) -> Formed<Op> {
    let Some([verb, rest @ ..]) = op.as_array().map(Array::as_slice) else {
        return Err(form("op is not a tuple"));
    };
    let Some(verb) = verb.as_str() else {
        return Err(form("op is not a tuple: it begins with its verb, a string"));
    };
    match (verb, rest) {
        ("r", [value]) => Ok(Op::Replace(value.clone())),
        ("s", [at, value]) => Ok(Op::Set { path: below_root(at)?, value: value.clone() }),
        ("d", [at]) => Ok(Op::Delete { path: below_root(at)? }),
        ("a", [at, Value::String(text)]) => Ok(Op::Append { path: below_root(at)?, text: text.clone() }),
        ("a", [_, _]) => Err(form("a text is not a string")),
        ("t", [at, units]) => {
            Ok(Op::Trim { path: below_root(at)?, units: count(units, "t n is not a non-negative integer")? })
        }
        ("p", [at, index, remove, Value::Array(items)]) => Ok(Op::Splice {
            path: path(at)?,
            index: count(index, "p index is not a non-negative integer")?,
            remove: count(remove, "p remove is not a non-negative integer")?,
            items: items.to_vec(),
        }),
        ("p", [_, _, _, _]) => Err(form("p items is not an array")),
        ("m", [at, Value::Array(order)]) => Ok(Op::Reorder { path: path(at)?, order: permutation(order)? }),
        ("m", [_, _]) => Err(form("m permutation is not a bijection: it is not an array")),
        ("r", _) => Err(form("r arity: it is [\"r\", value]")),
        ("s", _) => Err(form("s arity: it is [\"s\", path, value]")),
        ("d", _) => Err(form("d arity: it is [\"d\", path]")),
        ("a", _) => Err(form("a arity: it is [\"a\", path, text]")),
        ("t", _) => Err(form("t arity: it is [\"t\", path, n]")),
        ("p", _) => Err(form("p arity: it is [\"p\", path, index, remove, items]")),
        ("m", _) => Err(form("m arity: it is [\"m\", path, permutation]")),
        _ => Err(form("unknown verb: it is one of r, s, d, a, t, p, m")),
    }
}

fn below_root(value: &Value) -> Formed<Path> {
    match path(value)? {
        path if path.is_empty() => Err(form("path is empty: only r, p and m reach the root")),
        path => Ok(path),
    }
}

fn path(value: &Value) -> Formed<Path> {
    let Some(segments) = value.as_array() else { return Err(form("path is not an array")) };
    if segments.len() > PATH_MAX {
        return Err(form("path has more than 512 segments"));
    }
    let mut path = Path::with_capacity(segments.len());
    for value in segments {
        path.push(segment(value).map_err(|kind| DeltaError::new(kind, &path))?);
    }
    check(&path).map(|()| path)
}

fn segment(value: &Value) -> Result<Segment, DeltaErrorKind> {
    match value {
        Value::String(name) => Ok(Segment::Key(Str::clone(name))),
        Value::Number(_) => match value.as_u64() {
            Some(index) => Ok(Segment::Index(index)),
            None => Err(DeltaErrorKind::UnsafePath("an index is a non-negative integer")),
        },
        _ => Err(DeltaErrorKind::Form("a path holds names and indexes")),
    }
}

/// Refuses a path that nothing may take (durable D3).
pub(super) fn check(path: &[Segment]) -> Formed<()> {
    if path.len() > PATH_MAX {
        return Err(form("path has more than 512 segments"));
    }
    let reserved =
        path.iter().zip(1..).find(|(segment, _)| matches!(segment, Segment::Key(name) if is_reserved(name)));
    match reserved {
        None => Ok(()),
        Some((_, length)) => {
            let kind = DeltaErrorKind::UnsafePath("a reserved name: __proto__, constructor or prototype");
            Err(DeltaError::new(kind, path.get(..length).unwrap_or(path)))
        }
    }
}

fn count(value: &Value, message: &'static str) -> Formed<u64> {
    value.as_u64().ok_or_else(|| form(message))
}

fn permutation(order: &Array) -> Formed<Vec<u64>> {
    let message = "m permutation is not a bijection: an entry is not an index";
    let order = order.iter().map(|index| count(index, message)).collect::<Formed<Vec<u64>>>()?;
    is_bijection(&order).then_some(order).ok_or_else(|| form("m permutation is not a bijection"))
}

/// Whether every index below the length stands there once.
pub(super) fn is_bijection(order: &[u64]) -> bool {
    let mut seen = vec![false; order.len()];
    order.iter().all(|index| {
        let slot = usize::try_from(*index).ok().and_then(|index| seen.get_mut(index));
        slot.is_some_and(|seen| !std::mem::replace(seen, true))
    })
}
