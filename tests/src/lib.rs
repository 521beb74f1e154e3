//! Suites that cross crates.
