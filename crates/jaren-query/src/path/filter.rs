//! Filters of paths (RFC 9535 2.3.5): the compiled form, and whether a node passes.
//!
//! A filter reads the node (`@`) and the document (`$`), and it never fails: what is not there is Nothing, which equals
//! only itself.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::ControlFlow;

use jaren_json::{Str, Value};

use super::walk::{Around, walk};
use super::{Path, Sight, Step, step_into};
use crate::budget::Budget;
use crate::comparison::Comparison;
use crate::eval::count;
use crate::iregexp::{Extent, Pattern};
use crate::relation::{Nan, equal, ordered};

/// A logical expression.
#[derive(Debug)]
pub(crate) enum Filter {
    Any(Vec<Filter>),
    All(Vec<Filter>),
    Not(Box<Filter>),
    /// Whether a query selects anything.
    Exists(Query),
    Compare(Comparison, Box<[Comparable; 2]>),
    /// `match()` or `search()`.
    Matches(Box<Matches>),
}

/// What `match()` and `search()` look at.
#[derive(Debug)]
pub(crate) struct Matches {
    pub(crate) extent: Extent,
    pub(crate) text: Comparable,
    /// Where the pattern's text comes from; `pattern` knows a literal one already.
    pub(crate) pattern_text: Comparable,
    pub(crate) pattern: Pattern,
}

/// A query inside a filter.
#[derive(Debug)]
pub(crate) struct Query {
    /// Whether it begins at the node, and not at the document.
    pub(crate) relative: bool,
    pub(crate) path: Path,
}

impl Query {
    /// Whether it selects at most one node (RFC 9535 2.3.5.1).
    pub(crate) fn is_singular(&self) -> bool {
        self.path.leaps.is_empty()
    }
}

/// What can be compared: of `ValueType` (RFC 9535 2.4.1).
#[derive(Debug)]
pub(crate) enum Comparable {
    Literal(Value),
    /// A singular query.
    Singular {
        relative: bool,
        steps: Vec<Step>,
    },
    Length(Box<Comparable>),
    Count(Query),
    /// `value()`.
    OnlyValue(Query),
}

/// What a filter sees: the node, the document, and what the walk may still spend.
#[derive(Clone, Copy)]
pub(crate) struct View<'v> {
    pub(crate) node: &'v Value,
    pub(crate) root: &'v Value,
    pub(crate) budget: &'v Budget,
}

impl Filter {
    /// Whether a node passes. Recursion is bounded by the parser.
    pub(crate) fn passes(&self, view: View<'_>) -> bool {
        match self {
            Self::Any(operands) => operands.iter().any(|operand| operand.passes(view)),
            Self::All(operands) => operands.iter().all(|operand| operand.passes(view)),
            Self::Not(operand) => !operand.passes(view),
            Self::Exists(query) => query.exists(view),
            Self::Compare(comparison, sides) => {
                let [left, right] = &**sides;
                match (left.sight(view), right.sight(view)) {
                    (Sight::At(left), Sight::At(right)) => {
                        comparison.holds(Some(left), Some(right), view.budget)
                    }
                    _ => comparison.holds(
                        left.value(view).as_deref(),
                        right.value(view).as_deref(),
                        view.budget,
                    ),
                }
            }
            Self::Matches(matches) => matches.passes(view),
        }
    }
}

impl Query {
    fn start<'v>(&self, view: View<'v>) -> Option<&'v Value> {
        step_into(if self.relative { view.node } else { view.root }, &self.path.head)
    }

    fn exists(&self, view: View<'_>) -> bool {
        match self.start(view) {
            Some(_) if self.is_singular() => true,
            Some(start) => self.each(start, view, |_| ControlFlow::Break(())),
            None => false,
        }
    }

    /// Calls `visit` with each node until it breaks; answers whether it ended early. What a spent budget makes of that does
    /// not matter, for then the walk around it ends too.
    fn each<'v>(
        &self,
        start: &'v Value,
        view: View<'v>,
        mut visit: impl FnMut(&'v Value) -> ControlFlow<()>,
    ) -> bool {
        let around = Around { root: view.root, budget: view.budget };
        let walked =
            walk(&mut (), around, (start, ()), &self.path.leaps, &mut |(), (node, ())| match visit(node) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(()),
            });
        walked.is_err()
    }

    fn count(&self, view: View<'_>) -> usize {
        let Some(start) = self.start(view) else { return 0 };
        let mut nodes = 0;
        self.each(start, view, |_| {
            nodes += 1;
            ControlFlow::Continue(())
        });
        nodes
    }

    fn only<'v>(&self, view: View<'v>) -> Option<&'v Value> {
        let mut found = None;
        let several = self.each(self.start(view)?, view, |node| match found {
            None => {
                found = Some(node);
                ControlFlow::Continue(())
            }
            Some(_) => ControlFlow::Break(()),
        });
        found.filter(|_| !several)
    }
}

impl Comparable {
    /// The value or Nothing, where it need not be made.
    #[inline]
    fn sight<'v>(&'v self, view: View<'v>) -> Sight<'v> {
        match self {
            Self::Literal(value) => Sight::At(value),
            Self::Singular { relative, steps } => {
                step_into(if *relative { view.node } else { view.root }, steps).into()
            }
            Self::Length(_) | Self::Count(_) | Self::OnlyValue(_) => Sight::Hidden,
        }
    }

    /// The value, or Nothing.
    fn value<'v>(&'v self, view: View<'v>) -> Option<Cow<'v, Value>> {
        match self {
            Self::Literal(_) | Self::Singular { .. } => match self.sight(view) {
                Sight::At(value) => Some(Cow::Borrowed(value)),
                Sight::Nowhere | Sight::Hidden => None,
            },
            Self::Length(operand) => {
                let length = match &*operand.value(view)? {
                    // Where the budget is spent the walk ends, whatever the answer.
                    Value::String(text) => {
                        view.budget.spend(text.len() / 64).map_or(0, |()| text.chars().count())
                    }
                    Value::Array(array) => array.len(),
                    Value::Object(object) => object.len(),
                    Value::Null | Value::Bool(_) | Value::Number(_) => return None,
                };
                Some(Cow::Owned(Value::Number(count(length))))
            }
            Self::Count(query) => Some(Cow::Owned(Value::Number(count(query.count(view))))),
            Self::OnlyValue(query) => query.only(view).map(Cow::Borrowed),
        }
    }

    /// The text where the value is one.
    fn text(&self, view: View<'_>) -> Option<Str> {
        match self.value(view)?.as_ref() {
            Value::String(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl Matches {
    /// What is no text matches nothing, and a text that is no pattern is matched by nothing (RFC 9535 2.4.6, 2.4.7).
    fn passes(&self, view: View<'_>) -> bool {
        let (Some(text), Some(pattern)) = (self.text.text(view), self.pattern_text.text(view)) else {
            return false;
        };
        let found = self.pattern.with(&pattern, view.budget, |compiled| match compiled {
            Ok(matcher) => matcher.is_match(&text, view.budget),
            Err(_) => Ok(false),
        });
        // Where the budget is spent the walk ends, whatever the answer.
        found.unwrap_or(false)
    }
}

impl Comparison {
    /// RFC 9535 2.3.5.2.2.
    fn holds(self, left: Option<&Value>, right: Option<&Value>, budget: &Budget) -> bool {
        let same = || match (left, right) {
            // Where the budget is spent the walk ends, whatever the answer.
            (Some(left), Some(right)) => equal(left, right, Nan::Unequal, budget).unwrap_or(false),
            (left, right) => left.is_none() && right.is_none(),
        };
        let order = || left.zip(right).and_then(|(left, right)| ordered(left, right, budget).unwrap_or(None));
        match self {
            Self::Eq => same(),
            Self::Ne => !same(),
            Self::Lt => order() == Some(Ordering::Less),
            Self::Gt => order() == Some(Ordering::Greater),
            Self::Le => order() == Some(Ordering::Less) || same(),
            Self::Ge => order() == Some(Ordering::Greater) || same(),
        }
    }
}
