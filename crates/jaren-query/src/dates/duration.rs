//! Durations (ISO 8601, RFC 3339 appendix A).

use super::arithmetic::{Reason, Unit};
use super::stamp::Stamp;

/// A duration. Its amounts are not negative; they may be infinite, where more digits are written than a double holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Duration {
    pub(crate) negative: bool,
    /// Years, months, weeks, days, hours, minutes and seconds.
    amounts: [f64; 7],
    /// Whether the text is one in the narrower grammar of RFC 3339: no sign, weeks alone, a fraction only of seconds and
    /// with a point.
    pub(crate) strict: bool,
}

/// The units of the amounts, with their designators before and after the `T`.
const UNITS: [(Unit, u8); 7] = [
    (Unit::Year, b'Y'),
    (Unit::Month, b'M'),
    (Unit::Week, b'W'),
    (Unit::Day, b'D'),
    (Unit::Hour, b'H'),
    (Unit::Minute, b'M'),
    (Unit::Second, b'S'),
];
const WEEK: usize = 2;
const SECOND: usize = 6;
/// Where the units of the clock begin.
const CLOCK: usize = 4;

impl Duration {
    /// Reads a duration: units from coarse to fine, each with a number that may have a fraction, and perhaps a leading
    /// minus. Weeks do not stand beside years, months or days.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let text = text.strip_prefix('P')?;
        let (calendar, clock) =
            text.split_once('T').map_or((text, None), |(calendar, clock)| (calendar, Some(clock)));
        let mut duration = Self { negative, amounts: [0.0; 7], strict: !negative };
        let mut parts = duration.read(calendar, 0..CLOCK)?;
        if let Some(clock) = clock {
            let read = duration.read(clock, CLOCK..UNITS.len())?;
            if read == 0 {
                return None;
            }
            parts += read;
        }
        let [years, months, weeks, days, ..] = duration.amounts;
        if parts == 0 || (weeks != 0.0 && (years != 0.0 || months != 0.0 || days != 0.0)) {
            return None;
        }
        duration.strict &= !calendar.contains('W') || parts == 1;
        Some(duration)
    }

    /// Reads one half, whose units are these, and answers how many parts it has.
    fn read(&mut self, mut text: &str, units: std::ops::Range<usize>) -> Option<usize> {
        let mut parts = 0;
        let mut units = UNITS.iter().zip(&mut self.amounts).enumerate().take(units.end).skip(units.start);
        while !text.is_empty() {
            let number =
                text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || ".,".contains(c)).len();
            let (number, rest) = text.split_at_checked(number)?;
            let designator = *rest.as_bytes().first()?;
            let (index, (_, amount)) = units.find(|(_, ((_, known), _))| *known == designator)?;
            let (digits, fraction) =
                number.split_once(['.', ',']).map_or((number, None), |(digits, rest)| (digits, Some(rest)));
            let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if !all_digits(digits) || !fraction.is_none_or(all_digits) {
                return None;
            }
            self.strict &= fraction.is_none() || (index == SECOND && number.contains('.'));
            *amount = number.replace(',', ".").parse().ok()?;
            parts += 1;
            text = rest.get(1..)?;
        }
        Some(parts)
    }

    /// The value moved by the duration, or back by it: coarse units first.
    pub(crate) fn shift(&self, stamp: Stamp, back: bool) -> Result<Stamp, Reason> {
        let sign = if self.negative == back { 1.0 } else { -1.0 };
        let steps = self.amounts.iter().zip(UNITS);
        steps
            .filter(|(amount, _)| **amount != 0.0)
            .try_fold(stamp, |stamp, (amount, (unit, _))| stamp.shift(sign * amount, unit))
    }

    /// Years and months in months.
    pub(crate) fn months(&self) -> f64 {
        let [years, months, ..] = self.amounts;
        years * 12.0 + months
    }

    /// The rest in milliseconds, without its sign.
    pub(crate) fn fixed_ms(&self) -> f64 {
        let widths = UNITS.iter().map(|(unit, _)| unit.width().unwrap_or_default());
        self.amounts.iter().zip(widths).skip(WEEK).map(|(amount, width)| amount * width).sum()
    }
}
