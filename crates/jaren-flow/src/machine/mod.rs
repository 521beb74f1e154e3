//! Machines, jaren-fsm 0.1: named states, one at a time, and a table of transitions that answer named events.
//!
//! The state of a machine is the id of its current state; keeping it is all that resuming needs. There is no
//! hierarchy, no time and no step without an event: see [`statechart`](crate::statechart) for those.
//!
//! ```
//! use jaren_flow::Given;
//! use jaren_flow::machine::Machine;
//! use jaren_json::value;
//!
//! let machine = Machine::compile(&value!({
//!     "initial": "draft",
//!     "states": ["draft", "review"],
//!     "transitions": [{ "from": "draft", "event": "submit", "to": "review" }]
//! }))?;
//! let result = machine.step("draft", "submit", &Given::default())?;
//! assert_eq!((result.changed, result.state.as_str()), (true, "review"));
//! // A state that was found once needs not be found again.
//! assert!(!result.state.step("submit", &Given::default()).changed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compile;
mod places;
mod read;
mod session;
mod state;

use std::sync::Arc;

use jaren_json::{Diagnostic, Report, Str, Value};

use self::compile::Plan;
pub use self::session::{Session, StateStore};
pub use self::state::State;
use crate::defects::Defects;
use crate::effect::Effect;
use crate::error::FlowError;
use crate::given::Given;
use crate::options::{CompileOptions, Queries};

/// A compiled machine: immutable, `Send + Sync`, cheap to clone.
#[derive(Debug, Clone)]
pub struct Machine {
    plan: Arc<Plan>,
}

/// What one step did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StepResult<'m> {
    /// Whether a transition fired, a self-transition included.
    pub changed: bool,
    /// The state after it.
    pub state: State<'m>,
    /// What the host should do, in order.
    pub effects: Vec<Effect>,
    /// Whether that state is final.
    pub is_final: bool,
    /// Guards and effects that failed: JF2003 and JF2004, with the place in the document and the query's error.
    pub errors: Vec<Diagnostic>,
}

impl Machine {
    /// Compiles a jaren-fsm 0.1 document; its marker may be missing. The report has every defect, JF0001 to JF0009.
    pub fn compile(document: &Value) -> Result<Self, Report> {
        Self::compile_with(document, &CompileOptions::new())
    }

    /// The same with options.
    pub fn compile_with(document: &Value, options: &CompileOptions) -> Result<Self, Report> {
        let mut defects = Defects::default();
        let plan = compile::check(document, &Queries::new(options), &mut defects);
        defects.finish(document, plan.map(|plan| Self { plan: Arc::new(plan) }))
    }

    /// The state to start from, where the document chooses one.
    pub fn initial(&self) -> Option<State<'_>> {
        self.plan.initial.map(|position| self.at(position))
    }

    /// The states in document order.
    pub fn states(&self) -> impl ExactSizeIterator<Item = State<'_>> {
        self.plan.states.iter().map(|state| State::new(&self.plan, state))
    }

    /// The state with this id. JF2001 where none is declared.
    #[inline]
    pub fn state(&self, id: &str) -> Result<State<'_>, FlowError> {
        match self.plan.places.find(id, &self.plan.states) {
            Some(state) => Ok(State::new(&self.plan, state)),
            None => Err(unknown(id)),
        }
    }

    /// The state at that position, which there is.
    #[inline]
    fn at(&self, position: usize) -> State<'_> {
        State::new(&self.plan, self.plan.state(position))
    }

    /// The named events that a state answers, each once, in document order. JF2001 for an undeclared state.
    pub fn events(&self, state: &str) -> Result<Vec<Str>, FlowError> {
        Ok(self.state(state)?.events().map(Str::from).collect())
    }

    /// Whether a state is final. JF2001 for an undeclared state.
    pub fn is_final(&self, state: &str) -> Result<bool, FlowError> {
        Ok(self.state(state)?.is_final())
    }

    /// Answers an event, as [`State::step`] does. JF2001 for an undeclared state.
    #[inline]
    pub fn step(&self, state: &str, event: &str, given: &Given<'_>) -> Result<StepResult<'_>, FlowError> {
        Ok(self.state(state)?.step(event, given))
    }
}

#[cold]
fn unknown(id: &str) -> FlowError {
    FlowError::new("JF2001", format!("'{id}' is no declared state of this machine"))
}
