//! The public RFC 9535 compliance suite: `{"selector", "document", "result" | "results" | "invalid_selector"}`.

use jaren_json::Value;

use super::jsonpath::select;
use crate::answer::{Rules, same, short};
use crate::case::Case;
use crate::kind::Outcome;

pub(crate) fn run(case: &Case) -> Outcome {
    let selector = case.need("selector")?.as_str().ok_or("the case's selector is no string")?;
    let found = select(selector, case.get("document").unwrap_or(&Value::Null));
    if case.is("invalid_selector") {
        return if found.is_none() { Ok(()) } else { Err("expected an error, found a path".to_owned()) };
    }
    let found = Value::Array(found.ok_or("expected a path, found an error")?);
    // Where the order of an object's members decides, the suite has every order that is right.
    if let Some(results) = case.get("results").and_then(Value::as_array) {
        let right = results.iter().any(|result| same(result, &found, Rules::EXACT).is_ok());
        return if right { Ok(()) } else { Err(format!("none of the right results: {}", short(&found))) };
    }
    same(case.need("result")?, &found, Rules::EXACT)
}
