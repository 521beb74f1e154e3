//! Canonical text (RFC 8785).

use crate::write::{self, Numbers, Style};
use crate::{NotJson, Value};

/// The canonical text of a value: equal for equal values, different for others.
pub fn canonical(value: &Value) -> Result<String, NotJson> {
    let mut out = Vec::new();
    canonical_to(value, &mut out)?;
    Ok(write::into_string(out))
}

/// Appends the canonical text, which is UTF-8; after an error what was appended is of no use.
pub fn canonical_to(value: &Value, out: &mut Vec<u8>) -> Result<(), NotJson> {
    write::write(value, Style::Canonical, Numbers::Refuse, out)
}
