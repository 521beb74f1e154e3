//! The error of a transform.

use std::fmt;

use jaren_json::{Diagnostic, Pointer};
use jaren_query::EvalError;

/// An error raised by a transform: one of the `JT2…` codes, with its place in the stylesheet document.
///
/// One word wide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransformError(Box<Diagnostic>);

impl TransformError {
    #[cold]
    pub(crate) fn new(diagnostic: Diagnostic) -> Self {
        Self(Box::new(diagnostic))
    }

    /// The code, such as `JT2004`.
    pub fn code(&self) -> &'static str {
        self.0.code()
    }

    /// Where in the stylesheet document: the failing expression of a body, or what decides the disposition of the mode.
    pub fn pointer(&self) -> &Pointer {
        self.0.pointer()
    }

    /// What was expected and what was found, with the location of the value in the input where it has one.
    pub fn message(&self) -> &str {
        self.0.message()
    }

    /// The error on its way out through the body whose `$apply` raised it.
    pub(crate) fn into_foreign(self) -> EvalError {
        EvalError::foreign(*self.0)
    }

    /// The error of the query language behind a `JT2004`; its pointer begins at the rule's body.
    pub fn cause(&self) -> Option<&Diagnostic> {
        self.0.cause()
    }
}

impl fmt::Display for TransformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for TransformError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl From<TransformError> for Diagnostic {
    fn from(error: TransformError) -> Self {
        *error.0
    }
}
