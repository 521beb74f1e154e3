//! The long forms of what `ci` runs short: property tests with many more cases.

use crate::run::{Failure, cargo, run};

/// How many cases a property gets; in `ci` it is proptest's own 256.
const PROPTEST_CASES: &str = "20000";

pub(crate) fn soak() -> Result<(), Failure> {
    run(&mut cargo(["build", "--release", "--package", "jaren-cli"]))?;
    run(cargo(["test", "--release", "--workspace"])
        .env("PROPTEST_CASES", PROPTEST_CASES)
        .env("JAREN_SOAK", "1"))
}
