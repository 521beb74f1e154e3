//! The laws, each a function that panics when a fresh storage breaks it.

pub mod conditions;
pub mod documents;
pub mod handles;
pub mod jobs;
pub mod listings;
pub mod publications;
pub mod removal;
pub mod upkeep;
