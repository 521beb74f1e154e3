//! The store's side of a drive: what still has to be committed, the one commit in flight, and what is durable.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use jaren_durable::{BoxFuture, Session};
use jaren_flow::workflow::Workflow;
use jaren_host::Timestamp;
use jaren_json::{Str, Value};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::CommitPolicy;
use super::cargo::{Cargo, Kept, Landed};
use crate::core::{Consumed, SaveCause, SavePoint, Snapshot, SnapshotStatus};
use crate::documents::{RunFailure, RunStatus};
use crate::error::EngineError;

/// Save points that end so many events take no further ones: an event costs two writes, and a commit takes
/// [`SESSION_WRITES_MAX`](jaren_durable::limits::SESSION_WRITES_MAX).
const CONSUMED_MAX: usize = 1000;
const _: () = assert!(2 * CONSUMED_MAX + 100 < jaren_durable::limits::SESSION_WRITES_MAX);

/// A commit on its way. It is awaited by the drive; dropped before its end it goes on in a task of its own, so that no
/// dropped future leaves it halfway.
pub(super) struct Flight(Option<BoxFuture<'static, Box<Flown>>>);

impl Future for Flight {
    type Output = Result<Box<Flown>, Lost>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(commit) = &mut self.0 else { return Poll::Ready(Err(Lost)) };
        let polled = catch_unwind(AssertUnwindSafe(|| commit.as_mut().poll(cx)));
        let ended = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(flown)) => Ok(flown),
            Err(_) => Err(Lost),
        };
        self.0 = None;
        Poll::Ready(ended)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(commit) = self.0.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(commit);
        }
    }
}

/// A commit panicked, and its session is gone with it.
#[derive(Debug)]
pub(super) struct Lost;

/// A commit that ended.
pub(super) struct Flown {
    session: Session,
    cargo: Cargo,
    landed: Result<Landed, EngineError>,
}

/// What a commit made durable.
pub(super) struct Durable {
    pub(super) generation: u64,
    pub(super) saves: u64,
    /// The events that ended with it.
    pub(super) consumed: Vec<Str>,
    /// Others had committed in between.
    pub(super) met: bool,
}

/// How a commit ended.
pub(super) enum Landing {
    Durable(Durable),
    /// The session that it was to create exists.
    Exists,
    /// What it was to claim must be loaded again.
    Moved,
}

/// What is saved of one or several save points that travel together.
struct Staged {
    snapshot: Snapshot,
    saves: u64,
    /// The claim of the run is among them.
    claims: bool,
    /// The events that end with them, each with the generation of its save point.
    consumed: Vec<(Consumed, u64)>,
}

impl Staged {
    fn add(&mut self, point: SavePoint) {
        let SavePoint { snapshot, cause, consumed, saves } = point;
        self.saves += saves;
        self.claims |= cause == SaveCause::Claim;
        self.consumed.extend(consumed.map(|consumed| (consumed, snapshot.generation())));
        self.snapshot = snapshot;
    }

    fn of(point: SavePoint) -> Self {
        let mut staged =
            Staged { snapshot: point.snapshot.clone(), saves: 0, claims: false, consumed: Vec::new() };
        staged.add(point);
        staged
    }
}

pub(super) struct Ledger {
    policy: CommitPolicy,
    workflow: Workflow,
    /// Each commit on its way holds a receiver, so that the run's handle can wait for those of a drive that was dropped.
    pub(super) flights: watch::Sender<()>,
    /// Absent while a commit is in flight.
    pub(super) session: Option<Session>,
    pub(super) flight: Option<Flight>,
    token: String,
    /// The definition and the revision of a run that is to be created.
    definition: Option<(Value, String)>,
    /// Save points that are not on their way yet: those that travel together are one here, so that many of them take
    /// no more room than few.
    staged: VecDeque<Staged>,
    /// The failure of this attempt, not on its way yet, and the event that it came of.
    untold: Option<RunFailure>,
    refused: Option<Consumed>,
    /// The status of the newest save point.
    status: SnapshotStatus,
    /// The generation that the store holds; none before the run's first commit.
    pub(super) durable: Option<u64>,
    /// The newest state that was committed; the next commit takes it along, to tell what it changes.
    kept: Option<Kept>,
}

impl Ledger {
    /// Over a session that holds the run at that generation, or is to be created.
    pub(super) fn new(
        policy: CommitPolicy,
        workflow: Workflow,
        flights: watch::Sender<()>,
        session: Session,
        token: String,
        durable: Option<u64>,
    ) -> Self {
        Ledger {
            policy,
            workflow,
            flights,
            session: Some(session),
            flight: None,
            token,
            definition: None,
            staged: VecDeque::new(),
            untold: None,
            refused: None,
            status: SnapshotStatus::Running,
            durable,
            kept: None,
        }
    }

    pub(super) fn define(&mut self, definition: Value, revision: String) {
        self.definition = Some((definition, revision));
    }

    pub(super) fn stage(&mut self, point: SavePoint) {
        self.status = point.snapshot.status();
        match self.staged.back_mut() {
            Some(staged)
                if self.policy == CommitPolicy::Coalesced && staged.consumed.len() < CONSUMED_MAX =>
            {
                staged.add(point);
            }
            _ => self.staged.push_back(Staged::of(point)),
        }
    }

    /// The event ends with the failure that it caused.
    pub(super) fn refuse(&mut self, consumed: Consumed) {
        self.refused = Some(consumed);
    }

    /// Why the run failed; it is stored after all save points.
    pub(super) fn tell(&mut self, failure: RunFailure) {
        self.untold = Some(failure);
    }

    /// Is there anything that is not durable yet?
    pub(super) fn unsaved(&self) -> bool {
        self.flight.is_some() || !self.staged.is_empty() || self.untold.is_some()
    }

    /// Forgets what cannot be saved any more.
    pub(super) fn give_up(&mut self) {
        self.staged.clear();
        self.untold = None;
        self.refused = None;
    }

    /// Sends the next commit on its way, if there is one to send and none in flight.
    pub(super) fn launch(&mut self, at: Timestamp) {
        if self.flight.is_some() || !self.unsaved() {
            return;
        }
        let Some(mut session) = self.session.take() else { return };
        let cargo = self.load(at);
        let flying = self.flights.subscribe();
        self.flight = Some(Flight(Some(Box::pin(async move {
            let landed = cargo.commit(&mut session).await;
            drop(flying);
            Box::new(Flown { session, cargo, landed })
        }))));
    }

    fn load(&mut self, at: Timestamp) -> Cargo {
        let staged = self.staged.pop_front();
        let failure = if self.staged.is_empty() { self.untold.take() } else { None };
        let (snapshot, saves, claims, mut consumed) = match staged {
            Some(Staged { snapshot, saves, claims, consumed }) => (Some(snapshot), saves, claims, consumed),
            None => (None, 0, false, Vec::new()),
        };
        let status = match (&failure, &snapshot) {
            (Some(_), _) => RunStatus::Failed,
            (None, Some(snapshot)) => snapshot.status().into(),
            (None, None) => self.status.into(),
        };
        if failure.is_some() {
            let generation = snapshot.as_ref().map(Snapshot::generation).or(self.durable).unwrap_or(0);
            consumed.extend(self.refused.take().map(|refused| (refused, generation)));
        }
        Cargo {
            token: self.token.clone(),
            base: self.durable,
            snapshot: snapshot.map(Kept::of),
            before: self.kept.take(),
            workflow: self.workflow.clone(),
            saves,
            claims,
            consumed,
            definition: self.definition.take(),
            failure,
            status,
            at,
        }
    }

    /// Takes the session back from a commit that ended.
    pub(super) fn land(&mut self, flown: Result<Box<Flown>, Lost>) -> Result<Landing, EngineError> {
        self.flight = None;
        let Flown { session, mut cargo, landed } = *flown.map_err(|Lost| EngineError::commit_lost())?;
        self.session = Some(session);
        match landed? {
            Landed::Exists => Ok(Landing::Exists),
            Landed::Moved => Ok(Landing::Moved),
            Landed::Durable { met } => {
                let generation = cargo.target();
                self.durable = Some(generation);
                self.kept = cargo.snapshot.take().or_else(|| cargo.before.take());
                Ok(Landing::Durable(Durable {
                    generation,
                    saves: cargo.saves,
                    consumed: cargo.consumed.into_iter().map(|(consumed, _)| consumed.id).collect(),
                    met,
                }))
            }
        }
    }
}
