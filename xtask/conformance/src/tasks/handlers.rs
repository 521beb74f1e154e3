//! What the corpus's tasks answer.

use std::collections::BTreeMap;

use jaren_json::{Value, value};

/// The tasks of one case with what they remember over its runs.
#[derive(Debug, Default)]
pub(crate) struct Handlers {
    /// How often each `flaky` was called.
    flaky: BTreeMap<String, u64>,
}

/// How a call goes on.
#[derive(Debug)]
pub(crate) enum Called {
    /// It ended, with a value or with what it threw.
    Ended(Result<Value, String>),
    /// It ends once this many calls with a lower turn have ended in this run.
    Turn(u64, Result<Value, String>),
    /// It asks to abort the run, then answers.
    Cancelled,
}

impl Handlers {
    /// Calls a task; none where the corpus has no such task.
    pub(crate) fn call(&mut self, task: &str, with: &Value, input: &Value) -> Option<Called> {
        let ended = match task {
            "echo" => Ok(input.clone()),
            "with" => Ok(with.clone()),
            "both" => Ok(value!({ "with": with, "input": input })),
            "add1" => input.as_f64().map(|n| Value::Number(n + 1.0)).ok_or_else(|| "not a number".to_owned()),
            "fail" => Err("boom".to_owned()),
            "null" => Ok(Value::Null),
            "turn" => return Some(turn(with, input)),
            "flaky" => self.flaky(with, input),
            "cancel" => return Some(Called::Cancelled),
            _ => return None,
        };
        Some(Called::Ended(ended))
    }

    fn flaky(&mut self, with: &Value, input: &Value) -> Result<Value, String> {
        let id = with.get("id").and_then(Value::as_str).unwrap_or_default();
        let fails = with.get("fails").and_then(Value::as_u64).unwrap_or(0);
        let calls = self.flaky.entry(id.to_owned()).or_default();
        *calls += 1;
        if *calls <= fails { Err(format!("flaky {calls}")) } else { Ok(input.clone()) }
    }
}

fn turn(with: &Value, input: &Value) -> Called {
    let turn = with.get("turn").and_then(Value::as_u64).unwrap_or(0);
    let fails = with.get("fail").and_then(Value::as_bool) == Some(true);
    let answer = with.get("value").unwrap_or(input);
    Called::Turn(turn, if fails { Err(format!("turn {turn}")) } else { Ok(answer.clone()) })
}
