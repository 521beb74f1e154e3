//! Constructors (sections 3.1, 3.4 and 3.5.2).

use std::iter;

use jaren_json::{Array, Object, ObjectBuilder, Value};

use super::item::Got;
use super::modes::finished;
use super::{KEPT, Run, Stop};
use crate::error::{EvalError, KEY, TYPE};
use crate::path::Sight;
use crate::place::Place;
use crate::plan::{Expr, Kind, Many, Members};
use crate::query::Limits;

/// A list that is being built at the end of the parts.
#[derive(Clone, Copy)]
pub(super) struct List {
    /// Where it begins.
    from: usize,
    /// Whose items are added.
    place: Place,
}

impl<'a> Run<'a> {
    /// An array of everything that the elements answer.
    pub(super) fn array(&mut self, elements: &'a [Expr], place: Place) -> Result<Value, EvalError> {
        let from = self.parts.len();
        for element in elements {
            self.push(element, List { from, place: element.place })?;
        }
        let array = Array::from(self.parts.drain(from..)).into();
        self.sized(array, place)
    }

    /// Adds the items of an expression to the parts: what an emission does whose sink does that, without handing each item
    /// from one to the other where there are many.
    pub(super) fn push(&mut self, expr: &'a Expr, list: List) -> Result<(), EvalError> {
        let ended = match &expr.kind {
            Kind::Many(Many::Flwor(phrase)) if phrase.fold.is_none() => {
                self.step(expr)?;
                self.push_flwor(expr, phrase, list)
            }
            Kind::Object(members) => {
                self.step(expr)?;
                let object = self.object(members, expr.place)?;
                self.push_part(|| Value::Object(object), list)
            }
            Kind::Path(root) => {
                self.step(expr)?;
                self.emit_path(root, expr.place, |run, item| run.push_part(|| item.into_value(), list))
            }
            _ => self.emit(expr, &mut |run, item| run.push_part(|| item.into_value(), list)),
        };
        finished(ended)
    }

    #[inline]
    fn push_part(&mut self, make: impl FnOnce() -> Value, List { from, place }: List) -> Result<(), Stop> {
        // Unlike `push`, this makes the value once there is room for it, and where it stays.
        self.parts.extend(iter::once_with(make));
        Ok(self.spend_kept(self.parts.len() - from, place)?)
    }

    /// An object of the members whose expressions answer an item.
    pub(super) fn object(&mut self, members: &'a Members, place: Place) -> Result<Object, EvalError> {
        let mut failed = None;
        let mut left_out = Vec::new();
        let object = Object::from_shape_fn(&members.shape, |position, value| {
            let Some(expr) = members.values.get(position).filter(|_| failed.is_none()) else { return };
            match self.fill(value, expr) {
                Ok(true) => {}
                Ok(false) => left_out.push(position),
                Err(error) => failed = Some(error),
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        self.spend(KEPT * members.values.len(), place)?;
        // Before any member is left out, which makes it no larger.
        if object.size() > Limits::SIZE {
            return Err(self.oversized(place));
        }
        if left_out.is_empty() {
            return Ok(object);
        }
        let named = members.shape.names().iter().zip(object.values()).enumerate();
        let kept = named.filter(|(position, _)| left_out.binary_search(position).is_err());
        Ok(kept.map(|(_, member)| member).collect())
    }

    /// Writes the value of a member where it stays, if it has one.
    #[inline]
    fn fill(&mut self, place: &mut Value, expr: &'a Expr) -> Result<bool, EvalError> {
        match (self.sight(expr), &expr.kind) {
            (Sight::At(value), _) => {
                self.step(expr)?;
                place.clone_from(value);
            }
            (Sight::Nowhere, _) => {
                self.step(expr)?;
                return Ok(false);
            }
            (Sight::Hidden, Kind::Number(number)) => {
                self.step(expr)?;
                let Some(number) = self.numeric(number)? else { return Ok(false) };
                *place = Value::Number(number);
            }
            (Sight::Hidden, _) => {
                let Some(value) = self.member(expr)? else { return Ok(false) };
                *place = value;
            }
        }
        Ok(true)
    }

    /// `$map`: later pairs win, and a pair without a value is as if it were not there.
    pub(super) fn map(&mut self, pairs: &'a [[Expr; 2]], place: Place) -> Result<Value, EvalError> {
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
        self.sized(object.build().into(), place)
    }

    fn member(&mut self, expr: &'a Expr) -> Result<Option<Value>, EvalError> {
        match self.one(expr)? {
            Got::None => Ok(None),
            Got::One(item) => Ok(Some(item.into_value())),
            Got::Several => {
                let message =
                    "expected at most one item as a member, found several; a list takes them all: [\u{2026}]";
                Err(self.fail(TYPE, expr.place, message))
            }
        }
    }
}
