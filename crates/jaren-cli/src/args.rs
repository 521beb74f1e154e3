//! The command line.

use std::ffi::OsString;
use std::num::NonZeroU64;
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
    6  the store refused                9  a query or stylesheet fails on a value";

const QUERY_EXAMPLES: &str = "\
Examples:
    jaren query '$.items[*].price' orders.json
    jaren query --raw '{\"$for\": {\"i\": \"$.items[*]\"}, \"$where\": {\"$gt\": [\"$i.price\", \"$min\"]},
                       \"$return\": \"$i.name\"}' --arg min=10 < orders.jsonl
    jaren query '{\"no\": \"$.no\", \"prices\": [\"$.items[*].price\"]}' monday.jsonl tuesday.jsonl
    jaren query -f totals.json orders.jsonl";

const TRANSFORM_EXAMPLES: &str = "\
Examples:
    jaren transform '[{\"match\": \"$.items[*].price\", \"body\": {\"$mul\": [\"$\", 2]}}]' orders.json
    jaren transform '[{\"match\": \"$..secret\", \"body\": {\"$seq\": []}}]' orders.jsonl > without.jsonl
    jaren transform sheet.json --arg-text currency=EUR < orders.jsonl";

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
    /// Let go of runs that are done and old; without --yes, list them.
    Prune(Prune),
    /// Show one run: where it is, what it waits for, its last failure, its results.
    Show(Show),
    /// Execute a stored run on.
    Resume(Resume),
    /// Bind a run to another document, if what is stored of it fits; nothing is executed.
    Rebind(Rebind),
    /// Draw a document as a graph; with a run or a snapshot, light what is active.
    Graph(Graph),
    /// Print the JSON Schema of a format, or the list of them.
    Schema(Schema),
    /// Ask a query of each JSON value in a file or a pipe.
    #[command(after_help = QUERY_EXAMPLES)]
    Query(Query),
    /// Transform each JSON value in a file or a pipe by a stylesheet.
    #[command(after_help = TRANSFORM_EXAMPLES)]
    Transform(Transform),
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
    /// A document in any of the formats; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// Check against the bindings of this tasks file, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    /// Let warnings end the program as defects do.
    #[arg(long)]
    pub(crate) strict: bool,
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

/// Arguments of `rebind`.
#[derive(Debug, clap::Args)]
pub(crate) struct Rebind {
    /// The run.
    pub(crate) run: String,
    /// The workflow document that it goes on with; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// Who decides it; kept with the run.
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: String,
    /// Why; kept with the run.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// The tasks file that goes with the new document. Without it the run keeps the one that it remembers.
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    /// Let the state's work that is under way start over: what its nodes have stored is dropped.
    #[arg(long)]
    pub(crate) start_over: bool,
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

/// Arguments of `prune`.
#[derive(Debug, clap::Args)]
pub(crate) struct Prune {
    /// Only runs that did not change for so long: a number and s, m, h, d or w, as in 30d.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Age,
    /// Remove them.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: Store,
}

/// A length of time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Age {
    pub(crate) ms: i64,
}

fn age(text: &str) -> Result<Age, String> {
    let form = || "write a number and a unit (s, m, h, d, w), as in 30d".to_owned();
    let unit = text.chars().next_back().ok_or_else(form)?;
    let seconds: i64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(form()),
    };
    let number = text.trim_end_matches(unit);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(form());
    }
    let ms = number.parse::<i64>().ok().and_then(|number| number.checked_mul(seconds * 1000));
    ms.map(|ms| Age { ms }).ok_or_else(|| "that is longer than any clock counts".to_owned())
}

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The run.
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) store: Store,
}

/// Arguments of `graph`.
#[derive(Debug, clap::Args)]
pub(crate) struct Graph {
    /// A document in any of the formats; `-` reads standard input. Without it, that of the run.
    #[arg(required_unless_present = "run")]
    pub(crate) file: Option<PathBuf>,
    /// What to write.
    #[arg(long, value_name = "FORMAT", default_value = "svg")]
    pub(crate) format: Picture,
    /// Light what is active in this snapshot, a JSON file.
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub(crate) snapshot: Option<PathBuf>,
    /// Light the state of this run.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) store: Store,
}

/// How a graph is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    /// A picture, drawn by this program.
    Svg,
    /// Text for Mermaid.
    Mermaid,
    /// Text for Graphviz.
    Dot,
}

/// Arguments of `query`.
#[derive(Debug, clap::Args)]
pub(crate) struct Query {
    /// What to ask: text that begins with `$` is a path, other text is a query as JSON, `@FILE` reads either.
    #[arg(value_name = "EXPR", required_unless_present = "from_file")]
    pub(crate) expression: Option<OsString>,
    /// The JSON values to ask, one file after the other; without any, or where one is `-`, standard input.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Read the query from this file; the words are then all FILEs.
    #[arg(long, short = 'f', value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
    /// Ask nothing: print how the query is read, and what it needs.
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) pipe: Pipe,
}

/// Arguments of `transform`.
#[derive(Debug, clap::Args)]
pub(crate) struct Transform {
    /// The stylesheet: a file, or the JSON itself where it begins with `[` or `{`.
    pub(crate) sheet: OsString,
    /// The JSON values to transform, one file after the other; without any, or where one is `-`, standard input.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) pipe: Pipe,
}

/// What is read, bound and printed by the commands that stand in a pipe.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Pipe {
    /// Bind a variable, as in --arg 'limit=10'; may be repeated.
    #[arg(long = "arg", value_name = "NAME=JSON", value_parser = binding)]
    pub(crate) bindings: Vec<Binding>,
    /// Bind a variable to a text, as in --arg-text name=Emma; may be repeated.
    #[arg(long, value_name = "NAME=TEXT", value_parser = binding)]
    pub(crate) arg_text: Vec<Binding>,
    /// Bind a variable to the JSON value in a file; may be repeated.
    #[arg(long, value_name = "NAME=FILE", value_parser = binding)]
    pub(crate) arg_file: Vec<Binding>,
    /// Let the answer to a value take no more of this, as in --limit steps=1000000; may be repeated.
    #[arg(long = "limit", value_name = "WHAT=COUNT", value_parser = limit)]
    pub(crate) limits: Vec<Limit>,
    /// Print texts as they are, without quotes.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Print each item on one line; so it is wherever standard output is no terminal.
    #[arg(long, short, conflicts_with = "pretty")]
    pub(crate) compact: bool,
    /// Print each item over several lines; so it is on a terminal.
    #[arg(long, conflicts_with = "json")]
    pub(crate) pretty: bool,
    /// Take all values together, as one array.
    #[arg(long, short, conflicts_with = "null_input")]
    pub(crate) slurp: bool,
    /// Read nothing; the input is null.
    #[arg(long, short)]
    pub(crate) null_input: bool,
    /// Exit with code 1 where the last item is false or null, or where there is none.
    #[arg(long, short)]
    pub(crate) exit_status: bool,
    /// Read numbers that have too many digits as the nearest ones that there are.
    #[arg(long)]
    pub(crate) round: bool,
}

/// A variable and its value, which is yet to be read.
#[derive(Debug, Clone)]
pub(crate) struct Binding {
    /// The name, without `$`.
    pub(crate) name: String,
    /// What says the value: JSON, a text, or a path.
    pub(crate) value: String,
}

fn binding(text: &str) -> Result<Binding, String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in limit=10")?;
    if name.starts_with('$') {
        return Err("write the name without '$'".to_owned());
    }
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Err("a name has ASCII letters, digits and '_', and begins with no digit".to_owned());
    }
    Ok(Binding { name: name.to_owned(), value: value.to_owned() })
}

/// The most that an answer may take of something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Of what.
    pub(crate) what: Limited,
    /// How much.
    pub(crate) count: NonZeroU64,
}

/// What can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Limited {
    Steps,
    Work,
    Depth,
    SequenceItems,
    ResultItems,
    Dispatches,
    DispatchDepth,
}

fn limit(text: &str) -> Result<Limit, String> {
    let (name, count) = text.split_once('=').ok_or("write WHAT=COUNT, as in steps=1000000")?;
    let what = Limited::from_str(name, false).map_err(|_| {
        let names = Limited::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
        format!("one of these can be limited: {}", names.join(", "))
    })?;
    let count = count.parse().map_err(|_| "the count is a whole number, 1 or more")?;
    Ok(Limit { what, count })
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
