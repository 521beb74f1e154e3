//! Arrays: elements in one shared allocation behind one word.

use std::fmt;
use std::ops::Deref;

use triomphe::ThinArc;

use crate::Value;
use crate::deep::{self, Extent};
use crate::patched::{self, Changes, Patched};

/// An immutable array of values, cheap to clone; it dereferences to `[Value]`.
///
/// Equality is element by element, with the laws of [`Value`].
#[derive(Clone, Default)]
pub struct Array(Option<ArrayArc>);

/// The elements, with what is known of them before them.
pub(crate) type ArrayArc = ThinArc<Header, Value>;

/// What stands before an array's elements.
pub(crate) enum Header {
    /// The elements follow.
    Plain(Extent),
    /// A large array of which a few elements were changed: none follow.
    Patched(Box<Patched>),
}

impl Array {
    /// The elements in order.
    #[inline]
    pub fn as_slice(&self) -> &[Value] {
        match &self.0 {
            Some(arc) => match &arc.header.header {
                Header::Plain(_) => &arc.slice,
                Header::Patched(patched) => patched.plain().as_slice(),
            },
            None => &[],
        }
    }

    /// How many elements it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.patched().map_or_else(|| self.as_slice().len(), Patched::len)
    }

    /// Whether it has no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The element at that index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Value> {
        match self.patched() {
            None => self.as_slice().get(index),
            Some(patched) => patched.get(index),
        }
    }

    /// The same array with other elements at some indexes; at those that have no element nothing is put.
    ///
    /// A large array shares its elements with the new one as a whole where few are changed: changing one of `n` costs at
    /// most O(√n), in time and in memory, and [`diff`](crate::delta::diff) finds it as fast. The first look at such an
    /// array as a slice costs O(n) in both: the plain form that it makes lives as long as the array.
    #[must_use]
    pub fn with_each(&self, changes: impl IntoIterator<Item = (usize, Value)>) -> Self {
        let mut changes: Changes = changes.into_iter().filter(|(index, _)| *index < self.len()).collect();
        if changes.is_empty() {
            return self.clone();
        }
        let base = match self.patched() {
            None => self,
            Some(patched) => patched.before(&mut changes),
        };
        match Patched::new(base, changes) {
            Ok(patched) => {
                let header = Header::Patched(Box::new(patched));
                Self(Some(ThinArc::from_header_and_iter(header, std::iter::empty())))
            }
            Err(changes) => patched::plain(base, &changes),
        }
    }

    /// The changes, where it is a large array of which a few elements were changed.
    #[inline]
    pub(crate) fn patched(&self) -> Option<&Patched> {
        match &self.0.as_ref()?.header.header {
            Header::Plain(_) => None,
            Header::Patched(patched) => Some(patched),
        }
    }

    /// Whether both are the same allocation (two empty arrays are).
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.ptr() == b.ptr(),
            (None, None) => true,
            _ => false,
        }
    }

    /// How many containers lie on the deepest way down, this one included; at most 2^31 - 1.
    #[inline]
    pub fn depth(&self) -> u32 {
        self.extent().depth()
    }

    /// How large it is with each shared part counted wherever it stands: see [`Value::size`].
    #[inline]
    pub fn size(&self) -> u32 {
        self.extent().size()
    }

    #[inline]
    pub(crate) fn extent(&self) -> Extent {
        match &self.0 {
            Some(arc) => match &arc.header.header {
                Header::Plain(extent) => *extent,
                Header::Patched(patched) => patched.extent(),
            },
            None => Extent::EMPTY,
        }
    }

    /// An array of exactly these elements.
    #[inline]
    pub(crate) fn from_exact(elements: impl ExactSizeIterator<Item = Value>, extent: Extent) -> Self {
        if elements.len() == 0 {
            return Self(None);
        }
        Self(Some(ThinArc::from_header_and_iter(Header::Plain(extent), elements)))
    }

    /// The shared part, leaving an empty array behind.
    pub(crate) fn take_arc(&mut self) -> Option<ArrayArc> {
        self.0.take()
    }
}

impl Drop for Array {
    #[inline]
    fn drop(&mut self) {
        if self.depth() > deep::DEPTH_DIRECT
            && let Some(arc) = self.0.take()
        {
            deep::dismantle(deep::Part::Array(arc));
        }
    }
}

impl Deref for Array {
    type Target = [Value];

    #[inline]
    fn deref(&self) -> &[Value] {
        self.as_slice()
    }
}

impl From<Vec<Value>> for Array {
    fn from(elements: Vec<Value>) -> Self {
        let extent = Extent::over(&elements);
        Self::from_exact(elements.into_iter(), extent)
    }
}

/// Of values taken out of a list, which a producer of many arrays fills again.
impl From<std::vec::Drain<'_, Value>> for Array {
    fn from(elements: std::vec::Drain<'_, Value>) -> Self {
        let extent = Extent::over(elements.as_slice());
        Self::from_exact(elements, extent)
    }
}

impl From<&[Value]> for Array {
    fn from(elements: &[Value]) -> Self {
        Self::from_exact(elements.iter().cloned(), Extent::over(elements))
    }
}

impl<V: Into<Value>> FromIterator<V> for Array {
    fn from_iter<I: IntoIterator<Item = V>>(elements: I) -> Self {
        Self::from(elements.into_iter().map(Into::into).collect::<Vec<Value>>())
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        crate::equal::arrays(self, other)
    }
}

impl Eq for Array {}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Value::Array(self.clone()), f)
    }
}
