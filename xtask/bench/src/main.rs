//! Durable steps a second: N workflows of K sequential steps that do nothing, C at a time, each step durable before the
//! next begins. The same work, printed with the same keys, as the peers beside the repository (`peers/README.md`).
//!
//! `jaren-bench N K C`, in the folder `BENCH_DIR` or a temporary one. What the engine costs besides:
//!
//! - `jaren-bench steps N`: N workflows in memory, nanoseconds a step;
//! - `jaren-bench dag W`: a dataflow 1 → W → 1;
//! - `jaren-bench resume K`: how long a run with K steps behind it takes to go on;
//! - `jaren-bench parked N`: the memory of N parked runs, and what an idle process does.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints what it measured")]

mod dag;
mod document;
mod figures;
mod parked;
mod steps;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jaren::json::Str;
use jaren::prelude::*;

use figures::Figures;

/// Runs before the clock starts, so that files, caches and pages exist.
const WARM_UP: usize = 5;

/// As many threads as the peers use.
const THREADS: usize = 2;

/// N, K and C.
#[derive(Clone, Copy)]
struct Load {
    workflows: usize,
    steps: usize,
    at_once: usize,
}

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(what) = What::of(&words) else {
        eprintln!("usage: jaren-bench N K C: N workflows of K steps, C at a time");
        eprintln!("       jaren-bench steps N | dag W | resume K | parked N");
        return ExitCode::from(2);
    };
    match bench(what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is measured.
#[derive(Clone, Copy)]
enum What {
    Durable(Load),
    Steps(usize),
    Dag(u32),
    Resume(usize),
    Parked(usize),
}

impl What {
    fn of(words: &[String]) -> Option<Self> {
        let number = |word: &String| word.parse().ok().filter(|number: &usize| *number > 0);
        match words {
            [what, size] => {
                let size = number(size)?;
                match what.as_str() {
                    "steps" => Some(Self::Steps(size)),
                    "dag" => Some(Self::Dag(u32::try_from(size).ok()?)),
                    "resume" => Some(Self::Resume(size)),
                    "parked" => Some(Self::Parked(size)),
                    _ => None,
                }
            }
            [workflows, steps, at_once] => Some(Self::Durable(Load {
                workflows: number(workflows)?,
                steps: number(steps)?,
                at_once: number(at_once)?,
            })),
            _ => None,
        }
    }
}

fn bench(what: What) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    let temporary = tempfile::tempdir()?;
    let folder = std::env::var_os("BENCH_DIR").map_or_else(|| temporary.path().to_path_buf(), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    // On a worker, as a service's work is.
    let spawned = match what {
        What::Durable(load) => {
            println!("{}", durable(&runtime, &folder, load)?);
            return Ok(());
        }
        What::Steps(workflows) => runtime.spawn(steps::steps(workflows)),
        What::Dag(width) => runtime.spawn(dag::dag(width)),
        What::Resume(steps) => {
            let folder = temporary.path().to_path_buf();
            runtime.spawn(async move { parked::resume(&folder, steps).await })
        }
        What::Parked(runs) => {
            let folder = temporary.path().to_path_buf();
            runtime.spawn(async move { parked::parked(&folder, runs).await })
        }
    };
    runtime.block_on(spawned)?
}

fn durable(runtime: &tokio::runtime::Runtime, folder: &Path, load: Load) -> Result<String, Failed> {
    let file = folder.join("jaren-bench.db");
    for ending in ["", "-wal", "-shm"] {
        let mut path = file.clone().into_os_string();
        path.push(ending);
        if PathBuf::from(&path).exists() {
            std::fs::remove_file(&path)?;
        }
    }
    let starts = Arc::new(Starts::default());
    let mut tasks = Tasks::new();
    let marks = Arc::clone(&starts);
    tasks.add_value("nothing", "1", move |context: TaskContext, _: Value, input: Value| {
        marks.mark(&context.run);
        async move { Ok(input) }
    });
    let storage = SqliteStorage::open(&file)?;
    let engine = Engine::new(Arc::new(storage), tasks);
    Ok(runtime.block_on(drive(engine, load, &starts))?.line("jaren-sqlite-full", load))
}

/// Runs the load and measures it.
async fn drive(engine: Engine, load: Load, starts: &Starts) -> Result<Figures, Failed> {
    let document = document::sequence(load.steps);
    for run in 0..WARM_UP {
        once(&engine, &document, format!("warm-{run}")).await?;
    }
    starts.take();
    let next = Arc::new(AtomicUsize::new(0));
    let (begin, cpu) = (Instant::now(), figures::cpu_time());
    let callers: Vec<_> = (0..load.at_once)
        .map(|_| {
            let (engine, document, next) = (engine.clone(), document.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                let mut times = Vec::new();
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= load.workflows {
                        return Ok::<_, Failed>(times);
                    }
                    let start = Instant::now();
                    once(&engine, &document, format!("run-{run}")).await?;
                    times.push(start.elapsed());
                }
            })
        })
        .collect();
    let mut workflows = Vec::new();
    for caller in callers {
        workflows.extend(caller.await??);
    }
    let (wall, cpu) = (begin.elapsed(), figures::cpu_time().saturating_sub(cpu));
    Ok(Figures::new(wall, cpu, starts.take(), workflows))
}

async fn once(engine: &Engine, document: &Value, id: String) -> Result<(), Failed> {
    let mut run = engine.start(Start::new(document.clone(), Value::Null).with_id(id)).await?;
    match run.drive().await? {
        Status::Done { .. } => Ok(()),
        other => Err(format!("a run of nothing but steps ended as {other:?}").into()),
    }
}

/// When the steps of each run began, as their task saw it.
#[derive(Default)]
struct Starts(Mutex<std::collections::HashMap<Str, Vec<Instant>>>);

impl Starts {
    fn mark(&self, run: &Str) {
        let mut starts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        starts.entry(run.clone()).or_default().push(Instant::now());
    }

    /// The times from one step's beginning to the next one's, of all runs; the marks are gone then.
    fn take(&self) -> Vec<Duration> {
        let starts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let steps = |starts: &Vec<Instant>| {
            let pairs = starts.iter().zip(starts.iter().skip(1));
            pairs.map(|(one, next)| next.duration_since(*one)).collect::<Vec<_>>()
        };
        starts.values().flat_map(steps).collect()
    }
}
