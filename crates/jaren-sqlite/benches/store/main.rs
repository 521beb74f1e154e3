//! What the store costs beside SQLite by hand and the bare disk: `cargo bench -p jaren-sqlite`, and beside other stores
//! `cargo xtask bench store`.
//!
//! `store PART FOLDER SECONDS [CALLERS]` prints JSON lines: who, at how many callers, commits a second, and their
//! latency; or another figure of the part. Without a part it measures all of them, briefly.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a program for the eyes of its author"
)]

mod bare;
mod figures;
mod ours;
mod work;

use std::path::Path;
use std::time::Duration;

/// Callers at once, and the commits of one transaction by hand.
const CALLERS: [usize; 4] = [1, 8, 64, 256];

/// The parts, each with what it needs.
const PARTS: [&str; 7] = ["disk", "bare", "jaren", "groups", "size", "age", "second"];

fn main() {
    // `cargo bench` adds arguments of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [part, folder, seconds, callers @ ..] = words.as_slice() {
        let seconds = Duration::from_secs_f64(seconds.parse().unwrap());
        let callers: Vec<usize> = callers.iter().map(|number| number.parse().unwrap()).collect();
        return run(part, Path::new(folder), seconds, if callers.is_empty() { &CALLERS } else { &callers });
    }
    let folder = tempfile::tempdir().unwrap();
    for part in PARTS {
        run(part, folder.path(), Duration::from_millis(200), &CALLERS);
    }
}

fn run(part: &str, folder: &Path, time: Duration, callers: &[usize]) {
    std::fs::create_dir_all(folder).unwrap();
    match part {
        "disk" => bare::disk(folder, time),
        "bare" => bare::sqlite(folder, time, callers),
        "jaren" => ours::callers(folder, time, callers),
        "groups" => ours::groups(folder, time, callers),
        "size" => ours::sizes(folder),
        "age" => ours::ages(folder),
        "second" => ours::second(folder, time),
        "client" => ours::client(folder, time),
        other => println!("no part is called {other}: {PARTS:?}"),
    }
}
