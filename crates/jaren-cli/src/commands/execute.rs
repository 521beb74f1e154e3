//! What `run`, `send` and `resume` share: one execution of a run, from its lock to its exit code.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use jaren::durable::Storage;
use jaren::engine::{
    Drive, Engine, EngineError, ErrorKind, Record, RunFailure, RunView, Start, Status, Tasks,
};
use jaren::host::{Clock, SystemClock, Timestamp};
use jaren::json::{Digest, Str, Value, pretty, value};
use tokio::sync::Notify;

use crate::command_task;
use crate::exec::Runner;
use crate::exit::Exit;
use crate::lock::{Asked, RunLock};
use crate::moment;
use crate::output::{Output, integer};
use crate::problem::{Problem, report_defects};
use crate::progress::{Progress, state_name};
use crate::signals::Stop;
use crate::store;
use crate::tasks_file::{self, TasksFile};
use crate::text;

/// A run and what is needed to execute it.
#[derive(Debug)]
pub(crate) struct Execution<'a> {
    /// The run's id.
    pub(crate) run: &'a str,
    /// The store's path as the user gave it.
    pub(crate) path: &'a Path,
    /// The store.
    pub(crate) storage: Arc<dyn Storage>,
    /// The commands behind the tasks.
    pub(crate) tasks: Option<TasksFile>,
    /// Return instead of waiting for a time.
    pub(crate) no_wait: bool,
}

/// How a run is taken in hand.
#[derive(Debug)]
pub(crate) enum Enter {
    /// It is started; if it exists, it is the same run.
    Start(Start),
    /// It exists.
    Open,
}

impl Execution<'_> {
    /// Asks for the run's lock.
    pub(crate) async fn lock(&self) -> Result<Asked, Problem> {
        RunLock::ask(self.path, &Digest::of(self.run.as_bytes()).to_string()).await
    }

    /// Executes the run until it is done, waits, fails, or somebody stops it.
    pub(crate) async fn drive(
        &self,
        lock: RunLock,
        enter: Enter,
        output: &mut Output,
    ) -> Result<Exit, Problem> {
        let progress = Arc::new(Progress::new(output.is_json()));
        let ended = self.drive_to_rest(lock, enter, &progress).await;
        progress.finish();
        let status = ended?;
        let state = self.view().await.ok().flatten().map(|view| view.state).unwrap_or_default();
        match &status {
            Status::Failed { failure } => Err(self.failed(failure)),
            _ => Ok(self.report(&status, &state, output)),
        }
    }

    async fn drive_to_rest(
        &self,
        mut lock: RunLock,
        mut enter: Enter,
        progress: &Arc<Progress>,
    ) -> Result<Status, Problem> {
        let stop = Stop::listen(Arc::clone(progress))
            .map_err(|error| Problem::new(Exit::Io, format!("signals cannot be received: {error}")))?;
        loop {
            let status = self.drive_locked(&lock, enter, progress, &stop).await;
            lock.release();
            let status = status?;
            // An event that came after our last look and before the release found the run locked: it is ours to see.
            if !matches!(status, Status::Waiting { .. }) || !self.has_news().await? {
                return Ok(status);
            }
            let asked = tokio::select! {
                biased;
                () = stop.at_checkpoint.cancelled() => return Ok(status),
                asked = self.lock() => asked?,
            };
            match asked {
                Asked::Held(again) => lock = again,
                Asked::Busy(_) => return Ok(status),
            }
            enter = Enter::Open;
        }
    }

    async fn drive_locked(
        &self,
        lock: &RunLock,
        enter: Enter,
        progress: &Arc<Progress>,
        stop: &Stop,
    ) -> Result<Status, Problem> {
        let tasks = match &self.tasks {
            Some(file) if !file.bindings.is_empty() => {
                let runner = Runner::start(lock.file()).map_err(|error| watcher_failed(&error))?;
                command_task::tasks(file, &Arc::new(runner), stop)
            }
            _ => Tasks::new(),
        };
        // Each command's own limits say how long it may take to end.
        let engine = Engine::new(Arc::clone(&self.storage), tasks).with_grace(tasks_file::TIMEOUT_MAX);
        let mut run = match enter {
            Enter::Start(start) => engine.start(start).await,
            Enter::Open => engine.open(self.run).await,
        }
        .map_err(|error| self.problem(&error))?;
        // A run that is opened may rest already.
        let rests = Arc::new(Notify::new());
        rests.notify_one();
        let (shown, rest) = (Arc::clone(progress), Arc::clone(&rests));
        let drive =
            Drive::new().with_cancel(stop.at_checkpoint.clone()).with_observer(move |record: &Record| {
                shown.record(record);
                if matches!(record, Record::Waiting { .. }) {
                    rest.notify_one();
                }
            });
        let drive = if self.no_wait { drive.without_timers() } else { drive };
        tokio::select! {
            biased;
            () = stop.at_once.cancelled() => Ok(Status::Interrupted),
            status = run.drive_with(drive) => status.map_err(|error| self.problem(&error)),
            never = self.tell_waits(&rests, progress) => match never {},
        }
    }

    /// Says what a run that we stay for is waiting for.
    async fn tell_waits(&self, rests: &Notify, progress: &Progress) -> Infallible {
        loop {
            rests.notified().await;
            if let Ok(Some(view)) = self.view().await
                && let Some(deadline) = view.deadline
                && view.inbox.is_empty()
            {
                let waits =
                    waits_for(&view.events, Some(deadline.as_millis()), SystemClock.now().as_millis());
                progress.waits(&format!("  {}: waiting for {waits}", state_name(&view.state)));
            }
        }
    }

    /// What is stored of the run, if it exists.
    pub(crate) async fn view(&self) -> Result<Option<RunView>, Problem> {
        RunView::load(&*self.storage, self.run).await.map_err(|error| self.problem(&error))
    }

    async fn has_news(&self) -> Result<bool, Problem> {
        Ok(self.view().await?.is_some_and(|view| !view.inbox.is_empty()))
    }

    /// Prints where the run stands.
    fn report(&self, status: &Status, state: &str, output: &mut Output) -> Exit {
        let run = self.run;
        let shown = state_name(state);
        let shown = text::line(&shown);
        let store = self.store_option();
        match status {
            Status::Done { result } => {
                let object = value!({ "type": "status", "run": run, "status": "done", "state": state, "result": result });
                output.print(&object, || format!("done in {shown}\n{}\n", shown_value(result)));
                Exit::Success
            }
            Status::Waiting { events, deadline } => {
                let until = deadline.map(Timestamp::as_millis);
                let object = value!({
                    "type": "status", "run": run, "status": "waiting", "state": state,
                    "events": events.iter().map(Str::as_str).collect::<Value>(), "until": until.map(integer),
                });
                output.print(&object, || {
                    let waits = format!(
                        "waiting in {shown} for {}\n",
                        waits_for(events, until, SystemClock.now().as_millis())
                    );
                    let hint = match events.first() {
                        Some(event) => {
                            format!("go on with: jaren send {} {}{store}\n", word(run), word(event))
                        }
                        None => format!("go on with: jaren resume {}{store}\n", word(run)),
                    };
                    waits + &hint
                });
                Exit::Waiting
            }
            _ => {
                let object =
                    value!({ "type": "status", "run": run, "status": "interrupted", "state": state });
                output.print(&object, || {
                    format!("stopped in {shown}; go on with: jaren resume {}{store}\n", word(run))
                });
                Exit::Interrupted
            }
        }
    }

    /// The option that names the store again, where it is not the default one.
    fn store_option(&self) -> String {
        if self.path == Path::new("jaren.db") {
            String::new()
        } else {
            format!(" --store {}", word(&self.path.display().to_string()))
        }
    }

    /// An engine's failure as a problem.
    pub(crate) fn problem(&self, error: &EngineError) -> Problem {
        let run = self.run;
        // The run is named already, and its state where that says more.
        let said = format!("{}: {}", error.code(), error.message());
        match error.kind() {
            ErrorKind::Document => {
                let defects = error.report().map(|report| report_defects(report, None)).unwrap_or_default();
                let message = format!("the document of run {run:?} cannot be executed with these tasks");
                Problem::defects(Exit::Document, message, None, defects)
            }
            ErrorKind::Run => Problem::new(Exit::Failed, format!("run {run:?} cannot be started: {said}")),
            ErrorKind::Changed => Problem::new(Exit::Conflict, format!("run {run:?}: {said}"))
                .with_help("a run goes on with what it began with; start another one under another --id"),
            ErrorKind::Unfit => {
                let place =
                    error.state().map(|state| format!(" (state {})", state_name(state))).unwrap_or_default();
                Problem::new(Exit::Conflict, format!("run {run:?} does not fit the document: {said}{place}"))
                    .with_help("nothing has changed; the run goes on with its own document")
            }
            ErrorKind::Fenced | ErrorKind::Busy => Problem::new(Exit::Busy, format!("run {run:?}: {said}")),
            ErrorKind::NotFound => unknown_run(run, self.path),
            ErrorKind::Invalid | ErrorKind::TooLarge => Problem::new(Exit::Usage, error.to_string()),
            ErrorKind::Storage => match error.storage() {
                Some(cause) => store::problem(self.path, cause),
                None => Problem::new(Exit::Store, format!("store {}: {said}", self.path.display())),
            },
            _ => Problem::new(Exit::Store, format!("run {run:?}: {said}")),
        }
    }

    /// A run that failed: where, what the task said, and how to go on.
    fn failed(&self, failed: &RunFailure) -> Problem {
        let state = failed.state.as_deref().map(state_name).unwrap_or_default();
        let place = match failed.node.as_deref() {
            Some(node) if node != "task" => format!("{state}, node {node}"),
            _ => state,
        };
        let mut message =
            format!("run {:?} failed in {place}: {}: {}", self.run, failed.code, failed.message);
        if let Some(failure) = &failed.failure {
            message = format!("run {:?} failed in {place}: {failure}", self.run);
            if let Some(stderr) = failure.data.get("stderr").and_then(Value::as_str) {
                let lines: String = stderr.lines().flat_map(|line| ["\n  ", line]).collect();
                message = format!("{message}\nits standard error ended with:{lines}");
            }
        }
        let again = format!(
            "nothing that was stored is lost; to try again: jaren resume {}{}",
            word(self.run),
            self.store_option()
        );
        Problem::new(Exit::Failed, message).with_help(again)
    }
}

fn watcher_failed(error: &std::io::Error) -> Problem {
    Problem::new(Exit::Io, format!("the watcher of the commands cannot be started: {error}"))
}

/// Another process executes the run.
pub(crate) fn busy(run: &str, holder: Option<i32>) -> Problem {
    Problem::new(Exit::Busy, format!("run {run:?} is being executed by {}", holder_name(holder)))
}

/// The process that executes a run, in words.
pub(crate) fn holder_name(holder: Option<i32>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
}

/// There is no such run.
pub(crate) fn unknown_run(run: &str, store: &Path) -> Problem {
    let message = format!("there is no run {run:?} in store {}", store.display());
    Problem::new(Exit::NotFound, message)
        .with_help("`jaren runs` lists the runs of a store; --store names another one")
}

/// What a wait is for: events, a time, or both.
pub(crate) fn waits_for(events: &[Str], until_ms: Option<i64>, now_ms: i64) -> String {
    let events = events.iter().map(|event| text::line(event).into_owned()).collect::<Vec<_>>().join(" or ");
    match (events.is_empty(), until_ms) {
        (false, None) => events,
        (true, None) => "nothing".to_owned(),
        (empty, Some(until)) => {
            let at = format!("{} ({})", moment::utc(until), moment::distance(now_ms, until));
            if empty { at } else { format!("{events}, or {at}") }
        }
    }
}

/// A value for people.
pub(crate) fn shown_value(value: &Value) -> String {
    // A stored value holds nothing that cannot be written.
    text::lines(&pretty(value).unwrap_or_default()).into_owned()
}

/// A word as a shell reads it back.
fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", text::line(word).replace('\'', "'\\''"))
    }
}
