//! Truth without an evaluation: queries that only compare what stands in plain sight.
//!
//! Most guards compare members of the scope with each other or with constants. Such a query cannot fail, binds nothing
//! and builds nothing, so it is compiled a second time, into a form that lies in one piece: a plan is spread over the
//! heap, and looking for its parts would cost more than the comparison. What does not fit goes the way of all queries.

use std::sync::Arc;

use jaren_json::{MemberName, Value};

use crate::budget::Budget;
use crate::eval::{compare_items, compare_numbers, item_truth};
use crate::path::{Step, step_into};
use crate::plan::{Comparison, Expr, From, Kind, Plan, Test};
use crate::query::Scope;

/// How many values inside containers are compared here.
const COMPARED_MAX: u64 = 256;

/// The truth of a query that fits.
#[derive(Debug)]
pub(crate) enum Quick {
    Compare(Comparison, Operand, Operand),
    All(Vec<Quick>),
    Any(Vec<Quick>),
    Not(Box<Quick>),
    Exists(Operand),
    Truth(Operand),
}

/// What stands in plain sight.
#[derive(Debug)]
pub(crate) enum Operand {
    Constant(Value),
    /// `$.part.member`, which most paths in guards are.
    Member(MemberName, MemberName),
    /// Any other path of single steps from the input.
    Path(Box<[Step]>),
}

impl Quick {
    /// The quick form of a plan, where it has one. It counts no steps, so their limit must be out of reach.
    pub(crate) fn new(plan: &Plan) -> Option<Arc<Self>> {
        let mut steps = 0;
        let quick = Self::of(&plan.root, &mut steps)?;
        plan.limits.steps.is_none_or(|max| steps <= max.get()).then(|| Arc::new(quick))
    }

    fn of(expr: &Expr, steps: &mut u64) -> Option<Self> {
        *steps += 1;
        let all = |operands: &[Expr], steps: &mut u64| {
            operands.iter().map(|operand| Self::of(operand, steps)).collect::<Option<Vec<_>>>()
        };
        Some(match &expr.kind {
            Kind::Test(Test::Compare(comparison, pair)) => {
                *steps += 2;
                let [left, right] = &**pair;
                Self::Compare(*comparison, Operand::of(left)?, Operand::of(right)?)
            }
            Kind::Test(Test::And(operands)) => Self::All(all(operands, steps)?),
            Kind::Test(Test::Or(operands)) => Self::Any(all(operands, steps)?),
            Kind::Test(Test::Not(operand)) => Self::Not(Box::new(Self::of(operand, steps)?)),
            Kind::Test(Test::Boolean(operand)) => Self::of(operand, steps)?,
            Kind::Test(Test::Exists(operand)) => {
                *steps += 1;
                Self::Exists(Operand::of(operand)?)
            }
            Kind::Test(Test::Empty(operand)) => {
                *steps += 1;
                Self::Not(Box::new(Self::Exists(Operand::of(operand)?)))
            }
            _ => Self::Truth(Operand::of(expr)?),
        })
    }

    /// The truth; nothing where containers would have to be compared at length.
    #[inline]
    pub(crate) fn truth(&self, scope: &Scope<'_>) -> Option<bool> {
        match self {
            Self::Compare(comparison, left, right) => {
                let (Some(left), Some(right)) = (left.see(scope), right.see(scope)) else {
                    return Some(false);
                };
                match (left, right) {
                    (Value::Number(left), Value::Number(right)) => {
                        Some(compare_numbers(*comparison, *left, *right))
                    }
                    _ => compare_briefly(*comparison, left, right),
                }
            }
            other => other.truth_of_parts(scope),
        }
    }

    #[inline(never)]
    fn truth_of_parts(&self, scope: &Scope<'_>) -> Option<bool> {
        match self {
            Self::Compare(..) => self.truth(scope),
            Self::All(parts) => decided(parts, false, scope),
            Self::Any(parts) => decided(parts, true, scope),
            Self::Not(part) => part.truth(scope).map(|truth| !truth),
            Self::Exists(sight) => Some(sight.see(scope).is_some()),
            Self::Truth(sight) => Some(sight.see(scope).is_some_and(item_truth)),
        }
    }
}

/// The truth of a comparison, unless it would take long.
#[inline(never)]
fn compare_briefly(comparison: Comparison, left: &Value, right: &Value) -> Option<bool> {
    compare_items(comparison, left, right, &Budget::new(COMPARED_MAX)).ok()
}

/// Whether one of the parts decides; the others are not looked at.
fn decided(parts: &[Quick], by: bool, scope: &Scope<'_>) -> Option<bool> {
    for part in parts {
        if part.truth(scope)? == by {
            return Some(by);
        }
    }
    Some(!by)
}

impl Operand {
    /// A constant, or a path of single steps from the input.
    fn of(expr: &Expr) -> Option<Self> {
        match &expr.kind {
            Kind::Literal(value) => Some(Self::Constant(value.clone())),
            Kind::Path(root) if matches!(root.from, From::Input) && root.path.leaps.is_empty() => {
                match &*root.path.head {
                    [] => None,
                    [Step::Name(part), Step::Name(member)] => {
                        Some(Self::Member(part.clone(), member.clone()))
                    }
                    steps => Some(Self::Path(steps.into())),
                }
            }
            _ => None,
        }
    }

    #[inline]
    fn see<'a>(&'a self, scope: &Scope<'a>) -> Option<&'a Value> {
        match self {
            Self::Constant(value) => Some(value),
            Self::Member(part, member) => see_member(part, member, scope),
            Self::Path(steps) => see_along(steps, scope),
        }
    }
}

#[inline(never)]
fn see_member<'a>(part: &'a MemberName, member: &'a MemberName, scope: &Scope<'a>) -> Option<&'a Value> {
    let part = match scope.whole() {
        Some(Value::Object(object)) => object.get_named(part),
        Some(_) => None,
        None => scope.part(part),
    };
    match part {
        Some(Value::Object(object)) => object.get_named(member),
        _ => None,
    }
}

/// Out of the way of shorter paths.
#[inline(never)]
fn see_along<'a>(steps: &'a [Step], scope: &Scope<'a>) -> Option<&'a Value> {
    if let Some(value) = scope.whole() {
        return step_into(value, steps);
    }
    let (part, rest) = steps.split_first()?;
    let name = part.name()?;
    step_into(scope.part(name)?, rest)
}

#[cfg(test)]
mod tests {
    use jaren_json::{Value, value};

    use crate::{Query, Scope};

    /// Guards of every quick form over what is there, of several kinds, and what is not.
    fn guards() -> Vec<Value> {
        let operands = ["$.a", "$.b.c", "$.b.d[1].e", "$.b.d[-1]", "$.none", "$.b.none.c"].map(Value::from);
        let constants = [value!(1), value!("x"), value!(null), value!({ "$const": [1, 2] })];
        let mut guards = Vec::new();
        for left in operands.iter().chain(&constants) {
            guards.extend([left.clone(), value!({ "$exists": left }), value!({ "$empty": left })]);
            for right in operands.iter().chain(&constants) {
                for operator in ["$eq", "$ne", "$lt", "$ge"] {
                    let compare = value!({ (operator): [left, right] });
                    guards.push(value!({ "$not": (compare.clone()) }));
                    guards.push(value!({ "$or": [(compare.clone()), { "$boolean": left }] }));
                    guards.push(value!({ "$and": [left, compare] }));
                }
            }
        }
        guards
    }

    #[test]
    fn the_quick_truth_is_that_of_an_evaluation() {
        let (a, b) = (value!(1), value!({ "c": "x", "d": [[1, 2], { "e": 1 }] }));
        let parts = [("a", &a), ("b", &b)];
        let whole = value!({ "a": 1, "b": (b.clone()) });
        let mut quick = 0;
        for guard in guards() {
            let Ok(query) = Query::compile(&guard) else { continue };
            quick += usize::from(query.quick.is_some());
            // An array constructor evaluates what stands in it, and a query of one is not quick.
            let evaluated =
                Query::compile(&value!({ "$and": [(guard.clone()), { "$exists": ["x"] }] })).unwrap();
            assert!(evaluated.quick.is_none());
            for scope in [Scope::record(&parts), Scope::value(&whole)] {
                assert_eq!(query.truth(&scope).unwrap(), evaluated.truth(&scope).unwrap(), "{guard}");
            }
        }
        assert!(quick > 500, "only {quick} guards are quick");
    }
}
