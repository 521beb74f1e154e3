//! JSON Pointers (RFC 6901).

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::str::FromStr;

/// A JSON Pointer: a way from a value down to one of its parts. The empty one is the whole value.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(String);

/// Why a text is no JSON Pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointerError {
    /// It is not empty and does not begin with a slash.
    #[error("a JSON Pointer is empty or begins with '/'")]
    NoSlash,
    /// A tilde is not followed by `0` or `1`.
    #[error("'~' in a JSON Pointer is followed by '0' (for '~') or '1' (for '/')")]
    Escape,
}

impl Pointer {
    /// The pointer to the whole value.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Reads a pointer in its string form (RFC 6901, section 3).
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        if !text.is_empty() && !text.starts_with('/') {
            return Err(PointerError::NoSlash);
        }
        if text.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1'])) {
            return Err(PointerError::Escape);
        }
        Ok(Self(text.to_owned()))
    }

    /// A pointer through these reference tokens, which are not escaped yet.
    pub fn from_tokens(tokens: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut pointer = Self::root();
        for token in tokens {
            pointer.push(token.as_ref());
        }
        pointer
    }

    /// Goes one step down: to the member of that name.
    pub fn push(&mut self, token: &str) {
        self.0.reserve(token.len().saturating_add(1));
        self.0.push('/');
        for char in token.chars() {
            match char {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                char => self.0.push(char),
            }
        }
    }

    /// Goes one step down: to the element at that index.
    pub fn push_index(&mut self, index: usize) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "/{index}");
    }

    /// This pointer and one step down to the member of that name.
    #[must_use]
    pub fn child(&self, token: &str) -> Self {
        let mut child = self.clone();
        child.push(token);
        child
    }

    /// This pointer and one step down to the element at that index.
    #[must_use]
    pub fn child_index(&self, index: usize) -> Self {
        let mut child = self.clone();
        child.push_index(index);
        child
    }

    /// This pointer and then the way of the other one.
    #[must_use]
    pub fn join(&self, below: &Self) -> Self {
        Self(format!("{}{}", self.0, below.0))
    }

    /// The pointer one step up; the root has none.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.to_owned()))
    }

    /// Whether it points to the whole value.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The reference tokens, unescaped, from the root down.
    pub fn tokens(&self) -> impl DoubleEndedIterator<Item = Cow<'_, str>> {
        let mut tokens = self.0.split('/');
        // What stands before the first slash is empty and no token.
        tokens.next();
        tokens.map(|token| {
            if token.contains('~') {
                Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
            } else {
                Cow::Borrowed(token)
            }
        })
    }

    /// The string form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The index that a token names in an array: digits without a leading zero (RFC 6901, section 4).
pub(crate) fn array_index(token: &str) -> Option<usize> {
    let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || (token.len() > 1 && token.starts_with('0')) {
        return None;
    }
    token.parse().ok()
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, PointerError> {
        Self::parse(text)
    }
}

impl PartialEq<str> for Pointer {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Pointer {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value;

    #[test]
    fn leads_where_rfc_6901_says() {
        let document = value!({
            "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8,
        });
        let at = |text: &str| document.pointer(&Pointer::parse(text).unwrap()).cloned();
        assert_eq!(at(""), Some(document.clone()));
        assert_eq!(at("/foo/0"), Some(value!("bar")));
        let others = [
            ("/", 0),
            ("/a~1b", 1),
            ("/c%d", 2),
            ("/e^f", 3),
            ("/g|h", 4),
            ("/i\\j", 5),
            ("/k\"l", 6),
            ("/ ", 7),
            ("/m~0n", 8),
        ];
        for (text, number) in others {
            assert_eq!(at(text), Some(value!(number)), "{text}");
        }
        for nowhere in ["/foo/2", "/foo/-", "/foo/01", "/foo/+1", "/foo/", "/foo/0/x", "/bar"] {
            assert_eq!(at(nowhere), None, "{nowhere}");
        }
    }

    #[test]
    fn refuses_what_is_no_pointer() {
        assert_eq!(Pointer::parse("a"), Err(PointerError::NoSlash));
        for text in ["/~", "/~2", "/a~/b", "/~~0"] {
            assert_eq!(Pointer::parse(text), Err(PointerError::Escape), "{text}");
        }
    }

    #[test]
    fn goes_down_and_up() {
        let pointer = Pointer::root().child("a/b").child_index(3);
        assert_eq!(pointer, "/a~1b/3");
        assert_eq!(pointer.parent().unwrap(), "/a~1b");
        assert_eq!(pointer.parent().unwrap().parent(), Some(Pointer::root()));
        assert_eq!(Pointer::root().parent(), None);
        assert_eq!(Pointer::parse("/~01").unwrap().tokens().collect::<Vec<_>>(), ["~1"]);
    }
}
