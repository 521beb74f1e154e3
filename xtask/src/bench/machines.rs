//! Steps and compiles of our machines and statecharts beside the JavaScript reference, `XState`, other Rust crates and a
//! table written by hand, in one run.
//!
//! The peers' programs stand in `xtask/bench/peers`: those of `../shared/peers`, extended by the rows that were missing.
//! They are copied to a cache folder and built there; npm installs the others' packages and a Node.js of its own.

use std::collections::BTreeMap;
use std::process::Command;

use super::{cache_folder, copy_folder};
use crate::run::{Failure, cargo, output, run};
use crate::workspace;

/// The best nanoseconds, or microseconds of a compile, by row and number of states.
type Rows = BTreeMap<(String, u64), f64>;

/// The task.
pub(super) fn machines(rounds: usize) -> Result<(), Failure> {
    let work = cache_folder()?.join("jaren-peers");
    let ours = workspace::root().join("xtask/bench/peers");
    let script = work.join("src/jaren-fsm-js");
    copy_folder(&ours.join("fsm-js"), &script)?;
    run(Command::new("npm").args(["install", "--silent"]).current_dir(&script))?;
    let rust = work.join("src/jaren-fsm-rust");
    copy_folder(&ours.join("fsm-rust"), &rust)?;
    run(Command::new("python3").arg("gen.py").current_dir(&rust))?;
    let target = work.join("target");
    let manifest = rust.join("Cargo.toml");
    run(cargo(["build", "--release", "--manifest-path"]).arg(manifest).env("CARGO_TARGET_DIR", &target))?;
    let mut rows = Rows::new();
    for _ in 0..rounds {
        let bench = ["bench", "--quiet", "--package", "jaren-flow", "--bench", "step"];
        take(&output(&mut cargo(bench))?, &mut rows);
        take(&output(&mut Command::new(target.join("release/fsm-bench")))?, &mut rows);
        let node = script.join("node_modules/.bin/node");
        take(&output(Command::new(node).arg("bench.mjs").current_dir(&script))?, &mut rows);
    }
    for ((peer, states), best) in &rows {
        let unit = if peer.contains("compile") { "µs" } else { "ns" };
        println!("{peer:<36} {states:>4} states {best:>12.1} {unit}");
    }
    goals(&rows);
    Ok(())
}

/// Keeps the best of each row.
fn take(printed: &str, rows: &mut Rows) {
    let lines = printed.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    for line in lines {
        let number = ["ns_per_step", "us_per_compile"].iter().find_map(|name| line.get(name)?.as_f64());
        let row = line
            .get("peer")
            .and_then(serde_json::Value::as_str)
            .zip(line.get("states").and_then(serde_json::Value::as_u64));
        if let (Some((peer, states)), Some(number)) = (row, number) {
            let best = rows.entry((peer.to_owned(), states)).or_insert(number);
            *best = best.min(number);
        }
    }
}

/// Prints each goal with what was reached; a row that is missing reads NaN, and no goal is met by that.
fn goals(rows: &Rows) {
    let row = |peer: &str, states: u64| rows.get(&(peer.to_owned(), states)).copied().unwrap_or(f64::NAN);
    let say = |what: String, is_met: bool| println!("{} {what}", if is_met { "met:   " } else { "MISSED:" });
    for states in [5, 50, 500] {
        let step = row("jaren-machine.step", states);
        let table = step / row("hand-table-serde_json", states);
        let beyond = step - row("two-guards", states);
        say(
            format!(
                "machine, {states} states: {table:.1} times the table by hand (5), or its guards and {beyond:.0} ns (20)"
            ),
            table <= 5.0 || beyond <= 20.0,
        );
        // The others are given the state's id, too.
        let step = row("jaren-machine.step-by-id", states);
        for (peer, goal) in [("reference-machine.step", 4.0), ("xstate.send", 50.0)] {
            let faster = row(peer, states) / step;
            say(
                format!("machine, {states} states: {faster:.1} times faster than {peer} ({goal})"),
                faster >= goal,
            );
        }
        let goal = [(5, 10.0), (500, 100.0)]
            .into_iter()
            .find(|(size, _)| *size == states)
            .map_or(10.0, |(_, goal)| goal);
        for shape in ["", "-nested", "-parallel", "-history"] {
            let step = row(&format!("jaren-statechart{shape}.step"), states);
            let faster = row(&format!("reference-statechart{shape}.step"), states) / step;
            say(
                format!(
                    "statechart{shape}, {states} states: {faster:.0} times faster than the reference ({goal})"
                ),
                faster >= goal,
            );
        }
    }
}
