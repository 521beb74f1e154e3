//! Random bytes.

use std::fmt;
use std::sync::Mutex;

/// Gives random bytes.
pub trait Random: Send + Sync + fmt::Debug + 'static {
    /// Fills the buffer.
    fn fill(&self, buffer: &mut [u8]);
}

/// The random bytes of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    /// # Panics
    ///
    /// Where the operating system has no random bytes to give: nothing that needs them could go on.
    #[expect(clippy::panic, reason = "no supported system refuses; a weak id in its place would be worse")]
    fn fill(&self, buffer: &mut [u8]) {
        if let Err(error) = getrandom::fill(buffer) {
            panic!("the operating system gives no random bytes: {error}");
        }
    }
}

/// Bytes that follow from a seed, for tests; the same seed gives the same bytes.
///
/// `SplitMix64`: well spread, and no secret.
#[derive(Debug)]
pub struct SeededRandom(Mutex<u64>);

impl SeededRandom {
    /// The bytes of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }
}

impl Random for SeededRandom {
    fn fill(&self, buffer: &mut [u8]) {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for chunk in buffer.chunks_mut(8) {
            *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut word = *state;
            word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            word ^= word >> 31;
            for (to, from) in chunk.iter_mut().zip(word.to_le_bytes()) {
                *to = from;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_bytes_and_another_seed_others() {
        let take = |seed| {
            let random = SeededRandom::new(seed);
            let mut bytes = [0; 19];
            random.fill(&mut bytes);
            bytes
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
    }

    #[test]
    fn splitmix64_gives_the_published_words() {
        let mut bytes = [0; 8];
        SeededRandom::new(1_234_567).fill(&mut bytes);
        assert_eq!(u64::from_le_bytes(bytes), 6_457_827_717_110_365_317);
    }

    #[test]
    fn the_system_fills_the_buffer() {
        let (mut a, mut b) = ([0; 32], [0; 32]);
        SystemRandom.fill(&mut a);
        SystemRandom.fill(&mut b);
        assert_ne!(a, b);
    }
}
