//! Shapes: the names of an object's members, shared by objects that have the same ones in the same order.

use std::cmp::Ordering;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{self, AtomicU32};

use triomphe::Arc;

use crate::{Str, deep};

/// Up to this many names are compared one by one, by their marks where those are known; more are found by a sorted index.
const LINEAR_MAX: usize = 12;

/// The names of an object's members, in order, without repetition.
///
/// A producer of many like objects makes the shape once and gives it to each by [`crate::Object::from_shape`].
#[derive(Clone)]
pub struct Shape(Arc<Inner>);

struct Inner {
    names: Box<[Str]>,
    /// What the names add to the size of an object.
    size: u32,
    /// The marks of the first names.
    marks: [Mark; LINEAR_MAX],
    /// Positions in the order of the names' UTF-16 code units: the canonical order, and an index. Made when asked for.
    order: OnceLock<Box<[u32]>>,
    /// The shape with one more name that was asked for first: objects that grow alike share their shapes.
    next: OnceLock<Shape>,
}

/// Shapes of fewer names remember the one after them, so that a short object never keeps much alive.
const NEXT_MAX: usize = 32;

impl Shape {
    /// The shape of these names, or nothing where one is repeated or there are 2^32 or more.
    pub fn new(names: impl IntoIterator<Item = impl Into<Str>>) -> Option<Self> {
        let shape = Self::from_distinct(names.into_iter().map(Into::into).collect());
        let few = u32::try_from(shape.names().len()).is_ok();
        (few && shape.sorted().is_sorted_by(|a, b| a != b)).then_some(shape)
    }

    /// The shape of names that are known to differ and to be fewer than 2^32.
    pub(crate) fn from_distinct(names: Vec<Str>) -> Self {
        let mut marks = [Mark::NONE; LINEAR_MAX];
        for (mark, name) in marks.iter_mut().zip(&names) {
            *mark = Mark::of(name);
        }
        let size = names.iter().map(|name| deep::text_size(name)).fold(0, u32::saturating_add);
        let (names, order, next) = (names.into_boxed_slice(), OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner { names, size, marks, order, next }))
    }

    /// The shape with that name as its last one, which it does not have yet.
    pub(crate) fn with(&self, name: Str) -> Self {
        let known = self.0.next.get().filter(|next| next.names().last() == Some(&name));
        if let Some(next) = known {
            return next.clone();
        }
        let mut names = Vec::with_capacity(self.names().len().saturating_add(1));
        names.extend_from_slice(self.names());
        names.push(name);
        let next = Self::from_distinct(names);
        if self.names().len() < NEXT_MAX {
            // Another thread may have been first.
            let _ = self.0.next.set(next.clone());
        }
        next
    }

    /// The names in order.
    #[inline]
    pub fn names(&self) -> &[Str] {
        &self.0.names
    }

    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.0.size
    }

    /// The place of a name.
    #[inline]
    pub fn position(&self, name: &str) -> Option<usize> {
        let names = self.names();
        if names.len() <= LINEAR_MAX {
            return names.iter().position(|candidate| *candidate == *name);
        }
        self.indexed(name)
    }

    /// The place of a name that is probably where it was found the last time; it learns.
    #[inline]
    pub fn position_of(&self, name: &MemberName) -> Option<usize> {
        self.position_guessed(name).or_else(|| self.position_learned(name))
    }

    /// The place where it was found the last time, if a short name stands there.
    #[inline]
    pub(crate) fn position_guessed(&self, name: &MemberName) -> Option<usize> {
        let guess = name.load();
        (self.0.marks.get(guess) == Some(&name.mark)
            && (name.mark.is_whole()
                || self.names().get(guess).is_some_and(|other| other.is_same_short(&name.name))))
        .then_some(guess)
    }

    /// Out of the way of the callers whose guess is right: they are small then.
    #[inline(never)]
    pub(crate) fn position_learned(&self, sought: &MemberName) -> Option<usize> {
        let MemberName { name, mark: sought_mark, .. } = sought;
        let names = self.names();
        let guess = sought.load();
        let position = if names.len() <= LINEAR_MAX {
            let is_whole = sought_mark.is_whole();
            let mut marked = self.0.marks.iter().zip(names);
            marked.position(|(mark, other)| *mark == *sought_mark && (is_whole || *other == *name))?
        } else if names.get(guess).is_some_and(|other| *other == *name) {
            return Some(guess);
        } else {
            self.position(name)?
        };
        sought.store(position);
        Some(position)
    }

    fn indexed(&self, name: &str) -> Option<usize> {
        let order = self.order();
        let found = order
            .binary_search_by(|position| {
                self.names().get(*position as usize).map_or(Ordering::Less, |n| utf16_cmp(n, name))
            })
            .ok()?;
        order.get(found).map(|position| *position as usize)
    }

    /// Positions in canonical order: by the UTF-16 code units of the names (RFC 8785, 3.2.3).
    pub(crate) fn order(&self) -> &[u32] {
        self.0.order.get_or_init(|| {
            let mut named: Vec<(&Str, u32)> = self.names().iter().zip(0..).collect();
            named.sort_unstable_by(|a, b| utf16_cmp(a.0, b.0));
            named.into_iter().map(|(_, position)| position).collect()
        })
    }

    /// The names in canonical order.
    fn sorted(&self) -> impl Iterator<Item = &Str> {
        self.order().iter().filter_map(|position| self.names().get(*position as usize))
    }

    /// Whether both are the same allocation.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shape").field(&self.names()).finish()
    }
}

/// By what a name is known: a short one by itself, a longer one by some of its bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Mark(u64);

impl Mark {
    /// The mark of no name.
    const NONE: Self = Self(0);
    /// Names of so many bytes are whole in their marks, below a byte for the length.
    const WHOLE_MAX: usize = 7;
    /// In that byte: the name is longer.
    const LONGER: u64 = 0x80;

    fn of(name: &str) -> Self {
        let name = name.as_bytes();
        let (bytes, length) = match (name.first_chunk(), name.last_chunk()) {
            (Some(begin), Some(end)) if name.len() > Self::WHOLE_MAX => {
                let (begin, end) = (u32::from_le_bytes(*begin), u32::from_le_bytes(*end));
                (u64::from(begin) | u64::from(end >> 8) << 32, Self::LONGER)
            }
            // An empty name has a mark too.
            _ => (
                name.iter().rev().fold(0, |bytes, byte| bytes << 8 | u64::from(*byte)),
                (name.len() as u64) + 1,
            ),
        };
        Self(bytes | length << 56)
    }

    /// Whether no other name has this mark.
    #[inline]
    fn is_whole(self) -> bool {
        (1..Self::LONGER).contains(&(self.0 >> 56))
    }
}

/// The name of a member, and where it was last found: for code that looks the same name up in many objects.
///
/// The place is only a guess, checked at every use, so it may be shared by threads and by objects of any shape.
pub struct MemberName {
    name: Str,
    slot: AtomicU32,
    mark: Mark,
}

impl MemberName {
    /// A name that was not found anywhere yet.
    pub fn new(name: impl Into<Str>) -> Self {
        let name = name.into();
        Self { mark: Mark::of(&name), slot: AtomicU32::new(0), name }
    }

    /// The name.
    #[inline]
    pub fn name(&self) -> &Str {
        &self.name
    }

    /// The position that it guesses.
    #[inline]
    pub fn load(&self) -> usize {
        self.slot.load(atomic::Ordering::Relaxed) as usize
    }

    /// Guesses that position from now on.
    #[inline]
    pub fn store(&self, position: usize) {
        if let Ok(position) = u32::try_from(position) {
            self.slot.store(position, atomic::Ordering::Relaxed);
        }
    }
}

impl Clone for MemberName {
    fn clone(&self) -> Self {
        let slot = AtomicU32::new(self.slot.load(atomic::Ordering::Relaxed));
        Self { name: self.name.clone(), slot, mark: self.mark }
    }
}

impl fmt::Debug for MemberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemberName").field(&self.name).field(&self.load()).finish()
    }
}

/// Compares texts by their UTF-16 code units, without converting them.
///
/// UTF-8 bytes order texts by code points. The two orders part only where a character outside the basic plane (lead byte
/// F0 and up; in UTF-16 a surrogate, D800 to DFFF) meets one from U+E000 to U+FFFF (lead bytes EE and EF).
pub(crate) fn utf16_cmp(a: &str, b: &str) -> Ordering {
    fn rank(byte: u8) -> u8 {
        if matches!(byte, 0xEE | 0xEF) { byte | 0xFE } else { byte }
    }
    let (a, b) = (a.as_bytes(), b.as_bytes());
    match a.iter().zip(b).find(|(x, y)| x != y) {
        Some((x, y)) if *x >= 0xEE && *y >= 0xEE => rank(*x).cmp(&rank(*y)),
        Some((x, y)) => x.cmp(y),
        None => a.len().cmp(&b.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_as_utf16_code_units() {
        let texts = [
            "",
            "a",
            "ab",
            "é",
            "€",
            "\u{d7ff}",
            "\u{e000}",
            "\u{fb33}",
            "\u{ffff}",
            "\u{10000}",
            "😀",
            "\u{10ffff}",
        ];
        for a in texts {
            for b in texts {
                let expected = a.encode_utf16().cmp(b.encode_utf16());
                assert_eq!(utf16_cmp(a, b), expected, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn finds_names_in_small_and_large_shapes() {
        for count in [0, 1, LINEAR_MAX, LINEAR_MAX + 1, 1000] {
            // Names of all lengths around those that marks have whole, many of which have the same mark.
            let names: Vec<String> = (0..count).map(|n| format!("{n:0width$}n--", width = n % 9)).collect();
            let shape = Shape::new(&names).unwrap();
            for (position, name) in names.iter().enumerate() {
                assert_eq!(shape.position(name), Some(position));
                let name = MemberName::new(name.as_str());
                assert_eq!(shape.position_of(&name), Some(position));
                assert_eq!(shape.position_of(&name), Some(position));
            }
            for missing in ["missing", "", "0n-", "0000000n-", "0000000X0n--"] {
                assert_eq!(shape.position(missing), None);
                assert_eq!(shape.position_of(&MemberName::new(missing)), None);
            }
        }
    }

    #[test]
    fn the_empty_name_is_found_and_no_name_is_not() {
        let shape = Shape::new([""]).unwrap();
        assert_eq!(shape.position_of(&MemberName::new("")), Some(0));
        assert_eq!(Shape::new(["a"]).unwrap().position_of(&MemberName::new("")), None);
        assert_eq!(Shape::from_distinct(Vec::new()).position_of(&MemberName::new("")), None);
    }

    #[test]
    fn refuses_a_repeated_name() {
        assert!(Shape::new(["a", "b", "a"]).is_none());
    }
}
