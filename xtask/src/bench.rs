//! Durable steps a second of our engine, beside the floor and this disk's sync rate, in one run.
//!
//! The floor and the measure of the disk are peers' programs (`../shared/peers`); they are copied to a cache folder and
//! built there, because that folder is read-only. Each prints one JSON line with the same keys.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Failure, cargo, run};
use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often everything is measured; machines drift, so the programs take turns.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Workflows, steps of each, and how many at a time.
const LOADS: [[&str; 3]; 2] = [["500", "10", "1"], ["4000", "10", "64"]];

/// How long the sync rate is measured.
const DISK_SECONDS: &str = "3";

/// The task.
pub(crate) fn bench(options: &Options) -> Result<(), Failure> {
    let peers = Peers::build()?;
    run(&mut cargo(["build", "--release", "--package", "jaren-bench"]))?;
    run(peers.program("limits").args(["disk", DISK_SECONDS]))?;
    for _ in 0..options.rounds {
        for load in LOADS {
            run(peers.program("floor-bench").arg("group").args(load))?;
            run(&mut ours("--release", &load))?;
        }
    }
    Ok(())
}

/// What `ci` runs: only that the bench works, on the code that the tests have built.
pub(crate) fn short() -> Result<(), Failure> {
    run(&mut ours("--quiet", &["20", "5", "4"]))
}

fn ours(profile: &str, load: &[&str]) -> Command {
    let mut command = cargo(["run", profile, "--quiet", "--package", "jaren-bench", "--"]);
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
        let source = workspace::shared().join("peers");
        if !source.exists() {
            return Err(format!("the peers are not at {}: nothing to compare with", source.display()));
        }
        let peers = Self { work: cache_folder()?.join("jaren-peers") };
        for name in ["floor", "limits"] {
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
        command.env("BENCH_DIR", self.work.join("data"));
        command
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
