//! Runs the conformance corpus.
fn main() {}
