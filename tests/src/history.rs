//! A history of the storm: the commands that a user gives, one after the other, until the run is done.

use std::time::{Duration, Instant};

use jaren::engine::{RunStatus, RunView};
use jaren::json::Value;

use crate::judge::judge;
use crate::program;
use crate::storm::{Folder, RUN};

/// The next command that a user would give, from what the store says; none when the run is done.
pub fn next_step(view: Option<&RunView>) -> Option<Vec<&'static str>> {
    match view.map(|view| view.status) {
        None => {
            Some(vec!["run", "storm.json", "--tasks", "tasks.toml", "--input", "input.json", "--id", RUN])
        }
        Some(RunStatus::Done) => None,
        Some(RunStatus::Waiting) if view.is_some_and(|view| view.state == "/states/hold") => {
            Some(vec!["send", RUN, "approve", "--payload", r#"{"accept":true}"#, "--id", "approve-1"])
        }
        Some(_) => Some(vec!["resume", RUN]),
    }
}

/// Drives the run to its end without disturbing it; gives its result.
///
/// # Panics
///
/// When the program dies or the run does not end.
pub fn finish(folder: &Folder) -> Value {
    for _ in 0..20 {
        let view = folder.view();
        let Some(step) = next_step(view.as_ref()) else {
            return view.and_then(|view| view.result).unwrap_or_default();
        };
        let output = program::run(folder.path(), step.iter().copied());
        assert!(output.status.code().is_some(), "the program died: {output:?}");
    }
    panic!("the run does not end: {:?}", folder.view());
}

/// The undisturbed run's result and how long its three commands took together.
///
/// # Panics
///
/// When even that run is not right.
pub fn undisturbed() -> (Value, Duration) {
    let folder = Folder::fresh();
    let before = Instant::now();
    let result = finish(&folder);
    assert!(judge(&folder, &[], &result, &result).is_empty(), "the undisturbed run is right");
    (result, before.elapsed())
}
