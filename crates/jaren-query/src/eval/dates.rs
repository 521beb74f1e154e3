//! Dates and times (section 8.13).

use super::Run;
use super::item::{Got, Item};
use crate::dates::{Component, DatePattern, DateText, Duration, Edge, Form, Side, Stamp, Unit, difference};
use crate::error::{EvalError, TYPE};
use crate::place::Place;
use crate::plan::{Expr, Pair};

use jaren_json::Value;

impl<'a> Run<'a> {
    /// `$is-date` and its like: whether the operand is one text of that form.
    pub(super) fn has_form(&mut self, form: Form, operand: &'a Expr) -> Result<bool, EvalError> {
        let got = self.one(operand)?;
        let Some(text) = text_of(&got) else { return Ok(false) };
        Ok(match form {
            Form::Duration => Duration::parse(text).is_some_and(|duration| duration.strict),
            form => Stamp::parse(text).is_some_and(|stamp| stamp.form() == form),
        })
    }

    /// A component of a date or time; nothing of nothing. Only an offset may be missing.
    pub(super) fn component(
        &mut self,
        component: Component,
        operand: &'a Expr,
    ) -> Result<Option<f64>, EvalError> {
        let Some(stamp) = self.stamp(operand)? else { return Ok(None) };
        match (stamp.component(component), component) {
            (None, Component::Offset) => Ok(None),
            (None, Component::Hours | Component::Minutes | Component::Seconds) => {
                Err(self.fail(TYPE, operand.place, "expected a value with a time, found a date"))
            }
            (None, _) => Err(self.fail(TYPE, operand.place, "expected a value with a date, found a time")),
            (number, _) => Ok(number),
        }
    }

    /// `$date-diff`: whole units from one value to another.
    pub(super) fn date_difference(&mut self, operands: &'a [Expr; 3]) -> Result<Option<f64>, EvalError> {
        let [from, to, unit] = operands;
        let (got_from, got_to) = (self.one(from)?, self.one(to)?);
        if matches!(got_from, Got::None) || matches!(got_to, Got::None) {
            return Ok(None);
        }
        let (start, end) = (self.stamp_of(&got_from, from.place)?, self.stamp_of(&got_to, to.place)?);
        let unit = self.unit(unit)?;
        difference(&start, &end, unit).map(Some).map_err(|side| {
            let place = if side == Side::From { from.place } else { to.place };
            self.fail(TYPE, place, "expected values with a date to measure between, found a time")
        })
    }

    /// An operator that answers a date or time as a text; nothing where an operand is empty.
    pub(super) fn date_text(&mut self, operator: &'a DateText) -> Result<Option<Value>, EvalError> {
        match operator {
            DateText::Instant(operand) => self.instant_text(operand),
            DateText::Shift { back, pair, unit } => self.shifted(*back, pair, unit.as_deref()),
            DateText::Truncate(edge, pair) => self.truncated(*edge, pair),
            DateText::Format(pair, pattern) => self.formatted(pair, pattern.as_ref()),
        }
    }

    fn instant_text(&mut self, operand: &'a Expr) -> Result<Option<Value>, EvalError> {
        let Some(instant) = self.number(operand)? else { return Ok(None) };
        let stamp = Stamp::from_epoch(instant).ok_or_else(|| {
            self.fail(TYPE, operand.place, "expected milliseconds of an instant in the years 0000 to 9999")
        })?;
        Ok(Some(Value::from(stamp.to_string())))
    }

    fn shifted(
        &mut self,
        back: bool,
        pair: &'a Pair,
        unit: Option<&'a Expr>,
    ) -> Result<Option<Value>, EvalError> {
        let [operand, amount] = &**pair;
        let Some(stamp) = self.stamp(operand)? else { return Ok(None) };
        let shifted = match unit {
            None => {
                let got = self.one(amount)?;
                if matches!(got, Got::None) {
                    return Ok(None);
                }
                self.spend(text_of(&got).map_or(0, str::len) / 64, amount.place)?;
                let duration = text_of(&got).and_then(Duration::parse).ok_or_else(|| {
                    let message = format!("expected an ISO 8601 duration, found {}", got.describe());
                    self.fail(TYPE, amount.place, message)
                })?;
                duration.shift(stamp, back)
            }
            Some(unit) => {
                let Some(amount) = self.number(amount)? else { return Ok(None) };
                stamp.shift(if back { -amount } else { amount }, self.unit(unit)?)
            }
        };
        self.written(shifted, operand.place)
    }

    fn truncated(&mut self, edge: Edge, pair: &'a Pair) -> Result<Option<Value>, EvalError> {
        let [operand, unit] = &**pair;
        let Some(stamp) = self.stamp(operand)? else { return Ok(None) };
        let unit = self.unit(unit)?;
        self.written(stamp.edge(edge, unit), operand.place)
    }

    fn written(&self, answer: Result<Stamp, &'static str>, place: Place) -> Result<Option<Value>, EvalError> {
        answer
            .map(|stamp| Some(Value::from(stamp.to_string())))
            .map_err(|refusal| self.fail(TYPE, place, refusal))
    }

    fn formatted(
        &mut self,
        pair: &'a Pair,
        literal: Option<&'a DatePattern>,
    ) -> Result<Option<Value>, EvalError> {
        let [operand, pattern] = &**pair;
        if let Some(literal) = literal {
            let Some(stamp) = self.stamp(operand)? else { return Ok(None) };
            return self.formatted_text(literal, &stamp, pattern.place);
        }
        let got = self.one(operand)?;
        if matches!(got, Got::None) {
            return Ok(None);
        }
        let got_pattern = self.one(pattern)?;
        let compiled = match text_of(&got_pattern) {
            Some(text) => DatePattern::parse(text),
            None => Err(format!("expected a text, found {}", got_pattern.describe())),
        };
        let compiled = compiled
            .map_err(|reason| self.fail(TYPE, pattern.place, format!("not a date pattern: {reason}")))?;
        let stamp = self.stamp_of(&got, operand.place)?;
        self.formatted_text(&compiled, &stamp, pattern.place)
    }

    fn formatted_text(
        &self,
        pattern: &DatePattern,
        stamp: &Stamp,
        place: Place,
    ) -> Result<Option<Value>, EvalError> {
        let text = pattern.format(stamp);
        self.spend(text.len() / 4, place)?;
        Ok(Some(Value::from(text)))
    }

    /// A date or time; nothing of nothing.
    fn stamp(&mut self, operand: &'a Expr) -> Result<Option<Stamp>, EvalError> {
        match self.one(operand)? {
            Got::None => Ok(None),
            got => self.stamp_of(&got, operand.place).map(Some),
        }
    }

    fn stamp_of(&self, got: &Got<'a>, place: Place) -> Result<Stamp, EvalError> {
        text_of(got).and_then(Stamp::parse).ok_or_else(|| {
            let message = format!("expected an RFC 3339 date, time or date-time, found {}", got.describe());
            self.fail(TYPE, place, message)
        })
    }

    fn unit(&mut self, operand: &'a Expr) -> Result<Unit, EvalError> {
        let got = self.one(operand)?;
        text_of(&got).and_then(Unit::parse).ok_or_else(|| {
            let message = format!("expected a unit from 'year' to 'millisecond', found {}", got.describe());
            self.fail(TYPE, operand.place, message)
        })
    }
}

fn text_of<'g>(got: &'g Got<'_>) -> Option<&'g str> {
    match got {
        Got::One(item) => Item::value(item).as_str(),
        Got::None | Got::Several => None,
    }
}
