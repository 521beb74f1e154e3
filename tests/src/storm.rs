//! The storm's run: a document with sequential, parallel, waiting, timed, looping and nested states whose tasks append to
//! a file, in a folder of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jaren::durable::Storage;
use jaren::engine::RunView;
use jaren::sqlite::SqliteStorage;

use crate::judge::Call;

/// The id of the storm's run.
pub const RUN: &str = "storm";

/// The document. `hold` waits for an event, `pause` for time, `fan` has four tasks in flight, `round` goes round twice.
pub const DOCUMENT: &str = r#"{
  "$workflow": "0.2",
  "revision": "storm/1",
  "initial": "prepare",
  "states": {
    "prepare": { "work": { "task": "step", "version": "1", "with": { "name": "prepare", "answer": 1 } }, "then": "fan" },
    "fan": { "work": { "dag": {
        "$dag": "0.1",
        "nodes": {
          "in": { "kind": "input" },
          "a": { "kind": "task", "run": "step", "version": "1", "checkpoint": true, "with": { "name": "a", "answer": 10 } },
          "b": { "kind": "task", "run": "step", "version": "1", "checkpoint": true, "with": { "name": "b", "answer": 20 } },
          "c": { "kind": "task", "run": "step", "version": "1", "checkpoint": true, "with": { "name": "c", "answer": 30 } },
          "d": { "kind": "task", "run": "step", "version": "1", "checkpoint": true, "with": { "name": "d", "answer": 40 } },
          "sum": { "kind": "query", "query": { "$add": [{ "$add": ["$.a", "$.b"] }, { "$add": ["$.c", "$.d"] }] } },
          "out": { "kind": "output" }
        },
        "edges": [
          { "from": "in", "to": "a" }, { "from": "in", "to": "b" }, { "from": "in", "to": "c" },
          { "from": "a", "to": "d" },
          { "from": "a", "to": "sum", "port": "a" }, { "from": "b", "to": "sum", "port": "b" },
          { "from": "c", "to": "sum", "port": "c" }, { "from": "d", "to": "sum", "port": "d" },
          { "from": "sum", "to": "out" }
        ] } },
      "then": "gate" },
    "gate": { "choose": [{ "guard": { "$ge": ["$.context.data", 100] }, "to": "hold" }], "otherwise": "lost" },
    "hold": { "on": [{ "event": "approve", "guard": "$.payload.accept", "to": "pause" }] },
    "pause": { "on": [{ "event": "never", "to": "lost" }], "after": { "ms": 20, "to": "round" } },
    "round": { "work": { "task": "step", "version": "1", "with": { "name": "round", "answer": 7 } },
      "then": "again", "limit": 2 },
    "again": { "choose": [{ "guard": { "$lt": ["$.context.visits['/states/round']", 2] }, "to": "round" }],
      "otherwise": "tail" },
    "tail": { "flow": { "initial": "first", "states": {
        "first": { "work": { "task": "step", "version": "1", "with": { "name": "first", "answer": 8 } }, "then": "end" },
        "end": { "final": true } } },
      "then": "done" },
    "done": { "final": true },
    "lost": { "final": true }
  }
}"#;

/// How many task calls an undisturbed run makes.
pub const CALLS: usize = 8;

/// A document that is done at once: whoever runs it has a store.
const TINY: &str = r#"{ "$workflow": "0.2", "revision": "tiny/1", "initial": "done", "states": { "done": { "final": true } } }"#;

const TASKS: &str = r#"
[tasks.step]
version = "1"
exec = ["sh", "step.sh"]
timeout = "20s"
"#;

/// Writes down the call, works for a moment, writes down its end, and answers the number that the document names.
const SCRIPT: &str = r#"call=$(cat)
printf 'start %s\n' "$call" >> calls.log
sleep 0.004
printf 'end %s\n' "$call" >> calls.log
printf '%s' "$call" | sed -n 's/.*"answer":\([0-9]*\).*/\1/p'
"#;

/// A private folder with the document, its tasks and its input in it.
#[derive(Debug)]
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// A fresh one.
    ///
    /// # Panics
    ///
    /// When the folder cannot be written.
    pub fn fresh() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in [
            ("storm.json", DOCUMENT),
            ("tiny.json", TINY),
            ("tasks.toml", TASKS),
            ("step.sh", SCRIPT),
            ("input.json", r#"{"order":7}"#),
        ] {
            std::fs::write(folder.path().join(name), text).expect("a file in a temporary folder");
        }
        Self(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The store's file.
    pub fn store(&self) -> PathBuf {
        self.path().join("jaren.db")
    }

    /// What the store says of the run, if it is there; nothing is written.
    ///
    /// # Panics
    ///
    /// When the store cannot be read.
    pub fn view(&self) -> Option<RunView> {
        if !self.store().exists() {
            return None;
        }
        // A program killed while it created the store leaves a file without a schema: there is no run in it.
        let storage: Arc<dyn Storage> = Arc::new(SqliteStorage::open_read_only(self.store()).ok()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(RunView::load(&*storage, RUN)).expect("a killed run can be read")
    }

    /// What the tasks wrote so far, whole lines only: a killed task may have written half of one.
    pub fn calls(&self) -> Vec<Call> {
        let text = std::fs::read_to_string(self.path().join("calls.log")).unwrap_or_default();
        text.split_inclusive('\n').filter(|line| line.ends_with('\n')).filter_map(Call::read).collect()
    }
}
