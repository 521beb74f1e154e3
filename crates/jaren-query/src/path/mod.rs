//! RFC 9535 paths: the compiled form, the parser and the walk over a value.
//!
//! A path is compiled into a *head* of single steps (names and indexes, at most one node each) and *leaps*: a segment that
//! may select many nodes, each followed by its own single steps. The common paths are all head (`$.context.data.x`) or one
//! leap (`$.rows[*].price`), and neither needs a list of nodes while it is walked.

mod describe;
mod filter;
mod json_path;
mod normalized;
mod parse;
mod parse_filter;
mod select;
mod walk;

use jaren_json::{MemberName, Value};

use self::filter::Filter;

pub(crate) use describe::segments_of;
pub use json_path::{JsonPath, PathError, WalkLimit};
pub use normalized::NormalizedPath;
pub(crate) use parse::parse;
pub use select::Node;
pub use walk::Track;
pub(crate) use walk::{Around, Halt, step_into, walk};

/// The largest number of segments of one path that may select several nodes.
/// The walk recurses once a leap, so this bounds its stack; no path that a person wrote comes near it.
pub(crate) const LEAPS_MAX: usize = 64;

/// What an operand is at first sight, where most operands are a constant or single steps from something borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sight<'v> {
    At(&'v Value),
    /// Single steps that lead nowhere.
    Nowhere,
    /// It has to be evaluated.
    Hidden,
}

impl<'v> From<Option<&'v Value>> for Sight<'v> {
    #[inline]
    fn from(found: Option<&'v Value>) -> Self {
        found.map_or(Self::Nowhere, Self::At)
    }
}

/// A compiled path without its root.
#[derive(Debug, Default)]
pub(crate) struct Path {
    /// The leading single steps.
    pub(crate) head: Vec<Step>,
    /// The segments that may select several nodes, in order.
    pub(crate) leaps: Vec<Leap>,
    /// Whether a filter reads the document.
    pub(crate) reads_document: bool,
}

/// A name or an index: selects at most one child.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The member of an object.
    Name(MemberName),
    /// The element of an array; a negative index counts from the end.
    Index(i64),
}

impl Step {
    /// The member that it selects, where it is a name.
    #[inline]
    pub(crate) fn name(&self) -> Option<&MemberName> {
        match self {
            Self::Name(name) => Some(name),
            Self::Index(_) => None,
        }
    }
}

/// A segment that may select several nodes, and the single steps after it.
#[derive(Debug)]
pub(crate) struct Leap {
    /// Whether the selectors apply to every descendant as well as to the node itself.
    pub(crate) descendant: bool,
    /// What is selected among the children, in order.
    pub(crate) selectors: Vec<Selector>,
    /// The single steps taken from each selected node.
    pub(crate) then: Vec<Step>,
}

/// One selector of a leap.
#[derive(Debug)]
pub(crate) enum Selector {
    /// A name or an index.
    Step(Step),
    /// All children.
    Wildcard,
    /// Elements of an array from `start` up to and without `end`; a step of zero selects nothing (RFC 9535 2.3.4).
    Slice { start: Option<i64>, end: Option<i64>, step: Option<i64> },
    /// The children that pass.
    Filter(Box<Filter>),
}
