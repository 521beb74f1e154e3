//! The record of a supervised task, and the rules by which it moves: pure, and whole records only.

use std::collections::BTreeMap;
use std::fmt;

use jaren_host::Timestamp;
use jaren_json::Value;
use serde::{Deserialize, Serialize};

/// A durable state machine that some program drives (durable A22). Every write replaces the whole record.
///
/// Its `Debug` leaves out the values that it holds.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Its id.
    pub id: u64,
    /// The conversation that it belongs to, for good.
    pub conversation_id: u64,
    /// Its kind.
    pub kind: String,
    /// The version of its code.
    pub version: u32,
    /// What it was started with.
    pub input: Value,
    /// The task that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<u64>,
    /// Whether its owner may end before it.
    #[serde(default)]
    pub background: bool,
    /// The mark that it is to be aborted, once set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort: Option<Abort>,
    /// Whether it is marked to be aborted when the program that drove it ended.
    #[serde(default)]
    pub abandon_on_restart: bool,
    /// When it first ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// When it became terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// How often it was cut off since it last made progress.
    #[serde(default)]
    pub restarts: u32,
    /// What the task noted by name while it lives (durable A26).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memos: BTreeMap<String, Value>,
    /// Where it is.
    pub state: TaskState,
}

/// Why a task is to be aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Abort {
    /// Somebody asked for it.
    Requested,
    /// It was cut off, and is not to be run again (durable E12).
    Restart,
}

/// Where a task is (durable A23). Its `Debug` tells the statuses, without values.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase")]
#[non_exhaustive]
pub enum TaskState {
    /// It waits to be run.
    Pending {
        /// Where it goes on.
        checkpoint: Value,
    },
    /// Somebody runs it.
    Running {
        /// Where it goes on if it is cut off.
        checkpoint: Value,
    },
    /// It waits for other tasks.
    Waiting {
        /// Where it goes on.
        checkpoint: Value,
        /// The tasks.
        on: Vec<u64>,
    },
    /// It waits for a time.
    Sleeping {
        /// Where it goes on.
        checkpoint: Value,
        /// The time, in Unix milliseconds.
        until: i64,
    },
    /// Its outcome is settled, and what it owns still ends.
    Completing {
        /// The outcome, which is final.
        outcome: TaskOutcome,
    },
    /// It ended. The record stays as its receipt.
    Terminal {
        /// The outcome.
        outcome: TaskOutcome,
    },
}

/// How a task ended (durable A24). Its `Debug` tells the status, without values.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase")]
#[non_exhaustive]
pub enum TaskOutcome {
    /// With a result.
    Completed {
        /// The result.
        result: Value,
    },
    /// With an error of its own.
    Failed {
        /// The error.
        error: Value,
    },
    /// By request.
    Aborted {
        /// What it says about it.
        reason: Option<String>,
    },
    /// By request, with nobody to run its code (durable E14).
    Orphaned {
        /// Why nobody could.
        reason: String,
    },
    /// By an error of the program around it.
    Faulted {
        /// The error.
        error: Value,
    },
}

/// A change that a task's rules do not allow; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// A terminal record cannot be replaced.
    #[error("task {0} is already terminal")]
    Terminal(u64),
    /// A transition that does not exist (durable E2).
    #[error("task {id} cannot become {to} while it is {from}")]
    Transition {
        /// The task.
        id: u64,
        /// Its status.
        from: &'static str,
        /// The wanted status.
        to: &'static str,
    },
    /// An outcome that is settled takes no notes.
    #[error("task {0} is completing, and takes no further memo")]
    Settled(u64),
    /// A waiting task cannot wait for itself.
    #[error("task {0} waits for itself")]
    Cycle(u64),
}

impl TaskError {
    /// The task.
    pub fn task(&self) -> u64 {
        match self {
            Self::Terminal(id) | Self::Settled(id) | Self::Cycle(id) | Self::Transition { id, .. } => *id,
        }
    }

    /// What went wrong.
    pub fn message(&self) -> String {
        self.to_string()
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("id", &self.id)
            .field("conversation_id", &self.conversation_id)
            .field("kind", &self.kind)
            .field("version", &self.version)
            .field("owner", &self.owner)
            .field("abort", &self.abort)
            .field("restarts", &self.restarts)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completing { outcome } => f.debug_tuple("Completing").field(outcome).finish(),
            Self::Terminal { outcome } => f.debug_tuple("Terminal").field(outcome).finish(),
            _ => f.write_str(self.status()),
        }
    }
}

impl fmt::Debug for TaskOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed { .. } => "Completed",
            Self::Failed { .. } => "Failed",
            Self::Aborted { .. } => "Aborted",
            Self::Orphaned { .. } => "Orphaned",
            Self::Faulted { .. } => "Faulted",
        })
    }
}

impl TaskState {
    /// The name of the status.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Running { .. } => "running",
            Self::Waiting { .. } => "waiting",
            Self::Sleeping { .. } => "sleeping",
            Self::Completing { .. } => "completing",
            Self::Terminal { .. } => "terminal",
        }
    }
}

impl Task {
    /// Restarts without progress from which on a task is parked (durable E11).
    pub const RESTARTS_MAX: u32 = 5;

    /// Whether it ended.
    pub fn is_terminal(&self) -> bool {
        matches!(self.state, TaskState::Terminal { .. })
    }

    /// Whether it was cut off too often to be run again; [`retry`](Self::retry) and an abort lead out of it.
    pub fn is_parked(&self) -> bool {
        self.restarts >= Self::RESTARTS_MAX && self.abort.is_none() && !self.is_terminal()
    }

    /// The record after a step of the task itself (durable E2, A28): stamps its times, and counts progress.
    pub fn advance(mut self, next: TaskState, now: Timestamp) -> Result<Self, TaskError> {
        use TaskState::{Completing, Pending, Running, Sleeping, Terminal, Waiting};
        self.check_open()?;
        if matches!(&next, Waiting { on, .. } if on.contains(&self.id)) {
            return Err(TaskError::Cycle(self.id));
        }
        let allowed = match (&self.state, &next) {
            (Pending { .. }, Running { .. }) => !self.is_parked(),
            (Sleeping { until, .. }, Running { .. }) => now.as_millis() >= *until || self.abort.is_some(),
            (Running { .. }, next) => !matches!(next, Pending { .. }),
            (Waiting { .. }, Running { .. }) | (Completing { .. }, Terminal { .. }) => true,
            _ => false,
        };
        // A settled outcome is final.
        let kept = match (&self.state, &next) {
            (Completing { outcome: settled }, Terminal { outcome }) => settled == outcome,
            _ => true,
        };
        if !allowed || !kept {
            let (from, to) = (self.state.status(), next.status());
            return Err(TaskError::Transition { id: self.id, from, to });
        }
        match &next {
            Running { checkpoint } => {
                if self.started_at.is_none() {
                    self.started_at = Some(now.as_millis());
                }
                let went_on = matches!(&self.state, Running { checkpoint: before } if before != checkpoint);
                if went_on {
                    self.restarts = 0;
                }
            }
            Terminal { .. } => self.ended_at = Some(now.as_millis()),
            _ => {}
        }
        if matches!(next, Completing { .. } | Terminal { .. }) {
            self.memos.clear();
        }
        if !matches!(next, Running { .. }) {
            self.restarts = 0;
        }
        self.state = next;
        Ok(self)
    }

    /// The record after the program that ran it was cut off (durable E10): pending again, counted, and marked if it
    /// is not to be run again. One that did not run stays as it is.
    #[must_use]
    pub fn recover(mut self) -> Self {
        if let TaskState::Running { checkpoint } = self.state {
            self.state = TaskState::Pending { checkpoint };
            self.restarts = self.restarts.saturating_add(1);
            if self.abandon_on_restart {
                self.abort.get_or_insert(Abort::Restart);
            }
        }
        self
    }

    /// The record after a clean stop of the program that ran it, which is not counted.
    #[must_use]
    pub fn hand_back(mut self) -> Self {
        if let TaskState::Running { checkpoint } = self.state {
            self.state = TaskState::Pending { checkpoint };
        }
        self
    }

    /// The record with a note under that name, unless it has one: the first one counts, survives restarts, and goes
    /// when the task's outcome is settled (durable A26, E8). What counts is in [`Task::memos`] afterwards.
    pub fn memo(mut self, name: &str, candidate: Value) -> Result<Self, TaskError> {
        self.check_open()?;
        if matches!(self.state, TaskState::Completing { .. }) {
            return Err(TaskError::Settled(self.id));
        }
        self.memos.entry(name.to_owned()).or_insert(candidate);
        Ok(self)
    }

    /// The record with its restarts forgotten, so that a parked task runs again (durable E11).
    #[must_use]
    pub fn retry(mut self) -> Self {
        self.restarts = 0;
        self
    }

    /// The record with the mark that it is to be aborted. The first mark counts, and it clears the restarts.
    pub fn request_abort(mut self) -> Result<Self, TaskError> {
        self.check_open()?;
        if self.abort.is_none() {
            (self.abort, self.restarts) = (Some(Abort::Requested), 0);
        }
        Ok(self)
    }

    /// The end of a marked task that nobody can run (durable E14).
    pub fn orphan(mut self, reason: &str, now: Timestamp) -> Result<Self, TaskError> {
        self.check_open()?;
        if self.abort.is_none()
            || matches!(self.state, TaskState::Running { .. } | TaskState::Completing { .. })
        {
            let from = self.state.status();
            return Err(TaskError::Transition { id: self.id, from, to: "orphaned" });
        }
        self.state = TaskState::Terminal { outcome: TaskOutcome::Orphaned { reason: reason.to_owned() } };
        (self.ended_at, self.restarts) = (Some(now.as_millis()), 0);
        self.memos.clear();
        Ok(self)
    }

    fn check_open(&self) -> Result<(), TaskError> {
        if self.is_terminal() { Err(TaskError::Terminal(self.id)) } else { Ok(()) }
    }
}
