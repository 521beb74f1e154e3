//! Strings: up to 14 bytes inline, longer ones shared behind one word.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use arcstr::ArcStr;

/// The longest string, in bytes, that is kept without an allocation.
const INLINE_BYTES: usize = 14;

/// An immutable string that is cheap to clone.
///
/// It dereferences to `str` and compares, orders and hashes as one.
#[derive(Clone)]
pub struct Str(Repr);

// `heapless` rather than bytes of our own: without `unsafe` those would be checked for UTF-8 at every look.
#[derive(Clone)]
enum Repr {
    Inline(heapless::String<INLINE_BYTES, u8>),
    Shared(ArcStr),
}

impl Str {
    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Inline(text) => text.as_str(),
            Repr::Shared(text) => text.as_str(),
        }
    }

    /// Whether both are the same text, of a length that is compared without a call; of a longer one it says no.
    #[inline]
    pub(crate) fn is_same_short(&self, other: &str) -> bool {
        other.len() <= 16 && *self == *other
    }

    /// Whether both are the same allocation, or the same short text.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Inline(a), Repr::Inline(b)) => a == b,
            (Repr::Shared(a), Repr::Shared(b)) => ArcStr::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Default for Str {
    fn default() -> Self {
        Self(Repr::Inline(heapless::String::new()))
    }
}

impl Deref for Str {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Str {
    #[inline]
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

// Lawful: equality, order and hash below are those of `str`.
impl Borrow<str> for Str {
    #[inline]
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Str {
    #[inline]
    fn from(text: &str) -> Self {
        match heapless::String::try_from(text) {
            Ok(inline) => Self(Repr::Inline(inline)),
            Err(_) => Self(Repr::Shared(ArcStr::from(text))),
        }
    }
}

impl From<String> for Str {
    #[inline]
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for Str {
    #[inline]
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Str> for Str {
    #[inline]
    fn from(text: &Str) -> Self {
        text.clone()
    }
}

impl From<char> for Str {
    fn from(text: char) -> Self {
        Self::from(&*text.encode_utf8(&mut [0; 4]))
    }
}

impl From<std::borrow::Cow<'_, str>> for Str {
    #[inline]
    fn from(text: std::borrow::Cow<'_, str>) -> Self {
        Self::from(&*text)
    }
}

impl From<Str> for String {
    fn from(text: Str) -> Self {
        Self::from(text.as_str())
    }
}

impl PartialEq for Str {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        *self == *other.as_str()
    }
}

impl Eq for Str {}

impl PartialEq<str> for Str {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        is_same(self.as_bytes(), other.as_bytes())
    }
}

impl PartialEq<&str> for Str {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

/// Equality of names, which are short: two overlapping words cost less than a call of the library's comparison.
#[inline]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        8..=16 => a.first_chunk::<8>() == b.first_chunk() && a.last_chunk::<8>() == b.last_chunk(),
        4..=7 => a.first_chunk::<4>() == b.first_chunk() && a.last_chunk::<4>() == b.last_chunk(),
        2..=3 => a.first_chunk::<2>() == b.first_chunk() && a.last() == b.last(),
        0..=1 => a.first() == b.first(),
        _ => a == b,
    }
}

impl PartialEq<String> for Str {
    #[inline]
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other.as_str()
    }
}

impl PartialOrd for Str {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_a_difference_wherever_it_stands() {
        for length in 0..40 {
            let text = "x".repeat(length);
            assert_eq!(Str::from(text.as_str()), *text.as_str());
            assert_ne!(Str::from(text.as_str()), *"x".repeat(length + 1).as_str());
            for position in 0..length {
                let mut other = text.clone();
                other.replace_range(position..=position, "y");
                assert_ne!(Str::from(text.as_str()), *other.as_str(), "{length} {position}");
            }
        }
    }

    #[test]
    fn keeps_every_length_around_the_inline_limit() {
        for length in 0..40 {
            let text = "é".repeat(length / 2) + if length % 2 == 1 { "x" } else { "" };
            let str = Str::from(text.as_str());
            assert_eq!(str, text);
            assert!(str.ptr_eq(&str.clone()));
            assert_eq!(matches!(str.0, Repr::Inline(_)), text.len() <= INLINE_BYTES);
        }
    }

    #[test]
    fn equal_long_texts_of_two_allocations_are_equal_but_not_the_same() {
        let (a, b) = (Str::from("a text of some length"), Str::from("a text of some length"));
        assert_eq!(a, b);
        assert!(!a.ptr_eq(&b));
    }
}
