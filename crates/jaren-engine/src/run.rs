//! The handle of one run.

use std::fmt;

use jaren_durable::Session;
use jaren_json::{Str, Value};
use tracing::Instrument;

use crate::documents::{RunStatus, SNAPSHOT, STATUS_LABEL};
use crate::drive::{Drive, Past, Pilot, Status};
use crate::engine::{Engine, session_id};
use crate::error::EngineError;
use crate::load::{self, Loaded};
use crate::observe;

/// How often a drive tries to claim a run whose holder saves it further at the same time.
const CLAIMS_MAX: u32 = 3;

/// A run of this process's interest. Any number of handles may exist; the one that drives claims the run.
pub struct Run {
    engine: Engine,
    id: Str,
    is_new: bool,
    attachment: Value,
    past: Past,
    hold: Hold,
}

/// What the handle holds between drives.
enum Hold {
    /// A run that was just started: its claim is this handle's, its first tasks wait to be started.
    Created(Box<Pilot>),
    /// A stored run.
    Saved(Box<Session>),
    /// A drive was dropped or lost its session; the store knows how far it came.
    Lost,
}

impl Run {
    pub(crate) fn created(engine: Engine, id: Str, attachment: Value, pilot: Pilot) -> Self {
        let past = pilot.past();
        Run { engine, id, is_new: true, attachment, past, hold: Hold::Created(Box::new(pilot)) }
    }

    pub(crate) fn saved(engine: Engine, id: Str, session: Session) -> Self {
        let (attachment, past) = (Value::Null, Past::default());
        Run { engine, id, is_new: false, attachment, past, hold: Hold::Saved(Box::new(session)) }
    }

    /// Reads a stored run as driving it will, so that what is wrong with it is told when it is opened.
    pub(crate) async fn check(&mut self) -> Result<(), EngineError> {
        let Hold::Saved(session) = &mut self.hold else { return Ok(()) };
        self.attachment = if is_done(session) {
            load::definition(session).await?.attachment
        } else {
            load::load(&self.engine.inner, session).await?.definition.attachment
        };
        Ok(())
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Did this handle start it?
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The host's own value that was stored at the start; null if there was none.
    pub fn attachment(&self) -> &Value {
        &self.attachment
    }

    /// Drives the run until it waits for an event, is done or fails; at a wait with a deadline it stays until that comes.
    /// Every task is joined before it returns.
    ///
    /// A stored run is claimed first, so that an engine that drove it before can save nothing more; a run that only
    /// waits is claimed when something moves it, and a run that is done answers its result without work.
    ///
    /// An error tells of what is not in the store: it could not be read or written, another engine has the run. A run
    /// that fails is none, but a [`Status`].
    ///
    /// Prefer the token of [`drive_with`](Self::drive_with) to dropping this future: a drop aborts the tasks, while a
    /// commit in flight ends by itself, and the next drive goes on from what the store holds.
    pub async fn drive(&mut self) -> Result<Status, EngineError> {
        self.drive_with(Drive::new()).await
    }

    /// The same with a token, an observer or resources of its own, or without staying for deadlines.
    pub async fn drive_with(&mut self, drive: Drive) -> Result<Status, EngineError> {
        let ended = self.drive_to_rest(drive).await.map_err(|error| error.of_run(&self.id));
        match &ended {
            Err(error) => observe::broken(&self.id, error),
            Ok(Status::Failed { failure }) => observe::failed(&self.id, failure),
            Ok(Status::Interrupted) => observe::interrupted(&self.id),
            Ok(Status::Waiting { .. } | Status::Done { .. }) => {}
        }
        ended
    }

    async fn drive_to_rest(&mut self, drive: Drive) -> Result<Status, EngineError> {
        let mut claims = 1;
        loop {
            let mut pilot = match std::mem::replace(&mut self.hold, Hold::Lost) {
                Hold::Created(pilot) => pilot,
                Hold::Saved(session) => match self.board(*session).await? {
                    Boarded::Done(result) => return Ok(Status::Done { result }),
                    Boarded::Ready(pilot) => pilot,
                },
                Hold::Lost => {
                    // What a drive that was dropped had on its way is not somebody else's.
                    self.past.flights.closed().await;
                    let opened =
                        Session::open(self.engine.inner.storage.clone(), session_id(&self.id)?).await;
                    let opened = opened.map_err(EngineError::of_storage)?;
                    let session = opened.ok_or_else(|| EngineError::not_found(&self.id))?;
                    match self.board(session).await? {
                        Boarded::Done(result) => return Ok(Status::Done { result }),
                        Boarded::Ready(pilot) => pilot,
                    }
                }
            };
            let span = observe::drive_span(&self.id);
            let ended = pilot.fly(&drive, span.clone()).instrument(span).await;
            let outrun = pilot.is_outrun();
            let (session, attempts) = pilot.into_parts();
            self.past.attempts = attempts;
            if let Some(session) = session {
                self.hold = Hold::Saved(Box::new(session));
            }
            if !outrun || claims == CLAIMS_MAX {
                return ended;
            }
            claims += 1;
        }
    }

    async fn board(&mut self, mut session: Session) -> Result<Boarded, EngineError> {
        session.refresh().await.map_err(EngineError::of_session)?;
        if is_done(&session) {
            let snapshot = load::required(&mut session, &SNAPSHOT).await?;
            let result = snapshot.get("context").and_then(|context| context.get("data")).cloned();
            self.hold = Hold::Saved(Box::new(session));
            return Ok(Boarded::Done(result.unwrap_or_default()));
        }
        let Loaded { state, .. } = load::load(&self.engine.inner, &mut session).await?;
        let durable = Some(state.snapshot().generation());
        let attempts = std::mem::take(&mut self.past.attempts);
        let past = Past { attempts, flights: self.past.flights.clone() };
        let pilot = Pilot::new(self.engine.inner.clone(), self.id.clone(), session, state, durable, past);
        Ok(Boarded::Ready(Box::new(pilot)))
    }
}

enum Boarded {
    Done(Value),
    Ready(Box<Pilot>),
}

fn is_done(session: &Session) -> bool {
    session.label(STATUS_LABEL) == Some(RunStatus::Done.as_str())
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("id", &self.id).field("is_new", &self.is_new).finish_non_exhaustive()
    }
}
