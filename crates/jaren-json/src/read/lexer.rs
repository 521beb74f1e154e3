//! The tokens of JSON: white space, strings, numbers, words.

use std::borrow::Cow;

use super::error::{Found, ReadErrorKind};
use crate::number::Literal;
use crate::scan;

/// A text and how far it was read.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// A token was refused: why, and at which byte.
#[derive(Clone, Copy)]
pub(super) struct Refusal {
    pub(super) kind: ReadErrorKind,
    pub(super) offset: usize,
}

type Lexed<T> = Result<T, Refusal>;

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Goes to a place that was reached before.
    pub(super) fn rewind(&mut self, offset: usize) {
        self.at = offset;
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes over one byte; the text is short enough that no offset overflows.
    #[inline]
    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    /// Goes over this byte if it is the next one.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.bump();
        }
        found
    }

    #[inline]
    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.bump();
        }
    }

    /// A refusal of what stands next.
    #[cold]
    pub(super) fn unexpected(&self, expected: &'static str) -> Refusal {
        let found = self.rest(self.at).chars().next().map_or(Found::End, Found::Char);
        Refusal { kind: ReadErrorKind::Syntax { expected, found }, offset: self.at }
    }

    #[inline]
    fn rest(&self, from: usize) -> &'a str {
        self.text.get(from..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Goes over a word.
    pub(super) fn word(&mut self, word: &'static str) -> Lexed<()> {
        if self.rest(self.at).starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        let same = self.rest(self.at).bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
        self.at += same;
        Err(self.unexpected(match word {
            "null" => "'null'",
            "true" => "'true'",
            _ => "'false'",
        }))
    }

    /// Reads a string, from its opening quote on.
    #[inline]
    pub(super) fn string(&mut self) -> Lexed<Cow<'a, str>> {
        self.bump();
        let start = self.at;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            let text = self.slice(start, self.at);
            self.bump();
            return Ok(Cow::Borrowed(text));
        }
        self.string_escaped(start).map(Cow::Owned)
    }

    /// Goes to the next quote, backslash or control character.
    #[inline]
    fn skip_plain(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += scan::plain(rest);
    }

    fn string_escaped(&mut self, start: usize) -> Lexed<String> {
        let mut text = self.slice(start, self.at).to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.bump();
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => {
                    return Err(self.unexpected("an escape: control characters do not stand in a string"));
                }
                None => return Err(self.unexpected("'\"' at the end of the string")),
            }
            let start = self.at;
            self.skip_plain();
            text.push_str(self.slice(start, self.at));
        }
    }

    /// Reads an escape, from its backslash on.
    fn escape(&mut self) -> Lexed<char> {
        let start = self.at;
        self.bump();
        let char = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.bump();
                return self.escape_unicode(start);
            }
            _ => return Err(self.unexpected("one of \" \\ / b f n r t u after a backslash")),
        };
        self.bump();
        Ok(char)
    }

    /// Reads what follows `\u`: four digits, or two such escapes that make a pair of surrogates.
    fn escape_unicode(&mut self, start: usize) -> Lexed<char> {
        let lone = Refusal { kind: ReadErrorKind::LoneSurrogate, offset: start };
        let first = self.four_digits()?;
        let second = match first {
            0xD800..=0xDBFF if self.rest(self.at).starts_with("\\u") => {
                self.at += 2;
                Some(self.four_digits()?)
            }
            _ => None,
        };
        let units = std::iter::once(first).chain(second);
        let mut chars = char::decode_utf16(units);
        match (chars.next(), chars.next()) {
            (Some(Ok(char)), None) => Ok(char),
            _ => Err(lone),
        }
    }

    fn four_digits(&mut self) -> Lexed<u16> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit.and_then(|digit| u16::try_from(digit).ok()) else {
                return Err(self.unexpected("four hexadecimal digits after \\u"));
            };
            unit = unit << 4 | digit;
            self.bump();
        }
        Ok(unit)
    }

    /// Reads a number, from its sign or first digit on.
    #[inline]
    pub(super) fn number(&mut self) -> Lexed<Literal<'a>> {
        let start = self.at;
        self.eat(b'-');
        let mut digits = Digits::default();
        match self.peek() {
            Some(b'0') => self.bump(),
            Some(b'1'..=b'9') => self.digits(&mut digits),
            _ => return Err(self.unexpected("a digit")),
        }
        let mut integer = true;
        let mut exponent = 0_i32;
        if self.eat(b'.') {
            integer = false;
            let point = self.at;
            self.digits(&mut digits);
            if self.at == point {
                return Err(self.unexpected("a digit after the point"));
            }
            exponent = exponent.saturating_sub_unsigned(u32::try_from(self.at - point).unwrap_or(u32::MAX));
        }
        if let Some(b'e' | b'E') = self.peek() {
            integer = false;
            self.bump();
            exponent = exponent.saturating_add(self.exponent()?);
        }
        Ok(Literal { text: self.slice(start, self.at), digits: digits.value(), exponent, integer })
    }

    #[inline]
    fn digits(&mut self, digits: &mut Digits) {
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            digits.push(byte - b'0');
            self.bump();
        }
    }

    fn exponent(&mut self) -> Lexed<i32> {
        let negative = self.peek() == Some(b'-');
        if negative || self.peek() == Some(b'+') {
            self.bump();
        }
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected("a digit of the exponent"));
        }
        let mut exponent = 0_i32;
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            exponent = exponent.saturating_mul(10).saturating_add(i32::from(byte - b'0'));
            self.bump();
        }
        Ok(if negative { exponent.saturating_neg() } else { exponent })
    }
}

/// Decimal digits as one integer, as long as they are few enough.
#[derive(Default)]
struct Digits {
    value: u64,
    count: u32,
}

impl Digits {
    /// So many digits always fit.
    const COUNT_MAX: u32 = 19;

    #[inline]
    fn push(&mut self, digit: u8) {
        // Leading zeros do not count.
        if self.value != 0 || digit != 0 {
            self.count = self.count.saturating_add(1);
        }
        self.value = self.value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }

    #[inline]
    fn value(&self) -> Option<u64> {
        (self.count <= Self::COUNT_MAX).then_some(self.value)
    }
}
