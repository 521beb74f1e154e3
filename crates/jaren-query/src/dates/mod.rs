//! Dates and times (section 8.13): RFC 3339 texts, their calendar and their arithmetic.
//!
//! The calendar is the proleptic Gregorian one, in whole numbers. Nothing here reads a clock or knows a time zone.

mod arithmetic;
mod civil;
mod duration;
mod pattern;
mod stamp;

pub(crate) use arithmetic::{Edge, Side, Unit, difference};
pub(crate) use civil::{DAY_MS, Date};
pub(crate) use duration::Duration;
pub(crate) use pattern::DatePattern;
pub(crate) use stamp::{INSTANT_MAX, Stamp};

use crate::plan::{Expr, Pair};

/// A lexical form that `$is-date` and its like ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Date,
    Time,
    DateTime,
    Duration,
}

/// What is read out of a date or time as it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Component {
    Year,
    Month,
    Day,
    Hours,
    Minutes,
    Seconds,
    Offset,
    Week,
    WeekYear,
    Quarter,
    Weekday,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    Epoch,
}

/// Operators that answer a date or time as a text, or nothing.
#[derive(Debug)]
pub(crate) enum DateText {
    /// `$datetime`.
    Instant(Box<Expr>),
    /// `$date-add` and `$date-sub`: a date, a duration or an amount, and the unit of the amount.
    Shift { back: bool, pair: Pair, unit: Option<Box<Expr>> },
    /// `$start-of` and `$end-of`: a date and a unit.
    Truncate(Edge, Pair),
    /// `$date-format`: a date and a pattern, with the pattern where it is a literal.
    Format(Pair, Option<DatePattern>),
}

/// A whole number as a double. Dates, times and spans within the ranges of this module are far below 2⁵³.
#[expect(clippy::cast_precision_loss, reason = "below 2^53 no integer is rounded")]
pub(crate) fn real(number: i64) -> f64 {
    number as f64
}

/// A double that is a whole number of at most 2⁵³.
#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and to fit")]
pub(crate) fn whole(number: f64) -> Option<i64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i64)
}

/// The nearest whole number, a half towards positive infinity.
pub(crate) fn nearest(number: f64) -> f64 {
    let away = number.round(); // a half away from zero
    if is_half(number - away) { away + 1.0 } else { away }
}

#[expect(clippy::float_cmp, reason = "a half is exact")]
fn is_half(number: f64) -> bool {
    number == 0.5
}
