//! Commands behind tasks: what they are given, how each failure is told, and that none outlives the program.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::os::unix::process::CommandExt as _;

use common::{ONE_STEP, Said, Sandbox, ended, is_running, shell, until};
use jaren::json::{Value, value};

/// Runs the one-step workflow with this shell line as its task.
fn run(sandbox: &Sandbox, line: &str) -> Said {
    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell(line));
    sandbox.jaren("run flow.json --tasks tasks.toml --id r --json")
}

fn result(said: &Said) -> Value {
    said.json()
        .last()
        .and_then(|line| line.get("result"))
        .cloned()
        .unwrap_or_else(|| panic!("no result in {said:#?}"))
}

/// The failure that `show` tells, and the exit code of the run.
#[track_caller]
fn failure(sandbox: &Sandbox, line: &str) -> Value {
    let said = run(sandbox, line).code(1);
    let shown = sandbox.jaren("show r --json").code(0).json().remove(0);
    assert_eq!(shown.get("status"), Some(&value!("failed")));
    let failure = shown.get("failure").and_then(|failure| failure.get("task")).cloned();
    let failure = failure.unwrap_or_else(|| panic!("no failure in {shown}, {said:#?}"));
    std::fs::remove_file(sandbox.path("jaren.db")).unwrap();
    failure
}

fn text<'a>(failure: &'a Value, member: &str) -> &'a str {
    failure.get(member).and_then(Value::as_str).unwrap_or_else(|| panic!("no {member} in {failure}"))
}

#[test]
fn a_command_reads_the_whole_call_and_answers_one_value() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "flow.json",
        ONE_STEP
            .replace("\"version\": \"1\"", "\"version\": \"1\", \"with\": {\"a\": \"$.n\", \"b\": [true]}"),
    );
    sandbox.write("tasks.toml", shell("cat")).write("input.json", "{\"n\": 1.5}");
    let said = sandbox.jaren("run flow.json --tasks tasks.toml --id r --input input.json --json").code(0);
    let expected = value!({
        "task": "work", "with": {"a": 1.5, "b": [true]}, "input": {"n": 1.5},
        "run": "r", "state": "/states/work", "visit": 1, "attempt": 1, "key": "[\"r\",\"/states/work\",1]",
    });
    assert_eq!(result(&said), expected);
}

#[test]
fn a_large_call_and_a_large_answer_pass_through_the_pipes() {
    let sandbox = Sandbox::new();
    let input = format!("\"{}\"", "x".repeat(3 << 20));
    sandbox
        .write("flow.json", ONE_STEP)
        .write("tasks.toml", shell("cat; cat /dev/null >&2"))
        .write("input.json", &input);
    let said = sandbox.jaren("run flow.json --tasks tasks.toml --input input.json --json").code(0);
    assert_eq!(result(&said).get("input").and_then(Value::as_str).map(str::len), Some(3 << 20));
}

#[test]
fn a_command_need_not_read_its_input() {
    let sandbox = Sandbox::new();
    let input = format!("\"{}\"", "x".repeat(3 << 20));
    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell("echo 7")).write("input.json", &input);
    let said = sandbox.jaren("run flow.json --tasks tasks.toml --input input.json --json").code(0);
    assert_eq!(result(&said), value!(7));
}

#[test]
fn the_environment_is_cleared_but_for_the_allowed() {
    let sandbox = Sandbox::new();
    let line = "printf \"\\\"$JAREN_TEST_SEEN,$JAREN_TEST_HIDDEN,$LC_TEST,${HOME:+home}\\\"\"";
    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell(line) + "env = [\"JAREN_TEST_SEEN\"]\n");
    let mut command = sandbox.command("run flow.json --tasks tasks.toml --json");
    command
        .env("JAREN_TEST_SEEN", "seen")
        .env("JAREN_TEST_HIDDEN", "hidden")
        .env("LC_TEST", "lc")
        .env("HOME", "/");
    let said = ended(command.stdout(std::process::Stdio::piped()).spawn().unwrap()).code(0);
    assert_eq!(result(&said), value!("seen,,lc,home"));
}

#[test]
fn the_folder_is_the_tasks_files_own_or_the_named_one() {
    let sandbox = Sandbox::new();
    sandbox
        .write("flow.json", ONE_STEP)
        .write("sub/deep/here.txt", "1")
        .write("sub/tasks.toml", shell("cat deep/here.txt"));
    assert_eq!(result(&sandbox.jaren("run flow.json --tasks sub/tasks.toml --json").code(0)), value!(1));
    sandbox.write("sub/tasks.toml", shell("cat here.txt") + "dir = \"deep\"\n");
    assert_eq!(result(&sandbox.jaren("run flow.json --tasks sub/tasks.toml --json").code(0)), value!(1));
    sandbox.write("sub/tasks.toml", shell("true") + "dir = \"gone\"\n");
    sandbox.jaren("run flow.json --tasks sub/tasks.toml").code(1).complains("could not be started");
}

#[test]
fn a_status_that_is_not_zero_is_a_failure_with_its_standard_error() {
    let sandbox = Sandbox::new();
    let found = failure(&sandbox, "printf \"out of paper\\n\\033[31mred\" >&2; exit 3");
    assert_eq!(text(&found, "code"), "command-status");
    assert!(text(&found, "message").contains("exit status 3"));
    assert_eq!(text(&found, "stderr"), "out of paper\n\\u{1b}[31mred");

    let found = failure(&sandbox, "kill -USR1 $$");
    assert!(text(&found, "message").contains("signal 10"), "{found}");

    let found =
        failure(&sandbox, "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done >&2; exit 1");
    let stderr = text(&found, "stderr");
    assert!(stderr.contains("left out") && stderr.ends_with("line 2999") && stderr.len() < 9000);
}

#[test]
fn a_command_that_hangs_is_stopped_with_all_it_started() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP);
    let line = "trap \"\" TERM; sleep 60 & echo $! > pid; while :; do sleep 0.1; done";
    sandbox.write("tasks.toml", shell(line).replace("\"20s\"", "\"300ms\""));
    let said = sandbox.jaren("run flow.json --tasks tasks.toml --id r").code(1);
    said.complains("time limit of 300 ms").complains("jaren resume r");
    assert!(!is_running(&sandbox.read("pid")));
}

#[test]
fn a_command_may_say_goodbye_at_its_time_limit() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP);
    let line = "trap \"echo goodbye >&2; exit 0\" TERM; while :; do sleep 0.05; done";
    sandbox.write("tasks.toml", shell(line).replace("\"20s\"", "\"300ms\"").replace("200ms", "10s"));
    sandbox.jaren("run flow.json --tasks tasks.toml").code(1).complains("time limit").complains("goodbye");
}

#[test]
fn no_json_too_much_and_nothing_are_told_apart() {
    let sandbox = Sandbox::new();
    let found = failure(&sandbox, "echo hello");
    assert_eq!(text(&found, "code"), "command-no-json");
    assert!(text(&found, "message").contains("printed no JSON"), "{found}");
    let found = failure(&sandbox, "true");
    assert!(text(&found, "message").contains("printed nothing"), "{found}");

    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell("yes") + "output = \"64KiB\"\n");
    sandbox.jaren("run flow.json --tasks tasks.toml").code(1).complains("more than 65536 bytes");
    sandbox.write("tasks.toml", shell("printf 12345678") + "output = \"8B\"\n");
    sandbox.jaren("run flow.json --tasks tasks.toml").code(0).prints("12345678");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP);
    sandbox.write("tasks.toml", "[tasks.work]\nversion = \"1\"\nexec = [\"./no-such-program\"]\n");
    sandbox.jaren("run flow.json --tasks tasks.toml").code(1).complains("cannot start ./no-such-program");
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let sandbox = Sandbox::new();
    let said = run(&sandbox, "sleep 60 & echo $! > pid; echo 1").code(0);
    assert_eq!(result(&said), value!(1));
    assert!(!is_running(&sandbox.read("pid")));
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_does_not_inherit_that_we_ignore_a_closed_pipe() {
    let sandbox = Sandbox::new();
    let said = run(&sandbox, "echo \"\\\"$(grep SigIgn /proc/self/status | cut -f 2)\\\"\"").code(0);
    let ignored = u64::from_str_radix(result(&said).as_str().unwrap(), 16).unwrap();
    assert_eq!(ignored & (1 << 12), 0, "SIGPIPE is ignored: {ignored:x}");
}

/// A task that tells its own id and its child's, and would append to a file later.
const LONG: &str = "sleep 60 & echo $! > child; echo $$ > leader; wait; echo late > late";

#[test]
fn kill_9_takes_the_commands_and_their_children_along() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell(LONG));
    let mut program = sandbox.spawn("run flow.json --tasks tasks.toml --id r");
    sandbox.until_file("leader", "\n");
    let (leader, child) = (sandbox.read("leader"), sandbox.read("child"));
    assert!(is_running(&leader) && is_running(&child));
    program.kill().unwrap();
    program.wait().unwrap();
    until("the command and its child are gone", || !is_running(&leader) && !is_running(&child));

    // The lock is free again, and the task, whose answer was never stored, runs once more.
    sandbox.write("tasks.toml", shell("echo 5"));
    sandbox.jaren("resume r").code(0).prints("5").complains("has changed since the run began");
    assert_eq!(sandbox.read("late"), "");
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_dies_with_the_program_even_if_the_watcher_is_killed_first() {
    let sandbox = Sandbox::new();
    sandbox
        .write("flow.json", ONE_STEP)
        .write("tasks.toml", shell("echo $$ > leader; read -r _ < pipe; sleep 60"));
    let mut program = sandbox.spawn("run flow.json --tasks tasks.toml --id r");
    sandbox.until_file("leader", "\n");
    let watcher = watcher_of(program.id());
    std::process::Command::new("kill").args(["-9", &watcher]).status().unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    let leader = sandbox.read("leader");
    until("the command is gone", || !is_running(&leader));
}

/// The id of the watcher that a program has started.
#[cfg(target_os = "linux")]
fn watcher_of(program: u32) -> String {
    let children = format!("/proc/{program}/task/{program}/children");
    let is_watcher = |id: &&str| {
        std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default().contains("__watch")
    };
    let children = std::fs::read_to_string(children).unwrap();
    children.split_whitespace().find(is_watcher).expect("the program has a watcher").to_owned()
}

#[test]
fn the_guard_starts_nothing_for_a_parent_that_is_gone() {
    let sandbox = Sandbox::new();
    // Our own id is the parent's; 1 is not.
    let us = std::process::id().to_string();
    let started = sandbox.jaren_with(&format!("__exec {us} touch started"), "\n");
    assert_eq!(started.code, 0);
    assert!(sandbox.path("started").exists());
    sandbox.jaren_with("__exec 1 touch orphan", "\n").code(125);
    // The parent died before its word came.
    sandbox.jaren_with(&format!("__exec {us} touch unasked"), "").code(125);
    assert!(!sandbox.path("orphan").exists() && !sandbox.path("unasked").exists());
    sandbox.jaren("__exec").code(127);
}

#[test]
fn the_watcher_kills_only_the_groups_that_are_left() {
    let sandbox = Sandbox::new();
    let sleeper = || std::process::Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
    let (mut left, mut removed) = (sleeper(), sleeper());
    let lines = format!("+{}\n+{}\nnonsense\n+\n+0\n+-1\n-{}\n", left.id(), removed.id(), removed.id());
    sandbox.jaren_with("__watch", &lines).code(0);
    assert!(!left.wait().unwrap().success());
    assert!(removed.try_wait().unwrap().is_none());
    removed.kill().unwrap();
    removed.wait().unwrap();
}

/// The attempts that the command was told of, and the run's exit code.
#[test]
fn a_failed_command_is_executed_again_as_often_as_its_retry_says() {
    for (retry, code, attempts) in [
        ("{ attempts = 3, first = \"1ms\" }", 0, "1\n2\n3\n"),
        ("{ attempts = 2, first = \"1ms\" }", 1, "1\n2\n"),
        ("{ attempts = 9, first = \"1ms\", codes = [\"command-timeout\"] }", 1, "1\n"),
    ] {
        let sandbox = Sandbox::new();
        // It fails before its third attempt.
        let line = "attempt=$(sed 's/.*\"attempt\":\\([0-9]*\\).*/\\1/'); echo $attempt >> attempts; \
                    [ $attempt -ge 3 ] && echo $attempt";
        let tasks = format!("{}\nretry = {retry}\n", shell(line));
        sandbox.write("flow.json", ONE_STEP).write("tasks.toml", tasks);
        sandbox.jaren("run flow.json --tasks tasks.toml --id r --json").code(code);
        assert_eq!(std::fs::read_to_string(sandbox.path("attempts")).unwrap(), attempts, "{retry}");
    }
}
