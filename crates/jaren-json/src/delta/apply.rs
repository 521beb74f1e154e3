//! Carrying out a batch (durable D4 to D8).

use super::error::{DeltaError, DeltaErrorKind};
use super::form::{check, is_bijection};
use super::op::{Op, Segment};
use super::text::offset_after;
use crate::object::MemberList;
use crate::{Array, Object, Str, Value};

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

/// A value that is being changed. Only what a path went through is taken apart, once, whatever the number of operations.
enum Draft {
    Shared(Value),
    Array(Vec<Draft>),
    Object(MemberList<Draft>),
    /// A text, and how many bytes at its start are gone.
    Text(String, usize),
}

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

type Changed = Result<(), DeltaErrorKind>;

const NAME_IN_ARRAY: DeltaErrorKind = DeltaErrorKind::UnsafePath("an array has indexes and no names");

impl Draft {
    /// Takes a container or a text apart, so that it can be changed.
    fn open(&mut self) {
        let Self::Shared(value) = self else { return };
        let opened = match value {
            Value::Array(array) => Self::Array(array.iter().cloned().map(Draft::Shared).collect()),
            Value::Object(object) => {
                let items = object.values().iter().cloned().map(Draft::Shared).collect();
                Self::Object(MemberList::from_distinct(object.keys().to_vec(), items))
            }
            Value::String(text) => Self::Text(String::from(text.as_str()), 0),
            _ => return,
        };
        *self = opened;
    }

    /// Goes down a path of own members and existing elements (durable D4).
    fn follow(&mut self, path: &[Segment]) -> Result<&mut Self, DeltaError> {
        let mut draft = self;
        for (segment, length) in path.iter().zip(1..) {
            let at = |kind| DeltaError::new(kind, path.get(..length).unwrap_or(path));
            draft.open();
            draft = match (draft, segment) {
                (Self::Array(elements), Segment::Index(index)) => position(*index)
                    .and_then(|index| elements.get_mut(index))
                    .ok_or_else(|| at(NO_ELEMENT))?,
                (Self::Array(_), Segment::Key(_)) => return Err(at(NAME_IN_ARRAY)),
                (Self::Object(members), segment) => {
                    members.get_mut(&name(segment)).ok_or_else(|| at(NO_MEMBER))?
                }
                _ => return Err(at(DeltaErrorKind::Path("an object or array on its way"))),
            };
        }
        Ok(draft)
    }

    fn set(&mut self, segment: &Segment, value: &Value) -> Changed {
        self.open();
        match (self, segment) {
            (Self::Array(elements), Segment::Index(index)) => match position(*index) {
                Some(index) if index == elements.len() => elements.push(Self::Shared(value.clone())),
                index => match index.and_then(|index| elements.get_mut(index)) {
                    Some(element) => *element = Self::Shared(value.clone()),
                    None => return Err(DeltaErrorKind::UnsafePath("an index is at most the array's length")),
                },
            },
            (Self::Array(_), Segment::Key(_)) => return Err(NAME_IN_ARRAY),
            (Self::Object(members), segment) => {
                members.set(name(segment), Self::Shared(value.clone()));
            }
            _ => return Err(DeltaErrorKind::Path("an object or array to set in")),
        }
        Ok(())
    }

    fn delete(&mut self, segment: &Segment) -> Changed {
        self.open();
        match (self, segment) {
            (Self::Array(elements), Segment::Index(index)) => match position(*index) {
                Some(index) if index < elements.len() => drop(elements.remove(index)),
                Some(index) if index == elements.len() => return Err(NO_ELEMENT),
                _ => return Err(DeltaErrorKind::UnsafePath("an index is at most the array's length")),
            },
            (Self::Array(_), Segment::Key(_)) => return Err(NAME_IN_ARRAY),
            (Self::Object(members), segment) => members.remove(&name(segment)),
            _ => return Err(DeltaErrorKind::Path("an object or array to delete from")),
        }
        Ok(())
    }

    fn append(&mut self, added: &str) -> Changed {
        self.open();
        let Self::Text(text, _) = self else { return Err(NO_STRING) };
        text.push_str(added);
        Ok(())
    }

    fn trim(&mut self, units: u64) -> Changed {
        self.open();
        let Self::Text(text, gone) = self else { return Err(NO_STRING) };
        let rest = text.get(*gone..).unwrap_or_default();
        *gone += offset_after(rest, units).ok_or(DeltaErrorKind::SplitsSurrogatePair)?;
        Ok(())
    }

    fn splice(&mut self, index: u64, remove: u64, items: &[Value]) -> Changed {
        self.open();
        let Self::Array(elements) = self else { return Err(NO_ARRAY) };
        let clamp = |count: u64, max: usize| position(count).map_or(max, |count| count.min(max));
        let start = clamp(index, elements.len());
        let end = start + clamp(remove, elements.len() - start);
        elements.splice(start..end, items.iter().cloned().map(Self::Shared));
        Ok(())
    }

    fn reorder(&mut self, order: &[u64]) -> Changed {
        self.open();
        let Self::Array(elements) = self else { return Err(NO_ARRAY) };
        if !is_bijection(order) {
            return Err(DeltaErrorKind::Form("m permutation is not a bijection"));
        }
        if order.len() != elements.len() {
            return Err(DeltaErrorKind::Path("an array of the permutation's length"));
        }
        let mut old: Vec<Option<Self>> = std::mem::take(elements).into_iter().map(Some).collect();
        let moved =
            order.iter().filter_map(|from| position(*from).and_then(|from| old.get_mut(from)?.take()));
        elements.extend(moved);
        Ok(())
    }

    /// The value; recursion goes only where paths went, and those are bounded.
    fn finish(self) -> Value {
        match self {
            Self::Shared(value) => value,
            Self::Array(elements) => Value::Array(elements.into_iter().map(Self::finish).collect::<Array>()),
            Self::Object(members) => {
                let (names, items) = members.into_parts();
                Value::Object(Object::from_distinct(names, items.into_iter().map(Self::finish).collect()))
            }
            Self::Text(text, gone) => Value::from(text.get(gone..).unwrap_or_default()),
        }
    }
}

const NO_MEMBER: DeltaErrorKind = DeltaErrorKind::Path("a member: there is none of this name");
const NO_ELEMENT: DeltaErrorKind = DeltaErrorKind::Path("an element: there is none at this index");
const NO_STRING: DeltaErrorKind = DeltaErrorKind::Path("a string");
const NO_ARRAY: DeltaErrorKind = DeltaErrorKind::Path("an array");

fn position(index: u64) -> Option<usize> {
    usize::try_from(index).ok()
}

/// The member's name that a segment means on an object (durable D4).
fn name(segment: &Segment) -> Str {
    match segment {
        Segment::Key(name) => name.clone(),
        Segment::Index(index) => Str::from(index.to_string()),
    }
}
