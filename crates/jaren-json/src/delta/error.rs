//! Why a batch cannot be carried out.

use std::fmt;

use super::op::{Segment, pointer};
use crate::{Pointer, diagnostic};

/// Why an operation cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaErrorKind {
    /// The form of the operation is wrong (durable D2).
    #[error("{0}")]
    Form(&'static str),
    /// A segment that no path may have: a reserved name, no index, a name in an array, an index beyond the end
    /// (durable D3, D4).
    #[error("unsafe path: {0}")]
    UnsafePath(&'static str),
    /// The path leads nowhere, or to something of another type (durable D4, D5).
    #[error("the path does not lead to {0}")]
    Path(&'static str),
    /// The text would be cut within a character (durable D8).
    #[error("the count ends within a surrogate pair: count whole characters")]
    SplitsSurrogatePair,
}

/// A batch cannot be carried out; the value is as it was.
#[derive(Clone, PartialEq, Eq)]
pub struct DeltaError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: DeltaErrorKind,
    op: usize,
    pointer: Pointer,
}

const _: () = assert!(size_of::<DeltaError>() == size_of::<usize>(), "an error is one word");

impl DeltaError {
    #[cold]
    pub(super) fn new(kind: DeltaErrorKind, path: &[Segment]) -> Self {
        Self(Box::new(Inner { kind, op: 0, pointer: pointer(path) }))
    }

    /// The same error of the operation at this index.
    pub(super) fn of_op(mut self, op: usize) -> Self {
        self.0.op = op;
        self
    }

    /// Why.
    pub fn kind(&self) -> DeltaErrorKind {
        self.0.kind
    }

    /// The index of the operation in its batch.
    pub fn op(&self) -> usize {
        self.0.op
    }

    /// How far its path could be followed, the segment that failed included.
    pub fn pointer(&self) -> &Pointer {
        &self.0.pointer
    }
}

impl fmt::Display for DeltaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, op, pointer } = &*self.0;
        write!(f, "{kind} (operation {op}, at {})", diagnostic::place(pointer))
    }
}

impl fmt::Debug for DeltaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for DeltaError {}
