//! Writing values as text: one iterative writer for canonical, compact and pretty text.

use std::fmt;
use std::sync::Arc;

use crate::{Pointer, Str, Value, number, scan};

/// A value has no text in JSON, canonical or other: it holds a NaN or an infinity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("JSON has no number for the NaN or infinity at {}", crate::diagnostic::place(pointer))]
pub struct NotJson {
    pointer: Pointer,
}

impl NotJson {
    /// Where the number is: the first one in the order of the text.
    pub fn pointer(&self) -> &Pointer {
        &self.pointer
    }
}

/// How deep a container may lie before pretty text stops to indent further.
const INDENT_DEPTH_MAX: usize = 32;

/// Compact JSON text, members in order.
///
/// Refuses NaN and the infinities, naming the first one's pointer.
pub fn to_text(value: &Value) -> Result<String, NotJson> {
    let mut out = Vec::new();
    write(value, Style::Compact, Numbers::Refuse, &mut out)?;
    Ok(into_string(out))
}

/// A value with its compact text, for who writes it as a part of many others.
#[derive(Clone)]
pub struct Written {
    value: Value,
    text: Arc<str>,
}

impl Written {
    /// Writes the value.
    pub fn of(value: &Value) -> Result<Self, NotJson> {
        Ok(Self { value: value.clone(), text: to_text(value)?.into() })
    }
}

/// Its length only: what a host logs has no documents in it.
impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Written({} bytes)", self.text.len())
    }
}

/// The same as [`to_text`] where some parts of the value may be written already: the very containers, not equal ones.
pub fn to_text_with(value: &Value, parts: &[Written]) -> Result<String, NotJson> {
    let known: usize = parts.iter().map(|part| part.text.len()).sum();
    let mut out = Vec::with_capacity(known.saturating_add(256));
    write_with(value, Style::Compact, Numbers::Refuse, parts, &mut out)?;
    Ok(into_string(out))
}

/// JSON text to be read by people: members in order, two spaces a level, a space after each colon.
///
/// Refuses NaN and the infinities, naming the first one's pointer.
pub fn pretty(value: &Value) -> Result<String, NotJson> {
    let mut out = Vec::new();
    write(value, Style::Pretty, Numbers::Refuse, &mut out)?;
    Ok(into_string(out))
}

/// Compact text for people to read, of any value.
pub(crate) fn lenient(value: &Value, numbers: Numbers) -> String {
    let mut out = Vec::new();
    // Only a refused number is an error.
    let _ = write(value, Style::Compact, numbers, &mut out);
    into_string(out)
}

pub(crate) fn into_string(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The layout of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// RFC 8785: members by the UTF-16 code units of their names.
    Canonical,
    /// Members in order.
    Compact,
    /// Members in order, over several lines.
    Pretty,
}

/// What becomes of NaN and the infinities.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// They are an error.
    Refuse,
    /// They are `null`, as `JSON.stringify` has it.
    Null,
    /// They are named, which is not JSON.
    Name,
}

/// A container that is being written, and how far it is.
enum Frame<'a> {
    Array { elements: &'a [Value], next: usize },
    Object { names: &'a [Str], values: &'a [Value], order: Option<&'a [u32]>, next: usize },
}

/// Appends the text of a value.
pub(crate) fn write(value: &Value, style: Style, numbers: Numbers, out: &mut Vec<u8>) -> Result<(), NotJson> {
    write_with(value, style, numbers, &[], out)
}

/// The same with parts whose text in that style is known.
fn write_with(
    value: &Value,
    style: Style,
    numbers: Numbers,
    parts: &[Written],
    out: &mut Vec<u8>,
) -> Result<(), NotJson> {
    let mut frames = Vec::new();
    let mut current = Some(value);
    loop {
        if let Some(value) = current.take() {
            let known = match value {
                Value::Object(_) | Value::Array(_) => parts.iter().find(|part| part.value.ptr_eq(value)),
                _ => None,
            };
            if let Some(part) = known {
                out.extend_from_slice(part.text.as_bytes());
            } else if !begin(value, style, numbers, out, &mut frames) {
                return Err(NotJson { pointer: pointer_of(&frames) });
            }
        }
        let depth = frames.len();
        let Some(frame) = frames.last_mut() else { return Ok(()) };
        current = frame.advance(style, depth, out);
        if current.is_none() {
            frames.pop();
        }
    }
}

/// Writes a scalar, or opens a container; `false` where the number is refused.
#[inline]
fn begin<'a>(
    value: &'a Value,
    style: Style,
    numbers: Numbers,
    out: &mut Vec<u8>,
    frames: &mut Vec<Frame<'a>>,
) -> bool {
    match value {
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) if number.is_finite() => number::write(*number, out),
        Value::Number(number) => match numbers {
            Numbers::Refuse => return false,
            Numbers::Null => out.extend_from_slice(b"null"),
            Numbers::Name => out.extend_from_slice(number.to_string().as_bytes()),
        },
        Value::Null => out.extend_from_slice(b"null"),
        Value::String(text) => string(text, out),
        Value::Array(array) => {
            out.push(b'[');
            frames.push(Frame::Array { elements: array, next: 0 });
        }
        Value::Object(object) => {
            out.push(b'{');
            let order = (style == Style::Canonical).then(|| object.sorted_positions());
            frames.push(Frame::Object { names: object.keys(), values: object.values(), order, next: 0 });
        }
    }
    true
}

impl<'a> Frame<'a> {
    /// Goes on to the next value, writing what stands before it; closes the container where there is none.
    #[inline]
    fn advance(&mut self, style: Style, depth: usize, out: &mut Vec<u8>) -> Option<&'a Value> {
        match self {
            Self::Array { elements, next } => {
                let value = elements.get(*next);
                separate(value.is_some(), *next, b']', style, depth, out);
                *next += 1;
                value
            }
            Self::Object { names, values, order, next } => {
                let position = place(*order, *next);
                let member = names.get(position).zip(values.get(position));
                separate(member.is_some(), *next, b'}', style, depth, out);
                *next += 1;
                member.map(|(name, value)| {
                    string(name, out);
                    out.extend_from_slice(if style == Style::Pretty { b": " } else { b":" });
                    value
                })
            }
        }
    }
}

/// The position of the n-th member in the order of writing.
#[inline]
fn place(order: Option<&[u32]>, next: usize) -> usize {
    match order {
        None => next,
        Some(order) => order.get(next).map_or(usize::MAX, |position| *position as usize),
    }
}

/// Writes what stands before the next value, or the closing bracket.
#[inline]
fn separate(more: bool, next: usize, close: u8, style: Style, depth: usize, out: &mut Vec<u8>) {
    if more && next > 0 {
        out.push(b',');
    }
    if style == Style::Pretty && (more || next > 0) {
        out.push(b'\n');
        let levels = depth.min(INDENT_DEPTH_MAX).saturating_sub(usize::from(!more));
        out.extend(std::iter::repeat_n(b"  ", levels).flatten());
    }
    if !more {
        out.push(close);
    }
}

/// The way to the value that is being written.
fn pointer_of(frames: &[Frame<'_>]) -> Pointer {
    let mut pointer = Pointer::root();
    for frame in frames {
        match frame {
            Frame::Array { next, .. } => pointer.push_index(next.saturating_sub(1)),
            Frame::Object { names, order, next, .. } => {
                let name = names.get(place(*order, next.saturating_sub(1)));
                pointer.push(name.map_or("", |name| name.as_str()));
            }
        }
    }
    pointer
}

/// Appends a string as RFC 8785, section 3.2.2.2, and `JSON.stringify` have it.
#[inline]
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some((plain, special)) = rest.split_at_checked(scan::plain(rest)) {
        out.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else { break };
        escape(*byte, out);
        rest = after;
    }
    out.push(b'"');
}

#[cold]
fn escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}
