//! Constructors (sections 3.1, 3.4 and 3.5.2).

use jaren_json::{Array, Object, ObjectBuilder, Value};

use super::item::Got;
use super::modes::finished;
use super::{KEPT, Run};
use crate::error::{EvalError, KEY, TYPE};
use crate::path::Sight;
use crate::place::Place;
use crate::plan::{Expr, Kind, Members};

impl<'a> Run<'a> {
    /// An array of everything that the elements answer.
    pub(super) fn array(&mut self, elements: &'a [Expr]) -> Result<Value, EvalError> {
        let from = self.parts.len();
        for element in elements {
            finished(self.emit(element, &mut |run, item| {
                run.parts.push(item.into_value());
                Ok(run.spend_kept(run.parts.len() - from, element.place)?)
            }))?;
        }
        Ok(Array::from(self.parts.drain(from..)).into())
    }

    /// An object of the members whose expressions answer an item.
    pub(super) fn object(&mut self, members: &'a Members, place: Place) -> Result<Object, EvalError> {
        let from = self.parts.len();
        let mut left_out = Vec::new();
        for (index, (_, expr)) in members.members.iter().enumerate() {
            if !self.push_member(expr)? {
                left_out.push(index);
            }
        }
        self.spend(KEPT * members.members.len(), place)?;
        let parts = self.parts.drain(from..);
        if left_out.is_empty()
            && let Some(shape) = &members.shape
        {
            return Ok(Object::from_shape_drain(shape, parts).unwrap_or_default());
        }
        let names =
            members.members.iter().enumerate().filter(|(index, _)| left_out.binary_search(index).is_err());
        Ok(names.map(|(_, (name, _))| name).zip(parts).collect())
    }

    /// `$map`: later pairs win, and a pair without a value is as if it were not there.
    pub(super) fn map(&mut self, pairs: &'a [[Expr; 2]]) -> Result<Value, EvalError> {
        let mut object = ObjectBuilder::new();
        for [key, value] in pairs {
            self.spend(KEPT, key.place)?;
            let name = match self.one(key)? {
                Got::One(item) if item.value().as_str().is_some() => item.into_value(),
                got => {
                    let message =
                        format!("expected one text as the name of a member, found {}", got.describe());
                    return Err(self.fail(KEY, key.place, message));
                }
            };
            if let (Some(value), Value::String(name)) = (self.member(value)?, name) {
                object.insert(name, value);
            }
        }
        Ok(object.build().into())
    }

    /// Adds the value of a member to the parts, if it has one. Values are written where they stay: to hand them up through
    /// results costs as much as to make them.
    #[inline]
    fn push_member(&mut self, expr: &'a Expr) -> Result<bool, EvalError> {
        match (self.sight(expr), &expr.kind) {
            (Sight::At(value), _) => {
                self.step(expr)?;
                self.parts.push(value.clone());
            }
            (Sight::Nowhere, _) => {
                self.step(expr)?;
                return Ok(false);
            }
            (Sight::Hidden, Kind::Number(number)) => {
                self.step(expr)?;
                let Some(number) = self.numeric(number)? else { return Ok(false) };
                self.parts.push(Value::Number(number));
            }
            (Sight::Hidden, _) => {
                let Some(value) = self.member(expr)? else { return Ok(false) };
                self.parts.push(value);
            }
        }
        Ok(true)
    }

    fn member(&mut self, expr: &'a Expr) -> Result<Option<Value>, EvalError> {
        match self.one(expr)? {
            Got::None => Ok(None),
            Got::One(item) => Ok(Some(item.into_value())),
            Got::Several => {
                Err(self.fail(TYPE, expr.place, "expected at most one item as a member, found several"))
            }
        }
    }
}
