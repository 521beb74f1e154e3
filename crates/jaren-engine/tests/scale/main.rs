//! What a run costs as it grows: work, memory and stored bytes follow what changes, not what there is. Work is counted
//! in allocations, as every copy is one.
#![cfg(test)]

mod core;
mod stored;
mod tasks;
