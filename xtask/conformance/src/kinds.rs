//! One module for each kind of case.

pub(crate) mod canonical;
pub(crate) mod dag;
pub(crate) mod fsm;
pub(crate) mod jslt;
pub(crate) mod jsonpath;
pub(crate) mod jsonpath_cts;
pub(crate) mod query;
pub(crate) mod statechart;
pub(crate) mod workflow;
