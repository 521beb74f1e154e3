//! The way to the writer: a queue before a thread that groups what waits, and a short way for who comes alone.
//!
//! A hand-over to the thread and back costs two wake-ups, about as long as half a sync. Who comes alone saves them: while
//! the queue is empty, the last commit served one caller only, and the disk is quick, the caller's own thread commits.
//! It never waits for another process's turn, and only where the caller's runtime has further threads, so that the
//! others go on and group their commits by the queue.
//!
//! Those others may be futures of the same task, which goes on only when this one has answered or waits. So who is about to
//! commit here first yields once: siblings that come meanwhile are counted, and then all of them share a sync by the queue.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use jaren_durable::{Batch, Claim, Job, Outcome, Retry, StorageError, StorageErrorKind};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot};

use super::{APPLY, Ask, CLAIM, Writer, committed, not_started};
use crate::fault::Fault;
use crate::open::ReaderSource;
use crate::options::SqliteOptions;
use crate::watch::Watch;

/// Requests that wait for the writer; whoever comes later waits to be let in.
const QUEUE_MAX: usize = 1024;
/// Batches of one transaction: enough to share a sync, few enough to let another process have its turn soon.
const GROUP_BATCHES_MAX: usize = 1024;
/// Bytes of bodies after which a transaction takes no further batches.
const GROUP_BYTES_MAX: usize = 32 << 20;

/// Bytes of bodies up to which a group is committed on the caller's thread.
const HERE_BYTES_MAX: usize = 64 << 10;
/// Document and job writes up to which a group is committed on the caller's thread.
const HERE_WRITES_MAX: usize = 64;
/// A commit that took longer tells of a slow disk or a busy one: the next one is the writer thread's.
const HERE_TIME_MAX: Duration = Duration::from_millis(1);

/// What is asked of the writer's thread.
pub(super) enum Request {
    Ask(Ask),
    Upkeep(Task),
    /// See to the write-ahead log: a commit on a caller's thread has left that to be done.
    Tend,
    Close(oneshot::Sender<()>),
}

/// Something else that only the writer may do; it answers for itself, also when there is no writer any more.
pub(super) type Task = Box<dyn FnOnce(Option<&mut Writer>) + Send>;

/// The way to the writer.
#[derive(Debug)]
pub(crate) struct WriterHandle {
    requests: mpsc::Sender<Request>,
    poison: Arc<OnceLock<Fault>>,
    watch: Arc<Watch>,
    desk: Arc<Desk>,
}

/// Where the writer is while nobody uses it.
///
/// While somebody has it, nothing but the disk may be waited for. Of the host it calls, in a transaction, the clock and what
/// listens to `tracing`, and a panic of theirs is caught there.
struct Desk {
    /// None once it was closed.
    writer: Mutex<Option<Writer>>,
    /// The last commit was quick and served one caller, and nobody is on the way through the queue.
    quiet: AtomicBool,
    /// Groups that somebody waits for.
    asked: AtomicUsize,
    /// Longer is not quick.
    time_max: Duration,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

/// Opens the file for writing and starts the writer with its helpers.
pub(crate) fn start(
    path: &Path,
    options: SqliteOptions,
    watch: Arc<Watch>,
) -> Result<WriterHandle, StorageError> {
    start_with(path, options, watch, HERE_TIME_MAX)
}

pub(super) fn start_with(
    path: &Path,
    options: SqliteOptions,
    watch: Arc<Watch>,
    time_max: Duration,
) -> Result<WriterHandle, StorageError> {
    let durability = options.durability;
    let mut writer = Writer::open(path, options, watch.clone())?;
    let source = ReaderSource::new(path);
    let helpers = [writer.checkpoints.start(path, durability), writer.watch.start(source)];
    for helper in helpers {
        writer.helpers.push(helper.map_err(not_started)?);
    }
    let poison = writer.poison.clone();
    let (quiet, asked) = (AtomicBool::new(true), AtomicUsize::new(0));
    let desk = Desk { writer: Mutex::new(Some(writer)), quiet, asked, time_max };
    let (desk, (requests, queue)) = (Arc::new(desk), mpsc::channel(QUEUE_MAX));
    let (name, at) = ("jaren-writer".to_owned(), desk.clone());
    std::thread::Builder::new().name(name).spawn(move || run(&at, queue)).map_err(not_started)?;
    Ok(WriterHandle { requests, poison, watch, desk })
}

impl WriterHandle {
    /// Hands over a group and waits for its outcomes. Once it is in the queue, dropping the future changes nothing.
    pub(crate) async fn apply(&self, batches: Vec<Batch>) -> Result<Vec<Outcome>, StorageError> {
        if let Some(fault) = self.poison.get() {
            return Err(fault.refusal().error(APPLY));
        }
        let bytes = batches.iter().map(Batch::body_bytes).fold(0, usize::saturating_add);
        let present = Present::new(&self.desk);
        let mut batches = batches;
        if present.is_alone() && self.is_quiet() && is_small(&batches, bytes) && others_go_on() {
            tokio::task::yield_now().await;
            if present.is_alone() && self.is_quiet() {
                batches = match self.apply_here(batches) {
                    ControlFlow::Break(outcomes) => return outcomes,
                    ControlFlow::Continue(batches) => batches,
                };
            }
        }
        let (answer, outcome) = oneshot::channel();
        let ask = Ask::Apply { batches, bytes, answer };
        self.requests.send(Request::Ask(ask)).await.map_err(|_| closed(APPLY))?;
        let (outcomes, _batches) = outcome.await.map_err(|_| {
            let message =
                "the writer ended before it answered; find out by reading whether the group was applied";
            StorageError::new(StorageErrorKind::Io, Retry::Unknown, APPLY, message)
        })?;
        outcomes
    }

    /// Leases jobs that are due, in one transaction with what else waits.
    pub(crate) async fn claim(&self, claim: Claim) -> Result<Vec<Job>, StorageError> {
        let (answer, jobs) = oneshot::channel();
        self.requests.send(Request::Ask(Ask::Claim { claim, answer })).await.map_err(|_| closed(CLAIM))?;
        jobs.await.unwrap_or_else(|_| {
            let message =
                "the writer ended before it answered; what it leased comes back when the leases end";
            Err(StorageError::new(StorageErrorKind::Io, Retry::Unknown, CLAIM, message))
        })
    }

    /// Commits on this thread if the writer is free; else the group comes back, and nothing was done.
    fn apply_here(&self, batches: Vec<Batch>) -> ControlFlow<Result<Vec<Outcome>, StorageError>, Vec<Batch>> {
        // Held by somebody, or by a thread that panicked: the writer's thread finds out.
        let Ok(mut at) = self.desk.writer.try_lock() else { return ControlFlow::Continue(batches) };
        let Some(writer) = at.as_mut() else { return ControlFlow::Continue(batches) };
        let begun = Instant::now();
        let result = writer.transact_at_once(&batches);
        if begun.elapsed() > self.desk.time_max {
            self.desk.quiet.store(false, Ordering::Relaxed);
        }
        if writer.must_tend_log() {
            // A full queue has a request in it, and after each the log is tended anyway.
            let _ = self.requests.try_send(Request::Tend);
        }
        drop(at);
        match result {
            Ok(outcomes) => {
                self.watch.tick(committed(&batches, &outcomes));
                ControlFlow::Break(Ok(outcomes))
            }
            // Another process has its turn; that is not to be waited for on this thread.
            Err(fault) if fault.kind == StorageErrorKind::Busy && fault.retry != Retry::Unknown => {
                ControlFlow::Continue(batches)
            }
            Err(fault) => ControlFlow::Break(Err(fault.error(APPLY))),
        }
    }

    /// Whether nobody waits, and the last commit was quick and served one caller.
    pub(super) fn is_quiet(&self) -> bool {
        self.desk.quiet.load(Ordering::Relaxed) && self.waiting() == 0
    }

    /// Requests in the queue.
    pub(super) fn waiting(&self) -> usize {
        self.requests.max_capacity().saturating_sub(self.requests.capacity())
    }

    /// Has the writer do something between two groups.
    pub(crate) async fn upkeep<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&mut Writer) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StorageError> {
        let (answer, outcome) = oneshot::channel();
        let task = Box::new(move |writer: Option<&mut Writer>| {
            let done = writer.map(|writer| work(writer).map_err(|fault| fault.error(operation)));
            let _ = answer.send(done.unwrap_or_else(|| Err(closed(operation)))); // the caller may have stopped waiting
        });
        self.requests.send(Request::Upkeep(task)).await.map_err(|_| closed(operation))?;
        outcome.await.unwrap_or_else(|_| {
            let message = "the writer ended before it answered";
            Err(StorageError::new(StorageErrorKind::Io, Retry::Unknown, operation, message))
        })
    }

    /// Lets the writer finish what waits, and closes the file.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.requests.send(Request::Close(done)).await.is_ok() {
            // An error means that the writer is gone already, which is what was asked for.
            let _ = closed.await;
        }
    }
}

pub(super) fn closed(operation: &'static str) -> StorageError {
    StorageError::new(StorageErrorKind::Closed, Retry::Never, operation, "the storage was closed")
}

/// Whether a group, of so many bytes of bodies, is so small that its sync is what takes the time.
fn is_small(batches: &[Batch], bytes: usize) -> bool {
    let mut writes = 0usize;
    for batch in batches {
        let documents = batch.sessions.iter().map(|part| part.writes.len() + 1).sum::<usize>();
        writes = writes.saturating_add(documents).saturating_add(batch.jobs.len());
    }
    bytes <= HERE_BYTES_MAX && writes <= HERE_WRITES_MAX
}

/// One who waits for a group, counted as long as it lives.
struct Present<'a>(&'a AtomicUsize);

impl<'a> Present<'a> {
    fn new(desk: &'a Desk) -> Self {
        desk.asked.fetch_add(1, Ordering::Relaxed);
        Self(&desk.asked)
    }

    fn is_alone(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether this thread belongs to a runtime that goes on with its other tasks while this thread waits for the disk.
fn others_go_on() -> bool {
    Handle::try_current().is_ok_and(|runtime| {
        runtime.runtime_flavor() == RuntimeFlavor::MultiThread && runtime.metrics().num_workers() > 1
    })
}

/// Drops the writer when its thread ends, by a panic too: the file is closed, and its locks are free.
struct Ending<'a>(&'a Desk);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        drop(self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// The writer's thread.
fn run(desk: &Desk, queue: mpsc::Receiver<Request>) {
    let ending = Ending(desk);
    let closing = serve(desk, queue);
    drop(ending);
    if let Some(done) = closing {
        // Whoever closed may have stopped waiting.
        let _ = done.send(());
    }
}

/// Does what is asked until the storage is closed, or nobody can ask any more; tells who closed it.
fn serve(desk: &Desk, mut queue: mpsc::Receiver<Request>) -> Option<oneshot::Sender<()>> {
    let mut closing = None;
    while closing.is_none() {
        let Some(first) = queue.blocking_recv() else { break };
        let was_quiet = desk.quiet.swap(false, Ordering::Relaxed); // nobody overtakes on the short way again and again
        let Ok(mut at) = desk.writer.lock() else { break };
        let Some(writer) = at.as_mut() else { break };
        let (mut group, mut task) = (Vec::new(), None);
        let (mut batches, mut bytes) = (0usize, 0usize);
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                Request::Close(done) => closing = Some(done),
                Request::Upkeep(work) => task = Some(work),
                Request::Tend => {}
                Request::Ask(ask) => {
                    let (more, size) = ask.size();
                    batches = batches.saturating_add(more);
                    bytes = bytes.saturating_add(size);
                    group.push(ask);
                }
            }
            let full = batches >= GROUP_BATCHES_MAX || bytes >= GROUP_BYTES_MAX;
            let full = full || closing.is_some() || task.is_some();
            next = if full { None } else { queue.try_recv().ok() };
        }
        let (callers, begun) = (group.len(), Instant::now());
        if !group.is_empty() {
            writer.answer(group);
        }
        // A commit that nobody asked for says nothing about the disk.
        let quiet = if callers == 0 { was_quiet } else { callers == 1 && begun.elapsed() <= desk.time_max };
        if let Some(work) = task {
            work(Some(writer));
        }
        writer.tend_log();
        desk.quiet.store(quiet, Ordering::Relaxed);
    }
    refuse(queue);
    closing
}

/// Tells who still waits, behind whoever closed the storage, that nothing was tried.
pub(super) fn refuse(mut queue: mpsc::Receiver<Request>) {
    queue.close();
    while let Ok(request) = queue.try_recv() {
        match request {
            Request::Ask(ask) => ask.refuse(),
            Request::Upkeep(task) => task(None),
            Request::Tend => {}
            Request::Close(done) => drop(done.send(())),
        }
    }
}
