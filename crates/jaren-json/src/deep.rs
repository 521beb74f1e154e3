//! Depth of values, and the drop of deep ones without recursion.

use triomphe::Arc;

use crate::Value;
use crate::array::ArrayArc;
use crate::object::ObjectArc;

/// Values up to this depth are dropped by plain recursion, deeper ones by [`dismantle`].
pub(crate) const DEPTH_DIRECT: u32 = 64;

/// The depth of a container of these values.
#[inline]
pub(crate) fn depth_over(values: &[Value]) -> u32 {
    values.iter().map(Value::depth).max().unwrap_or(0).saturating_add(1)
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
