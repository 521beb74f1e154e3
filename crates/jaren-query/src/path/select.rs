//! The nodes that a path selects: their values, and where they stand.

use jaren_json::Value;

use super::walk::Track;
use super::{JsonPath, NormalizedPath, WalkLimit};
use crate::budget::Allowance;
use crate::query::Limits;

/// A node that a path selects (RFC 9535 1.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'v> {
    /// Its value, inside the document.
    pub value: &'v Value,
    /// Where it stands in the document.
    pub path: NormalizedPath,
}

impl JsonPath {
    /// The nodes that the path selects from a document, in order; a node that is selected twice is there twice.
    ///
    /// ```
    /// use jaren_json::value;
    /// use jaren_query::JsonPath;
    ///
    /// let store = value!({"books": [{"title": "Emma", "price": 9}, {"title": "Ulysses", "price": 22}]});
    /// let cheap = JsonPath::parse("$.books[?@.price < 10].title")?;
    /// for node in cheap.select(&store)? {
    ///     assert_eq!(node.value, "Emma");
    ///     assert_eq!(node.path.as_str(), "$['books'][0]['title']");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn select<'v>(&self, document: &'v Value) -> Result<Vec<Node<'v>>, WalkLimit> {
        let mut nodes = Vec::new();
        let allowance = Allowance::new(&Limits::default());
        // Where the allowance is spent, the walk ends at its next node; so the last one is seen to below.
        let mut kept = Ok(());
        self.walk(&allowance, &mut Trail(Vec::new()), (document, None), &mut |trail, value, place| {
            let path = trail.path(document, place);
            kept = allowance.work((size_of::<Node<'_>>() + path.as_str().len()) / 4);
            if kept.is_ok() {
                nodes.push(Node { value, path });
            }
        })?;
        kept.map(|()| nodes).map_err(|_| WalkLimit)
    }

    /// The values of those nodes.
    pub fn values<'v>(&self, document: &'v Value) -> Result<Vec<&'v Value>, WalkLimit> {
        let mut values = Vec::new();
        let allowance = Allowance::new(&Limits::default());
        let mut kept = Ok(());
        self.walk(&allowance, &mut (), (document, ()), &mut |(), value, ()| {
            kept = allowance.work(size_of::<&Value>() / 4);
            values.push(value);
        })?;
        kept.map(|()| values).map_err(|_| WalkLimit)
    }
}

/// The way to each node of a walk: its parent's entry, or nothing below the root, and its position there.
struct Trail(Vec<(Option<usize>, usize)>);

impl Track for Trail {
    type Place = Option<usize>;

    fn child(&mut self, parent: Option<usize>, _: &Value, position: usize) -> Option<usize> {
        self.0.push((parent, position));
        Some(self.0.len() - 1)
    }
}

impl Trail {
    fn path(&self, document: &Value, place: Option<usize>) -> NormalizedPath {
        let mut positions = Vec::new();
        let mut at = place;
        while let Some((parent, position)) = at.and_then(|at| self.0.get(at)) {
            positions.push(*position);
            at = *parent;
        }
        let mut path = NormalizedPath::root();
        let mut value = Some(document);
        for position in positions.into_iter().rev() {
            value = match value {
                Some(Value::Object(object)) => object.iter().nth(position).map(|(name, child)| {
                    path.push_name(name);
                    child
                }),
                Some(Value::Array(array)) => {
                    path.push_index(position);
                    array.get(position)
                }
                _ => None,
            };
        }
        path
    }
}
