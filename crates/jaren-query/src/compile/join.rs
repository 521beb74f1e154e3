//! Joins: when the last `$for` binding of a phrase may be looked up by its key instead of scanned for each tuple.
//!
//! Only where nobody can tell: the same tuples in the same order, and the same first error. So the source must not depend
//! on the tuple, nothing may be evaluated between the bindings and the equality, and keys must be such that they can
//! neither fail nor answer several items for one item of the source.

use crate::plan::{Binding, Comparison, Expr, From, Join, JoinSide, Kind, Many, Slot, Test};

/// How to join the last binding to those before it, if that is possible.
/// `filter` is the phrase's, which has neither `$let` nor `$as`; `accumulator` is that of its `$fold`.
pub(super) fn join(bindings: &[Binding], filter: Option<&Expr>, accumulator: Option<Slot>) -> Option<Join> {
    let [_, .., inner] = bindings else { return None };
    let scanned = inner.at.is_none() && !inner.allowing_empty && inner.window.is_none() && !inner.correlated;
    // A range is never built, and `$for` counts through it.
    if !scanned || matches!(inner.source.kind, Kind::Many(Many::Range(..))) {
        return None;
    }
    let equality = match &filter?.kind {
        Kind::Test(Test::And(operands)) => operands.first()?,
        _ => filter?,
    };
    let Kind::Test(Test::Compare(Comparison::Eq, pair)) = &equality.kind else { return None };
    let [left, right] = &**pair;
    let outer =
        |side: &Expr| is_key(side) && slot_of(side) != Some(inner.slot) && slot_of(side) != accumulator;
    let is_inner = |side: &Expr| is_key(side) && slot_of(side) == Some(inner.slot);
    if is_inner(right) && (outer(left) && slot_of(left).is_some()) {
        return Some(Join { inner: JoinSide::Right });
    }
    (is_inner(left) && (outer(right) && slot_of(right).is_some())).then_some(Join { inner: JoinSide::Left })
}

/// A variable, or single steps from one.
fn is_key(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Variable(_) => true,
        Kind::Path(root) => root.path.leaps.is_empty(),
        _ => false,
    }
}

fn slot_of(expr: &Expr) -> Option<Slot> {
    match &expr.kind {
        Kind::Variable(slot) => Some(*slot),
        Kind::Path(root) => match root.from {
            From::Variable(slot) => Some(slot),
            From::Input | From::External(_) => None,
        },
        _ => None,
    }
}
