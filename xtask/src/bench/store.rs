//! The store beside SQLite by hand, the bare disk, redb and fjall, in one run.
//!
//! Our program is the bench of `jaren-sqlite`; the peers' stands in `xtask/bench/peers/store-rust`, is copied to a cache
//! folder and built there. All of them write to one folder, so that all meet the same disk.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::{cache_folder, copy_folder};
use crate::run::{Failure, cargo, output, run};
use crate::workspace;

/// How long each rate is measured, in seconds; before that a store is written until it is in its stride.
const SECONDS: &str = "1.5";

const OURS: &str = "jaren";
const BY_HAND: &str = "sqlite by hand";

/// The figures of a line about callers. The peers do not tell their CPU time.
const RATES: [&str; 5] = ["per_s", "p50_us", "p99_us", "bytes", "cpu_us"];

/// What a line is about: who, which figure, and of how many callers, kilobytes or commits.
type Row = (String, String, u64);

/// Every figure of every round.
#[derive(Default)]
struct Rows(BTreeMap<Row, Vec<f64>>);

/// The task.
pub(super) fn store(rounds: usize) -> Result<(), Failure> {
    let work = cache_folder()?.join("jaren-peers");
    let data = work.join("data");
    std::fs::create_dir_all(&data).map_err(|error| format!("{}: {error}", data.display()))?;
    let peers = build_peers(&work)?;
    run(&mut bench(&["--no-run"]))?;
    let mut rows = Rows::default();
    for _ in 0..rounds {
        for part in ["disk", "bare", "jaren", "groups", "size", "age", "second"] {
            let mut ours = bench(&["--", part]);
            rows.take(&output(ours.arg(&data).arg(SECONDS))?)?;
        }
        rows.take(&output(Command::new(&peers).arg(&data).arg(SECONDS))?)?;
    }
    rows.print();
    rows.goals();
    Ok(())
}

fn bench(words: &[&str]) -> Command {
    let mut command = cargo(["bench", "--quiet", "--package", "jaren-sqlite", "--bench", "store"]);
    command.args(words);
    command
}

fn build_peers(work: &Path) -> Result<std::path::PathBuf, Failure> {
    let copy = work.join("src/jaren-store-rust");
    copy_folder(&workspace::root().join("xtask/bench/peers/store-rust"), &copy)?;
    let (manifest, target) = (copy.join("Cargo.toml"), work.join("target"));
    run(cargo(["build", "--release", "--manifest-path"]).arg(manifest).env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("release/store-bench"))
}

impl Rows {
    /// Adds what a program printed.
    fn take(&mut self, printed: &str) -> Result<(), Failure> {
        for line in printed.lines() {
            let line: serde_json::Value =
                serde_json::from_str(line).map_err(|error| format!("a bench printed {line:?}: {error}"))?;
            let text = |name| line.get(name).and_then(serde_json::Value::as_str);
            let number = |name| line.get(name).and_then(serde_json::Value::as_f64);
            let count = |name| line.get(name).and_then(serde_json::Value::as_u64);
            let who = text("who").ok_or("a bench printed a line without `who`")?;
            if let (Some(what), Some(of), Some(value)) = (text("what"), count("of"), number("value")) {
                self.add(who, what, of, value);
            } else if let Some(callers) = count("callers") {
                for what in RATES {
                    self.add(who, what, callers, number(what).unwrap_or(f64::NAN));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, who: &str, what: &str, of: u64, value: f64) {
        self.0.entry((who.to_owned(), what.to_owned(), of)).or_default().push(value);
    }

    /// The median of the rounds; what is missing reads NaN, and no goal is met by that.
    fn median(&self, who: &str, what: &str, of: u64) -> f64 {
        let Some(values) = self.0.get(&(who.to_owned(), what.to_owned(), of)) else { return f64::NAN };
        median(values.clone())
    }

    /// The median of the rounds' own ratios: the disk drifts from round to round.
    fn ratio(&self, what: &str, of: u64) -> f64 {
        let values = |who: &str| self.0.get(&(who.to_owned(), what.to_owned(), of));
        let Some((ours, theirs)) = values(OURS).zip(values(BY_HAND)) else { return f64::NAN };
        median(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect())
    }

    fn print(&self) {
        println!(
            "{:<24} {:>7} {:>10} {:>10} {:>10} {:>8} {:>8}",
            "", "at once", "per s", "p50 µs", "p99 µs", "bytes", "CPU µs"
        );
        for (who, what, callers) in self.0.keys() {
            if what == "per_s" {
                let [rate, p50, p99, bytes, cpu] = RATES.map(|what| self.median(who, what, *callers));
                println!(
                    "{who:<24} {callers:>7} {rate:>10.0} {p50:>10.0} {p99:>10.0} {bytes:>8.0} {cpu:>8.1}"
                );
            }
        }
        for (who, what, of) in self.0.keys() {
            let unit = if what.starts_with("bytes") { "of KB" } else { "commits" };
            if !RATES.contains(&what.as_str()) {
                println!("{who:<10} {what:<28} {of:>7} {unit:<8} {:>10.0}", self.median(who, what, *of));
            }
        }
    }

    /// Prints each goal with what was reached.
    fn goals(&self) {
        let latency = self.ratio("p50_us", 1);
        say(&format!("1 caller: {latency:.2} times the latency by hand (1.3)"), latency <= 1.3);
        let rate = self.ratio("per_s", 64);
        say(
            &format!("64 callers: {:.0}% of the commits by hand, 64 at a time (80%)", rate * 100.0),
            rate >= 0.8,
        );
        let spread = |who| self.median(who, "p99_us", 64) / self.median(who, "p50_us", 64);
        let (ours, floor) = (spread(OURS), spread(BY_HAND));
        say(
            &format!("64 callers: p99 is {ours:.1} times p50 (5, or 1.5 times {floor:.1} by hand)"),
            ours < 5.0 || ours < 1.5 * floor,
        );
        let second = self.median("second process", "p99_us", 1) / 1e3;
        say(&format!("a second process beside 64 callers: {second:.1} ms at p99 (10 ms)"), second <= 10.0);
        let bytes = |kilobytes| self.median(OURS, "bytes of a change, median", kilobytes);
        let (small, large) = (bytes(1), bytes(100));
        say(
            &format!("a change of 200 bytes writes {small:.0} bytes in 1 KB, {large:.0} in 100 KB"),
            large < small * 1.1,
        );
        for what in ["read", "first read", "first read after a crash"] {
            let slower = self.median(OURS, what, 100_000) / self.median(OURS, what, 100);
            say(
                &format!("a {what} after 100,000 commits: {slower:.2} times one after 100 (2)"),
                slower < 2.0,
            );
        }
    }
}

fn say(what: &str, is_met: bool) {
    println!("{} {what}", if is_met { "met:   " } else { "MISSED:" });
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
