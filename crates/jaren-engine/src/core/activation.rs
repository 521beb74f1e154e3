//! One entry to a work state: its key, and the input that it starts with.

use jaren_flow::workflow::Workflow;
use jaren_json::{Object, Str, Value, value};

use super::error::RunError;
use super::snapshot::Snapshot;
use crate::numbers::count;

/// What makes an entry to a work state recognizable, after a crash too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation<'a> {
    pub(super) run: &'a str,
    pub(super) state: &'a str,
    /// Which entry to the state in this run, from 1.
    pub(super) visit: u64,
}

impl Activation<'_> {
    /// The canonical JSON of `[runId, state, visit]` (workflow §2).
    pub(super) fn key(&self) -> Str {
        let mut text = Vec::with_capacity(self.run.len() + self.state.len() + 32);
        text.push(b'[');
        for (part, end) in
            [(Value::from(self.run), b','), (Value::from(self.state), b','), (count(self.visit), b']')]
        {
            // Texts and counts always have a canonical text.
            let _ = jaren_json::canonical_to(&part, &mut text);
            text.push(end);
        }
        Str::from(String::from_utf8(text).unwrap_or_default())
    }

    /// The input: the state's query over the scope with `$.context.activation`. It must be JSON (JF2016).
    pub(super) fn input(&self, workflow: &Workflow, snapshot: &Snapshot) -> Result<Value, RunError> {
        if !workflow.has_input(self.state) {
            return Ok(snapshot.data().clone()); // which is JSON, as all that a run keeps
        }
        let context = Value::Object(self.context(snapshot));
        let input = workflow.input(self.state, snapshot.control(), &context).map_err(RunError::from_flow)?;
        if input.is_json() {
            return Ok(input);
        }
        let reason = "the input of the work holds a number that is not JSON";
        Err(RunError::new("JF2016", reason).at(format!("{}/input", self.state)))
    }

    fn context(&self, snapshot: &Snapshot) -> Object {
        let activation = value!({
            "runId": self.run, "state": self.state, "visit": count(self.visit), "key": self.key(),
        });
        snapshot.context().with("activation", activation)
    }
}
