//! From tokens to a value, without recursion.

use super::error::{Position, ReadError, ReadErrorKind};
use super::lexer::{Lexer, Refusal};
use super::trie::{NodeId, Trie};
use super::{Duplicates, Integers, ReadOptions};
use crate::deep::Extent;
use crate::member_list::MemberList;
use crate::{Array, Object, Pointer, Shape, Str, Value};

/// Reads values from one text; their shapes are shared.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    options: ReadOptions,
    trie: Trie,
    /// The finished values of all open containers, the outermost container's first.
    values: Vec<Value>,
    frames: Vec<Frame>,
}

/// What a parser hands on to the next one: the shapes that it found, and room.
#[derive(Debug, Default)]
pub(super) struct Memory {
    trie: Trie,
    values: Vec<Value>,
    frames: Vec<Frame>,
}

/// A container that is open.
#[derive(Debug)]
struct Frame {
    /// Where its values begin.
    base: usize,
    /// Of its finished values.
    extent: Extent,
    /// The names so far, if it is an object.
    names: Option<Names>,
    /// The place that the value to come takes, where it replaces one of the same name.
    replaces: Option<usize>,
    /// Whether a value was replaced, so that `extent` may count one that is gone.
    replaced: bool,
}

impl Memory {
    /// Values and containers for which room is kept.
    const ROOM: usize = 1024;
}

impl Frame {
    fn new(base: usize, names: Option<Names>) -> Self {
        Self { base, extent: Extent::OPEN, names, replaces: None, replaced: false }
    }
}

/// The names of an open object.
#[derive(Debug)]
enum Names {
    /// Found in the trie.
    Known(NodeId),
    /// Kept by the object itself.
    Own(Box<MemberList<()>>),
}

impl<'a> Parser<'a> {
    /// A parser of a text, with what another one left.
    pub(super) fn new(text: &'a [u8], options: &ReadOptions, memory: Memory) -> Result<Self, ReadError> {
        let refuse = |kind, offset| ReadError::new(kind, Pointer::root(), Position::of(text, offset));
        let (bytes, max) = (text.len(), options.bytes_max);
        if bytes > max {
            return Err(refuse(ReadErrorKind::Length { bytes, max }, 0));
        }
        let checked = str::from_utf8(text).map_err(|error| {
            let offset = error.valid_up_to();
            refuse(ReadErrorKind::Utf8 { byte: text.get(offset).copied().unwrap_or_default() }, offset)
        })?;
        let Memory { trie, values, frames } = memory;
        Ok(Self { lexer: Lexer::new(checked), options: *options, trie, values, frames })
    }

    /// What the next parser can use; of a long list that was read there is no room left.
    pub(super) fn into_memory(self) -> Memory {
        let Self { mut trie, mut values, mut frames, .. } = self;
        trie.make_room();
        values.clear();
        values.shrink_to(Memory::ROOM);
        frames.clear();
        frames.shrink_to(Memory::ROOM);
        Memory { trie, values, frames }
    }

    /// Whether only white space follows.
    pub(super) fn at_end(&mut self) -> bool {
        self.lexer.skip_space();
        self.lexer.peek().is_none()
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<(), ReadError> {
        if self.at_end() {
            return Ok(());
        }
        let refusal = self.lexer.unexpected("the end of the text after the value");
        Err(self.refuse(refusal, 0))
    }

    /// Reads the next value.
    pub(super) fn value(&mut self) -> Result<Value, ReadError> {
        loop {
            let Some(mut value) = self.begin()? else { continue };
            // The value is finished, and with it perhaps containers around it.
            loop {
                let Some(frame) = self.frames.last_mut() else { return Ok(value) };
                frame.extent = frame.extent.join(value.extent());
                match frame.replaces.take().and_then(|place| self.values.get_mut(frame.base + place)) {
                    Some(slot) => {
                        *slot = value;
                        frame.replaced = true;
                    }
                    None => self.values.push(value),
                }
                match self.after_value()? {
                    Some(container) => value = container,
                    None => break,
                }
            }
        }
    }

    /// Reads a scalar or an empty container; opens one that is not, up to where a value must follow.
    #[inline]
    fn begin(&mut self) -> Result<Option<Value>, ReadError> {
        self.lexer.skip_space();
        let scalar = match self.lexer.peek() {
            Some(b'"') => self.lexer.string().map(|text| Value::String(Str::from(&*text))),
            Some(b'-' | b'0'..=b'9') => return self.number().map(Some),
            Some(b'{') => return self.open_object(),
            Some(b'[') => return self.open_array(),
            Some(b'n') => self.lexer.word("null").map(|()| Value::Null),
            Some(b't') => self.lexer.word("true").map(|()| Value::Bool(true)),
            Some(b'f') => self.lexer.word("false").map(|()| Value::Bool(false)),
            _ => Err(self.lexer.unexpected("a value")),
        };
        scalar.map(Some).map_err(|refusal| self.refuse(refusal, self.frames.len()))
    }

    #[inline]
    fn number(&mut self) -> Result<Value, ReadError> {
        let offset = self.lexer.offset();
        let literal = self.lexer.number().map_err(|refusal| self.refuse(refusal, self.frames.len()))?;
        let value = literal.value();
        if self.options.integers == Integers::Exact {
            let kind = match value {
                value if value.is_infinite() => Some(ReadErrorKind::Overflow),
                value if literal.is_inexact(value) => Some(ReadErrorKind::InexactInteger),
                _ => None,
            };
            if let Some(kind) = kind {
                return Err(self.refuse(Refusal { kind, offset }, self.frames.len()));
            }
        }
        Ok(Value::Number(value))
    }

    fn open_array(&mut self) -> Result<Option<Value>, ReadError> {
        self.check_depth()?;
        self.lexer.bump();
        self.lexer.skip_space();
        if self.lexer.eat(b']') {
            return Ok(Some(Value::Array(Array::default())));
        }
        self.frames.push(Frame::new(self.values.len(), None));
        Ok(None)
    }

    fn open_object(&mut self) -> Result<Option<Value>, ReadError> {
        self.check_depth()?;
        self.lexer.bump();
        self.lexer.skip_space();
        if self.lexer.eat(b'}') {
            return Ok(Some(Value::Object(Object::default())));
        }
        self.frames.push(Frame::new(self.values.len(), Some(Names::Known(0))));
        self.name("a name in double quotes or '}'").map(|()| None)
    }

    fn check_depth(&self) -> Result<(), ReadError> {
        let max = self.options.depth_max;
        if u32::try_from(self.frames.len()).is_ok_and(|depth| depth < max) {
            return Ok(());
        }
        let refusal = Refusal { kind: ReadErrorKind::Depth { max }, offset: self.lexer.offset() };
        Err(self.refuse(refusal, self.frames.len()))
    }

    /// Goes on behind a finished value: to the next one of the container, or to the finished container.
    #[inline]
    fn after_value(&mut self) -> Result<Option<Value>, ReadError> {
        self.lexer.skip_space();
        let object = self.frames.last().is_some_and(|frame| frame.names.is_some());
        let expected = match (self.lexer.peek(), object) {
            (Some(b','), true) => {
                self.lexer.bump();
                self.lexer.skip_space();
                return self.name("a name in double quotes after ','").map(|()| None);
            }
            (Some(b','), false) => {
                self.lexer.bump();
                return Ok(None);
            }
            (Some(b'}'), true) | (Some(b']'), false) => {
                self.lexer.bump();
                return Ok(Some(self.close()));
            }
            (_, true) => "',' or '}' after a member",
            (_, false) => "',' or ']' after an element",
        };
        let refusal = self.lexer.unexpected(expected);
        Err(self.refuse(refusal, self.frames.len().saturating_sub(1)))
    }

    /// The innermost container, finished.
    #[inline]
    fn close(&mut self) -> Value {
        let Some(frame) = self.frames.pop() else { return Value::Null };
        let extent = match self.values.get(frame.base..) {
            Some(values) if frame.replaced => Extent::over(values),
            _ => frame.extent.around(),
        };
        match frame.names {
            None => Value::Array(Array::from_exact(self.values.drain(frame.base..), extent)),
            Some(names) => {
                let shape = match names {
                    Names::Known(node) => self.trie.shape(node),
                    Names::Own(list) => Shape::from_distinct(list.into_parts().0),
                };
                Value::Object(Object::from_exact(shape, self.values.drain(frame.base..), extent))
            }
        }
    }

    /// Reads a name and the colon behind it.
    #[inline]
    fn name(&mut self, expected: &'static str) -> Result<(), ReadError> {
        let offset = self.lexer.offset();
        let outside = self.frames.len().saturating_sub(1);
        if self.lexer.peek() != Some(b'"') {
            let refusal = self.lexer.unexpected(expected);
            return Err(self.refuse(refusal, outside));
        }
        let name = self.lexer.string().map_err(|refusal| self.refuse(refusal, outside))?;
        let repeated = self.add_name(&name);
        if repeated && self.options.duplicates == Duplicates::Refuse {
            return Err(self.refuse(Refusal { kind: ReadErrorKind::Duplicate, offset }, self.frames.len()));
        }
        self.lexer.skip_space();
        if self.lexer.eat(b':') {
            return Ok(());
        }
        let refusal = self.lexer.unexpected("':' after a name");
        Err(self.refuse(refusal, self.frames.len()))
    }

    /// Adds a name to the innermost object; whether it was there already.
    #[inline]
    fn add_name(&mut self, name: &str) -> bool {
        let Some(Frame { names: Some(names), replaces, .. }) = self.frames.last_mut() else { return false };
        if let Names::Known(node) = names {
            if let Some(next) = self.trie.find(*node, name) {
                *node = next;
                return false;
            }
            *replaces = self.trie.position(*node, name);
            if replaces.is_some() {
                return true;
            }
            if let Some(next) = self.trie.grow(*node, name) {
                *node = next;
                return false;
            }
            let known = self.trie.names(*node);
            let items = vec![(); known.len()];
            *names = Names::Own(Box::new(MemberList::from_distinct(known, items)));
        }
        if let Names::Own(list) = names {
            *replaces = list.position(name);
            if replaces.is_none() {
                list.set(Str::from(name), ());
            }
        }
        replaces.is_some()
    }

    /// An error at the value that is being read within the first `depth` open containers.
    #[cold]
    fn refuse(&self, refusal: Refusal, depth: usize) -> ReadError {
        let mut pointer = Pointer::root();
        for (index, frame) in self.frames.iter().take(depth).enumerate() {
            match &frame.names {
                None => {
                    let end = self
                        .frames
                        .get(index.saturating_add(1))
                        .map_or(self.values.len(), |inner| inner.base);
                    pointer.push_index(end.saturating_sub(frame.base));
                }
                Some(names) => {
                    let place = |count: usize| frame.replaces.unwrap_or_else(|| count.saturating_sub(1));
                    let name = match names {
                        Names::Known(node) => {
                            self.trie.names(*node).get(place(self.trie.length(*node))).cloned()
                        }
                        Names::Own(list) => list.names().get(place(list.names().len())).cloned(),
                    };
                    pointer.push(&name.unwrap_or_default());
                }
            }
        }
        let position = Position::of(self.lexer.text().as_bytes(), refusal.offset);
        ReadError::new(refusal.kind, pointer, position)
    }
}
