//! The engine over memory storage: runs, events, timers, failures, crashes and rivals.
#![cfg(test)]

mod attempts;
mod commits;
mod core;
mod crash;
mod events;
mod failures;
mod interrupt;
mod lent;
mod orders;
mod ports;
mod rebinding;
mod resources;
mod rivals;
mod runs;
mod support;
mod timers;
mod versions;
