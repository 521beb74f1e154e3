//! Durable steps a second of our engine, beside the floor and this disk's sync rate, in one run.
//!
//! The floor and the measure of the disk are peers' programs (`../shared/peers`); they are copied to a cache folder and
//! built there, because that folder is read-only. Each prints one JSON line with the same keys.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Failure, cargo, output, run};
use crate::workspace;

mod engine;
mod machines;
mod queries;
mod store;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// What is measured.
    #[arg(value_enum, default_value = "durable")]
    what: What,
    /// How often everything is measured; machines drift, so the programs take turns.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only rows of queries that have all of these words in their names, which are `WORK PROGRAM`.
    #[arg(last = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    /// Durable steps a second of the engine.
    Durable,
    /// All else that the engine costs: in memory, dataflows, resuming, parked runs; with the goals.
    Engine,
    /// Steps of machines and statecharts, which are pure.
    Machines,
    /// Queries, paths and stylesheets.
    Queries,
    /// Commits of the store.
    Store,
}

/// Workflows, steps of each, and how many at a time.
const LOADS: [[&str; 3]; 2] = [["500", "10", "1"], ["4000", "10", "64"]];

/// How long the sync rate is measured.
const DISK_SECONDS: &str = "3";

/// The task.
pub(crate) fn bench(options: &Options) -> Result<(), Failure> {
    match options.what {
        What::Durable => durable(options.rounds),
        What::Engine => engine::engine(options.rounds),
        What::Machines => machines::machines(options.rounds),
        What::Queries => queries::queries(options.rounds, &options.words),
        What::Store => store::store(options.rounds),
    }
}

fn durable(rounds: usize) -> Result<(), Failure> {
    let peers = Peers::build()?;
    run(&mut cargo(["build", "--release", "--package", "jaren-bench"]))?;
    run(peers.program("limits").args(["disk", DISK_SECONDS]))?;
    let mut ratios = [const { Vec::new() }; LOADS.len()];
    for _ in 0..rounds {
        for (load, ratios) in LOADS.iter().zip(&mut ratios) {
            let floor = steps_per_s(&output(peers.program("floor-bench").arg("group").args(load))?)?;
            let jaren = steps_per_s(&output(ours("release", load).env("BENCH_DIR", peers.data()))?)?;
            ratios.push(jaren / floor);
        }
    }
    for ([_, _, at_once], ratios) in LOADS.iter().zip(&ratios) {
        let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
        println!("jaren / floor, {at_once} at a time: {}", shown.join(" "));
    }
    Ok(())
}

/// The rate in the JSON line that a bench printed.
fn steps_per_s(printed: &str) -> Result<f64, Failure> {
    let lines = printed.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let rate = lines.filter_map(|line| line.get("steps_per_s")?.as_f64()).next_back();
    rate.ok_or_else(|| "a bench printed no line with `steps_per_s`".to_owned())
}

/// What `ci` runs: only that the bench works, on the code that the tests have built.
pub(crate) fn short() -> Result<(), Failure> {
    run(&mut ours("dev", &["20", "5", "4"]))
}

fn ours(profile: &str, load: &[&str]) -> Command {
    let mut command = cargo(["run", "--quiet", "--profile", profile, "--package", "jaren-bench", "--"]);
    command.args(load);
    command
}

/// The peers' programs, built.
struct Peers {
    /// What they build and write.
    work: PathBuf,
}

impl Peers {
    fn build() -> Result<Self, Failure> {
        Self::build_with(&["floor", "limits"])
    }

    fn build_with(names: &[&str]) -> Result<Self, Failure> {
        let source = workspace::shared().join("peers");
        if !source.exists() {
            return Err(format!("the peers are not at {}: nothing to compare with", source.display()));
        }
        let peers = Self { work: cache_folder()?.join("jaren-peers") };
        std::fs::create_dir_all(peers.data())
            .map_err(|error| format!("{}: {error}", peers.data().display()))?;
        for name in names {
            let copy = peers.work.join("src").join(name);
            copy_folder(&source.join(name), &copy)?;
            run(cargo(["build", "--release", "--manifest-path"])
                .arg(copy.join("Cargo.toml"))
                .env("CARGO_TARGET_DIR", peers.work.join("target")))?;
        }
        Ok(peers)
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.work.join("target/release").join(name));
        command.env("BENCH_DIR", self.data());
        command
    }

    /// Where all of them write, so that all meet the same disk.
    fn data(&self) -> PathBuf {
        self.work.join("data")
    }
}

fn cache_folder() -> Result<PathBuf, Failure> {
    let set = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    set.or_else(home).ok_or_else(|| "neither XDG_CACHE_HOME nor HOME is set".to_owned())
}

/// Copies what is read-only so that cargo can write its lock file beside it.
fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| format!("copying {} to {}: {error}", from.display(), to.display());
    std::fs::create_dir_all(to).map_err(failed)?;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            let content = std::fs::read(entry.path()).map_err(failed)?;
            std::fs::write(&target, content).map_err(failed)?;
        }
    }
    Ok(())
}
