//! What goes wrong with an engine: a document, a run, the store, or the caller's request.

use std::fmt;

use jaren_durable::{CommitError, Retry, SessionError, StorageError};
use jaren_json::Report;

use crate::core::{RunError, Unfit};

/// The sort of an [`EngineError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The document does not compile; [`EngineError::report`] has every defect.
    Document,
    /// The run cannot take its first step (JF2011, JF2015, JF2016); nothing was stored. A run that fails later is
    /// [`Status::Failed`](crate::Status::Failed).
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
    /// The request makes no sense: an event without a name, a run's id that cannot be stored, a task that was
    /// registered wrongly.
    Invalid,
    /// What is to be stored is too large, or is not JSON (JE0007).
    TooLarge,
    /// A task needs a resource that nobody lends (JE0009).
    Resource,
    /// What was saved of the run does not fit the document that it is to be bound to (JE0010).
    Unfit,
    /// Others change the run all the time, so that this had no turn (JE0011); nothing was changed.
    Busy,
    /// The store failed (JF2009).
    Storage,
}

#[derive(Debug)]
enum Source {
    None,
    Report(Report),
    Run(RunError),
    Storage(StorageError),
    Other(Box<dyn std::error::Error + Send + Sync>),
}

struct Inner {
    kind: ErrorKind,
    code: &'static str,
    message: String,
    run: Option<Box<str>>,
    state: Option<Box<str>>,
    retry: Retry,
    source: Source,
}

/// A failed operation of an engine. One word wide.
///
/// A run that fails is none: that is a [`Status`](crate::Status) of it, and stored. An error tells of what is not in the
/// store.
pub struct EngineError(Box<Inner>);

impl EngineError {
    pub(crate) fn new(kind: ErrorKind, code: &'static str, message: impl Into<String>) -> Self {
        let (message, retry, source) = (message.into(), Retry::Never, Source::None);
        EngineError(Box::new(Inner { kind, code, message, run: None, state: None, retry, source }))
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

    fn retrying(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    fn because(mut self, source: Source) -> Self {
        self.0.source = source;
        self
    }

    /// The message must not have the words of the source in it.
    pub(crate) fn caused_by(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.because(Source::Other(source.into()))
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

    pub(crate) fn too_large(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::TooLarge, "JE0007", what)
    }

    pub(crate) fn no_resource(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Resource, "JE0009", what)
    }

    pub(crate) fn unfit(unfit: &Unfit) -> Self {
        let error = Self::new(ErrorKind::Unfit, "JE0010", &*unfit.what);
        match &unfit.state {
            Some(state) => error.in_state(state),
            None => error,
        }
    }

    pub(crate) fn busy() -> Self {
        let message = "others changed the run all the while, so that this had no turn; try again";
        Self::new(ErrorKind::Busy, "JE0011", message).retrying(Retry::Safe)
    }

    pub(crate) fn fenced() -> Self {
        let message = "another engine has claimed the run; what it does counts, and this one stopped";
        Self::new(ErrorKind::Fenced, "JF2014", message)
    }

    pub(crate) fn commit_lost() -> Self {
        let message = "the commit's task ended early, so its outcome is unknown; drive the run again";
        Self::new(ErrorKind::Storage, "JF2009", message).retrying(Retry::Unknown)
    }

    // The conversions are no `From`: with those public, a host's own `?` would tell its conflict as a lost claim.

    pub(crate) fn of_report(report: Report) -> Self {
        let first = report.first();
        let mut message = format!("the document does not compile: {}", first.reason());
        if !first.place().is_root() {
            message = format!("{message} at {}", first.place());
        }
        message = match report.len() - 1 {
            0 => message,
            1 => format!("{message}; there is 1 more defect"),
            more => format!("{message}; there are {more} more defects"),
        };
        Self::new(ErrorKind::Document, first.code(), message).because(Source::Report(report))
    }

    /// The first step of a run failed.
    pub(crate) fn of_start(error: RunError) -> Self {
        let message = match error.pointer() {
            Some(pointer) if !pointer.is_empty() => format!("{} at {pointer}", error.reason()),
            _ => error.reason().to_owned(),
        };
        Self::new(ErrorKind::Run, error.code(), message).because(Source::Run(error))
    }

    /// What is stored of a run cannot be gone on with.
    pub(crate) fn of_restore(error: RunError) -> Self {
        let kind = if error.code() == "JF2013" { ErrorKind::Changed } else { ErrorKind::Unreadable };
        Self::new(kind, error.code(), error.reason()).because(Source::Run(error))
    }

    pub(crate) fn of_storage(error: StorageError) -> Self {
        let retry = error.retry();
        Self::new(ErrorKind::Storage, "JF2009", error.to_string())
            .retrying(retry)
            .because(Source::Storage(error))
    }

    pub(crate) fn of_session(error: SessionError) -> Self {
        match error {
            SessionError::Storage(error) => Self::of_storage(error),
            SessionError::Outdated(_) | SessionError::Unsettled => Self::busy().caused_by(error),
            SessionError::Removed => {
                Self::new(ErrorKind::NotFound, "JE0002", "the run was removed from the store")
            }
            other => Self::unreadable("a document of the run cannot be read").caused_by(other),
        }
    }

    /// What is left of a commit's error once lost replies have been dealt with.
    pub(crate) fn of_commit(error: CommitError) -> Self {
        match error {
            CommitError::Conflict(_) => Self::busy().caused_by(error),
            CommitError::Storage(error) => Self::of_storage(error),
            CommitError::Session(error) => Self::of_session(error),
            other => Self::too_large("the store does not take what is to be stored").caused_by(other),
        }
    }

    /// May a commit that failed so be tried again?
    pub(crate) fn retry_of(error: &CommitError) -> Retry {
        match error {
            CommitError::Storage(error) | CommitError::Session(SessionError::Storage(error)) => error.retry(),
            _ => Retry::Never,
        }
    }

    /// Did the store, which works, refuse a commit for what is in it?
    pub(crate) fn is_refusal(&self) -> bool {
        self.0.kind == ErrorKind::TooLarge
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

    /// The storage's own error, when the store failed.
    pub fn storage(&self) -> Option<&StorageError> {
        match &self.0.source {
            Source::Storage(error) => Some(error),
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

    fn run_error(&self) -> Option<&RunError> {
        match &self.0.source {
            Source::Run(error) => Some(error),
            _ => None,
        }
    }

    /// The run that it is about.
    pub fn run(&self) -> Option<&str> {
        self.0.run.as_deref()
    }

    /// The qualified state that it is about.
    pub fn state(&self) -> Option<&str> {
        self.run_error().and_then(RunError::state).or(self.0.state.as_deref())
    }

    /// May the same be tried again?
    pub fn retry(&self) -> Retry {
        self.0.retry
    }
}

/// `CODE: message (run "order-7", state /states/pay)`: as much of it as is known.
impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)?;
        let run = self.run().map(|run| format!("run {run:?}"));
        let state = self.state().map(|state| format!("state {state}"));
        let known: Vec<String> = [run, state].into_iter().flatten().collect();
        if known.is_empty() { Ok(()) } else { write!(f, " ({})", known.join(", ")) }
    }
}

impl fmt::Debug for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, code, message, run, state, retry, source } = &*self.0;
        let mut shown = f.debug_struct("EngineError");
        shown.field("kind", kind).field("code", code).field("message", message);
        shown.field("run", run).field("state", state).field("retry", retry);
        if !matches!(source, Source::None) {
            shown.field("source", source);
        }
        shown.finish()
    }
}

/// What the message has the words of is no source, or whoever prints the chain would say it twice.
impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.source {
            Source::None | Source::Report(_) => None,
            Source::Run(error) => error.source(),
            Source::Storage(error) => error.source(),
            Source::Other(error) => Some(&**error),
        }
    }
}
