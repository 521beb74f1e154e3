//! What goes wrong with an engine: a document, a run, the store, or the caller's request.

use std::fmt;

use jaren_durable::{CommitError, Retry, SessionError, StorageError};
use jaren_json::Report;

use crate::core::{RunError, Unfit};
use crate::failure::{self, Failure};

/// The sort of an [`EngineError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The document does not compile; [`EngineError::report`] has every defect.
    Document,
    /// The run failed (JF2006, JF2008, JF2011, JF2012, JF2015, JF2016), as stored with it. It may be driven again.
    Run,
    /// The document, the input, the lowering or the task versions differ from those the run began with (JF2013).
    Changed,
    /// Another engine has claimed the run (JF2014). What this one had not committed is lost, as it must be.
    Fenced,
    /// There is no such run.
    NotFound,
    /// The session or its documents are not those of a run that this release can read.
    Unreadable,
    /// The run pins a behaviour that this release does not know.
    UnknownFlag,
    /// The request makes no sense: an empty event type, a name that cannot be stored.
    Invalid,
    /// What was saved of the run does not fit the document that it is to be bound to (JE0010).
    Unfit,
    /// The store failed (JF2009).
    Storage,
}

/// The store refused a commit for what is in it: too large, or not JSON.
const REFUSED: &str = "JE0007";

#[derive(Debug)]
enum Source {
    None,
    Report(Report),
    Run(RunError),
    Storage(StorageError),
    Other(Box<dyn std::error::Error + Send + Sync>),
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    code: &'static str,
    message: String,
    run: Option<Box<str>>,
    state: Option<Box<str>>,
    source: Source,
}

/// A failed operation of an engine. One word wide.
pub struct EngineError(Box<Inner>);

impl EngineError {
    pub(crate) fn new(kind: ErrorKind, code: &'static str, message: impl Into<String>) -> Self {
        Self::of(kind, code, message.into(), Source::None)
    }

    fn of(kind: ErrorKind, code: &'static str, message: String, source: Source) -> Self {
        EngineError(Box::new(Inner { kind, code, message, run: None, state: None, source }))
    }

    /// The same, told of that run.
    pub(crate) fn of_run(mut self, run: &str) -> Self {
        self.0.run.get_or_insert_with(|| run.into());
        self
    }

    /// The same, told of that state.
    pub(crate) fn in_state(mut self, state: &str) -> Self {
        self.0.state.get_or_insert_with(|| state.into());
        self
    }

    pub(crate) fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Source::Other(source.into());
        self
    }

    pub(crate) fn not_found(run: &str) -> Self {
        let message = "there is no such run in this store; list the runs for their ids";
        Self::new(ErrorKind::NotFound, "JE0002", message).of_run(run)
    }

    /// `both` names what the run began with and what is here now.
    pub(crate) fn changed(what: &str, both: &str) -> Self {
        let message = format!(
            "the run was started with another {what}: {both}; take another id, start it as it was, or rebind it"
        );
        Self::new(ErrorKind::Changed, "JF2013", message)
    }

    pub(crate) fn unreadable(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unreadable, "JE0003", what)
    }

    pub(crate) fn unknown_flag(flag: &str) -> Self {
        let message = format!(
            "the run needs the behaviour {flag:?}, which this release does not know; use a newer one"
        );
        Self::new(ErrorKind::UnknownFlag, "JE0004", message)
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, "JE0005", what)
    }

    pub(crate) fn no_resource(task: &str, what: &str) -> Self {
        Self::new(ErrorKind::Invalid, "JE0009", format!("the task {task:?} cannot be run: {what}"))
    }

    pub(crate) fn unfit(unfit: &Unfit) -> Self {
        let error = Self::new(ErrorKind::Unfit, "JE0010", &*unfit.what);
        match &unfit.state {
            Some(state) => error.in_state(state),
            None => error,
        }
    }

    pub(crate) fn fenced() -> Self {
        let message = "another engine has claimed the run; what it does counts, and this one stopped";
        Self::new(ErrorKind::Fenced, "JF2014", message)
    }

    pub(crate) fn commit_lost() -> Self {
        let message = "the commit's task ended early, so its outcome is unknown; drive the run again";
        Self::new(ErrorKind::Storage, "JF2009", message)
    }

    /// Did the store, which works, refuse a commit for what is in it?
    pub(crate) fn is_refusal(&self) -> bool {
        self.0.code == REFUSED
    }

    /// What happened, without the code, the run and the state.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The sort of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The stable code: the format's own where it has one, `JE…` otherwise.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// Every defect of the document, when it does not compile.
    pub fn report(&self) -> Option<&Report> {
        match &self.0.source {
            Source::Report(report) => Some(report),
            _ => None,
        }
    }

    /// The run's own error.
    pub fn run_error(&self) -> Option<&RunError> {
        match &self.0.source {
            Source::Run(error) => Some(error),
            _ => None,
        }
    }

    /// Where in the document, as a JSON Pointer. Of a document that does not compile: where its author wrote what is
    /// wrong.
    pub fn pointer(&self) -> Option<&str> {
        match &self.0.source {
            Source::Report(report) => Some(report.first().place().as_str()),
            Source::Run(error) => error.pointer(),
            _ => None,
        }
    }

    /// The run that it is about.
    pub fn run(&self) -> Option<&str> {
        self.0.run.as_deref()
    }

    /// The qualified state in which the run failed.
    pub fn state(&self) -> Option<&str> {
        self.run_error().and_then(RunError::state).or(self.0.state.as_deref())
    }

    /// The dag node that failed.
    pub fn node(&self) -> Option<&str> {
        self.run_error().and_then(RunError::node)
    }

    /// What the task said, if a task failed.
    pub fn failure(&self) -> Option<&Failure> {
        self.run_error().and_then(RunError::failure)
    }

    /// May the same be tried again? Of a run: may it be driven again, in the task's own opinion.
    pub fn retry(&self) -> Retry {
        match &self.0.source {
            Source::Storage(error) => error.retry(),
            Source::Run(error) => match error.failure().map(|failure| failure.retry) {
                Some(failure::Retry::Safe) => Retry::Safe,
                Some(failure::Retry::Unknown) => Retry::Unknown,
                Some(failure::Retry::Never) | None => Retry::Never,
            },
            _ => Retry::Never,
        }
    }
}

/// `CODE: message (run "order-7", state /states/pay, node charge)`: as much of it as is known.
impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)?;
        let run = self.run().map(|run| format!("run {run:?}"));
        let state = self.state().map(|state| format!("state {state}"));
        let node = self.node().map(|node| format!("node {node}"));
        let known: Vec<String> = [run, state, node].into_iter().flatten().collect();
        if known.is_empty() { Ok(()) } else { write!(f, " ({})", known.join(", ")) }
    }
}

impl fmt::Debug for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.source {
            Source::None => None,
            Source::Report(report) => Some(report),
            Source::Run(error) => error.source(),
            Source::Storage(error) => Some(error),
            Source::Other(error) => Some(&**error),
        }
    }
}

impl From<Report> for EngineError {
    fn from(report: Report) -> Self {
        let first = report.first();
        let mut message = format!("the document does not compile: {}", first.message());
        if !first.place().is_root() {
            message = format!("{message} at {}", first.place());
        }
        match report.len() - 1 {
            0 => {}
            1 => message.push_str("; there is 1 more defect"),
            more => message.push_str(&format!("; there are {more} more defects")),
        }
        EngineError::of(ErrorKind::Document, first.code(), message, Source::Report(report))
    }
}

impl From<RunError> for EngineError {
    fn from(error: RunError) -> Self {
        let kind = match error.code() {
            "JF2013" => ErrorKind::Changed,
            "JF2014" => ErrorKind::Fenced,
            _ => ErrorKind::Run,
        };
        let message = match error.pointer() {
            Some(pointer) if !pointer.is_empty() => format!("{} at {pointer}", error.reason()),
            _ => error.reason().to_owned(),
        };
        EngineError::of(kind, error.code(), message, Source::Run(error))
    }
}

impl From<StorageError> for EngineError {
    fn from(error: StorageError) -> Self {
        let message = error.to_string();
        EngineError::of(ErrorKind::Storage, "JF2009", message, Source::Storage(error))
    }
}

impl From<SessionError> for EngineError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Storage(error) => error.into(),
            other => EngineError::unreadable(other.to_string()).caused_by(other),
        }
    }
}

/// What is left of a commit's error once conflicts and lost replies have been dealt with.
impl From<CommitError> for EngineError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Conflict(_) => EngineError::fenced().caused_by(error),
            CommitError::Storage(error) => error.into(),
            CommitError::Session(error) => error.into(),
            other => {
                let message = format!("what is to be stored cannot be: {other}");
                EngineError::new(ErrorKind::Storage, REFUSED, message).caused_by(other)
            }
        }
    }
}
