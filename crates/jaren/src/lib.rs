//! Durable workflows as JSON documents: describe the process, lend it your functions, and let it survive anything.
//!
//! A first program: a typed task, a store in one SQLite file, a run that waits for a person, and the message that
//! lets it go on.
//!
//! ```
//! use jaren::prelude::*;
//!
//! #[derive(serde::Deserialize)]
//! struct Order { prices: Vec<f64> }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // 1. What can be done: functions over your own types, by name and version.
//!     let mut tasks = Tasks::new();
//!     tasks.add("total", "1", async |_: TaskContext, _: (), order: Order| {
//!         Ok::<f64, Failure>(order.prices.iter().sum())
//!     });
//!
//!     // 2. Where it is kept: a commit is durable when it is answered.
//!     let folder = tempfile::tempdir()?;
//!     let storage = SqliteStorage::open(folder.path().join("jaren.db"))?;
//!     let engine = Engine::new(storage, tasks);
//!
//!     // 3. What is to happen: a document.
//!     let document = value!({
//!         "$workflow": "0.2", "revision": "order/1", "initial": "total",
//!         "states": {
//!             "total": { "work": { "task": "total", "version": "1" }, "then": "review" },
//!             "review": { "on": [{ "event": "approve", "guard": "$.payload.accept", "to": "done" }] },
//!             "done": { "final": true }
//!         }
//!     });
//!
//!     // 4. Run it until it needs somebody.
//!     let input = value!({ "prices": [1.5, 2] });
//!     let mut run = engine.start(Start::new(document, input).with_id("order-7")).await?;
//!     let status = run.drive().await?;
//!     assert_eq!(status, Status::Waiting { events: vec!["approve".into()], deadline: None });
//!
//!     // 5. Answer it, now or next year, from this process or another one.
//!     let sent = engine.send("order-7", Event::new("approve", value!({ "accept": true }))).await?;
//!     assert!(matches!(sent, Sent::Stored { .. }));
//!     let mut run = engine.open("order-7").await?;
//!     assert_eq!(run.drive().await?, Status::Done { result: value!(3.5) });
//!     Ok(())
//! }
//! ```
//!
//! # The layers
//!
//! A host picks what it needs; each module is a crate of its own.
//!
//! | module | what it is |
//! |---|---|
//! | [`json`] | values, their reader, canonical text, pointers, digests, deltas |
//! | [`host`] | what a host lends: clock, ids, randomness |
//! | [`query`] | queries that are JSON, over borrowed scopes |
//! | [`jslt`] | stylesheets: rules that match by location and by schema |
//! | [`flow`] | the formats, compiled: statechart, dag, workflow |
//! | [`durable`] | sessions: logs of commits over documents; the storage port |
//! | `sqlite` | the storage in one file (feature `sqlite`, on by default) |
//! | [`engine`] | runs: the pure core and its driver |
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `sqlite` (default) | the storage in one SQLite file, with SQLite built in |
//! | `host-transactions` | commits within a transaction of the host's own on that file: `rusqlite` stands in the signature |
//! | `json-schema` | JSON Schema in queries and stylesheets (`json_schemas`) |
//! | `time-zones` | time zones by name in queries and stylesheets (`query::BundledZones`) |
//! | `metrics` | counts and times of runs and tasks, for whatever recorder the process installs |
#![forbid(unsafe_code)]

pub use jaren_durable as durable;
pub use jaren_engine as engine;
pub use jaren_flow as flow;
pub use jaren_host as host;
pub use jaren_jslt as jslt;
pub use jaren_json as json;
pub use jaren_query as query;
#[cfg(feature = "sqlite")]
pub use jaren_sqlite as sqlite;

#[cfg(feature = "json-schema")]
mod json_schemas;
#[cfg(feature = "json-schema")]
pub use json_schemas::json_schemas;

/// What most programs need.
pub mod prelude {
    pub use jaren_durable::{MemoryStorage, Storage};
    pub use jaren_engine::{
        CancellationToken, Drive, Engine, EngineError, ErrorKind, Event, EventFate, Failure, Observer,
        Rebind, Record, Rejection, Resources, Retry, RetryPolicy, Run, RunFailure, RunStatus, RunView,
        RunsQuery, Sent, Start, Status, TaskContext, Tasks,
    };
    pub use jaren_json::{Value, from_value, to_value, value};
    #[cfg(feature = "sqlite")]
    pub use jaren_sqlite::{SqliteOptions, SqliteStorage};
}

/// The README's program, compiled and run as a test.
#[cfg(all(doctest, feature = "sqlite"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The programs of the pages, compiled and run as tests.
#[cfg(all(doctest, feature = "sqlite"))]
mod pages {
    #[doc = include_str!("../../../docs/guide.md")]
    struct Guide;
    #[doc = include_str!("../../../docs/engine.md")]
    struct Engine;
    #[doc = include_str!("../../../docs/authoring.md")]
    struct Authoring;
    #[doc = include_str!("../../../docs/formats/workflows.md")]
    struct Workflows;
    #[doc = include_str!("../../../docs/formats/machines.md")]
    struct Machines;
    #[doc = include_str!("../../../docs/formats/statecharts.md")]
    struct Statecharts;
    #[doc = include_str!("../../../docs/formats/dataflows.md")]
    struct Dataflows;
    #[doc = include_str!("../../../docs/query.md")]
    struct Query;
    #[doc = include_str!("../../../docs/stylesheets.md")]
    struct Stylesheets;
}
