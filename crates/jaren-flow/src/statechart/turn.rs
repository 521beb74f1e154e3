//! One call of a chart: selecting transitions, firing them as microsteps, and settling (statechart format,
//! section 2). Its cost follows the active states, not the number of states.

use std::collections::BTreeMap;
use std::sync::Arc;

use jaren_json::{Diagnostic, Value};
use jaren_query::Scope;

use super::StepResult;
use super::configuration::{fill, is_final, leaves, resolve_conflicts};
use super::plan::{Kind, Plan, State, StateId, Transition};
use super::read::Trigger;
use super::snapshot::{Control, SAFE_INTEGER_MAX, Snapshot, Timer, sort};
use crate::document::statechart::HistoryType;
use crate::effect::{Effect, EffectPlan};
use crate::error::FlowError;
use crate::given::Given;

/// What makes transitions fire in one microstep.
#[derive(Clone, Copy)]
enum Cause<'a> {
    Event(&'a str),
    Timer(usize),
    Automatic,
}

/// Which of the due timers one call consumes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    All,
    /// At most one.
    First,
}

/// What guards and effects read besides the configuration.
struct Parts<'a> {
    event: Value,
    payload: &'a Value,
    context: &'a Value,
}

impl<'a> Parts<'a> {
    fn new(event: Value, given: &Given<'a>) -> Self {
        const NULL: &Value = &Value::Null;
        Self { event, payload: given.payload.unwrap_or(NULL), context: given.context.unwrap_or(NULL) }
    }
}

/// The work of one call, on its own copy of the control.
pub(super) struct Turn<'p> {
    plan: &'p Arc<Plan>,
    control: Control,
    effects: Vec<Effect>,
    errors: Vec<Diagnostic>,
    entered: Vec<StateId>,
    exited: Vec<StateId>,
    fired: Vec<usize>,
    microsteps: u64,
    /// Those of the microsteps that consumed a timer.
    timers: u64,
}

impl<'p> Turn<'p> {
    fn new(plan: &'p Arc<Plan>, control: Control) -> Self {
        Self {
            plan,
            control,
            effects: Vec::new(),
            errors: Vec::new(),
            entered: Vec::new(),
            exited: Vec::new(),
            fired: Vec::new(),
            microsteps: 0,
            timers: 0,
        }
    }

    /// Enters the initial configuration.
    pub(super) fn start(
        plan: &'p Arc<Plan>,
        now: Option<f64>,
        given: &Given<'_>,
    ) -> Result<StepResult, FlowError> {
        let time = time(None, now)?;
        let active = fill(plan, &[plan.initial]).active;
        let leaves = leaves(plan, &active);
        let leaf_ids = plan.leaf_ids(&leaves);
        let control = Control {
            leaves,
            history: BTreeMap::new(),
            timers: Vec::new(),
            serial: 0,
            time,
            extra: jaren_json::Object::default(),
            leaf_ids,
            is_legal: true,
        };
        let mut turn = Self::new(plan, control);
        let parts = Parts::new(Value::Null, given);
        turn.within(&parts, |turn, scope| {
            for id in &active {
                turn.resolve(&turn.plan.state(*id).entry, scope);
            }
        });
        turn.schedule(&active)?;
        turn.entered = active;
        turn.settle(&parts)?;
        Ok(turn.finish())
    }

    /// Delivers one external event.
    pub(super) fn step(
        plan: &'p Arc<Plan>,
        control: &Control,
        event: &str,
        now: Option<f64>,
        given: &Given<'_>,
    ) -> Result<StepResult, FlowError> {
        let mut turn = Self::new(plan, control.clone());
        turn.control.time = time(Some(control.time), now)?;
        let parts = Parts::new(Value::from(event), given);
        turn.fire(Cause::Event(event), &parts)?;
        turn.microsteps = 1;
        turn.settle(&parts)?;
        Ok(turn.finish())
    }

    /// Consumes timers that are due at `now`.
    pub(super) fn advance(
        plan: &'p Arc<Plan>,
        control: &Control,
        now: f64,
        due: Due,
        given: &Given<'_>,
    ) -> Result<StepResult, FlowError> {
        let until = time(Some(control.time), Some(now))?;
        let mut turn = Self::new(plan, control.clone());
        let parts = Parts::new(Value::Null, given);
        let mut consumed = false;
        while turn.control.timers.first().is_some_and(|timer| timer.at <= until)
            && (due == Due::All || !consumed)
        {
            let timer = turn.control.timers.remove(0);
            consumed = true;
            turn.timers += 1;
            turn.count()?;
            turn.control.time = turn.control.time.max(timer.at);
            turn.fire(Cause::Timer(timer.transition), &parts)?;
            turn.settle(&parts)?;
        }
        // One at a time, the clock stays at the instant of the timer that fired.
        if due == Due::All || !consumed {
            turn.control.time = until;
        }
        Ok(turn.finish())
    }

    fn finish(self) -> StepResult {
        let Self { plan, control, effects, errors, entered, exited, fired, microsteps: _, timers: _ } = self;
        StepResult {
            changed: !fired.is_empty(),
            is_final: is_final(plan, &control.leaves),
            effects,
            errors,
            entered: plan.names(&entered),
            exited: plan.names(&exited),
            transitions: fired,
            state: Snapshot::new(plan, control),
        }
    }

    /// Lends `work` the scope of the configuration as it is now.
    fn within<T>(&mut self, parts: &Parts<'_>, work: impl FnOnce(&mut Self, &Scope<'_>) -> T) -> T {
        let state = self.control.leaf_ids.clone();
        let members = [
            ("state", &state),
            ("event", &parts.event),
            ("payload", parts.payload),
            ("context", parts.context),
        ];
        work(self, &Scope::record(&members))
    }

    fn resolve(&mut self, effects: &[EffectPlan], scope: &Scope<'_>) {
        for effect in effects {
            effect.resolve(scope, &mut self.effects, &mut self.errors);
        }
    }

    fn count(&mut self) -> Result<(), FlowError> {
        self.microsteps += 1;
        let max = self.plan.microsteps_max.get();
        if self.microsteps <= max {
            return Ok(());
        }
        // A long time without a call is no mistake of the chart.
        Err(FlowError::new(
            "JF2012",
            if self.timers > 1 {
                format!(
                    "more than {max} microsteps in one call, {} timers that were due among them: fire these one by one \
                     (advance_one), or move time in smaller steps",
                    self.timers
                )
            } else {
                format!("more than {max} automatic microsteps in one call: the chart does not settle")
            },
        ))
    }

    /// Selects and fires once; whether anything fired.
    fn fire(&mut self, cause: Cause<'_>, parts: &Parts<'_>) -> Result<bool, FlowError> {
        let entered = self.within(parts, |turn, scope| -> Result<_, FlowError> {
            let selected = turn.select(cause, scope);
            if selected.is_empty() {
                return Ok(None);
            }
            // An event counts once whether or not it fires, and a timer when it is consumed.
            if matches!(cause, Cause::Automatic) {
                turn.count()?;
            }
            Ok(Some(turn.microstep(selected, scope)))
        })?;
        let Some(entered) = entered else { return Ok(false) };
        self.schedule(&entered)?;
        append(&mut self.entered, entered);
        Ok(true)
    }

    /// Fires completion and `always` transitions until none is enabled.
    fn settle(&mut self, parts: &Parts<'_>) -> Result<(), FlowError> {
        while self.plan.is_automatic && self.fire(Cause::Automatic, parts)? {}
        Ok(())
    }

    /// The transitions that fire together, in document order.
    fn select(&mut self, cause: Cause<'_>, scope: &Scope<'_>) -> Vec<usize> {
        if let Cause::Timer(index) = cause {
            let fires = self.holds(self.plan.transition(index), scope);
            return if fires { vec![index] } else { Vec::new() };
        }
        let plan = self.plan;
        let leaves = std::mem::take(&mut self.control.leaves);
        // What a source came to that holds the next leaf too, so that its guards are evaluated once.
        let mut scanned: BTreeMap<StateId, bool> = BTreeMap::new();
        let mut enabled = Vec::new();
        for (position, leaf) in leaves.iter().enumerate() {
            let is_shared =
                |source| leaves.get(position + 1).is_some_and(|next| plan.is_within(*next, source));
            for source in plan.lineage(*leaf) {
                let found = scanned.get(&source).copied().unwrap_or_else(|| {
                    let first = self.first_enabled(plan.state(source), cause, &leaves, scope);
                    enabled.extend(first);
                    if is_shared(source) {
                        scanned.insert(source, first.is_some());
                    }
                    first.is_some()
                });
                if found {
                    break;
                }
            }
        }
        self.control.leaves = leaves;
        resolve_conflicts(plan, enabled)
    }

    /// A source's first transition in document order that the cause matches and whose guard holds.
    fn first_enabled(
        &mut self,
        source: &State,
        cause: Cause<'_>,
        leaves: &[StateId],
        scope: &Scope<'_>,
    ) -> Option<usize> {
        let plan = self.plan;
        let candidates = match cause {
            Cause::Event(_) => &source.on_event,
            Cause::Automatic => &source.automatic,
            Cause::Timer(_) => return None,
        };
        candidates.iter().copied().find(|index| {
            let transition = plan.transition(*index);
            let matches = match (&transition.trigger, cause) {
                (Trigger::Any | Trigger::Always, _) => true,
                (Trigger::Event(name), Cause::Event(event)) => **name == *event,
                (Trigger::Done, _) => plan.is_complete(transition.from, leaves),
                (Trigger::Event(_) | Trigger::After(_), _) => false,
            };
            matches && self.holds(transition, scope)
        })
    }

    fn holds(&mut self, transition: &Transition, scope: &Scope<'_>) -> bool {
        transition.guard.as_ref().is_none_or(|guard| guard.holds(scope, &mut self.errors))
    }

    /// Fires the selected transitions together; the states that were entered.
    fn microstep(&mut self, selected: Vec<usize>, scope: &Scope<'_>) -> Vec<StateId> {
        let plan = self.plan;
        let active = &*plan.closure(&self.control.leaves);
        let transitions = || selected.iter().map(|index| plan.transition(*index));
        // Transitions that fire together exit disjoint parts of the tree.
        let mut exiting: Vec<StateId> =
            transitions().flat_map(|transition| plan.below(active, transition.domain)).copied().collect();
        exiting.sort_unstable();
        self.remember(&exiting, active);
        for id in exiting.iter().rev() {
            self.resolve(&plan.state(*id).exit, scope);
        }
        self.control
            .timers
            .retain(|timer| exiting.binary_search(&plan.transition(timer.transition).from).is_err());
        for transition in transitions() {
            self.resolve(&transition.effects, scope);
        }
        let stays = |id: &StateId| exiting.binary_search(id).is_err();
        let mut seeds: Vec<StateId> = self.control.leaves.iter().copied().filter(stays).collect();
        for transition in transitions() {
            self.target(transition.to, &mut seeds);
        }
        seeds.sort_unstable();
        let filled = fill(plan, &seeds);
        let was = |id: &StateId| active.binary_search(id).is_ok() && stays(id);
        let entered: Vec<StateId> = filled.active.iter().copied().filter(|id| !was(id)).collect();
        self.control.leaves = leaves(plan, &filled.active);
        self.control.is_legal = filled.is_legal;
        self.control.leaf_ids = plan.leaf_ids(&self.control.leaves);
        for id in &entered {
            self.resolve(&plan.state(*id).entry, scope);
        }
        exiting.reverse();
        append(&mut self.exited, exiting);
        append(&mut self.fired, selected);
        entered
    }

    /// Records what is active below each exiting state for its history children (section 3).
    fn remember(&mut self, exiting: &[StateId], active: &[StateId]) {
        let plan = self.plan;
        for id in exiting {
            let state = plan.state(*id);
            for history in &state.histories {
                let record = if plan.state(*history).kind == Kind::History(HistoryType::Deep) {
                    plan.below(&self.control.leaves, Some(*id)).to_vec()
                } else {
                    let is_active = |child: &StateId| active.binary_search(child).is_ok();
                    state.children.iter().copied().filter(is_active).collect()
                };
                self.control.history.insert(*history, record);
            }
        }
    }

    /// The ordinary states that a target stands for.
    fn target(&self, to: StateId, seeds: &mut Vec<StateId>) {
        let state = self.plan.state(to);
        match (state.kind, self.control.history.get(&to), state.parent) {
            (Kind::History(_), Some(remembered), _) => seeds.extend(remembered),
            (Kind::History(_), None, Some(parent)) => seeds.push(parent),
            _ => seeds.push(to),
        }
    }

    /// Starts the delays of the states that were entered (section 4).
    fn schedule(&mut self, entered: &[StateId]) -> Result<(), FlowError> {
        let plan = self.plan;
        let before = self.control.timers.len();
        for index in entered.iter().flat_map(|id| &plan.state(*id).delayed) {
            let Trigger::After(after) = plan.transition(*index).trigger else { continue };
            let at = self.control.time + after;
            if !at.is_finite() || self.control.serial >= SAFE_INTEGER_MAX {
                let reason = "the deadline or the token of a timer is out of range";
                return Err(FlowError::new("JF2011", reason));
            }
            self.control.serial += 1;
            self.control.timers.push(Timer { transition: *index, at, token: self.control.serial });
        }
        if self.control.timers.len() > before {
            sort(&mut self.control.timers);
        }
        Ok(())
    }
}

/// Most calls make one microstep: its list is taken as it is.
fn append<T>(list: &mut Vec<T>, more: Vec<T>) {
    if list.is_empty() {
        *list = more;
    } else {
        list.extend(more);
    }
}

/// The time of a call: finite and never before the snapshot's; the snapshot's when none is given.
pub(super) fn time(then: Option<f64>, now: Option<f64>) -> Result<f64, FlowError> {
    let now = now.or(then).unwrap_or(0.0);
    if now.is_finite() && then.is_none_or(|then| now >= then) {
        Ok(now)
    } else {
        Err(FlowError::new("JF2011", "the time must be a number and cannot move backwards"))
    }
}
