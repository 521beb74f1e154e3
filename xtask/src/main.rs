//! The project's own tasks: `cargo xtask ci`, `test`, `layers`, `tidy`, `conformance`, `bench`, `fuzz`,
//! `sim`, `soak`, `surface`.
//!
//! Each task is one module with one job.
//! This package depends on none of our crates, so that the gates build in seconds; what needs them is a package of its
//! own beside it (`conformance/`, `bench/`) that a task here starts.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task's output is what it is for")]

mod bench;
mod ci;
mod deny;
mod example;
mod fuzz;
mod layers;
mod run;
mod sim;
mod soak;
mod surface;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own tasks")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Every gate in order, and a table with times at the end.
    Ci(ci::Options),
    /// The whole test suite: `cargo test --workspace`.
    Test {
        /// Handed on to `cargo test`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Checks who depends on whom: ranks, pure crates, heavy dependencies.
    Layers,
    /// Checks style that no compiler checks: lengths, module docs, leftovers, drift between docs and code.
    Tidy {
        /// Writes the ratchet anew where files and functions became shorter.
        #[arg(long)]
        bless: bool,
    },
    /// Runs the conformance corpus (`cargo xtask conformance --help` for its options).
    #[command(disable_help_flag = true)]
    Conformance {
        /// Handed on to the runner.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// What the engine or the machines cost, beside what others need for the same.
    Bench(bench::Options),
    /// Fuzzes the pure crates and what the engine restores: any input ends in an answer or an error.
    Fuzz(fuzz::Options),
    /// Simulates the engine, many histories from one seed (`cargo xtask sim --help` for its options).
    #[command(disable_help_flag = true)]
    Sim {
        /// Handed on to the program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// The long forms of what `ci` runs short.
    Soak(soak::Options),
    /// Lists what the libraries promise: a line for each public item.
    Surface(surface::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Ci(options) => ci::ci(&options),
        Task::Test { rest } => run::test(&rest),
        Task::Layers => layers::layers(),
        Task::Tidy { bless } => tidy::tidy(bless),
        Task::Conformance { rest } => run::conformance(&rest),
        Task::Bench(options) => bench::bench(&options),
        Task::Fuzz(options) => fuzz::fuzz(&options),
        Task::Sim { rest } => sim::sim(&rest),
        Task::Soak(options) => soak::soak(&options),
        Task::Surface(options) => surface::surface(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
