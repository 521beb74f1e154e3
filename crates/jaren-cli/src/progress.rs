//! What a run is doing, on standard error: a moving line on a terminal, plain lines elsewhere.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use jaren::engine::{NodeStatus, Record};

use crate::output::tell;
use crate::text;

/// How often the moving line is drawn while nothing happens, so that its clock goes on.
const TICK: Duration = Duration::from_millis(120);

/// Shows a run's records as they come.
#[derive(Debug)]
pub(crate) struct Progress {
    way: Way,
    /// What is running: (state, node).
    running: Mutex<BTreeSet<(String, String)>>,
}

#[derive(Debug)]
enum Way {
    /// Somebody watches a terminal.
    Line(ProgressBar),
    /// Standard error goes elsewhere.
    Lines,
    /// Programs read standard output; standard error is for problems only.
    Silent,
}

impl Progress {
    /// Progress for people, or none where programs read.
    pub(crate) fn new(json: bool) -> Self {
        let way = if json {
            Way::Silent
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(TICK);
            Way::Line(bar)
        } else {
            Way::Lines
        };
        Self { way, running: Mutex::default() }
    }

    /// Shows one record.
    pub(crate) fn record(&self, record: &Record) {
        match record {
            Record::Started { state, node, attempt, .. } => {
                let name = call_name(state, node);
                self.change(|running| running.insert((state.to_string(), node.to_string())));
                if matches!(self.way, Way::Lines) {
                    let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                    self.say(&format!("  {name}: started{again}"));
                }
            }
            Record::Node { state, node, status, ms, .. } => {
                let was_running =
                    self.change(|running| running.remove(&(state.to_string(), node.to_string())));
                let how = match status {
                    NodeStatus::Restored => "kept from before".to_owned(),
                    NodeStatus::Ok if was_running => format!("done in {}", seconds(*ms)),
                    NodeStatus::Error => format!("failed after {}", seconds(*ms)),
                    NodeStatus::Aborted if was_running => format!("stopped after {}", seconds(*ms)),
                    // Nodes that are no tasks take no time worth a line.
                    NodeStatus::Ok | NodeStatus::Aborted => return,
                };
                self.say(&format!("  {}: {how}", call_name(state, node)));
            }
            _ => {}
        }
    }

    /// Writes one line that stays.
    pub(crate) fn say(&self, line: &str) {
        let line = text::line(line);
        match &self.way {
            Way::Line(bar) => bar.suspend(|| tell(&format!("{line}\n"))),
            Way::Lines => tell(&format!("{line}\n")),
            Way::Silent => {}
        }
    }

    /// Says what the run waits for while we stay.
    pub(crate) fn waits(&self, line: &str) {
        self.say(line);
        if let Way::Line(bar) = &self.way {
            bar.set_message("waiting");
        }
    }

    /// What is running now, for people.
    pub(crate) fn running(&self) -> String {
        names(&self.running.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the moving line away.
    pub(crate) fn finish(&self) {
        if let Way::Line(bar) = &self.way {
            bar.finish_and_clear();
        }
    }

    fn change(&self, how: impl FnOnce(&mut BTreeSet<(String, String)>) -> bool) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = how(&mut running);
        if let Way::Line(bar) = &self.way {
            bar.set_message(names(&running));
        }
        changed
    }
}

fn names(running: &BTreeSet<(String, String)>) -> String {
    let mut text = String::new();
    for (state, node) in running {
        let separator = if text.is_empty() { "" } else { ", " };
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{separator}{}", call_name(state, node));
    }
    text::line(&text).into_owned()
}

/// A state as its author named it: `/states/round/flow/states/prepare` is `round/prepare`.
pub(crate) fn state_name(qualified: &str) -> String {
    let path = qualified.strip_prefix("/states/").unwrap_or(qualified);
    path.replace("/flow/states/", "/")
}

/// A task's call: the state, and the node where a dag has several.
fn call_name(state: &str, node: &str) -> String {
    let state = state_name(state);
    if node == "task" { state } else { format!("{state} · {node}") }
}

fn seconds(ms: f64) -> String {
    format!("{:.2} s", ms / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_shown_as_their_author_named_them() {
        assert_eq!(state_name("/states/prepare"), "prepare");
        assert_eq!(state_name("/states/round/flow/states/prepare"), "round/prepare");
        assert_eq!(call_name("/states/measure", "EWR"), "measure · EWR");
        assert_eq!(call_name("/states/check", "task"), "check");
    }
}
