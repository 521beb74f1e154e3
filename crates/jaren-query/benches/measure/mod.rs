//! How the benches of queries and of stylesheets measure: the same way as the peers in `xtask/bench/peers`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use jaren_json::{Value, canonical};

/// How long a row is run before it is measured, and how long it is measured.
const WARM: Duration = Duration::from_millis(100);
const TIME: Duration = Duration::from_millis(400);

/// Prints the median of many runs, which includes giving the result's memory back.
pub(crate) fn measure<T>(work: &str, by: &str, mut run: impl FnMut() -> T, result: impl FnOnce(&T) -> Value) {
    if !is_asked(work, by) {
        return;
    }
    let check = check(work, &result(&run()));
    let started = Instant::now();
    while started.elapsed() < WARM {
        black_box(run());
    }
    let started = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || started.elapsed() < TIME {
        let start = Instant::now();
        drop(black_box(run()));
        times.push(start.elapsed());
    }
    times.sort_unstable();
    #[expect(clippy::indexing_slicing, reason = "there are five at least")]
    let median = times[times.len() / 2].as_nanos();
    println!(r#"{{"work":"{work}","by":"{by}","ns":{median},"check":"{check}"}}"#);
}

/// Whether the arguments ask for this row: all rows, or those that have every one of the words in their names.
pub(crate) fn is_asked(work: &str, by: &str) -> bool {
    let row = format!("{work} {by}");
    std::env::args().skip(1).filter(|word| !word.starts_with('-')).all(|word| row.contains(&word))
}

/// Length and FNV-1a hash of the canonical text; groups come in any order, so theirs is the text in the order of regions.
fn check(work: &str, result: &Value) -> String {
    let mut result = result.clone();
    if work == "group" {
        let mut groups = result.as_array().map(|groups| groups.to_vec()).unwrap_or_default();
        groups.sort_by_key(|group| group.get("region").and_then(Value::as_str).map(str::to_owned));
        result = groups.into_iter().collect();
    }
    let text = canonical(&result).unwrap_or_default();
    let hash =
        text.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{}-{hash:08x}", text.len())
}
