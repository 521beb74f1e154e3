//! Runs that the reference implementation saved are resumed here, and runs that we saved by the reference, at every save
//! point, over the documents of the conformance corpus that need nothing of their host.
//!
//! The reference is npm's `@jarenjs/flow` at the version that `interop/package-lock.json` fixes, on a Node.js of its own.
//! Where it cannot be had the suite is skipped and says so, but never in CI.
#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use jaren::durable::{MemoryStorage, Storage};
use jaren::engine::core::{RunError, SavePoint};
use jaren::engine::port::{BoxFuture, Call, CheckpointStore, StoreError, Workflows};
use jaren::engine::{CommitPolicy, Drive, Engine, Failure, RunView, Start, TaskContext, Tasks};
use jaren::host::{ManualClock, Timestamp};
use jaren::json::{ObjectBuilder, ReadOptions, Value, read, value};
use jaren_durable_kit::faults::{Fault, Faults};

const RUN: &str = "run-1";

/// More commits than any run here makes.
const COMMITS_MAX: usize = 1000;

/// Beside the repository; the corpus is not part of it.
fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance/workflow")
}

/// A run that both implementations make: a document, its input, and the calls.
struct Subject {
    name: String,
    document: Value,
    input: Value,
    steps: Vec<Value>,
}

/// What a run came to: each save with the call that made it, and how each call ended.
#[derive(Debug, Default, PartialEq)]
struct Told {
    saves: Vec<(usize, Value)>,
    ends: Vec<Value>,
}

/// The subjects of the corpus, each once. What depends on the host's timing, counts calls over several runs or needs
/// other versions is left out.
fn subjects() -> Vec<Subject> {
    let mut files: Vec<PathBuf> = fs::read_dir(corpus())
        .map(|files| files.flatten().map(|file| file.path()).collect())
        .unwrap_or_default();
    files.sort();
    let (mut seen, mut subjects) = (BTreeSet::new(), Vec::new());
    for case in files.iter().flat_map(|file| cases(file)) {
        if let Some(subject) = subject(&case)
            && seen.insert(format!("{} {} {:?}", subject.document, subject.input, subject.steps))
        {
            subjects.push(subject);
        }
    }
    subjects
}

fn cases(file: &Path) -> Vec<Value> {
    let text = fs::read(file).expect("the corpus can be read");
    // A case may hold what our reader refuses: each stands on a line of its own.
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b",").unwrap_or(line));
    lines
        .filter(|line| line.starts_with(b"{"))
        .filter_map(|line| read(line, &ReadOptions::data()).ok())
        .collect()
}

fn subject(case: &Value) -> Option<Subject> {
    const HOSTS_OWN: [&str; 4] = ["versions", "nested", "special", "noStore"];
    const TIMED: [&str; 3] = ["\"cancel\"", "\"turn\"", "\"flaky\""];
    let document = case.get("document")?;
    let text = document.to_string();
    if HOSTS_OWN.iter().any(|own| case.get(own).is_some()) || TIMED.iter().any(|task| text.contains(task)) {
        return None;
    }
    let runs = case.get("runs")?.as_array()?;
    let input = runs.first()?.get("input")?;
    let mut steps = Vec::new();
    for run in runs.iter().filter(|run| run.get("together").is_none()) {
        let other = run.get("runId").is_some() || run.get("input") != Some(input);
        if other || run.get("now").is_some_and(|now| now.as_f64().is_none()) {
            return None;
        }
        let mut step = ObjectBuilder::new();
        for part in ["now", "event"] {
            if let Some(given) = run.get(part) {
                step.insert(part, given);
            }
        }
        steps.push(Value::Object(step.build()));
    }
    let name = case.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Subject { name, document: document.clone(), input: input.clone(), steps })
}

/// The same tasks as in `reference.mjs`.
fn tasks() -> Tasks {
    let mut tasks = Tasks::new();
    let mut add = |name, answer: fn(Value, Value) -> Result<Value, Failure>| {
        tasks.add_value(name, "1", move |_: TaskContext, with: Value, input: Value| async move {
            answer(with, input)
        });
    };
    add("echo", |_, input| Ok(input));
    add("with", |with, _| Ok(with));
    add("both", |with, input| Ok(value!({ "with": with, "input": input })));
    add("add1", |_, input| match input.as_f64() {
        Some(number) => Ok(Value::Number(number + 1.0)),
        None => Err(Failure::new("not a number")),
    });
    add("fail", |_, _| Err(Failure::new("boom")));
    add("null", |_, _| Ok(Value::Null));
    tasks
}

/// The store of one run, which remembers every save.
#[derive(Default)]
struct Store {
    stored: Mutex<Option<Value>>,
    step: Mutex<usize>,
    saves: Mutex<Vec<(usize, Value)>>,
}

impl CheckpointStore for Store {
    fn load<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Value>, StoreError>> {
        Box::pin(async { Ok(self.stored.lock().expect("one thread").clone()) })
    }

    fn save<'a>(
        &'a self,
        _: &'a str,
        point: &'a SavePoint,
        expected: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut stored = self.stored.lock().expect("one thread");
        let found = stored.as_ref().and_then(|stored| stored.get("generation")?.as_u64()).unwrap_or(0);
        let is_expected = found == expected;
        if is_expected {
            let snapshot = point.snapshot.to_value();
            let step = *self.step.lock().expect("one thread");
            self.saves.lock().expect("one thread").push((step, snapshot.clone()));
            *stored = Some(snapshot);
        }
        Box::pin(async move { Ok(is_expected) })
    }
}

/// Makes a run here, from the beginning or from a snapshot that was saved in a step.
async fn make(subject: &Subject, from: Option<&(usize, Value)>) -> Told {
    let store = Arc::new(Store::default());
    *store.stored.lock().expect("one thread") = from.map(|(_, snapshot)| snapshot.clone());
    let workflows = Workflows::compile(&subject.document, tasks(), Some(store.clone())).expect("it compiles");
    let mut ends = Vec::new();
    for (step, asked) in subject.steps.iter().enumerate().skip(from.map_or(0, |(step, _)| *step)) {
        *store.step.lock().expect("one thread") = step;
        let mut call = Call::new(RUN, subject.input.clone());
        call.now = asked.get("now").and_then(Value::as_f64);
        call.event = asked.get("event").cloned();
        ends.push(match workflows.run(call).await {
            Ok(ended) => {
                let status = if ended.result.is_some() { "done" } else { "waiting" };
                value!({ "status": status, "result": (ended.result.unwrap_or_default()) })
            }
            Err(error) => failed(&error),
        });
    }
    let saves = std::mem::take(&mut *store.saves.lock().expect("one thread"));
    Told { saves, ends }
}

/// What our own store holds of the first step after each of its commits, published: each save point that the engine
/// stored.
async fn stored(subject: &Subject) -> Vec<(usize, Value)> {
    let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    // Each commit takes a turn, so that none is missed.
    let slow = Faults::new(Arc::clone(&memory));
    slow.plan([Some(Fault::Delay(1)); COMMITS_MAX]);
    let start = subject.steps.first().and_then(|step| step.get("now")?.as_i64()).unwrap_or(0);
    let engine = Engine::new(slow, tasks())
        .with_clock(Arc::new(ManualClock::new(Timestamp::from_millis(start))))
        .with_commit_policy(CommitPolicy::EverySavePoint);
    let start = Start::new(subject.document.clone(), subject.input.clone()).with_id(RUN);
    let Ok(mut run) = engine.start(start).await else { return Vec::new() };
    let mut saved = Vec::new();
    let mut driving = Box::pin(run.drive_with(Drive::new().without_timers()));
    loop {
        let ended = std::future::poll_fn(|cx| Poll::Ready(driving.as_mut().poll(cx).is_ready())).await;
        let view = RunView::load(&*memory, RUN).await.expect("it can be read").expect("it is there");
        let snapshot = view.published().expect("it can be published");
        if saved.last() != Some(&snapshot) {
            saved.push(snapshot);
        }
        if ended {
            return saved.into_iter().map(|snapshot| (0, snapshot)).collect();
        }
        tokio::task::yield_now().await;
    }
}

fn failed(error: &RunError) -> Value {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    value!({ "error": {
        "code": (error.code()), "docPath": (text(error.pointer())), "nodeId": (text(error.node()))
    } })
}

fn saves_value(saves: &[(usize, Value)]) -> Value {
    let step = |step: usize| u32::try_from(step).map_or(Value::Null, Value::from);
    saves.iter().map(|(at, snapshot)| value!({ "step": (step(*at)), "snapshot": snapshot })).collect()
}

fn told(value: &Value) -> Told {
    let items = |name: &str| value.get(name).and_then(Value::as_array).into_iter().flatten().cloned();
    let saves = items("saves").map(|save| {
        let step = save.get("step").and_then(Value::as_u64).and_then(|step| usize::try_from(step).ok());
        (step.expect("a save has a step"), save.get("snapshot").cloned().expect("a save has a snapshot"))
    });
    Told { saves: saves.collect(), ends: items("ends").collect() }
}

/// The folder with the reference installed, or why it cannot be had.
fn reference() -> Result<PathBuf, String> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let lock = fs::read(ours.join("package-lock.json")).map_err(|error| error.to_string())?;
    let installed = folder.join("installed.json");
    for file in ["package.json", "package-lock.json", "reference.mjs"] {
        fs::copy(ours.join(file), folder.join(file)).map_err(|error| error.to_string())?;
    }
    if fs::read(&installed).ok().as_ref() != Some(&lock) {
        let npm = Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--loglevel", "error"])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("npm does not start: {error}"))?;
        if !npm.status.success() {
            return Err(format!("npm ci failed: {}", String::from_utf8_lossy(&npm.stderr)));
        }
        fs::write(&installed, &lock).map_err(|error| error.to_string())?;
    }
    Ok(folder)
}

/// Asks the reference, in one process, about every subject and all snapshots that we saved of it.
fn ask(folder: &Path, questions: String, answers: usize) -> Vec<Value> {
    let mut node = Command::new(folder.join("node_modules/.bin/node"))
        .arg("reference.mjs")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts");
    let mut stdin = node.stdin.take().expect("it is piped");
    let writer = std::thread::spawn(move || stdin.write_all(questions.as_bytes()));
    let stdout = BufReader::new(node.stdout.take().expect("it is piped"));
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| read(line.expect("text").as_bytes(), &ReadOptions::data()).expect("JSON"))
        .collect();
    writer.join().expect("no panic").expect("the reference reads");
    assert!(node.wait().expect("node ends").success(), "the reference failed");
    assert_eq!(lines.len(), answers);
    lines
}

#[test]
fn each_implementation_resumes_what_the_other_saved() {
    let subjects = subjects();
    if subjects.is_empty() {
        return eprintln!("skipped each_implementation_resumes_what_the_other_saved: there is no corpus");
    }
    let folder = match reference() {
        Ok(folder) => folder,
        Err(reason) if std::env::var_os("CI").is_some() => {
            panic!("in CI there must be a reference: {reason}")
        }
        Err(reason) => {
            return eprintln!("skipped each_implementation_resumes_what_the_other_saved: {reason}");
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let ours: Vec<Told> = subjects.iter().map(|subject| runtime.block_on(make(subject, None))).collect();
    let (mut questions, mut engines) = (String::new(), Vec::new());
    for (subject, run) in subjects.iter().zip(&ours) {
        let stored = runtime.block_on(stored(subject));
        let all = [run.saves.clone(), stored.clone()].concat();
        engines.push(stored);
        let question = value!({
            "document": (&subject.document), "input": (&subject.input), "runId": RUN,
            "steps": (Value::from(subject.steps.clone())), "ours": (saves_value(&all))
        });
        questions.push_str(&question.to_string());
        questions.push('\n');
    }
    let answers = ask(&folder, questions, subjects.len());
    let mut points = 0;
    for (((subject, run), stored), answer) in subjects.iter().zip(&ours).zip(&engines).zip(&answers) {
        let theirs = told(answer.get("run").expect("a run"));
        assert_eq!(*run, theirs, "undisturbed: {}", subject.name);
        let resumed = answer.get("resumed").and_then(Value::as_array).expect("resumed runs");
        assert_eq!(resumed.len(), theirs.saves.len() + stored.len());
        for (save, there) in theirs.saves.iter().chain(stored).zip(resumed.iter()) {
            // What they saved goes on here as what we saved goes on there.
            let here = runtime.block_on(make(subject, Some(save)));
            assert_eq!(here, told(there), "from {} of {}", save.1, subject.name);
            points += 1;
        }
    }
    let own: usize = engines.iter().map(Vec::len).sum();
    println!("{} runs, {points} save points, {own} of them from our own store", subjects.len());
    assert!(
        subjects.len() >= 40 && points >= 800 && own >= 300,
        "{} runs, {points} save points",
        subjects.len()
    );
}
