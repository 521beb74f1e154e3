//! Deterministic simulation of the engine: `cargo xtask sim`.
//!
//! A history is many runs, engines, clocks and storage faults in one thread, all from one seed. The documents are
//! generated; the order in which tasks, commits and reads end is drawn; processes crash between any two polls; and after
//! every step the judge reads the store alone. What a run comes to is told by a second reading of its plan, which shares no
//! code with the engine.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::unreachable,
    reason = "a program for tests: it prints, and a mistake in it may end it"
)]

mod board;
mod causes;
mod dice;
mod document;
mod fixed;
mod history;
mod judge;
mod link;
mod many;
mod matrix;
mod oracle;
mod plan;
mod tasks;
#[cfg(test)]
mod tests;
mod world;

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use jaren_durable_kit::faults::Fault;

use link::Control;
use many::Many;
use world::{Setting, Trouble};

#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask sim", about = "Simulates the engine: many histories, each from its seed")]
struct Arguments {
    /// The seed of the first history; each further one has the next number. Default: a fresh one.
    #[arg(long)]
    seed: Option<u64>,
    /// How many histories.
    #[arg(long, conflicts_with = "seconds")]
    histories: Option<u64>,
    /// For how long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Histories at once; each is in one thread.
    #[arg(long)]
    jobs: Option<usize>,
    /// Runs in each history. Default: the seed tells.
    #[arg(long)]
    runs: Option<usize>,
    /// Processes at a time. Default: the seed tells.
    #[arg(long)]
    processes: Option<usize>,
    /// Trouble that is left out.
    #[arg(long, value_delimiter = ',')]
    without: Vec<Trouble>,
    /// Takes a guard of the engine away: a history must condemn it.
    #[arg(long)]
    control: Option<Control>,
    /// Tells every step.
    #[arg(long)]
    trace: bool,
    /// Goes through the crash matrix of the fixed documents instead.
    #[arg(long)]
    matrix: bool,
    /// The short form of everything, for `cargo xtask ci`.
    #[arg(long)]
    short: bool,
}

/// How many histories may pass before a control is condemned.
const CONDEMNED_WITHIN: u64 = 300;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let passed = if arguments.short {
        short()
    } else if arguments.matrix {
        tell_matrix(arguments.control)
    } else if let Some(control) = arguments.control {
        condemn(control, arguments.seed.unwrap_or(1))
    } else {
        simulate(&arguments)
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn simulate(arguments: &Arguments) -> bool {
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let many = Many {
        seed,
        histories: arguments.histories,
        until: Instant::now() + Duration::from_secs(arguments.seconds),
        jobs: arguments.jobs.unwrap_or_else(many::cores),
        setting: Setting {
            runs: arguments.runs,
            processes: arguments.processes,
            without: arguments.without.clone(),
            control: None,
            trace: arguments.trace,
        },
    };
    println!("sim: from seed {seed}");
    many.run().tell()
}

/// Fixed seeds, a fresh one, each control, and the crash matrix.
fn short() -> bool {
    const FIXED: u64 = 1;
    const SECONDS: u64 = 5;
    let setting = Setting::default();
    let mut passed = true;
    for seed in [FIXED, fresh_seed()] {
        println!("sim: from seed {seed}");
        let until = Instant::now() + Duration::from_secs(SECONDS);
        let many = Many { seed, histories: None, until, jobs: many::cores(), setting: setting.clone() };
        passed &= many.run().tell();
    }
    for control in Control::ALL {
        passed &= condemn(control, FIXED);
    }
    passed
}

fn condemn(control: Control, seed: u64) -> bool {
    let condemned = many::condemned(control, seed, CONDEMNED_WITHIN);
    if let Some((after, broken)) = &condemned {
        println!("sim: {control:?} is condemned by history {after}: {broken}");
    } else {
        println!("sim: {control:?} was not condemned within {CONDEMNED_WITHIN} histories from seed {seed}");
    }
    condemned.is_some()
}

fn tell_matrix(control: Option<Control>) -> bool {
    let start = Instant::now();
    let matrix = matrix::matrix(&Fault::MATRIX, control);
    for broken in &matrix.broken {
        println!("sim: {broken}");
    }
    println!(
        "sim: {} writes, each with {} faults: {} histories in {:.1} s, {} broken; {}",
        matrix.writes,
        Fault::MATRIX.len(),
        matrix.histories,
        start.elapsed().as_secs_f64(),
        matrix.broken.len(),
        matrix.coverage.summary(),
    );
    matrix.broken.is_empty() && matrix.coverage.is_whole()
}

/// Five digits that nobody has chosen, so that the command that replays them is short.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64 / 1000 % 90_000 * 1000 + 10_000_000
}
