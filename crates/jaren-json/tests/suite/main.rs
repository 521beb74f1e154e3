//! The suites of the value crate, as one program.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "helpers of tests are tests too"
)]

mod corpus;
mod deep;
mod delta;
mod large;
mod laws;
mod locate;
mod numbers;
mod reader;
mod serde;
mod support;
mod values;
mod writer;
