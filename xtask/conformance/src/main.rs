//! Runs the conformance corpus: `cargo xtask conformance [DIR…]`.
//!
//! Every case is a named trial.
//! Lists under `expected-failures/` name the cases of each folder that may fail; a listed case that passes and an
//! unlisted one that fails are both unexpected, and one unexpected result makes the run fail.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the report is what this program is for")]

mod answer;
mod case;
mod corpus;
mod errors;
mod expected;
mod harness;
mod kind;
mod kinds;
mod report;
mod script;
mod seeds;
mod tasks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use case::Case;
use expected::ExpectedFailures;
use kind::Kind;
use report::Folder;

#[derive(Parser)]
#[command(name = "cargo xtask conformance", about = "Runs the conformance corpus")]
struct Arguments {
    /// Corpus roots, format folders or files; the nearest folder with a format's name tells what a file holds. Default:
    /// the shared corpus and the suites of this repository.
    #[arg(value_name = "DIR")]
    paths: Vec<PathBuf>,
    /// Names every unexpected result, not only the first 20 of a folder.
    #[arg(long)]
    all: bool,
    /// Runs only the cases of this name, or with it in their name, and tells what each answered.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Takes the names that pass off the lists of expected failures. Never adds one, except to a folder without a list.
    #[arg(long)]
    bless: bool,
    /// Writes the cases as seeds of the fuzz targets into this folder instead of running them.
    #[arg(long, value_name = "FOLDER")]
    seeds: Option<PathBuf>,
}

/// This package's folder.
const HERE: &str = env!("CARGO_MANIFEST_DIR");

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything was as expected.
fn run(arguments: &Arguments) -> Result<bool, corpus::CorpusError> {
    let start = Instant::now();
    let (paths, complete) = paths(arguments);
    let mut cases = corpus::read(&paths)?;
    if let Some(name) = &arguments.only {
        cases.retain(|case| case.name.contains(name.as_str()));
        if cases.iter().any(|case| case.name == *name) {
            cases.retain(|case| case.name == *name);
        }
        if cases.is_empty() {
            println!("no case has `{name}` in its name");
            return Ok(false);
        }
    }
    if let Some(folder) = &arguments.seeds {
        let written = seeds::write(&cases, folder)
            .map_err(|source| corpus::CorpusError::File { path: folder.clone(), source })?;
        println!("{written} seeds in {}", folder.display());
        return Ok(true);
    }
    let folders = folders(&cases, harness::run(&cases), complete)?;
    let mut good = true;
    for folder in &folders {
        folder.print(arguments.all);
        if arguments.only.is_some() {
            folder.print_each();
        }
        if arguments.bless {
            folder.bless()?;
        }
        good &= folder.as_expected();
    }
    if arguments.paths.is_empty() && arguments.only.is_none() {
        for kind in Kind::ALL.iter().filter(|kind| folders.iter().all(|folder| folder.kind != **kind)) {
            println!("{}: skipped, there are no cases", kind.label());
        }
    }
    println!("{} cases in {:.1} s", cases.len(), start.elapsed().as_secs_f64());
    Ok(good)
}

/// What is to be read, and whether that is all there is: the shared corpus and the repository's own suites.
fn paths(arguments: &Arguments) -> (Vec<PathBuf>, bool) {
    if !arguments.paths.is_empty() {
        return (arguments.paths.clone(), false);
    }
    let own = Path::new(HERE).join("suites");
    let shared = Path::new(HERE).join("../../../shared/conformance");
    if !shared.exists() {
        println!("skipped: the shared corpus is not at {}", shared.display());
        return (vec![own], false);
    }
    (vec![shared, own], arguments.only.is_none())
}

/// The results by folder, each with its list.
fn folders(
    cases: &[Case],
    results: Vec<harness::Trial>,
    complete: bool,
) -> Result<Vec<Folder<'_>>, corpus::CorpusError> {
    let mut by_kind: BTreeMap<Kind, Vec<(&Case, harness::Trial)>> = BTreeMap::new();
    for (case, result) in cases.iter().zip(results) {
        by_kind.entry(case.kind).or_default().push((case, result));
    }
    by_kind
        .into_iter()
        .map(|(kind, trials)| Ok(Folder::new(kind, ExpectedFailures::read(kind)?, trials, complete)))
        .collect()
}
