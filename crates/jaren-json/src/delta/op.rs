//! The operations of a batch (durable D1).

use std::fmt;

use crate::{Pointer, Str, Value};

/// One change of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// `["r", value]`: the whole value becomes this one.
    Replace(Value),
    /// `["s", path, value]`: a member or an element becomes this value; a new member, or an element behind the last one.
    Set {
        /// Not empty.
        path: Path,
        /// The value.
        value: Value,
    },
    /// `["d", path]`: a member or an element goes; later elements move down.
    Delete {
        /// Not empty.
        path: Path,
    },
    /// `["a", path, text]`: text is added at the end of a string.
    Append {
        /// Not empty.
        path: Path,
        /// The text.
        text: Str,
    },
    /// `["t", path, n]`: the first `n` UTF-16 code units of a string go.
    Trim {
        /// Not empty.
        path: Path,
        /// In UTF-16 code units.
        units: u64,
    },
    /// `["p", path, index, remove, items]`: in an array, so many elements from the index on go and items come.
    Splice {
        /// May be empty: the whole value.
        path: Path,
        /// Where; beyond the end it means the end.
        index: u64,
        /// How many go; beyond the end it means all.
        remove: u64,
        /// What comes.
        items: Vec<Value>,
    },
    /// `["m", path, perm]`: the elements of an array in another order, `new[i] = old[order[i]]`.
    Reorder {
        /// May be empty: the whole value.
        path: Path,
        /// A permutation of the indexes.
        order: Vec<u64>,
    },
}

impl Op {
    /// How deep its values are.
    pub fn value_depth(&self) -> u32 {
        match self {
            Op::Replace(value) | Op::Set { value, .. } => value.depth(),
            // They lie in an array.
            Op::Splice { items, .. } => items.iter().map(Value::depth).max().unwrap_or(0) + 1,
            Op::Reorder { .. } => 1,
            Op::Delete { .. } | Op::Append { .. } | Op::Trim { .. } => 0,
        }
    }
}

/// A way down from the root of a value.
pub type Path = Vec<Segment>;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A member's name.
    Key(Str),
    /// An element's index; on an object its decimal form is a name.
    Index(u64),
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(name) => fmt::Display::fmt(name, f),
            Self::Index(index) => fmt::Display::fmt(index, f),
        }
    }
}

impl From<&str> for Segment {
    fn from(name: &str) -> Self {
        Self::Key(name.into())
    }
}

impl From<u64> for Segment {
    fn from(index: u64) -> Self {
        Self::Index(index)
    }
}

/// The pointer that takes the same way.
pub(crate) fn pointer(path: &[Segment]) -> Pointer {
    let mut pointer = Pointer::root();
    for segment in path {
        match segment {
            Segment::Key(name) => pointer.push(name),
            Segment::Index(index) => pointer.push(&index.to_string()),
        }
    }
    pointer
}
