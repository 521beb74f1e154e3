//! QUERY-FORMAT: `{"query", "input", "externals"?, "limits"?, "declared"?, "expectExternals"?, "expect"}`.

use std::num::{NonZeroU64, NonZeroUsize};

use jaren_json::{Array, Pointer, Value, value};
use jaren_query::{CompileOptions, Limits, Query, Scope};

use crate::answer::{Rules, decode, same};
use crate::case::Case;
use crate::kind::Outcome;

pub(crate) fn run(case: &Case) -> Outcome {
    let expected = case.need("expect")?;
    if case.refused.is_some() {
        return case.refused_as_expected();
    }
    let found = answer(case)?;
    if expected.get("items").is_some() {
        // Items are the reference's to the order of members; an error's envelope never is.
        let rules = Rules { order: true, approx: case.is("approx") };
        return same(&decode(expected), &found, rules);
    }
    same(expected, &found, Rules::EXACT)
}

/// What the crate answers, in the form of a case's `expect`.
fn answer(case: &Case) -> Result<Value, String> {
    let query = match Query::compile_with(case.need("query")?, &options(case)) {
        Ok(query) => query,
        Err(report) => return Ok(error("compile", report.first().code(), report.first().pointer())),
    };
    if let Some(expected) = case.get("expectExternals") {
        let found = Value::Array(query.externals().collect::<Array>());
        same(expected, &found, Rules::EXACT).map_err(|difference| format!("externals: {difference}"))?;
    }
    let externals: Vec<(&str, &Value)> =
        case.get("externals").and_then(Value::as_object).into_iter().flatten().collect();
    let scope = Scope::value(case.need("input")?).with_externals(&externals);
    match query.items(&scope) {
        Ok(items) => Ok(value!({ "items": items.into_iter().collect::<Array>() })),
        Err(failure) => Ok(error("run", failure.code(), failure.pointer())),
    }
}

fn options(case: &Case) -> CompileOptions {
    let limit = |name: &str| case.get("limits").and_then(|limits| limits.get(name)).and_then(Value::as_u64);
    let size = |name: &str| limit(name).and_then(|limit| NonZeroUsize::new(usize::try_from(limit).ok()?));
    let declared = case.get("declared").and_then(Value::as_array);
    let limits = Limits::new()
        .with_steps(limit("steps").and_then(NonZeroU64::new))
        .with_depth(size("depth"))
        .with_sequence_items(size("sequenceItems"))
        .with_result_items(size("resultItems"));
    let options = CompileOptions::new().with_limits(limits);
    match declared {
        Some(names) => options.with_externals(names.iter().filter_map(Value::as_str)),
        None => options,
    }
}

fn error(stage: &str, code: &str, place: &Pointer) -> Value {
    value!({ "error": { "stage": stage, "code": code, "docPath": (place.as_str()) } })
}
