//! Fuzzing: builds `xtask/fuzz` with the compiler's own coverage instrumentation, and runs its targets two at a time.
//!
//! `-Cpasses=sancov-module` works on the stable toolchain; sanitizers do not, and safe code has little use for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::run::{Failure, cargo, conformance, run};
use crate::workspace;

/// The targets that `xtask/fuzz/src/targets.rs` names.
const TARGETS: [&str; 10] =
    ["reader", "delta", "query", "path", "stylesheet", "machine", "statechart", "dag", "workflow", "run"];

/// Inputs above this many bytes find nothing new.
const INPUT_MAX: u32 = 4096;

/// One input may take this many seconds before it counts as a hang.
const HANG_SECONDS: u32 = 10;

/// How long `ci` runs each target.
const SHORT_SECONDS: u32 = 20;

/// How many run at a time.
const AT_ONCE: usize = 2;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The targets; all of them if none is named.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// How long each runs.
    #[arg(long, default_value_t = 600)]
    seconds: u32,
}

/// The task.
pub(crate) fn fuzz(options: &Options) -> Result<(), Failure> {
    if let Some(unknown) = options.targets.iter().find(|name| !TARGETS.contains(&name.as_str())) {
        return Err(format!("no target is called `{unknown}`; there are: {}", TARGETS.join(", ")));
    }
    let wanted =
        |name: &&str| options.targets.is_empty() || options.targets.iter().any(|wanted| wanted == name);
    let targets: Vec<&str> = TARGETS.into_iter().filter(wanted).collect();
    run_all(&targets, options.seconds)
}

/// What `ci` runs.
pub(crate) fn short() -> Result<(), Failure> {
    run_all(&TARGETS, SHORT_SECONDS)
}

fn run_all(targets: &[&str], seconds: u32) -> Result<(), Failure> {
    let program = build()?;
    let folder = workspace::root().join("target/fuzz");
    let seeds = folder.join("seeds");
    conformance(&["--seeds".to_owned(), seeds.display().to_string()])?;
    let mut failures = Vec::new();
    for together in targets.chunks(AT_ONCE) {
        let started: Vec<_> = together
            .iter()
            .map(|target| (*target, start(&program, &folder, &seeds, target, seconds)))
            .collect();
        for (target, child) in started {
            if let Err(failure) = child.and_then(|child| finish(child, &folder, target)) {
                failures.push(failure);
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// Builds the instrumented program. Naming the platform keeps build scripts free of the instrumentation.
fn build() -> Result<PathBuf, Failure> {
    const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
        -Ccodegen-units=1 --cfg fuzzing";
    let platform = workspace::host_platform()?;
    let mut command =
        cargo(["build", "--quiet", "--release", "--locked", "--manifest-path", "xtask/fuzz/Cargo.toml"]);
    command.args(["--target", &platform, "--target-dir", "target/fuzz/build"]).env("RUSTFLAGS", FLAGS);
    run(&mut command)?;
    Ok(workspace::root().join("target/fuzz/build").join(platform).join("release/jaren-fuzz"))
}

/// Starts one target over what it found before and the seeds of the corpus.
fn start(program: &Path, folder: &Path, seeds: &Path, target: &str, seconds: u32) -> Result<Child, Failure> {
    let failed = |error: std::io::Error| format!("the fuzz target {target}: {error}");
    let found = folder.join("corpus").join(target);
    let crashes = folder.join("crashes").join(target);
    let seeds = seeds.join(target);
    for folder in [&found, &crashes, &seeds] {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let log = fs::File::create(log(folder, target)).map_err(failed)?;
    let mut command = Command::new(program);
    command.env("JAREN_FUZZ", target).arg(&found).arg(&seeds);
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={INPUT_MAX}"));
    command.arg(format!("-timeout={HANG_SECONDS}")).arg("-print_final_stats=1").arg("-rss_limit_mb=2048");
    command.arg(format!("-artifact_prefix={}/", crashes.display()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().map_err(failed)
}

fn log(folder: &Path, target: &str) -> PathBuf {
    folder.join(format!("{target}.log"))
}

/// Waits for a target and tells what it covered; an error names the input that broke it.
fn finish(mut child: Child, folder: &Path, target: &str) -> Result<(), Failure> {
    let status = child.wait().map_err(|error| format!("the fuzz target {target}: {error}"))?;
    let log = log(folder, target);
    let text = fs::read(&log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let executed = text.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let edges = text.lines().rev().find_map(|line| line.split("cov: ").nth(1)?.split(' ').next());
    println!("fuzz {target}: {} executions, {} edges", executed.unwrap_or("?").trim(), edges.unwrap_or("?"));
    if status.success() {
        return Ok(());
    }
    let broken = text.lines().find(|line| line.contains("panicked at") || line.contains("ERROR: libFuzzer"));
    Err(format!("the fuzz target {target} failed: {}; see {}", broken.unwrap_or("no reason"), log.display()))
}
