//! Statecharts, jaren-fsm 0.2: states that nest, run in parallel and remember, with events, delays, completion
//! and explicit time.
//!
//! [`Statechart::compile`] checks a document and yields pure functions: [`start`](Statechart::start),
//! [`step`](Statechart::step), [`advance`](Statechart::advance). They take a [`Snapshot`] and answer a
//! [`StepResult`] with the next one; effects come back as data. The whole state of a chart is its snapshot, so
//! keeping one is all that resuming needs.

mod compile;
mod configuration;
mod plan;
mod read;
mod session;
mod snapshot;
mod turn;

use std::borrow::Cow;
use std::sync::Arc;

use jaren_json::{Diagnostic, Report, Str, Value};

use self::plan::Plan;
pub use self::session::{Session, SnapshotStore};
pub use self::snapshot::Snapshot;
use self::turn::{Due, Turn};
use crate::defects::Defects;
use crate::effect::Effect;
use crate::error::FlowError;
use crate::given::Given;
use crate::options::{CompileOptions, Queries};

/// A compiled statechart: immutable, `Send + Sync`, cheap to clone.
#[derive(Debug, Clone)]
pub struct Statechart {
    plan: Arc<Plan>,
}

/// What one call did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StepResult {
    /// Whether a transition fired. When not, the state may still have moved in time: keep it all the same.
    pub changed: bool,
    /// The next state.
    pub state: Snapshot,
    /// Whether the root is completed.
    pub is_final: bool,
    /// What the host should do, in order.
    pub effects: Vec<Effect>,
    /// Guards and effects that failed: JF2003 and JF2004, with the place in the document and the query's error.
    pub errors: Vec<Diagnostic>,
    /// The states entered, in order; a state entered twice is there twice.
    pub entered: Vec<Str>,
    /// The states exited, in order.
    pub exited: Vec<Str>,
    /// The positions in the document of the transitions that fired, in order.
    pub transitions: Vec<usize>,
}

impl Statechart {
    /// Compiles a jaren-fsm 0.2 document. The report has every defect: JF0020 for structure and references, JF0007
    /// for guards, JF0008 and JF0009 for effects.
    pub fn compile(document: &Value) -> Result<Self, Report> {
        Self::compile_with(document, &CompileOptions::new())
    }

    /// The same with options.
    pub fn compile_with(document: &Value, options: &CompileOptions) -> Result<Self, Report> {
        let mut defects = Defects::default();
        let chart = Self::check(document, &Queries::new(options), &mut defects);
        defects.finish(document, chart)
    }

    /// Compiles into `defects`; a chart comes out only when the document is sound.
    pub(crate) fn check(document: &Value, queries: &Queries, defects: &mut Defects) -> Option<Self> {
        let plan = compile::check(document, queries, defects)?;
        Some(Self { plan: Arc::new(plan) })
    }

    /// The state ids in tree order: parents before children, siblings as declared.
    pub fn states(&self) -> impl Iterator<Item = &Str> {
        self.plan.states.iter().map(|state| &state.id)
    }

    /// Enters the initial configuration at the time `now`, in the host's milliseconds; zero where it is absent. JF2011 for
    /// a time or deadline out of range, JF2012 when it does not settle.
    pub fn start(&self, now: Option<f64>, given: &Given<'_>) -> Result<StepResult, FlowError> {
        Turn::start(&self.plan, now, given)
    }

    /// Delivers an external event at the time `now`, in the host's milliseconds; at the snapshot's own where it is absent.
    /// An event that nothing answers is ignored: `changed` is false. Overdue timers do not fire here; see
    /// [`advance`](Self::advance).
    pub fn step(
        &self,
        snapshot: &Snapshot,
        event: &str,
        now: Option<f64>,
        given: &Given<'_>,
    ) -> Result<StepResult, FlowError> {
        let snapshot = self.adopt(snapshot)?;
        Turn::step(&self.plan, &snapshot.control, event, now, given)
    }

    /// Moves time to `now` and fires every timer due by then, settling after each. JF2012 where that takes more than one
    /// call may do: [`advance_one`](Self::advance_one) comes through.
    pub fn advance(&self, snapshot: &Snapshot, now: f64, given: &Given<'_>) -> Result<StepResult, FlowError> {
        let snapshot = self.adopt(snapshot)?;
        Turn::advance(&self.plan, &snapshot.control, now, Due::All, given)
    }

    /// Consumes at most one due timer and leaves time at its instant; moves time to `now` when none is due.
    pub fn advance_one(
        &self,
        snapshot: &Snapshot,
        now: f64,
        given: &Given<'_>,
    ) -> Result<StepResult, FlowError> {
        let snapshot = self.adopt(snapshot)?;
        Turn::advance(&self.plan, &snapshot.control, now, Due::First, given)
    }

    /// The same control at a later time; no timer fires. JF2011 when time would move backwards.
    pub fn at(&self, snapshot: &Snapshot, now: f64) -> Result<Snapshot, FlowError> {
        let snapshot = self.adopt(snapshot)?;
        let mut control = (*snapshot.control).clone();
        control.time = turn::time(Some(control.time), Some(now))?;
        Ok(Snapshot::new(&self.plan, control))
    }

    /// Reads a stored snapshot: legal configuration and history, timers of active states, counters in range
    /// (JF2010). The order of its lists does not matter.
    pub fn restore(&self, value: &Value) -> Result<Snapshot, FlowError> {
        snapshot::restore(&self.plan, value).map(|control| Snapshot::new(&self.plan, control))
    }

    /// Whether the root is completed.
    pub fn is_final(&self, snapshot: &Snapshot) -> Result<bool, FlowError> {
        Ok(configuration::is_final(&self.plan, &self.adopt(snapshot)?.control.leaves))
    }

    /// The named events that active states answer, in document order of the transitions.
    pub fn events(&self, snapshot: &Snapshot) -> Result<Vec<Str>, FlowError> {
        let snapshot = self.adopt(snapshot)?;
        let active = self.plan.closure(&snapshot.control.leaves);
        let mut indices: Vec<usize> =
            active.iter().flat_map(|id| &self.plan.state(*id).on_event).copied().collect();
        indices.sort_unstable();
        let mut seen = std::collections::BTreeSet::new();
        let names = indices.into_iter().filter_map(|index| match &self.plan.transition(index).trigger {
            read::Trigger::Event(name) => Some(name.clone()),
            _ => None,
        });
        Ok(names.filter(|name| seen.insert(name.clone())).collect())
    }

    /// A snapshot of another compile is read through its JSON, so that positions cannot be mixed up, and so is one
    /// that is not legal, which refuses it.
    fn adopt<'a>(&self, snapshot: &'a Snapshot) -> Result<Cow<'a, Snapshot>, FlowError> {
        if Arc::ptr_eq(&self.plan, &snapshot.plan) && snapshot.control.is_legal {
            Ok(Cow::Borrowed(snapshot))
        } else {
            self.restore(&snapshot.to_value()).map(Cow::Owned)
        }
    }
}

impl StepResult {
    /// The result as the format writes it: `{changed, state, final, effects, errors, entered, exited, transitions}`.
    pub fn to_value(&self) -> Value {
        let names = |names: &[Str]| Value::Array(names.iter().cloned().map(Value::String).collect());
        let errors = self.errors.iter().map(|error| {
            let members = [
                ("code", Value::from(error.code())),
                ("docPath", Value::from(error.pointer().to_string())),
                ("message", Value::from(error.reason())),
            ];
            Value::Object(members.into_iter().collect())
        });
        let transitions = self.transitions.iter().map(|index| snapshot::number(*index as u64));
        let members = [
            ("changed", Value::Bool(self.changed)),
            ("state", self.state.to_value()),
            ("final", Value::Bool(self.is_final)),
            ("effects", Value::Array(self.effects.iter().map(Effect::to_value).collect())),
            ("errors", Value::Array(errors.collect())),
            ("entered", names(&self.entered)),
            ("exited", names(&self.exited)),
            ("transitions", Value::Array(transitions.collect())),
        ];
        Value::Object(members.into_iter().collect())
    }
}
