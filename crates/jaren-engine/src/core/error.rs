//! Why a run cannot go on: a code of the formats, where in the document, and what lies under it.

use std::fmt;
use std::sync::Arc;

use jaren_flow::FlowError;
use jaren_json::{Diagnostic, Str};

use crate::failure::Failure;

/// What a [`RunError`] wraps.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The task that failed said this.
    Task(Failure),
    /// The format's own evaluation failed.
    Flow(Arc<FlowError>),
    /// A guard could not be evaluated.
    Guard(Box<Diagnostic>),
    /// A refusal of the run itself, wrapped by the place that met it.
    Run(RunError),
    /// The store's words.
    Store(Arc<str>),
}

#[derive(Clone, Debug)]
struct Inner {
    code: &'static str,
    reason: String,
    pointer: Option<String>,
    node: Option<Str>,
    state: Option<Str>,
    cause: Option<Cause>,
}

/// A refusal or failure of a run or a dag, with the formats' code (`JF2006` … `JF2016`). One word wide.
#[derive(Clone, Debug)]
pub struct RunError(Box<Inner>);

impl RunError {
    /// An error without a place in the document.
    pub(crate) fn new(code: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        RunError(Box::new(Inner { code, reason, pointer: None, node: None, state: None, cause: None }))
    }

    pub(crate) fn at(mut self, pointer: impl Into<String>) -> Self {
        self.0.pointer = Some(pointer.into());
        self
    }

    pub(crate) fn on_node(mut self, node: Str) -> Self {
        self.0.node = Some(node);
        self
    }

    pub(crate) fn in_state(mut self, state: Str) -> Self {
        self.0.state = Some(state);
        self
    }

    pub(crate) fn because(mut self, cause: Cause) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// The error of a format's pure step, unchanged.
    pub(crate) fn from_flow(error: FlowError) -> Self {
        let mut wrapped = RunError::new(error.code(), error.reason());
        wrapped.0.pointer = error.pointer().map(ToString::to_string);
        wrapped.0.node = error.node().cloned();
        wrapped.because(Cause::Flow(Arc::new(error)))
    }

    /// The format's code.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// What happened, without the code and the place.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Where in the document, as a JSON Pointer. In the document of [`state`](Self::state)'s dag when
    /// [`node`](Self::node) is there, else in the workflow or its lowered statechart (workflow §2).
    pub fn pointer(&self) -> Option<&str> {
        self.0.pointer.as_deref()
    }

    /// The dag node that failed.
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// The qualified state in which it happened.
    pub fn state(&self) -> Option<&str> {
        self.0.state.as_deref()
    }

    /// What lies under it.
    pub fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    /// The task's own words, when a task failed.
    pub fn failure(&self) -> Option<&Failure> {
        match self.cause() {
            Some(Cause::Task(failure)) => Some(failure),
            _ => None,
        }
    }
}

/// `CODE: reason at pointer`: the text that a `catch` receives (workflow §2).
impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.reason)?;
        match self.pointer() {
            None => Ok(()),
            Some("") => f.write_str(" at the document root"),
            Some(pointer) => write!(f, " at {pointer}"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.cause() {
            Some(Cause::Flow(error)) => Some(&**error),
            Some(Cause::Guard(error)) => Some(&**error),
            Some(Cause::Run(error)) => Some(error),
            Some(Cause::Task(_) | Cause::Store(_)) | None => None,
        }
    }
}
