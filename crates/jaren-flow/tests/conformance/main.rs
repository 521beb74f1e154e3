//! The conformance corpus, for all of it that is pure.

mod corpus;
mod dag;
mod statechart;
mod workflow;
