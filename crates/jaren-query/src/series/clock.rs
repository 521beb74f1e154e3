//! The clock on the wall that calendar boundaries fall on (section 8.16).

use std::sync::Arc;

use crate::dates::{INSTANT_MAX, nearest, real, whole};
use crate::zone::{Offsets, TimeZone};

/// A clock.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// So many milliseconds ahead of UTC.
    Offset(f64),
    /// That of a zone.
    Zone(Arc<dyn TimeZone>, Choice),
}

/// What a time that the clock shows twice or never stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Reject,
    Earlier,
    Later,
}

/// Why an instant has no place on the calendar, or a time on the wall no instant.
pub(crate) type Reason = &'static str;

const TOO_FAR: Reason = "expected an instant within 100,000,000 days of 1970";
const AMBIGUOUS: Reason =
    "expected a local time that the zone's clocks show once; 'disambiguation' may say 'earlier' or 'later'";

impl Default for Clock {
    fn default() -> Self {
        Self::Offset(0.0)
    }
}

impl Clock {
    /// Whether it is that of a zone, where a day is not always one of 24 hours.
    pub(crate) fn is_zoned(&self) -> bool {
        matches!(self, Self::Zone(..))
    }

    /// What the clock shows at an instant: milliseconds since it showed 1970-01-01T00:00:00.
    pub(crate) fn wall(&self, instant: f64) -> Result<i64, Reason> {
        if instant.abs() > INSTANT_MAX {
            return Err(TOO_FAR);
        }
        let ahead = match self {
            Self::Offset(ms) => *ms,
            Self::Zone(zone, _) => real(zone.offset_at(whole(instant.floor()).ok_or(TOO_FAR)?)),
        };
        Some(nearest(instant + ahead)).filter(|wall| wall.abs() <= INSTANT_MAX).and_then(whole).ok_or(TOO_FAR)
    }

    /// The instant at which the clock shows a time.
    pub(crate) fn instant(&self, wall: i64) -> Result<f64, Reason> {
        let wall_ms = Some(real(wall)).filter(|ms| ms.abs() <= INSTANT_MAX).ok_or(TOO_FAR)?;
        let instant = match self {
            Self::Offset(ms) => wall_ms - ms,
            Self::Zone(zone, choice) => match (zone.offsets_of(wall), choice) {
                (Offsets::One(ahead), _) => wall_ms - real(ahead),
                (Offsets::Two(..), Choice::Reject) => return Err(AMBIGUOUS),
                (Offsets::Two(a, b), Choice::Earlier) => wall_ms - real(a.max(b)),
                (Offsets::Two(a, b), Choice::Later) => wall_ms - real(a.min(b)),
            },
        };
        if instant.is_finite() { Ok(instant) } else { Err(TOO_FAR) }
    }
}
