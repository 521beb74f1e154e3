//! Calendar arithmetic on RFC 3339 values. The lexical form is kept: what has no time gets none.

use super::civil::Date;
use super::stamp::{Stamp, Time};
use super::{nearest, real, whole};

/// A calendar unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

/// Which end of a unit is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Start,
    End,
}

/// Which operand of `$date-diff` has no date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    From,
    To,
}

/// Why an operation has no answer for a value.
pub(crate) type Reason = &'static str;

const NO_DATE: Reason = "expected a value with a date for this unit, found a time";
const NO_TIME: Reason = "expected a value with a time for this unit, found a date";
const INEXACT: Reason = "expected whole months: a part of one has no exact length";
const TOO_FAR: Reason = "expected a date in the years 0000 to 9999, the result is outside";

impl Unit {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "year" => Self::Year,
            "quarter" => Self::Quarter,
            "month" => Self::Month,
            "week" => Self::Week,
            "day" => Self::Day,
            "hour" => Self::Hour,
            "minute" => Self::Minute,
            "second" => Self::Second,
            "millisecond" => Self::Millisecond,
            _ => return None,
        })
    }

    /// How many months it has, if it is one of the units that are counted in them.
    fn months(self) -> Option<f64> {
        match self {
            Self::Year => Some(12.0),
            Self::Quarter => Some(3.0),
            Self::Month => Some(1.0),
            _ => None,
        }
    }

    /// How many milliseconds it has, if that is always the same.
    pub(super) fn width(self) -> Option<f64> {
        match self {
            Self::Year | Self::Quarter | Self::Month => None,
            Self::Week => Some(604_800_000.0),
            Self::Day => Some(86_400_000.0),
            Self::Hour => Some(3_600_000.0),
            Self::Minute => Some(60_000.0),
            Self::Second => Some(1000.0),
            Self::Millisecond => Some(1.0),
        }
    }
}

impl Stamp {
    /// The value moved by an amount of a unit. Months clamp to their last day; a fraction is only moved by where it is a
    /// whole number of months or milliseconds.
    pub(crate) fn shift(self, amount: f64, unit: Unit) -> Result<Self, Reason> {
        if amount == 0.0 {
            return Ok(self);
        }
        let Some(width) = unit.width() else {
            let months = amount * unit.months().unwrap_or(1.0);
            if months.fract() != 0.0 {
                return Err(INEXACT);
            }
            let date = self.date.ok_or(NO_DATE)?;
            // More than these lead out of the years that can be spelled, from anywhere in them.
            let months = whole(months).filter(|months| months.abs() <= 120_000).ok_or(TOO_FAR)?;
            return Ok(Self { date: Some(date.plus_months(months).spelled().ok_or(TOO_FAR)?), ..self });
        };
        if matches!(unit, Unit::Day | Unit::Week) {
            let date = self.date.ok_or(NO_DATE)?;
            if amount.fract() == 0.0 {
                let days = amount * width / Unit::Day.width().unwrap_or(1.0);
                let days = whole(days).filter(|days| days.abs() <= 4_000_000).ok_or(TOO_FAR)?;
                let date = Date::from_days(date.days() + days).spelled().ok_or(TOO_FAR)?;
                return Ok(Self { date: Some(date), ..self });
            }
        }
        if self.time.is_none() {
            return Err(NO_TIME);
        }
        let ms = whole(nearest(amount * width)).ok_or(TOO_FAR)?;
        self.plus_ms(ms).ok_or(TOO_FAR)
    }

    /// The first or the last value of the unit that this one lies in, as fine as a millisecond.
    pub(crate) fn edge(self, edge: Edge, unit: Unit) -> Result<Self, Reason> {
        let date = match unit {
            Unit::Year | Unit::Quarter | Unit::Month | Unit::Week => {
                let date = date_edge(self.date.ok_or(NO_DATE)?, edge, unit);
                Some(date.spelled().ok_or(TOO_FAR)?)
            }
            _ => self.date,
        };
        let time = match unit {
            Unit::Hour | Unit::Minute | Unit::Second | Unit::Millisecond => {
                Some(time_edge(self.time.ok_or(NO_TIME)?, edge, unit))
            }
            _ => self.time.map(|time| time_edge(time, edge, Unit::Day)),
        };
        Ok(Self { date, time, ..self })
    }
}

fn date_edge(date: Date, edge: Edge, unit: Unit) -> Date {
    let (first, last) = match unit {
        Unit::Year => (1, 12),
        Unit::Quarter => (date.quarter() * 3 - 2, date.quarter() * 3),
        Unit::Week => {
            let monday = date.days() - date.weekday() + 1;
            return Date::from_days(if edge == Edge::Start { monday } else { monday + 6 });
        }
        _ => (date.month, date.month),
    };
    match edge {
        Edge::Start => Date { month: first, day: 1, ..date },
        Edge::End => Date { month: last, ..date }.end_of_month(),
    }
}

fn time_edge(time: Time, edge: Edge, unit: Unit) -> Time {
    let (bound, second) = match edge {
        Edge::Start => (Time::MIDNIGHT, time.second.trunc()),
        Edge::End => {
            let second = (time.second.trunc() * 1000.0 + 999.0) / 1000.0;
            (Time { hour: 23, minute: 59, second: 59.999 }, second)
        }
    };
    match unit {
        Unit::Hour => Time { hour: time.hour, ..bound },
        Unit::Minute => Time { second: bound.second, ..time },
        Unit::Second => Time { second, ..time },
        Unit::Millisecond => time,
        _ => bound,
    }
}

/// Whole units from one value to another, towards zero; the side that has no date where there is none.
/// Months are counted on the calendar, whatever the times of day; all other units are parts of an exact span.
pub(crate) fn difference(from: &Stamp, to: &Stamp, unit: Unit) -> Result<f64, Side> {
    if let Some(months_of_unit) = unit.months() {
        let (from, to) = (from.date.ok_or(Side::From)?, to.date.ok_or(Side::To)?);
        return Ok((real(from.months_until(to)) / months_of_unit).trunc());
    }
    let span = from.epoch().zip(to.epoch()).map(|(from, to)| to - from).ok_or(Side::From)?;
    Ok((span / unit.width().unwrap_or(1.0)).trunc())
}
