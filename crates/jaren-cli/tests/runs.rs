//! The way of a run through the program: start, wait, send, resume, list, show; one execution at a time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::Stdio;

use common::{ONE_STEP, REVIEW, Sandbox, ended, shell, until, until_it_says};
use jaren::json::{Value, value};

/// Two branches at once, a choice, a wait with a time limit, a nested flow.
const EVERYTHING: &str = r#"{
  "$workflow": "0.2", "revision": "all/1", "initial": "fan",
  "states": {
    "fan": {
      "work": { "dag": {
        "$dag": "0.1",
        "nodes": {
          "in": { "kind": "input" },
          "left": { "kind": "task", "run": "work", "version": "1", "checkpoint": true, "with": "left" },
          "right": { "kind": "task", "run": "work", "version": "1", "checkpoint": true, "with": "right" },
          "out": { "kind": "output" }
        },
        "edges": [
          { "from": "in", "to": "left" }, { "from": "in", "to": "right" },
          { "from": "left", "to": "out", "port": "left" }, { "from": "right", "to": "out", "port": "right" }
        ]
      } },
      "then": "judge"
    },
    "judge": { "choose": [{ "guard": { "$eq": ["$.context.data.left", "$.context.data.right"] }, "to": "pause" }], "otherwise": "end" },
    "pause": { "on": [], "after": { "ms": 50, "to": "round" } },
    "round": {
      "flow": { "initial": "again", "states": {
        "again": { "work": { "task": "work", "version": "1" }, "then": "ended" },
        "ended": { "final": true }
      } },
      "then": "end"
    },
    "end": { "final": true }
  }
}"#;

#[test]
fn a_run_waits_takes_an_event_and_is_done() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", REVIEW).write("tasks.toml", shell("echo x >> log; echo '{\"n\": 1}'"));
    let said = sandbox.jaren("run flow.json --tasks tasks.toml --id order-7").code(10);
    assert_eq!(
        said.out,
        "run order-7\nwaiting in review for approve\ngo on with: jaren send order-7 approve\n"
    );
    assert!(said.err.contains("prepare: started") && said.err.contains("prepare: done in"), "{said:#?}");

    sandbox
        .jaren("show order-7")
        .code(0)
        .prints("status    waiting")
        .prints("waits for approve")
        .prints("visits    prepare 1, review 1");
    sandbox.jaren("runs").code(0).prints("order-7").prints("waiting");
    assert_eq!(sandbox.jaren("runs --status done").code(0).out, "no runs\n");

    let said = sandbox.jaren("send order-7 approve --payload {\"accept\":false} --id e1").code(10);
    assert!(
        said.out.ends_with("the wait ignored event e1: it takes no approve with this payload\n"),
        "{said:#?}"
    );

    let said = sandbox.jaren("send order-7 approve --payload {\"accept\":true}").code(0);
    assert!(said.out.ends_with("done in end\n{\n  \"n\": 1\n}\n"), "{said:#?}");
    assert_eq!(sandbox.read("log"), "x\nx\n");
    sandbox.jaren("runs --status done").code(0).prints("order-7");
}

#[test]
fn programs_read_json_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", REVIEW).write("tasks.toml", shell("echo 3"));
    let said = sandbox.jaren("run flow.json --tasks tasks.toml --id r --json").code(10);
    assert_eq!(said.err, "");
    let waiting = value!({"type": "status", "run": "r", "status": "waiting", "state": "/states/review", "events": ["approve"], "until": null});
    assert_eq!(said.json(), [value!({"type": "run", "run": "r", "store": "jaren.db"}), waiting]);

    let said = sandbox.jaren("send r approve --payload {\"accept\":true} --id e --json").code(0);
    let sent = value!({"type": "sent", "run": "r", "event": "approve", "id": "e", "outcome": "stored"});
    let done = value!({"type": "status", "run": "r", "status": "done", "state": "/states/end", "result": 3});
    assert_eq!(said.json(), [sent, done]);

    let shown = sandbox.jaren("show r --json").code(0).json().remove(0);
    assert_eq!(shown.get("results"), Some(&value!({"/states/prepare": 3, "/states/publish": 3})));
    assert_eq!(shown.get("visits").and_then(|visits| visits.get("/states/end")), Some(&value!(1)));
    assert_eq!(
        shown.get("tasks").and_then(|tasks| tasks.get("path")).and_then(Value::as_str),
        sandbox.path("tasks.toml").to_str()
    );
    assert_eq!(sandbox.jaren("runs --json").code(0).json().len(), 1);
}

#[test]
fn parallel_chosen_timed_and_nested_states_run_to_the_end() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", EVERYTHING).write("tasks.toml", shell("echo x >> log; echo 1"));
    sandbox.jaren("run flow.json --tasks tasks.toml --id r").code(0).prints("done");
    assert_eq!(sandbox.read("log"), "x\nx\nx\n");

    // Without waiting, the time is left to a later call.
    let said = sandbox
        .jaren("run flow.json --tasks tasks.toml --id s --no-wait")
        .code(10)
        .prints("UTC")
        .prints("jaren resume s");
    assert!(!said.out.contains("send"));
    sandbox.jaren("resume s").code(0);
}

#[test]
fn an_id_is_made_up_where_none_is_given() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell("echo 1"));
    for _ in 0..2 {
        let json = sandbox.jaren("run flow.json --tasks tasks.toml --json").code(0).json();
        assert!(
            json[0].get("run").and_then(Value::as_str).is_some_and(|id| id.starts_with("run_")),
            "{json:?}"
        );
    }
    assert_eq!(sandbox.jaren("runs --json").json().len(), 2);
}

#[test]
fn the_input_comes_from_a_file_or_from_standard_input() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell("cat"));
    let said = sandbox
        .jaren_with("run flow.json --tasks tasks.toml --input - --json", "{\"a\": 1, \"a\": 2}")
        .code(0);
    let result = said.json()[1].get("result").and_then(|result| result.get("input")).cloned();
    assert_eq!(result, Some(value!({"a": 2})), "in data the last of equal names counts");
    sandbox.jaren_with("run - --tasks tasks.toml", ONE_STEP).code(0);
}

#[test]
fn a_run_is_executed_by_one_process_at_a_time() {
    let sandbox = Sandbox::new();
    let line = "echo x >> log; while ! test -e go; do sleep 0.02; done; echo 1";
    sandbox.write("flow.json", REVIEW).write("tasks.toml", shell(line));
    let first = sandbox.spawn("run flow.json --tasks tasks.toml --id r");
    let id = first.id();
    sandbox.until_file("log", "x");

    let busy = format!("executed by process {id}");
    sandbox.jaren("run flow.json --tasks tasks.toml --id r").code(5).complains(&busy);
    sandbox.jaren("resume r").code(5).complains(&busy);
    assert_eq!(sandbox.jaren("resume r --json").code(5).json()[0].get("exit"), Some(&value!("busy")));
    // Reading and sending go on; the event is taken by the process that executes the run.
    sandbox.jaren("show r").code(0).prints("running");
    sandbox
        .jaren("send r approve --payload {\"accept\":true} --id e")
        .code(0)
        .prints("event e stored")
        .prints(&busy);
    sandbox.jaren("show r").code(0).prints("pending   event approve (e)");
    // Another run of the same store is not in the way.
    sandbox.write("other.toml", shell("echo 2"));
    sandbox.jaren("run flow.json --tasks other.toml --id other").code(10);

    sandbox.write("go", "");
    ended(first).code(0).prints("done");
    assert_eq!(sandbox.read("log"), "x\nx\n");
}

#[test]
fn a_process_that_stays_for_a_time_takes_an_event_from_another_one() {
    let sandbox = Sandbox::new();
    let timed = REVIEW.replace(
        "\"to\": \"publish\" }] }",
        "\"to\": \"publish\" }], \"after\": { \"ms\": 600000, \"to\": \"end\" } }",
    );
    // Longer than `send` waits for the lock, so that it finds the run being executed.
    sandbox.write("flow.json", timed).write("tasks.toml", shell("sleep 0.7; echo 1"));
    let staying = sandbox.spawn("run flow.json --tasks tasks.toml --id r");
    until("it waits", || {
        sandbox.path("jaren.db").exists() && sandbox.jaren("show r").out.contains("status    waiting")
    });
    sandbox.jaren("send r approve --payload {\"accept\":true}").code(0).prints("being executed by process");
    ended(staying).code(0).prints("done").complains("review: waiting for approve, or");
}

/// Sends a signal to a process.
fn signal(id: u32, name: &str) {
    assert!(std::process::Command::new("kill").args([name, &id.to_string()]).status().unwrap().success());
}

#[test]
fn ctrl_c_lets_the_running_command_finish_and_says_how_to_go_on() {
    for name in ["-INT", "-TERM"] {
        let sandbox = Sandbox::new();
        let line = "echo x >> log; while ! test -e go; do sleep 0.02; done; echo 1";
        sandbox.write("flow.json", ONE_STEP.replace("\"end\": {", "\"more\": { \"work\": { \"task\": \"work\", \"version\": \"1\" }, \"then\": \"end\" }, \"end\": {").replace("\"then\": \"end\" },\n", "\"then\": \"more\" },\n"));
        sandbox.write("tasks.toml", shell(line));
        let mut program = sandbox.spawn("run flow.json --tasks tasks.toml --id r");
        sandbox.until_file("log", "x");
        signal(program.id(), name);
        let _stderr = until_it_says(&mut program, "stopping once work has ended");
        sandbox.write("go", "");
        ended(program).code(130).prints("stopped in more; go on with: jaren resume r");
        assert_eq!(sandbox.read("log"), "x\n", "the finished step is stored, the next one not begun");
        sandbox.jaren("resume r").code(0).prints("done");
        assert_eq!(sandbox.read("log"), "x\nx\n", "the finished step was not repeated");
    }
}

#[test]
fn a_second_ctrl_c_stops_at_once() {
    let sandbox = Sandbox::new();
    sandbox
        .write("flow.json", ONE_STEP)
        .write("tasks.toml", shell("echo $$ > leader; trap \"\" TERM; while :; do sleep 0.1; done"));
    let mut program = sandbox.spawn("run flow.json --tasks tasks.toml --id r");
    sandbox.until_file("leader", "\n");
    signal(program.id(), "-INT");
    let _stderr = until_it_says(&mut program, "stopping once work has ended");
    signal(program.id(), "-INT");
    ended(program).code(130).prints("jaren resume r");
    until("the command is gone", || !common::is_running(&sandbox.read("leader")));
    sandbox.write("tasks.toml", shell("echo 1"));
    sandbox.jaren("resume r").code(0);
}

#[test]
fn ctrl_c_ends_a_wait_for_a_time() {
    let sandbox = Sandbox::new();
    sandbox
        .write("flow.json", EVERYTHING.replace("\"ms\": 50", "\"ms\": 600000"))
        .write("tasks.toml", shell("echo 1"));
    let program = sandbox.spawn("run flow.json --tasks tasks.toml --id r");
    until("it waits", || {
        sandbox.path("jaren.db").exists() && sandbox.jaren("show r").out.contains("status    waiting")
    });
    signal(program.id(), "-INT");
    ended(program).code(130);
    sandbox.jaren("show r").code(0).prints("status    waiting").prints("in 10 min");
}

#[test]
fn a_closed_pipe_stops_the_printing_and_not_the_run() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell("echo 1"));
    let mut program = sandbox.command("run flow.json --tasks tasks.toml --id r");
    let mut program = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(program.stdout.take());
    let said = ended(program).code(0);
    assert!(!said.err.contains("panic"), "{said:#?}");
    sandbox.jaren("show r").code(0).prints("done");
    let mut help = sandbox.command("--help").stdout(Stdio::piped()).spawn().unwrap();
    drop(help.stdout.take());
    assert!(help.wait().unwrap().success());
}

#[test]
#[cfg(target_os = "linux")]
fn an_output_that_cannot_be_written_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell("echo 1"));
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let program = sandbox
        .command("run flow.json --tasks tasks.toml --id r")
        .stdout(full())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    ended(program).code(8).complains("standard output cannot be written");
    sandbox.jaren("show r").code(0).prints("done");
    let program = sandbox.command("chekc").stderr(full()).spawn().unwrap();
    ended(program).code(2);
}

#[test]
fn a_hostile_name_cannot_command_the_terminal() {
    let sandbox = Sandbox::new();
    let hostile = "\\u001b[2J";
    sandbox.write("flow.json", REVIEW.replace("approve", hostile).replace("t/1", hostile));
    sandbox.write("tasks.toml", shell("echo '\"\\u001b[2J\"'"));
    let mut command = sandbox.command("run flow.json --tasks tasks.toml --id");
    let said = ended(command.arg("r\u{202e}").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .code(10);
    let mut command = sandbox.command("show");
    let shown =
        ended(command.arg("r\u{202e}").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
            .code(0);
    let listed = sandbox.jaren("runs").code(0);
    for text in [said.out, said.err, shown.out, listed.out] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn verbose_writes_to_standard_error() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP).write("tasks.toml", shell("echo 1"));
    let plain = sandbox.jaren("run flow.json --tasks tasks.toml --id r --json").code(0);
    assert_eq!(plain.err, "");
    let verbose = sandbox.jaren("resume r --json --verbose").code(0);
    assert_eq!(verbose.json().len(), 1);
}

#[test]
fn a_run_is_bound_to_another_document() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", REVIEW).write("tasks.toml", shell("echo 3"));
    sandbox.jaren("run flow.json --tasks tasks.toml --id r").code(10);
    sandbox.write("next.json", REVIEW.replace("\"approve\"", "\"accept\"").replace("t/1", "t/2"));
    sandbox.write("other.json", ONE_STEP);
    sandbox.jaren("rebind r next.json --actor ann").code(2);
    sandbox.jaren("rebind r other.json --actor ann --reason because").code(7).complains("JE0010");
    sandbox.jaren("rebind r nothing.json --actor ann --reason because").code(4);
    sandbox.jaren("rebind s next.json --actor ann --reason because").code(4);
    let said = sandbox.jaren("rebind r next.json --actor ann --reason because --json").code(0);
    assert!(said.out.contains("\"type\":\"rebound\"") && said.out.contains("\"actor\":\"ann\""), "{said:#?}");
    sandbox.jaren("show r").code(0).prints("by ann").prints(": because").prints("waits for accept");
    sandbox.jaren("send r accept --payload {\"accept\":true}").code(0).prints("done");
    sandbox.jaren("rebind r flow.json --actor ann --reason because").code(7).complains("done");
}
