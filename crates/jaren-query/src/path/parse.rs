//! The parser of RFC 9535 queries, by recursive descent over bytes.

use std::fmt::Display;

use jaren_json::MemberName;

use super::{LEAPS_MAX, Leap, Path, Selector, Step};

/// The largest index that RFC 9535 2.1 lets a query name: 2⁵³ − 1.
const INDEX_MAX: i64 = (1 << 53) - 1;

/// Why a path was refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathDefect {
    /// The byte offset in the text.
    pub(crate) offset: usize,
    /// What was expected there.
    pub(crate) expected: &'static str,
}

impl Display for PathDefect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "expected {} at byte {}", self.expected, self.offset)
    }
}

/// Parses the segments of a path that begin at byte `start` of `text`, after its root (RFC 9535 2.1.1).
/// Offsets in the answer count from the beginning of `text`.
pub(crate) fn parse(text: &str, start: usize) -> Result<Path, PathDefect> {
    let mut parser = Parser { text, at: start, leaps: 0, nesting: 0, reads_document: false };
    let mut path = parser.segments()?;
    path.reads_document = parser.reads_document;
    if parser.at == text.len() { Ok(path) } else { Err(parser.defect("a segment or the end")) }
}

/// A segment as it is written, before it becomes a step or a leap.
struct Segment {
    descendant: bool,
    selectors: Vec<Selector>,
}

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// The segments so far that may select several nodes, filters included.
    leaps: usize,
    /// How deep filters nest here.
    pub(super) nesting: usize,
    /// Whether a filter begins a query at the document.
    pub(super) reads_document: bool,
}

impl Parser<'_> {
    pub(super) fn defect(&self, expected: &'static str) -> PathDefect {
        self.defect_at(self.at, expected)
    }

    #[expect(clippy::unused_self, reason = "reads as its sibling")]
    pub(super) fn defect_at(&self, offset: usize, expected: &'static str) -> PathDefect {
        PathDefect { offset, expected }
    }

    /// Segments as far as they go.
    pub(super) fn segments(&mut self) -> Result<Path, PathDefect> {
        let mut path = Path::default();
        while let Some(Segment { descendant, mut selectors }) = self.segment()? {
            if !descendant && selectors.len() == 1 && matches!(selectors.first(), Some(Selector::Step(_))) {
                if let Some(Selector::Step(step)) = selectors.pop() {
                    path.leaps.last_mut().map_or(&mut path.head, |leap| &mut leap.then).push(step);
                }
                continue;
            }
            if self.leaps == LEAPS_MAX {
                const { assert!(LEAPS_MAX == 64, "the message says so") };
                return Err(self.defect("at most 64 segments that select several nodes"));
            }
            self.leaps += 1;
            path.leaps.push(Leap { descendant, selectors, then: Vec::new() });
        }
        Ok(path)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at.saturating_add(ahead)).copied()
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    /// The next character. `at` stands on a character boundary whenever this is called.
    fn char(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn segment(&mut self) -> Result<Option<Segment>, PathDefect> {
        let before = self.at;
        self.blanks();
        match (self.peek(), self.peek_at(1)) {
            (Some(b'['), _) => self.bracketed(false).map(Some),
            (Some(b'.'), Some(b'.')) => {
                self.at += 2;
                if self.peek() == Some(b'[') { self.bracketed(true) } else { self.shorthand(true) }.map(Some)
            }
            (Some(b'.'), _) => {
                self.at += 1;
                self.shorthand(false).map(Some)
            }
            _ => {
                self.at = before; // blanks belong to a segment that follows them
                Ok(None)
            }
        }
    }

    fn shorthand(&mut self, descendant: bool) -> Result<Segment, PathDefect> {
        let selector = if self.eat(b'*') { Selector::Wildcard } else { name(self.member_name()?) };
        Ok(Segment { descendant, selectors: vec![selector] })
    }

    fn member_name(&mut self) -> Result<&str, PathDefect> {
        let start = self.at;
        let first = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
        if !self.char().is_some_and(first) {
            let digit = self.peek().is_some_and(|byte| byte.is_ascii_digit());
            return Err(self.defect(if digit {
                "a member name (an index stands in brackets: [0])"
            } else {
                "a member name"
            }));
        }
        while let Some(c) = self.char().filter(|c| first(*c) || c.is_ascii_digit()) {
            self.at += c.len_utf8();
        }
        if self.peek() == Some(b'-') {
            return Err(self.defect("the end of the name (a name with '-' stands in brackets: ['a-b'])"));
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    fn bracketed(&mut self, descendant: bool) -> Result<Segment, PathDefect> {
        self.at += 1;
        let mut selectors = Vec::new();
        loop {
            self.blanks();
            selectors.push(self.selector()?);
            self.blanks();
            if self.eat(b']') {
                return Ok(Segment { descendant, selectors });
            }
            if !self.eat(b',') {
                return Err(self.defect("',' or ']'"));
            }
        }
    }

    fn selector(&mut self) -> Result<Selector, PathDefect> {
        match self.peek() {
            Some(quote @ (b'\'' | b'"')) => Ok(name(&self.quoted(quote)?)),
            Some(b'*') => {
                self.at += 1;
                Ok(Selector::Wildcard)
            }
            Some(b'?') => {
                self.at += 1;
                self.filter().map(|filter| Selector::Filter(Box::new(filter)))
            }
            Some(b':' | b'-' | b'0'..=b'9') => self.index_or_slice(),
            _ => Err(self.defect("a selector")),
        }
    }

    fn index_or_slice(&mut self) -> Result<Selector, PathDefect> {
        let start = self.bound()?;
        let before = self.at;
        self.blanks();
        if !self.eat(b':') {
            self.at = before;
            return match start {
                Some(index) => Ok(Selector::Step(Step::Index(index))),
                None => Err(self.defect("an integer or ':'")),
            };
        }
        self.blanks();
        let end = self.bound()?;
        self.blanks();
        let mut step = None;
        if self.eat(b':') {
            self.blanks();
            step = self.bound()?;
        }
        Ok(Selector::Slice { start, end, step })
    }

    /// An integer, if one stands here.
    fn bound(&mut self) -> Result<Option<i64>, PathDefect> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.integer().map(Some),
            _ => Ok(None),
        }
    }

    /// `0`, or an optional minus, a digit that is not zero, and more digits (RFC 9535 2.3.3).
    fn integer(&mut self) -> Result<i64, PathDefect> {
        let start = self.at;
        let negative = self.eat(b'-');
        if !matches!(self.peek(), Some(b'1'..=b'9')) && (negative || self.peek() != Some(b'0')) {
            return Err(self.defect("a digit from 1 to 9"));
        }
        if self.eat(b'0') {
            return match self.peek() {
                Some(b'0'..=b'9') => Err(self.defect("no digit after a leading zero")),
                _ => Ok(0),
            };
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        let value = self.text.get(start..self.at).and_then(|digits| digits.parse::<i64>().ok());
        value
            .filter(|n| n.abs() <= INDEX_MAX)
            .ok_or_else(|| self.defect_at(start, "an integer of at most 2^53 - 1"))
    }

    pub(super) fn quoted(&mut self, quote: u8) -> Result<String, PathDefect> {
        self.at += 1;
        let mut out = String::new();
        loop {
            match self.char() {
                None => return Err(self.defect("the closing quote")),
                Some(c) if c == char::from(quote) => {
                    self.at += 1;
                    return Ok(out);
                }
                Some('\\') => {
                    self.at += 1;
                    out.push(self.escape(quote)?);
                }
                Some(c) if c < ' ' => return Err(self.defect("an escape instead of a control character")),
                Some(c) => {
                    self.at += c.len_utf8();
                    out.push(c);
                }
            }
        }
    }

    fn escape(&mut self, quote: u8) -> Result<char, PathDefect> {
        let escaped = match self.peek() {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'/') => '/',
            Some(b'\\') => '\\',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            Some(c) if c == quote => char::from(quote),
            _ => return Err(self.defect("an escape: b, f, n, r, t, u, / or \\ or the quote")),
        };
        self.at += 1;
        Ok(escaped)
    }

    fn unicode(&mut self) -> Result<char, PathDefect> {
        let high = self.hex4()?;
        let low = if (0xd800..0xdc00).contains(&high) {
            if !(self.eat(b'\\') && self.eat(b'u')) {
                return Err(self.defect("the second half of a surrogate pair"));
            }
            Some(self.hex4()?)
        } else {
            None
        };
        let units = std::iter::once(high).chain(low);
        let mut chars = char::decode_utf16(units);
        match (chars.next(), chars.next()) {
            (Some(Ok(c)), None) => Ok(c),
            _ => Err(self.defect("a Unicode scalar value")),
        }
    }

    fn hex4(&mut self) -> Result<u16, PathDefect> {
        let digits = self.text.get(self.at..self.at.saturating_add(4)).unwrap_or_default();
        if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(self.defect("four hexadecimal digits"));
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).map_err(|_| self.defect("four hexadecimal digits"))
    }
}

fn name(name: &str) -> Selector {
    Selector::Step(Step::Name(MemberName::new(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, offset: usize) {
        let defect = parse(text, 1).expect_err(text);
        assert_eq!(defect.offset, offset, "{text}: {defect}");
    }

    #[test]
    fn shapes() {
        // RFC 9535 2.3: single steps fold into the head or into the leap before them.
        let path = parse("$.a['b c'][-1].d[*].e[0]..f[1:2, 'x']", 1).unwrap();
        assert_eq!(path.head.len(), 4);
        assert_eq!(path.leaps.iter().map(|leap| leap.then.len()).collect::<Vec<_>>(), [2, 0, 0]);
        assert_eq!(path.leaps.iter().map(|leap| leap.descendant).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn refusals_name_the_place() {
        refused("$.", 2);
        refused("$.a.", 4);
        refused("$.0", 2);
        refused("$. a", 2);
        refused("$.a ", 3);
        refused("$[01]", 3);
        refused("$[-0]", 3);
        refused("$[0 1]", 4);
        refused("$[9007199254740992]", 2);
        refused("$['a", 4);
        refused("$['\\x']", 4);
        refused("$['\\ud800']", 9);
        refused("$['\u{1}']", 3);
        refused(&format!("${}", "[*]".repeat(LEAPS_MAX + 1)), 1 + 3 * (LEAPS_MAX + 1));
    }

    #[test]
    fn blanks_stand_before_segments_and_inside_brackets() {
        for text in ["$ .a", "$\n['a']", "$[ 'a' , 0 ]", "$[ 1 : 2 : 3 ]", "$..[ * ]"] {
            assert!(parse(text, 1).is_ok(), "{text}");
        }
    }
}
