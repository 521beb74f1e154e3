//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

const AFTER_HELP: &str = "\
Exit codes:
    0  done                             7  contradicts what is stored
    1  a task or the run failed         8  a file or stream cannot be read or written
    2  wrong command line              10  the run waits for an event or a time
    3  a malformed file               130  stopped by Ctrl-C or SIGTERM
    4  no such file, run or store
    5  another process executes the run
    6  the store refused";

/// Runs JSON workflows durably: each finished step is stored before the next begins.
#[derive(Debug, Parser)]
#[command(name = "jaren", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    /// Write JSON to standard output, one object a line.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Write what the libraries report to standard error.
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a document: every defect, with its line and a caret.
    Check(Check),
    /// Start a run of a workflow and execute it; the same run again resumes it.
    Run(Run),
    /// Send an event to a run, then execute the run on.
    Send(Send),
    /// List the runs of a store.
    Runs(Runs),
    /// Show one run: where it is, what it waits for, its last failure, its results.
    Show(Show),
    /// Execute a stored run on.
    Resume(Resume),
    /// Print the JSON Schema of a format, or the list of them.
    Schema(Schema),
}

/// The store that a command works on.
#[derive(Debug, clap::Args)]
pub(crate) struct Store {
    /// The SQLite file that holds the runs.
    #[arg(long, value_name = "FILE", default_value = "jaren.db")]
    pub(crate) store: PathBuf,
}

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// A workflow, a dag or a statechart; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// Check against the bindings of this tasks file, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
}

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The workflow document; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// The run's input, a JSON file; `-` reads standard input. Without it the input is null.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// The tasks file that binds task names to commands.
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    /// The run's id; without it one is made up.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Return instead of waiting for a time to come.
    #[arg(long)]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) store: Store,
}

/// Arguments of `send`.
#[derive(Debug, clap::Args)]
pub(crate) struct Send {
    /// The run.
    pub(crate) run: String,
    /// The event's name, as the document has it.
    pub(crate) event: String,
    /// What the event carries, as JSON text.
    #[arg(long, value_name = "JSON")]
    pub(crate) payload: Option<String>,
    /// The event's own id: sending the same id again changes nothing. Without it one is made up.
    #[arg(long, value_name = "EVENT_ID")]
    pub(crate) id: Option<String>,
    /// Only store the event; do not execute the run.
    #[arg(long)]
    pub(crate) no_run: bool,
    #[command(flatten)]
    pub(crate) drive: Drive,
    #[command(flatten)]
    pub(crate) store: Store,
}

/// Arguments of `resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct Resume {
    /// The run.
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) drive: Drive,
    #[command(flatten)]
    pub(crate) store: Store,
}

/// How a stored run is executed on.
#[derive(Debug, clap::Args)]
pub(crate) struct Drive {
    /// Use this tasks file instead of the one that the run remembers.
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    /// Return instead of waiting for a time to come.
    #[arg(long)]
    pub(crate) no_wait: bool,
}

/// Arguments of `runs`.
#[derive(Debug, clap::Args)]
pub(crate) struct Runs {
    /// Only runs with this status.
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<Status>,
    #[command(flatten)]
    pub(crate) store: Store,
}

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The run.
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) store: Store,
}

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub(crate) struct Schema {
    /// The format; without it, the list of them.
    pub(crate) name: Option<SchemaName>,
    /// The version of JSON Schema.
    #[arg(long, value_name = "DRAFT", default_value = "2020-12")]
    pub(crate) draft: Draft,
}

/// What there is a schema of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaName {
    Workflow,
    Dag,
    Statechart,
    StatechartSnapshot,
    Machine,
    Query,
    Stylesheet,
}

/// The versions of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Draft {
    #[value(name = "2020-12")]
    Draft202012,
    #[value(name = "07")]
    Draft07,
}

/// A run's status, in the format's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    /// Being executed, or stopped on the way.
    Running,
    /// At a state that waits for an event or a time.
    Waiting,
    /// At its end.
    Done,
    /// Its last execution failed; `resume` tries again.
    Failed,
}
