//! What runs cost that are not driven: their memory, their wake-ups, and how long one takes to go on.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jaren::prelude::*;
use jaren::sqlite::Durability;
use tokio::sync::Semaphore;

use crate::Failed;

/// Runs in flight while the others are made.
const AT_ONCE: usize = 64;

/// Resumes that are timed, whatever the number of steps behind them.
const RESUMES: usize = 20;

/// How long an idle process is watched.
const IDLE: Duration = Duration::from_secs(2);

fn tasks() -> Tasks {
    let mut tasks = Tasks::new();
    tasks.add_value("count", "1", async |_: TaskContext, _: Value, input: Value| {
        Ok::<_, Failure>(Value::from(input.as_f64().unwrap_or_default() + 1.0))
    });
    tasks
}

/// So many steps, then a wait.
fn loops(steps: usize) -> Value {
    let steps = i32::try_from(steps).unwrap_or(i32::MAX);
    value!({
        "$workflow": "0.2", "revision": "bench/1", "initial": "work",
        "states": {
            "work": { "work": { "task": "count", "version": "1" }, "then": "more", "limit": (f64::from(steps) + 1.0) },
            "more": { "choose": [{ "guard": { "$lt": ["$.context.data", steps] }, "to": "work" }], "otherwise": "wait" },
            "wait": { "on": [{ "event": "again", "to": "wait" }, { "event": "end", "to": "end" }] },
            "end": { "final": true }
        }
    })
}

async fn park(engine: &Engine, document: &Value, id: String) -> Result<(), Failed> {
    let mut run = engine.start(Start::new(document.clone(), Value::from(0)).with_id(id)).await?;
    match run.drive().await? {
        Status::Waiting { .. } => Ok(()),
        other => Err(format!("a run that was to wait ended as {other:?}").into()),
    }
}

/// How long a run of so many steps takes to go on in a process that has not seen it.
pub(crate) async fn resume(folder: &Path, steps: usize) -> Result<(), Failed> {
    /// So many steps are made at most, over all runs.
    const STEPS_MAX: usize = 500_000;
    let runs = (STEPS_MAX / steps).clamp(5, RESUMES);
    let file = folder.join("resume.db");
    // Not synced at each commit, or the making of the long run would take minutes; reading it is the same.
    let storage =
        || SqliteStorage::open_with(&file, SqliteOptions::new().with_durability(Durability::ProcessCrash));
    let document = loops(steps);
    let made = Arc::new(storage()?);
    let engine = Engine::new(made.clone(), tasks());
    for run in 0..runs {
        park(&engine, &document, format!("run-{run}")).await?;
    }
    made.close().await;
    let mut times = Vec::new();
    for resume in 0..RESUMES {
        let opened = Arc::new(storage()?);
        let engine = Engine::new(opened.clone(), tasks());
        let id = format!("run-{}", resume % runs);
        let start = Instant::now();
        let _sent = engine.send(&id, Event::new("again", Value::Null)).await?;
        let status = engine.open(&id).await?.drive().await?;
        times.push(start.elapsed());
        if !matches!(status, Status::Waiting { .. }) {
            return Err(format!("a run that was to wait again is {status:?}").into());
        }
        opened.close().await; // its last syncs are not the next one's time
    }
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    println!(
        "{{\"peer\":\"jaren-resume\",\"steps\":{steps},\"resume_us\":{:.0}}}",
        middle.as_secs_f64() * 1e6
    );
    Ok(())
}

/// The memory of runs in flight, of parked ones, and the wake-ups of a process that has nothing to do.
pub(crate) async fn parked(folder: &Path, runs: usize) -> Result<(), Failed> {
    let storage = SqliteStorage::open(folder.join("parked.db"))?;
    let engine = Engine::new(Arc::new(storage), tasks());
    let document = loops(1);
    // The caches of the store and of the allocator have a size of their own, whatever the number of runs.
    many(&engine, &document, "warm", (runs / 5).max(AT_ONCE)).await?;
    let before = resident()?;
    many(&engine, &document, "run", runs).await?;
    let after = resident()?;
    println!(
        "{{\"peer\":\"jaren-parked\",\"runs\":{runs},\"at_once\":{AT_ONCE},\"resident_kib\":{before},\
         \"grown_kib\":{}}}",
        after.saturating_sub(before)
    );
    // What the last commits left to do is done.
    tokio::time::sleep(IDLE).await;
    let woken = switches()?;
    std::thread::sleep(IDLE);
    let woken = switches()?.saturating_sub(woken);
    // This thread's own sleep is one.
    println!("{{\"peer\":\"jaren-idle\",\"parked\":{runs},\"wake_ups\":{}}}", woken.saturating_sub(1));
    Ok(())
}

async fn many(engine: &Engine, document: &Value, name: &str, runs: usize) -> Result<(), Failed> {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut parking = tokio::task::JoinSet::new();
    for run in 0..runs {
        let place = Arc::clone(&places).acquire_owned().await?;
        let (engine, document, id) = (engine.clone(), document.clone(), format!("{name}-{run}"));
        parking.spawn(async move {
            let _place = place;
            park(&engine, &document, id).await
        });
        while let Some(ended) = parking.try_join_next() {
            ended??;
        }
    }
    while let Some(ended) = parking.join_next().await {
        ended??;
    }
    Ok(())
}

/// The memory of this process, in KiB.
fn resident() -> Result<usize, Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let found = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
    Ok(found.ok_or("no VmRSS in /proc/self/status")?.parse()?)
}

/// How often the threads of this process gave their processor up by themselves: each was woken for it.
fn switches() -> Result<usize, Failed> {
    let mut count = 0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let Ok(status) = std::fs::read_to_string(thread?.path().join("status")) else { continue };
        let found = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count += found.map_or(Ok(0), |found| found.trim().parse::<usize>())?;
    }
    Ok(count)
}
