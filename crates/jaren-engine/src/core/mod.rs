//! The pure run core: `(run state, event, now) → (run state, save points, commands)`.
//!
//! Nothing here knows a clock, a runtime or a store. A [`RunState`] takes an [`Input`] and the time, changes itself and
//! answers a [`Step`]: in order, the save points of the format that it passed, the tasks to start, the records to
//! show, and where the run now stands. It does not wait for a save: whoever drives it must hold every command back
//! until the save point named in its `after` is durable, and throw the state away when a save fails. That is what
//! lets a driver decide which save points travel together without the core knowing.
//!
//! ```
//! use jaren_engine::core::{Input, Output, Phase, RunState};
//! use jaren_flow::{DeclaredTasks, workflow::Workflow};
//! use jaren_json::value;
//!
//! let document = value!({
//!     "$workflow": "0.2", "revision": "r/1", "initial": "work",
//!     "states": {
//!         "work": {"work": {"task": "double", "version": "1"}, "then": "end"},
//!         "end": {"final": true}
//!     }
//! });
//! let workflow = Workflow::compile(&document, &DeclaredTasks)?;
//! let mut run = RunState::start(workflow, "run-1", value!(21), Some(0.0))?;
//! let step = run.step(Input::Begin, Some(0.0));
//! let Some(Output::Start(call)) = step.outputs.last() else { panic!("the task is asked for") };
//! assert_eq!((call.task.as_str(), call.after), ("double", 3)); // once generation 3 is durable
//! let answer = Input::Settled { activation: call.activation, node: call.node, result: Ok(value!(42)), ms: 1.0 };
//! let step = run.step(answer, None);
//! assert!(matches!(step.phase, Phase::Done(result) if result == value!(42)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::wildcard_enum_match_arm)] // a case that comes is looked at in each place

mod activation;
mod context;
pub(crate) mod dataflow;
mod error;
mod pending;
mod rebind;
pub(crate) mod record;
mod restore;
mod run;
mod snapshot;

pub use dataflow::CONCURRENCY;
pub use error::{Cause, RunError};
pub use pending::Pending;
pub(crate) use rebind::Unfit;
pub use record::{NodeStatus, Record};
pub use run::RunState;
pub use snapshot::{Snapshot, SnapshotStatus};

use jaren_json::{Str, Value};

use crate::failure::Failure;

/// What happened to a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Input {
    /// A driver takes the run over. A fresh generation is claimed before anything else, so that whoever drove it
    /// before can save nothing more (workflow §5). The first input of every drive.
    Begin,
    /// A task that was asked for ended. Ignored when its activation is over.
    Settled {
        /// From the [`StartTask`].
        activation: u64,
        /// From the [`StartTask`].
        node: usize,
        /// What the task answered.
        result: Result<Value, Failure>,
        /// How long it took, for the records.
        ms: f64,
    },
    /// An external event for the run's waits. It is kept until a wait takes or refuses it; each is offered once, in
    /// the order of arrival.
    Arrived(Arrival),
    /// Time passed: a deadline may be due.
    Due,
    /// Goes on after [`Phase::More`].
    Continue,
}

/// An external event.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// Its id in the inbox.
    pub id: Str,
    /// `{type, payload?}`: what `context.event` becomes if a wait takes it.
    pub event: Value,
}

/// What became of an arrival, at the save point that it is part of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consumed {
    /// The arrival.
    pub id: Str,
    /// Did a transition take it? If not, the wait refused it and it is gone.
    pub accepted: bool,
}

/// One of the format's save points (workflow §5).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SavePoint {
    /// The state to save. Its generation is one more than the save point's before it.
    pub snapshot: Snapshot,
    /// What it is for.
    pub cause: SaveCause,
    /// The arrival that ends with it.
    pub consumed: Option<Consumed>,
    /// How many of the format's save points it stands for ([`RunState::set_coalesced`]); 1 otherwise.
    pub saves: u64,
}

/// What a save point is for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveCause {
    /// A driver claims the run.
    Claim,
    /// A work state's input is captured.
    Admission,
    /// The exact identity of the activation's dag is recorded.
    Provenance,
    /// A node that declares `checkpoint` has a value.
    Node(Str),
    /// Every node of the activation settled.
    Result,
    /// Control moved, or was asked to.
    Control,
    /// The run rests in a wait.
    Wait,
}

/// A task to start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StartTask {
    /// The generation that must be durable before the task may start.
    pub after: u64,
    /// Which activation asks.
    pub activation: u64,
    /// The node's index in its dag.
    pub node: usize,
    /// The node's id.
    pub id: Str,
    /// The qualified state.
    pub state: Str,
    /// Its visit.
    pub visit: u64,
    /// The canonical activation key `[run, state, visit]`.
    pub key: Str,
    /// The task's name.
    pub task: Str,
    /// The version that the document declares.
    pub version: Option<Str>,
    /// Its `with`, resolved; null when the document gives none.
    pub with: Value,
    /// Its input.
    pub input: Value,
}

/// One output of a step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Output {
    /// To be made durable, in order.
    Save(SavePoint),
    /// To be started, once it may.
    Start(StartTask),
    /// The wait failed over this arrival, so that the drive ends here. It is gone with the failure, or it would fail
    /// every further drive.
    Refused(Consumed),
    /// The tasks of this activation are not needed any more: cancel them.
    Abandon {
        /// The activation.
        activation: u64,
    },
    /// To be shown, once the generation `after` is durable.
    Record {
        /// The generation.
        after: u64,
        /// What to show.
        record: Record,
    },
}

/// Where a run stands after a step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Phase {
    /// Tasks are being run.
    Working,
    /// The run could go on at once, but has answered enough for one step: [`Input::Continue`].
    More,
    /// A wait holds it: an event or the deadline moves it.
    Waiting {
        /// The event types that the wait names, in document order, each once.
        events: Vec<Str>,
        /// The earliest deadline, as explicit statechart time (Unix milliseconds here).
        deadline: Option<f64>,
    },
    /// It is done, with its result.
    Done(Value),
    /// The run failed. What was saved stays; another drive may go on from there.
    Failed(RunError),
}

/// The answer to an event.
#[derive(Clone, Debug)]
#[must_use = "what a step answers must be saved and done"]
#[non_exhaustive]
pub struct Step {
    /// In order.
    pub outputs: Vec<Output>,
    /// Where the run stands.
    pub phase: Phase,
}
