//! What a run tells whoever watches it: the format's trace records, and some of our own for progress.

use std::time::Duration;

use jaren_json::{Object, Str, Value, value};

use crate::failure::Failure;
use crate::numbers::count;

/// How a node of a dag ended (dag §7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// It has a value, which is saved if the node asks for it.
    Ok,
    /// It is the first one that failed.
    Error,
    /// It ended after another one had failed, or after the run was interrupted.
    Aborted,
    /// Its value was saved by an earlier drive and is used again.
    Restored,
}

impl NodeStatus {
    /// The format's word.
    pub fn as_str(self) -> &'static str {
        match self {
            NodeStatus::Ok => "ok",
            NodeStatus::Error => "error",
            NodeStatus::Aborted => "aborted",
            NodeStatus::Restored => "restored",
        }
    }
}

/// One thing that happened. Records of what is saved come when it is durable.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Record {
    /// A task is about to start. Not part of the format's trace.
    Started {
        /// The qualified state.
        state: Str,
        /// Its visit.
        visit: u64,
        /// The dag node.
        node: Str,
        /// The attempt, from 1.
        attempt: u32,
        /// The time limit of each attempt, if the task was registered with one.
        limit: Option<Duration>,
    },
    /// An attempt at a task failed, and another one follows after a pause. Not part of the format's trace.
    Retry {
        /// The qualified state.
        state: Str,
        /// Its visit.
        visit: u64,
        /// The dag node.
        node: Str,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// What the task said.
        failure: Failure,
        /// How long until the next one, by the engine's clock.
        pause: Duration,
    },
    /// A task tells how far it has come ([`TaskContext::progress`](crate::TaskContext::progress)), on a thread of its
    /// own, between its `Started` and its `Node`. Not part of the format's trace.
    Progress {
        /// The qualified state.
        state: Str,
        /// Its visit.
        visit: u64,
        /// The dag node.
        node: Str,
        /// The attempt, from 1.
        attempt: u32,
        /// What it says.
        value: Value,
    },
    /// A node settled.
    Node {
        /// The qualified state.
        state: Str,
        /// Its visit.
        visit: u64,
        /// The dag node.
        node: Str,
        /// How it ended.
        status: NodeStatus,
        /// How long a task took, in milliseconds; 0 for the rest.
        ms: f64,
    },
    /// Control moved, or was asked to and stayed.
    Transition {
        /// Indices of the lowered statechart's transitions, in order.
        transitions: Vec<usize>,
        /// Qualified states entered, in order.
        entered: Vec<Str>,
        /// Qualified states left, in order.
        exited: Vec<Str>,
        /// The active leaves.
        active: Vec<Str>,
        /// The generation that holds it.
        generation: u64,
    },
    /// The run rests in a wait.
    Waiting {
        /// The active leaves.
        active: Vec<Str>,
        /// The generation that holds it.
        generation: u64,
    },
    /// The run is done.
    Done {
        /// The active leaves.
        active: Vec<Str>,
        /// The generation that holds it.
        generation: u64,
    },
    /// A commit is durable. Not part of the format's trace.
    Committed {
        /// The generation up to which everything is durable.
        generation: u64,
        /// How many save points travelled together.
        saves: u64,
    },
}

impl Record {
    /// The record of the format's trace (workflow §4), without the run's id and revisions; our own records likewise.
    pub fn to_value(&self) -> Value {
        match self {
            Record::Started { state, visit, node, attempt, limit } => value!({
                "type": "started", "state": state, "activation": count(*visit),
                "id": node, "attempt": *attempt, "limit": limit.map(|limit| limit.as_secs_f64() * 1e3),
            }),
            Record::Retry { state, visit, node, attempt, failure, pause } => value!({
                "type": "retry", "state": state, "activation": count(*visit), "id": node, "attempt": *attempt,
                "code": failure.code.as_deref(), "message": &*failure.message,
                "pause": pause.as_secs_f64() * 1e3,
            }),
            Record::Progress { state, visit, node, attempt, value } => value!({
                "type": "progress", "state": state, "activation": count(*visit),
                "id": node, "attempt": *attempt, "value": value,
            }),
            Record::Node { state, visit, node, status, ms } => value!({
                "type": "node", "state": state, "activation": count(*visit),
                "id": node, "status": status.as_str(), "ms": *ms,
            }),
            Record::Transition { transitions, entered, exited, active, generation } => value!({
                "type": "transition",
                "transitions": transitions.iter().map(|index| count(*index as u64)).collect::<Value>(),
                "entered": strings(entered), "exited": strings(exited),
                "active": strings(active), "generation": count(*generation),
            }),
            Record::Waiting { active, generation } => settled("waiting", active, *generation),
            Record::Done { active, generation } => settled("done", active, *generation),
            Record::Committed { generation, saves } => value!({
                "type": "committed", "generation": count(*generation), "saves": count(*saves),
            }),
        }
    }
}

fn settled(kind: &str, active: &[Str], generation: u64) -> Value {
    let members: [(&str, Value); 3] =
        [("type", Value::from(kind)), ("active", strings(active)), ("generation", count(generation))];
    Value::Object(members.into_iter().collect::<Object>())
}

fn strings(items: &[Str]) -> Value {
    items.iter().map(|item| Value::String(item.clone())).collect()
}
