//! Deltas: what changed between two values, as a batch of operations (durable D1 to D14).
//!
//! [`diff`] finds a batch, [`apply`] carries it out; what it does not touch is shared with the old value.
//! [`ops_to_value`] and [`ops_from_value`] turn a batch into its JSON form and back; [`ops_to_text`] writes its text, and
//! [`BatchText`] that of one whose operations are known as it is made.
//!
//! Batches are not canonical: equal changes may be written differently (durable D9). Equality of values does not see the
//! order of members, and neither does a delta: `apply(old, diff(old, new))` equals `new`.

mod apply;
mod diff;
mod draft;
mod error;
mod form;
mod op;
mod text;
mod written;

pub use apply::apply;
pub use diff::{OPS_MAX, diff};
pub use error::{DeltaError, DeltaErrorKind};
pub use form::{ops_from_value, ops_to_text, ops_to_value};
pub use op::{Op, Path, Segment};
pub use written::BatchText;

/// Names that no path goes through (durable D3): in the format's first home they reach behind an object.
const RESERVED: [&str; 3] = ["__proto__", "constructor", "prototype"];

pub(crate) fn is_reserved(name: &str) -> bool {
    // Most names have another length.
    matches!(name.len(), 9 | 11) && RESERVED.contains(&name)
}

/// How many segments a path may have.
pub const PATH_MAX: usize = 512;
