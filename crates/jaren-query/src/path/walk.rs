//! The walk of a compiled path over a value, in the order of RFC 9535.

use std::convert::Infallible;

use jaren_json::Value;

use super::filter::View;
use super::{Leap, Path, Selector, Step};
use crate::budget::{Budget, Spent};

/// Follows single steps; `None` where one of them finds nothing.
#[inline(always)]
#[expect(clippy::inline_always, reason = "most operands are one name, and a call costs as much as the step")]
pub(crate) fn step_into<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    match (steps, value) {
        ([Step::Name(name)], Value::Object(object)) => object.get_named(name),
        _ => steps_into(value, steps),
    }
}

#[inline(never)]
fn steps_into<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |node, step| step.child(node))
}

/// What a walk keeps of each node beside its value.
///
/// A walk that only needs values is tracked by `()`; one that needs to know where they stand names each node by a place.
pub trait Track {
    /// Where a node stands.
    type Place: Copy;
    /// Whether places tell nodes apart. Where they do not, a walk names none.
    const TELLS: bool = true;

    /// The place of the child at `position` among the elements or members of `parent`, which stands at `place`.
    fn child(&mut self, place: Self::Place, parent: &Value, position: usize) -> Self::Place;
}

impl Track for () {
    type Place = ();
    const TELLS: bool = false;

    #[inline]
    fn child(&mut self, (): (), _: &Value, _: usize) {}
}

/// What a walk needs beside its nodes.
#[derive(Clone, Copy)]
pub(crate) struct Around<'c> {
    /// The document: `$` in filters.
    pub(crate) root: &'c Value,
    pub(crate) budget: &'c Budget,
}

/// Why a walk ended early.
#[derive(Debug)]
pub(crate) enum Halt<E> {
    /// Its budget is spent.
    Spent,
    /// Whoever received its nodes said so.
    By(E),
}

impl<E> From<Spent> for Halt<E> {
    fn from(_: Spent) -> Self {
        Self::Spent
    }
}

/// A node of a walk.
type Node<'v, T> = (&'v Value, <T as Track>::Place);
/// What receives the nodes that a walk finds, in order.
pub(crate) type Found<'f, 'v, T, E> = &'f mut dyn FnMut(&mut T, Node<'v, T>) -> Result<(), E>;

/// Follows single steps with their places; `None` where one of them finds nothing.
#[inline]
fn track_into<'v, T: Track>(track: &mut T, node: Node<'v, T>, steps: &[Step]) -> Option<Node<'v, T>> {
    let (mut value, mut place) = node;
    if !T::TELLS && !steps.is_empty() {
        return Some((step_into(value, steps)?, place));
    }
    for step in steps {
        let position = step.position(value)?;
        let child = children(value).get(position)?;
        place = track.child(place, value, position);
        value = child;
    }
    Some((value, place))
}

impl Path {
    /// Calls `found` with each node that the path selects from `start`, in order.
    pub(crate) fn walk<'v, T: Track>(
        &self,
        track: &mut T,
        around: Around<'_>,
        start: Node<'v, T>,
        found: &mut dyn FnMut(&mut T, Node<'v, T>),
    ) -> Result<(), Spent> {
        let Some(node) = track_into(track, start, &self.head) else { return Ok(()) };
        let walked = walk::<_, Infallible>(track, around, node, &self.leaps, &mut |track, node| {
            found(track, node);
            Ok(())
        });
        match walked {
            Ok(()) => Ok(()),
            Err(Halt::Spent) => Err(Spent),
            Err(Halt::By(never)) => match never {},
        }
    }
}

/// Calls `found` with each node that `leaps` select from a node, in order; stops when it answers an error.
/// Recursion is bounded by the number of leaps.
pub(crate) fn walk<'v, T: Track, E>(
    track: &mut T,
    around: Around<'_>,
    node: Node<'v, T>,
    leaps: &[Leap],
    found: Found<'_, 'v, T, E>,
) -> Result<(), Halt<E>> {
    let Some((leap, rest)) = leaps.split_first() else { return found(track, node).map_err(Halt::By) };
    let last = rest.is_empty();
    if last && leap.is_all() {
        return leap.all(track, around, node, found);
    }
    let mut onward = |track: &mut T, child: Node<'v, T>| match track_into(track, child, &leap.then) {
        Some(node) if last => found(track, node).map_err(Halt::By),
        Some(node) => walk(track, around, node, rest, found),
        None => Ok(()),
    };
    if !leap.descendant {
        return leap.select(track, around, node, &mut onward);
    }
    // Preorder: a node before its descendants, children in their own order (RFC 9535 2.5.2.2).
    let mut waiting = vec![node];
    while let Some((value, place)) = waiting.pop() {
        leap.select(track, around, (value, place), &mut onward)?;
        // What has no children would find nothing below it.
        let below = children(value).iter().enumerate().rev().filter(|(_, child)| !children(child).is_empty());
        waiting.extend(below.map(|(position, child)| (child, track.child(place, value, position))));
    }
    Ok(())
}

/// The elements of an array or the values of an object's members.
fn children(value: &Value) -> &[Value] {
    match value {
        Value::Array(array) => array,
        Value::Object(object) => object.values(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => &[],
    }
}

impl Step {
    #[inline]
    fn child<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (self, value) {
            (Self::Name(name), Value::Object(object)) => object.get_named(name),
            (Self::Index(index), Value::Array(array)) => array.get(position(*index, array.len())?),
            _ => None,
        }
    }

    /// Where the child stands among the elements or members; past the end is the caller's to find out.
    fn position(&self, value: &Value) -> Option<usize> {
        match (self, value) {
            (Self::Name(name), Value::Object(object)) => object.shape()?.position_of(name),
            (Self::Index(index), Value::Array(array)) => position(*index, array.len()),
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
    /// Whether it selects all children, and them alone: `[*]`, with which most queries begin.
    #[inline]
    fn is_all(&self) -> bool {
        !self.descendant && matches!(self.selectors[..], [Selector::Wildcard])
    }

    /// What the single steps after `[*]` find in each child. As the general walk has it, without looking at each child for
    /// selectors and further leaps.
    fn all<'v, T: Track, E>(
        &self,
        track: &mut T,
        around: Around<'_>,
        (value, place): Node<'v, T>,
        found: Found<'_, 'v, T, E>,
    ) -> Result<(), Halt<E>> {
        around.budget.spend(1)?;
        for (position, child) in children(value).iter().enumerate() {
            around.budget.spend(1)?;
            let place = if T::TELLS { track.child(place, value, position) } else { place };
            if let Some(node) = track_into(track, (child, place), &self.then) {
                found(track, node).map_err(Halt::By)?;
            }
        }
        Ok(())
    }

    fn select<'v, T: Track, E>(
        &self,
        track: &mut T,
        around: Around<'_>,
        (value, place): Node<'v, T>,
        found: Found<'_, 'v, T, Halt<E>>,
    ) -> Result<(), Halt<E>> {
        let all = children(value);
        let mut visit = |position: usize| match all.get(position) {
            Some(child) => {
                around.budget.spend(1)?;
                let place = track.child(place, value, position);
                found(track, (child, place))
            }
            None => Ok(()),
        };
        around.budget.spend(1)?;
        for selector in &self.selectors {
            match (selector, value) {
                (Selector::Step(step), _) => step.position(value).map_or(Ok(()), &mut visit)?,
                (Selector::Wildcard, _) => (0..all.len()).try_for_each(&mut visit)?,
                (Selector::Slice { start, end, step }, Value::Array(_)) => {
                    slice(all.len(), *start, *end, step.unwrap_or(1), &mut visit)?;
                }
                (Selector::Slice { .. }, _) => {}
                (Selector::Filter(filter), _) => {
                    for (position, node) in all.iter().enumerate() {
                        around.budget.spend(1)?;
                        let passes = filter.passes(View { node, root: around.root, budget: around.budget });
                        if around.budget.left() == 0 {
                            return Err(Halt::Spent); // the answer may be wrong
                        }
                        if passes {
                            visit(position)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Array slices (RFC 9535 2.3.4.2).
fn slice<E>(
    len: usize,
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
    visit: &mut impl FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    let Ok(len) = i64::try_from(len) else { return Ok(()) };
    let from_end = |bound: i64| if bound < 0 { bound.saturating_add(len) } else { bound };
    let mut visit = |at: i64| usize::try_from(at).map_or(Ok(()), &mut *visit);
    if step > 0 {
        let upper = end.map_or(len, from_end).clamp(0, len);
        let mut at = start.map_or(0, from_end).clamp(0, len);
        while at < upper {
            visit(at)?;
            at = at.saturating_add(step);
        }
    } else if step < 0 {
        let lower = end.map_or(-1, from_end).clamp(-1, len - 1);
        let mut at = start.map_or(len - 1, from_end).clamp(-1, len - 1);
        while at > lower {
            visit(at)?;
            at = at.saturating_add(step);
        }
    }
    Ok(())
}
