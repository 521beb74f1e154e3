//! The codes of the language and the error of an evaluation.

use std::fmt;

use jaren_json::{Diagnostic, Pointer};

/// An object mixes `$`-names and plain names (section 3.1).
pub(crate) const MIXED: &str = "JQ0001";
/// An operator that the language does not have (section 8.1).
pub(crate) const UNKNOWN: &str = "JQ0002";
/// A known phrase of the wrong shape (section 10.2).
pub(crate) const SHAPE: &str = "JQ0003";
/// A text beginning with `$` that is neither a path nor an escape (section 3.2).
pub(crate) const PATH: &str = "JQ0004";
/// A variable that nothing binds (sections 6.8 and 9).
pub(crate) const UNDECLARED: &str = "JQ0005";
/// An envelope of another version (section 4.2).
pub(crate) const VERSION: &str = "JQ0006";
/// A name bound twice in one phrase (section 6.3).
pub(crate) const DUPLICATE: &str = "JQ0007";
/// A schema without anything that could test it (section 8.11).
pub(crate) const NO_SCHEMAS: &str = "JQ0008";
/// A schema that the host refuses (section 8.11).
pub(crate) const SCHEMA: &str = "JQ0009";
/// A function or collation that is not registered (section 8.12).
pub(crate) const UNREGISTERED: &str = "JQ0010";
/// Nesting beyond the limit (section 8.12).
pub(crate) const DEPTH: &str = "JQ0011";
/// A lexical provider that is not registered.
pub(crate) const NO_PROVIDER: &str = "JQ0012";

/// A value of the wrong type (section 10.3).
pub(crate) const TYPE: &str = "JQ2001";
/// `$idiv` or `$mod` by zero (section 8.5).
pub(crate) const ZERO: &str = "JQ2002";
/// The effective boolean value of several items (section 2.2).
pub(crate) const SEVERAL: &str = "JQ2003";
/// A `$map` key that is not one string (section 3.5.2).
pub(crate) const KEY: &str = "JQ2004";
/// Keys that have no order (sections 6.6 and 8.9).
pub(crate) const ORDER: &str = "JQ2005";
/// An external parameter that the caller did not bind (section 9).
pub(crate) const UNBOUND: &str = "JQ2006";
/// A result larger than an operator may build (section 8.9).
pub(crate) const GUARD: &str = "JQ2007";
/// An item that does not satisfy a schema (sections 6.8 and 8.11).
pub(crate) const ASSERTION: &str = "JQ2008";
/// A registered function failed (section 8.12).
pub(crate) const FUNCTION: &str = "JQ2010";
/// A lexical provider failed or answered no lexical result.
pub(crate) const PROVIDER: &str = "JQ2012";
/// An execution limit (section 8.12).
pub(crate) const LIMIT: &str = "JQ2009";

/// An error raised while a query was evaluated: one of the `JQ2…` codes, with its place in the query document.
///
/// One word wide, so that a `Result` on the hot path stays small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError(Box<Failure>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    diagnostic: Diagnostic,
    /// Whether the host of an extension raised it.
    foreign: bool,
}

impl EvalError {
    #[cold]
    pub(crate) fn new(code: &'static str, pointer: Pointer, message: String) -> Self {
        Self(Box::new(Failure { diagnostic: Diagnostic::new(code, pointer, message), foreign: false }))
    }

    /// The error of an [`extension::Host`](crate::extension::Host), which ends the evaluation as it is: its code, and its place
    /// in another document.
    #[doc(hidden)]
    pub fn foreign(diagnostic: Diagnostic) -> Self {
        Self(Box::new(Failure { diagnostic, foreign: true }))
    }

    /// Whether the host of an extension raised it, by [`Self::foreign`].
    #[doc(hidden)]
    pub fn is_foreign(&self) -> bool {
        self.0.foreign
    }

    /// The code, such as `JQ2001`.
    pub fn code(&self) -> &'static str {
        self.0.diagnostic.code()
    }

    /// Where in the query document the expression stands that failed.
    pub fn pointer(&self) -> &Pointer {
        self.0.diagnostic.pointer()
    }

    /// What was expected and what was found, without values.
    pub fn message(&self) -> &str {
        self.0.diagnostic.message()
    }

    /// The defect behind it: of a query alone there is none, and of one inside a stylesheet what a body below it raised.
    pub fn cause(&self) -> Option<&Diagnostic> {
        self.0.diagnostic.cause()
    }
}

const _: () = assert!(size_of::<EvalError>() == size_of::<usize>(), "an error is one word");

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.diagnostic.fmt(f)
    }
}

impl std::error::Error for EvalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.diagnostic.source()
    }
}

impl From<EvalError> for Diagnostic {
    fn from(error: EvalError) -> Self {
        error.0.diagnostic
    }
}
