//! RFC 9535 paths: `{"path", "input", "values", "paths"}` or `{"path", "error": true}`.

use jaren_json::{Array, Value, value};
use jaren_query::JsonPath;

use crate::answer::{Rules, decode, same};
use crate::case::Case;
use crate::kind::Outcome;

pub(crate) fn run(case: &Case) -> Outcome {
    let path = case.need("path")?.as_str().ok_or("the case's path is no string")?;
    let found = select(path, case.need("input")?);
    if case.is("error") {
        return refused(found.as_ref());
    }
    let found = found.ok_or("expected a path, found an error")?;
    let expected = value!({ "values": (decode(case.need("values")?)), "paths": (case.need("paths")?) });
    let found = value!({ "values": (found.values), "paths": (found.paths) });
    same(&expected, &found, Rules { order: true, approx: false })
}

/// What a path selects, in order.
pub(super) struct Nodes {
    pub(super) values: Array,
    /// Where they stand, as normalized paths.
    pub(super) paths: Array,
}

/// The nodes that a path selects, or none where it does not compile.
pub(super) fn select(path: &str, input: &Value) -> Option<Nodes> {
    let nodes = JsonPath::parse(path).ok()?.select(input).ok()?;
    Some(Nodes {
        values: nodes.iter().map(|node| node.value.clone()).collect(),
        paths: nodes.iter().map(|node| node.path.as_str()).collect(),
    })
}

/// The outcome where no path is expected.
pub(super) fn refused(found: Option<&Nodes>) -> Outcome {
    found.map_or(Ok(()), |_| Err("expected an error, found a path".to_owned()))
}
