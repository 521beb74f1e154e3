//! The `workflow` and `dag` cases of the conformance corpus that run something, through the formats' own ports.
#![cfg(test)]

mod corpus;
mod dags;
mod registry;
mod workflows;
