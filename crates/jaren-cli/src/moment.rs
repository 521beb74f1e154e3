//! Times and durations for people.

/// A Unix time in milliseconds as `2026-11-30 17:55:12 UTC`; times far beyond any calendar as their number.
pub(crate) fn utc(unix_ms: i64) -> String {
    let seconds = unix_ms.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    if !(-1_000_000..=1_000_000).contains(&days) {
        return format!("{unix_ms} ms");
    }
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// The date of a day counted from 1970-01-01, by counting years from March, where the leap day comes last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// How far away a moment is: `in 9 min`, `3 s ago`.
pub(crate) fn distance(from_ms: i64, to_ms: i64) -> String {
    let ms = to_ms.saturating_sub(from_ms);
    let seconds = ms.unsigned_abs().div_ceil(1000);
    let (number, unit) = match seconds {
        0..120 => (seconds, "s"),
        120..7200 => (seconds / 60, "min"),
        7200..172_800 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    if ms < 0 { format!("{number} {unit} ago") } else { format!("in {number} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_827_696_789), "2000-02-29 12:34:56 UTC");
        assert_eq!(utc(1_796_061_312_000), "2026-11-30 17:55:12 UTC");
        assert_eq!(utc(-1), "1969-12-31 23:59:59 UTC");
        assert_eq!(utc(i64::MAX), "9223372036854775807 ms");
    }

    #[test]
    fn distances_have_a_fitting_unit() {
        assert_eq!(distance(0, 1), "in 1 s");
        assert_eq!(distance(0, 600_000), "in 10 min");
        assert_eq!(distance(86_400_000 * 3, 0), "3 days ago");
        assert_eq!(
            distance(i64::MIN, i64::MAX),
            format!("in {} days", i64::MAX.unsigned_abs().div_ceil(1000) / 86_400)
        );
    }
}
