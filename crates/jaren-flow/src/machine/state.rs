//! A state of a machine and the step from it.

use std::fmt;

use jaren_json::{Diagnostic, Str, Value};
use jaren_query::Scope;

use super::StepResult;
use super::compile::{Plan, StatePlan, Transition};
use crate::effect::EffectPlan;
use crate::given::Given;

/// A declared state of a machine, and the way to the next one. It displays as its id.
#[derive(Clone, Copy)]
pub struct State<'m> {
    plan: &'m Plan,
    /// One of the plan's.
    own: &'m StatePlan,
}

impl<'m> State<'m> {
    /// One of the states of this plan.
    #[inline]
    pub(super) fn new(plan: &'m Plan, own: &'m StatePlan) -> Self {
        Self { plan, own }
    }

    /// Its position in the document.
    #[inline]
    pub(super) fn position(self) -> usize {
        self.own.position
    }

    /// Its id, which is all there is to keep.
    #[inline]
    pub fn id(self) -> &'m Str {
        &self.own.id
    }

    /// Its id.
    #[inline]
    pub fn as_str(self) -> &'m str {
        self.id()
    }

    /// Whether it is final.
    #[inline]
    pub fn is_final(self) -> bool {
        self.own.is_final
    }

    /// The named events that it answers, each once, in document order.
    pub fn events(self) -> impl Iterator<Item = &'m str> {
        self.own.events.iter().filter_map(Value::as_str)
    }

    /// Answers an event: the first transition in document order that names the event, or any, and whose guard holds.
    /// Exit and entry effects run only when the state changes.
    pub fn step(self, event: &str, given: &Given<'_>) -> StepResult<'m> {
        const NULL: &Value = &Value::Null;
        let from = self.own;
        let named = from.events.iter().position(|name| *name == *event);
        // Its name as a value: one of the state's own, or made for transitions that take any event.
        let made;
        let event = if let Some(event) = named.and_then(|named| from.events.get(named)) {
            event
        } else {
            made = Value::from(event);
            &made
        };
        let [payload, context] = [given.payload, given.context].map(|part| part.unwrap_or(NULL));
        let parts = [("state", &from.name), ("event", event), ("payload", payload), ("context", context)];
        let scope = Scope::record(&parts);
        let mut errors = Vec::new();
        for transition in &from.transitions {
            if (transition.event.is_none() || transition.event == named)
                && transition.guard.as_ref().is_none_or(|guard| guard.holds(&scope, &mut errors))
            {
                return self.fire(transition, &scope, errors);
            }
        }
        let is_final = from.is_final;
        StepResult { changed: false, state: self, effects: Vec::new(), is_final, errors }
    }

    #[inline]
    fn fire(self, transition: &Transition, scope: &Scope<'_>, mut errors: Vec<Diagnostic>) -> StepResult<'m> {
        let (from, to) = (self.own, self.plan.state(transition.to));
        let none: &[EffectPlan] = &[];
        let (exit, entry) =
            if to.position == from.position { (none, none) } else { (&*from.exit, &*to.entry) };
        let mut effects = Vec::new();
        for plans in [exit, &transition.effects, entry] {
            for effect in plans {
                effect.resolve(scope, &mut effects, &mut errors);
            }
        }
        StepResult { changed: true, state: Self::new(self.plan, to), effects, is_final: to.is_final, errors }
    }
}

/// States of the same id.
impl PartialEq for State<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for State<'_> {}

/// Its id.
impl From<State<'_>> for Value {
    fn from(state: State<'_>) -> Self {
        state.own.name.clone()
    }
}

impl fmt::Display for State<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for State<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
