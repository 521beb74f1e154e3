//! The time zones that are part of the program.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZoneDatabase};

use super::{Offsets, TimeZone, TimeZones};

/// The time zone database of IANA, as it was when the program was built; nothing is read from the system.
/// Names are found whatever their case.
#[derive(Clone, Copy, Debug, Default)]
pub struct BundledZones;

#[derive(Debug)]
struct Zone(jiff::tz::TimeZone);

impl TimeZones for BundledZones {
    fn zone(&self, name: &str) -> Option<Arc<dyn TimeZone>> {
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        Some(Arc::new(Zone(zone)))
    }
}

impl TimeZone for Zone {
    fn offset_at(&self, instant: i64) -> i64 {
        ms(self.0.to_offset(timestamp(instant)))
    }

    fn offsets_of(&self, wall: i64) -> Offsets {
        // What the clock shows is what a clock in UTC would show at this time.
        let shown = Offset::UTC.to_datetime(timestamp(wall));
        match self.0.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => Offsets::One(ms(offset)),
            AmbiguousOffset::Gap { before, after } | AmbiguousOffset::Fold { before, after } => {
                Offsets::Two(ms(before), ms(after))
            }
        }
    }
}

fn ms(offset: Offset) -> i64 {
    i64::from(offset.seconds()) * 1000
}

/// The time, or the nearest that there is.
fn timestamp(ms: i64) -> Timestamp {
    let nearest = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(ms).unwrap_or(nearest)
}
