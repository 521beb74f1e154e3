//! What a kill cannot see: the system calls of a run, traced. A sync lies before each acknowledgement, a sequential step
//! costs one commit, and a program that dies at any write or sync of its store goes on as if nothing had happened.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests fail by panicking, and say what they left out"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use jaren_tests::history::{finish, undisturbed};
use jaren_tests::judge::{Mark, judge};
use jaren_tests::program;
use jaren_tests::storm::{Folder, RUN};

/// Whether `strace` is here; CI must have it, a user's machine need not.
fn strace_is_here() -> bool {
    let here =
        Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    assert!(here || std::env::var_os("CI").is_none(), "CI needs strace");
    if !here {
        println!("skipped: strace is not installed");
    }
    here
}

/// Runs the program under strace with these options.
fn traced(folder: &Path, options: &[&str], arguments: &[&str]) -> Output {
    let mut command = Command::new("strace");
    command.current_dir(folder).args(["-f", "-y", "-qq", "-s", "80"]).args(options);
    command.arg(program::path()).args(arguments).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("strace starts");
    program::wait(child)
}

/// A workflow of `steps` sequential work states.
fn sequential(steps: usize) -> String {
    let mut states = String::new();
    for step in 0..steps {
        let next = if step + 1 == steps { "done".to_owned() } else { format!("s{}", step + 1) };
        write!(
            states,
            r#""s{step}": {{"work": {{"task": "step", "version": "1", "with": {{"name": "s{step}", "answer": 1}}}}, "then": "{next}"}},"#
        )
        .expect("a string takes writes");
    }
    format!(
        r#"{{"$workflow": "0.2", "revision": "steps/1", "initial": "s0", "states": {{{states} "done": {{"final": true}}}}}}"#
    )
}

/// Runs `steps` sequential steps under a trace; gives the trace and the number of commits in the store.
fn run_steps(steps: usize) -> (String, i64) {
    let folder = Folder::fresh();
    std::fs::write(folder.path().join("steps.json"), sequential(steps))
        .expect("a file in a temporary folder");
    let options = ["-o", "trace", "-e", "trace=execve,write,writev,pwrite64,pwritev,fsync,fdatasync"];
    let output =
        traced(folder.path(), &options, &["run", "steps.json", "--tasks", "tasks.toml", "--id", "steps"]);
    assert!(output.status.success(), "{output:?}");
    let trace = std::fs::read_to_string(folder.path().join("trace")).expect("strace wrote its trace");
    let store = rusqlite::Connection::open(folder.store()).expect("the store opens");
    let commits = store.query_row("SELECT count(*) FROM log WHERE document = 0", (), |row| row.get(0));
    (trace, commits.expect("the commits can be counted"))
}

/// What a trace says about the write-ahead log, in order.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Seen {
    Written,
    Synced,
    /// The acknowledgement that the outside can see: the next task is started, or the program ends.
    Acknowledged,
}

fn read_trace(trace: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut syncing = Vec::new(); // threads whose sync of the log is unfinished
    for line in trace.lines() {
        let thread = line.split_whitespace().next().unwrap_or_default();
        let log = line.contains("jaren.db-wal>");
        if line.contains("sync(") && log {
            if line.ends_with("= 0") { seen.push(Seen::Synced) } else { syncing.push(thread) }
        } else if line.contains("sync resumed>") && line.ends_with("= 0") && syncing.contains(&thread) {
            syncing.retain(|other| *other != thread);
            seen.push(Seen::Synced);
        } else if line.contains("write") && log {
            seen.push(Seen::Written);
        } else if line.contains("execve(") && line.contains(r#""__exec""#) {
            seen.push(Seen::Acknowledged);
        }
    }
    seen.push(Seen::Acknowledged);
    seen
}

/// For each acknowledgement, whether the log was written since the one before, and then synced.
fn acknowledgements(seen: &[Seen]) -> Vec<bool> {
    let mut answers = Vec::new();
    let (mut written, mut synced) = (false, false);
    for step in seen {
        match step {
            Seen::Written => (written, synced) = (true, false),
            Seen::Synced => synced = written,
            Seen::Acknowledged => {
                answers.push(written && synced);
                (written, synced) = (false, false);
            }
        }
    }
    answers
}

#[test]
fn a_sync_lies_before_each_acknowledged_commit() {
    if !strace_is_here() {
        return;
    }
    let (trace, _) = run_steps(8);
    let answers = acknowledgements(&read_trace(&trace));
    assert_eq!(answers, vec![true; 9], "8 tasks started and the end, each after a written and synced commit");
    // The control: the same trace without its syncs must be condemned.
    let unsynced: Vec<_> = read_trace(&trace).into_iter().filter(|seen| *seen != Seen::Synced).collect();
    assert_eq!(acknowledgements(&unsynced), vec![false; 9]);
}

#[test]
fn a_sequential_step_costs_one_commit() {
    if !strace_is_here() {
        return;
    }
    let ((_, few), (_, many)) = (run_steps(4), run_steps(24));
    assert_eq!(many - few, 20, "20 more steps cost 20 more commits");
    assert!(few <= 4 + 2, "{few} commits for 4 steps");
}

/// The program dies at entering the n-th call of these on its store.
fn dies_at(calls: &str, n: usize, fresh_store: bool) -> Option<Vec<String>> {
    let folder = Folder::fresh();
    if !fresh_store {
        let output = program::run(folder.path(), ["run", "tiny.json", "--id", "tiny"]);
        assert!(output.status.success(), "{output:?}");
    }
    let inject = format!("inject={calls}:signal=KILL:when={n}");
    let arguments = ["run", "storm.json", "--tasks", "tasks.toml", "--input", "input.json", "--id", RUN];
    let output =
        traced(folder.path(), &["-o", "trace", "-e", &format!("trace={calls}"), "-e", &inject], &arguments);
    if output.status.code().is_some_and(|code| code == 10) {
        return None; // there were fewer calls than that
    }
    let marks = [Mark::of(&folder)];
    let result = finish(&folder);
    Some(judge(&folder, &marks, &result, &undisturbed().0))
}

#[test]
fn dies_at_every_sync_and_at_writes_of_its_store() {
    if !strace_is_here() {
        return;
    }
    for (calls, step, fresh_store) in [
        ("fsync,fdatasync", 1, false),
        ("pwrite64", 7, false),
        ("fsync,fdatasync", 1, true),
        ("pwrite64", 5, true),
    ] {
        let mut died = 0;
        for n in (1..400).step_by(step) {
            let Some(findings) = dies_at(calls, n, fresh_store) else { break };
            assert!(
                findings.is_empty(),
                "killed at {calls} number {n}, fresh store: {fresh_store}: {findings:#?}"
            );
            died += 1;
        }
        println!("died at {died} of {calls}, fresh store: {fresh_store}");
        assert!(died >= 4, "only {died} kills at {calls}: the trace does not see the store");
    }
}
