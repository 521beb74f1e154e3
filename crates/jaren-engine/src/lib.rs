//! The engine of jaren: a pure run core and its tokio driver with durable checkpoints.
