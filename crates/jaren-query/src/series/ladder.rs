//! Buckets: the boundaries that a width cuts time into, counted from an origin.

use super::clock::{Clock, Reason};
use crate::dates::{DAY_MS, Date, Duration, real, whole};

/// The most months or days that a boundary is away from the origin: more than the calendar has.
const UNITS_MAX: i64 = 400_000_000;

/// A width, in one family of units.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Width {
    /// So many milliseconds.
    Fixed(f64),
    /// So many months on the calendar.
    Months(i64),
    /// So many days on the calendar of a zone, of which some are longer than others.
    Days(i64),
}

impl Width {
    /// A width of so many milliseconds on that clock.
    pub(crate) fn of_ms(ms: f64, clock: &Clock) -> Result<Self, &'static str> {
        let ms = whole(ms).filter(|ms| *ms > 0).ok_or("expected a positive whole number of milliseconds")?;
        let days = clock.is_zoned() && ms % DAY_MS == 0;
        Ok(if days { Self::Days(ms / DAY_MS) } else { Self::Fixed(real(ms)) })
    }

    /// The milliseconds of an ISO 8601 duration that is always as long and not negative.
    pub(crate) fn fixed_ms(text: &str) -> Option<f64> {
        let duration =
            Duration::parse(text).filter(|duration| !duration.negative && duration.months() == 0.0)?;
        Some(duration.fixed_ms()).filter(|ms| ms.is_finite())
    }

    /// The width of an ISO 8601 duration on that clock.
    pub(crate) fn of_duration(text: &str, clock: &Clock) -> Result<Self, &'static str> {
        let duration = Duration::parse(text)
            .filter(|duration| !duration.negative)
            .ok_or("expected an ISO 8601 duration that is not negative")?;
        match (duration.months(), duration.fixed_ms()) {
            (0.0, ms) => Self::of_ms(ms, clock),
            (months, 0.0) => whole(months)
                .map(Self::Months)
                .ok_or("expected a whole number of months in a duration of months"),
            _ => Err("expected years and months or weeks to seconds; the two have no boundaries in common"),
        }
    }
}

/// A date and a time on the wall.
#[derive(Clone, Copy, Debug)]
struct Wall {
    date: Date,
    day_ms: i64,
}

impl Wall {
    fn new(wall: i64) -> Self {
        Self { date: Date::from_days(wall.div_euclid(DAY_MS)), day_ms: wall.rem_euclid(DAY_MS) }
    }

    /// The same time of day so many units later; nothing where that leads off the calendar.
    fn plus(self, units: i64, width: Width) -> Option<i64> {
        let units = Some(units).filter(|units| (-UNITS_MAX..=UNITS_MAX).contains(units))?;
        let days = match width {
            Width::Months(_) => self.date.plus_months(units).days(),
            Width::Days(_) | Width::Fixed(_) => self.date.days() + units,
        };
        Some(days * DAY_MS + self.day_ms)
    }
}

/// The boundaries of buckets.
#[derive(Clone, Debug)]
pub(crate) struct Ladder {
    width: Width,
    origin: f64,
    /// What the clock shows at the origin; only calendar widths read it.
    anchor: Wall,
    clock: Clock,
}

const OFF: Reason = "expected buckets within the calendar, of the years −271821 to 275760";

impl Ladder {
    /// The boundaries so wide from an origin, which is the clock's own midnight of 1970-01-01 if none is given.
    pub(crate) fn new(width: Width, origin: Option<f64>, clock: Clock) -> Result<Self, Reason> {
        let origin = origin.map_or_else(|| clock.instant(0), Ok)?;
        let wall = if let Width::Fixed(_) = width { 0 } else { clock.wall(origin)? };
        Ok(Self { width, origin, anchor: Wall::new(wall), clock })
    }

    /// Where a bucket begins.
    pub(crate) fn start(&self, index: f64) -> Result<f64, Reason> {
        match self.width {
            Width::Fixed(ms) => Ok(self.origin + index * ms),
            Width::Months(_) | Width::Days(_) if index == 0.0 => Ok(self.origin),
            Width::Months(amount) | Width::Days(amount) => {
                let units = whole(index * real(amount)).ok_or(OFF)?;
                self.clock.instant(self.anchor.plus(units, self.width).ok_or(OFF)?)
            }
        }
    }

    /// The bucket that an instant falls in.
    pub(crate) fn index(&self, at: f64) -> Result<f64, Reason> {
        let mut index = match self.width {
            Width::Fixed(ms) => return Ok(((at - self.origin) / ms).floor()),
            Width::Months(amount) => {
                let now = Wall::new(self.clock.wall(at)?).date;
                let anchor = self.anchor.date;
                let months = (now.year - anchor.year) * 12 + now.month - anchor.month;
                real(months.div_euclid(amount))
            }
            Width::Days(amount) => (((at - self.origin) / real(DAY_MS)).floor() / real(amount)).floor(),
        };
        // The guess is off by a bucket where the anchor is late in its month, or where a day was not of 24 hours.
        for _ in 0..4 {
            if self.start(index)? > at {
                index -= 1.0;
            } else if self.start(index + 1.0)? <= at {
                index += 1.0;
            } else {
                return Ok(index);
            }
        }
        Err(OFF)
    }

    /// Where the bucket begins that an instant falls in.
    pub(crate) fn floor(&self, at: f64) -> Result<f64, Reason> {
        self.start(self.index(at)?)
    }
}

/// Where a window opens that is so wide and ends at an instant.
pub(crate) fn window_start(width: Width, at: f64, clock: &Clock) -> Result<f64, Reason> {
    match width {
        Width::Fixed(ms) => Ok(at - ms),
        Width::Months(amount) | Width::Days(amount) => {
            let wall = Wall::new(clock.wall(at)?);
            clock.instant(wall.plus(-amount, width).ok_or(OFF)?)
        }
    }
}
