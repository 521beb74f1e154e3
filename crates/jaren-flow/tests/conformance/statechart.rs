//! The statechart cases of the conformance corpus: compile, scripts of pure steps, and sessions.

use crate::corpus::{check, decode, equal, same_defect, text};
use jaren_flow::statechart::{
    CompileOptions, Session, Snapshot, SnapshotStore, Statechart, Step, StepResult,
};
use jaren_flow::{FlowError, SessionError};
use jaren_json::{Value, value};

/// What a script acts on.
#[derive(Default)]
struct Script {
    snapshot: Option<Snapshot>,
    session: Option<Session<Store>>,
}

/// The store of a session op: fails the n-th save for each n of `failSaves`.
#[derive(Debug, Default)]
struct Store {
    loads: Option<Value>,
    fails: Vec<f64>,
    saves: f64,
    saved: Vec<Value>,
}

impl SnapshotStore for Store {
    type Error = &'static str;

    fn load(&mut self) -> Result<Option<Value>, Self::Error> {
        Ok(self.loads.clone())
    }

    fn save(&mut self, snapshot: &Value) -> Result<(), Self::Error> {
        self.saves += 1.0;
        if self.fails.contains(&self.saves) {
            return Err("the store fails");
        }
        self.saved.push(snapshot.clone());
        Ok(())
    }
}

enum Answer {
    Flow(FlowError),
    Host,
    NoString,
}

impl From<FlowError> for Answer {
    fn from(error: FlowError) -> Self {
        Self::Flow(error)
    }
}

impl From<SessionError<&'static str>> for Answer {
    fn from(error: SessionError<&'static str>) -> Self {
        match error {
            SessionError::Flow(error) => Self::Flow(error),
            SessionError::Store(_) => Self::Host,
        }
    }
}

/// A time that is no number is one that no clock has.
fn now(op: &Value) -> Option<f64> {
    match op.get("now") {
        None | Some(Value::Null) => None,
        Some(now) => Some(now.as_f64().unwrap_or(f64::NAN)),
    }
}

impl Script {
    fn run(&mut self, chart: &Statechart, op: &Value) -> Result<Value, Answer> {
        let op = &decode(op);
        let step = Step { now: now(op), payload: op.get("payload"), context: op.get("context") };
        // The type rules out here what the corpus has as JF2002.
        let event = || op.get("event").and_then(Value::as_str).ok_or(Answer::NoString);
        let current = || match op.get("state") {
            Some(state) => chart.restore(state),
            None => Ok(self.snapshot.clone().expect("a script starts before it steps")),
        };
        match text(op, "op") {
            "start" => {
                let result = chart.start(&step)?;
                Ok(self.take(&result))
            }
            "step" => {
                let event = event()?;
                let result = chart.step(&current()?, event, &step)?;
                Ok(self.take(&result))
            }
            "advance" => {
                let snapshot = current()?;
                let until = now(op).unwrap_or_else(|| snapshot.time());
                let one = op.get("one").and_then(Value::as_bool) == Some(true);
                let result = if one {
                    chart.advance_one(&snapshot, until, &step)?
                } else {
                    chart.advance(&snapshot, until, &step)?
                };
                Ok(self.take(&result))
            }
            "restore" => {
                let snapshot = chart.restore(op.get("state").unwrap())?;
                let state = snapshot.to_value();
                assert_eq!(chart.restore(&state)?.to_value(), state, "restoring is stable");
                self.snapshot = Some(snapshot);
                Ok(value!({ "state": state }))
            }
            "events" => Ok(chart.events(&current()?)?.into_iter().collect()),
            "final" => Ok(chart.is_final(&current()?)?.into()),
            "session" => {
                let given = op.get("store").cloned().unwrap_or_default();
                let fails = given.get("failSaves").and_then(Value::as_array);
                let store = Store {
                    loads: given.get("load").filter(|load| !load.is_null()).cloned(),
                    fails: fails.into_iter().flatten().filter_map(Value::as_f64).collect(),
                    ..Store::default()
                };
                let session = Session::open(chart.clone(), op.get("state"), store, &step)?;
                let initial = session.initial().map(StepResult::to_value).unwrap_or_default();
                let (state, done) = (session.state().to_value(), session.is_done()?);
                self.session = Some(session);
                Ok(value!({ "state": state, "done": done, "initial": initial }))
            }
            session => {
                let held = self.session.as_mut().expect("a script opens a session before it acts on it");
                match session {
                    "send" => Ok(held.send(event()?, &step)?.to_value()),
                    "sessionAdvance" => Ok(held.advance(now(op).unwrap(), &step)?.to_value()),
                    "can" => Ok(held.can(event()?, &step)?.into()),
                    "sessionState" => {
                        Ok(value!({ "state": (held.state().to_value()), "done": (held.is_done()?) }))
                    }
                    "saved" => Ok(held.store().saved.clone().into()),
                    other => panic!("unknown op {other}"),
                }
            }
        }
    }

    fn take(&mut self, result: &StepResult) -> Value {
        self.snapshot = Some(result.state.clone());
        result.to_value()
    }
}

/// Messages are no part of the formats.
fn without_messages(answer: &Value) -> Value {
    let Some(object) = answer.as_object() else { return answer.clone() };
    let mut object = object.clone();
    if let Some(initial) = object.get("initial").cloned() {
        object = object.with("initial", without_messages(&initial));
    }
    if let Some(errors) = object.get("errors").and_then(Value::as_array).cloned() {
        let plain = errors.iter().map(|error| Value::Object(error.as_object().unwrap().without("message")));
        object = object.with("errors", plain.collect::<Value>());
    }
    Value::Object(object)
}

fn run(case: &Value) -> Result<(), String> {
    let mut options = CompileOptions::default();
    if let Some(max) = case.get("maxMicrosteps").and_then(Value::as_u64) {
        options.microsteps_max = max;
    }
    let expect = case.get("expect").unwrap();
    let chart = match (Statechart::compile_with(case.get("document").unwrap(), options), expect.get("error"))
    {
        (Ok(chart), None) => chart,
        (Err(report), Some(error)) => return same_defect(report.first(), error),
        (Ok(_), Some(error)) => return Err(format!("compiles, expected {error}")),
        (Err(report), None) => return Err(format!("does not compile: {report:?}")),
    };
    let states: Value = chart.states().collect();
    equal("states", &states, expect.get("ok").and_then(|ok| ok.get("states")).unwrap())?;
    let mut script = Script::default();
    for (index, op) in case.get("script").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let what = format!("op {index} {}", text(op, "op"));
        let expect = op.get("expect").unwrap();
        let error = expect.get("error");
        match (script.run(&chart, op), error) {
            (Ok(answer), None) => equal(&what, &without_messages(&answer), expect)?,
            (Err(Answer::Flow(found)), Some(error)) => {
                if found.code() != text(error, "code")
                    || found.pointer().is_some() != error.get("docPath").is_some()
                {
                    return Err(format!("{what}: expected {error}, found {found}"));
                }
            }
            (Err(Answer::Host), Some(error)) if error.get("host").is_some() => {}
            (Err(Answer::NoString), Some(error)) if text(error, "code") == "JF2002" => {}
            (Ok(answer), _) => {
                return Err(format!("{what}: expected {expect}, found {answer}"));
            }
            (Err(Answer::Flow(found)), None) => {
                return Err(format!("{what}: expected {expect}, found {found}"));
            }
            (Err(Answer::Host | Answer::NoString), _) => return Err(format!("{what}: expected {expect}")),
        }
    }
    Ok(())
}

#[test]
fn compile() {
    check("statechart/compile.json", run);
}

#[test]
fn scripts() {
    check("statechart/scripts.json", run);
}

#[test]
fn restore() {
    check("statechart/restore.json", run);
}

#[test]
fn sessions() {
    check("statechart/sessions.json", run);
}

#[test]
fn random() {
    check("statechart/random-1.json", run);
    check("statechart/random-2.json", run);
}
