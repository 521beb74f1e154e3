//! Time: what a clock shows, and clocks.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// So many milliseconds since 1970, or before it where they are negative.
    pub const fn from_millis(since_1970: i64) -> Self {
        Self(since_1970)
    }

    /// Milliseconds since 1970, negative before it.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// So much later, a part of a millisecond counted as a whole one, so that nothing is due too early; at the end of time it
    /// stops.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(whole_millis(duration)))
    }

    /// So much earlier, a part of a millisecond counted as a whole one; at the beginning of time it stops.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(whole_millis(duration)))
    }

    /// How long after an earlier point this is; nothing where it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// Rounded up.
fn whole_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// Milliseconds since 1970.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Ends when a clock has reached a time.
pub type Reaching<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Tells the time.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The time now. It may stand still and, as clocks are set, go back.
    fn now(&self) -> Timestamp;

    /// A future that ends once this clock shows `at` or later, of a clock that knows by itself when that is, as one
    /// that a test moves does.
    ///
    /// None, the default, says that time moves the clock: who waits for it sleeps by the timer of its runtime and then
    /// asks the clock again.
    fn reaching(&self, _at: Timestamp) -> Option<Reaching<'_>> {
        None
    }
}

/// The clock of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Timestamp(millis(after)),
            Err(before) => Timestamp(millis(before.duration()).saturating_neg()),
        }
    }
}

/// A clock that a test moves. Whoever waits for a time of it is woken when it is moved there, so that hours pass in an
/// instant and nobody sleeps.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: AtomicI64,
    waiting: Mutex<Waiting>,
}

/// Who waits for a time of a clock to come; all of them are woken by each move, and look.
#[derive(Debug, Default)]
struct Waiting {
    wakers: BTreeMap<u64, Waker>,
    /// The number that the next one gets.
    next: u64,
}

impl ManualClock {
    /// A clock that stands at this time.
    pub const fn new(now: Timestamp) -> Self {
        let waiting = Waiting { wakers: BTreeMap::new(), next: 0 };
        Self { now: AtomicI64::new(now.0), waiting: Mutex::new(waiting) }
    }

    /// Moves it on.
    pub fn advance(&self, duration: Duration) {
        let moved = |now: i64| Some(Timestamp(now).plus(duration).0);
        // The closure always answers, so this cannot fail.
        let _ = self.now.fetch_update(Ordering::SeqCst, Ordering::SeqCst, moved);
        self.wake();
    }

    /// Sets it to this time, which may be earlier than it shows.
    pub fn set(&self, now: Timestamp) {
        self.now.store(now.0, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        let wakers = std::mem::take(&mut self.waiting().wakers);
        wakers.into_values().for_each(Waker::wake);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }

    fn reaching(&self, at: Timestamp) -> Option<Reaching<'_>> {
        Some(Box::pin(ReachingTime { clock: self, at, number: None }))
    }
}

/// Waits for a time of a clock; once it is dropped nobody is woken for it.
struct ReachingTime<'a> {
    clock: &'a ManualClock,
    at: Timestamp,
    /// Under which its waker is kept.
    number: Option<u64>,
}

impl Future for ReachingTime<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The lock is held over the look, so that no move between the two is missed.
        let mut waiting = self.clock.waiting();
        if self.clock.now() >= self.at {
            return Poll::Ready(());
        }
        let number = self.number.unwrap_or(waiting.next);
        waiting.next = waiting.next.max(number.saturating_add(1));
        let before = waiting.wakers.insert(number, context.waker().clone());
        // A waker may own what waits, and whatever ends with it must find the lock free.
        drop(waiting);
        drop(before);
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for ReachingTime<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let waker = self.clock.waiting().wakers.remove(&number);
            drop(waker); // with the lock free
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_is_in_this_millennium() {
        assert!(SystemClock.now() > Timestamp::from_millis(1_700_000_000_000));
    }

    #[test]
    fn a_manual_clock_moves_when_told_and_stops_at_the_ends() {
        let clock = ManualClock::new(Timestamp::from_millis(10));
        clock.advance(Duration::from_millis(5));
        assert_eq!(clock.now(), Timestamp::from_millis(15));
        clock.set(Timestamp::from_millis(-5));
        clock.advance(Duration::from_micros(1));
        assert_eq!(clock.now(), Timestamp::from_millis(-4), "a part of a millisecond is a whole one");
        clock.set(Timestamp::from_millis(i64::MAX));
        clock.advance(Duration::from_millis(1));
        assert_eq!(clock.now(), Timestamp::from_millis(i64::MAX));
    }

    #[test]
    fn who_waits_for_a_time_is_woken_when_the_clock_is_moved() {
        struct Woken(AtomicI64);
        impl std::task::Wake for Woken {
            fn wake(self: std::sync::Arc<Self>) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let woken = std::sync::Arc::new(Woken(AtomicI64::new(0)));
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let clock = ManualClock::new(Timestamp::from_millis(10));
        let mut reaching = clock.reaching(Timestamp::from_millis(20)).unwrap();
        for (step, woken_after, done) in [(0, 1, false), (9, 2, false), (1, 3, true)] {
            assert_eq!(reaching.as_mut().poll(&mut context), Poll::Pending);
            assert_eq!(reaching.as_mut().poll(&mut context), Poll::Pending); // waits once all the same
            clock.advance(Duration::from_millis(step));
            assert_eq!(woken.0.load(Ordering::SeqCst), woken_after);
            if done {
                assert_eq!(reaching.as_mut().poll(&mut context), Poll::Ready(()));
            }
        }
        for _ in 0..3 {
            let mut dropped = clock.reaching(Timestamp::from_millis(99)).unwrap();
            assert_eq!(dropped.as_mut().poll(&mut context), Poll::Pending);
        }
        assert!(clock.waiting().wakers.is_empty(), "who no longer waits is forgotten");
        assert!(SystemClock.reaching(Timestamp::from_millis(0)).is_none());
    }

    #[test]
    fn a_duration_is_never_negative() {
        let (early, late) = (Timestamp::from_millis(100), Timestamp::from_millis(350));
        assert_eq!(late.since(early), Duration::from_millis(250));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(late.minus(Duration::from_millis(250)), early);
        assert_eq!(Timestamp::from_millis(i64::MIN).minus(Duration::MAX), Timestamp::from_millis(i64::MIN));
    }
}
