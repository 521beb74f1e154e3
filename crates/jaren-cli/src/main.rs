//! The program `jaren`: checks, runs and resumes JSON workflows, with one SQLite file as their store; queries and
//! transforms JSON in a pipe.
#![forbid(unsafe_code)]

mod args;
mod command_task;
mod commands;
mod exec;
mod exit;
mod input;
mod lock;
mod moment;
mod output;
mod picture;
mod pipe;
mod printer;
mod problem;
mod progress;
mod signals;
mod snippet;
mod store;
mod stream;
mod tasks_file;
mod text;

use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::filter::LevelFilter;

use crate::args::{Cli, Command};
use crate::exec::{guard, watcher};
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

fn main() -> ExitCode {
    // The two helpers that this program starts of itself come before anything else: they must be quick.
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(word) if word == guard::EXEC => return guard::main(words),
        Some(word) if word == watcher::WATCH => return watcher::main(),
        _ => {}
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help is printed to standard output, the rest to standard error; a closed pipe is nobody's loss.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Success.into() };
        }
    };
    if cli.verbose {
        tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(LevelFilter::DEBUG).init();
    }
    let mut output = Output::new(cli.json);
    let exit = match execute(&cli.command, &mut output) {
        Ok(exit) => exit,
        Err(problem) => {
            output.problem(&problem);
            problem.exit()
        }
    };
    match output.finish() {
        Ok(()) => exit.into(),
        Err(problem) => {
            output::tell(&problem.render());
            problem.exit().into()
        }
    }
}

/// Executes a command on this thread: the commands behind tasks are tied to the thread that starts them.
fn execute(command: &Command, output: &mut Output) -> Result<Exit, Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::new(Exit::Io, format!("the program cannot be started: {error}")))?;
    runtime.block_on(async {
        match command {
            Command::Check(arguments) => commands::check::check(arguments, output),
            Command::Run(arguments) => commands::run::run(arguments, output).await,
            Command::Send(arguments) => commands::send::send(arguments, output).await,
            Command::Runs(arguments) => commands::runs::runs(arguments, output).await,
            Command::Prune(arguments) => commands::prune::prune(arguments, output).await,
            Command::Show(arguments) => commands::show::show(arguments, output).await,
            Command::Resume(arguments) => commands::resume::resume(arguments, output).await,
            Command::Rebind(arguments) => commands::rebind::rebind(arguments, output).await,
            Command::Graph(arguments) => commands::graph::graph(arguments, output).await,
            Command::Schema(arguments) => Ok(commands::schema::schema(arguments, output)),
            Command::Query(arguments) => commands::query::query(arguments, output),
            Command::Transform(arguments) => commands::transform::transform(arguments, output),
        }
    })
}
