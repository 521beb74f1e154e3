//! Joins of two `$for` bindings by a table, where that cannot be told from scanning (`compile::join`).

use super::barrier::Table;
use super::item::{Got, Item, Seq};
use super::{Next, Run, Stop};
use crate::error::EvalError;
use crate::plan::{Binding, Comparison, Expr, Flwor, Join, JoinSide, Kind, Test};
use crate::relation::holds_nan;

/// The items of the joined source.
pub(super) struct Joined<'a> {
    table: Table<'a>,
    /// The items with each key of the table, in order.
    with_key: Vec<Vec<Item<'a>>>,
}

impl<'a> Run<'a> {
    /// The tuples that the joined binding adds to the current one: those that satisfy the phrase's `$where`.
    pub(super) fn matching(
        &mut self,
        phrase: &'a Flwor,
        (join, binding): (Join, &'a Binding),
        joined: &mut Option<Joined<'a>>,
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        let Some((pair, rest)) = equality(phrase) else { return Ok(()) };
        let [left, right] = pair;
        let (inner, outer) = match join.inner {
            JoinSide::Left => (left, right),
            JoinSide::Right => (right, left),
        };
        if joined.is_none() {
            *joined = Some(self.table(binding, inner)?);
        }
        let Some(joined) = joined else { return Ok(()) };
        let keys = self.seq(outer)?;
        // Several keys may select an item by more than one of them, and it comes once, in the order of the source.
        if keys.len() > 1 {
            return self.scan(phrase, binding, next);
        }
        let Some(key) = keys.into_vec().pop().filter(|key| !holds_nan(key.value())) else { return Ok(()) };
        let Some(items) = joined.table.find(&[Some(key)]).and_then(|at| joined.with_key.get(at)) else {
            return Ok(());
        };
        for item in items {
            self.set(binding.slot, Seq::One(item.clone()));
            if self.all(rest)? {
                next(self)?;
            }
        }
        Ok(())
    }

    /// The joined source by its keys. What is not a number never equals anything, and is left out.
    fn table(&mut self, binding: &'a Binding, key: &'a Expr) -> Result<Joined<'a>, EvalError> {
        let mut joined = Joined { table: Table::new(1), with_key: Vec::new() };
        let ended = self.each(&binding.source, false, &mut |run, item| {
            run.set(binding.slot, Seq::One(item.clone()));
            let Got::One(key) = run.one(key)? else { return Ok(()) };
            if !holds_nan(key.value()) {
                let (at, new) = joined.table.place(&[Some(key)]);
                if new {
                    joined.with_key.push(Vec::new());
                }
                joined.with_key.get_mut(at).into_iter().for_each(|items| items.push(item.clone()));
            }
            Ok(())
        });
        super::modes::finished(ended)?;
        Ok(joined)
    }

    fn scan(&mut self, phrase: &'a Flwor, binding: &'a Binding, next: Next<'_, 'a>) -> Result<(), Stop> {
        self.each(&binding.source, true, &mut |run, item| {
            run.set(binding.slot, Seq::One(item));
            run.survive(phrase, next)
        })
    }

    fn all(&mut self, operands: &'a [Expr]) -> Result<bool, EvalError> {
        for operand in operands {
            if !self.truth(operand)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The equality of a phrase that joins, and what its `$where` asks beyond it.
fn equality(phrase: &Flwor) -> Option<(&[Expr; 2], &[Expr])> {
    let filter = phrase.filter.as_ref()?;
    let (first, rest) = match &filter.kind {
        Kind::Test(Test::And(operands)) => operands.split_first()?,
        _ => (filter, &[][..]),
    };
    match &first.kind {
        Kind::Test(Test::Compare(Comparison::Eq, pair)) => Some((pair, rest)),
        _ => None,
    }
}
