//! Durable JSON workflows for Rust: the facade over the layers.
