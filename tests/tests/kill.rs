//! The program is killed with −9 at every step boundary and at seeded random instants, and resumed: a task whose
//! completion was stored never runs again, and the result equals an undisturbed run's.
//!
//! The controls resume without the check of what is stored: once from a store without its last acknowledged commit, once
//! from the beginning. The judge must then find a task that ran again.
#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jaren::json::Value;
use jaren_tests::history::{finish, next_step, undisturbed};
use jaren_tests::judge::{Mark, judge};
use jaren_tests::program;
use jaren_tests::random::{Seeded, seed};
use jaren_tests::storm::{CALLS, Folder};

/// How many random instants; `JAREN_STORM` asks for more in a soak.
const INSTANTS: u64 = 200;

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let mut command = program::command(folder.path(), arguments.iter().copied());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// The processes below this one, deepest last, as `/proc` tells.
fn descendants(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    children.iter().flat_map(|child| std::iter::once(*child).chain(descendants(*child))).collect()
}

fn kill(child: &mut Child, with_children: bool) {
    let below = if with_children { descendants(child.id()) } else { Vec::new() };
    let _ = child.kill();
    for pid in below {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
    }
    child.wait().expect("a killed child ends");
}

/// One history: kills at the instants that the seed says, then an undisturbed end.
fn history(seed: u64, length: Duration, expected: &Value) -> Vec<String> {
    let mut random = Seeded::new(seed);
    let folder = Folder::fresh();
    let mut marks = Vec::new();
    let kills = 1 + random.below(3);
    for _ in 0..kills {
        let view = folder.view();
        let Some(step) = next_step(view.as_ref()) else { break };
        let mut child = start(&folder, &step);
        let instant = Duration::from_micros(random.below(u64::try_from(length.as_micros()).expect("short")));
        let until = Instant::now() + instant;
        while Instant::now() < until && child.try_wait().expect("a child can be waited for").is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        kill(&mut child, random.below(4) > 0);
        marks.push(Mark::of(&folder));
    }
    let result = finish(&folder);
    judge(&folder, &marks, &result, expected)
}

#[test]
fn killed_at_random_instants_and_resumed() {
    let (expected, length) = undisturbed();
    let first = seed(20_261_130);
    let instants = std::env::var("JAREN_STORM").ok().and_then(|text| text.parse().ok()).unwrap_or(INSTANTS);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= instants {
                        break;
                    }
                    let findings = history(first + n, length, &expected);
                    assert!(
                        findings.is_empty(),
                        "replay with JAREN_SEED={} JAREN_STORM=1: {findings:#?}",
                        first + n
                    );
                }
            });
        }
    });
    println!("killed in {instants} histories from seed {first}; an undisturbed run takes {length:?}");
}

/// Kills the program when the tasks' file has `lines` lines.
fn killed_at_line(lines: usize, with_children: bool, folder: &Folder) -> bool {
    for _ in 0..20 {
        let view = folder.view();
        let Some(step) = next_step(view.as_ref()) else { return false };
        let mut child = start(folder, &step);
        loop {
            if folder.calls().len() >= lines {
                kill(&mut child, with_children);
                return true;
            }
            if child.try_wait().expect("a child can be waited for").is_some() {
                break;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    false
}

#[test]
fn killed_at_every_step_boundary_and_resumed() {
    let (expected, _) = undisturbed();
    for lines in 1..=2 * CALLS {
        for with_children in [true, false] {
            let folder = Folder::fresh();
            assert!(killed_at_line(lines, with_children, &folder), "line {lines} was never written");
            let marks = [Mark::of(&folder)];
            let result = finish(&folder);
            let findings = judge(&folder, &marks, &result, &expected);
            assert!(
                findings.is_empty(),
                "killed at line {lines}, children too: {with_children}: {findings:#?}"
            );
        }
    }
}

/// Takes the run's last commit out of its store, unless it is the one that began the run.
fn forget_last_commit(folder: &Folder) {
    let store = rusqlite::Connection::open(folder.store()).expect("the store opens");
    store
        .execute("DELETE FROM log WHERE seq > 1 AND seq = (SELECT max(seq) FROM log)", ())
        .expect("the log can be cut");
}

/// A resume that does not look at what is stored starts from the beginning.
fn forget_everything(folder: &Folder) {
    for file in ["jaren.db", "jaren.db-wal", "jaren.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(file));
    }
}

/// How many of the histories killed at a line the judge condemns when the store is tampered with before the resume.
fn condemned(expected: &Value, tamper: fn(&Folder)) -> usize {
    let histories = (2..=2 * CALLS).map(|lines| {
        let folder = Folder::fresh();
        assert!(killed_at_line(lines, true, &folder), "line {lines} was never written");
        let marks = [Mark::of(&folder)];
        tamper(&folder);
        let result = finish(&folder);
        judge(&folder, &marks, &result, expected)
    });
    histories.filter(|findings| !findings.is_empty()).count()
}

#[test]
fn control_without_the_resume_check() {
    let (expected, _) = undisturbed();
    let condemned = condemned(&expected, forget_everything);
    assert!(condemned >= CALLS, "the judge lets a resume from the beginning pass: {condemned} condemned");
}

#[test]
fn control_without_the_last_commit() {
    let (expected, _) = undisturbed();
    let condemned = condemned(&expected, forget_last_commit);
    assert!(condemned >= CALLS / 2, "the judge lets a lost commit pass: {condemned} condemned");
}
