//! A private folder in which the built program is driven.
#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use jaren::json::{ReadOptions, Value, read};

/// How long anything is waited for before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder of its own, removed at the end.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

/// What a call of the program came to.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The program with these words, split at spaces, in this folder.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jaren"));
        command.args(words.split_whitespace()).current_dir(self.folder.path());
        command.stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    /// Calls the program and waits for its end.
    pub(crate) fn jaren(&self, words: &str) -> Said {
        said(self.command(words).output().unwrap())
    }

    /// Calls the program with a text on standard input.
    pub(crate) fn jaren_with(&self, words: &str, input: &str) -> Said {
        let mut child = self
            .command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may end without having read it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        said(child.wait_with_output().unwrap())
    }

    /// Starts the program and goes on.
    pub(crate) fn spawn(&self, words: &str) -> Child {
        self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits until a file holds this text.
    pub(crate) fn until_file(&self, name: &str, text: &str) {
        until(&format!("{name} holds {text:?}"), || self.read(name).contains(text));
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process can still do something.
pub(crate) fn is_running(id: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(id.trim()).join("stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Waits until a child has written a text to standard error; what comes after it can still be read.
pub(crate) fn until_it_says(child: &mut Child, text: &str) -> impl Read + use<> {
    let mut stderr = child.stderr.take().unwrap();
    let mut said = Vec::new();
    let mut byte = [0];
    while !said.ends_with(text.as_bytes()) {
        assert_eq!(
            stderr.read(&mut byte).unwrap(),
            1,
            "it never said {text:?}: {}",
            String::from_utf8_lossy(&said)
        );
        said.extend(byte);
    }
    stderr
}

/// The end of a child, with what it printed.
pub(crate) fn ended(child: Child) -> Said {
    said(child.wait_with_output().unwrap())
}

fn said(output: Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Said {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Asserts that standard error has this text.
    #[track_caller]
    pub(crate) fn complains(self, text: &str) -> Self {
        assert!(self.err.contains(text), "no {text:?} in {self:#?}");
        self
    }

    /// Asserts that standard output has this text.
    #[track_caller]
    pub(crate) fn prints(self, text: &str) -> Self {
        assert!(self.out.contains(text), "no {text:?} in {self:#?}");
        self
    }

    /// The JSON lines of standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| read(line.as_bytes(), &ReadOptions::data()).unwrap()).collect()
    }
}

/// A workflow whose only work is the task `work`, then the end.
pub(crate) const ONE_STEP: &str = r#"{
  "$workflow": "0.2", "revision": "t/1", "initial": "work",
  "states": {
    "work": { "work": { "task": "work", "version": "1" }, "then": "end" },
    "end": { "final": true }
  }
}"#;

/// Works, waits for `approve`, works again.
pub(crate) const REVIEW: &str = r#"{
  "$workflow": "0.2", "revision": "t/1", "initial": "prepare",
  "states": {
    "prepare": { "work": { "task": "work", "version": "1" }, "then": "review" },
    "review": { "on": [{ "event": "approve", "guard": "$.payload.accept", "to": "publish" }] },
    "publish": { "work": { "task": "work", "version": "1" }, "then": "end" },
    "end": { "final": true }
  }
}"#;

/// A tasks file that binds `work` to a shell line.
pub(crate) fn shell(line: &str) -> String {
    format!(
        "[tasks.work]\nversion = \"1\"\nexec = [\"sh\", \"-c\", '''{line}''']\ngrace = \"200ms\"\ntimeout = \"20s\"\n"
    )
}
