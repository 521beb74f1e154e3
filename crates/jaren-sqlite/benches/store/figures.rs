//! What was measured, and how it is printed.

use std::time::{Duration, Instant};

/// Times of one part, from its beginning on.
pub(crate) struct Figures {
    begun: Instant,
    cpu: u64,
    bytes: u64,
}

impl Figures {
    pub(crate) fn begin() -> Self {
        Self { begun: Instant::now(), cpu: cpu_micros(), bytes: bytes_written() }
    }

    /// One JSON line. A latency may stand for several commits.
    pub(crate) fn print(&self, who: &str, callers: usize, commits: usize, mut latencies: Vec<Duration>) {
        let (elapsed, bytes) = (self.begun.elapsed(), bytes_written() - self.bytes);
        let cpu = cpu_micros() - self.cpu;
        latencies.sort_unstable();
        println!(
            r#"{{"who":"{who}","callers":{callers},"per_s":{:.0},"p50_us":{:.1},"p99_us":{:.1},"bytes":{},"cpu_us":{:.1}}}"#,
            commits as f64 / elapsed.as_secs_f64(),
            micros(quantile(&latencies, 50)),
            micros(quantile(&latencies, 99)),
            bytes / commits.max(1) as u64,
            cpu as f64 / commits.max(1) as f64,
        );
    }
}

/// Whether a store that has been written since then is in its stride: its log has grown as far as it will.
pub(crate) fn is_warm(bytes_before: u64) -> bool {
    const LOG_BYTES: u64 = 24 << 20;
    bytes_written() - bytes_before >= LOG_BYTES
}

/// One JSON line of one figure.
pub(crate) fn print_one(who: &str, what: &str, of: u64, value: f64) {
    println!(r#"{{"who":"{who}","what":"{what}","of":{of},"value":{value:.1}}}"#);
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The value below which so many hundredths lie.
pub(crate) fn quantile(sorted: &[Duration], hundredths: usize) -> Duration {
    sorted.get(sorted.len().saturating_sub(1) * hundredths / 100).copied().unwrap_or_default()
}

/// CPU time of this process, in steps of a hundredth of a second.
fn cpu_micros() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap().split(' ').collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10_000
}

/// What this process has handed to the system to write.
pub(crate) fn bytes_written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}
