//! Why a text was refused, and where.

use std::fmt;

use crate::{Pointer, diagnostic};

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// In bytes from the start.
    pub offset: usize,
    /// From 1; lines end with a line feed.
    pub line: usize,
    /// From 1, in characters (Unicode scalar values).
    pub column: usize,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first character.
    pub start: Position,
    /// The character behind its last one.
    pub end: Position,
}

impl Position {
    /// The place of a byte; what is not UTF-8 before it counts as one character each.
    pub(crate) fn of(text: &[u8], offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start =
            before.iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed.saturating_add(1));
        let line = before.split(|byte| *byte == b'\n').count();
        let characters =
            String::from_utf8_lossy(before.get(line_start..).unwrap_or_default()).chars().count();
        Self { offset, line, column: characters.saturating_add(1) }
    }
}

/// What stood where something else was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A character.
    Char(char),
    /// The end of the text.
    End,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("the end of the text"),
            Self::Char(char) if char.is_control() || char.is_whitespace() || *char == '\u{feff}' => {
                write!(f, "U+{:04X}", u32::from(*char))
            }
            Self::Char('\'') => f.write_str("a single quote (strings stand in double quotes)"),
            Self::Char(char) => write!(f, "'{char}'"),
        }
    }
}

/// Why a text was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// It breaks the grammar of JSON.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// What could have stood there.
        expected: &'static str,
        /// What stood there.
        found: Found,
    },
    /// It is not UTF-8.
    #[error("the text is not UTF-8: found the byte {byte:#04x}")]
    Utf8 {
        /// The first byte that does not belong.
        byte: u8,
    },
    /// A string holds half of a surrogate pair.
    #[error("a string holds a lone surrogate: escape the character as a pair of them")]
    LoneSurrogate,
    /// An object has two members of this name.
    #[error("the object has a member of this name already: names are unique in a document")]
    Duplicate,
    /// An integer that no double holds.
    #[error("the integer has more digits than a number holds: write it as a string")]
    InexactInteger,
    /// A number beyond the largest double.
    #[error("the number is beyond the largest that there is, about 1.8e308")]
    Overflow,
    /// Too many containers within each other.
    #[error("values lie within each other more than {max} deep")]
    Depth {
        /// The limit.
        max: u32,
    },
    /// The text is too long.
    #[error("the text has {bytes} bytes; at most {max} are read")]
    Length {
        /// How many it has.
        bytes: usize,
        /// The limit.
        max: usize,
    },
}

/// A text was refused: why, where in the text, and where in the value.
#[derive(Clone, PartialEq, Eq)]
pub struct ReadError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ReadErrorKind,
    pointer: Pointer,
    position: Position,
}

const _: () = assert!(size_of::<ReadError>() == size_of::<usize>(), "an error is one word");

impl ReadError {
    #[cold]
    pub(crate) fn new(kind: ReadErrorKind, pointer: Pointer, position: Position) -> Self {
        Self(Box::new(Inner { kind, pointer, position }))
    }

    /// Why.
    pub fn kind(&self) -> ReadErrorKind {
        self.0.kind
    }

    /// To the value that is refused; where the grammar is broken, to the innermost value that was begun; where a name
    /// cannot be read, to its object.
    pub fn pointer(&self) -> &Pointer {
        &self.0.pointer
    }

    /// Where in the text.
    pub fn position(&self) -> Position {
        self.0.position
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, pointer, position } = &*self.0;
        let place = diagnostic::place(pointer);
        write!(f, "{kind} (line {}, column {}, at {place})", position.line, position.column)
    }
}

impl fmt::Debug for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ReadError {}
