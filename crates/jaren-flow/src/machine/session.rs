//! A machine with its current state and, if the host likes, a place to keep it.

use jaren_json::Str;

use super::{Machine, Step, StepResult};
use crate::error::{FlowError, SessionError};

/// Where a session keeps its state. Synchronous: hosts that wait for storage use the engine.
pub trait StateStore {
    /// Its failure, handed through as it is.
    type Error;

    /// The state kept so far.
    fn load(&mut self) -> Result<Option<String>, Self::Error>;

    /// Keeps a state, after every transition that fired. When this fails the session stays where it was.
    fn save(&mut self, state: &str) -> Result<(), Self::Error>;
}

/// Keeps nothing.
impl StateStore for () {
    type Error = std::convert::Infallible;

    fn load(&mut self) -> Result<Option<String>, Self::Error> {
        Ok(None)
    }

    fn save(&mut self, _state: &str) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A machine being driven. Its current state is all there is to keep.
#[derive(Debug)]
pub struct Session<S: StateStore = ()> {
    machine: Machine,
    store: S,
    state: Str,
    is_done: bool,
}

impl<S: StateStore> Session<S> {
    /// Starts at `start`, else at what the store has, else at the document's initial state. JF2001 for an undeclared
    /// state, JF2005 when nothing says where.
    pub fn open(machine: Machine, start: Option<&str>, mut store: S) -> Result<Self, SessionError<S::Error>> {
        let loaded = match start {
            Some(start) => Some(start.to_owned()),
            None => store.load().map_err(SessionError::Store)?,
        };
        let start = loaded.as_deref().or_else(|| machine.initial().map(Str::as_str)).ok_or_else(|| {
            let reason = "there is no state to start from: the document's initial is null and none was given";
            FlowError::new("JF2005", reason)
        })?;
        let current = machine.state(start)?;
        let (state, is_done) = (current.id.clone(), current.is_final);
        Ok(Self { machine, store, state, is_done })
    }

    /// The current state.
    pub fn state(&self) -> &Str {
        &self.state
    }

    /// Whether the current state is final.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Delivers an event.
    pub fn send(&mut self, event: &str, step: &Step<'_>) -> Result<StepResult, SessionError<S::Error>> {
        let result = self.machine.step(&self.state, event, step)?;
        if result.changed {
            self.store.save(&result.state).map_err(SessionError::Store)?;
        }
        self.state = result.state.clone();
        self.is_done = result.is_final;
        Ok(result)
    }

    /// Whether the event would fire a transition; nothing is saved.
    pub fn can(&self, event: &str, step: &Step<'_>) -> Result<bool, FlowError> {
        Ok(self.machine.step(&self.state, event, step)?.changed)
    }
}
