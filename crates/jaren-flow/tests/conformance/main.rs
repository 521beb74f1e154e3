//! The conformance corpus, for all of it that is pure.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it did"
)]

mod corpus;
mod dag;
mod machine;
mod statechart;
mod workflow;
