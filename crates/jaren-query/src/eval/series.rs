//! Time series (section 8.16).

use std::cmp::Ordering;

use jaren_json::Value;

use super::item::{Got, Item, Seq};
use super::table::Table;
use super::{KEPT, Run, Sink, Stop};
use crate::budget::Spent;
use crate::error::{EvalError, GUARD, TYPE};
use crate::place::Place;
use crate::plan::{Expr, Pair};
use crate::series::{
    AsOf, Columns, Failure, Row, Series, TimeBucket, instant, join, ladder, records, resample, rolling,
};

impl<'a> Run<'a> {
    /// `$overlaps`: whether two half-open intervals share an instant; nothing where an operand is empty.
    pub(super) fn overlaps(&mut self, pair: &'a Pair) -> Result<Option<Item<'a>>, EvalError> {
        let [left, right] = &**pair;
        let (left_place, right_place) = (left.place, right.place);
        let Some(left) = self.got(left)? else { return Ok(None) };
        let Some(right) = self.got(right)? else { return Ok(None) };
        let (left, right) = (self.record(&left, left_place)?, self.record(&right, right_place)?);
        let bounds = interval(left).and_then(|left| interval(right).map(|right| (left, right)));
        let ((from, to), (begin, end)) = bounds.map_err(|reason| self.fail(TYPE, left_place, reason))?;
        Ok(Some(Item::Own(Value::Bool(from < end && begin < to))))
    }

    fn record<'g>(&self, got: &'g Got<'a>, place: Place) -> Result<&'g Value, EvalError> {
        match got {
            Got::One(item) if item.value().as_object().is_some() => Ok(item.value()),
            got => {
                let message = format!("expected an interval {{start, end}}, found {}", got.describe());
                Err(self.fail(TYPE, place, message))
            }
        }
    }

    /// `$time-bucket`: where the bucket begins that an instant falls in; nothing where an operand is empty.
    pub(super) fn time_bucket(&mut self, operator: &'a TimeBucket) -> Result<Option<f64>, EvalError> {
        let TimeBucket { pair, origin, clock, ladder: known } = operator;
        let [at, every] = &**pair;
        let (at_place, every_place) = (at.place, every.place);
        let Some(at) = self.got(at)? else { return Ok(None) };
        let Some(every) = self.got(every)? else { return Ok(None) };
        let origin = match origin {
            Some(origin) => self.one(origin)?,
            None => Got::None,
        };
        let computed;
        let ladder = if let Some(known) = known {
            known
        } else {
            let origin = match &origin {
                Got::None => None,
                Got::One(item) => Some(item.value()).filter(|origin| !matches!(origin, Value::Null)),
                Got::Several => {
                    return Err(self.fail(TYPE, every_place, "expected one origin, found several items"));
                }
            };
            computed = match &every {
                Got::One(every) => ladder(every.value(), origin, clock),
                _ => Err("expected one width, found several items"),
            }
            .map_err(|reason| self.fail(TYPE, every_place, reason))?;
            &computed
        };
        let at = match &at {
            Got::One(at) => instant(Some(at.value())),
            _ => Err("expected one instant, found several items"),
        };
        at.and_then(|at| ladder.floor(at)).map(Some).map_err(|reason| self.fail(TYPE, at_place, reason))
    }

    /// What an operand answers, or nothing.
    fn got(&mut self, operand: &'a Expr) -> Result<Option<Got<'a>>, EvalError> {
        let got = self.one(operand)?;
        Ok(if matches!(got, Got::None) { None } else { Some(got) })
    }

    /// `$resample`, `$rolling` and `$asof`.
    pub(super) fn series(&mut self, operator: &'a Series, sink: Sink<'_, 'a>) -> Result<(), Stop> {
        let answers = match operator {
            Series::Resample(operand, spec, place) => {
                let rows = self.rows(operand)?;
                let samples = self.allowed(spec.columns.samples(&rows), *place)?;
                let max = self.generated_max();
                let buckets = resample(spec, &samples, max).map_err(|failure| match failure {
                    Failure::Refused(reason) => self.fail(TYPE, *place, reason),
                    Failure::TooMany => {
                        self.fail(GUARD, *place, format!("expected at most {max} buckets without rows"))
                    }
                })?;
                self.spend(KEPT * buckets.len(), operand.place)?;
                records(&buckets)
            }
            Series::Rolling(operand, spec, place) => {
                let rows = self.rows(operand)?;
                let samples = self.allowed(spec.columns.samples(&rows), *place)?;
                records(&self.allowed(rolling(spec, &samples), *place)?)
            }
            Series::AsOf(pair, spec, place) => {
                let answers = self.as_of(pair, spec, *place)?;
                // Unlike buckets, these hold rows.
                answers.into_iter().map(|value| self.sized(value, *place)).collect::<Result<_, _>>()?
            }
        };
        answers.into_iter().try_for_each(|value| sink(self, Item::Own(value)))
    }

    fn as_of(&mut self, pair: &'a Pair, spec: &AsOf, place: Place) -> Result<Vec<Value>, EvalError> {
        let [left, right] = &**pair;
        let (left, right) = (self.rows(left)?, self.rows(right)?);
        let mut left = self.allowed(stamped(left, &spec.left), place)?;
        let mut right = self.allowed(stamped(right, &spec.right), place)?;
        if let Some(by) = &spec.by {
            let mut groups = Table::new(1);
            for row in left.iter_mut().chain(&mut right) {
                let key = by.read(&row.value).map(|key| Item::Own(key.clone()));
                let placed = groups.place(&[key], &self.work);
                (row.group, _) = placed.map_err(|Spent| self.spent(place))?;
            }
        }
        Ok(join(&left, &right, spec.direction, spec.tolerance))
    }

    /// The rows of a series: the items, or the members of the one array.
    fn rows(&mut self, operand: &'a Expr) -> Result<Vec<Value>, EvalError> {
        let items = self.seq(operand)?;
        if let Seq::One(item) = &items {
            match item.value() {
                Value::Array(rows) => {
                    self.spend(KEPT * rows.len(), operand.place)?;
                    return Ok(rows.to_vec());
                }
                Value::Object(_) => {}
                other => {
                    let message = format!("expected the rows of a series, found {}", other.kind());
                    return Err(self.fail(TYPE, operand.place, message));
                }
            }
        }
        self.spend(KEPT * items.len(), operand.place)?;
        Ok(items.into_vec().into_iter().map(Item::into_value).collect())
    }

    fn allowed<T>(&self, answer: Result<T, impl Into<String>>, place: Place) -> Result<T, EvalError> {
        answer.map_err(|reason| self.fail(TYPE, place, reason))
    }
}

/// The rows of one side in the order of their instants, each with its instant in milliseconds, all in one group.
fn stamped(rows: Vec<Value>, columns: &Columns) -> Result<Vec<Row>, String> {
    let stamp = |(number, row): (usize, Value)| {
        let at = columns.read(number, &row)?.at;
        let value = match &row {
            // Member order is kept, and so is the row itself where nothing changes.
            Value::Object(object) if object.get("at").and_then(Value::as_f64) != Some(at) => {
                Value::Object(object.with("at", at))
            }
            _ => row,
        };
        Ok(Row { at, group: 0, value })
    };
    let mut rows = rows.into_iter().enumerate().map(stamp).collect::<Result<Vec<_>, String>>()?;
    rows.sort_by(|a, b| a.at.partial_cmp(&b.at).unwrap_or(Ordering::Equal)); // all are finite
    Ok(rows)
}

/// The bounds of an interval.
fn interval(record: &Value) -> Result<(f64, f64), &'static str> {
    let (start, end) = (instant(record.get("start"))?, instant(record.get("end"))?);
    if start < end { Ok((start, end)) } else { Err("expected an interval to end after its start") }
}
