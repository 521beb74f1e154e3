//! Machines, jaren-fsm 0.1: named states, one at a time, and a table of transitions that answer named events.
//!
//! The state of a machine is the id of its current state; keeping it is all that resuming needs. There is no
//! hierarchy, no time and no step without an event: see [`statechart`](crate::statechart) for those.
//!
//! ```
//! use jaren_flow::machine::{Machine, Step};
//! use jaren_json::value;
//!
//! let machine = Machine::compile(&value!({
//!     "initial": "draft",
//!     "states": ["draft", "review"],
//!     "transitions": [{ "from": "draft", "event": "submit", "to": "review" }]
//! }))?;
//! let result = machine.step("draft", "submit", &Step::default())?;
//! assert_eq!((result.changed, result.state.as_str()), (true, "review"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compile;
mod document;
mod places;
mod session;

use std::sync::Arc;

use jaren_json::{Diagnostic, Report, Str, Value};
use jaren_query::Scope;

use self::compile::{Plan, State, Transition};
pub use self::session::{Session, StateStore};
use crate::defects::Defects;
use crate::effect::{Effect, EffectPlan};
use crate::error::FlowError;

/// A compiled machine: immutable, `Send + Sync`, cheap to clone.
#[derive(Debug, Clone)]
pub struct Machine {
    plan: Arc<Plan>,
}

/// What a caller gives to one step. What is absent reads null.
#[derive(Debug, Clone, Copy, Default)]
pub struct Step<'a> {
    /// `$.payload`.
    pub payload: Option<&'a Value>,
    /// `$.context`.
    pub context: Option<&'a Value>,
}

/// What one step did.
#[derive(Debug, Clone, PartialEq)]
pub struct StepResult {
    /// Whether a transition fired, a self-transition included.
    pub changed: bool,
    /// The state after it.
    pub state: Str,
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
        let mut defects = Defects::default();
        let plan = compile::check(document, &mut defects);
        defects.finish(document, plan.map(|plan| Self { plan: Arc::new(plan) }))
    }

    /// The state to start from, where the document chooses one.
    pub fn initial(&self) -> Option<&Str> {
        self.plan.initial.and_then(|index| self.plan.states.get(index)).map(|state| &state.id)
    }

    /// The state ids in document order.
    pub fn states(&self) -> impl Iterator<Item = &Str> {
        self.plan.states.iter().map(|state| &state.id)
    }

    /// The named events that a state answers, each once, in document order. JF2001 for an undeclared state.
    pub fn events(&self, state: &str) -> Result<Vec<Str>, FlowError> {
        let mut seen = std::collections::BTreeSet::new();
        let names = self.state(state)?.transitions.iter().filter_map(|transition| match &transition.event {
            Some(Value::String(name)) => Some(name),
            _ => None,
        });
        Ok(names.filter(|name| seen.insert(*name)).cloned().collect())
    }

    /// Whether a state is final. JF2001 for an undeclared state.
    pub fn is_final(&self, state: &str) -> Result<bool, FlowError> {
        Ok(self.state(state)?.is_final)
    }

    /// Answers an event: the first transition of the state in document order that names the event, or any, and whose
    /// guard holds. Exit and entry effects run only when the state changes. JF2001 for an undeclared state.
    pub fn step(&self, state: &str, event: &str, step: &Step<'_>) -> Result<StepResult, FlowError> {
        const NULL: &Value = &Value::Null;
        let from = self.state(state)?;
        let [payload, context] = [step.payload, step.context].map(|given| given.unwrap_or(NULL));
        let mut errors = Vec::new();
        for transition in &from.transitions {
            // The name of the event as a value: the transition's own, and made only for one that takes any.
            let made;
            let event = match &transition.event {
                Some(name) if *name == *event => name,
                Some(_) => continue,
                None => {
                    made = Value::from(event);
                    &made
                }
            };
            let parts = [("state", &from.name), ("event", event), ("payload", payload), ("context", context)];
            let scope = Scope::record(&parts);
            if transition.guard.as_ref().is_none_or(|guard| guard.holds(&scope, &mut errors))
                && let Some(to) = self.plan.states.get(transition.to)
            {
                return Ok(fire(from, transition, to, &scope, errors));
            }
        }
        let (state, is_final) = (from.id.clone(), from.is_final);
        Ok(StepResult { changed: false, state, effects: Vec::new(), is_final, errors })
    }

    #[inline]
    fn state(&self, id: &str) -> Result<&State, FlowError> {
        let found = self.plan.places.find(id, &self.plan.states);
        found.ok_or_else(|| unknown(id))
    }
}

#[cold]
fn unknown(id: &str) -> FlowError {
    FlowError::new("JF2001", format!("'{id}' is no declared state of this machine"))
}

/// Exit and entry effects run only where the state changes.
#[inline]
fn fire(
    from: &State,
    transition: &Transition,
    to: &State,
    scope: &Scope<'_>,
    mut errors: Vec<Diagnostic>,
) -> StepResult {
    let none: &[EffectPlan] = &[];
    let moved = !std::ptr::eq(from, to);
    let (exit, entry) = if moved { (&*from.exit, &*to.entry) } else { (none, none) };
    let mut effects = Vec::new();
    for effect in exit.iter().chain(&transition.effects).chain(entry) {
        effect.resolve(scope, &mut effects, &mut errors);
    }
    StepResult { changed: true, state: to.id.clone(), effects, is_final: to.is_final, errors }
}
