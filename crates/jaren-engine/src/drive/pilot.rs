//! One attempt at a run: the loop between the core, the tasks, the clock and the store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{Seq, Session, StorageError};
use jaren_host::Clock;
use jaren_json::{Str, Value};
use tokio::task::JoinHandle;

use super::cargo::{Cargo, Landed};
use crate::crew::{Crew, Ended, call_of};
use super::{Drive, Policy, Status, Timers};
use crate::core::{Arrival, Event, NodeStatus, Output, Phase, Record, RunState, SavePoint, SaveCause, StartTask};
use crate::documents::{INBOX, RunFailure, RunStatus};
use crate::engine::Inner;
use crate::error::EngineError;
use crate::load;
use crate::numbers;

/// The longest sleep before the clock is asked again: a clock may be set, and a machine may have slept.
const CLOCK_RECHECK: Duration = Duration::from_secs(1);

type Flight = JoinHandle<(Session, Cargo, Result<Landed, EngineError>)>;

/// What waits for a save point to be durable.
enum Held {
    Start(StartTask),
    Show(Record),
}

/// How often each node of the present activation was started by this handle.
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
}

/// The driver of one attempt.
pub(crate) struct Pilot {
    engine: Arc<Inner>,
    run: Arc<str>,
    /// Absent while a commit is in flight.
    session: Option<Session>,
    state: RunState,
    token: String,
    attempts: Attempts,
    /// Save points that are not on their way yet.
    staged: VecDeque<SavePoint>,
    /// By the generation that must be durable, then in order.
    held: BTreeMap<(u64, u64), Held>,
    holding: u64,
    /// The generation that the store holds; none before the run's first commit.
    durable: Option<u64>,
    flight: Option<Flight>,
    crew: Crew,
    /// The events that the core has been given.
    seen: BTreeSet<Arc<str>>,
    definition: Option<(Value, String)>,
    /// The core has begun, which claims the run.
    begun: bool,
    /// The failure of this attempt still has to be stored.
    untold: Option<RunFailure>,
    /// The store failed, or somebody else holds the run: nothing can be saved any more.
    broken: Option<EngineError>,
    existed: bool,
    stopping: bool,
    leaving: bool,
}

/// What woke the loop.
enum Woken {
    Landed(Result<(Session, Cargo, Result<Landed, EngineError>), tokio::task::JoinError>),
    Ended(Ended),
    Stop,
    GraceOver,
    Moved(Result<Seq, StorageError>),
    Due,
}

impl Pilot {
    /// At a run as it is saved; `durable` is the generation that the store holds, none for a run that is new.
    pub(crate) fn new(
        engine: Arc<Inner>,
        run: Arc<str>,
        session: Session,
        state: RunState,
        durable: Option<u64>,
        attempts: Attempts,
    ) -> Self {
        let token = engine.ids.mint("hold");
        Pilot {
            engine,
            run,
            session: Some(session),
            state,
            token,
            attempts,
            staged: VecDeque::new(),
            held: BTreeMap::new(),
            holding: 0,
            durable,
            flight: None,
            crew: Crew::default(),
            seen: BTreeSet::new(),
            definition: None,
            begun: false,
            untold: None,
            broken: None,
            existed: false,
            stopping: false,
            leaving: false,
        }
    }

    /// Begins a new run and commits it. Answers false when the session exists already.
    pub(crate) async fn create(&mut self, definition: Value, revision: String) -> Result<bool, EngineError> {
        self.definition = Some((definition, revision));
        self.feed(Event::Begin);
        while self.broken.is_none() && !self.existed && self.unsaved() {
            self.launch();
            let Some(flight) = &mut self.flight else { break };
            let landed = flight.await;
            self.land(landed, &Drive::new());
        }
        match self.broken.take() {
            Some(error) => Err(error),
            None => Ok(!self.existed),
        }
    }

    /// Drives until the run rests, ends, fails or is interrupted; every task is joined before it returns.
    pub(crate) async fn fly(&mut self, drive: &Drive) -> Result<Status, EngineError> {
        self.stopping = false;
        self.leaving = false;
        self.board().await?;
        let mut grace = std::pin::pin!(tokio::time::sleep(self.engine.grace));
        let mut aborted = false;
        loop {
            self.go_on();
            self.release(drive);
            self.launch();
            if let Some(ended) = self.ended(drive) {
                return ended;
            }
            let closing = self.closing(drive);
            if closing && !self.leaving {
                self.leaving = true;
                self.crew.cancel();
                grace.as_mut().reset(tokio::time::Instant::now() + self.engine.grace);
            }
            let parked = self.parked(drive);
            let woken = tokio::select! {
                biased;
                landed = landed(&mut self.flight) => Woken::Landed(landed),
                Some(ended) = self.crew.next(), if !self.crew.is_empty() => Woken::Ended(ended),
                () = drive.cancel.cancelled(), if !self.stopping => Woken::Stop,
                () = &mut grace, if self.leaving && !aborted => Woken::GraceOver,
                moved = moved(self.session.as_ref()), if parked.is_some() => Woken::Moved(moved),
                () = until(&*self.engine.clock, parked), if parked.is_some() => Woken::Due,
            };
            aborted |= matches!(woken, Woken::GraceOver);
            if let Err(error) = self.wake(woken, drive).await {
                self.break_off(error);
            }
        }
    }

    async fn wake(&mut self, woken: Woken, drive: &Drive) -> Result<(), EngineError> {
        match woken {
            Woken::Landed(landed) => {
                if self.land(landed, drive) {
                    self.meet().await?;
                }
            }
            Woken::Ended(ended) => self.settle(ended, drive),
            Woken::Stop => self.stopping = true,
            // The tasks had their time; what is left is stopped at its next await and joined.
            Woken::GraceOver => self.crew.abort(),
            Woken::Moved(moved) => {
                moved?;
                self.look().await?;
            }
            Woken::Due if self.begun => self.feed(Event::Due),
            Woken::Due => self.feed(Event::Begin),
        }
        Ok(())
    }
}

/// The core.
impl Pilot {
    fn feed(&mut self, event: Event) {
        self.begun |= matches!(event, Event::Begin);
        // The host's clock may be set back; the run's time never goes back.
        let now = numbers::to_statechart(self.engine.clock.now()).max(self.state.snapshot().control().time());
        let step = self.state.step(event, Some(now));
        for output in step.outputs {
            match output {
                Output::Save(point) => self.staged.push_back(point),
                Output::Start(call) => self.hold(call.after, Held::Start(call)),
                Output::Record { after, record } => self.hold(after, Held::Show(record)),
                Output::Abandon { activation } => {
                    self.crew.abandon(activation);
                    self.held.retain(|_, held| {
                        !matches!(held, Held::Start(call) if call.activation == activation)
                    });
                }
            }
        }
        if let Phase::Failed(error) = step.phase {
            self.untold = Some(RunFailure::of(&error, self.engine.clock.now()));
        }
    }

    fn hold(&mut self, after: u64, held: Held) {
        self.holding += 1;
        self.held.insert((after, self.holding), held);
    }

    /// A long stretch without tasks goes on once what it passed is durable.
    fn go_on(&mut self) {
        if self.begun && !self.stopping && matches!(self.state.phase(), Phase::More) && !self.unsaved() {
            self.feed(Event::Continue);
        }
    }

    /// Starts and shows what the durable generation allows.
    fn release(&mut self, drive: &Drive) {
        let Some(durable) = self.durable else { return };
        while let Some(entry) = self.held.first_entry()
            && entry.key().0 <= durable
        {
            match entry.remove() {
                Held::Show(record) => drive.tell(&record),
                Held::Start(call) => self.start(call, drive),
            }
        }
    }

    fn start(&mut self, call: StartTask, drive: &Drive) {
        if self.stopping || self.broken.is_some() || drive.cancel.is_cancelled() {
            return;
        }
        let attempt = self.attempts.next(&call);
        let (state, visit, node) = (call.state.clone(), call.visit, call.id.clone());
        drive.tell(&Record::Started { state, visit, node, attempt });
        let token = self.crew.token(call.activation);
        let (handler, context) = call_of(&self.engine.tasks, &self.run, &call, attempt, token);
        self.crew.start(call, handler, context, Some(self.engine.clock.clone()));
    }

    /// A task ended. After a sibling's failure its answer is void; after an interruption only an error is, because
    /// the task was asked to stop.
    fn settle(&mut self, ended: Ended, drive: &Drive) {
        let Ended { activation, node, id, state, visit, result, ms } = ended;
        let void = !self.crew.is_live(activation)
            || self.broken.is_some()
            || (self.stopping && result.is_err())
            || matches!(self.state.phase(), Phase::Failed(_));
        if void {
            let status = NodeStatus::Aborted;
            return drive.tell(&Record::Node { state, visit, node: id, status, ms });
        }
        self.feed(Event::Settled { activation, node, result, ms });
    }
}

/// The store.
impl Pilot {
    /// The start of a drive. What was sent to a run that rests since it was saved is looked for first.
    async fn board(&mut self) -> Result<(), EngineError> {
        let rests = matches!(self.state.phase(), Phase::Waiting { .. });
        match (self.begun, rests) {
            (true, true) => self.look().await,
            (true, false) => Ok(()),
            (false, _) => self.wait_here().await,
        }
    }

    /// At a run as it is saved: begins, which claims it, unless there is nothing to do but wait.
    async fn wait_here(&mut self) -> Result<(), EngineError> {
        let news = self.arrivals().await?;
        let begin = match self.state.phase() {
            Phase::Waiting { .. } => news || self.is_due(),
            Phase::Done(_) => false,
            Phase::Working | Phase::More | Phase::Failed(_) => true,
        };
        if begin {
            self.feed(Event::Begin);
        }
        Ok(())
    }

    fn is_due(&self) -> bool {
        let now = numbers::to_statechart(self.engine.clock.now());
        matches!(self.state.phase(), Phase::Waiting { deadline: Some(deadline), .. } if *deadline <= now)
    }

    /// Feeds the events of the inbox that the core does not know, in the order of their arrival.
    async fn arrivals(&mut self) -> Result<bool, EngineError> {
        let Some(session) = self.session.as_mut() else { return Ok(false) };
        let mut fresh = Vec::new();
        for (id, stored) in session.family(&INBOX).await? {
            if self.seen.insert(id.clone()) {
                let created = session.known(&INBOX.address(&id)).map_or(Seq::ZERO, |(_, created)| created);
                fresh.push((created, id, stored));
            }
        }
        fresh.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let news = !fresh.is_empty();
        for (_, id, stored) in fresh {
            let event = stored.get("event").cloned().unwrap_or_default();
            self.feed(Event::Arrived(Arrival { id: Str::from(&*id), event }));
        }
        Ok(news)
    }

    /// Others have committed while this engine held the run: it can only be events.
    async fn meet(&mut self) -> Result<(), EngineError> {
        if !matches!(self.state.phase(), Phase::Failed(_)) {
            self.arrivals().await?;
        }
        Ok(())
    }

    /// Somebody committed while the run was parked here: events, or an engine that moved it on.
    async fn look(&mut self) -> Result<(), EngineError> {
        let Some(session) = self.session.as_mut() else { return Ok(()) };
        session.refresh().await?;
        let stored = load::generation(session).await?;
        if Some(stored) == self.durable {
            if self.arrivals().await? && !self.begun {
                self.feed(Event::Begin);
            }
            return Ok(());
        }
        let moved_on = load::load(&self.engine, session).await?;
        if matches!(moved_on.state.phase(), Phase::More) {
            return Err(EngineError::fenced()); // it is being worked on, or was left in the middle of it
        }
        self.state = moved_on.state;
        self.begun = false;
        self.seen.clear();
        self.durable = Some(stored);
        self.wait_here().await
    }

    fn unsaved(&self) -> bool {
        self.flight.is_some() || !self.staged.is_empty() || self.untold.is_some()
    }

    /// Sends the next commit on its way, if there is one to send and none in flight.
    fn launch(&mut self) {
        if self.flight.is_some() || self.broken.is_some() || !self.unsaved() {
            return;
        }
        let Some(mut session) = self.session.take() else { return };
        let cargo = self.load_cargo();
        self.flight = Some(tokio::spawn(async move {
            let landed = cargo.commit(&mut session).await;
            (session, cargo, landed)
        }));
    }

    fn load_cargo(&mut self) -> Cargo {
        let count = match self.engine.policy {
            Policy::Coalesced => self.staged.len(),
            Policy::EverySavePoint => self.staged.len().min(1),
        };
        let points: Vec<SavePoint> = self.staged.drain(..count).collect();
        let failure = if self.staged.is_empty() { self.untold.take() } else { None };
        let snapshot = points.last().map(|point| point.snapshot.clone());
        let status = match &failure {
            Some(_) => RunStatus::Failed,
            None => RunStatus::from(snapshot.as_ref().unwrap_or(self.state.snapshot()).status()),
        };
        let claims = points.iter().any(|point| point.cause == SaveCause::Claim);
        let consumed = points
            .into_iter()
            .filter_map(|point| Some((point.consumed?, point.snapshot.generation())))
            .collect();
        Cargo {
            token: self.token.clone(),
            base: self.durable,
            saves: count as u64,
            claims,
            consumed,
            definition: self.definition.take(),
            failure,
            status,
            at: self.engine.clock.now(),
            snapshot,
        }
    }

    /// A commit ended. Answers true when others had committed in between.
    fn land(
        &mut self,
        landed: Result<(Session, Cargo, Result<Landed, EngineError>), tokio::task::JoinError>,
        drive: &Drive,
    ) -> bool {
        self.flight = None;
        let (session, cargo, landed) = match landed {
            Ok(landed) => landed,
            Err(error) => {
                self.break_off(EngineError::commit_lost().caused_by(error));
                return false;
            }
        };
        self.session = Some(session);
        match landed {
            Ok(Landed::Durable { met }) => {
                let (generation, saves) = (cargo.target(), cargo.saves);
                self.durable = Some(generation);
                for (consumed, _) in &cargo.consumed {
                    self.seen.remove(&*consumed.id);
                }
                tracing::debug!(target: "jaren::engine", run = &*self.run, generation, saves, "committed");
                drive.tell(&Record::Committed { generation, saves });
                met
            }
            Ok(Landed::Exists) => {
                self.existed = true;
                false
            }
            Err(error) => {
                self.break_off(error);
                false
            }
        }
    }

    /// Nothing can be saved any more; what remains is to join the tasks. The first reason counts.
    fn break_off(&mut self, error: EngineError) {
        self.broken.get_or_insert(error);
        self.staged.clear();
        self.held.clear();
        self.untold = None;
    }

    /// Gives the session back.
    pub(crate) fn into_parts(self) -> (Option<Session>, Attempts) {
        (self.session, self.attempts)
    }
}

/// The end.
impl Pilot {
    /// Only tasks that nobody needs are still awaited.
    fn closing(&self, drive: &Drive) -> bool {
        let terminal = matches!(self.state.phase(), Phase::Done(_) | Phase::Failed(_));
        let rests = matches!(self.state.phase(), Phase::Waiting { .. }) && self.parked(drive).is_none();
        self.stopping || self.broken.is_some() || (!self.unsaved() && (terminal || rests)) || terminal
    }

    fn ended(&mut self, drive: &Drive) -> Option<Result<Status, EngineError>> {
        if !self.crew.is_empty() || self.flight.is_some() {
            return None;
        }
        if let Some(error) = self.broken.take() {
            return Some(Err(error));
        }
        if self.unsaved() {
            return None;
        }
        match self.state.phase() {
            Phase::Done(result) => Some(Ok(Status::Done { result: result.clone() })),
            Phase::Failed(error) => Some(Err(error.clone().into())),
            _ if self.stopping => Some(Ok(Status::Interrupted)),
            Phase::Waiting { .. } if self.parked(drive).is_some() => None,
            Phase::Waiting { events, deadline } => Some(Ok(Status::Waiting {
                events: events.iter().map(ToString::to_string).collect(),
                deadline: deadline.map(numbers::from_statechart),
            })),
            Phase::Working | Phase::More => None,
        }
    }

    /// The deadline that the run is parked for, when it is.
    fn parked(&self, drive: &Drive) -> Option<f64> {
        let waits = drive.timers == Timers::Wait && !self.stopping && self.broken.is_none() && !self.unsaved();
        match self.state.phase() {
            Phase::Waiting { deadline, .. } if waits => *deadline,
            _ => None,
        }
    }
}

async fn landed(
    flight: &mut Option<Flight>,
) -> Result<(Session, Cargo, Result<Landed, EngineError>), tokio::task::JoinError> {
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
async fn until(clock: &dyn Clock, deadline: Option<f64>) {
    let Some(deadline) = deadline else { return std::future::pending().await };
    loop {
        let left = deadline - numbers::to_statechart(clock.now());
        if left <= 0.0 {
            return;
        }
        // A fraction of a millisecond is slept as a whole one.
        tokio::time::sleep(Duration::from_secs_f64(left.ceil() / 1e3).min(CLOCK_RECHECK)).await;
    }
}
