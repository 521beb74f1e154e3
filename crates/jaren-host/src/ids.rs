//! Ids: a prefix that says of what, and a part that is new.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Clock, Random, SystemClock, SystemRandom};

/// Mints ids.
pub trait Ids: Send + Sync + fmt::Debug + 'static {
    /// A new id: the prefix, an underscore and a part that this value never minted before, as in `run_01j…`.
    ///
    /// Ids that outlive a process must differ from those of every other one, too. That is the implementation's to see to:
    /// [`SortableIds`] does, and [`CountingIds`] begins anew wherever it is made.
    fn mint(&self, prefix: &str) -> String;
}

/// Ids that sort by the time at which they were minted.
///
/// As in a ULID, the new part is 26 characters of Crockford's base 32 (in lower case): 48 bits of milliseconds, then 80
/// random bits. Within a process they are strictly increasing, also while the clock stands still or goes back: then the
/// last id is counted up.
#[derive(Debug)]
pub struct SortableIds {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    last: Mutex<u128>,
}

impl SortableIds {
    /// Ids over this clock and these random bytes.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self { clock, random, last: Mutex::new(0) }
    }

    /// Ids over the system's clock and random bytes.
    pub fn system() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(SystemRandom))
    }

    fn next(&self) -> u128 {
        /// So many bits follow the milliseconds.
        const RANDOM_BITS: u32 = 80;
        let mut random = [0; 16];
        if let Some(low) = random.get_mut(6..) {
            self.random.fill(low);
        }
        let millis = u128::try_from(self.clock.now().as_millis()).unwrap_or(0);
        let minted = (millis << RANDOM_BITS) | u128::from_be_bytes(random);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // In the same millisecond, or after the clock went back, the time of the last one counts.
        *last = if minted >> RANDOM_BITS > *last >> RANDOM_BITS { minted } else { last.wrapping_add(1) };
        *last
    }
}

impl Ids for SortableIds {
    fn mint(&self, prefix: &str) -> String {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let id = self.next();
        let mut text = String::with_capacity(prefix.len().saturating_add(27));
        text.push_str(prefix);
        text.push('_');
        for place in (0..26).rev() {
            let digit = usize::try_from((id >> (place * 5)) & 31).unwrap_or_default();
            text.push(char::from(DIGITS.get(digit).copied().unwrap_or_default()));
        }
        text
    }
}

/// Ids that count, for tests: `run_1`, `run_2`, `effect_3`. Two of these mint the same ids.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl CountingIds {
    /// Counts from one.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Ids for CountingIds {
    fn mint(&self, prefix: &str) -> String {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        format!("{prefix}_{}", before.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ManualClock, SeededRandom, Timestamp};

    fn ids() -> (Arc<ManualClock>, SortableIds) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_700_000_000_000)));
        (clock.clone(), SortableIds::new(clock, Arc::new(SeededRandom::new(42))))
    }

    #[test]
    fn sortable_ids_increase_whatever_the_clock_does() {
        let (clock, ids) = ids();
        let mut minted = Vec::new();
        for step in [0, 0, 1, -999, -999, 4_001] {
            clock.set(Timestamp::from_millis(1_700_000_000_000 + step));
            minted.extend((0..100).map(|_| ids.mint("run")));
        }
        assert!(minted.is_sorted_by(|a, b| a < b));
        assert!(minted.iter().all(|id| id.len() == "run_".len() + 26));
    }

    #[test]
    fn sortable_ids_begin_with_the_time() {
        let (_, ids) = ids();
        // The first ten digits are the milliseconds.
        let id = ids.mint("run");
        let digits = "0123456789abcdefghjkmnpqrstvwxyz";
        let time = id.chars().skip(4).take(10).fold(0, |time, char| time * 32 + digits.find(char).unwrap());
        assert_eq!(time, 1_700_000_000_000);
    }

    #[test]
    fn threads_never_mint_the_same_id() {
        let ids = SortableIds::system();
        let mut minted: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..500).map(|_| ids.mint("x")).collect::<Vec<_>>())).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        minted.sort_unstable();
        minted.dedup();
        assert_eq!(minted.len(), 2_000);
    }

    #[test]
    fn counting_ids_count_across_prefixes() {
        let ids = CountingIds::new();
        assert_eq!([ids.mint("run"), ids.mint("effect")], ["run_1", "effect_2"]);
    }

    #[test]
    fn the_traits_are_dyn_compatible() {
        let _: (Box<dyn Ids>, Box<dyn Clock>, Box<dyn Random>) =
            (Box::new(CountingIds::new()), Box::new(SystemClock), Box::new(SystemRandom));
    }
}
