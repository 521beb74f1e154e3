//! The error of a step, a plan or a restore: a code, a reason and, where there is one, a place and a cause.

use std::fmt;

use jaren_json::{Diagnostic, Pointer, Str};

/// What went wrong while a compiled document was driven. One word wide.
///
/// The codes are the formats' own. JF2001 and JF2005 are of machines, JF2010 to JF2012 of statecharts, JF2006 and JF2008
/// of dataflows, JF2016 of workflows; the engine adds those of a run. JR0000 is a mistake of whoever calls.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowError(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    code: &'static str,
    message: String,
    pointer: Option<Pointer>,
    node: Option<Str>,
    cause: Option<Diagnostic>,
}

impl FlowError {
    /// An error without a place.
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { code, message: message.into(), pointer: None, node: None, cause: None }))
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

    /// What went wrong, without code, place and cause.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The message and what caused it, as the formats publish it between the code and the place.
    pub fn reason(&self) -> String {
        self.0.message.clone() + &self.cause().map(Diagnostic::quoted).unwrap_or_default()
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
        write!(f, "{}: {}", self.0.code, self.reason())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word() {
        assert_eq!(size_of::<FlowError>(), size_of::<usize>());
    }

    #[test]
    fn what_is_published_has_the_cause_and_the_message_has_not() {
        let at = |pointer| Pointer::parse(pointer).unwrap();
        let cause = Diagnostic::new("JQ2002", at("/$idiv"), "'$idiv' by zero");
        let error = FlowError::new("JF2006", "node 'q' failed").at(at("/nodes/q")).caused_by(cause);
        assert_eq!(error.message(), "node 'q' failed");
        assert_eq!(
            error.to_string(),
            "JF2006: node 'q' failed: JQ2002: '$idiv' by zero at /$idiv at /nodes/q"
        );
    }
}
