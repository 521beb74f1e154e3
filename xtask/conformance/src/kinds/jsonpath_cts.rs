//! The public RFC 9535 compliance suite: `{"selector", "document", "result" | "results" | "invalid_selector"}`, with the
//! paths of the nodes in `result_paths` or `results_paths`.

use jaren_json::{Value, value};

use super::jsonpath::{refused, select};
use crate::answer::{Rules, same, short};
use crate::case::Case;
use crate::kind::Outcome;

pub(crate) fn run(case: &Case) -> Outcome {
    let selector = case.need("selector")?.as_str().ok_or("the case's selector is no string")?;
    let found = select(selector, case.get("document").unwrap_or(&Value::Null));
    if case.is("invalid_selector") {
        return refused(found.as_ref());
    }
    let found = found.ok_or("expected a path, found an error")?;
    let found = value!({ "values": (found.values), "paths": (found.paths) });
    // Where the order of an object's members decides, the suite has every order that is right.
    let (Some(results), Some(paths)) = (list(case, "results"), list(case, "results_paths")) else {
        let expected = value!({ "values": (case.need("result")?), "paths": (case.need("result_paths")?) });
        return same(&expected, &found, Rules::EXACT);
    };
    let mut right =
        results.iter().zip(paths).map(|(values, paths)| value!({ "values": values, "paths": paths }));
    if right.any(|right| same(&right, &found, Rules::EXACT).is_ok()) {
        return Ok(());
    }
    Err(format!("none of the right results: {}", short(&found)))
}

fn list<'a>(case: &'a Case, member: &str) -> Option<&'a [Value]> {
    case.get(member).and_then(Value::as_array).map(|list| &**list)
}
