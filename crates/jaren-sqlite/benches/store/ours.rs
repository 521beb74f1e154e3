//! Our store: callers at once, sizes of documents, ages of stores, a second process.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jaren_durable::{At, Batch, Body, Retention, Seq, Session, SessionBatch, SessionId, Storage, Write};
use jaren_json::{Value, delta};
use jaren_sqlite::{Durability, SqliteOptions, SqliteStorage};
use tokio::runtime::Runtime;

use crate::figures::{self, Figures, micros, quantile};
use crate::work::{self, DOCUMENT, STATE};

const WHO: &str = "jaren";
/// All callers are futures of one task.
const ONE_TASK: &str = "jaren, one task";
/// How many these are.
const TOGETHER: usize = 64;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn open(path: &Path, options: SqliteOptions) -> Arc<SqliteStorage> {
    Arc::new(SqliteStorage::open_with(path, options).unwrap())
}

/// What the callers of a measurement are to do.
#[derive(Default)]
struct Signals {
    measured: AtomicBool,
    stop: AtomicBool,
}

/// Commits changes of one session until told to stop; each one's latency, once it is measured.
async fn commit_until(storage: Arc<SqliteStorage>, name: String, signals: Arc<Signals>) -> Vec<Duration> {
    let mut session = Session::create(storage, SessionId::new(name).unwrap(), "bench");
    let (mut document, mut latencies) = (work::document(DOCUMENT), Vec::new());
    let mut n = 0;
    while !signals.stop.load(Ordering::Relaxed) {
        n += 1;
        document = work::changed(&document, n);
        let mut change = session.draft();
        change.put(&STATE, Value::Object(document.clone()));
        let at = Instant::now();
        session.commit(change).await.unwrap();
        let latency = at.elapsed();
        if signals.measured.load(Ordering::Relaxed) {
            latencies.push(latency);
        }
    }
    latencies
}

async fn measure(storage: &Arc<SqliteStorage>, who: &str, callers: usize, time: Duration, warm: bool) {
    let signals = Arc::<Signals>::default();
    let before = figures::bytes_written();
    let callers_of = (0..callers).map(|at| {
        let caller: Pin<Box<dyn Future<Output = _> + Send>> =
            Box::pin(commit_until(storage.clone(), format!("{who}-{at}"), signals.clone()));
        caller
    });
    let tasks: Vec<_> = if who == ONE_TASK {
        let all = work::join(callers_of.collect());
        vec![tokio::spawn(async { all.await.into_iter().flatten().collect() })]
    } else {
        callers_of.map(tokio::spawn).collect()
    };
    while warm && !figures::is_warm(before) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    signals.measured.store(true, Ordering::Relaxed);
    let figures = Figures::begin();
    tokio::time::sleep(time).await;
    signals.stop.store(true, Ordering::Relaxed);
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    figures.print(who, callers, latencies.len(), latencies);
}

/// Commits a second at each number of callers, each on a store of its own; and at one number, if there are more than one,
/// with all of them in one task.
pub(crate) fn callers(folder: &Path, time: Duration, callers: &[usize]) {
    let alone = callers.iter().map(|callers| (WHO, *callers));
    let joined = callers.iter().filter(|callers| **callers == TOGETHER).map(|callers| (ONE_TASK, *callers));
    for (who, callers) in alone.chain(joined) {
        let path = work::fresh(folder, "jaren.db");
        runtime().block_on(async {
            let storage = open(&path, SqliteOptions::new());
            measure(&storage, who, callers, time, true).await;
            storage.close().await;
        });
        work::remove(&path);
    }
}

/// The writer alone: one caller hands over the commits of so many sessions as one group, which it has ready. What the writer
/// costs beside the loop by hand, and nothing else.
pub(crate) fn groups(folder: &Path, time: Duration, sizes: &[usize]) {
    for &size in sizes {
        let path = work::fresh(folder, "groups.db");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let storage = open(&path, SqliteOptions::new());
            let bodies = Bodies::new();
            let (before, mut seq) = (figures::bytes_written(), 0);
            while !figures::is_warm(before) {
                seq += 1;
                storage.apply(bodies.group(size, seq)).await.unwrap();
            }
            let (figures, begun, mut latencies) = (Figures::begin(), Instant::now(), Vec::new());
            while begun.elapsed() < time {
                seq += 1;
                let group = bodies.group(size, seq);
                let at = Instant::now();
                storage.apply(group).await.unwrap();
                latencies.push(at.elapsed());
            }
            let commits = latencies.len() * size;
            figures.print("jaren, one group", size, commits, latencies);
            storage.close().await;
        });
        work::remove(&path);
    }
}

/// What the commits of a group write.
struct Bodies {
    base: Body,
    change: Body,
}

impl Bodies {
    fn new() -> Self {
        let before = work::document(DOCUMENT);
        let after = Value::Object(work::changed(&before, 1));
        let change = Body::delta(&delta::diff(&Value::Object(before), &after)).unwrap();
        Self { base: Body::base(&after).unwrap(), change }
    }

    /// The commits of that number of so many sessions.
    fn group(&self, sessions: usize, seq: u64) -> Vec<Batch> {
        let batch = |at: u64| {
            let id = SessionId::new(format!("session-{at}")).unwrap();
            let mut part = match seq {
                1 => SessionBatch::create(id, "bench"),
                _ => SessionBatch::after(id, Seq::new(seq - 1)),
            };
            let address = STATE.address();
            // Each session at another point, as it comes about by itself.
            part.writes.push(if seq == 1 || (seq + at).is_multiple_of(work::DELTAS + 1) {
                Write::Base { address, retention: Retention::Full, version: 1, body: self.base.clone() }
            } else {
                Write::Delta { address, version: 1, body: self.change.clone() }
            });
            Batch::one(part)
        };
        (0..sessions as u64).map(batch).collect()
    }
}

/// Bytes that a change of 200 bytes hands to the system: the median, which is a delta, and the mean with the bases.
pub(crate) fn sizes(folder: &Path) {
    const COMMITS: u64 = 330;
    for kilobytes in [1, 100] {
        let path = work::fresh(folder, "size.db");
        runtime().block_on(async {
            let storage = open(&path, SqliteOptions::new());
            let mut session = Session::create(storage.clone(), SessionId::new("one").unwrap(), "bench");
            let (document, mut bytes) = (work::document(kilobytes << 10), Vec::new());
            for n in 0..COMMITS {
                let mut change = session.draft();
                change.put(&STATE, Value::Object(work::changed(&document, n)));
                let before = figures::bytes_written();
                session.commit(change).await.unwrap();
                bytes.push(figures::bytes_written() - before);
            }
            storage.close().await;
            let mean = bytes.iter().sum::<u64>() as f64 / COMMITS as f64;
            bytes.sort_unstable();
            figures::print_one(
                WHO,
                "bytes of a change, median",
                kilobytes as u64,
                bytes[bytes.len() / 2] as f64,
            );
            figures::print_one(WHO, "bytes of a change, mean", kilobytes as u64, mean);
        });
        work::remove(&path);
    }
}

/// Opening a store and reading a document that has changed so many times.
pub(crate) fn ages(folder: &Path) {
    const OPENINGS: usize = 9;
    for commits in [1, 100, 1_000, 100_000] {
        let (path, crashed) = (work::fresh(folder, "age.db"), work::fresh(folder, "crashed.db"));
        runtime().block_on(async {
            // How it was written does not matter here, so it is written quickly.
            let storage = open(&path, SqliteOptions::new().with_durability(Durability::ProcessCrash));
            let mut session = Session::create(storage.clone(), SessionId::new("one").unwrap(), "bench");
            let document = work::document(DOCUMENT);
            for n in 0..commits {
                let mut change = session.draft();
                change.put(&STATE, Value::Object(work::changed(&document, n)));
                session.commit(change).await.unwrap();
            }
            drop(session);
            for suffix in ["", "-wal"] {
                std::fs::copy(beside(&path, suffix), beside(&crashed, suffix)).unwrap();
            }
            storage.close().await;
            let closed = std::iter::repeat_n(&path, OPENINGS);
            reopen(closed, commits, "").await;
            // The first who opens it mends it, so each has a copy of its own.
            let copies: Vec<PathBuf> =
                (0..OPENINGS / 3).map(|at| work::fresh(folder, &format!("crashed-{at}.db"))).collect();
            for copy in &copies {
                for suffix in ["", "-wal"] {
                    std::fs::copy(beside(&crashed, suffix), beside(copy, suffix)).unwrap();
                }
            }
            reopen(copies.iter(), commits, " after a crash").await;
            for copy in &copies {
                work::remove(copy);
            }
        });
        work::remove(&path);
        work::remove(&crashed);
    }
}

fn beside(path: &Path, suffix: &str) -> String {
    format!("{}{suffix}", path.display())
}

/// Opens each and reads from it: the medians, since a single time says more of the machine than of the store.
async fn reopen(paths: impl Iterator<Item = &PathBuf>, commits: u64, how: &str) {
    const READS: usize = 100;
    let [mut opening, mut first, mut times] = [const { Vec::new() }; 3];
    for path in paths {
        let begun = Instant::now();
        let storage = open(path, SqliteOptions::new());
        opening.push(begun.elapsed());
        for read in 0..READS {
            let (id, address) = (SessionId::new("one").unwrap(), STATE.address());
            let begun = Instant::now();
            storage.document(id, address, At::Current).await.unwrap().unwrap();
            if read == 0 { &mut first } else { &mut times }.push(begun.elapsed());
        }
        storage.close().await;
    }
    for (what, mut times) in [("open", opening), ("first read", first), ("read", times)] {
        times.sort_unstable();
        figures::print_one(WHO, &format!("{what}{how}"), commits, micros(quantile(&times, 50)));
    }
}

/// A second process beside a busy writer.
pub(crate) fn second(folder: &Path, time: Duration) {
    let path = work::fresh(folder, "second.db");
    runtime().block_on(async {
        let storage = open(&path, SqliteOptions::new());
        let mut client = Command::new(std::env::current_exe().unwrap());
        client.args(["client".as_ref(), folder.as_os_str()]).arg(time.as_secs_f64().to_string());
        let client = client.stdout(Stdio::inherit()).spawn().unwrap();
        // A little longer, so that the client is never alone.
        measure(&storage, "beside a second process", 64, time + time / 2, false).await;
        client.wait_with_output().unwrap();
        storage.close().await;
    });
    work::remove(&path);
}

/// The second process.
pub(crate) fn client(folder: &Path, time: Duration) {
    runtime().block_on(async {
        let storage = open(&folder.join("second.db"), SqliteOptions::new());
        measure(&storage, "second process", 1, time, false).await;
        storage.close().await;
    });
}
