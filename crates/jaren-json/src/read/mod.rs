//! Reading JSON text (RFC 8259): strict, with limits, every refusal with its place.
//!
//! ```
//! use jaren_json::{read, ReadOptions};
//!
//! let refused = read(b"{\"a\": [1, 2,\n  9007199254740993]}", &ReadOptions::document()).unwrap_err();
//! assert_eq!(refused.pointer().as_str(), "/a/2");
//! assert_eq!((refused.position().line, refused.position().column), (2, 3));
//! ```

mod error;
mod lexer;
mod locate;
mod parser;
mod trie;

pub use error::{Found, Position, ReadError, ReadErrorKind, Span};
pub use locate::{locate, locate_key};

use crate::Value;
use lexer::Lexer;
use parser::{Memory, Parser};

/// What a reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// How many containers may lie within each other.
    pub depth_max: u32,
    /// How long the text may be, in bytes.
    pub bytes_max: usize,
    /// What members of the same name mean.
    pub duplicates: Duplicates,
    /// What a number means that no double holds.
    pub integers: Integers,
}

/// What members of the same name in one object mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// An error with the second one's pointer.
    Refuse,
    /// The last one's value, at the first one's place.
    LastWins,
}

/// What a number means that no double holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// An integer literal (no fraction, no exponent) that is neither its double's exact value nor that double's shortest
    /// decimal is refused, and so is any literal beyond the largest double.
    Exact,
    /// The nearest double, beyond the largest one an infinity, as ECMAScript's `JSON.parse` has it.
    Nearest,
}

impl ReadOptions {
    /// How deep a text may be unless told otherwise.
    pub const DEPTH_MAX: u32 = 512;
    /// How long a document may be unless told otherwise: 16 MiB.
    pub const DOCUMENT_BYTES_MAX: usize = 16 << 20;
    /// How long data may be unless told otherwise: 1 GiB.
    pub const DATA_BYTES_MAX: usize = 1 << 30;

    /// For documents: members of the same name and inexact numbers are refused.
    pub const fn document() -> Self {
        Self {
            depth_max: Self::DEPTH_MAX,
            bytes_max: Self::DOCUMENT_BYTES_MAX,
            duplicates: Duplicates::Refuse,
            integers: Integers::Exact,
        }
    }

    /// For data: of members of the same name the last one counts; inexact numbers are refused.
    pub const fn data() -> Self {
        Self {
            depth_max: Self::DEPTH_MAX,
            bytes_max: Self::DATA_BYTES_MAX,
            duplicates: Duplicates::LastWins,
            integers: Integers::Exact,
        }
    }
}

/// As a document: of members of the same name, and of numbers that would not stay as they are, it is an error.
///
/// ```
/// use jaren_json::{Value, value};
///
/// assert_eq!(r#"{"a": [1, null]}"#.parse::<Value>()?, value!({"a": [1, null]}));
/// assert!(r#"{"a": 1, "a": 2}"#.parse::<Value>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl std::str::FromStr for Value {
    type Err = ReadError;

    fn from_str(text: &str) -> Result<Self, ReadError> {
        read(text.as_bytes(), &ReadOptions::document())
    }
}

/// Reads one value; white space may stand around it, nothing else.
pub fn read(text: &[u8], options: &ReadOptions) -> Result<Value, ReadError> {
    Reader::new(*options).read(text)
}

/// The number that a text spells in the grammar of RFC 8259, section 6, with nothing around it: the nearest double, an
/// infinity beyond the largest one.
///
/// ```
/// use jaren_json::read::number;
///
/// assert_eq!(number("-1.50e3"), Some(-1500.0));
/// assert!(["", "01", "1.", ".5", "+1", " 1", "1e", "NaN"].iter().all(|text| number(text).is_none()));
/// ```
pub fn number(text: &str) -> Option<f64> {
    let mut lexer = Lexer::new(text);
    let literal = lexer.number().ok()?;
    lexer.peek().is_none().then(|| literal.value())
}

/// Reads texts one after the other. Like objects of all of them share their names, as those of one text do.
///
/// What it remembers for that is bounded, whatever it reads: some thousand names.
///
/// ```
/// use jaren_json::{ReadOptions, Reader, value};
///
/// let mut reader = Reader::new(ReadOptions::data());
/// for line in ["{\"id\": 1}", "{\"id\": 2}"] {
///     assert!(reader.read(line.as_bytes())?.get("id").is_some());
/// }
/// # Ok::<(), jaren_json::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    options: ReadOptions,
    /// What the last text left, if it could be read.
    memory: Option<Memory>,
}

impl Reader {
    /// A reader that has read nothing.
    pub fn new(options: ReadOptions) -> Self {
        Self { options, memory: None }
    }

    /// What it accepts.
    pub fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// Reads one value; white space may stand around it, nothing else.
    pub fn read(&mut self, text: &[u8]) -> Result<Value, ReadError> {
        let memory = self.memory.take().unwrap_or_default();
        let mut parser = Parser::new(text, &self.options, memory)?;
        let value = parser.value()?;
        parser.end()?;
        self.memory = Some(parser.into_memory());
        Ok(value)
    }
}

/// Reads values that follow each other, apart from white space between them: JSON lines, or any such stream.
///
/// The limit of length is that of the whole text. After an error there is no further value.
pub fn values<'a>(text: &'a [u8], options: &ReadOptions) -> Values<'a> {
    Values { parser: Some(Parser::new(text, options, Memory::default())) }
}

/// The values of a text that holds several.
pub struct Values<'a> {
    parser: Option<Result<Parser<'a>, ReadError>>,
}

impl Iterator for Values<'_> {
    type Item = Result<Value, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut parser = match self.parser.take()? {
            Ok(parser) => parser,
            Err(error) => return Some(Err(error)),
        };
        if parser.at_end() {
            return None;
        }
        let value = parser.value();
        if value.is_ok() {
            self.parser = Some(Ok(parser));
        }
        Some(value)
    }
}

impl std::fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values").finish_non_exhaustive()
    }
}
