//! Depth and size of values, and the drop of deep ones without recursion.

use std::num::NonZeroU32;

use triomphe::Arc;

use crate::array::ArrayArc;
use crate::object::ObjectArc;
use crate::{Str, Value};

/// Values up to this depth are dropped by plain recursion, deeper ones by [`dismantle`].
pub(crate) const DEPTH_DIRECT: u32 = 64;

/// Bytes of a text that count as one value more.
const TEXT_EACH: usize = 16;

/// What is known of a value without a look inside: its depth, whether it holds a number that JSON does not have, and its size
/// with each shared part counted wherever it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Twice the depth, and one more where a number is no JSON.
    depth: u32,
    /// Saturating. Never zero, so that the header of an object tells its two kinds apart by it.
    size: NonZeroU32,
}

impl Extent {
    const DEPTH_ONE: u32 = 2;
    const WILD: u32 = 1;

    /// Of a container before anything was put into it by [`Extent::join`] and it was closed by [`Extent::around`].
    pub(crate) const OPEN: Self = Self { depth: 0, size: NonZeroU32::MIN };
    /// Of an empty container.
    pub(crate) const EMPTY: Self = Self { depth: Self::DEPTH_ONE, size: NonZeroU32::MIN };

    /// Of a scalar that is no text.
    #[inline]
    pub(crate) fn of_scalar(is_json: bool) -> Self {
        Self { depth: u32::from(!is_json), size: NonZeroU32::MIN }
    }

    #[inline]
    pub(crate) fn of_text(text: &Str) -> Self {
        Self::OPEN.beside(text_size(text))
    }

    /// Of several values together.
    #[inline]
    pub(crate) fn join(self, other: Self) -> Self {
        let depth = self.depth.max(other.depth) | ((self.depth | other.depth) & Self::WILD);
        Self { depth, size: self.size.saturating_add(other.size.get()) }
    }

    /// The same with names or a text of that size.
    #[inline]
    pub(crate) fn beside(self, size: u32) -> Self {
        Self { size: self.size.saturating_add(size), ..self }
    }

    /// Of the container that was open.
    #[inline]
    pub(crate) fn around(self) -> Self {
        Self { depth: self.depth.checked_add(Self::DEPTH_ONE).unwrap_or(self.depth), ..self }
    }

    /// Of this container with others in the places of some values; what is joined of them begins with [`Extent::OPEN`].
    /// Nothing where all values have to be looked at: the deepest may be gone, or the last number that is no JSON.
    pub(crate) fn replaced(self, gone: Self, come: Self) -> Option<Self> {
        let inside = Self { depth: self.depth.checked_sub(Self::DEPTH_ONE)?, ..self };
        let is_known = self.size.get() < u32::MAX
            && (come.depth() >= inside.depth() || gone.depth() < inside.depth())
            && (inside.is_json() || gone.is_json() || !come.is_json());
        let size = self.size.get().checked_sub(gone.size.get())?.checked_add(come.size.get())?;
        let size = NonZeroU32::new(size).filter(|_| is_known)?;
        Some(Self { size, ..inside.join(come) }.around())
    }

    /// Of a container of these values.
    #[inline]
    pub(crate) fn over(values: &[Value]) -> Self {
        values.iter().map(Value::extent).fold(Self::OPEN, Self::join).around()
    }

    #[inline]
    pub(crate) fn depth(self) -> u32 {
        self.depth / Self::DEPTH_ONE
    }

    #[inline]
    pub(crate) fn is_json(self) -> bool {
        self.depth & Self::WILD == 0
    }

    #[inline]
    pub(crate) fn size(self) -> u32 {
        self.size.get()
    }
}

/// What a text or a name adds to the size of what it is in.
#[inline]
pub(crate) fn text_size(text: &str) -> u32 {
    u32::try_from(text.len() / TEXT_EACH).unwrap_or(u32::MAX)
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
