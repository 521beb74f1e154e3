//! A chart with its current state and, if the host likes, a place to keep it (statechart format, section 5).

use super::{Snapshot, Statechart, StepResult};
use crate::error::{FlowError, SessionError};
use crate::given::Given;
use jaren_json::Value;

/// Where a session keeps its snapshot. Synchronous: hosts that wait for storage use the engine.
pub trait SnapshotStore {
    /// Its failure, handed through as it is.
    type Error;

    /// The snapshot kept so far.
    fn load(&mut self) -> Result<Option<Value>, Self::Error>;

    /// Keeps a snapshot. When this fails the session stays where it was.
    fn save(&mut self, snapshot: &Value) -> Result<(), Self::Error>;
}

/// Keeps nothing.
impl SnapshotStore for () {
    type Error = std::convert::Infallible;

    fn load(&mut self) -> Result<Option<Value>, Self::Error> {
        Ok(None)
    }

    fn save(&mut self, _snapshot: &Value) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A chart being driven: every result is saved before the session takes it as its state.
#[derive(Debug)]
pub struct Session<S: SnapshotStore = ()> {
    chart: Statechart,
    store: S,
    state: Snapshot,
    initial: Option<StepResult>,
}

impl<S: SnapshotStore> Session<S> {
    /// Continues from `state` or else from what the store has; otherwise starts afresh and saves that.
    pub fn open(
        chart: Statechart,
        state: Option<&Value>,
        mut store: S,
        now: Option<f64>,
        given: &Given<'_>,
    ) -> Result<Self, SessionError<S::Error>> {
        let stored = match state {
            Some(state) => Some(state.clone()),
            None => store.load().map_err(SessionError::Store)?,
        };
        let (state, initial) = if let Some(stored) = stored {
            (chart.restore(&stored)?, None)
        } else {
            let initial = chart.start(now, given)?;
            store.save(&initial.state.to_value()).map_err(SessionError::Store)?;
            (initial.state.clone(), Some(initial))
        };
        Ok(Self { chart, store, state, initial })
    }

    /// The current state.
    pub fn state(&self) -> &Snapshot {
        &self.state
    }

    /// What starting did, unless the session continued: its effects are for the host to execute.
    pub fn initial(&self) -> Option<&StepResult> {
        self.initial.as_ref()
    }

    /// Whether the root is completed.
    pub fn is_done(&self) -> Result<bool, FlowError> {
        self.chart.is_final(&self.state)
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Delivers an event.
    pub fn send(
        &mut self,
        event: &str,
        now: Option<f64>,
        given: &Given<'_>,
    ) -> Result<StepResult, SessionError<S::Error>> {
        let result = self.chart.step(&self.state, event, now, given)?;
        self.keep(result)
    }

    /// Moves time and fires everything that is due. Where that is more than one call may do (JF2012), nothing has
    /// happened: [`advance_one`](Self::advance_one) comes through.
    pub fn advance(&mut self, now: f64, given: &Given<'_>) -> Result<StepResult, SessionError<S::Error>> {
        let result = self.chart.advance(&self.state, now, given)?;
        self.keep(result)
    }

    /// Fires at most one due timer and leaves time at its instant; moves time to `now` when none is due.
    pub fn advance_one(&mut self, now: f64, given: &Given<'_>) -> Result<StepResult, SessionError<S::Error>> {
        let result = self.chart.advance_one(&self.state, now, given)?;
        self.keep(result)
    }

    /// Whether the event would fire a transition; nothing is saved.
    pub fn can(&self, event: &str, now: Option<f64>, given: &Given<'_>) -> Result<bool, FlowError> {
        Ok(self.chart.step(&self.state, event, now, given)?.changed)
    }

    fn keep(&mut self, result: StepResult) -> Result<StepResult, SessionError<S::Error>> {
        self.store.save(&result.state.to_value()).map_err(SessionError::Store)?;
        self.state = result.state.clone();
        Ok(result)
    }
}
