//! The simulation of the engine, by its program.

use crate::run::{Failure, cargo, run};

/// The task: the program in its fast form.
pub(crate) fn sim(rest: &[String]) -> Result<(), Failure> {
    let mut command = cargo(["run", "--quiet", "--release", "--package", "jaren-sim", "--"]);
    run(command.args(rest))
}

/// What `ci` runs: fixed seeds and a fresh one, and each control. The crash matrix is among the program's tests.
pub(crate) fn short() -> Result<(), Failure> {
    run(&mut cargo(["run", "--quiet", "--package", "jaren-sim", "--", "--short"]))
}

/// What `soak` runs: every write of the fixed documents with every fault, and fresh seeds for minutes.
pub(crate) fn long() -> Result<(), Failure> {
    const SECONDS: &str = "600";
    sim(&["--matrix".to_owned()])?;
    sim(&["--seconds".to_owned(), SECONDS.to_owned()])
}
