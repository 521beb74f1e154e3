//! What a user can get wrong, and what can go wrong under the program: a clear error each, and nothing stored is lost.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{ONE_STEP, REVIEW, Said, Sandbox, ended, shell};
use jaren::json::{Value, value};

const TASK: &str = "echo x >> log; echo '{\"n\": 1}'";

/// A sandbox whose run `r` waits for `approve`.
fn waiting() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", REVIEW).write("tasks.toml", shell(TASK)).write("input.json", "{\"a\": 1}");
    start(&sandbox).code(10).prints("waiting in review for approve");
    sandbox
}

fn start(sandbox: &Sandbox) -> Said {
    sandbox.jaren("run flow.json --tasks tasks.toml --input input.json --id r")
}

/// The run as `show` tells it, without the times.
fn shown(sandbox: &Sandbox) -> Value {
    let object = sandbox.jaren("show r --json").code(0).json().remove(0);
    let object = object.as_object().unwrap().without("updated");
    Value::Object(object)
}

#[track_caller]
fn changes_nothing(sandbox: &Sandbox, act: impl FnOnce()) {
    let before = shown(sandbox);
    act();
    assert_eq!(shown(sandbox), before);
}

#[test]
fn a_document_or_an_input_that_changed_is_refused_by_name() {
    let sandbox = waiting();
    changes_nothing(&sandbox, || {
        sandbox.write("input.json", "{\"a\": 2}");
        start(&sandbox).code(7).complains("began with another input");
        sandbox.write("input.json", "{ \"a\": 1.0 }").write("flow.json", REVIEW.replace("t/1", "t/2"));
        start(&sandbox).code(7).complains("began with another document");
        sandbox.write("input.json", "3");
        start(&sandbox).code(7).complains("another document and another input");
    });
    sandbox.write("flow.json", REVIEW).write("input.json", "{ \"a\": 1.0 }");
    start(&sandbox).code(10);
    assert_eq!(sandbox.read("log"), "x\n", "the finished step was not repeated");
}

#[test]
fn a_task_without_a_binding_or_with_another_version_is_refused_when_it_resumes() {
    let sandbox = waiting();
    changes_nothing(&sandbox, || {
        sandbox.write("tasks.toml", shell(TASK).replace("version = \"1\"", "version = \"2\""));
        sandbox.jaren("resume r").code(3).complains("JF0019");
        sandbox.write("tasks.toml", "");
        sandbox.jaren("resume r").code(3).complains("JF0018");
        std::fs::remove_file(sandbox.path("tasks.toml")).unwrap();
        sandbox.jaren("resume r").code(4).complains("does not exist").complains("--tasks");
    });
    sandbox.write("elsewhere.toml", shell(TASK));
    sandbox.jaren("resume r --tasks elsewhere.toml").code(10);
}

#[test]
fn a_document_that_does_not_compile_creates_no_store() {
    let sandbox = Sandbox::new();
    sandbox
        .write("flow.json", ONE_STEP.replace("\"then\": \"end\"", "\"then\": \"nowhere\""))
        .write("tasks.toml", shell("true"));
    sandbox.jaren("run flow.json --tasks tasks.toml").code(3).complains("JF0021").complains("flow.json:4:");
    sandbox.write("flow.json", ONE_STEP);
    sandbox.jaren("run flow.json").code(3).complains("JF0018");
    sandbox.write("input.json", "{\"a\":");
    sandbox.jaren("run flow.json --tasks tasks.toml --input input.json").code(3).complains("input.json:1:6");
    sandbox
        .jaren("run flow.json --tasks tasks.toml --input gone.json")
        .code(4)
        .complains("input gone.json does not exist");
    sandbox.jaren("run - --input -").code(2).complains("cannot both");
    assert!(!sandbox.path("jaren.db").exists());
}

#[test]
fn an_unknown_run_or_store_is_named() {
    let sandbox = Sandbox::new();
    for command in ["show r", "resume r", "send r go", "runs"] {
        sandbox.jaren(command).code(4).complains("jaren.db");
        assert!(!sandbox.path("jaren.db").exists(), "{command} creates no store");
    }
    let sandbox = waiting();
    for command in ["show other", "resume other", "send other go"] {
        sandbox.jaren(command).code(4).complains("there is no run \"other\"");
    }
    let json = sandbox.jaren("show other --json").code(4).json();
    assert_eq!(json[0].get("exit"), Some(&value!("not-found")));
}

#[test]
fn an_event_is_taken_once_and_a_finished_run_takes_none() {
    let sandbox = waiting();
    let approve = "send r approve --payload {\"accept\":true} --id e1 --no-run";
    sandbox.jaren(approve).code(0).prints("event e1 stored");
    changes_nothing(&sandbox, || {
        sandbox.jaren(approve).code(0).prints("was stored before");
    });
    sandbox.jaren("resume r").code(0).prints("done");
    changes_nothing(&sandbox, || {
        sandbox.jaren("send r approve --payload {\"accept\":true} --id e2").code(7).complains("is done");
        sandbox.jaren(approve).code(0).prints("was stored before");
        sandbox.jaren("resume r").code(0).prints("done");
        start(&sandbox).code(0).prints("done");
    });
    assert_eq!(sandbox.read("log"), "x\nx\n");
}

#[test]
fn an_event_that_the_wait_refuses_leaves_it_waiting() {
    let sandbox = waiting();
    sandbox.jaren("send r unknown").code(10).prints("waiting in review for approve");
    sandbox
        .jaren("send r approve --payload {\"accept\":false}")
        .code(10)
        .prints("waiting in review for approve");
    sandbox.jaren("send r approve --payload {\"accept\":").code(3).complains("--payload:1:11");
    sandbox.jaren("send r approve --payload {\"accept\":true}").code(0).prints("done");
}

#[test]
fn a_store_that_is_not_ours_is_left_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox
        .write("flow.json", ONE_STEP)
        .write("tasks.toml", shell("echo 1"))
        .write("letter.txt", "dear reader, ".repeat(100));
    for command in ["run flow.json --tasks tasks.toml", "show r", "runs", "resume r", "send r go"] {
        sandbox.jaren(&format!("{command} --store letter.txt")).code(6).complains("store letter.txt");
        sandbox.jaren(&format!("{command} --store .")).code(6).complains("store .");
    }
    assert_eq!(sandbox.read("letter.txt"), "dear reader, ".repeat(100));
    sandbox
        .jaren("run flow.json --tasks tasks.toml --store no/such/folder/jaren.db")
        .code(4)
        .complains("create it");
}

#[test]
fn a_newer_store_is_left_as_it_was() {
    let sandbox = waiting();
    // `PRAGMA user_version` is the store's version: four bytes at offset 60 of the file's header.
    let mut bytes = std::fs::read(sandbox.path("jaren.db")).unwrap();
    bytes[60..64].copy_from_slice(&0x7fff_0000_u32.to_be_bytes());
    sandbox.write("jaren.db", &bytes);
    for command in ["resume r", "show r", "runs"] {
        sandbox.jaren(command).code(6).complains("newer");
    }
    assert_eq!(std::fs::read(sandbox.path("jaren.db")).unwrap(), bytes);
}

#[test]
fn a_full_disk_stops_the_run_and_loses_nothing() {
    let sandbox = Sandbox::new();
    let large = "head -c 400000 /dev/zero | tr \"\\0\" x | sed \"s/.*/\\\"&\\\"/\"; echo x >> log";
    sandbox.write("flow.json", REVIEW).write("tasks.toml", shell(large));
    // A file that may not grow: the limit is in blocks of 512 bytes, and the signal that comes with it is ignored, so
    // that the writer gets an error as on a full disk.
    let program = env!("CARGO_BIN_EXE_jaren");
    let script =
        format!("trap '' XFSZ; ulimit -f 600; exec {program} run flow.json --tasks tasks.toml --id r");
    let mut limited = std::process::Command::new("sh");
    limited
        .arg("-c")
        .arg(script)
        .current_dir(sandbox.path(""))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let said = ended(limited.spawn().unwrap()).code(6);
    said.complains("store jaren.db").complains("what was stored before is safe");

    // Still readable, and it goes on where it was when there is room again.
    assert_eq!(shown(&sandbox).get("status"), Some(&value!("running")));
    sandbox.jaren("resume r").code(10).prints("waiting in review for approve");
    sandbox.jaren("send r approve --payload {\"accept\":true}").code(0);
}

#[test]
fn a_failed_task_keeps_the_run_and_its_reason() {
    let sandbox = Sandbox::new();
    sandbox
        .write("flow.json", REVIEW)
        .write("tasks.toml", shell("echo x >> log; test -e paper || { echo no paper >&2; exit 1; }; echo 1"));
    let said = sandbox.jaren("run flow.json --tasks tasks.toml --id r").code(1);
    said.complains("failed in prepare").complains("no paper").complains("jaren resume r");
    sandbox.jaren("show r").code(0).prints("failed").prints("no paper").prints("command-status");
    sandbox.jaren("runs --status failed").code(0).prints("r ");
    sandbox.write("paper", "");
    sandbox.jaren("resume r").code(10);
    assert_eq!(shown(&sandbox).get("failure"), Some(&Value::Null));
    assert_eq!(sandbox.read("log"), "x\nx\n");
}
