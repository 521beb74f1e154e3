//! Rebuilding a container from what its children answered, or finding that it is still itself (section 5.1).

use jaren_json::{Array, Object, Value};

/// What a dispatch answered.
pub(crate) enum Answer {
    /// The value as it is; nothing was added to the list.
    Itself,
    /// What was added to the list.
    Added,
}

/// A container whose children are being dispatched, in order.
///
/// Their answers are the tail of a list. Nothing is copied before the first child that does not answer itself.
pub(crate) struct Rebuilt<'v> {
    children: &'v [Value],
    /// The position of the next child.
    next: usize,
    /// Where the answers begin in the list.
    from: usize,
    /// Whether the answers of all children so far are in the list.
    copied: bool,
    /// Whether the result is another container than the one that is being rebuilt.
    changed: bool,
    /// The positions of the children that answered nothing.
    left_out: Vec<usize>,
}

impl<'v> Rebuilt<'v> {
    /// A container of these children; `fresh` where it is another one whatever they answer.
    pub(crate) fn new(children: &'v [Value], fresh: bool, answer: &[Value]) -> Self {
        Self { children, next: 0, from: answer.len(), copied: fresh, changed: fresh, left_out: Vec::new() }
    }

    /// The children, and the position of the next one.
    pub(crate) fn rest(&self) -> (&'v [Value], usize) {
        (self.children, self.next)
    }

    /// The children up to `position` answer themselves.
    pub(crate) fn keep(&mut self, position: usize, answer: &mut Vec<Value>) {
        if self.copied {
            answer.extend_from_slice(self.children.get(self.next..position).unwrap_or_default());
        }
        self.next = position;
    }

    /// The next child answers so many items, the last in the list.
    pub(crate) fn replace(&mut self, items: usize, answer: &mut Vec<Value>) {
        let itself = items == 1
            && answer.last().zip(self.children.get(self.next)).is_some_and(|(a, b)| is_identical(a, b));
        self.changed = self.changed || !itself;
        if items == 0 {
            self.left_out.push(self.next);
        }
        if !self.copied {
            self.copied = true;
            let before = self.children.get(..self.next).unwrap_or_default();
            answer.splice(self.from..self.from, before.iter().cloned());
        }
        self.next += 1;
    }

    /// The container, where all children that are left are themselves.
    pub(crate) fn finish(mut self, value: &Value, answer: &mut Vec<Value>) -> Answer {
        if !self.changed {
            answer.truncate(self.from);
            return Answer::Itself;
        }
        self.keep(self.children.len(), answer);
        let parts = answer.drain(self.from..);
        let container = match value {
            Value::Object(object) => without(object, &self.left_out, parts),
            _ => Array::from(parts).into(),
        };
        answer.push(container);
        Answer::Added
    }
}

/// An object of the same names with other values, save the members at these positions.
fn without(object: &Object, left_out: &[usize], values: std::vec::Drain<'_, Value>) -> Value {
    if left_out.is_empty() {
        let same = object.shape().and_then(|shape| Object::from_shape_drain(shape, values));
        return same.unwrap_or_default().into();
    }
    let mut left_out = left_out.iter().peekable();
    let kept =
        object.keys().iter().enumerate().filter(|(position, _)| left_out.next_if_eq(&position).is_none());
    kept.map(|(_, name)| name).zip(values).collect::<Object>().into()
}

/// Identity as the format has it (`===`): the same container, or equal scalars.
fn is_identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        _ => a.ptr_eq(b),
    }
}
