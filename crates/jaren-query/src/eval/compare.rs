//! General comparisons (section 8.4) and arithmetic (section 8.5).

use std::cmp::Ordering;

use jaren_json::Value;

use super::Run;
use super::item::{Item, Seq};
use crate::budget::{Budget, Spent};
use crate::error::{EvalError, ZERO};
use crate::path::Sight;
use crate::place::Place;
use crate::plan::{Arithmetic, Comparison, Expr, Number};
use crate::relation::{Nan, equal, ordered};

impl<'a> Run<'a> {
    /// Whether some item of the left operand compares with some item of the right one.
    pub(super) fn compare(&mut self, comparison: Comparison, pair: &'a [Expr; 2]) -> Result<bool, EvalError> {
        let [left, right] = pair;
        // Without a witness on the left the right one is not evaluated.
        match (self.sight(left), self.sight(right)) {
            (Sight::At(one), Sight::At(other)) => {
                self.step(left)?;
                self.step(right)?;
                let found = compare_items(comparison, one, other, &self.work);
                found.map_err(|Spent| self.spent(right.place))
            }
            (Sight::Nowhere, _) => self.step(left).map(|()| false),
            (Sight::At(_) | Sight::Hidden, _) => self.compare_hidden(comparison, left, right),
        }
    }

    #[inline(never)]
    fn compare_hidden(
        &mut self,
        comparison: Comparison,
        left: &'a Expr,
        right: &'a Expr,
    ) -> Result<bool, EvalError> {
        let left = self.seq(left)?;
        if matches!(left, Seq::Empty) {
            return Ok(false);
        }
        let items = self.seq(right)?;
        self.compare_any(comparison, left.as_slice(), items.as_slice(), right.place)
    }

    fn compare_any(
        &self,
        comparison: Comparison,
        left: &[Item<'a>],
        right: &[Item<'a>],
        place: Place,
    ) -> Result<bool, EvalError> {
        for left in left {
            for right in right {
                self.spend(1, place)?;
                let found = compare_items(comparison, left.value(), right.value(), &self.work);
                if found.map_err(|Spent| self.spent(place))? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// A number, or nothing where an operand is empty.
    pub(super) fn numeric(&mut self, number: &'a Number) -> Result<Option<f64>, EvalError> {
        match number {
            Number::Arithmetic(arithmetic, pair, key) => {
                let [left, right] = &**pair;
                let Some(left) = self.number(left)? else { return Ok(None) };
                let Some(right) = self.number(right)? else { return Ok(None) };
                match arithmetic {
                    Arithmetic::Add => Ok(Some(left + right)),
                    Arithmetic::Sub => Ok(Some(left - right)),
                    Arithmetic::Mul => Ok(Some(left * right)),
                    Arithmetic::Div => Ok(Some(left / right)),
                    Arithmetic::Idiv | Arithmetic::Mod if right == 0.0 => {
                        Err(self.fail(ZERO, *key, "expected a divisor other than zero"))
                    }
                    Arithmetic::Idiv => Ok(Some((left / right).trunc())),
                    Arithmetic::Mod => Ok(Some(left % right)),
                }
            }
            Number::Negate(operand) => Ok(self.number(operand)?.map(|number| -number)),
            Number::Cast(operand) => self.cast_to_number(operand),
            Number::Length(operand) => self.text_length(operand).map(Some),
            Number::Count(operand) => self.count(operand).map(Some),
            Number::Component(component, operand) => self.component(*component, operand),
            Number::DateDifference(operands) => self.date_difference(operands),
            Number::TimeBucket(operator) => self.time_bucket(operator),
            Number::Measure(measure, operand) => self.measure(*measure, operand),
            Number::Distance(pair) => self.distance(pair),
            Number::Similarity(pair) => self.similarity(pair),
        }
    }
}

#[inline]
#[expect(clippy::float_cmp, reason = "equality of doubles is what is meant")]
pub(crate) fn compare_numbers(comparison: Comparison, left: f64, right: f64) -> bool {
    match comparison {
        Comparison::Eq => left == right,
        Comparison::Ne => left != right,
        Comparison::Lt => left < right,
        Comparison::Le => left <= right,
        Comparison::Gt => left > right,
        Comparison::Ge => left >= right,
    }
}

/// Whether an item compares with another.
#[inline]
pub(crate) fn compare_items(
    comparison: Comparison,
    left: &Value,
    right: &Value,
    work: &Budget,
) -> Result<bool, Spent> {
    // Most comparisons are of numbers, and a NaN compares as the standard says.
    if let (Value::Number(left), Value::Number(right)) = (left, right) {
        return Ok(compare_numbers(comparison, *left, *right));
    }
    Ok(match comparison {
        Comparison::Eq => equal(left, right, Nan::Unequal, work)?,
        Comparison::Ne => !equal(left, right, Nan::Unequal, work)?,
        Comparison::Lt => ordered(left, right, work)?.is_some_and(Ordering::is_lt),
        Comparison::Le => ordered(left, right, work)?.is_some_and(Ordering::is_le),
        Comparison::Gt => ordered(left, right, work)?.is_some_and(Ordering::is_gt),
        Comparison::Ge => ordered(left, right, work)?.is_some_and(Ordering::is_ge),
    })
}

/// The order of keys (section 6.6): a NaN equals itself and is less than every other number; a text and a number have no
/// order, which `mixed` is told of, and then the number comes first so that sorting still has an order to follow.
pub(super) fn key_order(left: &Item<'_>, right: &Item<'_>, mixed: &mut bool) -> Ordering {
    match (left.value(), right.value()) {
        (Value::Number(left), Value::Number(right)) => {
            left.partial_cmp(right).unwrap_or_else(|| right.is_nan().cmp(&left.is_nan()))
        }
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(_), _) => {
            *mixed = true;
            Ordering::Less
        }
        _ => {
            *mixed = true;
            Ordering::Greater
        }
    }
}
