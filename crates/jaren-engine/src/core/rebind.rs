//! A saved run under another workflow: what was saved is carried over where it still fits, and refused by name where
//! it does not.

use jaren_flow::workflow::Workflow;
use jaren_json::{Object, Str, Value};

use super::activation::Activation;
use super::error::RunError;
use super::run::RunState;
use super::snapshot::{Snapshot, SnapshotStatus};
use crate::numbers::count;

/// Why a saved run does not fit another workflow.
#[derive(Debug)]
pub(crate) struct Unfit {
    /// The qualified state that it is about, where it is about one.
    pub(crate) state: Option<Str>,
    /// What does not fit.
    pub(crate) what: String,
}

impl Unfit {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Unfit { state: None, what: what.into() }
    }

    fn at(state: &str, what: impl Into<String>) -> Self {
        Unfit { state: Some(Str::from(state)), what: what.into() }
    }

    fn from_run(error: &RunError) -> Self {
        Unfit { state: error.state().map(Str::from), what: error.reason().to_owned() }
    }
}

impl RunState {
    /// The snapshot of a run that was saved under `from`, bound to `to`: one generation on, with the same
    /// state, data, results and visits. An activation that is not finished goes on with what it has if its work and its
    /// input are the same; `starting_over` drops it instead, so that the state is admitted anew, in the same visit.
    pub(crate) fn rebind(
        from: &Workflow,
        to: &Workflow,
        run: &str,
        stored: &Value,
        starting_over: bool,
    ) -> Result<Snapshot, Unfit> {
        let saved = Saved::read(stored).ok_or_else(|| Unfit::new("the saved snapshot is malformed"))?;
        check_state(from, to, saved.active)?;
        check_records(to, &saved)?;
        let control = control(from, to, &saved)?;
        let pending = match saved.pending.filter(|_| !starting_over) {
            None => Value::Null,
            Some(pending) => saved.carried_over(from, to, run, &control, pending)?,
        };
        let rebound = saved.top.with("identity", to.identity()).with("control", control);
        let rebound = rebound.with("pending", pending).with("generation", count(saved.generation + 1));
        let rebound = Value::Object(rebound);
        let input = saved.context.get("input").cloned().unwrap_or_default();
        match RunState::restore(to.clone(), run, &rebound, &input) {
            Ok(state) => Ok(state.snapshot().clone()),
            Err(error) => Err(Unfit::from_run(&error)),
        }
    }
}

/// What is needed of a saved run. Whether it is sound is checked when all of it is put together.
struct Saved<'a> {
    top: &'a Object,
    context: &'a Object,
    control: &'a Object,
    timers: &'a [Value],
    active: &'a str,
    pending: Option<&'a Object>,
    generation: u64,
}

impl<'a> Saved<'a> {
    fn read(stored: &'a Value) -> Option<Self> {
        let top = stored.as_object()?;
        let control = top.get("control")?.as_object()?;
        Some(Saved {
            top,
            context: top.get("context")?.as_object()?,
            control,
            timers: control.get("timers")?.as_array()?,
            active: control.get("active")?.at(0)?.as_str()?,
            pending: top.get("pending")?.as_object(),
            generation: top.get("generation")?.as_u64()?,
        })
    }

    fn records(&self, name: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let records = self.context.get(name).and_then(Value::as_object);
        records.into_iter().flat_map(Object::iter)
    }

    /// The unfinished activation under the other workflow.
    fn carried_over(
        &self,
        from: &Workflow,
        to: &Workflow,
        run: &str,
        control: &Object,
        pending: &Object,
    ) -> Result<Value, Unfit> {
        const HINT: &str = "start the state over, or keep its document as it was";
        let state = self.active;
        let input = self.input(to, run, control)?;
        let before = match pending.get("input") {
            Some(input) => input.clone(),
            None => self.input(from, run, self.control)?,
        };
        if input != before {
            let what = format!("the work under way has another input in the new document; {HINT}");
            return Err(Unfit::at(state, what));
        }
        let values = pending.get("values").and_then(Value::as_object);
        let has_values = values.is_some_and(|values| !values.is_empty()) || pending.contains_key("result");
        let same = from.lowered().dags().get(state) == to.lowered().dags().get(state)
            && self.versions(state) == versions(to.task_versions(), state);
        if has_values && !same {
            let what =
                format!("values of the work under way are saved, which differs in the new document; {HINT}");
            return Err(Unfit::at(state, what));
        }
        let carried = pending.without("input").with("input", &input);
        if !same || !pending.contains_key("identity") {
            return Ok(Value::Object(carried.without("identity")));
        }
        let identity = to.dag_identity(state, &input);
        let identity = identity.map_err(|error| Unfit::at(state, error.reason()))?;
        Ok(Value::Object(carried.with("identity", identity)))
    }

    /// The input of the active state's work.
    fn input(&self, workflow: &Workflow, run: &str, control: &Object) -> Result<Value, Unfit> {
        let state = self.active;
        let unfit = |error: &RunError| Unfit::at(state, error.reason());
        let control = workflow.chart().restore(&Value::Object(control.clone()));
        let control = control.map_err(|error| unfit(&RunError::from_flow(error)))?;
        let top = self.top.clone();
        let snapshot =
            Snapshot::checked(top, self.context, control, None, self.generation, SnapshotStatus::Running);
        let visit = snapshot.visits(state);
        Activation { run, state, visit }.input(workflow, &snapshot).map_err(|error| unfit(&error))
    }

    /// The task versions of a state, as the run was saved with them.
    fn versions(&self, state: &str) -> Vec<(&'a str, &'a Value)> {
        let identity = self.top.get("identity").and_then(|identity| identity.get("taskVersions"));
        identity.and_then(Value::as_object).map_or_else(Vec::new, |all| versions(all, state))
    }
}

/// The task versions that belong to a state.
fn versions<'a>(all: &'a Object, state: &str) -> Vec<(&'a str, &'a Value)> {
    let of_state = |path: &str| path.strip_prefix(state).is_some_and(|rest| rest.starts_with('/'));
    all.iter().filter(|(path, _)| of_state(path)).collect()
}

/// The state that the run is in is there, and of the same kind.
fn check_state(from: &Workflow, to: &Workflow, active: &str) -> Result<(), Unfit> {
    match (from.form(active), to.form(active)) {
        (_, None) => Err(Unfit::at(active, "the run is in a state that the new document does not have")),
        (Some(was), Some(is)) if was != is => {
            let what = format!(
                "the run is in a state of the form {:?}, which has the form {:?} now",
                was.name(),
                is.name()
            );
            Err(Unfit::at(active, what))
        }
        _ => Ok(()),
    }
}

/// Every state that the run has entered, or has a result of, is there.
fn check_records(to: &Workflow, saved: &Saved<'_>) -> Result<(), Unfit> {
    for (state, visits) in saved.records("visits") {
        if to.form(state).is_none() {
            return Err(Unfit::at(state, "the run has entered a state that the new document does not have"));
        }
        let visits = visits.as_u64().unwrap_or(0);
        if let Some(limit) = to.limit(state).filter(|limit| visits > *limit) {
            let what = format!("the run has entered it {visits} times, and its limit is {limit} now");
            return Err(Unfit::at(state, what));
        }
    }
    match saved.records("results").find(|(state, _)| to.dag(state).is_none()) {
        Some((state, _)) => Err(Unfit::at(state, "the run has a result of it, and it does no work now")),
        None => Ok(()),
    }
}

/// The control, with the deadline of the wait that the run rests in as if it had been entered under the new document.
/// Only waits have one, and each has at most one.
fn control(from: &Workflow, to: &Workflow, saved: &Saved<'_>) -> Result<Object, Unfit> {
    let number = |of: Option<&Value>| of.and_then(Value::as_f64).unwrap_or_default();
    let control = saved.control.clone();
    let Some((transition, delay)) = delay_of(to, saved.active) else {
        return Ok(control.with("timers", Value::from([] as [Value; 0])));
    };
    let (at, token, control) = if let Some(timer) = saved.timers.first() {
        let at = number(timer.get("at"));
        let before = delay_of(from, saved.active).map_or(delay, |(_, delay)| delay);
        // The same delay leaves it exactly where it was.
        #[expect(clippy::float_cmp, reason = "two documents write the same number")]
        let at = if before == delay { at } else { at - before + delay };
        (at, timer.get("token").cloned().unwrap_or_default(), control)
    } else {
        let entered = number(control.get("time"));
        let serial = count(control.get("serial").and_then(Value::as_u64).unwrap_or_default() + 1);
        (entered + delay, serial.clone(), control.with("serial", serial))
    };
    if !at.is_finite() {
        return Err(Unfit::at(saved.active, "the deadline of the wait would be out of range"));
    }
    let members = [("transition", count(transition as u64)), ("at", Value::Number(at)), ("token", token)];
    Ok(control.with("timers", Value::from([Value::Object(members.into_iter().collect())])))
}

/// The transition of a wait's delay, by its index in the lowered statechart, and the delay.
fn delay_of(workflow: &Workflow, state: &str) -> Option<(usize, f64)> {
    let transitions = workflow.lowered().fsm().get("transitions")?.as_array()?;
    transitions.iter().enumerate().find_map(|(index, transition)| {
        let of_state = transition.get("from").and_then(Value::as_str) == Some(state);
        Some((index, transition.get("after").filter(|_| of_state)?.as_f64()?))
    })
}
