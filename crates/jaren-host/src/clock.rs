//! Time: milliseconds since 1970.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(i64);

impl Millis {
    /// So many milliseconds since 1970.
    pub const fn new(since_1970: i64) -> Self {
        Self(since_1970)
    }

    /// Milliseconds since 1970.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// So many milliseconds later, or earlier where they are negative; at the ends of time it stops.
    #[must_use]
    pub const fn plus(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// How long after an earlier point this is; nothing where it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Tells the time.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The time now. It may stand still and, as clocks are set, go back.
    fn now(&self) -> Millis;
}

/// The clock of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Millis(millis(after)),
            Err(before) => Millis(millis(before.duration()).saturating_neg()),
        }
    }
}

/// A clock that a test moves.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at this time.
    pub const fn new(now: Millis) -> Self {
        Self(AtomicI64::new(now.0))
    }

    /// Moves it on by so many milliseconds, or back where they are negative.
    pub fn advance(&self, milliseconds: i64) {
        let moved = |now: i64| Some(now.saturating_add(milliseconds));
        // The closure always answers, so this cannot fail.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, moved);
    }

    /// Sets it to this time.
    pub fn set(&self, now: Millis) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_is_in_this_millennium() {
        assert!(SystemClock.now() > Millis::new(1_700_000_000_000));
    }

    #[test]
    fn a_manual_clock_moves_when_told_and_stops_at_the_ends() {
        let clock = ManualClock::new(Millis::new(10));
        clock.advance(5);
        assert_eq!(clock.now(), Millis::new(15));
        clock.advance(-20);
        assert_eq!(clock.now(), Millis::new(-5));
        clock.set(Millis::new(i64::MAX));
        clock.advance(1);
        assert_eq!(clock.now(), Millis::new(i64::MAX));
    }

    #[test]
    fn a_duration_is_never_negative() {
        let (early, late) = (Millis::new(100), Millis::new(350));
        assert_eq!(late.since(early), Duration::from_millis(250));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
