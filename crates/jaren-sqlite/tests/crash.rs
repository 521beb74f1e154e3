//! Crashes with the real file: a writing process is killed, and what it acknowledged is there, whole.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{
    Address, At, Batch, Body, Family, FamilyQuery, Outcome, Removal, Retention, Seq, Session, SessionBatch,
    SessionId, Singleton, Storage, Upkeep, Write,
};
use jaren_host::{Random, SeededRandom};
use jaren_json::value;
use jaren_sqlite::{Durability, SqliteOptions, SqliteStorage};
use tokio::runtime::Builder;

const COUNT: Singleton = Singleton::new("test.count", 1);
const EACH: Family = Family::new("test.each", 1);
const FACT: Family = Family::new("test.fact", 1).bulk();
/// Names the store file to the child process.
const STORE: &str = "JAREN_TEST_STORE";
/// How many sessions the child writes at once.
const SESSIONS: &str = "JAREN_TEST_SESSIONS";
/// Tells the child how many threads its runtime has. With one, the writer's thread commits; with more, a task that is
/// alone commits on its own thread: at least its first commit, and the later ones while the disk is quick.
const WORKERS: &str = "JAREN_TEST_WORKERS";
/// Set if the child survives only its own end.
const LESSER: &str = "JAREN_TEST_LESSER";

fn id(session: usize) -> SessionId {
    SessionId::new(format!("s{session}")).unwrap()
}

fn open(path: &Path) -> Arc<SqliteStorage> {
    Arc::new(SqliteStorage::open(path).unwrap())
}

/// Counts on in one session for ever; tells each number once its commit is answered.
async fn count(storage: Arc<SqliteStorage>, number: usize) {
    let mut session = match Session::open(storage.clone(), id(number)).await.unwrap() {
        Some(session) => session,
        None => Session::create(storage, id(number), "test"),
    };
    loop {
        let n = session.head().get() + 1;
        let text = n.to_string();
        let mut change = session.draft();
        change
            .put(&COUNT, value!({"n": text.as_str(), "text": "long enough that changes are deltas over it"}));
        change.put_member(&EACH, &text, value!({"n": text.as_str()}));
        change.put_member(&FACT, "newest", value!({"n": text.as_str()}));
        change.label("n", &text);
        session.commit(change).await.unwrap();
        // One write, so that a line is whole or not there.
        std::io::stdout().lock().write_all(format!("{number} {n}\n").as_bytes()).unwrap();
    }
}

/// Writes until it is killed; run by the tests below in a process of its own.
#[test]
fn child() {
    let (Ok(path), Ok(sessions)) = (std::env::var(STORE), std::env::var(SESSIONS)) else { return };
    let durability =
        if std::env::var(LESSER).is_ok() { Durability::ProcessCrash } else { Durability::PowerLoss };
    let storage = SqliteStorage::open_with(path, SqliteOptions::new().with_durability(durability)).unwrap();
    let storage = Arc::new(storage);
    let mut runtime = match std::env::var(WORKERS).unwrap().parse().unwrap() {
        1 => Builder::new_current_thread(),
        workers => {
            let mut runtime = Builder::new_multi_thread();
            runtime.worker_threads(workers);
            runtime
        }
    };
    runtime.enable_all().build().unwrap().block_on(async {
        let counting =
            (0..sessions.parse().unwrap()).map(|number| tokio::spawn(count(storage.clone(), number)));
        for counting in counting.collect::<Vec<_>>() {
            counting.await.unwrap();
        }
    });
}

fn start(path: &Path, sessions: usize, workers: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(STORE, path)
        .env(SESSIONS, sessions.to_string())
        .env(WORKERS, workers.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The child's acknowledgements until its end, or until `enough` of them, when it is killed.
fn acknowledged(child: &mut Child, enough: usize, acks: &mut HashMap<usize, u64>) {
    let mut seen = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some((session, n)) = line.split_once(' ') else { continue };
        let (Ok(session), Ok(n)) = (session.parse(), n.parse()) else { continue };
        acks.insert(session, n);
        seen += 1;
        if seen == enough {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
}

/// Everything that was acknowledged is there; at most one commit of a session more, and no part of one.
async fn check(path: &Path, acks: &HashMap<usize, u64>, sessions: usize, place: &str) {
    let storage = open(path);
    let report = storage.integrity().await.unwrap();
    assert!(report.is_clean(), "{place}: {:?}", report.findings);
    for number in 0..sessions {
        let acknowledged = acks.get(&number).copied().unwrap_or(0);
        let Some(mut session) = Session::open(storage.clone(), id(number)).await.unwrap() else {
            assert_eq!(acknowledged, 0, "{place}: session {number} is lost");
            continue;
        };
        let head = session.head().get();
        assert!(head == acknowledged || head == acknowledged + 1, "{place}: {head} of {acknowledged}");
        let newest = value!(head.to_string());
        assert_eq!(session.document(&COUNT).await.unwrap().unwrap().get("n"), Some(&newest), "{place}");
        assert_eq!(
            session.member(&FACT, "newest").await.unwrap().unwrap().get("n"),
            Some(&newest),
            "{place}"
        );
        assert_eq!(session.label("n").map(str::to_owned), Some(head.to_string()), "{place}");
        assert_eq!(session.family(&EACH).await.unwrap().len() as u64, head, "{place}");
        let log = storage.changes(id(number), Seq::ZERO, 1000).await.unwrap();
        assert!(log.iter().all(|commit| commit.changes.len() == 2 && commit.bulk.len() == 1), "{place}");
    }
    storage.close().await;
}

// durable H53. The child is killed at each of its first commits: as soon as the parent has read its answer.
#[tokio::test]
async fn a_process_killed_at_a_commit_loses_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    for (workers, boundary) in (1..=25).flat_map(|boundary| [(1, boundary), (2, boundary)]) {
        let path = folder.path().join(format!("{boundary}-{workers}.db"));
        let mut acks = HashMap::new();
        acknowledged(&mut start(&path, 1, workers), boundary, &mut acks);
        assert!(acks[&0] >= boundary as u64);
        check(&path, &acks, 1, &format!("after commit {boundary}, {workers} workers")).await;
    }
}

// One store, killed again and again while 64 sessions write, at times from a seed.
#[tokio::test]
async fn a_process_killed_at_any_time_loses_nothing_that_it_acknowledged() {
    const SEED: u64 = 5;
    const KILLS: u32 = 200;
    const WRITERS: usize = 64;
    let folder = tempfile::tempdir().unwrap();
    let random = SeededRandom::new(SEED);
    let (mut acks, mut total) = (HashMap::new(), 0);
    for kill in 0..KILLS {
        // A new store now and then, so that creation is hit too.
        if kill % 20 == 0 {
            acks.clear();
        }
        let path = folder.path().join(format!("{}.db", kill / 20));
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let delay = Duration::from_micros(u64::from_le_bytes(bytes) % 60_000);
        let mut child = start(&path, WRITERS, 1);
        let pid = child.id();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            // By its number, since the child is being read from; it is not waited for before.
            Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        });
        acknowledged(&mut child, usize::MAX, &mut acks);
        killer.join().unwrap();
        total += acks.len();
        let place = format!("seed {SEED}, kill {kill} after {delay:?}");
        check(&path, &acks, WRITERS, &place).await;
        // What was in flight may have been made; from now on it counts.
        for (number, n) in heads(&path, WRITERS).await {
            acks.insert(number, n);
        }
    }
    assert!(total > 0, "the children were killed before they wrote anything");
}

/// Commits of a session that is removed: more than one step takes.
const REMOVED_COMMITS: u64 = 2_100;
/// The session that the remover's child begins with.
const FIRST: &str = "JAREN_TEST_FIRST";

/// Creates a session and removes it, and so on until it is killed; tells each once its removal is answered.
#[tokio::test]
async fn remover() {
    let (Ok(path), Ok(first)) = (std::env::var(STORE), std::env::var(FIRST)) else { return };
    let options = SqliteOptions::new().with_durability(Durability::ProcessCrash);
    let storage = SqliteStorage::open_with(path, options).unwrap();
    for number in first.parse::<usize>().unwrap().. {
        let commit = |seq: u64| {
            let mut part = match seq {
                1 => SessionBatch::create(id(number), "test"),
                _ => SessionBatch::after(id(number), Seq::new(seq - 1)),
            };
            let body = Body::base(&value!({"n": seq.to_string()})).unwrap();
            let retention = if seq.is_multiple_of(2) { Retention::Bulk } else { Retention::Full };
            let address = Address::member("test.each", format!("{}", seq % 50));
            part.writes.push(Write::Base { address, retention, version: 1, body });
            part.labels.push(("n".into(), Some(seq.to_string().into())));
            Batch::one(part)
        };
        if storage.session(id(number)).await.unwrap().is_none() {
            let outcomes = storage.apply((1..=REMOVED_COMMITS).map(commit).collect()).await.unwrap();
            assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Committed(_))));
        }
        let removal = storage.remove(id(number), Seq::new(REMOVED_COMMITS)).await.unwrap();
        assert_eq!(removal, Removal::Removed);
        std::io::stdout().lock().write_all(format!("{number} 1\n").as_bytes()).unwrap();
    }
}

// A removal is whole or has only taken history: what was acknowledged as removed is gone, and nothing else is.
#[tokio::test]
async fn a_process_killed_while_it_removes_leaves_whole_sessions() {
    const SEED: u64 = 6;
    const KILLS: u32 = 30;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let storage = open(&path);
    let mut bystander = Session::create(storage.clone(), SessionId::new("bystander").unwrap(), "test");
    for n in 0..5 {
        let mut change = bystander.draft();
        change.put(&COUNT, value!({"n": n}));
        bystander.commit(change).await.unwrap();
    }
    storage.close().await;
    let random = SeededRandom::new(SEED);
    let mut next = 0;
    for kill in 0..KILLS {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let delay = Duration::from_micros(u64::from_le_bytes(bytes) % 400_000);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "remover", "--nocapture"])
            .env(STORE, &path)
            .env(FIRST, next.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = child.id();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        });
        let mut acks = HashMap::new();
        acknowledged(&mut child, usize::MAX, &mut acks);
        killer.join().unwrap();
        let place = format!("seed {SEED}, kill {kill} after {delay:?}");
        let storage = open(&path);
        let report = storage.integrity().await.unwrap();
        assert!(report.is_clean(), "{place}: {:?}", report.findings);
        for number in acks.into_keys() {
            assert!(storage.session(id(number)).await.unwrap().is_none(), "{place}: {number} is back");
            next = next.max(number + 1);
        }
        if let Some(record) = storage.session(id(next)).await.unwrap() {
            assert_eq!(record.head.get(), REMOVED_COMMITS, "{place}");
            let newest = Seq::new(REMOVED_COMMITS - 1);
            assert_eq!(storage.changes(id(next), newest, 9).await.unwrap().len(), 1, "{place}");
            let page = storage.family(FamilyQuery::new(id(next), "test.each")).await.unwrap();
            assert_eq!(page.items.len(), 50, "{place}");
        }
        let log = storage.changes(SessionId::new("bystander").unwrap(), Seq::ZERO, 10).await.unwrap();
        assert_eq!(log.len(), 5, "{place}");
        storage.close().await;
    }
    assert!(next > 0, "the children were killed before they removed anything");
}

async fn heads(path: &Path, sessions: usize) -> Vec<(usize, u64)> {
    let storage = open(path);
    let mut heads = Vec::new();
    for number in 0..sessions {
        if let Some(record) = storage.session(id(number)).await.unwrap() {
            heads.push((number, record.head.get()));
        }
    }
    storage.close().await;
    heads
}

/// What a trace tells of a child's acknowledgements.
#[derive(Debug, Default)]
struct Traced {
    acknowledged: usize,
    /// Those while bytes of the log were written and not synced.
    unsynced: usize,
    /// Those by the thread that had made the last sync of the log itself.
    own: usize,
}

/// Traces the system calls of a child. None where processes cannot be traced.
fn traced(path: &Path, workers: usize, lesser: bool) -> Option<Traced> {
    let trace = path.with_extension("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-s", "32", "-e", "trace=write,pwrite64,fsync,fdatasync", "-o"]).arg(&trace);
    command.arg(std::env::current_exe().unwrap()).args(["--exact", "child", "--nocapture"]);
    command.env(STORE, path).env(SESSIONS, "1").env(WORKERS, workers.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    if lesser {
        command.env(LESSER, "1");
    }
    let mut child = command.spawn().ok()?;
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = lines.map_while(Result::ok).filter(|line| line.starts_with("0 ")).take(20).count();
    // Ending the tracer ends the child with it.
    child.kill().unwrap();
    child.wait().unwrap();
    if seen == 0 {
        return None;
    }
    let (mut dirty, mut syncing, mut synced, mut seen) = (false, None, None, Traced::default());
    for line in std::fs::read_to_string(trace).unwrap().lines() {
        let thread = line.split_whitespace().next().map(str::to_owned);
        let log = line.contains("-wal>");
        if log && line.contains("pwrite64(") {
            dirty = true;
        } else if log && line.contains("sync(") && !line.ends_with("= 0") {
            syncing = thread; // a sync counts when it has returned
        } else if (log && line.contains("sync(")) || (line.contains("sync resumed>") && syncing == thread) {
            (dirty, syncing, synced) = (false, None, thread);
        } else if line.contains(" write(1<") && line.contains(", \"0 ") {
            seen.acknowledged += 1;
            seen.unsynced += usize::from(dirty);
            seen.own += usize::from(synced == thread);
        }
    }
    Some(seen)
}

// Each acknowledgement comes after a sync of what it acknowledges. With the lesser durability it does not, which shows
// that the trace tells.
#[test]
fn a_commit_is_synced_before_it_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let Some(seen) = traced(&folder.path().join("full.db"), 1, false) else { return };
    assert!(
        seen.acknowledged >= 20 && seen.unsynced == 0 && seen.own == 0,
        "by the writer's thread: {seen:?}"
    );
    let seen = traced(&folder.path().join("lesser.db"), 1, true).unwrap();
    assert!(seen.acknowledged >= 20 && seen.unsynced > 0, "the trace does not tell: {seen:?}");
}

// The same of a task that is alone in a runtime of several threads: it commits, and syncs, on its own thread.
#[test]
fn a_commit_on_the_callers_thread_is_synced_before_it_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..5 {
        let Some(seen) = traced(&folder.path().join(format!("{number}.db")), 2, false) else { return };
        assert!(seen.acknowledged >= 20 && seen.unsynced == 0 && seen.own > 0, "{seen:?}");
    }
    let seen = traced(&folder.path().join("lesser.db"), 2, true).unwrap();
    assert!(seen.acknowledged >= 20 && seen.unsynced > 0, "the trace does not tell: {seen:?}");
}

/// A store whose commits all stand in its log: the main file, the log, and the size of a page.
struct Torn {
    main: Vec<u8>,
    log: Vec<u8>,
    frame: usize,
    /// For each frame, whether a commit ends with it.
    ends: Vec<bool>,
}

const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

async fn written(commits: u32) -> Torn {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let storage = open(&path);
    let mut session = Session::create(storage.clone(), id(0), "test");
    for n in 1..=commits {
        let mut change = session.draft();
        change.put(&COUNT, value!({"n": n, "text": "x".repeat(900)}));
        change.put_member(&EACH, &n.to_string(), value!({"text": "y".repeat(3000)}));
        session.commit(change).await.unwrap();
    }
    let main = std::fs::read(&path).unwrap();
    let log = std::fs::read(folder.path().join("test.db-wal")).unwrap();
    let page = usize::from(u16::from_be_bytes([main[16], main[17]]));
    let frame = FRAME_HEADER + page;
    let ends = log[LOG_HEADER..].chunks_exact(frame).map(|frame| frame[4..8] != [0; 4]).collect();
    Torn { main, log, frame, ends }
}

impl Torn {
    /// The commits that end within the first frames.
    fn commits(&self, frames: usize) -> u64 {
        self.ends[..frames].iter().filter(|end| **end).count() as u64
    }

    /// Opens a copy with that log and no shared-memory file, and answers its commits; what is there is whole.
    async fn opened(&self, log: &[u8]) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.db");
        std::fs::write(&path, &self.main).unwrap();
        std::fs::write(folder.path().join("copy.db-wal"), log).unwrap();
        let storage = open(&path);
        let report = storage.integrity().await.unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        let Some(mut session) = Session::open(storage.clone(), id(0)).await.unwrap() else { return 0 };
        let head = session.head().get();
        let n = u32::try_from(head).unwrap();
        assert_eq!(session.document(&COUNT).await.unwrap().unwrap().get("n"), Some(&value!(n)));
        assert_eq!(session.family(&EACH).await.unwrap().len() as u64, head);
        for seq in 1..=head {
            let then = storage.document(id(0), COUNT.address(), At::Seq(Seq::new(seq))).await.unwrap();
            assert_eq!(then.unwrap().value.get("n"), Some(&value!(u32::try_from(seq).unwrap())));
        }
        let mut change = session.draft();
        change.put(&COUNT, value!({"n": n + 1}));
        assert_eq!(session.commit(change).await.unwrap().seq, Seq::new(head + 1), "and it goes on");
        head
    }
}

// durable H48: whatever the log lost at its end, the store is at the last commit that is wholly in it.
#[tokio::test]
async fn a_log_cut_anywhere_is_at_its_last_whole_commit() {
    const COMMITS: u32 = 12;
    let torn = written(COMMITS).await;
    assert_eq!(torn.commits(torn.ends.len()), u64::from(COMMITS), "one transaction a commit");
    for cut in [0, 1, LOG_HEADER - 1] {
        assert_eq!(torn.opened(&torn.log[..cut]).await, 0);
    }
    for frames in 0..=torn.ends.len() {
        let end = LOG_HEADER + frames * torn.frame;
        for more in [0, 1, FRAME_HEADER - 1, FRAME_HEADER, torn.frame / 2, torn.frame - 1] {
            let cut = (end + more).min(torn.log.len());
            assert_eq!(
                torn.opened(&torn.log[..cut]).await,
                torn.commits(frames),
                "{frames} frames, {more} bytes"
            );
        }
    }
}

// durable H49, as far as it applies: a write that was lost or garbled in the middle of the log ends it there, since what
// follows was built on it.
#[tokio::test]
async fn a_garbled_log_is_at_the_commit_before() {
    let torn = written(12).await;
    let random = SeededRandom::new(7);
    for frames in 0..torn.ends.len() {
        let start = LOG_HEADER + frames * torn.frame;
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let at = start + FRAME_HEADER + usize::try_from(u64::from_le_bytes(bytes) % 2048).unwrap();
        let mut log = torn.log.clone();
        log[at] ^= 0x10;
        assert_eq!(torn.opened(&log).await, torn.commits(frames), "byte {at}");
        log[start..start + torn.frame].fill(0);
        assert_eq!(torn.opened(&log).await, torn.commits(frames), "a lost frame {frames}");
    }
}

// Pages have no checksums, so damage within one may pass; a page that is gone is found or refused, and nothing panics.
#[tokio::test]
async fn garbled_pages_of_the_main_file_are_found() {
    let torn = written(30).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.db");
    std::fs::write(&path, &torn.main).unwrap();
    std::fs::write(folder.path().join("whole.db-wal"), &torn.log).unwrap();
    open(&path).close().await; // folds the log in
    let whole = std::fs::read(&path).unwrap();
    let page = torn.frame - FRAME_HEADER;
    assert!(whole.len() / page > 30);
    for at in 0..whole.len() / page {
        for garbage in [0x00, 0xA5] {
            let mut bytes = whole.clone();
            bytes[at * page..(at + 1) * page].fill(garbage);
            let path = folder.path().join(format!("{at}-{garbage}.db"));
            std::fs::write(&path, &bytes).unwrap();
            let Ok(storage) = SqliteStorage::open_read_only(&path) else { continue };
            if let Ok(report) = storage.integrity().await {
                assert!(!report.is_clean(), "page {at} filled with {garbage}");
            }
            let _ = storage.document(id(0), COUNT.address(), At::Current).await;
            let _ = storage.changes(id(0), Seq::ZERO, 100).await;
            storage.close().await;
        }
    }
}
