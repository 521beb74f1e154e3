//! One module a command, and what the commands that execute runs share.

pub(crate) mod check;
mod execute;
pub(crate) mod graph;
pub(crate) mod prune;
pub(crate) mod query;
pub(crate) mod rebind;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod send;
pub(crate) mod show;
pub(crate) mod transform;
