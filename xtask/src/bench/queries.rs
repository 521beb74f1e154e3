//! Queries, paths and stylesheets beside the JavaScript reference, other Rust crates and the same work by hand, in one
//! run.
//!
//! Every program prints JSON lines with the row's work, who did it, the median time and a check of the result. A check
//! that differs from the others of its row fails the bench: then the programs did not do the same work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{cache_folder, copy_folder};
use crate::run::{Failure, cargo, output, run};
use crate::workspace;

/// What each column of the printed tables is in the lines of the programs.
const RUST: [&str; 8] = [
    "jaren",
    "reference",
    "hand, serde_json",
    "hand, jaren-json",
    "serde_json",
    "jaq",
    "serde_json_path",
    "jmespath",
];
const JAVASCRIPT: [&str; 6] =
    ["jaren", "reference", "hand, JavaScript", "jsonata", "jmespath.js", "jsonpath-plus"];
/// The Rust crates that every row of ours is to beat.
const CRATES: [&str; 4] = ["serde_json", "jaq", "serde_json_path", "jmespath"];

/// The best nanoseconds by work and program, and the check that all of a work have.
#[derive(Default)]
struct Rows {
    best: BTreeMap<(String, String), f64>,
    /// The work in the order in which it was first printed.
    works: Vec<String>,
    checks: BTreeMap<String, (String, String)>,
}

/// The task; `words` choose the rows that have all of them in their names.
pub(super) fn queries(rounds: usize, words: &[String]) -> Result<(), Failure> {
    let peers = Peers::build()?;
    let mut rows = Rows::default();
    for _ in 0..rounds {
        for (package, bench) in [("jaren-query", "query"), ("jaren-jslt", "stylesheet")] {
            let mut ours = cargo(["bench", "--quiet", "--package", package, "--bench", bench, "--"]);
            rows.take(&output(ours.args(words))?)?;
        }
        rows.take(&output(peers.script().args(words))?)?;
        rows.take(&output(Command::new(&peers.program).args(words))?)?;
    }
    rows.print("Rust", &RUST);
    rows.print("JavaScript", &JAVASCRIPT);
    rows.goals();
    Ok(())
}

/// The peers' programs, built.
struct Peers {
    program: PathBuf,
    script: PathBuf,
}

impl Peers {
    fn build() -> Result<Self, Failure> {
        let work = cache_folder()?.join("jaren-peers");
        let ours = workspace::root().join("xtask/bench/peers");
        let script = work.join("src/jaren-query-js");
        copy_folder(&ours.join("query-js"), &script)?;
        run(Command::new("npm").args(["install", "--silent"]).current_dir(&script))?;
        let rust = work.join("src/jaren-query-rust");
        copy_folder(&ours.join("query-rust"), &rust)?;
        let target = work.join("target");
        let manifest = rust.join("Cargo.toml");
        run(cargo(["build", "--release", "--manifest-path"]).arg(manifest).env("CARGO_TARGET_DIR", &target))?;
        Ok(Self { program: target.join("release/query-bench"), script })
    }

    /// The script, which reads our queries and stylesheets.
    fn script(&self) -> Command {
        let crates = workspace::root().join("crates");
        let mut command = Command::new(self.script.join("node_modules/.bin/node"));
        command.arg("bench.mjs").current_dir(&self.script);
        let benches: [&Path; 2] =
            ["jaren-query/benches/queries.json".as_ref(), "jaren-jslt/benches/sheets.json".as_ref()];
        command.args(benches.map(|file| crates.join(file)));
        command
    }
}

impl Rows {
    /// Keeps the best of each row.
    fn take(&mut self, printed: &str) -> Result<(), Failure> {
        for line in printed.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
            let text = |name: &str| line.get(name).and_then(serde_json::Value::as_str).map(str::to_owned);
            let ns = line.get("ns").and_then(serde_json::Value::as_f64);
            let (Some(work), Some(by), Some(check), Some(ns)) = (text("work"), text("by"), text("check"), ns)
            else {
                return Err(format!("a program printed a line without work, by, check and ns: {line}"));
            };
            let (first, first_by) = self.checks.entry(work.clone()).or_insert_with(|| {
                self.works.push(work.clone());
                (check.clone(), by.clone())
            });
            if *first != check {
                return Err(format!("{work}: {by} gives {check}, {first_by} gave {first}"));
            }
            let best = self.best.entry((work, by)).or_insert(ns);
            *best = best.min(ns);
        }
        Ok(())
    }

    /// The best nanoseconds; a row that is missing reads NaN, and no goal is met by that.
    fn ns(&self, work: &str, by: &str) -> f64 {
        self.best.get(&(work.to_owned(), by.to_owned())).copied().unwrap_or(f64::NAN)
    }

    /// One line a work, one column a program; columns without any row are left out.
    fn print(&self, title: &str, columns: &[&str]) {
        let known: BTreeSet<&str> = self.best.keys().map(|(_, by)| by.as_str()).collect();
        let columns: Vec<&&str> = columns.iter().filter(|by| known.contains(**by)).collect();
        let heads: Vec<String> = columns.iter().map(|by| format!("{by:>18}")).collect();
        println!("\n{title:<13}{}", heads.concat());
        for work in &self.works {
            let cells: Vec<String> =
                columns.iter().map(|by| format!("{:>18}", shown(self.ns(work, by)))).collect();
            println!("{work:<13}{}", cells.concat());
        }
    }

    /// Prints each goal of issue 3 with what was reached.
    fn goals(&self) {
        println!();
        for work in &self.works {
            let ours = self.ns(work, "jaren");
            let reference = ours / self.ns(work, "reference");
            if work.starts_with("guard") {
                // A guard over the parts of a scope is the same work: the peers know no parts.
                let hand = ours / self.ns("guard", "hand, serde_json");
                let faster = self.ns("guard", "reference") / ours;
                say(&format!("{work}: {hand:.2} times the one by hand on serde_json (1.6)"), hand <= 1.6);
                say(&format!("{work}: {faster:.1} times faster than the reference (2.4)"), faster >= 2.4);
            } else {
                let goal = match work.as_str() {
                    "filter" | "filter-plain" => 0.55,
                    "group" => 0.4,
                    _ => 0.5,
                };
                say(&format!("{work}: {reference:.2} of the reference's time ({goal})"), reference <= goal);
            }
            // The language of a crate may have no such row.
            let theirs = CRATES.map(|by| (by, self.ns(work, by))).into_iter().filter(|(_, ns)| !ns.is_nan());
            if let Some((by, ns)) = theirs.min_by(|(_, a), (_, b)| a.total_cmp(b)) {
                let faster = ns / ours;
                say(
                    &format!("{work}: {faster:.1} times faster than {by}, the fastest Rust crate (1)"),
                    faster > 1.0,
                );
            }
        }
    }
}

fn say(what: &str, is_met: bool) {
    println!("{} {what}", if is_met { "met:   " } else { "MISSED:" });
}

/// A time with three digits that count.
fn shown(ns: f64) -> String {
    match ns {
        _ if ns.is_nan() => "-".to_owned(),
        _ if ns < 1e3 => format!("{ns:.1} ns"),
        _ if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}
