//! The proleptic Gregorian calendar.

/// Milliseconds of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// Days of the 400 years after which the calendar repeats itself.
const ERA_DAYS: i64 = 146_097;

/// Days from 0000-03-01, where eras begin, to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// A day of the calendar. Years are at most some hundred thousands away from zero, so that nothing overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
}

impl Date {
    /// A date, if the calendar has it.
    pub(crate) fn new(year: i64, month: i64, day: i64) -> Option<Self> {
        let exists = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        exists.then_some(Self { year, month, day })
    }

    /// The same date, if RFC 3339 can spell it: in the years 0000 to 9999.
    pub(crate) fn spelled(self) -> Option<Self> {
        (0..=9999).contains(&self.year).then_some(self)
    }

    /// Days since 1970-01-01. Years are counted from March, so that the leap day is the last of its year.
    pub(crate) fn days(self) -> i64 {
        let Self { year, month, day } = self;
        let year = if month <= 2 { year - 1 } else { year };
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let months_since_march = if month <= 2 { month + 9 } else { month - 3 };
        let day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * ERA_DAYS + day_of_era - EPOCH_DAYS
    }

    /// The date that lies so many days after 1970-01-01.
    pub(crate) fn from_days(days: i64) -> Self {
        let days = days + EPOCH_DAYS;
        let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let months_since_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
        let month = if months_since_march < 10 { months_since_march + 3 } else { months_since_march - 9 };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        Self { year, month, day }
    }

    /// So many months later; the day is at most the last of its month.
    pub(crate) fn plus_months(self, months: i64) -> Self {
        let total = self.year * 12 + self.month - 1 + months;
        let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
        Self { year, month, day: self.day.min(days_in_month(year, month)) }
    }

    /// Whole months until another date: the most that added to this one do not pass it.
    pub(crate) fn months_until(self, other: Self) -> i64 {
        let months = (other.year - self.year) * 12 + other.month - self.month;
        let (reached, wanted) = (self.plus_months(months).days(), other.days());
        if months > 0 && reached > wanted {
            months - 1
        } else if months < 0 && reached < wanted {
            months + 1
        } else {
            months
        }
    }

    /// The last day of the month.
    pub(crate) fn end_of_month(self) -> Self {
        Self { day: days_in_month(self.year, self.month), ..self }
    }

    /// From Monday, 1, to Sunday, 7.
    pub(crate) fn weekday(self) -> i64 {
        (self.days() + 3).rem_euclid(7) + 1 // 1970-01-01 was a Thursday
    }

    /// The ISO 8601 week and the year that it is counted in.
    pub(crate) fn week(self) -> (i64, i64) {
        // The Thursday of a week lies in the year that the week belongs to.
        let thursday = Self::from_days(self.days() + 4 - self.weekday());
        ((thursday.day_of_year() - 1) / 7 + 1, thursday.year)
    }

    /// From 1.
    pub(crate) fn day_of_year(self) -> i64 {
        self.days() - Self { month: 1, day: 1, ..self }.days() + 1
    }

    /// From 1.
    pub(crate) fn quarter(self) -> i64 {
        (self.month - 1) / 3 + 1
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
