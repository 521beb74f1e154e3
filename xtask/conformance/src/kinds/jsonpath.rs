//! RFC 9535 paths: `{"path", "input", "values", "paths"}` or `{"path", "error": true}`.

use jaren_json::{Array, Value};
use jaren_query::{CompileOptions, Query, Scope};

use crate::answer::{Rules, decode, same};
use crate::case::Case;
use crate::kind::Outcome;

pub(crate) fn run(case: &Case) -> Outcome {
    let path = case.need("path")?.as_str().ok_or("the case's path is no string")?;
    let found = select(path, case.need("input")?);
    if case.is("error") {
        return if found.is_none() { Ok(()) } else { Err("expected an error, found a path".to_owned()) };
    }
    let found = found.ok_or("expected a path, found an error")?;
    let expected = decode(case.need("values")?);
    same(&expected, &Value::Array(found), Rules { order: true, approx: false })?;
    match case.need("paths")?.as_array() {
        Some(paths) if paths.is_empty() => Ok(()),
        _ => Err("the crate answers no normalized paths yet".to_owned()),
    }
}

/// The values of the nodes that a path selects, or none where the path does not compile.
///
/// The query crate reads paths as part of a query, so a text that is no path may be a query of another kind: a literal,
/// an escape, a variable.
pub(super) fn select(path: &str, input: &Value) -> Option<Array> {
    let after = path.strip_prefix('$')?;
    if after.starts_with('$') {
        return None;
    }
    let closed = CompileOptions { externals: Some(Vec::new()), ..CompileOptions::default() };
    let query = Query::compile_with(&Value::from(path), &closed).ok()?;
    Some(query.items(&Scope::value(input)).ok()?.into_iter().collect())
}
