//! Aggregates (section 8.8): one pass, nothing kept but the state.

use jaren_json::{Kind, Value};

use super::Run;
use super::item::{Item, count};
use super::modes::finished;
use crate::error::{EvalError, TYPE};
use crate::plan::{Aggregate, Expr};

/// The state of one aggregate.
#[derive(Default)]
struct State<'a> {
    items: usize,
    total: f64,
    /// The least or the greatest item.
    best: Option<Item<'a>>,
    nan: bool,
    /// The first item that does not belong here: reported when the operand has been evaluated.
    misfit: Option<Kind>,
}

impl<'a> Run<'a> {
    /// The number of items.
    pub(super) fn count(&mut self, operand: &'a Expr) -> Result<f64, EvalError> {
        let mut items = 0;
        finished(self.emit(operand, &mut |_, _| {
            items += 1;
            Ok(())
        }))?;
        Ok(count(items))
    }

    /// `$sum`, `$avg`, `$min` or `$max`; nothing of nothing, save a sum of zero.
    pub(super) fn aggregate(
        &mut self,
        aggregate: Aggregate,
        operand: &'a Expr,
    ) -> Result<Option<Item<'a>>, EvalError> {
        let mut state = State::default();
        finished(self.emit(operand, &mut |run, item| {
            let better = match aggregate {
                Aggregate::Sum | Aggregate::Avg => {
                    state.add(&item);
                    return Ok(());
                }
                Aggregate::Min => std::cmp::Ordering::Less,
                Aggregate::Max => std::cmp::Ordering::Greater,
            };
            run.spend_sorted(item.value(), operand.place)?;
            state.choose(item, better);
            Ok(())
        }))?;
        if let Some(found) = state.misfit {
            let expected = match aggregate {
                Aggregate::Sum | Aggregate::Avg => "numbers",
                Aggregate::Min | Aggregate::Max => "only numbers or only texts",
            };
            return Err(self.fail(
                TYPE,
                operand.place,
                format!("expected {expected}, found {found} among them"),
            ));
        }
        Ok(match aggregate {
            Aggregate::Sum => Some(Item::number(state.total)),
            Aggregate::Avg if state.items == 0 => None,
            Aggregate::Avg => Some(Item::number(state.total / count(state.items))),
            Aggregate::Min | Aggregate::Max if state.nan => Some(Item::number(f64::NAN)),
            Aggregate::Min | Aggregate::Max => state.best,
        })
    }
}

impl<'a> State<'a> {
    fn add(&mut self, item: &Item<'a>) {
        match item.value() {
            // A lone negative zero stays one; two of them are added to a positive zero.
            Value::Number(number) if self.items == 0 => self.total = *number,
            Value::Number(number) if self.items == 1 => self.total = 0.0 + self.total + *number,
            Value::Number(number) => self.total += *number,
            other => self.refuse(other),
        }
        self.items += 1;
    }

    /// Keeps the item if it is before (`Less`) or after (`Greater`) the best so far.
    fn choose(&mut self, item: Item<'a>, better: std::cmp::Ordering) {
        let order = match (item.value(), self.best.as_ref().map(Item::value)) {
            (Value::Number(number), None) => {
                self.nan |= number.is_nan();
                Some(better)
            }
            (Value::String(_), None) => Some(better),
            (Value::Number(number), Some(Value::Number(best))) => {
                self.nan |= number.is_nan();
                number.partial_cmp(best)
            }
            (Value::String(text), Some(Value::String(best))) => Some(text.cmp(best)),
            (other, _) => {
                self.refuse(other);
                None
            }
        };
        if order == Some(better) {
            self.best = Some(item);
        }
    }

    fn refuse(&mut self, value: &Value) {
        self.misfit.get_or_insert_with(|| value.kind());
    }
}
