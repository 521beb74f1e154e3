//! The engine of jaren: a pure run core and its tokio driver with durable checkpoints.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use jaren_durable::MemoryStorage;
//! use jaren_engine::{Engine, Event, Failure, Sent, Start, Status, TaskContext, Tasks};
//! use jaren_json::{Value, value};
//!
//! let mut tasks = Tasks::new();
//! tasks.add("total", "1", async |_: TaskContext, _: (), prices: Vec<f64>| {
//!     Ok::<f64, Failure>(prices.iter().sum())
//! });
//! let engine = Engine::new(MemoryStorage::new(), tasks);
//!
//! let document = value!({
//!     "$workflow": "0.2", "revision": "order/1", "initial": "total",
//!     "states": {
//!         "total": {"work": {"task": "total", "version": "1"}, "then": "review"},
//!         "review": {"on": [{"event": "approve", "to": "done"}]},
//!         "done": {"final": true}
//!     }
//! });
//! let mut run = engine.start(Start::new(document, value!([1.5, 2])).with_id("order-7")).await?;
//! let status = run.drive().await?;
//! assert_eq!(status, Status::Waiting { events: vec!["approve".into()], deadline: None });
//!
//! let sent = engine.send("order-7", Event::new("approve", Value::Null)).await?; // from any process
//! assert!(matches!(sent, Sent::Stored { .. }));
//! let mut run = engine.open("order-7").await?;
//! assert_eq!(run.drive().await?, Status::Done { result: value!(3.5) });
//! # Ok(())
//! # }
//! ```
//!
//! The laws:
//!
//! - A run advances by durable commits. What a commit acknowledged is never done again; a task whose completion was
//!   not acknowledged may run again, under the same [activation key](TaskContext::key).
//! - A sequential work state costs one commit: its completion and the admission of the next travel together.
//! - Whoever drives a run claims it first. An engine that lost its claim saves nothing more ([`ErrorKind::Fenced`]).
//! - A run goes on only with the document, the input, the lowering and the task versions that it began with.
//! - An event is delivered to the waits of its run once, in order of arrival; each is taken or ignored in the commit
//!   of the step that it causes.
//! - Every task is owned by the drive that started it and joined before the drive returns.
//!
//! What it will not do: retry a task that was not registered so ([`RetryPolicy`]), run anything after [`Run::drive`] has
//! returned (a drive that is *dropped* leaves the threads of blocking handlers to end by themselves), or promise that an
//! outside system was called only once.
#![forbid(unsafe_code)]

mod attempt;
mod context;
pub mod core;
mod crew;
mod difference;
mod documents;
mod drive;
mod engine;
mod error;
mod failure;
mod inbox;
pub mod limits;
mod load;
mod numbers;
mod observe;
pub mod port;
mod rebind;
mod resources;
mod retry_policy;
mod run;
mod saved_tasks;
mod settle;
mod task;
mod time;
mod view;
mod work;

pub use context::TaskContext;
pub use core::{NodeStatus, Record};
pub use documents::{RUN_KIND, RunFailure, RunStatus};
pub use drive::{CommitPolicy, Drive, Observer, Status};
pub use engine::{Engine, Start};
pub use error::{EngineError, ErrorKind};
pub use failure::Failure;
pub use inbox::{Event, EventFate, Rejection, Sent, event_fate};
pub use jaren_durable::Retry;
pub use rebind::{Bound, Rebind, Rebound};
pub use resources::Resources;
pub use retry_policy::RetryPolicy;
pub use run::Run;
pub use task::{Handler, Registration, TaskFuture, Tasks};
pub use tokio_util::sync::CancellationToken;
pub use view::{PendingEvent, RunSummary, RunView, RunsPage, RunsQuery, runs};
