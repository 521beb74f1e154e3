//! Values while a batch changes them.

use super::error::{DeltaError, DeltaErrorKind};
use super::form::is_bijection;
use super::op::Segment;
use super::text::offset_after;
use crate::deep::Extent;
use crate::grown::GROWN_MIN;
use crate::member_list::MemberList;
use crate::{Object, Shape, Str, Value};

/// A value that is being changed. Only what a path went through is taken apart, once, whatever the number of operations.
pub(super) enum Draft {
    Shared(Value),
    Array(Vec<Draft>),
    Object(Box<Members>),
    Large(Box<Large>),
    /// A text, and how many bytes at its start are gone.
    Text(String, usize),
}

/// The members of an object that is being changed; one that is gone is nothing.
pub(super) struct Members {
    /// The names that the object had; kept as they are, so that they are neither copied nor indexed again.
    shape: Option<Shape>,
    items: Vec<Option<Draft>>,
    added: MemberList<Option<Draft>>,
}

impl Members {
    fn of(object: &Object) -> Self {
        let items = object.values().iter().cloned().map(|value| Some(Draft::Shared(value))).collect();
        Self { shape: object.shape().cloned(), items, added: MemberList::default() }
    }

    /// The place of a member of that name, which may be gone.
    fn place(&mut self, name: &str) -> Option<&mut Option<Draft>> {
        match self.shape.as_ref().and_then(|shape| shape.position(name)) {
            Some(position) => self.items.get_mut(position),
            None => self.added.get_mut(name),
        }
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut Draft> {
        self.place(name)?.as_mut()
    }

    fn set(&mut self, name: Str, value: Draft) {
        match self.place(&name) {
            Some(place) => *place = Some(value),
            None => {
                self.added.set(name, Some(value));
            }
        }
    }

    fn remove(&mut self, name: &str) {
        if let Some(place) = self.place(name) {
            *place = None;
        }
    }

    /// The names and members that are left; the shape where they are all as before.
    fn into_parts(self) -> (Names, Vec<Draft>) {
        let (added, drafts) = self.added.into_parts();
        if let Some(shape) = &self.shape
            && added.is_empty()
            && self.items.iter().all(Option::is_some)
        {
            return (Names::Shape(shape.clone()), self.items.into_iter().flatten().collect());
        }
        let before = self.shape.as_ref().map_or(&[][..], Shape::names);
        let members = before.iter().chain(&added).zip(self.items.into_iter().chain(drafts));
        let (names, drafts) = members.filter_map(|(name, draft)| Some((name.clone(), draft?))).unzip();
        (Names::Own(names), drafts)
    }
}

/// A large object that is being changed: what differs from it, so that a small change costs little.
pub(super) struct Large {
    object: Object,
    /// One that is gone is nothing.
    changed: MemberList<Option<Draft>>,
}

impl Large {
    fn get_mut(&mut self, name: &str) -> Option<&mut Draft> {
        let position = match self.changed.position(name) {
            Some(position) => position,
            None => self.changed.set(name.into(), Some(Draft::Shared(self.object.get(name)?.clone()))),
        };
        self.changed.at_mut(position)?.as_mut()
    }

    fn remove(&mut self, name: &str) {
        if self.object.contains_key(name) || self.changed.position(name).is_some() {
            self.changed.set(name.into(), None);
        }
    }

    fn into_parts(self) -> (Names, Vec<Draft>) {
        let (mut changed, mut gone, mut drafts) = (Vec::new(), Vec::new(), Vec::new());
        let (names, members) = self.changed.into_parts();
        for (name, member) in names.into_iter().zip(members) {
            match member {
                Some(draft) => {
                    changed.push(name);
                    drafts.push(draft);
                }
                None => gone.push(name),
            }
        }
        (Names::Over { object: self.object, changed, gone }, drafts)
    }
}

/// A large object with these members set, and without those.
fn over(object: Object, changed: Vec<Str>, values: Vec<Value>, gone: &[Str]) -> Object {
    /// Up to one in so many members is set one by one.
    const FEW: usize = 8;
    if gone.is_empty() && changed.len() <= object.len() / FEW {
        return changed
            .into_iter()
            .zip(values)
            .fold(object, |object, (name, value)| object.with(name, value));
    }
    let before = object.values().iter().cloned().map(Some).collect();
    let mut members = MemberList::from_distinct(object.keys().to_vec(), before);
    for (name, value) in changed.into_iter().zip(values) {
        members.set(name, Some(value));
    }
    for name in gone {
        if let Some(member) = members.get_mut(name) {
            *member = None;
        }
    }
    let (names, values) = members.into_parts();
    let left = names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?)));
    let (names, values) = left.unzip();
    Object::from_distinct(names, values)
}

pub(super) type Changed = Result<(), DeltaErrorKind>;

const NAME_IN_ARRAY: DeltaErrorKind = DeltaErrorKind::UnsafePath("an array has indexes and no names");

impl Draft {
    /// Takes a container or a text apart, so that it can be changed.
    fn open(&mut self) {
        let Self::Shared(value) = self else { return };
        let opened = match value {
            Value::Array(array) => Self::Array(array.iter().cloned().map(Draft::Shared).collect()),
            Value::Object(object) if object.len() >= GROWN_MIN => {
                Self::Large(Box::new(Large { object: object.clone(), changed: MemberList::default() }))
            }
            Value::Object(object) => Self::Object(Box::new(Members::of(object))),
            Value::String(text) => Self::Text(String::from(text.as_str()), 0),
            _ => return,
        };
        *self = opened;
    }

    /// Goes down a path of own members and existing elements (durable D4).
    pub(super) fn follow(&mut self, path: &[Segment]) -> Result<&mut Self, DeltaError> {
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
                (Self::Large(members), segment) => {
                    members.get_mut(&name(segment)).ok_or_else(|| at(NO_MEMBER))?
                }
                _ => return Err(at(DeltaErrorKind::Path("an object or array on its way"))),
            };
        }
        Ok(draft)
    }

    pub(super) fn set(&mut self, segment: &Segment, value: &Value) -> Changed {
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
            (Self::Object(members), segment) => members.set(name(segment), Self::Shared(value.clone())),
            (Self::Large(members), segment) => {
                members.changed.set(name(segment), Some(Self::Shared(value.clone())));
            }
            _ => return Err(DeltaErrorKind::Path("an object or array to set in")),
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, segment: &Segment) -> Changed {
        self.open();
        match (self, segment) {
            (Self::Array(elements), Segment::Index(index)) => match position(*index) {
                Some(index) if index < elements.len() => drop(elements.remove(index)),
                Some(index) if index == elements.len() => return Err(NO_ELEMENT),
                _ => return Err(DeltaErrorKind::UnsafePath("an index is at most the array's length")),
            },
            (Self::Array(_), Segment::Key(_)) => return Err(NAME_IN_ARRAY),
            (Self::Object(members), segment) => members.remove(&name(segment)),
            (Self::Large(members), segment) => members.remove(&name(segment)),
            _ => return Err(DeltaErrorKind::Path("an object or array to delete from")),
        }
        Ok(())
    }

    pub(super) fn append(&mut self, added: &str) -> Changed {
        self.open();
        let Self::Text(text, _) = self else { return Err(NO_STRING) };
        text.push_str(added);
        Ok(())
    }

    pub(super) fn trim(&mut self, units: u64) -> Changed {
        self.open();
        let Self::Text(text, gone) = self else { return Err(NO_STRING) };
        let rest = text.get(*gone..).unwrap_or_default();
        *gone += offset_after(rest, units).ok_or(DeltaErrorKind::SplitsSurrogatePair)?;
        Ok(())
    }

    pub(super) fn splice(&mut self, index: u64, remove: u64, items: &[Value]) -> Changed {
        self.open();
        let Self::Array(elements) = self else { return Err(NO_ARRAY) };
        let clamp = |count: u64, max: usize| position(count).map_or(max, |count| count.min(max));
        let start = clamp(index, elements.len());
        let end = start + clamp(remove, elements.len() - start);
        elements.splice(start..end, items.iter().cloned().map(Self::Shared));
        Ok(())
    }

    pub(super) fn reorder(&mut self, order: &[u64]) -> Changed {
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

    /// The value that it has become.
    pub(super) fn finish(self) -> Value {
        let mut open: Vec<Building> = Vec::new();
        let mut current = self;
        loop {
            let mut finished = match current {
                Self::Shared(value) => Some(value),
                Self::Text(text, gone) => Some(Value::from(text.get(gone..).unwrap_or_default())),
                Self::Array(elements) => {
                    open.push(Building::new(None, elements));
                    None
                }
                Self::Object(members) => {
                    let (names, drafts) = members.into_parts();
                    open.push(Building::new(Some(names), drafts));
                    None
                }
                Self::Large(members) => {
                    let (names, drafts) = members.into_parts();
                    open.push(Building::new(Some(names), drafts));
                    None
                }
            };
            current = loop {
                let Some(container) = open.last_mut() else { return finished.unwrap_or_default() };
                container.done.extend(finished.take());
                match container.rest.next() {
                    Some(draft) => break draft,
                    None => finished = open.pop().map(Building::close),
                }
            };
        }
    }
}

/// The names of an object that is finished.
enum Names {
    Shape(Shape),
    Own(Vec<Str>),
    /// Only what differs from a large object is finished.
    Over {
        object: Object,
        changed: Vec<Str>,
        gone: Vec<Str>,
    },
}

/// A container whose parts are being finished.
struct Building {
    /// None in an array.
    names: Option<Names>,
    done: Vec<Value>,
    rest: std::vec::IntoIter<Draft>,
}

impl Building {
    fn new(names: Option<Names>, drafts: Vec<Draft>) -> Self {
        Self { names, done: Vec::with_capacity(drafts.len()), rest: drafts.into_iter() }
    }

    fn close(self) -> Value {
        match self.names {
            None => Value::Array(self.done.into()),
            Some(Names::Shape(shape)) => {
                let extent = Extent::over(&self.done);
                Value::Object(Object::from_exact(shape, self.done.into_iter(), extent))
            }
            Some(Names::Own(names)) => Value::Object(Object::from_distinct(names, self.done)),
            Some(Names::Over { object, changed, gone }) => {
                Value::Object(over(object, changed, self.done, &gone))
            }
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
