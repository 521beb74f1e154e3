//! The stored form of values and deltas: compact JSON text, encoded where the batch is planned, decoded where it
//! is read.

use std::fmt;
use std::sync::Arc;

use jaren_json::delta::{self, BatchText, Op};
use jaren_json::read::{ReadOptions, read};
use jaren_json::{Value, Written, to_text_with};

use crate::limits;

/// A delta nests a value in its operation, and that in the list of operations.
const OPS_DEPTH: u32 = 2;

/// One stored base (a value) or delta (an array of operations) as compact JSON text.
///
/// Its `Debug` tells its length only, as that of everything that holds stored values leaves them out: what a host logs
/// has no documents in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Body(Arc<str>);

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.len())
    }
}

/// A value that cannot be stored, or a stored text that is not what it should be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The value is nested deeper than [`limits::DEPTH_MAX`].
    #[error("the value is nested {found} deep; at most {} can be stored", limits::DEPTH_MAX)]
    Depth {
        /// How deep it is.
        found: u32,
    },
    /// The value has a number that JSON cannot express.
    #[error("the value has no JSON form")]
    Text(#[source] jaren_json::NotJson),
    /// The stored text is not JSON.
    #[error("the stored text is not JSON")]
    Read(#[source] jaren_json::read::ReadError),
    /// The stored operations are malformed, or do not fit the value before them.
    #[error("the stored delta cannot be applied")]
    Delta(#[source] delta::DeltaError),
}

impl Body {
    /// A whole value.
    pub fn base(value: &Value) -> Result<Self, BodyError> {
        Self::base_with(value, &[])
    }

    /// The same of a value of which some parts are written already.
    pub(crate) fn base_with(value: &Value, parts: &[Written]) -> Result<Self, BodyError> {
        check(value.depth(), limits::DEPTH_MAX)?;
        let text = if parts.is_empty() { jaren_json::to_text(value) } else { to_text_with(value, parts) };
        text.map(|text| Self(text.into())).map_err(BodyError::Text)
    }

    /// The operations that lead from the value before to the next.
    pub fn delta(ops: &[Op]) -> Result<Self, BodyError> {
        let found = ops.iter().map(Op::value_depth).max().unwrap_or(0);
        check(found, limits::DEPTH_MAX)?;
        delta::ops_to_text(ops).map(|text| Self(text.into())).map_err(BodyError::Text)
    }

    /// The same operations, written already.
    pub fn batch(batch: BatchText) -> Result<Self, BodyError> {
        check(batch.depth(), limits::DEPTH_MAX)?;
        batch.finish().map(|text| Self(text.into())).map_err(BodyError::Text)
    }

    /// A text that a storage kept.
    pub fn stored(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the text is empty, which no encoded body is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a base.
    pub fn value(&self) -> Result<Value, BodyError> {
        self.read(limits::DEPTH_MAX)
    }

    fn read(&self, depth_max: u32) -> Result<Value, BodyError> {
        let options = ReadOptions { depth_max, bytes_max: limits::BODY_BYTES_MAX, ..ReadOptions::data() };
        read(self.0.as_bytes(), &options).map_err(BodyError::Read)
    }

    /// The operations of a delta.
    pub fn ops(&self) -> Result<Vec<Op>, BodyError> {
        delta::ops_from_value(&self.read(limits::DEPTH_MAX + OPS_DEPTH)?).map_err(BodyError::Delta)
    }
}

fn check(found: u32, max: u32) -> Result<(), BodyError> {
    if found > max { Err(BodyError::Depth { found }) } else { Ok(()) }
}
