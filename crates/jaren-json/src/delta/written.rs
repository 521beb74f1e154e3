//! A batch as its text, written by who knows what changes.

use super::diff::diff_at;
use super::form::{begin_at, op_to_text, value_to_text};
use super::op::{Op, Segment};
use crate::write::into_string;
use crate::{NotJson, Value};

/// Mostly enough, so that the text is not moved as it grows.
const TYPICAL_BYTES: usize = 512;

/// The text of a batch in the making: what [`ops_to_text`](super::ops_to_text) writes, operation by operation, without the
/// operations.
///
/// Paths are those of members, and not empty; no name in them is reserved (durable D3).
#[derive(Clone)]
pub struct BatchText {
    out: Vec<u8>,
    /// Of the values in it.
    depth: u32,
    refused: Option<NotJson>,
}

impl Default for BatchText {
    fn default() -> Self {
        Self { out: Vec::with_capacity(TYPICAL_BYTES), depth: 0, refused: None }
    }
}

impl BatchText {
    /// A batch without operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// The member becomes this value; a new one, if there is none.
    pub fn set(&mut self, path: &[&str], value: &Value) {
        self.depth = self.depth.max(value.depth());
        self.next();
        begin_at(b's', path, &mut self.out);
        self.out.push(b',');
        let written = value_to_text(value, &mut self.out);
        self.out.push(b']');
        self.note(written);
    }

    /// The member, which is `old`, becomes `new`.
    pub fn change(&mut self, path: &[&str], old: &Value, new: &Value) {
        if old.ptr_eq(new) {
            return;
        }
        match (old, new) {
            (Value::Object(_), Value::Object(_))
            | (Value::Array(_), Value::Array(_))
            | (Value::String(_), Value::String(_)) => {
                let mut ops = Vec::new();
                diff_at(path.iter().copied().map(Segment::from).collect(), old, new, &mut ops);
                for op in &ops {
                    self.push(op);
                }
            }
            _ => self.set(path, new),
        }
    }

    fn push(&mut self, op: &Op) {
        self.depth = self.depth.max(op.value_depth());
        self.next();
        let written = op_to_text(op, &mut self.out);
        self.note(written);
    }

    fn next(&mut self) {
        self.out.push(if self.out.is_empty() { b'[' } else { b',' });
    }

    fn note(&mut self, written: Result<(), NotJson>) {
        self.refused = self.refused.take().or_else(|| written.err());
    }

    /// Has it no operation?
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// How deep the values of its operations are.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The text. Refuses NaN and the infinities, naming the first one's pointer in its value.
    pub fn finish(mut self) -> Result<String, NotJson> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        self.out.extend_from_slice(if self.out.is_empty() { b"[]" } else { b"]" });
        Ok(into_string(self.out))
    }
}

/// Its length only: what a host logs has no documents in it.
impl std::fmt::Debug for BatchText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BatchText({} bytes)", self.out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::{apply, ops_from_value};
    use crate::{read, value};

    #[test]
    fn leads_where_its_operations_lead() {
        let old = value!({ "a": { "x": 1, "text": "one" }, "list": [1, 2], "same": {} });
        let mut batch = BatchText::new();
        assert!(batch.is_empty());
        let same = old.get("same").unwrap();
        batch.change(&["same"], same, same);
        assert_eq!(batch.clone().finish().unwrap(), "[]");
        batch.set(&["a", "x"], &value!([[2]]));
        batch.set(&["a", "new \"name\""], &Value::Null);
        batch.change(&["a", "text"], &value!("one"), &value!("one more"));
        batch.change(&["list"], &value!([1, 2]), &value!([1, 3]));
        assert_eq!(batch.depth(), 2);
        let text = batch.finish().unwrap();
        let ops = ops_from_value(&read(text.as_bytes(), &read::ReadOptions::data()).unwrap()).unwrap();
        let new = value!({
            "a": { "x": [[2]], "text": "one more", "new \"name\"": null }, "list": [1, 3], "same": {}
        });
        assert_eq!(apply(Some(&old), &ops).unwrap(), new);
        assert_eq!(text, crate::delta::ops_to_text(&ops).unwrap());
    }

    #[test]
    fn refuses_what_is_no_json() {
        let mut batch = BatchText::new();
        batch.set(&["a"], &value!([1, (f64::NAN)]));
        batch.set(&["b"], &Value::Null);
        assert_eq!(batch.finish().unwrap_err().pointer().to_string(), "/1");
    }
}
