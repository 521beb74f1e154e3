//! One drive of a run: the loop between the core, the tasks, the clock and the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{Retry, Seq, Session, StorageError};
use jaren_json::{Str, Value};
use tokio::sync::watch;
use tracing::Span;

use super::ledger::{Flight, Flown, Landing, Ledger, Lost};
use super::{CommitPolicy, Drive, Status};
use crate::attempt::Lent;
use crate::core::{Arrival, Input, NodeStatus, Output, Phase, Record, RunState, StartTask};
use crate::crew::{Crew, Ended};
use crate::documents::{INBOX, RunFailure, SNAPSHOT};
use crate::engine::Inner;
use crate::error::EngineError;
use crate::limits;
use crate::load;
use crate::numbers;
use crate::observe::Teller;
use crate::time;
use crate::view;

/// How often a parked drive looks at the store before it believes that it fails, and how long it pauses in between.
const READS_MAX: u32 = 5;
const READ_PAUSE: Duration = Duration::from_millis(200);

/// What waits for a save point to be durable.
enum Held {
    Start(StartTask),
    Show(Record),
}

/// How often each node of the present activation was started by this handle, retries included.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    key: Str,
    nodes: BTreeMap<Str, u32>,
}

impl Attempts {
    fn next(&mut self, call: &StartTask) -> u32 {
        if self.key != call.key {
            *self = Attempts { key: call.key.clone(), nodes: BTreeMap::new() };
        }
        let count = self.nodes.entry(call.id.clone()).or_default();
        *count = count.saturating_add(1);
        *count
    }

    fn retried(&mut self, node: &Str, retries: u32) {
        if let Some(count) = self.nodes.get_mut(node) {
            *count = count.saturating_add(retries);
        }
    }
}

/// What a run's handle knows of its drives before.
#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) attempts: Attempts,
    /// The commits of a drive that was dropped may still be on their way: each holds a receiver.
    pub(crate) flights: watch::Sender<()>,
}

/// How far a drive is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// Tasks are started and awaited.
    Ahead,
    /// Nobody needs the tasks that still run; they have a grace to end in.
    Leaving,
    /// The grace is over; what still runs is stopped at its next await.
    Aborting,
}

/// The driver of one run.
pub(crate) struct Pilot {
    engine: Arc<Inner>,
    run: Str,
    state: RunState,
    ledger: Ledger,
    crew: Crew,
    attempts: Attempts,
    /// By the generation that must be durable, then in order.
    held: BTreeMap<(u64, u64), Held>,
    holding: u64,
    /// The events in the inbox that the core has been given.
    seen: BTreeSet<Arc<str>>,
    /// Nothing that the core says can be saved any more.
    broken: Option<Broken>,
    /// Why the run failed, as it is stored or on its way there.
    failure: Option<RunFailure>,
    /// It is broken only because the run was saved further between its load and its claim.
    outrun: bool,
    /// What tasks are lent, and who is told what happens; set when the drive begins.
    lent: Arc<Lent>,
    /// Somebody may want the records.
    watched: bool,
    /// The caller's token was cancelled.
    stopping: bool,
    course: Course,
}

/// Why a drive goes on no further, whatever the core says.
enum Broken {
    /// The store failed, or somebody else holds the run.
    Error(EngineError),
    /// The store works and does not take what the run has come to, which is the run's failure.
    Refused,
}

/// What woke the loop.
enum Woken {
    Landed(Result<Box<Flown>, Lost>),
    /// None when the last tasks were aborted.
    Ended(Option<Ended>),
    Stop,
    GraceOver,
    Moved(Result<Seq, StorageError>),
    Due,
}

impl Pilot {
    /// At a run as it is saved; `durable` is the generation that the store holds, none for a run that is new.
    pub(crate) fn new(
        engine: Arc<Inner>,
        run: Str,
        session: Session,
        state: RunState,
        durable: Option<u64>,
        past: Past,
    ) -> Self {
        let Past { attempts, flights } = past;
        let (workflow, token) = (state.workflow().clone(), engine.ids.mint("hold"));
        let ledger = Ledger::new(engine.policy, workflow, flights, session, token, durable);
        Pilot {
            engine,
            run,
            state,
            ledger,
            crew: Crew::default(),
            attempts,
            held: BTreeMap::new(),
            holding: 0,
            seen: BTreeSet::new(),
            broken: None,
            failure: None,
            outrun: false,
            lent: Arc::default(),
            watched: true,
            stopping: false,
            course: Course::Ahead,
        }
    }

    /// Begins a new run and commits it. Answers false when the session exists already.
    pub(crate) async fn create(&mut self, definition: Value, revision: String) -> Result<bool, EngineError> {
        self.ledger.define(definition, revision);
        self.feed(Input::Begin);
        while self.ledger.unsaved() {
            self.ledger.launch(self.engine.clock.now());
            let flown = flown(&mut self.ledger.flight).await;
            if let Landing::Exists = self.ledger.land(flown)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Drives until the run rests, ends, fails or is interrupted; every task is joined before it returns. It happens in
    /// the span, and so do its tasks.
    pub(crate) async fn fly(&mut self, drive: &Drive, span: Span) -> Result<Status, EngineError> {
        self.lend(drive, span)?;
        self.board().await?;
        let mut grace = std::pin::pin!(tokio::time::sleep(self.engine.grace));
        loop {
            // A run whose store and tasks answer at once lets others have their turn all the same.
            tokio::task::coop::consume_budget().await;
            self.go_on();
            self.release(drive);
            self.ledger.launch(self.engine.clock.now());
            if let Some(ended) = self.ended(drive) {
                return ended;
            }
            if self.course == Course::Ahead && self.is_closing(drive) {
                self.course = Course::Leaving;
                self.crew.cancel();
                grace.set(tokio::time::sleep(self.engine.grace));
            }
            let parked = self.parked(drive);
            let woken = tokio::select! {
                biased;
                flown = flown(&mut self.ledger.flight) => Woken::Landed(flown),
                ended = self.crew.next(), if !self.crew.is_empty() => Woken::Ended(ended),
                () = drive.cancel.cancelled(), if !self.stopping => Woken::Stop,
                () = &mut grace, if self.course == Course::Leaving => Woken::GraceOver,
                moved = moved(self.ledger.session.as_ref()), if parked.is_some() => Woken::Moved(moved),
                () = until(&self.engine, parked), if parked.is_some() => Woken::Due,
            };
            if let Err(error) = self.wake(woken).await {
                self.break_off(error);
            }
        }
    }

    /// Gathers what the tasks of this drive are lent. What they cannot do without must be there.
    fn lend(&mut self, drive: &Drive, span: Span) -> Result<(), EngineError> {
        let Inner { clock, random, grace, resources, tasks, .. } = &*self.engine;
        let teller = Teller::new(self.run.clone(), drive.observer.clone());
        self.watched = teller.is_watched();
        let resources = drive.resources.or(resources);
        limits::check_tasks(self.state.workflow(), tasks, &resources)?;
        let (clock, random, grace) = (clock.clone(), random.clone(), *grace);
        self.lent = Arc::new(Lent { clock, random, grace, resources, teller, span });
        Ok(())
    }

    async fn wake(&mut self, woken: Woken) -> Result<(), EngineError> {
        match woken {
            Woken::Landed(flown) => self.land(flown).await?,
            Woken::Ended(Some(ended)) => {
                self.settle(ended);
                while let Some(ended) = self.crew.next_at_hand() {
                    self.settle(ended);
                }
            }
            Woken::Ended(None) => {}
            Woken::Stop => self.stopping = true,
            Woken::GraceOver => {
                self.course = Course::Aborting;
                self.crew.abort();
            }
            Woken::Moved(moved) => self.news(moved).await?,
            Woken::Due if self.state.has_begun() => self.feed(Input::Due),
            Woken::Due => self.feed(Input::Begin),
        }
        Ok(())
    }

    /// Nothing can be saved any more; what remains is to join the tasks. The first reason counts.
    fn break_off(&mut self, error: EngineError) {
        if !matches!(self.broken, Some(Broken::Error(_))) {
            self.broken = Some(Broken::Error(error));
        }
        self.forget();
    }

    /// The store does not take what the run has come to, but it works: that can still be told.
    fn refuse(&mut self, error: &EngineError) {
        self.broken = Some(Broken::Refused);
        self.forget();
        self.fail(RunFailure::of_engine(error, self.engine.clock.now()));
    }

    fn forget(&mut self) {
        self.ledger.give_up();
        self.held.clear();
    }

    /// The run has failed, once this is durable.
    fn fail(&mut self, failure: RunFailure) {
        self.failure = Some(failure.clone());
        self.ledger.tell(failure);
    }

    /// Did the run's holder save it further before this drive could claim it? Then nothing has happened, and the run is
    /// to be loaded and claimed again.
    pub(crate) fn is_outrun(&self) -> bool {
        self.outrun
    }

    /// What the handle of a run that this drive created has to know of it.
    pub(crate) fn past(&self) -> Past {
        Past { attempts: Attempts::default(), flights: self.ledger.flights.clone() }
    }

    /// Gives the session back, unless it was lost with a commit.
    pub(crate) fn into_parts(self) -> (Option<Session>, Attempts) {
        (self.ledger.session, self.attempts)
    }
}

/// The core and the tasks.
impl Pilot {
    fn feed(&mut self, input: Input) {
        // The host's clock may be set back; the run's time never goes back.
        let now = numbers::to_statechart(self.engine.clock.now()).max(self.state.snapshot().control().time());
        self.state.set_watched(self.watched);
        self.state.set_coalesced(self.engine.policy == CommitPolicy::Coalesced);
        let step = self.state.step(input, Some(now));
        for output in step.outputs {
            match output {
                Output::Save(point) => self.ledger.stage(point),
                Output::Start(call) => self.hold(call.after, Held::Start(call)),
                Output::Record { after, record } => self.hold(after, Held::Show(record)),
                Output::Refused(consumed) => self.ledger.refuse(consumed),
                Output::Abandon { activation } => {
                    self.crew.abandon(activation, Some(self.engine.grace));
                    let void =
                        |held: &Held| matches!(held, Held::Start(call) if call.activation == activation);
                    self.held.retain(|_, held| !void(held));
                }
            }
        }
        if let Phase::Failed(error) = step.phase {
            self.fail(RunFailure::of(&error, self.engine.clock.now()));
        }
    }

    fn hold(&mut self, after: u64, held: Held) {
        self.holding += 1;
        self.held.insert((after, self.holding), held);
    }

    /// A long stretch without tasks goes on once what it passed is durable.
    fn go_on(&mut self) {
        let more = self.state.has_begun() && matches!(self.state.phase(), Phase::More);
        if more && !self.stopping && self.broken.is_none() && !self.ledger.unsaved() {
            self.feed(Input::Continue);
        }
    }

    /// Starts and shows what the durable generation allows.
    fn release(&mut self, drive: &Drive) {
        let Some(durable) = self.ledger.durable else { return };
        while let Some(entry) = self.held.first_entry()
            && entry.key().0 <= durable
        {
            match entry.remove() {
                Held::Show(record) => self.tell(&record),
                Held::Start(call) => self.start(call, drive),
            }
        }
    }

    fn start(&mut self, call: StartTask, drive: &Drive) {
        if self.stopping || drive.cancel.is_cancelled() {
            return;
        }
        let attempt = self.attempts.next(&call);
        if self.watched {
            let (state, visit, node) = (call.state.clone(), call.visit, call.id.clone());
            let limit = self.engine.tasks.limit(&call.task, call.version.as_deref());
            self.tell(&Record::Started { state, visit, node, attempt, limit });
        }
        self.crew.start(&self.engine.tasks, &self.run, call, attempt, &self.lent);
    }

    fn tell(&self, record: &Record) {
        self.lent.teller.tell(record);
    }

    /// A task ended. After a sibling's failure its answer is void; after an interruption only an error is, because
    /// the task was asked to stop.
    fn settle(&mut self, ended: Ended) {
        let Ended { activation, node, id, state, visit, result, retries, ms } = ended;
        let is_live = self.crew.is_live(activation);
        if is_live {
            self.attempts.retried(&id, retries);
        }
        let void = !is_live || self.broken.is_some() || (self.stopping && result.is_err());
        if void {
            let status = NodeStatus::Aborted;
            return self.tell(&Record::Node { state, visit, node: id, status, ms });
        }
        let result = result.and_then(limits::check_answer);
        self.feed(Input::Settled { activation, node, result, ms });
    }
}

/// The store and the inbox.
impl Pilot {
    /// The start of a drive. What was sent to a run that rests since it was saved is looked for first.
    async fn board(&mut self) -> Result<(), EngineError> {
        let rests = matches!(self.state.phase(), Phase::Waiting { .. });
        match (self.state.has_begun(), rests) {
            (true, true) => self.look().await,
            (true, false) => Ok(()),
            (false, _) => self.wait_here().await,
        }
    }

    /// At a run as it is saved: begins, which claims it, unless there is nothing to do but wait.
    async fn wait_here(&mut self) -> Result<(), EngineError> {
        let news = self.arrivals().await?;
        let now = numbers::to_statechart(self.engine.clock.now());
        let begin = match self.state.phase() {
            Phase::Waiting { deadline, .. } => news || deadline.is_some_and(|deadline| deadline <= now),
            Phase::Done(_) => false,
            Phase::Working | Phase::More | Phase::Failed(_) => true,
        };
        if begin {
            self.feed(Input::Begin);
        }
        Ok(())
    }

    /// Feeds the events of the inbox that the core does not know, in the order of their arrival.
    async fn arrivals(&mut self) -> Result<bool, EngineError> {
        let Some(session) = self.ledger.session.as_mut() else { return Ok(false) };
        let mut fresh = Vec::new();
        for (id, stored) in session.family(&INBOX).await.map_err(EngineError::of_session)? {
            if self.seen.insert(id.clone()) {
                let created = session.known(&INBOX.address(&id)).map_or(Seq::ZERO, |(_, created)| created);
                fresh.push((created, id, stored));
            }
        }
        fresh.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let news = !fresh.is_empty();
        for (_, id, stored) in fresh {
            let event = stored.get("event").cloned().unwrap_or_default();
            self.feed(Input::Arrived(Arrival { id: Str::from(&*id), event }));
        }
        Ok(news)
    }

    /// Looks at what is new. A drive may be parked for days, so that it does not end with the first read that fails.
    async fn news(&mut self, moved: Result<Seq, StorageError>) -> Result<(), EngineError> {
        let mut looked = moved.map(drop).map_err(EngineError::of_storage);
        for _ in 0..READS_MAX {
            let pause = match looked.as_ref().map_err(EngineError::retry) {
                Ok(()) => Duration::ZERO,
                Err(Retry::Safe) => READ_PAUSE,
                Err(Retry::AfterDelay(pause)) => pause,
                Err(_) => break,
            };
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            looked = self.look().await;
            if looked.is_ok() {
                break;
            }
        }
        looked
    }

    /// Somebody committed while the run rested here: events, or an engine that moved it on.
    async fn look(&mut self) -> Result<(), EngineError> {
        let Some(session) = self.ledger.session.as_mut() else { return Ok(()) };
        session.refresh().await.map_err(EngineError::of_session)?;
        let stored = load::generation(session).await?;
        if Some(stored) == self.ledger.durable {
            if self.arrivals().await? && !self.state.has_begun() {
                self.feed(Input::Begin);
            }
            return Ok(());
        }
        let moved_on = load::load(&self.engine, session).await?;
        if matches!(moved_on.state.phase(), Phase::More) {
            return Err(EngineError::fenced()); // it is being worked on, or was left in the middle of it
        }
        // It may be bound to another document.
        limits::check_tasks(moved_on.state.workflow(), &self.engine.tasks, &self.lent.resources)?;
        self.state = moved_on.state;
        self.seen.clear();
        self.ledger.durable = Some(stored);
        self.wait_here().await
    }

    /// What the store refuses came of the state that it holds.
    async fn placed(&mut self, error: EngineError) -> EngineError {
        let Some(session) = self.ledger.session.as_mut().filter(|_| error.is_refusal()) else { return error };
        match session.document(&SNAPSHOT).await {
            Ok(Some(stored)) => error.in_state(view::active(&stored).unwrap_or_default()),
            Ok(None) | Err(_) => error,
        }
    }

    async fn land(&mut self, flown: Result<Box<Flown>, Lost>) -> Result<(), EngineError> {
        let durable = match self.ledger.land(flown) {
            Ok(Landing::Durable(durable)) => durable,
            Ok(Landing::Exists) => return Err(EngineError::fenced()),
            Ok(Landing::Moved) => {
                self.outrun = true;
                return Err(EngineError::fenced());
            }
            Err(error) => {
                let error = self.placed(error).await;
                // What tells of a refusal is small; a store that refuses that too is of no use.
                if error.is_refusal() && self.broken.is_none() {
                    self.refuse(&error);
                } else {
                    self.break_off(error);
                }
                return Ok(());
            }
        };
        for id in &durable.consumed {
            self.seen.remove(&**id);
        }
        let (generation, saves) = (durable.generation, durable.saves);
        self.tell(&Record::Committed { generation, saves });
        if durable.met && self.broken.is_none() && !matches!(self.state.phase(), Phase::Failed(_)) {
            self.arrivals().await?;
        }
        Ok(())
    }
}

/// The end.
impl Pilot {
    /// Does nobody need the tasks that still run?
    fn is_closing(&self, drive: &Drive) -> bool {
        let over = match self.state.phase() {
            Phase::Done(_) | Phase::Failed(_) => true,
            Phase::Waiting { .. } => !self.ledger.unsaved() && self.parked(drive).is_none(),
            Phase::Working | Phase::More => false,
        };
        over || self.stopping || self.broken.is_some()
    }

    fn ended(&mut self, drive: &Drive) -> Option<Result<Status, EngineError>> {
        if !self.crew.is_empty() || self.ledger.unsaved() {
            return None;
        }
        match self.broken.take() {
            None => {}
            Some(Broken::Error(error)) => return Some(Err(error)),
            Some(Broken::Refused) => return self.failed(),
        }
        match self.state.phase() {
            Phase::Done(result) => Some(Ok(Status::Done { result: result.clone() })),
            Phase::Failed(_) => self.failed(),
            _ if self.stopping => Some(Ok(Status::Interrupted)),
            Phase::Waiting { .. } if self.parked(drive).is_some() => None,
            Phase::Waiting { events, deadline } => Some(Ok(Status::Waiting {
                events: events.clone(),
                deadline: deadline.map(numbers::from_statechart),
            })),
            Phase::Working | Phase::More => None,
        }
    }

    /// The end of a failed run: what was told of it is durable.
    fn failed(&mut self) -> Option<Result<Status, EngineError>> {
        self.failure.take().map(|failure| Ok(Status::Failed { failure }))
    }

    /// The deadline that the run is parked for, when it is.
    fn parked(&self, drive: &Drive) -> Option<f64> {
        let waits = drive.stays_for_timers() && !self.stopping && self.broken.is_none();
        match self.state.phase() {
            Phase::Waiting { deadline, .. } if waits && !self.ledger.unsaved() => *deadline,
            _ => None,
        }
    }
}

/// The end of the commit in flight, if there is one.
async fn flown(flight: &mut Option<Flight>) -> Result<Box<Flown>, Lost> {
    match flight {
        Some(flight) => flight.await,
        None => std::future::pending().await,
    }
}

async fn moved(session: Option<&Session>) -> Result<Seq, StorageError> {
    match session {
        Some(session) => session.moved().await,
        None => std::future::pending().await,
    }
}

/// Ends when the clock has reached the deadline.
async fn until(engine: &Inner, deadline: Option<f64>) {
    match deadline {
        Some(deadline) => time::until(&*engine.clock, numbers::from_statechart(deadline)).await,
        None => std::future::pending().await,
    }
}
