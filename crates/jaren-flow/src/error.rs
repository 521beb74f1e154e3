//! The error of a step, a plan or a restore: a code, a reason and, where there is one, a place and a cause.

use std::fmt;

use jaren_json::{Diagnostic, Pointer, Str};

/// What went wrong while a compiled document was driven. One word wide.
///
/// The codes are the formats' own: JF2002, JF2006, JF2008, JF2010 to JF2012, JF2015 and JF2016 come from this
/// crate; the engine adds those of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowError(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    code: &'static str,
    reason: String,
    pointer: Option<Pointer>,
    node: Option<Str>,
    cause: Option<Diagnostic>,
}

impl FlowError {
    /// An error without a place.
    pub(crate) fn new(code: &'static str, reason: impl Into<String>) -> Self {
        Self(Box::new(Inner { code, reason: reason.into(), pointer: None, node: None, cause: None }))
    }

    /// The same error at a place in the document.
    pub(crate) fn at(mut self, pointer: Pointer) -> Self {
        self.0.pointer = Some(pointer);
        self
    }

    /// The same error of a node of a dag.
    pub(crate) fn of_node(mut self, node: Str) -> Self {
        self.0.node = Some(node);
        self
    }

    /// The same error with what caused it.
    pub(crate) fn caused_by(mut self, cause: Diagnostic) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// The stable code, `JF2…`.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// Why, without code and place.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The member of the document that failed. In a workflow's dag it points into that dag.
    pub fn pointer(&self) -> Option<&Pointer> {
        self.0.pointer.as_ref()
    }

    /// The id of the dag node that failed.
    pub fn node(&self) -> Option<&Str> {
        self.0.node.as_ref()
    }

    /// The query error that this one wraps.
    pub fn cause(&self) -> Option<&Diagnostic> {
        self.0.cause.as_ref()
    }
}

/// The published composition `CODE: reason at pointer`: the message that a workflow's `catch` receives.
impl fmt::Display for FlowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.reason)?;
        match &self.0.pointer {
            Some(pointer) => write!(f, " at {pointer}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FlowError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| cause as _)
    }
}

/// Why a session over a store could not start or advance.
#[derive(Debug, thiserror::Error)]
pub enum SessionError<E> {
    /// The machine or chart refused.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The store failed, and the session stays where it was.
    #[error("the store of the session failed")]
    Store(#[source] E),
}

/// A query error as the formats quote it: `CODE: reason at pointer`, the latter where it is not the whole query.
pub(crate) fn quote(cause: &Diagnostic) -> String {
    if cause.pointer().is_root() {
        return format!("{}: {}", cause.code(), cause.message());
    }
    format!("{}: {} at {}", cause.code(), cause.message(), cause.pointer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word() {
        assert_eq!(size_of::<FlowError>(), size_of::<usize>());
    }
}
