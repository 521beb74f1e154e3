//! What the engine costs beside the floor, the JavaScript reference and the same work written by hand, in one run, and
//! which of the goals are met.
//!
//! The peers' programs are those of `../shared/peers`; npm installs the reference and a Node.js of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{LOADS, Peers, copy_folder, ours};
use crate::run::{Failure, cargo, output, run};
use crate::workspace;

/// Workflows in memory; the reference needs fewer for a figure.
const IN_MEMORY: [&str; 2] = ["20000", "500"];
/// Steps behind a run that is resumed.
const BEHIND: [u64; 3] = [100, 10_000, 100_000];
/// Runs that are parked.
const PARKED: &str = "100000";
/// Nodes of a dataflow between its first and its last.
const WIDTH: &str = "100";
/// Workflows of a run whose syncs are counted, which makes it slow.
const COUNTED: [&str; 3] = ["200", "10", "1"];

/// Numbers by the peer, a key of the row and the figure's name; of several rounds the best.
#[derive(Default)]
struct Figures(BTreeMap<String, f64>);

/// The task.
pub(super) fn engine(rounds: usize) -> Result<(), Failure> {
    let peers = Peers::build_with(&["floor", "limits", "dag-rust"])?;
    let script = reference(&peers)?;
    run(&mut cargo(["build", "--release", "--package", "jaren-bench"]))?;
    let node = |file: &str, words: &[&str]| {
        let mut command = Command::new(script.join("node_modules/.bin/node"));
        command.arg(file).args(words).current_dir(&script).env("BENCH_DIR", peers.data());
        command
    };
    let mut figures = Figures::default();
    for _ in 0..rounds {
        let [many, few] = IN_MEMORY;
        figures.take(&output(&mut ours("release", &["steps", many]))?, "n");
        figures.take(&output(&mut node("steps.mjs", &["mem", few, "10", "1"]))?, "c");
        figures.take(&output(&mut ours("release", &["dag", WIDTH]))?, "width");
        figures.take(&output(peers.program("dag-bench").arg(WIDTH))?, "width");
        figures.take(&output(&mut node("dag.mjs", &[WIDTH]))?, "width");
        for load in &LOADS {
            figures.take(&output(peers.program("floor-bench").arg("group").args(load))?, "c");
            figures.take(&output(ours("release", load).env("BENCH_DIR", peers.data()))?, "c");
        }
    }
    for steps in BEHIND {
        figures.take(&output(&mut ours("release", &["resume", &steps.to_string()]))?, "steps");
    }
    figures.take(&output(&mut ours("release", &["parked", PARKED]))?, "runs");
    for (name, figure) in &figures.0 {
        println!("{name:<56} {figure:>12.1}");
    }
    figures.goals(syncs(&peers)?);
    Ok(())
}

/// The folder of the reference's programs.
fn reference(peers: &Peers) -> Result<PathBuf, Failure> {
    let script = peers.work.join("src/jaren-engine-js");
    copy_folder(&workspace::root().join("xtask/bench/peers/engine-js"), &script)?;
    for (from, to) in [("jaren/steps.mjs", "steps.mjs"), ("dag-js/bench.mjs", "dag.mjs")] {
        let from = workspace::shared().join("peers").join(from);
        std::fs::copy(&from, script.join(to)).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    run(Command::new("npm").args(["install", "--silent"]).current_dir(&script))?;
    Ok(script)
}

/// Syncs for each durable commit, counted by strace; none where that is not installed.
fn syncs(peers: &Peers) -> Result<Option<f64>, Failure> {
    if Command::new("strace").arg("-V").output().is_err() {
        return Ok(None);
    }
    let counts = peers.data().join("strace.txt");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-c", "-e", "trace=fsync,fdatasync", "-o"]).arg(&counts);
    traced.arg(workspace::root().join("target/release/jaren-bench")).args(COUNTED);
    output(traced.env("BENCH_DIR", peers.data()))?;
    let counted =
        std::fs::read_to_string(&counts).map_err(|error| format!("{}: {error}", counts.display()))?;
    let calls = |line: &str| {
        let named = line.ends_with("fsync") || line.ends_with("fdatasync");
        named.then(|| line.split_whitespace().nth(3)?.parse::<f64>().ok()).flatten()
    };
    let [workflows, steps, _] = COUNTED.map(|word| word.parse::<f64>().unwrap_or(f64::NAN));
    // A run's start is a commit, and those that warm up are runs too.
    const WARM_UP: f64 = 5.0;
    Ok(Some(counted.lines().filter_map(calls).sum::<f64>() / ((workflows + WARM_UP) * (steps + 1.0))))
}

impl Figures {
    /// Takes the figures of the printed lines; rates are better when they are larger.
    fn take(&mut self, printed: &str, key: &str) {
        let lines = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        for line in lines {
            let (Some(peer), Some(row)) = (line.get("peer").and_then(Value::as_str), line.as_object()) else {
                continue;
            };
            let at = row.get(key).and_then(Value::as_u64).unwrap_or_default();
            for (name, figure) in row.iter().filter(|(name, _)| *name != key) {
                let Some(figure) = figure.as_f64() else { continue };
                let best = self.0.entry(format!("{peer} {key}={at} {name}")).or_insert(figure);
                *best = if name.ends_with("per_s") { best.max(figure) } else { best.min(figure) };
            }
        }
    }

    /// A figure; one that is missing is NaN, and no goal is met by that.
    fn of(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    fn goals(&self, syncs: Option<f64>) {
        let say =
            |what: String, is_met: bool| println!("{} {what}", if is_met { "met:   " } else { "MISSED:" });
        let reference = 1e9 / self.of("jaren-flow-mem c=1 steps_per_s");
        let faster = reference / self.of(&format!("jaren-mem n={} ns_per_step", IN_MEMORY[0]));
        say(format!("in memory {faster:.0} times the reference (100)"), faster >= 100.0);
        for (ours, peer, goal) in [
            ("jaren-rust-dag-query", "futures-join_all(no spawn)", 5.0),
            ("jaren-rust-dag-task", "tokio-JoinSet(spawn per node)", 1.5),
        ] {
            let of = |peer: &str| self.of(&format!("{peer} width={WIDTH} run_p50_us"));
            let times = of(ours) / of(peer);
            say(format!("{ours} 1→{WIDTH}→1 costs {times:.1} times {peer} ({goal})"), times <= goal);
            let reference = of(&ours.replace("-rust", "")) / of(ours);
            println!("        and is {reference:.1} times as fast as the reference");
        }
        for ([_, _, at_once], goal) in LOADS.iter().zip([0.75, 0.6]) {
            let of = |peer: &str, figure: &str| self.of(&format!("{peer} c={at_once} {figure}"));
            let [ours, floor] = ["jaren-sqlite-full", "floor-sqlite-full-group"];
            let part = of(ours, "steps_per_s") / of(floor, "steps_per_s");
            say(
                format!("{at_once} at a time: {part:.2} of the floor's steps a second ({goal})"),
                part >= goal,
            );
            let spread = |peer: &str| of(peer, "step_p99_us") / of(peer, "step_p50_us");
            let (spread, bound) = (spread(ours), (spread(floor) * 1.5).max(5.0));
            say(format!("{at_once} at a time: p99 is {spread:.1} times p50 ({bound:.1})"), spread <= bound);
            let cpu = of(ours, "cpu_us_per_step");
            say(format!("{at_once} at a time: {cpu:.0} µs of CPU a step (20)"), cpu <= 20.0);
        }
        match syncs {
            Some(syncs) => say(format!("{syncs:.2} syncs a durable commit (1)"), syncs <= 1.05),
            None => println!("not counted: syncs a commit, as strace is not installed"),
        }
        let resume = |steps: u64| self.of(&format!("jaren-resume steps={steps} resume_us"));
        for steps in BEHIND {
            let times = resume(steps) / resume(BEHIND[0]);
            say(
                format!("resume after {steps} steps takes {times:.1} times that after 100 (2)"),
                times <= 2.0,
            );
        }
        let runs = PARKED.parse().unwrap_or(f64::NAN);
        let bytes = self.of(&format!("jaren-parked runs={PARKED} grown_kib")) * 1024.0 / runs;
        say(format!("a parked run keeps {bytes:.0} bytes of memory (64)"), bytes <= 64.0);
        let woken = self.of("jaren-idle runs=0 wake_ups");
        say(format!("an idle process wakes {woken:.0} times in two seconds (0)"), woken <= 0.0);
    }
}
