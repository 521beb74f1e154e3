//! Canonical text (RFC 8785).

use crate::write::{self, Numbers, Style};
use crate::{Pointer, Value};

/// A value has no canonical or serialized form: it holds a NaN or an infinity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("JSON has no number for the NaN or infinity at {}", crate::diagnostic::place(pointer))]
pub struct CanonicalError {
    pointer: Pointer,
}

impl CanonicalError {
    pub(crate) fn new(pointer: Pointer) -> Self {
        Self { pointer }
    }

    /// Where the number is: the first one in the order of the text.
    pub fn pointer(&self) -> &Pointer {
        &self.pointer
    }
}

/// The canonical text of a value: equal for equal values, different for others.
pub fn canonical(value: &Value) -> Result<String, CanonicalError> {
    let mut out = Vec::new();
    canonical_to(value, &mut out)?;
    Ok(write::into_string(out))
}

/// Appends the canonical text, which is UTF-8; after an error what was appended is of no use.
pub fn canonical_to(value: &Value, out: &mut Vec<u8>) -> Result<(), CanonicalError> {
    write::write(value, Style::Canonical, Numbers::Refuse, out)
}
