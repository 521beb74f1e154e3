//! Every gate in order, and a table with times at the end.

use std::time::{Duration, Instant};

use crate::run::{Failure, cargo, conformance, run, test};
use crate::{bench, deny, example, fuzz, layers, sim, tidy};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs only these gates.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

/// What a gate answers when it did not fail.
pub(crate) enum Passed {
    Fully,
    /// Something was left out, with the reason.
    Partly(String),
}

struct Gate {
    name: &'static str,
    run: fn() -> Result<Passed, Failure>,
}

/// Cheap gates first; then what shares its compiled code.
const GATES: [Gate; 15] = [
    Gate { name: "fmt", run: || fully(run(&mut cargo(["fmt", "--all", "--check"]))) },
    Gate { name: "layers", run: || fully(layers::layers()) },
    Gate { name: "tidy", run: || fully(tidy::tidy(false)) },
    Gate { name: "deny", run: deny::deny },
    Gate { name: "clippy", run: || fully(clippy()) },
    Gate { name: "docs", run: || fully(docs()) },
    Gate { name: "build", run: || fully(run(&mut cargo(["build", "--package", "jaren-cli"]))) },
    Gate { name: "test", run: || fully(test(&["--no-fail-fast".to_owned()])) },
    Gate { name: "serde-json-features", run: || fully(serde_json_features()) },
    Gate { name: "features", run: || fully(features()) },
    Gate { name: "conformance", run: || fully(conformance(&[])) },
    Gate { name: "sim", run: || fully(sim::short()) },
    Gate { name: "fuzz", run: || fully(fuzz::short()) },
    Gate { name: "example", run: example::example },
    Gate { name: "bench", run: || fully(bench::short()) },
];

/// The task. Every gate runs, also after one that failed, so that one run tells everything.
pub(crate) fn ci(options: &Options) -> Result<(), Failure> {
    if let Some(unknown) = options.only.iter().find(|name| GATES.iter().all(|gate| gate.name != **name)) {
        let names: Vec<_> = GATES.iter().map(|gate| gate.name).collect();
        return Err(format!("no gate is called `{unknown}`; there are: {}", names.join(", ")));
    }
    let wanted = |gate: &&Gate| options.only.is_empty() || options.only.iter().any(|name| name == gate.name);
    let mut rows = Vec::new();
    for gate in GATES.iter().filter(wanted) {
        println!("\n=== {} ===", gate.name);
        let start = Instant::now();
        let result = (gate.run)();
        if let Err(failure) = &result {
            eprintln!("error: {failure}");
        }
        rows.push((gate.name, start.elapsed(), result));
    }
    summary(&rows)
}

fn summary(rows: &[(&str, Duration, Result<Passed, Failure>)]) -> Result<(), Failure> {
    println!("\n{:<20} {:>8}  result", "gate", "time");
    for (name, time, result) in rows {
        let result = match result {
            Ok(Passed::Fully) => "passed".to_owned(),
            Ok(Passed::Partly(reason)) => format!("passed ({reason})"),
            Err(failure) => format!("FAILED: {failure}"),
        };
        println!("{name:<20} {:>6.1} s  {result}", time.as_secs_f64());
    }
    let total: Duration = rows.iter().map(|(_, time, _)| *time).sum();
    println!("{:<20} {:>6.1} s", "all", total.as_secs_f64());
    let failed: Vec<_> =
        rows.iter().filter(|(_, _, result)| result.is_err()).map(|(name, ..)| *name).collect();
    for name in &failed {
        println!("run only this gate again: cargo xtask ci --only {name}");
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

fn fully(result: Result<(), Failure>) -> Result<Passed, Failure> {
    result.map(|()| Passed::Fully)
}

fn clippy() -> Result<(), Failure> {
    run(&mut cargo(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}

fn docs() -> Result<(), Failure> {
    run(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny warnings"))
}

/// What is behind features that the libraries do not turn on by themselves.
fn features() -> Result<(), Failure> {
    run(&mut cargo(["test", "--package", "jaren-query", "--features", "time-zones", "--test", "zones"]))?;
    run(&mut cargo(["test", "--package", "jaren-engine", "--features", "metrics", "--test", "metrics"]))?;
    run(&mut cargo([
        "test",
        "--package",
        "jaren-sqlite",
        "--features",
        "host-transactions",
        "--test",
        "host",
    ]))?;
    run(&mut cargo(["check", "--package", "jaren", "--no-default-features"]))?;
    run(&mut cargo(["test", "--package", "jaren", "--features", "json-schema"]))
}

/// A downstream workspace may turn these features on for the whole build; they change how `serde_json` keeps maps and
/// numbers. They are features of a dev-dependency, so only it and this one crate's tests are compiled anew.
fn serde_json_features() -> Result<(), Failure> {
    let features = "serde_json/preserve_order,serde_json/arbitrary_precision";
    run(&mut cargo(["test", "--package", "jaren-json", "--features", features]))
}
