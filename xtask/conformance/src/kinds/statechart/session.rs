//! The steps of a script that act on a session over a store.

use jaren_flow::SessionError;
use jaren_flow::statechart::{Session, SnapshotStore, Statechart};
use jaren_json::{Array, Value, value};

use super::{given, now, shown, text};
use crate::errors;

/// A store as a step describes it: what it has, and which of its saves fail.
#[derive(Debug, Default)]
struct CaseStore {
    load: Option<Value>,
    fail_saves: Vec<u64>,
    saves: u64,
    saved: Vec<Value>,
}

/// The store failed as the case told it to.
#[derive(Debug)]
struct Refused;

impl SnapshotStore for CaseStore {
    type Error = Refused;

    fn load(&mut self) -> Result<Option<Value>, Refused> {
        Ok(self.load.clone())
    }

    fn save(&mut self, snapshot: &Value) -> Result<(), Refused> {
        self.saves += 1;
        if self.fail_saves.contains(&self.saves) {
            return Err(Refused);
        }
        self.saved.push(snapshot.clone());
        Ok(())
    }
}

impl CaseStore {
    fn of(step: &Value) -> Self {
        let store = step.get("store");
        let member = |name: &str| store.and_then(|store| store.get(name));
        let fails = member("failSaves").and_then(Value::as_array);
        Self {
            load: member("load").filter(|load| !load.is_null()).cloned(),
            fail_saves: fails.into_iter().flatten().filter_map(Value::as_u64).collect(),
            ..Self::default()
        }
    }
}

/// The session of a script.
pub(super) struct CaseSession(Session<CaseStore>);

impl CaseSession {
    /// The session, if it opened, and the answer.
    pub(super) fn open(chart: &Statechart, step: &Value) -> Result<(Option<Self>, Value), String> {
        let opened =
            Session::open(chart.clone(), step.get("state"), CaseStore::of(step), now(step), &given(step));
        let session = match opened {
            Ok(session) => Self(session),
            Err(error) => return Ok((None, failed(&error))),
        };
        let initial = session.0.initial().map_or(Value::Null, shown);
        let answer = session.state()?;
        let answer = answer.as_object().map(|answer| Value::Object(answer.with("initial", initial)));
        Ok((Some(session), answer.unwrap_or_default()))
    }

    /// `{state, done}`.
    fn state(&self) -> Result<Value, String> {
        let done = self.0.is_done().map_err(|error| error.to_string())?;
        Ok(value!({ "state": (self.0.state().to_value()), "done": done }))
    }

    pub(super) fn answer(&mut self, step: &Value) -> Result<Value, String> {
        let answer = match text(step, "op") {
            "sessionState" => return self.state(),
            "saved" => return Ok(Value::Array(self.0.store().saved.iter().collect::<Array>())),
            "can" => {
                let can = self.0.can(text(step, "event"), now(step), &given(step));
                can.map(Value::Bool).map_err(SessionError::Flow)
            }
            "send" => self.send(step),
            "sessionAdvance" => self.advance(step),
            other => return Err(format!("the script has the unknown step `{other}`")),
        };
        Ok(answer.unwrap_or_else(|error| failed(&error)))
    }

    fn send(&mut self, step: &Value) -> Result<Value, SessionError<Refused>> {
        Ok(shown(&self.0.send(text(step, "event"), now(step), &given(step))?))
    }

    fn advance(&mut self, step: &Value) -> Result<Value, SessionError<Refused>> {
        let now = now(step).unwrap_or_else(|| self.0.state().time());
        Ok(shown(&self.0.advance(now, &given(step))?))
    }
}

fn failed(error: &SessionError<Refused>) -> Value {
    match error {
        SessionError::Flow(error) => value!({ "error": (errors::flow(error)) }),
        SessionError::Store(Refused) => value!({ "error": { "host": true } }),
    }
}
