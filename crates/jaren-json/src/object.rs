//! Objects: a shape and the members' values in one shared allocation behind one word.

use std::fmt;

use triomphe::{Arc, ThinArc};

use crate::deep::{self, Extent};
use crate::grown::{self, Grown};
use crate::member_list::MemberList;
use crate::{MemberName, Shape, Str, Value};

/// An immutable object that keeps the order of its members, cheap to clone.
///
/// Equality does not see the order of members.
#[derive(Clone, Default)]
pub struct Object(Option<ObjectArc>);

/// The members' values, with the shape that names them before them.
pub(crate) type ObjectArc = ThinArc<Header, Value>;

/// What stands before an object's values.
pub(crate) enum Header {
    /// The values follow.
    Plain { extent: Extent, shape: Shape },
    /// A large object that was changed: no values follow.
    Grown { tree: Box<Grown> },
}

const _: () = assert!(size_of::<Header>() == 16, "a tree costs plain objects nothing");

impl Object {
    /// An object of that shape with these values, or nothing where their number is not the shape's.
    pub fn from_shape(shape: &Shape, values: Vec<Value>) -> Option<Self> {
        (shape.names().len() == values.len()).then(|| {
            let extent = Extent::over(&values);
            Self::from_exact(shape.clone(), values.into_iter(), extent)
        })
    }

    /// The same of values taken out of a list, which a producer of many objects fills again.
    pub fn from_shape_drain(shape: &Shape, values: std::vec::Drain<'_, Value>) -> Option<Self> {
        (shape.names().len() == values.len()).then(|| {
            let extent = Extent::over(values.as_slice());
            Self::from_exact(shape.clone(), values, extent)
        })
    }

    /// An object of that shape, of which `fill` makes the values in order where they stay: it is given the position of each,
    /// and its place, in which there is a null.
    ///
    /// A producer of many objects moves no value by this: to move a fresh one costs as much as to make it.
    #[inline]
    pub fn from_shape_fn(shape: &Shape, mut fill: impl FnMut(usize, &mut Value)) -> Self {
        let len = shape.names().len();
        if len == 0 {
            return Self(None);
        }
        let header = Header::Plain { extent: Extent::EMPTY, shape: shape.clone() };
        let mut arc = ThinArc::from_header_and_iter(header, (0..len).map(|_| Value::Null));
        arc.with_arc_mut(|arc| {
            // Nobody else has it yet.
            let Some(made) = Arc::get_mut(arc) else { return };
            for (position, value) in made.slice_mut().iter_mut().enumerate() {
                fill(position, value);
            }
            let over = Extent::over(made.slice()).beside(shape.size());
            if let Header::Plain { extent, .. } = made.header_mut() {
                *extent = over;
            }
        });
        Self(Some(arc))
    }

    /// An object of as many values as the shape has names; the extent is that of the values, without the names.
    #[inline]
    pub(crate) fn from_exact(
        shape: Shape,
        values: impl ExactSizeIterator<Item = Value>,
        extent: Extent,
    ) -> Self {
        debug_assert_eq!(shape.names().len(), values.len(), "a value for each name");
        if values.len() == 0 {
            return Self(None);
        }
        let extent = extent.beside(shape.size());
        Self(Some(ThinArc::from_header_and_iter(Header::Plain { extent, shape }, values)))
    }

    fn from_tree(tree: Grown) -> Self {
        let header = Header::Grown { tree: Box::new(tree) };
        Self(Some(ThinArc::from_header_and_iter(header, std::iter::empty())))
    }

    #[inline]
    fn header(&self) -> Option<&Header> {
        self.0.as_ref().map(|arc| &arc.header.header)
    }

    /// The tree of a large object that was changed.
    #[inline]
    pub(crate) fn tree(&self) -> Option<&Grown> {
        match self.header()? {
            Header::Grown { tree } => Some(tree),
            Header::Plain { .. } => None,
        }
    }

    /// How many members it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.tree().map_or_else(|| self.values().len(), Grown::len)
    }

    /// Whether it has no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The names of its members, in order.
    #[inline]
    pub fn keys(&self) -> &[Str] {
        self.shape().map_or(&[], Shape::names)
    }

    /// The values of its members, in order.
    #[inline]
    pub fn values(&self) -> &[Value] {
        match &self.0 {
            Some(arc) => match &arc.header.header {
                Header::Plain { .. } => &arc.slice,
                Header::Grown { tree, .. } => tree.plain().values(),
            },
            None => &[],
        }
    }

    /// Its shape, to make more objects of the same; the empty object has none.
    #[inline]
    pub fn shape(&self) -> Option<&Shape> {
        match self.header()? {
            Header::Plain { shape, .. } => Some(shape),
            Header::Grown { tree, .. } => tree.plain().shape(),
        }
    }

    /// The value of the member of that name.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let arc = self.0.as_ref()?;
        match &arc.header.header {
            Header::Plain { shape, .. } => arc.slice.get(shape.position(name)?),
            Header::Grown { tree, .. } => tree.get(name),
        }
    }

    /// The value of the member of that name, looked for first where it was found the last time.
    #[inline]
    pub fn get_named(&self, name: &MemberName) -> Option<&Value> {
        let arc = self.0.as_ref()?;
        if let Header::Plain { shape, .. } = &arc.header.header
            && let Some(position) = shape.position_guessed(name)
        {
            return arc.slice.get(position);
        }
        self.get_learned(name)
    }

    /// Out of the way of the callers whose guess is right: they are small then.
    #[inline(never)]
    fn get_learned(&self, name: &MemberName) -> Option<&Value> {
        match self.tree() {
            Some(tree) => tree.get(name.name()),
            None => self.values().get(self.shape()?.position_learned(name)?),
        }
    }

    /// Whether it has a member of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Its members in order.
    #[inline]
    pub fn iter(&self) -> Members<'_> {
        Members { names: self.keys().iter(), values: self.values().iter() }
    }

    /// Its members in canonical order: by the UTF-16 code units of their names.
    pub fn iter_sorted(&self) -> impl Iterator<Item = (&str, &Value)> {
        let member = |position: &u32| {
            let position = *position as usize;
            Some((self.keys().get(position)?.as_str(), self.values().get(position)?))
        };
        self.sorted_positions().iter().filter_map(member)
    }

    /// Where its members stand, in canonical order.
    #[inline]
    pub(crate) fn sorted_positions(&self) -> &[u32] {
        self.shape().map_or(&[], Shape::order)
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
        match self.header() {
            Some(Header::Plain { extent, .. }) => *extent,
            Some(Header::Grown { tree }) => tree.extent(),
            None => Extent::EMPTY,
        }
    }

    /// Whether both are the same allocation (two empty objects are).
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.ptr() == b.ptr(),
            (None, None) => true,
            _ => false,
        }
    }

    /// The same object with that member set: in its place where it exists, else as the last one.
    ///
    /// A large object becomes a tree by it, so that setting one member after the other of an object of `n` costs
    /// O(log n) each, in time and in memory, and [`diff`](crate::delta::diff) finds what was set as fast. The first
    /// look at all members of such an object, in order, costs O(n) in both: the plain form that it makes lives as long as
    /// the object.
    #[must_use]
    pub fn with(&self, name: impl Into<Str>, value: impl Into<Value>) -> Self {
        let (name, value) = (name.into(), value.into());
        if self.len() >= grown::GROWN_MIN && grown::is_shallow(self.depth(), &value) {
            return self.with_in_tree(name, value);
        }
        match self.shape() {
            None => Self::from_distinct(vec![name], vec![value]),
            Some(shape) => match shape.position(&name) {
                Some(position) => self.replaced(shape, position, value),
                None => self.extended(shape.with(name), value),
            },
        }
    }

    /// The same members, one of them with another value.
    fn replaced(&self, shape: &Shape, position: usize, value: Value) -> Self {
        let mut value = value;
        let other = |at| (at != position).then(|| self.values().get(at)).flatten();
        let extents = (0..self.len()).map(|at| other(at).unwrap_or(&value).extent());
        let extent = extents.fold(Extent::OPEN, Extent::join).around();
        let values =
            (0..self.len()).map(|at| other(at).map_or_else(|| std::mem::take(&mut value), Value::clone));
        Self::from_exact(shape.clone(), values, extent)
    }

    /// The same members and a last one; the shape has its name.
    fn extended(&self, shape: Shape, value: Value) -> Self {
        let mut value = value;
        let extents = self.values().iter().map(Value::extent).fold(Extent::OPEN, Extent::join);
        let extent = extents.join(value.extent()).around();
        let values = (0..shape.names().len())
            .map(|at| self.values().get(at).map_or_else(|| std::mem::take(&mut value), Value::clone));
        Self::from_exact(shape, values, extent)
    }

    fn with_in_tree(&self, name: Str, value: Value) -> Self {
        let tree = match self.tree() {
            Some(tree) => tree.with(name, value),
            None => Grown::of(self).with(name, value),
        };
        Self::from_tree(tree)
    }

    /// The same object without that member.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let Some(removed) = self.shape().and_then(|shape| shape.position(name)) else { return self.clone() };
        fn all_but<T: Clone>(items: &[T], removed: usize) -> Vec<T> {
            items
                .iter()
                .enumerate()
                .filter(|(position, _)| *position != removed)
                .map(|(_, item)| item.clone())
                .collect()
        }
        Self::from_distinct(all_but(self.keys(), removed), all_but(self.values(), removed))
    }

    /// An object of names that are known to differ.
    pub(crate) fn from_distinct(names: Vec<Str>, values: Vec<Value>) -> Self {
        let extent = Extent::over(&values);
        Self::from_exact(Shape::from_distinct(names), values.into_iter(), extent)
    }

    /// The shared part, leaving an empty object behind.
    pub(crate) fn take_arc(&mut self) -> Option<ObjectArc> {
        self.0.take()
    }
}

impl Drop for Object {
    #[inline]
    fn drop(&mut self) {
        if self.depth() > deep::DEPTH_DIRECT
            && let Some(arc) = self.0.take()
        {
            deep::dismantle(deep::Part::Object(arc));
        }
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        crate::equal::objects(self, other)
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Value::Object(self.clone()), f)
    }
}

impl<K: Into<Str>, V: Into<Value>> FromIterator<(K, V)> for Object {
    /// Of members of the same name the last one's value stays, at the first one's place.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut builder = ObjectBuilder::new();
        for (name, value) in members {
            builder.insert(name, value);
        }
        builder.build()
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a str, &'a Value);
    type IntoIter = Members<'a>;

    fn into_iter(self) -> Members<'a> {
        self.iter()
    }
}

/// The members of an object, in order.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    names: std::slice::Iter<'a, Str>,
    values: std::slice::Iter<'a, Value>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.names.next()?.as_str(), self.values.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl ExactSizeIterator for Members<'_> {}

impl DoubleEndedIterator for Members<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        Some((self.names.next_back()?.as_str(), self.values.next_back()?))
    }
}

/// Collects the members of an object.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ObjectBuilder {
    members: MemberList<Value>,
}

impl ObjectBuilder {
    /// A builder without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a member: in its place where it exists, else as the last one.
    pub fn insert(&mut self, name: impl Into<Str>, value: impl Into<Value>) {
        self.members.set(name.into(), value.into());
    }

    /// The value of a member that was inserted.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// The object.
    #[must_use]
    pub fn build(self) -> Object {
        let (names, values) = self.members.into_parts();
        Object::from_distinct(names, values)
    }
}
