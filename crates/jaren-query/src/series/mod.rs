//! Time series (section 8.16): records with an instant and a reading.
//!
//! Instants are milliseconds since 1970-01-01T00:00:00Z. What a document writes about a series (widths, aggregates, the
//! clock) is read once when the query is compiled; only what the data decides is left to the evaluation.

mod asof;
mod clock;
mod ladder;
mod resample;
mod rolling;

pub(crate) use asof::{AsOf, Direction, Row, join};
pub(crate) use clock::{Choice, Clock};
pub(crate) use ladder::{Ladder, Width};
pub(crate) use resample::{Failure, Fill, Resample, resample};
pub(crate) use rolling::{Rolling, rolling};

use resample::length;

use std::cmp::Ordering;

use jaren_json::{MemberName, Object, Shape, Value};

use crate::dates::Stamp;
use crate::path::{Step, step_into};
use crate::place::Place;
use crate::plan::{Expr, Pair};

/// Operators that answer records of a series. The place is that of the specification, where what the data does wrong is
/// reported.
#[derive(Debug)]
pub(crate) enum Series {
    Resample(Expr, Resample, Place),
    Rolling(Expr, Rolling, Place),
    AsOf(Pair, AsOf, Place),
}

/// `$time-bucket`.
#[derive(Debug)]
pub(crate) struct TimeBucket {
    /// The instant and the width.
    pub(crate) pair: Pair,
    pub(crate) origin: Option<Expr>,
    pub(crate) clock: Clock,
    /// The buckets, where the width and the origin are literals.
    pub(crate) ladder: Option<Ladder>,
}

/// How the readings of a bucket or a window become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summary {
    Sum,
    Mean,
    Min,
    Max,
    First,
    Last,
    Count,
}

/// Where a row keeps something: the single steps of a path.
#[derive(Debug)]
pub(crate) struct Column(pub(crate) Vec<Step>);

impl Column {
    pub(crate) fn member(name: &str) -> Self {
        Self(vec![Step::Name(MemberName::new(name))])
    }

    pub(crate) fn read<'v>(&self, row: &'v Value) -> Option<&'v Value> {
        step_into(row, &self.0)
    }
}

/// Where the rows of a series keep their instants and readings.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) at: Column,
    pub(crate) value: Column,
}

impl Columns {
    /// Reads a row; its number is named where it is no sample.
    pub(crate) fn read(&self, number: usize, row: &Value) -> Result<Sample, String> {
        if !matches!(row, Value::Object(_) | Value::Array(_)) {
            return Err(format!("expected row {number} to be an object, found {}", row.kind()));
        }
        let at = instant(self.at.read(row)).map_err(|reason| format!("row {number}: {reason}"))?;
        let value = match self.value.read(row) {
            Some(Value::Null) => None,
            Some(Value::Number(value)) if value.is_finite() => Some(*value),
            _ => return Err(format!("expected the reading of row {number} to be a finite number or null")),
        };
        Ok(Sample { at, value })
    }

    /// The samples of all rows in the order of their instants.
    pub(crate) fn samples(&self, rows: &[Value]) -> Result<Vec<Sample>, String> {
        let samples = rows.iter().enumerate().map(|(number, row)| self.read(number, row));
        let mut samples = samples.collect::<Result<Vec<_>, _>>()?;
        samples.sort_by(|a, b| a.at.partial_cmp(&b.at).unwrap_or(Ordering::Equal)); // all are finite
        Ok(samples)
    }
}

/// A row as the operators see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) at: f64,
    /// Nothing where the reading is `null`.
    pub(crate) value: Option<f64>,
}

/// What a bucket or a window answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) at: f64,
    /// How many rows it held.
    pub(crate) count: usize,
    pub(crate) value: Option<f64>,
}

/// The records of buckets. The members of one that held no rows are in another order.
pub(crate) fn records(buckets: &[Bucket]) -> Vec<Value> {
    let held = Shape::new(["at", "count", "value"]);
    let empty = Shape::new(["at", "value", "count"]);
    let each = |bucket: &Bucket| {
        let at = Value::Number(bucket.at);
        let count = Value::Number(length(bucket.count));
        let value = bucket.value.map_or(Value::Null, Value::Number);
        if bucket.count == 0 {
            record(empty.as_ref(), vec![at, value, count])
        } else {
            record(held.as_ref(), vec![at, count, value])
        }
    };
    buckets.iter().map(each).collect()
}

/// An object of a shape, which is there and fits wherever this is called.
fn record(shape: Option<&Shape>, values: Vec<Value>) -> Value {
    shape.and_then(|shape| Object::from_shape(shape, values)).unwrap_or_default().into()
}

/// The instant that a value names: milliseconds, or an RFC 3339 text with a date.
pub(crate) fn instant(value: Option<&Value>) -> Result<f64, &'static str> {
    let instant = match value {
        Some(Value::Number(ms)) => Some(*ms),
        Some(Value::String(text)) => Stamp::parse(text).and_then(|stamp| stamp.epoch()),
        _ => None,
    };
    instant
        .filter(|ms| ms.is_finite())
        .ok_or("expected an instant: milliseconds since 1970, or an RFC 3339 date or date-time")
}

#[expect(clippy::float_cmp, reason = "instants are compared, not computed")]
fn same_instant(a: f64, b: f64) -> bool {
    a == b
}

/// The width that a value spells on that clock.
pub(crate) fn width(value: &Value, clock: &Clock) -> Result<Width, &'static str> {
    match value {
        Value::Number(ms) => Width::of_ms(*ms, clock),
        Value::String(text) => Width::of_duration(text, clock),
        _ => Err("expected a width: milliseconds, or an ISO 8601 duration"),
    }
}

/// The buckets that a width and an origin spell on that clock.
pub(crate) fn ladder(every: &Value, origin: Option<&Value>, clock: &Clock) -> Result<Ladder, &'static str> {
    let origin = origin.map(|origin| instant(Some(origin))).transpose()?;
    Ladder::new(width(every, clock)?, origin, clock.clone())
}
