//! RFC 9535 paths: `{"path", "input", "values", "paths"}` or `{"path", "error": true}`.

use jaren_json::{Array, Value, value};
use jaren_query::{JsonPath, NormalizedPath, Track};

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
    let path = JsonPath::parse(path).ok()?;
    let mut track = Paths(vec![NormalizedPath::root()]);
    let (mut values, mut places) = (Vec::new(), Vec::new());
    let walked = path.walk(&mut track, (input, 0), &mut |_, value, place| {
        values.push(value.clone());
        places.push(place);
    });
    walked.ok()?;
    let paths = places.into_iter().filter_map(|place| track.0.get(place));
    Some(Nodes { values: Array::from(values), paths: paths.map(NormalizedPath::as_str).collect() })
}

/// The outcome where no path is expected.
pub(super) fn refused(found: Option<&Nodes>) -> Outcome {
    found.map_or(Ok(()), |_| Err("expected an error, found a path".to_owned()))
}

/// Where each node of a walk stands; a place is a position in this list.
struct Paths(Vec<NormalizedPath>);

impl Track for Paths {
    type Place = usize;

    fn child(&mut self, place: usize, parent: &Value, position: usize) -> usize {
        let mut path = self.0.get(place).cloned().unwrap_or_else(NormalizedPath::root);
        match parent.as_object().and_then(|members| members.keys().get(position)) {
            Some(name) => path.push_name(name),
            None => path.push_index(position),
        }
        self.0.push(path);
        self.0.len() - 1
    }
}
