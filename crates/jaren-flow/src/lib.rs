//! The formats of jaren: machines, statecharts, dataflows and workflows, compiled once and stepped purely.
//!
//! A document is a [`jaren_json::Value`]. Each format is a module with the same parts: reading the document
//! strictly, compiling it (every reference, guard, version and cycle checked, every defect reported), the
//! compiled thing, and its pure step or plan. Compiled things are `Send + Sync` and cheap to clone.
//!
//! - [`machine`]: named states, one at a time, and a table of transitions.
//! - [`statechart`]: states that nest, run in parallel and remember; events, delays and completion.
//! - [`dag`]: a dataflow of queries and tasks wired by edges.
//! - [`workflow`]: a document that lowers to one statechart and a dataflow for each state that works.
//!
//! Around them: [`build`] writes documents in Rust, [`document`] has them as Rust types, [`schema`] has their JSON Schemas,
//! [`app`] projects a machine to plain JSON for an app, and [`lint`] finds what is allowed and yet probably a slip.
//!
//! Nothing here reads a clock, waits, runs a task or stores anything: time, payloads and results are passed in,
//! and what comes back is data. `jaren-engine` is the one that does things.
//!
//! ```
//! use jaren_flow::Given;
//! use jaren_flow::statechart::Statechart;
//! use jaren_json::value;
//!
//! let chart = Statechart::compile(&value!({
//!     "$fsm": "0.2",
//!     "initial": "closed",
//!     "states": ["closed", "open"],
//!     "transitions": [{ "from": "closed", "event": "push", "guard": "$.context.unlocked", "to": "open" }]
//! }))?;
//! let context = value!({ "unlocked": true });
//! let given = Given { context: Some(&context), ..Given::default() };
//! let start = chart.start(None, &given)?;
//! let next = chart.step(&start.state, "push", None, &given)?;
//! assert!(next.changed);
//! assert_eq!(next.state.leaf().map(|id| &**id), Some("open"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod app;
pub mod build;
pub mod dag;
mod defects;
pub mod document;
mod effect;
mod error;
mod format;
mod given;
pub mod graph;
mod guard;
pub mod lint;
mod look;
pub mod machine;
mod options;
pub mod schema;
pub mod statechart;
mod tasks;
pub mod workflow;

pub use effect::Effect;
pub use error::{FlowError, SessionError};
pub use format::Format;
pub use given::Given;
pub use options::CompileOptions;
pub use tasks::{DeclaredTasks, TaskEntry, TaskMap, TaskVersions};
