//! The data of a run as guards and inputs read it (workflow format, section 2).

use jaren_json::{Object, Value, canonical};

use crate::defects::nonblank;
use crate::statechart::safe_integer;

/// `$.context` of a run: cheap to clone, and written back as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The original input, unchanged across the run.
    pub input: Value,
    /// The current data: the input at first, then the result of each work.
    pub data: Value,
    /// The last accepted event `{type, payload?}`, or null.
    pub event: Value,
    /// The latest result of each work state by its qualified id.
    pub results: Object,
    /// How often each state was entered, by its qualified id.
    pub visits: Object,
    /// Members of a stored context that the format does not know.
    extra: Object,
}

const MEMBERS: [&str; 5] = ["input", "data", "event", "results", "visits"];

impl Context {
    /// The context of a fresh run.
    pub fn new(input: Value) -> Self {
        Self {
            data: input.clone(),
            input,
            event: Value::Null,
            results: Object::default(),
            visits: Object::default(),
            extra: Object::default(),
        }
    }

    /// Reads a stored context; `None` when it has not the published shape.
    pub fn from_value(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let event = object.get("event").cloned()?;
        let shaped = event.is_null() || nonblank(event.get("type")).is_some();
        let extra = object.iter().filter(|(name, _)| !MEMBERS.contains(name));
        shaped.then_some(Self {
            input: object.get("input")?.clone(),
            data: object.get("data")?.clone(),
            event,
            results: object.get("results")?.as_object()?.clone(),
            visits: object.get("visits")?.as_object()?.clone(),
            extra: extra.collect(),
        })
    }

    /// The published form: `{input, data, event, results, visits}`.
    pub fn to_value(&self) -> Value {
        Value::Object(self.members(None))
    }

    /// The same with the activation that a work state's input sees.
    pub(super) fn with_activation(&self, activation: Value) -> Value {
        Value::Object(self.members(Some(activation)))
    }

    fn members(&self, activation: Option<Value>) -> Object {
        let Self { input, data, event, results, visits, extra } = self;
        let known = [
            ("input", input.clone()),
            ("data", data.clone()),
            ("event", event.clone()),
            ("results", Value::Object(results.clone())),
            ("visits", Value::Object(visits.clone())),
        ];
        let extra = extra.iter().map(|(name, value)| (name, value.clone()));
        known.into_iter().chain(extra).chain(activation.map(|activation| ("activation", activation))).collect()
    }

    /// How often the state was entered.
    pub fn visit(&self, state: &str) -> u64 {
        safe_integer(self.visits.get(state)).unwrap_or(0)
    }
}

/// One entry to a work state: what makes its outside actions recognizable after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activation<'a> {
    /// The run.
    pub run_id: &'a str,
    /// The qualified state.
    pub state: &'a str,
    /// Which entry to the state in this run, from 1.
    pub visit: u64,
}

impl Activation<'_> {
    /// The canonical JSON of `[runId, state, visit]`: the same after a resume, another for each visit.
    pub fn key(&self) -> String {
        let parts = [Value::from(self.run_id), Value::from(self.state), self.visit_value()];
        // Strings and a finite number: canonical text exists.
        canonical(&Value::from(parts)).unwrap_or_default()
    }

    /// `{runId, state, visit, key}`, which a work state's input reads as `$.context.activation`.
    pub fn to_value(&self) -> Value {
        let members = [
            ("runId", Value::from(self.run_id)),
            ("state", Value::from(self.state)),
            ("visit", self.visit_value()),
            ("key", Value::from(self.key())),
        ];
        Value::Object(members.into_iter().collect())
    }

    fn visit_value(&self) -> Value {
        count(self.visit)
    }
}

/// A count as a JSON number.
#[expect(clippy::cast_precision_loss, reason = "counts are bounded by the safe integers when they are admitted")]
pub(super) fn count(count: u64) -> Value {
    Value::Number(count as f64)
}
