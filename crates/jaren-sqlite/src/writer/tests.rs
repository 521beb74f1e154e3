//! The writer without its thread: what it does when SQLite fails in the middle.

use jaren_durable::{SessionBatch, SessionId};
use tempfile::TempDir;

use super::*;

fn writer() -> (TempDir, Writer) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    open::create(&path).unwrap();
    let writer = Writer::open(&path, SqliteOptions::new(), Arc::default()).unwrap();
    (folder, writer)
}

fn creating(name: &str) -> Batch {
    Batch::one(SessionBatch::create(SessionId::new(name).unwrap(), "test"))
}

fn apply(writer: &mut Writer, batch: Batch) -> Result<Vec<Vec<Outcome>>, Fault> {
    let answers = writer.transact(&[Asked::Apply(&[batch])], Patience::Long)?;
    let outcomes = |answer| match answer {
        Answer::Outcomes(outcomes) => outcomes,
        Answer::Jobs(_) => panic!("expected outcomes"),
    };
    Ok(answers.into_iter().map(outcomes).collect())
}

fn is_committed(answers: &[Vec<Outcome>]) -> bool {
    matches!(answers, [outcomes] if matches!(outcomes.as_slice(), [Outcome::Committed(_)]))
}

// durable decision 7: after an I/O error a storage refuses further writes; the batch in flight is unknown.
#[test]
fn a_failed_commit_is_unknown_and_stops_all_writing() {
    let (_folder, mut writer) = writer();
    assert!(is_committed(&apply(&mut writer, creating("a")).unwrap()));
    writer.connection.commit_hook(Some(|| true)).unwrap();
    let fault = apply(&mut writer, creating("b")).unwrap_err();
    assert_eq!(fault.retry, Retry::Unknown);
    writer.connection.commit_hook(None::<fn() -> bool>).unwrap();
    let refused = apply(&mut writer, creating("c")).unwrap_err();
    assert_eq!((refused.kind, refused.retry), (StorageErrorKind::Poisoned, Retry::Never));
    assert!(refused.error(APPLY).to_string().contains("open the store anew"));
}

#[test]
fn a_full_disk_before_the_commit_changes_nothing_and_stops_nothing() {
    let (_folder, mut writer) = writer();
    let pages: i64 = writer.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    writer.connection.pragma_update(None, "max_page_count", pages + 2).unwrap();
    let names: Vec<String> = (0..).map(|n| format!("{n}{}", "x".repeat(400))).take(60).collect();
    let fault = names.iter().find_map(|name| apply(&mut writer, creating(name)).err()).expect("it fills up");
    assert_eq!((fault.kind, fault.retry), (StorageErrorKind::Full, Retry::Safe));
    assert!(writer.connection.is_autocommit(), "the failed transaction was rolled back");
    writer.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    assert!(is_committed(&apply(&mut writer, creating("later")).unwrap()));
}

// What cannot be written fails alone: its group is tried again one by one.
#[test]
fn a_failure_of_one_request_fails_no_other() {
    let (_folder, mut writer) = writer();
    writer
        .connection
        .execute_batch("CREATE TRIGGER no BEFORE INSERT ON sessions WHEN new.id = 'bad' BEGIN SELECT raise(ABORT, 'no'); END")
        .unwrap();
    let (asks, answers): (Vec<Ask>, Vec<_>) = ["a", "bad", "b"]
        .map(|name| {
            let (answer, outcome) = oneshot::channel();
            (Ask::Apply { batches: vec![creating(name)], bytes: 0, answer }, outcome)
        })
        .into_iter()
        .unzip();
    writer.answer(asks);
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.blocking_recv().unwrap().0).collect();
    assert!(is_committed(&[answers[0].as_ref().unwrap().clone()]));
    assert_eq!(answers[1].as_ref().unwrap_err().kind(), StorageErrorKind::Corrupt);
    assert!(is_committed(&[answers[2].as_ref().unwrap().clone()]));
}

#[test]
fn the_settings_that_durability_rests_on_are_in_force() {
    let (folder, writer) = writer();
    let setting = |connection: &Connection, name: &str| -> String {
        let value: rusqlite::types::Value =
            connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap();
        match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => panic!("unexpected {other:?}"),
        }
    };
    assert_eq!(setting(&writer.connection, "journal_mode"), "wal");
    assert_eq!(setting(&writer.connection, "synchronous"), "2");
    assert_eq!(setting(&writer.connection, "wal_autocheckpoint"), "0");
    assert_eq!(setting(&writer.connection, "application_id"), 0x4A41_524E.to_string());
    assert_eq!(setting(&writer.connection, "user_version"), crate::schema::VERSION.to_string());
    let path = folder.path().join("test.db");
    let lesser = open::writer(&path, crate::Durability::ProcessCrash).unwrap();
    assert_eq!(setting(&lesser, "synchronous"), "1");
}

/// The clock that a commit asks is asked on the thread that commits.
#[derive(Debug, Default)]
struct Witness(std::sync::Mutex<Vec<Option<String>>>);

impl Clock for Witness {
    fn now(&self) -> jaren_host::Timestamp {
        let name = std::thread::current().name().map(str::to_owned);
        self.0.lock().unwrap().push(name);
        jaren_host::Timestamp::from_millis(0)
    }
}

/// The names of the threads that made so many commits, one after the other, on a disk that is taken for quick or not.
async fn committed_on(commits: usize, time_max: Duration) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    open::create(&path).unwrap();
    let witness = Arc::new(Witness::default());
    let options = SqliteOptions::new().with_clock(witness.clone());
    let writer = handle::start_with(&path, options, Arc::default(), time_max).unwrap();
    for n in 0..commits {
        assert!(is_committed(&[writer.apply(vec![creating(&n.to_string())]).await.unwrap()]));
    }
    writer.close().await;
    let refused = writer.apply(vec![creating("late")]).await.unwrap_err();
    assert_eq!(refused.kind(), StorageErrorKind::Closed);
    let names = std::mem::take(&mut *witness.0.lock().unwrap());
    names.into_iter().map(Option::unwrap_or_default).collect()
}

fn is_ours(name: &String) -> bool {
    name == "jaren-writer"
}

#[test]
fn who_commits_alone_on_a_quick_disk_commits_on_its_own_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let names = runtime.block_on(committed_on(5, Duration::MAX));
    assert!(names.len() == 5 && !names.iter().any(is_ours), "{names:?}");
}

#[test]
fn a_slow_disk_is_the_writers_business() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let names = runtime.block_on(committed_on(5, Duration::ZERO));
    assert!(names.len() == 5 && names[1..].iter().all(is_ours), "the first one finds out: {names:?}");
}

// Or its other tasks could not add their commits to the group.
#[test]
fn a_runtime_of_one_thread_never_waits_for_the_disk() {
    let single = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let one = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    for runtime in [single, one] {
        let names = runtime.block_on(committed_on(3, Duration::MAX));
        assert!(names.len() == 3 && names.iter().all(is_ours), "{names:?}");
    }
}

/// A clock that counts the commits, and holds the writer's thread up until it is opened.
#[derive(Debug, Default)]
struct Gate {
    commits: AtomicUsize,
    is_open: std::sync::atomic::AtomicBool,
}

impl Clock for Gate {
    fn now(&self) -> jaren_host::Timestamp {
        self.commits.fetch_add(1, Ordering::Relaxed);
        while std::thread::current().name() == Some("jaren-writer") && !self.is_open.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        jaren_host::Timestamp::from_millis(0)
    }
}

/// Polls futures in one task until all are done; opens the gate when all of them wait.
async fn join<F: Future + Unpin>(mut futures: Vec<F>, gate: &Gate) -> Vec<F::Output> {
    let mut polls = 0;
    let mut done: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in futures.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(output) = std::pin::Pin::new(future).poll(context)
            {
                *done = Some(output);
            }
        }
        polls += 1;
        gate.is_open.store(polls > 1, Ordering::Relaxed); // the first poll of one of them ends where it yields
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

// One after the other on the caller's thread they would cost a sync each, and the task would wait for all of them.
#[test]
fn commits_that_one_task_joins_share_a_sync() {
    const RUNS: usize = 64;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    open::create(&path).unwrap();
    let gate = Arc::new(Gate::default());
    let options = SqliteOptions::new().with_clock(gate.clone());
    let writer = Arc::new(handle::start_with(&path, options, Arc::default(), Duration::MAX).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (caller, opens) = (writer.clone(), gate.clone());
    let task = runtime.spawn(async move {
        let apply = |n: usize| {
            let caller = &caller;
            Box::pin(async move { caller.apply(vec![creating(&n.to_string())]).await })
        };
        join((0..RUNS).map(apply).collect(), &opens).await
    });
    for outcomes in runtime.block_on(task).unwrap() {
        assert!(is_committed(&[outcomes.unwrap()]));
    }
    let commits = gate.commits.load(Ordering::Relaxed);
    assert!(
        commits <= 2,
        "{commits} syncs: those that the writer found at first, and all that came meanwhile"
    );
    runtime.block_on(writer.close());
}

/// A clock that is slow once.
#[derive(Debug, Default)]
struct SlowOnce(AtomicUsize);

impl Clock for SlowOnce {
    fn now(&self) -> jaren_host::Timestamp {
        let begun = std::time::Instant::now();
        while self.0.load(Ordering::Relaxed) == 0 && begun.elapsed() < Duration::from_millis(30) {
            std::hint::spin_loop();
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        jaren_host::Timestamp::from_millis(0)
    }
}

#[test]
fn what_commits_nothing_does_not_tell_of_a_quick_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    open::create(&path).unwrap();
    let options = SqliteOptions::new().with_clock(Arc::new(SlowOnce::default()));
    let writer = handle::start_with(&path, options, Arc::default(), Duration::from_millis(20)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    assert!(writer.is_quiet());
    assert!(is_committed(&[runtime.block_on(writer.apply(vec![creating("a")])).unwrap()]));
    assert!(!writer.is_quiet());
    runtime.block_on(writer.upkeep("do nothing", |_| Ok(()))).unwrap();
    assert!(!writer.is_quiet());
    runtime.block_on(writer.close());
}

#[test]
fn what_waits_behind_a_close_is_told_that_nothing_was_tried() {
    let (requests, queue) = tokio::sync::mpsc::channel(4);
    let (answer, outcome) = oneshot::channel();
    let (leased, jobs) = oneshot::channel();
    let (done, closed) = oneshot::channel();
    let (tended, task) = oneshot::channel();
    let claim = Claim::new(vec!["k".into()], "me", Duration::from_secs(1), vec!["t".into()]);
    let asks =
        [Ask::Apply { batches: vec![creating("a")], bytes: 0, answer }, Ask::Claim { claim, answer: leased }];
    for request in asks.map(handle::Request::Ask) {
        assert!(requests.try_send(request).is_ok());
    }
    let work = move |writer: Option<&mut Writer>| assert!(tended.send(writer.is_none()).is_ok());
    assert!(requests.try_send(handle::Request::Upkeep(Box::new(work))).is_ok());
    assert!(requests.try_send(handle::Request::Close(done)).is_ok());
    handle::refuse(queue);
    let told = |error: StorageError| (error.kind(), error.retry());
    let expected = (StorageErrorKind::Closed, Retry::Never);
    assert_eq!(told(outcome.blocking_recv().unwrap().0.unwrap_err()), expected);
    assert_eq!(told(jobs.blocking_recv().unwrap().unwrap_err()), expected);
    assert!(task.blocking_recv().unwrap());
    closed.blocking_recv().unwrap();
    assert!(requests.is_closed());
}

// The writer would make the long one itself, on the commit path, when it hears of one that was not made.
#[test]
fn a_checkpoint_that_fails_is_none() {
    let (_folder, writer) = writer();
    writer.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(!checkpoint::checkpoint(&writer.connection));
    writer.connection.execute_batch("COMMIT").unwrap();
    assert!(checkpoint::checkpoint(&writer.connection));
}

/// A clock that panics when it is asked the second time.
#[derive(Debug, Default)]
struct Breaking(AtomicUsize);

impl Clock for Breaking {
    fn now(&self) -> jaren_host::Timestamp {
        assert_ne!(self.0.fetch_add(1, Ordering::Relaxed), 1, "the clock breaks");
        jaren_host::Timestamp::from_millis(0)
    }
}

// durable decision 7. On either thread: rolled back, the turn given back, no further writes, and the file closed at the end.
#[test]
fn a_panic_in_a_commit_stops_all_writing_and_holds_nothing() {
    for time_max in [Duration::MAX, Duration::ZERO] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        open::create(&path).unwrap();
        let options = SqliteOptions::new().with_clock(Arc::new(Breaking::default()));
        let writer = handle::start_with(&path, options, Arc::default(), time_max).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let apply = |name| runtime.block_on(writer.apply(vec![creating(name)]));
        assert!(is_committed(&[apply("a").unwrap()]));
        let broken = apply("b").unwrap_err();
        assert_eq!((broken.kind(), broken.retry()), (StorageErrorKind::Io, Retry::Unknown));
        assert!(broken.to_string().contains("a panic"), "{broken}");
        let refused = apply("c").unwrap_err();
        assert_eq!((refused.kind(), refused.retry()), (StorageErrorKind::Poisoned, Retry::Never));
        // Another writer has its turn and SQLite's lock at once, and finds the first session only.
        let mut other = Writer::open(&path, SqliteOptions::new(), Arc::default()).unwrap();
        assert!(is_committed(&[other.transact_at_once(&[creating("b")]).unwrap()]));
        drop(other);
        runtime.block_on(writer.close());
        assert!(!folder.path().join("test.db-wal").exists(), "the last connection was closed");
        let closed = runtime.block_on(writer.claim(Claim::new(
            vec!["k".into()],
            "me",
            Duration::from_millis(1),
            vec!["t".into()],
        )));
        assert_eq!(closed.unwrap_err().kind(), StorageErrorKind::Closed);
    }
}

// Another process's turn is waited for by the writer's thread.
#[test]
fn a_turn_that_is_taken_is_not_waited_for_on_the_callers_thread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    open::create(&path).unwrap();
    let witness = Arc::new(Witness::default());
    let options = SqliteOptions::new().with_clock(witness.clone());
    let writer = Arc::new(handle::start_with(&path, options, Arc::default(), Duration::MAX).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let other = Turn::open(&path).unwrap();
    let waiting = other
        .run(Patience::Long, || {
            let caller = writer.clone();
            let waiting = runtime.spawn(async move { caller.apply(vec![creating("a")]).await });
            while writer.is_quiet() {
                std::thread::yield_now(); // until it has reached the writer's thread
            }
            Ok(waiting)
        })
        .unwrap();
    assert!(is_committed(&[runtime.block_on(waiting).unwrap().unwrap()]));
    assert!(witness.0.lock().unwrap().iter().flatten().all(is_ours));
    runtime.block_on(writer.close());
}

// A claim shares the sync of the commits beside it, sees those before it, and fails with no other.
#[test]
fn a_claim_is_made_in_one_transaction_with_what_waits_beside_it() {
    let (_folder, mut writer) = writer();
    let commits = Arc::new(AtomicUsize::new(0));
    let counted = commits.clone();
    writer
        .connection
        .commit_hook(Some(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            false
        }))
        .unwrap();
    let mut enqueue = Batch::new();
    let payload = jaren_durable::Body::base(&jaren_json::value!({})).unwrap();
    enqueue.jobs.push(jaren_durable::JobWrite::Enqueue(jaren_durable::NewJob::new("j", "k", payload)));
    let (applied, outcomes) = oneshot::channel();
    let claims = ["t1", "t2"].map(|token| {
        let (answer, jobs) = oneshot::channel();
        (
            Ask::Claim {
                claim: Claim::new(vec!["k".into()], "me", Duration::from_secs(1), vec![token.into()]),
                answer,
            },
            jobs,
        )
    });
    let [(first, got), (second, rest)] = claims;
    writer.answer(vec![Ask::Apply { batches: vec![enqueue], bytes: 0, answer: applied }, first, second]);
    assert!(is_committed(&[outcomes.blocking_recv().unwrap().0.unwrap()]));
    assert_eq!(got.blocking_recv().unwrap().unwrap().len(), 1);
    assert!(rest.blocking_recv().unwrap().unwrap().is_empty());
    assert_eq!(commits.load(Ordering::Relaxed), 1);
}
