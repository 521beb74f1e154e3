//! Measures commits a second and their latency on a new store, beside a bare loop over SQLite in the same run:
//! `cargo run --release -p jaren-sqlite --example commits -- FOLDER [SECONDS]`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a measurement"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jaren_durable::{Session, SessionId, Singleton};
use jaren_json::{Object, Value};
use jaren_sqlite::{SqliteOptions, SqliteStorage};

const STATE: Singleton = Singleton::new("bench.state", 1);

fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let seconds = std::env::args().nth(2).map_or(3, |text| text.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let time = Duration::from_secs(seconds);
    for rows in [1, 64] {
        bare(&folder, rows, time);
    }
    for callers in [1, 8, 64, 256] {
        let path = format!("{folder}/bench-{callers}.db");
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{path}{suffix}"));
        }
        runtime.block_on(measure(&path, callers, time));
    }
}

async fn measure(path: &str, callers: usize, time: Duration) {
    let storage = Arc::new(SqliteStorage::open(path, SqliteOptions::new()).unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let (written, cpu) = (io_written(), cpu_micros());
    let mut tasks = Vec::new();
    for caller in 0..callers {
        let (storage, stop) = (storage.clone(), stop.clone());
        tasks.push(tokio::spawn(async move {
            let mut session =
                Session::create(storage, SessionId::new(format!("s{caller}")).unwrap(), "bench");
            let big: Object =
                (0..20).map(|at| (format!("member{at}"), Value::from("x".repeat(90)))).collect();
            let mut state = big;
            let mut latencies = Vec::new();
            let mut n = 0u32;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                // About 200 bytes of operations over a document of 2 KB.
                state = state.with("step", Value::from(format!("{n:090}").as_str()));
                state = state.with("last", Value::from(format!("{n:060}").as_str()));
                let mut change = session.change();
                change.put(&STATE, Value::Object(state.clone()));
                let begun = Instant::now();
                session.commit(change).await.unwrap();
                latencies.push(begun.elapsed());
            }
            latencies
        }));
    }
    let begun = Instant::now();
    tokio::time::sleep(time).await;
    stop.store(true, Ordering::Relaxed);
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    let (written, count) = (io_written() - written, latencies.len());
    let what = format!("{callers:3} callers    ");
    report(&what, count, begun.elapsed(), &mut latencies, written, cpu);
    storage.close().await;
}

/// The floor: one thread that writes a row of 200 bytes for each of so many sessions and commits.
fn bare(folder: &str, rows: u32, time: Duration) {
    let path = format!("{folder}/bench-bare.db");
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{path}{suffix}"));
    }
    let connection = rusqlite::Connection::open(&path).unwrap();
    let setup = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000;
        CREATE TABLE log (entry INTEGER PRIMARY KEY, session INTEGER, document INTEGER, seq INTEGER, body TEXT);
        CREATE UNIQUE INDEX log_by_document ON log (session, document, seq)";
    connection.execute_batch(setup).unwrap();
    let (body, begun, cpu) = ("x".repeat(200), Instant::now(), cpu_micros());
    let (mut latencies, mut written) = (Vec::new(), io_written());
    let mut seq = 0;
    while begun.elapsed() < time {
        seq += 1;
        let at = Instant::now();
        connection.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
        for session in 0..rows {
            let sql = "INSERT INTO log (session, document, seq, body) VALUES (?1, 1, ?2, ?3)";
            connection.prepare_cached(sql).unwrap().execute((session, seq, &body)).unwrap();
        }
        connection.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
        latencies.push(at.elapsed());
    }
    written = io_written() - written;
    let count = latencies.len() * rows as usize;
    report(&format!("bare, {rows:3} a commit"), count, begun.elapsed(), &mut latencies, written, cpu);
}

fn report(what: &str, count: usize, elapsed: Duration, latencies: &mut [Duration], written: u64, cpu: u64) {
    latencies.sort_unstable();
    let at = |part: usize| latencies[(latencies.len() * part / 100).min(latencies.len() - 1)];
    println!(
        "{what}: {:7.0}/s, p50 {:?}, p99 {:?}, max {:?}, {} bytes written and {:.1} µs CPU each",
        count as f64 / elapsed.as_secs_f64(),
        at(50),
        at(99),
        at(100),
        written / count as u64,
        (cpu_micros() - cpu) as f64 / count as f64,
    );
}

/// CPU time of this process, in steps of a hundredth of a second.
fn cpu_micros() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap().split(' ').collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10_000
}

fn io_written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}
