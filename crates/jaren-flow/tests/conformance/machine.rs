//! The machine cases: compile, scripts of pure steps, sessions and durable sessions.

use crate::corpus::{check, decode, equal, same_defect, text};
use jaren_flow::machine::{Machine, Session, StateStore, Step, StepResult};
use jaren_flow::{Effect, FlowError, SessionError};
use jaren_json::{Diagnostic, Value, value};

/// The store of a durable session: fails the n-th save for each n of `failSaves`.
#[derive(Debug, Default)]
struct Store {
    loads: Option<String>,
    fails: Vec<f64>,
    saves: f64,
    saved: Vec<String>,
}

impl StateStore for Store {
    type Error = &'static str;

    fn load(&mut self) -> Result<Option<String>, Self::Error> {
        Ok(self.loads.clone())
    }

    fn save(&mut self, state: &str) -> Result<(), Self::Error> {
        self.saves += 1.0;
        if self.fails.contains(&self.saves) {
            return Err("the store fails");
        }
        self.saved.push(state.to_owned());
        Ok(())
    }
}

enum Refusal {
    Code(&'static str),
    Host,
}

impl From<FlowError> for Refusal {
    fn from(error: FlowError) -> Self {
        Self::Code(error.code())
    }
}

impl From<SessionError<&'static str>> for Refusal {
    fn from(error: SessionError<&'static str>) -> Self {
        match error {
            SessionError::Flow(error) => error.into(),
            SessionError::Store(_) => Self::Host,
        }
    }
}

fn answer(result: &StepResult) -> Value {
    let error =
        |error: &Diagnostic| value!({ "code": (error.code()), "docPath": (error.pointer().as_str()) });
    value!({
        "changed": (result.changed),
        "state": (&result.state),
        "effects": (result.effects.iter().map(Effect::to_value).collect::<Value>()),
        "final": (result.is_final),
        "errors": (result.errors.iter().map(error).collect::<Value>())
    })
}

fn run_op(machine: &Machine, session: &mut Option<Session<Store>>, op: &Value) -> Result<Value, Refusal> {
    let step = Step { payload: op.get("payload"), context: op.get("context") };
    // Types rule out here a state or an event that is no string.
    let state = || op.get("state").and_then(Value::as_str).ok_or(Refusal::Code("JF2001"));
    let event = || op.get("event").and_then(Value::as_str).ok_or(Refusal::Code("JF2002"));
    let start = match text(op, "op") {
        "step" => {
            machine.is_final(state()?)?;
            return Ok(answer(&machine.step(state()?, event()?, &step)?));
        }
        "events" => return Ok(machine.events(state()?)?.into_iter().collect()),
        "final" => return Ok(machine.is_final(state()?)?.into()),
        "session" => op.get("start").cloned(),
        "resume" => {
            let snapshot = op.get("snapshot").and_then(|snapshot| snapshot.get("state"));
            Some(snapshot.filter(|state| state.as_str().is_some()).ok_or(Refusal::Host)?.clone())
        }
        "durable" => None,
        other => {
            let held = session.as_mut().expect("a script opens a session before it acts on it");
            return Ok(match other {
                "send" => answer(&held.send(event()?, &step)?),
                "can" => held.can(event()?, &step)?.into(),
                "state" => value!({ "state": (held.state()), "done": (held.is_done()) }),
                "snapshot" => value!({ "state": (held.state()) }),
                "saved" => held.store().saved.clone().into(),
                other => panic!("unknown op {other}"),
            });
        }
    };
    let store = Store {
        loads: op.get("load").and_then(Value::as_str).map(str::to_owned),
        fails: op
            .get("failSaves")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect(),
        ..Store::default()
    };
    let opened = Session::open(machine.clone(), start.as_ref().and_then(Value::as_str), store)?;
    let answer = value!({ "state": (opened.state()), "done": (opened.is_done()) });
    *session = Some(opened);
    Ok(answer)
}

fn run(case: &Value) -> Result<(), String> {
    let expect = case.get("expect").unwrap();
    let machine = match (Machine::compile(case.get("document").unwrap()), expect.get("error")) {
        (Ok(machine), None) => machine,
        (Err(report), Some(error)) => return same_defect(report.first(), error),
        (Ok(_), Some(error)) => return Err(format!("compiles, expected {error}")),
        (Err(report), None) => return Err(format!("does not compile: {report:?}")),
    };
    let ok = expect.get("ok").unwrap();
    equal("initial", &machine.initial().into(), ok.get("initial").unwrap())?;
    equal("states", &machine.states().collect(), ok.get("states").unwrap())?;
    for (state, events) in ok.get("events").and_then(Value::as_object).into_iter().flatten() {
        equal("events", &machine.events(state).unwrap().into_iter().collect(), events)?;
    }
    for (state, is_final) in ok.get("final").and_then(Value::as_object).into_iter().flatten() {
        equal("final", &machine.is_final(state).unwrap().into(), is_final)?;
    }
    let mut session = None;
    for (index, op) in case.get("script").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let what = format!("op {index} {}", text(op, "op"));
        let expect = op.get("expect").unwrap();
        match (run_op(&machine, &mut session, &decode(op)), expect.get("error")) {
            (Ok(answer), None) => equal(&what, &answer, expect)?,
            (Err(Refusal::Code(code)), Some(error)) if code == text(error, "code") => {}
            (Err(Refusal::Host), Some(error)) if error.get("host").is_some() => {}
            (Ok(answer), Some(_)) => return Err(format!("{what}: expected {expect}, found {answer}")),
            (Err(_), _) => return Err(format!("{what}: refused, expected {expect}")),
        }
    }
    Ok(())
}

#[test]
fn compile() {
    check("fsm/compile.json", run);
}

#[test]
fn scripts() {
    check("fsm/scripts.json", run);
}

#[test]
fn sessions() {
    check("fsm/sessions.json", run);
}

#[test]
fn random() {
    check("fsm/random.json", run);
}
