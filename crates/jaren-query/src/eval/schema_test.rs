//! Schemas as tests and assertions (sections 6.8 and 8.11).

use super::item::{Item, Seq};
use super::modes::finished;
use super::{Run, Sink, Stop};
use crate::error::{ASSERTION, EvalError};
use crate::place::Place;
use crate::plan::{Assertion, Expr};
use crate::schema_test::SchemaTest;

impl<'a> Run<'a> {
    /// `$valid`: whether every item satisfies the schema.
    pub(super) fn valid(&mut self, test: &SchemaTest, operand: &'a Expr) -> Result<bool, EvalError> {
        let mut valid = true;
        finished(self.emit(operand, &mut |_, item| {
            valid = valid && test.accepts(item.value());
            Ok(())
        }))?;
        Ok(valid)
    }

    /// `$assert`: the items themselves, once all of them satisfy the schema.
    pub(super) fn assert(
        &mut self,
        (test, operand, key): (&SchemaTest, &'a Expr, Place),
        sink: Sink<'_, 'a>,
    ) -> Result<(), Stop> {
        let items = self.seq(operand)?;
        self.satisfied(test, &items, key)?;
        items.into_vec().into_iter().try_for_each(|item| sink(self, item))
    }

    /// `$as`: each item of the variables that it names.
    pub(super) fn assertions(&self, assertions: &[Assertion]) -> Result<(), EvalError> {
        assertions
            .iter()
            .try_for_each(|Assertion { slot, test, place }| self.satisfied(test, self.slot(*slot), *place))
    }

    fn satisfied(&self, test: &SchemaTest, items: &Seq<'a>, place: Place) -> Result<(), EvalError> {
        let failing = items.as_slice().iter().map(Item::value).position(|item| !test.accepts(item));
        failing.map_or(Ok(()), |index| {
            Err(self.fail(ASSERTION, place, format!("item {index} does not satisfy the schema")))
        })
    }
}
