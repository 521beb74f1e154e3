//! The long forms of what `ci` runs short: properties with many more cases, the whole crash matrix and more simulated
//! histories, and the storms under fresh seeds.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::run::{Failure, cargo, run};
use crate::sim;

/// How many cases a property gets; in `ci` it is proptest's own 256.
const PROPTEST_CASES: &str = "20000";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often the suites of `tests/` run, each time with another seed.
    #[arg(long, default_value_t = 10)]
    rounds: u64,
}

/// The task. A failing round names its seed in the command that it shows: `JAREN_SEED` replays it.
pub(crate) fn soak(options: &Options) -> Result<(), Failure> {
    run(cargo(["test", "--release", "--workspace"]).env("PROPTEST_CASES", PROPTEST_CASES))?;
    sim::long()?;
    let first = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    for seed in first..first.saturating_add(options.rounds) {
        println!("soak: JAREN_SEED={seed}");
        let round = run(cargo(["test", "--release", "--workspace"]).env("JAREN_SEED", seed.to_string()));
        round.map_err(|failure| format!("JAREN_SEED={seed}: {failure}"))?;
    }
    Ok(())
}
