//! The walk of a compiled path over a value, in the order of RFC 9535.

use jaren_json::Value;

use super::{Leap, Selector, Step};

/// Follows single steps; `None` where one of them finds nothing.
#[inline]
pub(crate) fn step_into<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    let mut node = value;
    for step in steps {
        node = step.child(node)?;
    }
    Some(node)
}

/// Calls `found` with each node that `leaps` select from `value`, in order; stops when it answers an error.
/// Recursion is bounded by the number of leaps.
pub(crate) fn walk<'v, E>(
    value: &'v Value,
    leaps: &[Leap],
    found: &mut dyn FnMut(&'v Value) -> Result<(), E>,
) -> Result<(), E> {
    let Some((leap, rest)) = leaps.split_first() else { return found(value) };
    let mut onward = |child: &'v Value| match step_into(child, &leap.then) {
        Some(node) => walk(node, rest, found),
        None => Ok(()),
    };
    if !leap.descendant {
        return leap.select(value, &mut onward);
    }
    // Preorder: a node before its descendants, children in their own order (RFC 9535 2.5.2.2).
    let mut waiting = vec![value];
    while let Some(node) = waiting.pop() {
        leap.select(node, &mut onward)?;
        match node {
            Value::Array(array) => waiting.extend(array.iter().rev()),
            Value::Object(object) => {
                let from = waiting.len();
                waiting.extend(object.iter().map(|(_, member)| member));
                if let Some(added) = waiting.get_mut(from..) {
                    added.reverse();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

impl Step {
    #[inline]
    fn child<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (self, value) {
            (Self::Name(name, hint), Value::Object(object)) => object.get_hinted(name, hint),
            (Self::Index(index), Value::Array(array)) => array.get(position(*index, array.len())?),
            _ => None,
        }
    }
}

/// The position that an index names in an array of `len` elements; past the end is the caller's to find out.
fn position(index: i64, len: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

impl Leap {
    fn select<'v, E>(
        &self,
        value: &'v Value,
        found: &mut dyn FnMut(&'v Value) -> Result<(), E>,
    ) -> Result<(), E> {
        for selector in &self.selectors {
            match (selector, value) {
                (Selector::Step(step), _) => step.child(value).map_or(Ok(()), &mut *found)?,
                (Selector::Wildcard, Value::Array(array)) => array.iter().try_for_each(&mut *found)?,
                (Selector::Wildcard, Value::Object(object)) => {
                    object.iter().try_for_each(|(_, member)| found(member))?;
                }
                (Selector::Slice { start, end, step }, Value::Array(array)) => {
                    slice(array, *start, *end, *step, found)?;
                }
                (Selector::Wildcard | Selector::Slice { .. }, _) => {}
            }
        }
        Ok(())
    }
}

/// Array slices (RFC 9535 2.3.4.2).
fn slice<'v, E>(
    array: &'v [Value],
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
    found: &mut dyn FnMut(&'v Value) -> Result<(), E>,
) -> Result<(), E> {
    let Ok(len) = i64::try_from(array.len()) else { return Ok(()) };
    let from_end = |bound: i64| if bound < 0 { bound.saturating_add(len) } else { bound };
    let visit = |at: i64| usize::try_from(at).ok().and_then(|at| array.get(at));
    if step > 0 {
        let upper = end.map_or(len, from_end).clamp(0, len);
        let mut at = start.map_or(0, from_end).clamp(0, len);
        while at < upper {
            visit(at).map_or(Ok(()), &mut *found)?;
            at = at.saturating_add(step);
        }
    } else if step < 0 {
        let lower = end.map_or(-1, from_end).clamp(-1, len - 1);
        let mut at = start.map_or(len - 1, from_end).clamp(-1, len - 1);
        while at > lower {
            visit(at).map_or(Ok(()), &mut *found)?;
            at = at.saturating_add(step);
        }
    }
    Ok(())
}
