//! Truth without an evaluation: queries that only compare what stands in plain sight.
//!
//! Most guards compare members of the scope with each other or with constants. Such a query cannot fail, binds nothing
//! and builds nothing, so its truth is read straight from the plan. What does not fit goes the way of all queries.

use jaren_json::Value;

use crate::budget::Budget;
use crate::eval::{compare_items, item_truth};
use crate::path::step_into;
use crate::plan::{Expr, From, Kind, Plan, Root, Test};
use crate::query::Scope;

/// How many values inside containers are compared here.
const COMPARED_MAX: u64 = 256;

/// Whether [`truth`] can answer for this plan. It counts no steps, so their limit must be out of reach.
pub(crate) fn is_quick(plan: &Plan) -> bool {
    size(&plan.root).is_some_and(|size| plan.limits.steps.is_none_or(|max| size <= max.get()))
}

/// How many expressions there are, where all of them fit.
fn size(expr: &Expr) -> Option<u64> {
    let sum = |operands: &[Expr]| operands.iter().map(size).sum::<Option<u64>>();
    let operands = match &expr.kind {
        Kind::Test(Test::Compare(_, pair)) if pair.iter().all(is_in_sight) => 2,
        Kind::Test(Test::And(operands) | Test::Or(operands)) => sum(operands)?,
        Kind::Test(Test::Not(operand) | Test::Boolean(operand)) => size(operand)?,
        Kind::Test(Test::Exists(operand) | Test::Empty(operand)) if is_in_sight(operand) => 1,
        _ if is_in_sight(expr) => 0,
        _ => return None,
    };
    Some(1 + operands)
}

/// A constant, or a path of single steps from the input.
fn is_in_sight(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Literal(_) => true,
        Kind::Path(root) => {
            matches!(root.from, From::Input) && root.path.leaps.is_empty() && !root.path.head.is_empty()
        }
        _ => false,
    }
}

/// The truth of an expression that fits; nothing where containers would have to be compared at length.
pub(crate) fn truth(expr: &Expr, scope: &Scope<'_>) -> Option<bool> {
    match &expr.kind {
        Kind::Test(Test::Compare(comparison, pair)) => {
            let [left, right] = &**pair;
            match seen(left, scope).zip(seen(right, scope)) {
                Some((left, right)) => {
                    compare_items(*comparison, left, right, &Budget::new(COMPARED_MAX)).ok()
                }
                None => Some(false),
            }
        }
        Kind::Test(Test::And(operands)) => decided(operands, false, scope),
        Kind::Test(Test::Or(operands)) => decided(operands, true, scope),
        Kind::Test(Test::Not(operand)) => truth(operand, scope).map(|truth| !truth),
        Kind::Test(Test::Boolean(operand)) => truth(operand, scope),
        Kind::Test(Test::Exists(operand)) => Some(seen(operand, scope).is_some()),
        Kind::Test(Test::Empty(operand)) => Some(seen(operand, scope).is_none()),
        _ => Some(seen(expr, scope).is_some_and(item_truth)),
    }
}

/// Whether one of the operands decides; the others are not looked at.
fn decided(operands: &[Expr], by: bool, scope: &Scope<'_>) -> Option<bool> {
    for operand in operands {
        if truth(operand, scope)? == by {
            return Some(by);
        }
    }
    Some(!by)
}

#[inline]
fn seen<'a>(expr: &'a Expr, scope: &Scope<'a>) -> Option<&'a Value> {
    match &expr.kind {
        Kind::Literal(value) => Some(value),
        Kind::Path(root) => reach(root, scope),
        _ => None,
    }
}

#[inline]
fn reach<'a>(root: &Root, scope: &Scope<'a>) -> Option<&'a Value> {
    match (scope.whole(), &*root.path.head) {
        (Some(value), steps) => step_into(value, steps),
        (None, [first, rest @ ..]) => step_into(scope.part(first.name()?)?, rest),
        (None, []) => None,
    }
}
