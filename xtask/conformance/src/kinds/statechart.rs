//! STATECHART-FORMAT: `{"document", "maxMicrosteps"?, "expect", "script"?}`.

mod session;

use std::num::NonZeroU64;

use jaren_flow::statechart::{Snapshot, Statechart, StepResult};
use jaren_flow::{CompileOptions, Effect, FlowError, Given};
use jaren_json::{Array, ObjectBuilder, Str, Value, value};

use crate::answer::{Rules, count, same};
use crate::case::Case;
use crate::errors;
use crate::kind::Outcome;
use crate::script::{self, text};
use session::CaseSession;

pub(crate) fn run(case: &Case) -> Outcome {
    let expected = case.need("expect")?;
    if case.refused.is_some() {
        return case.refused_as_expected();
    }
    let chart = match Statechart::compile_with(case.need("document")?, &options(case)) {
        Ok(chart) => chart,
        Err(report) => return same(expected, &value!({ "error": (errors::report(&report)) }), Rules::EXACT),
    };
    let states = chart.states().map(Value::from).collect::<Array>();
    same(expected, &value!({ "ok": { "states": states } }), Rules::EXACT)?;
    let mut script = Script { chart, current: None, session: None };
    script::run(case, |step| script.answer(step))
}

fn options(case: &Case) -> CompileOptions {
    let bound = case.get("maxMicrosteps").and_then(Value::as_u64).and_then(NonZeroU64::new);
    bound.map_or_else(CompileOptions::new, |max| CompileOptions::new().with_microsteps_max(max))
}

/// What a script works on.
struct Script {
    chart: Statechart,
    current: Option<Snapshot>,
    session: Option<CaseSession>,
}

impl Script {
    /// What the crate answers to one step, in the form of the step's `expect`.
    fn answer(&mut self, step: &Value) -> Result<Value, String> {
        if step.get("event").is_some_and(|event| event.as_str().is_none()) {
            // Our types take no other event than a string.
            return Ok(value!({ "error": { "code": "JF2002" } }));
        }
        let answer = match text(step, "op") {
            "start" => self.chart.start(now(step), &given(step)).map(|done| self.keep(done)),
            "step" => self.step(step),
            "advance" => self.advance(step),
            "restore" => self.restore(step),
            "events" => self.snapshot(step).and_then(|state| {
                Ok(Value::Array(self.chart.events(&state)?.into_iter().collect::<Array>()))
            }),
            "final" => self.snapshot(step).and_then(|state| Ok(Value::Bool(self.chart.is_final(&state)?))),
            "session" => return self.open_session(step),
            _ => return self.session.as_mut().ok_or("no session is open")?.answer(step),
        };
        Ok(answer.unwrap_or_else(|error| value!({ "error": (errors::flow(&error)) })))
    }

    fn step(&mut self, step: &Value) -> Result<Value, FlowError> {
        let state = self.snapshot(step)?;
        Ok(self.keep(self.chart.step(&state, text(step, "event"), now(step), &given(step))?))
    }

    fn advance(&mut self, step: &Value) -> Result<Value, FlowError> {
        let state = self.snapshot(step)?;
        let now = now(step).unwrap_or_else(|| state.time());
        let one = step.get("one").and_then(Value::as_bool) == Some(true);
        let done = if one {
            self.chart.advance_one(&state, now, &given(step))
        } else {
            self.chart.advance(&state, now, &given(step))
        };
        Ok(self.keep(done?))
    }

    fn restore(&mut self, step: &Value) -> Result<Value, FlowError> {
        let state = self.chart.restore(step.get("state").unwrap_or(&Value::Null))?;
        let shown = state.to_value();
        self.current = Some(state);
        Ok(value!({ "state": shown }))
    }

    fn open_session(&mut self, step: &Value) -> Result<Value, String> {
        let (session, answer) = CaseSession::open(&self.chart, step)?;
        self.session = session;
        Ok(answer)
    }

    /// The snapshot that a step names, or the current one.
    fn snapshot(&self, step: &Value) -> Result<Snapshot, FlowError> {
        match (step.get("state"), &self.current) {
            (None, Some(current)) => Ok(current.clone()),
            (state, _) => self.chart.restore(state.unwrap_or(&Value::Null)),
        }
    }

    fn keep(&mut self, done: StepResult) -> Value {
        let shown = shown(&done);
        self.current = Some(done.state);
        shown
    }
}

/// A step's result as a case writes it: errors without their messages.
fn shown(done: &StepResult) -> Value {
    let names = |names: &[Str]| names.iter().map(Value::from).collect::<Array>();
    let mut members = ObjectBuilder::new();
    members.insert("changed", done.changed);
    members.insert("state", done.state.to_value());
    members.insert("final", done.is_final);
    members.insert("effects", done.effects.iter().map(Effect::to_value).collect::<Array>());
    members.insert("errors", errors::recorded(&done.errors));
    members.insert("entered", names(&done.entered));
    members.insert("exited", names(&done.exited));
    members
        .insert("transitions", done.transitions.iter().map(|&index| count(index as u64)).collect::<Array>());
    Value::Object(members.build())
}

/// The time of a step. Our types take none that is no number: not-a-number is the nearest mistake that they let a caller
/// make.
fn now(step: &Value) -> Option<f64> {
    match step.get("now") {
        None | Some(Value::Null) => None,
        Some(now) => Some(now.as_f64().unwrap_or(f64::NAN)),
    }
}

/// What a step gives to the call.
fn given(step: &Value) -> Given<'_> {
    Given { payload: step.get("payload"), context: step.get("context") }
}
