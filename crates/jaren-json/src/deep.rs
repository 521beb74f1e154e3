//! Depth of values, and the drop of deep ones without recursion.

use triomphe::Arc;

use crate::Value;
use crate::array::ArrayArc;
use crate::object::ObjectArc;

/// Values up to this depth are dropped by plain recursion, deeper ones by [`dismantle`].
pub(crate) const DEPTH_DIRECT: u32 = 64;

/// What is known of a value without a look inside: its depth, and whether it holds a number that JSON does not have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent(u32);

impl Extent {
    const DEPTH_ONE: u32 = 2;
    const WILD: u32 = 1;

    /// Of a scalar.
    #[inline]
    pub(crate) fn of_scalar(is_json: bool) -> Self {
        Self(u32::from(!is_json))
    }

    /// Of a value of that depth whose numbers are all JSON.
    #[inline]
    pub(crate) fn of_depth(depth: u32) -> Self {
        Self(depth.min(u32::MAX / Self::DEPTH_ONE) * Self::DEPTH_ONE)
    }

    /// Of several values together.
    #[inline]
    pub(crate) fn join(self, other: Self) -> Self {
        Self(self.0.max(other.0) | ((self.0 | other.0) & Self::WILD))
    }

    /// Of a container of what this is of.
    #[inline]
    pub(crate) fn around(self) -> Self {
        Self(self.0.checked_add(Self::DEPTH_ONE).unwrap_or(self.0))
    }

    /// Of a container of these values.
    #[inline]
    pub(crate) fn over(values: &[Value]) -> Self {
        values.iter().map(Value::extent).fold(Self(0), Self::join).around()
    }

    #[inline]
    pub(crate) fn depth(self) -> u32 {
        self.0 / Self::DEPTH_ONE
    }

    #[inline]
    pub(crate) fn is_json(self) -> bool {
        self.0 & Self::WILD == 0
    }
}

/// The shared part of a container, taken out of it so that its own drop does nothing.
pub(crate) enum Part {
    Array(ArrayArc),
    Object(ObjectArc),
}

/// Drops a deep container with a work list in the place of the stack.
///
/// Only parts that nobody else holds are taken apart. Where two threads let go of the same part at the same time
/// neither may see itself alone; then the part is dropped in the ordinary way, one level down, and comes back here.
#[cold]
#[inline(never)]
pub(crate) fn dismantle(part: Part) {
    let mut pending = vec![part];
    while let Some(part) = pending.pop() {
        match part {
            Part::Array(mut arc) => arc.with_arc_mut(|arc| {
                if let Some(part) = Arc::get_mut(arc) {
                    take_deep(part.slice_mut(), &mut pending);
                }
            }),
            Part::Object(mut arc) => arc.with_arc_mut(|arc| {
                if let Some(part) = Arc::get_mut(arc) {
                    take_deep(part.slice_mut(), &mut pending);
                }
            }),
        }
    }
}

/// Moves the deep ones of these values onto the work list.
fn take_deep(values: &mut [Value], pending: &mut Vec<Part>) {
    for value in values {
        if value.depth() <= DEPTH_DIRECT {
            continue;
        }
        match std::mem::take(value) {
            Value::Array(mut array) => pending.extend(array.take_arc().map(Part::Array)),
            Value::Object(mut object) => pending.extend(object.take_arc().map(Part::Object)),
            _ => {}
        }
    }
}
