//! Durable steps a second.
fn main() {}
