//! RFC 3339 texts: dates, times and date-times, read and written.

use std::fmt::{self, Display};

use super::civil::{DAY_MS, Date};
use super::{Component, Form, is_half, nearest, real, whole};

/// The farthest instants, in milliseconds from 1970-01-01T00:00:00Z, that this crate places on a calendar.
pub(crate) const INSTANT_MAX: f64 = 8.64e15;

/// What an RFC 3339 text says. At least one of `date` and `time` is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stamp {
    pub(crate) date: Option<Date>,
    pub(crate) time: Option<Time>,
    /// Minutes east of UTC; negative zero where the text says that it is unknown, `-00:00`. Only a date may lack one.
    pub(crate) offset: Option<f64>,
}

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Time {
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    /// With its fraction; 60 and more in a leap second.
    pub(crate) second: f64,
}

impl Time {
    pub(crate) const MIDNIGHT: Self = Self { hour: 0, minute: 0, second: 0.0 };

    /// The time so many milliseconds after midnight.
    fn from_day_ms(ms: i64) -> Self {
        Self { hour: ms / 3_600_000, minute: ms / 60_000 % 60, second: real(ms % 60_000) / 1000.0 }
    }

    /// Milliseconds since midnight, rounded.
    pub(crate) fn day_ms(self) -> i64 {
        let seconds = whole(nearest(self.second * 1000.0)).unwrap_or_default(); // at most 61,000
        self.hour * 3_600_000 + self.minute * 60_000 + seconds
    }

    /// Six digits of the fraction of a second.
    pub(crate) fn micros(self) -> String {
        let fraction = self.second.fract().abs();
        let micros = fraction * 1e6;
        // Where the product looks like a half, what its rounding lost decides.
        let below = is_half(micros.fract()) && fraction.mul_add(1e6, -micros) < 0.0;
        let micros = if below { micros.floor() } else { micros.round() };
        format!("{:06}", micros % 1e6)
    }
}

impl Stamp {
    /// Reads a full-date, a full-time or a date-time (RFC 3339 section 5.6).
    ///
    /// A date may be followed by `Z`, a blank may stand for the `T`, and a fraction has at most six digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        const LEN_MAX: usize = "2026-07-27T14:30:05.123456+02:00".len();
        let bytes = Some(text.as_bytes()).filter(|bytes| bytes.len() <= LEN_MAX)?;
        if let Some(separator) = bytes.iter().position(|byte| matches!(byte, b'T' | b't' | b' ')) {
            let (date, time) = (bytes.get(..separator)?, bytes.get(separator + 1..)?);
            let (time, offset) = read_time(time)?;
            return Some(Self { date: Some(read_date(date)?), time: Some(time), offset: Some(offset) });
        }
        if let Some((time, offset)) = read_time(bytes) {
            return Some(Self { date: None, time: Some(time), offset: Some(offset) });
        }
        let (date, offset) = match bytes {
            [date @ .., b'Z' | b'z'] => (date, Some(0.0)),
            date => (date, None),
        };
        Some(Self { date: Some(read_date(date)?), time: None, offset })
    }

    /// Which of the three forms it has.
    pub(crate) fn form(&self) -> Form {
        match (self.date, self.time) {
            (Some(_), None) => Form::Date,
            (None, _) => Form::Time,
            (Some(_), Some(_)) => Form::DateTime,
        }
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, if it has a date.
    pub(crate) fn epoch(&self) -> Option<f64> {
        let days = self.date?.days();
        let time = self.time.map_or(0, Time::day_ms);
        Some(real(days * DAY_MS + time) - self.offset.unwrap_or_default() * 60_000.0)
    }

    /// The date-time in UTC of an instant, if RFC 3339 can spell it.
    pub(crate) fn from_epoch(instant: f64) -> Option<Self> {
        let floor = instant.floor();
        // Of a tiny negative number the fraction is rounded to one.
        let (ms, fraction) =
            if instant - floor < 1.0 { (floor, instant - floor) } else { (floor + 1.0, 0.0) };
        let ms = whole(ms).filter(|_| instant.abs() <= INSTANT_MAX)?;
        let (day, rest) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
        let second = (real(rest % 60_000) + fraction) / 1000.0;
        let time = Time { second, ..Time::from_day_ms(rest) };
        Some(Self { date: Some(Date::from_days(day).spelled()?), time: Some(time), offset: Some(0.0) })
    }

    /// The same with a span of milliseconds added to the clock, and carried to the date if there is one; nothing where
    /// there is no clock or RFC 3339 cannot spell the date.
    pub(crate) fn plus_ms(self, ms: i64) -> Option<Self> {
        let total = self.date.map_or(0, Date::days) * DAY_MS + self.time?.day_ms();
        let total = total.checked_add(ms)?;
        let date = match self.date {
            Some(_) => Some(Date::from_days(total.div_euclid(DAY_MS)).spelled()?),
            None => None,
        };
        Some(Self { date, time: Some(Time::from_day_ms(total.rem_euclid(DAY_MS))), ..self })
    }

    /// A component; nothing where the value has no such half.
    pub(crate) fn component(&self, component: Component) -> Option<f64> {
        Some(match component {
            Component::Year => real(self.date?.year),
            Component::Month => real(self.date?.month),
            Component::Day => real(self.date?.day),
            Component::Hours => real(self.time?.hour),
            Component::Minutes => real(self.time?.minute),
            Component::Seconds => self.time?.second,
            Component::Offset => self.offset?,
            Component::Week => real(self.date?.week().0),
            Component::WeekYear => real(self.date?.week().1),
            Component::Quarter => real(self.date?.quarter()),
            Component::Weekday => real(self.date?.weekday()),
            Component::Epoch => self.epoch()?,
        })
    }
}

/// The canonical spelling: a fraction only where there is one, without zeros at its end.
impl Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Date { year, month, day }) = self.date {
            write!(f, "{year:04}-{month:02}-{day:02}")?;
        }
        let Some(time) = self.time else { return Ok(()) };
        if self.date.is_some() {
            f.write_str("T")?;
        }
        write!(f, "{:02}:{:02}:{:02}", time.hour, time.minute, time.second.trunc())?;
        if time.second.fract() != 0.0 {
            let micros = time.micros();
            let fraction = micros.trim_end_matches('0');
            write!(f, "{}{fraction}", if fraction.is_empty() { "" } else { "." })?;
        }
        f.write_str(&offset_text(self.offset, ":", "Z"))
    }
}

/// An offset as `+hh:mm` with that separator, and as `utc` where it is zero; nothing without one.
pub(super) fn offset_text(offset: Option<f64>, separator: &str, utc: &str) -> String {
    match offset {
        None => String::new(),
        Some(0.0) => utc.to_owned(),
        Some(offset) => {
            let sign = if offset < 0.0 { '-' } else { '+' };
            let minutes = offset.abs();
            format!("{sign}{:02}{separator}{:02}", (minutes / 60.0).floor(), minutes % 60.0)
        }
    }
}

fn read_date(bytes: &[u8]) -> Option<Date> {
    let &[c1, c2, y1, y2, b'-', m1, m2, b'-', d1, d2] = bytes else { return None };
    Date::new(two_digits(c1, c2)? * 100 + two_digits(y1, y2)?, two_digits(m1, m2)?, two_digits(d1, d2)?)
}

/// A time and its offset in minutes.
fn read_time(bytes: &[u8]) -> Option<(Time, f64)> {
    let &[h1, h2, b':', m1, m2, b':', s1, s2, ref rest @ ..] = bytes else { return None };
    let (hour, minute, second) = (two_digits(h1, h2)?, two_digits(m1, m2)?, two_digits(s1, s2)?);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => read_fraction(rest)?,
        rest => (0.0, rest),
    };
    let offset = match *rest {
        [b'Z' | b'z'] => 0.0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (two_digits(h1, h2)?, two_digits(m1, m2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = real(hours * 60 + minutes);
            if sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    // A leap second ends a day in UTC; which days had one is not asked.
    let last_minute = whole(real(hour * 60 + minute) - offset)?.rem_euclid(1440) == 1439;
    if hour > 23 || minute > 59 || second > 60 || (second == 60 && !last_minute) {
        return None;
    }
    Some((Time { hour, minute, second: real(second) + fraction }, offset))
}

/// One to six digits after the point, and what follows them.
fn read_fraction(bytes: &[u8]) -> Option<(f64, &[u8])> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=6).contains(&digits) {
        return None;
    }
    let (digits, rest) = bytes.split_at(digits);
    let (number, scale) = digits
        .iter()
        .fold((0, 1), |(number, scale), digit| (number * 10 + i64::from(digit - b'0'), scale * 10));
    Some((real(number) / real(scale), rest))
}

fn two_digits(tens: u8, ones: u8) -> Option<i64> {
    (tens.is_ascii_digit() && ones.is_ascii_digit())
        .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}
