//! Finds the text of a part of a value, to point at it.

use std::ops::Range;

use super::error::{Position, Span};
use super::lexer::Lexer;
use crate::Pointer;
use crate::pointer::array_index;

/// Where the value that the pointer leads to stands in a text, if it does.
///
/// Of members of the same name the last one counts. The text is read again; it is not checked.
pub fn locate(text: &[u8], pointer: &Pointer) -> Option<Span> {
    find(text, pointer).map(|(_, value)| span(text, &value))
}

/// Where the name of the member that the pointer leads to stands in a text, quotes included, if it is a member's.
pub fn locate_key(text: &[u8], pointer: &Pointer) -> Option<Span> {
    find(text, pointer)?.0.map(|name| span(text, &name))
}

fn span(text: &[u8], range: &Range<usize>) -> Span {
    Span { start: Position::of(text, range.start), end: Position::of(text, range.end) }
}

/// The places of the name, if it has one, and of the value.
type Place = (Option<Range<usize>>, Range<usize>);

fn find(text: &[u8], pointer: &Pointer) -> Option<Place> {
    let mut lexer = Lexer::new(str::from_utf8(text).ok()?);
    lexer.skip_space();
    let mut name = None;
    for token in pointer.tokens() {
        let (token_name, start) = match lexer.peek()? {
            b'{' => member(&mut lexer, &token).map(|(name, start)| (Some(name), start))?,
            b'[' => (None, element(&mut lexer, array_index(&token)?)?),
            _ => return None,
        };
        name = token_name;
        lexer.rewind(start);
    }
    let start = lexer.offset();
    skip_value(&mut lexer)?;
    Some((name, start..lexer.offset()))
}

/// The place of a member's name and the start of its value, from the object's brace on.
fn member(lexer: &mut Lexer<'_>, wanted: &str) -> Option<(Range<usize>, usize)> {
    let mut found = None;
    lexer.bump();
    loop {
        lexer.skip_space();
        if lexer.peek() != Some(b'"') {
            return found;
        }
        let start = lexer.offset();
        let name = lexer.string().ok()?;
        let end = lexer.offset();
        lexer.skip_space();
        if !lexer.eat(b':') {
            return found;
        }
        lexer.skip_space();
        if name == wanted {
            found = Some((start..end, lexer.offset()));
        }
        if skip_value(lexer).is_none() {
            return found;
        }
        lexer.skip_space();
        if !lexer.eat(b',') {
            return found;
        }
    }
}

/// The start of an element, from the array's bracket on.
fn element(lexer: &mut Lexer<'_>, index: usize) -> Option<usize> {
    lexer.bump();
    for _ in 0..index {
        lexer.skip_space();
        skip_value(lexer)?;
        lexer.skip_space();
        if !lexer.eat(b',') {
            return None;
        }
    }
    lexer.skip_space();
    (lexer.peek()? != b']').then(|| lexer.offset())
}

/// Goes over a value, counting brackets.
fn skip_value(lexer: &mut Lexer<'_>) -> Option<()> {
    let mut open = 0_usize;
    loop {
        match lexer.peek()? {
            b'"' => {
                lexer.string().ok()?;
            }
            b'{' | b'[' => {
                open = open.saturating_add(1);
                lexer.bump();
            }
            b'}' | b']' => {
                open = open.checked_sub(1)?;
                lexer.bump();
            }
            b',' | b':' | b' ' | b'\n' | b'\t' | b'\r' if open > 0 => lexer.bump(),
            b'-' | b'0'..=b'9' => {
                lexer.number().ok()?;
            }
            b'n' => lexer.word("null").ok()?,
            b't' => lexer.word("true").ok()?,
            b'f' => lexer.word("false").ok()?,
            _ => return None,
        }
        if open == 0 {
            return Some(());
        }
    }
}
