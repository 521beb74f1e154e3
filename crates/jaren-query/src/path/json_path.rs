//! A path on its own, outside a query.

use std::sync::Arc;

use jaren_json::Value;

use super::parse::PathDefect;
use super::{Around, Path, Track, parse};
use crate::budget::{Allowance, Spent};

/// A compiled RFC 9535 query: shared by clones and between threads.
#[derive(Clone, Debug)]
pub struct JsonPath(Arc<Path>);

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a path: {message}")]
pub struct PathError {
    offset: usize,
    message: String,
}

impl PathError {
    /// The byte offset in the text where it stopped to be a path.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

/// A path looks at more nodes than a walk may: [`crate::Limits::WORK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the path looks at more nodes than a walk may; expected fewer selectors that select again what was selected"
)]
pub struct WalkLimit;

impl From<PathDefect> for PathError {
    fn from(defect: PathDefect) -> Self {
        Self { offset: defect.offset, message: defect.to_string() }
    }
}

impl JsonPath {
    /// Compiles a path, which begins with `$`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if !text.starts_with('$') {
            return Err(PathError { offset: 0, message: "expected '$' at byte 0".to_owned() });
        }
        Ok(Self(Arc::new(parse(text, 1)?)))
    }

    /// Calls `found` with each node that the path selects from `root`, in order, and with its place as `track` names it,
    /// within the work of an allowance, of which `found` may take, too. It has been called with a part of the nodes where the
    /// walk ends at that limit.
    ///
    /// For the formats above, as all in `crate::extension`.
    #[doc(hidden)]
    pub fn walk<'v, T: Track>(
        &self,
        allowance: &Allowance,
        track: &mut T,
        root: (&'v Value, T::Place),
        found: &mut dyn FnMut(&mut T, &'v Value, T::Place),
    ) -> Result<(), WalkLimit> {
        let around = Around { root: root.0, budget: &allowance.work };
        let walked =
            self.0.walk(track, around, root, &mut |track, (value, place)| found(track, value, place));
        walked.map_err(|Spent| WalkLimit)
    }
}

#[cfg(test)]
mod tests {
    use jaren_json::value;

    use super::*;
    use crate::budget::Budget;
    use crate::query::Limits;

    /// Names each node by the positions that lead to it.
    struct Positions(Vec<(usize, usize)>);

    impl Track for Positions {
        type Place = usize;

        fn child(&mut self, place: usize, parent: &Value, position: usize) -> usize {
            assert!(parent.as_array().is_some() || parent.as_object().is_some());
            self.0.push((place, position));
            self.0.len()
        }
    }

    fn found(path: &str, root: &Value) -> Vec<Vec<usize>> {
        let mut answer = Vec::new();
        JsonPath::parse(path)
            .unwrap()
            .walk(
                &Allowance::new(&Limits::default()),
                &mut Positions(Vec::new()),
                (root, 0),
                &mut |track, _, place| {
                    let mut positions = Vec::new();
                    let mut at = place;
                    while at != 0 {
                        let (parent, position) = track.0[at - 1];
                        positions.insert(0, position);
                        at = parent;
                    }
                    answer.push(positions);
                },
            )
            .unwrap();
        answer
    }

    #[test]
    fn a_walk_names_the_place_of_each_node() {
        let root = value!({"x": 1, "rows": [{"p": 1}, {"q": 0, "p": 2}, 3]});
        assert_eq!(found("$", &root), [Vec::<usize>::new()]);
        assert_eq!(found("$.rows[-1]", &root), [vec![1, 2]]);
        assert_eq!(found("$..p", &root), [vec![1, 0, 0], vec![1, 1, 1]]);
        assert_eq!(found("$.rows[2:0:-1]", &root), [vec![1, 2], vec![1, 1]]);
        assert_eq!(found("$['rows', 'x', 'y', 'rows'][1].*", &root).len(), 4);
        assert_eq!(found("$.x.y", &root).len(), 0);
    }

    #[test]
    fn a_text_that_is_no_path_says_where() {
        for (text, offset) in [("", 0), ("a", 0), ("$$", 1), ("$.a[", 4), ("$a.b", 1), (" $", 0), ("$ ", 1)] {
            assert_eq!(JsonPath::parse(text).unwrap_err().offset(), offset, "{text}");
        }
    }

    #[test]
    fn a_walk_ends_where_its_budget_does() {
        let deep = (0..60).fold(value!(1), |inner, _| value!([(inner)]));
        for path in ["[*,*]".repeat(60), format!("[?count(@{}) == 1]", "[*,*]".repeat(59))] {
            let path = JsonPath::parse(&format!("${path}")).unwrap();
            let around = Around { root: &deep, budget: &Budget::new(10_000) };
            assert!(path.0.walk(&mut (), around, (&deep, ()), &mut |(), _| {}).is_err());
        }
    }
}
