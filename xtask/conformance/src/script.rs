//! Cases that go through a script: step by step, each with what it must answer.

use jaren_json::Value;

use crate::answer::{Rules, decode, same};
use crate::case::Case;
use crate::kind::Outcome;

/// Goes through the steps of a case's `script`; the first that is answered otherwise is named.
pub(crate) fn run(case: &Case, mut answer: impl FnMut(&Value) -> Result<Value, String>) -> Outcome {
    let steps = case.get("script").and_then(Value::as_array);
    for (index, step) in steps.into_iter().flatten().enumerate() {
        let step = decode(step);
        let named = |difference| format!("step {index}, {}: {difference}", text(&step, "op"));
        let found = answer(&step).map_err(named)?;
        same(step.get("expect").unwrap_or(&Value::Null), &found, Rules::EXACT).map_err(named)?;
    }
    Ok(())
}

/// A member that is text; empty where there is none.
pub(crate) fn text<'a>(step: &'a Value, member: &str) -> &'a str {
    step.get(member).and_then(Value::as_str).unwrap_or_default()
}
