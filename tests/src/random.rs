//! Seeded randomness for suites: the seed is printed by whoever fails, and given again in `JAREN_SEED`.

/// A small generator (SplitMix64): good enough to choose instants, and the same on every machine.
#[derive(Debug, Clone)]
pub struct Seeded(u64);

impl Seeded {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; zero when the bound is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.bits() % bound }
    }
}

/// The seed of this run: `JAREN_SEED` when it is set (to replay a failure), else the one given.
pub fn seed(default: u64) -> u64 {
    std::env::var("JAREN_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
