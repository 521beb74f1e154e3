//! Sequence operators (sections 8.2 and 8.9).

use jaren_json::{Kind, Object, ObjectBuilder, Shape, Value};

use super::compare::key_order;
use super::item::{Got, Item, count, entry_of};
use super::modes::finished;
use super::table::Table;
use super::text::selected;
use super::{KEPT, Run, Sink, Stop};
use crate::budget::Spent;
use crate::error::{EvalError, GUARD, ORDER, TYPE};
use crate::plan::{Expr, Many};
use crate::relation::{Nan, equal};

/// The most items that a `$range` builds (section 8.9), or buckets without rows a `$resample`.
const GENERATED_ITEMS_MAX: usize = 1_000_000;

impl<'a> Run<'a> {
    pub(super) fn emit_many(
        &mut self,
        expr: &'a Expr,
        many: &'a Many,
        sink: Sink<'_, 'a>,
    ) -> Result<(), Stop> {
        match many {
            Many::Flwor(phrase) => self.flwor(expr, phrase, sink),
            Many::Seq(operands) => operands.iter().try_for_each(|operand| self.emit(operand, sink)),
            Many::Distinct(operand) => {
                let mut met = Table::new(1);
                self.emit(operand, &mut |run, item| {
                    let placed = met.place(&[Some(item.clone())], &run.work);
                    let (_, new) = placed.map_err(|Spent| run.spent(operand.place))?;
                    if new { sink(run, item) } else { Ok(()) }
                })
            }
            Many::Reverse(operand) => {
                self.list(operand)?.into_iter().rev().try_for_each(|item| sink(self, item))
            }
            Many::Sort(operand) => self.sorted(operand)?.into_iter().try_for_each(|item| sink(self, item)),
            Many::Tail(operand) => {
                let mut head = true;
                self.emit(operand, &mut |run, item| {
                    if std::mem::take(&mut head) { Ok(()) } else { sink(run, item) }
                })
            }
            Many::Subsequence(pair, length) => {
                let [operand, start] = &**pair;
                let items = self.list(operand)?;
                let positions = self.positions(start, length.as_deref())?;
                let chosen =
                    items.into_iter().enumerate().filter(|(position, _)| selected(*position, positions));
                chosen.map(|(_, item)| item).try_for_each(|item| sink(self, item))
            }
            Many::IndexOf(pair) => self.index_of(pair, sink),
            Many::Range(pair, key) => {
                let Some((start, end)) = self.range_bounds(pair)? else { return Ok(()) };
                let max = self.generated_max();
                if end - start + 1.0 > count(max) {
                    return Err(self
                        .fail(GUARD, *key, format!("expected a range of at most {max} items"))
                        .into());
                }
                self.spend(range_len(start, end), *key)?;
                let mut at = start;
                while at <= end {
                    sink(self, Item::number(at))?;
                    at += 1.0;
                }
                Ok(())
            }
            Many::Entries(operand) => self.entries(operand, sink),
            Many::Assert(test, operand, key) => self.assert((test, operand, *key), sink),
            Many::CellsAround(operand) => self.cells_around(operand, sink),
            Many::Series(operator) => self.series(operator, sink),
            Many::Extended(phrase) => self.extended(phrase, sink),
        }
    }

    /// The most items that one operator makes out of nothing.
    pub(super) fn generated_max(&self) -> usize {
        let max = self.plan.limits.sequence_items;
        max.map_or(GENERATED_ITEMS_MAX, |max| GENERATED_ITEMS_MAX.min(max.get()))
    }

    /// The items as a list of their own, which is a copy where they are a variable's.
    fn list(&mut self, operand: &'a Expr) -> Result<Vec<Item<'a>>, EvalError> {
        let items = self.seq(operand)?;
        self.spend(items.len(), operand.place)?;
        Ok(items.into_vec())
    }

    fn sorted(&mut self, operand: &'a Expr) -> Result<Vec<Item<'a>>, EvalError> {
        let mut items = self.list(operand)?;
        let kind = items.first().map(|item| item.value().kind());
        let sortable = matches!(kind, None | Some(Kind::Number | Kind::String))
            && items.iter().all(|item| Some(item.value().kind()) == kind);
        if !sortable {
            return Err(self.fail(ORDER, operand.place, "expected only numbers or only texts to sort"));
        }
        items.iter().try_for_each(|item| self.spend_sorted(item.value(), operand.place))?;
        items.sort_by(|left, right| key_order(left, right, &mut false));
        Ok(items)
    }

    fn index_of(&mut self, pair: &'a [Expr; 2], sink: Sink<'_, 'a>) -> Result<(), Stop> {
        let [operand, wanted] = pair;
        let items = self.seq(operand)?;
        let wanted = match self.one(wanted)? {
            Got::One(item) => item,
            got => {
                let message = format!("expected one item to look for, found {}", got.describe());
                return Err(self.fail(TYPE, wanted.place, message).into());
            }
        };
        for (position, item) in items.as_slice().iter().enumerate() {
            self.spend(1, operand.place)?;
            let same = equal(item.value(), wanted.value(), Nan::Unequal, &self.work);
            if same.map_err(|Spent| self.spent(operand.place))? {
                sink(self, Item::number(count(position)))?;
            }
        }
        Ok(())
    }

    fn entries(&mut self, operand: &'a Expr, sink: Sink<'_, 'a>) -> Result<(), Stop> {
        let shape = Shape::new(["key", "value"]);
        self.emit(operand, &mut |run, item| {
            let Value::Object(object) = item.value() else { return Ok(()) };
            for (name, value) in object {
                run.spend(2 * KEPT, operand.place)?;
                let pair = vec![Value::from(name), value.clone()];
                let pair =
                    shape.as_ref().and_then(|shape| Object::from_shape(shape, pair)).unwrap_or_default();
                sink(run, Item::Own(pair.into()))?;
            }
            Ok(())
        })
    }

    /// Items that are no object with a text as `key` contribute nothing.
    pub(super) fn object_of_entries(&mut self, operand: &'a Expr) -> Result<Value, EvalError> {
        let mut object = ObjectBuilder::new();
        finished(self.emit(operand, &mut |run, item| {
            if let Some((key, value)) = item.value().as_object().and_then(entry_of) {
                run.spend(KEPT, operand.place)?;
                object.insert(key, value);
            }
            Ok(())
        }))?;
        self.sized(object.build().into(), operand.place)
    }

    /// The first item; the operand is evaluated to its end, where it may still fail.
    pub(super) fn head(&mut self, operand: &'a Expr) -> Result<Option<Item<'a>>, EvalError> {
        let mut first = None;
        finished(self.emit(operand, &mut |_, item| {
            first.get_or_insert(item);
            Ok(())
        }))?;
        Ok(first)
    }

    /// Dynamic lookup; whatever does not fit answers nothing.
    pub(super) fn get(&mut self, pair: &'a [Expr; 2]) -> Result<Option<Item<'a>>, EvalError> {
        let [target, key] = pair;
        let (target, key) = (self.one(target)?, self.one(key)?);
        let (Got::One(target), Got::One(key)) = (target, key) else { return Ok(None) };
        Ok(match target {
            Item::Ref(value) => lookup(value, key.value()).map(Item::Ref),
            Item::Own(value) => lookup(&value, key.value()).map(|found| Item::Own(found.clone())),
        })
    }
}

fn lookup<'v>(target: &'v Value, key: &Value) -> Option<&'v Value> {
    match (target, key) {
        (Value::Object(object), Value::String(name)) => object.get(name),
        (Value::Array(array), Value::Number(_)) => {
            let index = key.as_i64()?;
            let distance = usize::try_from(index.unsigned_abs()).ok()?;
            array.get(if index < 0 { array.len().checked_sub(distance)? } else { distance })
        }
        _ => None,
    }
}

/// How many items a range has that is not longer than any may be.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most `GENERATED_ITEMS_MAX`, and whole"
)]
fn range_len(start: f64, end: f64) -> usize {
    (end - start + 1.0).max(0.0) as usize
}
