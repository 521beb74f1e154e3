//! FLOW-FORMAT machines: `{"document", "expect", "script"?}`.

use jaren_flow::machine::{Machine, Session, State, StateStore, StepResult};
use jaren_flow::{Effect, Given, SessionError};
use jaren_json::{Array, Object, Value, value};

use crate::answer::{Rules, same};
use crate::case::Case;
use crate::errors;
use crate::kind::Outcome;
use crate::script::{self, text};

pub(crate) fn run(case: &Case) -> Outcome {
    let expected = case.need("expect")?;
    if case.refused.is_some() {
        return case.refused_as_expected();
    }
    let machine = match Machine::compile(case.need("document")?) {
        Ok(machine) => machine,
        Err(report) => return same(expected, &value!({ "error": (errors::report(&report)) }), Rules::EXACT),
    };
    same(expected, &value!({ "ok": (compiled(&machine, expected)) }), Rules::EXACT)?;
    let mut script = Script { machine, session: None };
    script::run(case, |step| script.answer(step))
}

/// `{initial, states, events?, final?}`, the last two where the case tells them.
fn compiled(machine: &Machine, expected: &Value) -> Object {
    let mut found = Object::default()
        .with("initial", machine.initial().map(Value::from).unwrap_or_default())
        .with("states", machine.states().map(Value::from).collect::<Array>());
    let told = |member: &str| expected.get("ok").and_then(|ok| ok.get(member)).is_some();
    if told("events") {
        let of = |state: State<'_>| (state.id().clone(), state.events().map(Value::from).collect::<Array>());
        found = found.with("events", machine.states().map(of).collect::<Object>());
    }
    if told("final") {
        let of = |state: State<'_>| (state.id().clone(), state.is_final());
        found = found.with("final", machine.states().map(of).collect::<Object>());
    }
    found
}

/// What a script works on.
struct Script {
    machine: Machine,
    session: Option<Session<CaseStore>>,
}

impl Script {
    /// What the crate answers to one step, in the form of the step's `expect`.
    fn answer(&mut self, step: &Value) -> Result<Value, String> {
        if let Some(refused) = self.refused(step) {
            return Ok(refused);
        }
        let state = text(step, "state");
        let answer = match text(step, "op") {
            "step" => {
                self.machine.step(state, text(step, "event"), &arguments(step)).map(|done| shown(&done))
            }
            "events" => self.machine.events(state).map(|names| names.into_iter().collect::<Value>()),
            "final" => self.machine.is_final(state).map(Value::Bool),
            "session" | "durable" | "resume" => return Ok(self.open(step)),
            _ => {
                let session = self.session.as_mut().ok_or("no session is open")?;
                return on_session(session, step).map(|answer| answer.unwrap_or_else(|error| failed(&error)));
            }
        };
        Ok(answer.unwrap_or_else(|error| value!({ "error": (errors::flow(&error)) })))
    }

    /// The answer to what our types do not let a caller give: a state or an event that is no string, a snapshot without
    /// a state. An undeclared state comes before an event of the wrong type.
    fn refused(&self, step: &Value) -> Option<Value> {
        let no_string = |member: &str| step.get(member).is_some_and(|given| given.as_str().is_none());
        if no_string("state") {
            return Some(value!({ "error": { "code": "JF2001" } }));
        }
        if no_string("event") {
            let known = text(step, "op") != "step" || self.machine.is_final(text(step, "state")).is_ok();
            return Some(value!({ "error": { "code": (if known { "JF2002" } else { "JF2001" }) } }));
        }
        let state = step.get("snapshot").and_then(|snapshot| snapshot.get("state")).and_then(Value::as_str);
        (step.get("snapshot").is_some() && state.is_none()).then(|| value!({ "error": { "host": true } }))
    }

    fn open(&mut self, step: &Value) -> Value {
        let snapshot = step.get("snapshot").and_then(|snapshot| snapshot.get("state"));
        let start = step.get("start").or(snapshot).and_then(Value::as_str);
        match Session::open(self.machine.clone(), start, CaseStore::of(step)) {
            Ok(session) => {
                let shown = current(&session);
                self.session = Some(session);
                shown
            }
            Err(error) => failed(&error),
        }
    }
}

fn on_session(
    session: &mut Session<CaseStore>,
    step: &Value,
) -> Result<Result<Value, SessionError<Refused>>, String> {
    let event = text(step, "event");
    Ok(match text(step, "op") {
        "state" => Ok(current(session)),
        "snapshot" => Ok(value!({ "state": (session.state()) })),
        "saved" => Ok(session.store().saved.iter().map(|state| Value::from(state.as_str())).collect()),
        "send" => session.send(event, &arguments(step)).map(|done| shown(&done)),
        "can" => Ok(Value::Bool(session.can(event, &arguments(step)))),
        other => return Err(format!("the script has the unknown step `{other}`")),
    })
}

/// A store as a step describes it: what it has, and which of its saves fail.
#[derive(Debug, Default)]
struct CaseStore {
    load: Option<String>,
    fail_saves: Vec<u64>,
    saves: u64,
    saved: Vec<String>,
}

/// The store failed as the case told it to.
#[derive(Debug)]
struct Refused;

impl CaseStore {
    fn of(step: &Value) -> Self {
        let fails = step.get("failSaves").and_then(Value::as_array);
        Self {
            load: step.get("load").and_then(Value::as_str).map(ToOwned::to_owned),
            fail_saves: fails.into_iter().flatten().filter_map(Value::as_u64).collect(),
            ..Self::default()
        }
    }
}

impl StateStore for CaseStore {
    type Error = Refused;

    fn load(&mut self) -> Result<Option<String>, Refused> {
        Ok(self.load.clone())
    }

    fn save(&mut self, state: &str) -> Result<(), Refused> {
        self.saves += 1;
        if self.fail_saves.contains(&self.saves) {
            return Err(Refused);
        }
        self.saved.push(state.to_owned());
        Ok(())
    }
}

fn current(session: &Session<CaseStore>) -> Value {
    value!({ "state": (session.state()), "done": (session.is_done()) })
}

fn shown(done: &StepResult<'_>) -> Value {
    value!({
        "changed": (done.changed),
        "state": (done.state),
        "effects": (done.effects.iter().map(Effect::to_value).collect::<Array>()),
        "final": (done.is_final),
        "errors": (errors::recorded(&done.errors)),
    })
}

fn failed(error: &SessionError<Refused>) -> Value {
    match error {
        SessionError::Flow(error) => value!({ "error": (errors::flow(error)) }),
        SessionError::Store(Refused) => value!({ "error": { "host": true } }),
    }
}

fn arguments(step: &Value) -> Given<'_> {
    Given { payload: step.get("payload"), context: step.get("context") }
}
