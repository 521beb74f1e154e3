//! The formats' own checkpoint ports, for hosts that keep the checkpoints of their runs themselves.
//!
//! [`Workflows`] runs a workflow over a [`CheckpointStore`] exactly as the format says (workflow §§4–5): one call runs
//! to a wait or to the end, with at most one event and an explicit time, and every save point is saved by itself.
//! [`Dags`] runs a stand-alone dag, over a [`DagStore`] when it keeps checkpoints (dag §§7.6, 7.9).
//!
//! Tasks run as they were registered, their time limits and pauses by the system's clock; one that is asked to stop has no
//! grace.
//!
//! What a store of sessions adds (inbox, timers, one commit a step, the failure of the last drive) is the
//! [`Engine`](crate::Engine)'s.

mod dags;
mod workflows;

pub use dags::{DagCall, DagStore, Dags};
pub use jaren_durable::BoxFuture;
pub use workflows::{Call, CheckpointStore, Ended, Workflows};

/// Why a store of the host's failed, in its own words.
pub type StoreError = Box<dyn std::error::Error + Send + Sync>;

use crate::core::{Cause, RunError};

/// A failed store call of a run (JF2009).
fn store_failed(what: &str, error: &StoreError) -> RunError {
    RunError::new("JF2009", format!("the checkpoint store failed to {what}: {error}"))
        .at("")
        .because(Cause::Store(error.to_string().into()))
}
