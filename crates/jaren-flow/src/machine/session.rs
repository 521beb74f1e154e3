//! A machine with its current state and, if the host likes, a place to keep it.

use super::{Machine, State, StepResult};
use crate::error::{FlowError, SessionError};
use crate::given::Given;

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
    /// The position of the current state.
    state: usize,
}

impl<S: StateStore> Session<S> {
    /// Starts at `start`, else at what the store has, else at the document's initial state. JF2001 for an undeclared
    /// state, JF2005 when nothing says where.
    pub fn open(machine: Machine, start: Option<&str>, mut store: S) -> Result<Self, SessionError<S::Error>> {
        let loaded = match start {
            Some(start) => Some(start.to_owned()),
            None => store.load().map_err(SessionError::Store)?,
        };
        let state = match loaded {
            Some(id) => machine.state(&id)?,
            None => machine.initial().ok_or_else(|| {
                let reason =
                    "there is no state to start from: the document's initial is null and none was given";
                FlowError::new("JF2005", reason)
            })?,
        };
        Ok(Self { state: state.position(), machine, store })
    }

    /// The current state.
    #[inline]
    pub fn state(&self) -> State<'_> {
        self.machine.at(self.state)
    }

    /// Whether the current state is final.
    pub fn is_done(&self) -> bool {
        self.state().is_final()
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Delivers an event. What fired is saved before it counts.
    pub fn send(&mut self, event: &str, given: &Given<'_>) -> Result<StepResult<'_>, SessionError<S::Error>> {
        let result = self.machine.at(self.state).step(event, given);
        if result.changed {
            self.store.save(result.state.as_str()).map_err(SessionError::Store)?;
            self.state = result.state.position();
        }
        Ok(result)
    }

    /// Whether the event would fire a transition; nothing is saved.
    pub fn can(&self, event: &str, given: &Given<'_>) -> bool {
        self.state().step(event, given).changed
    }
}
