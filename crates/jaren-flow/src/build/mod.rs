//! Documents written in Rust: one function a format, whose closure says what the document has.
//!
//! The result is the document, a [`Value`] like one that was read from a file: compile it, store it, print it.
//! States and nodes are handles, not names, so a reference that leads nowhere does not compile, and neither does one into
//! another document. Guards and other queries are query documents: [`value!`](jaren_json::value), or a text that is a path.
//!
//! ```
//! use jaren_flow::build::{self, effect};
//! use jaren_flow::machine::Machine;
//! use jaren_json::value;
//!
//! let document = build::machine(|m| {
//!     let draft = m.state("draft");
//!     let review = m.state("review");
//!     let published = m.final_state("published");
//!     m.entry(review, effect("notify").with(value!({ "to": "$.context.reviewer" })));
//!     m.on(draft, "submit", review).guard("$.payload.complete");
//!     m.on(review, "approve", published);
//!     m.on_any(review, draft).run(effect("log").with("$.event"));
//! })?;
//!
//! let machine = Machine::compile(&document)?;
//! assert_eq!(document, value!({
//!     "$fsm": "0.1",
//!     "initial": "draft",
//!     "states": [
//!         "draft",
//!         { "id": "review", "entry": [{ "run": "notify", "with": { "to": "$.context.reviewer" } }] },
//!         { "id": "published", "final": true }
//!     ],
//!     "transitions": [
//!         { "from": "draft", "event": "submit", "to": "review", "guard": "$.payload.complete" },
//!         { "from": "review", "event": "approve", "to": "published" },
//!         { "from": "review", "to": "draft", "effects": [{ "run": "log", "with": "$.event" }] }
//!     ]
//! }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Laws
//!
//! - What stands first counts first: the document has states, nodes, transitions and edges in the order of the calls.
//! - A machine, a statechart, a compound state, a workflow and a nested flow start in the first ordinary state that they
//!   were given, unless `initial` names another one.
//! - A builder refuses only what a document cannot say ([`BuildError`]); the rest is the compilers' business.

mod dag;
mod machine;
mod statechart;
mod workflow;

use std::marker::PhantomData;
use std::time::Duration;

use jaren_json::{Object, Str, Value};

pub use self::dag::{
    DagBuilder, Feed, Inputs, Node, Output, Task, UnversionedTask, dag, task, unversioned_task,
};
pub use self::machine::{MachineBuilder, MachineState, MachineTransition, machine};
pub use self::statechart::{
    ChartTransition, Compound, Final, History, Level, Ordinary, Parallel, Parent, Source, State,
    StatechartBuilder, Target, statechart,
};
pub use self::workflow::{Waiting, When, Work, WorkflowBuilder, WorkflowState, Working, when, workflow};

/// Ties handles to their builder: a closure is called for every `'b`, so no two builders have the same.
type Brand<'b> = PhantomData<fn(&'b ()) -> &'b ()>;

/// What keeps a builder from writing the document that was meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two states or nodes have one id.
    #[error("two of the same id: '{0}'")]
    Duplicate(Str),
    /// A state of a workflow was declared and nothing was said about it.
    #[error(
        "the state '{0}' does nothing: give it work, a choice, an event, a time or a flow, or make it final"
    )]
    Undefined(Str),
    /// Two forms were given to one state of a workflow, or one form twice.
    #[error("the state '{0}' is given a form twice; a state has one of work, choice, wait, flow and final")]
    TwoForms(Str),
}

/// An effect: what the host is told to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    run: Str,
    with: Option<Value>,
}

/// An effect by the name that the host knows.
pub fn effect(run: impl Into<Str>) -> Effect {
    Effect { run: run.into(), with: None }
}

impl Effect {
    /// The query of its argument.
    #[must_use]
    pub fn with(mut self, query: impl Into<Value>) -> Self {
        self.with = Some(query.into());
        self
    }

    fn into_value(self) -> Value {
        let with = self.with.map(|with| ("with", with));
        Value::Object([("run", Value::String(self.run))].into_iter().chain(with).collect())
    }
}

/// Members in the order in which they were first set.
#[derive(Debug, Default)]
struct Members(Vec<(&'static str, Member)>);

#[derive(Debug)]
enum Member {
    One(Value),
    /// A list that may grow.
    List(Vec<Value>),
}

impl From<Member> for Value {
    fn from(member: Member) -> Self {
        match member {
            Member::One(value) => value,
            Member::List(list) => list.into(),
        }
    }
}

impl Members {
    fn of<const N: usize>(members: [(&'static str, Value); N]) -> Self {
        Self(members.into_iter().map(|(name, value)| (name, Member::One(value))).collect())
    }

    fn find(&mut self, name: &str) -> Option<&mut Member> {
        self.0.iter_mut().find(|(known, _)| *known == name).map(|(_, member)| member)
    }

    fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        let member = Member::One(value.into());
        match self.find(name) {
            Some(old) => *old = member,
            None => self.0.push((name, member)),
        }
    }

    fn set_some(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Adds to a list, which is empty at first.
    fn extend(&mut self, name: &'static str, more: impl IntoIterator<Item = Value>) {
        match self.find(name) {
            Some(Member::List(list)) => list.extend(more),
            _ => self.0.push((name, Member::List(more.into_iter().collect()))),
        }
    }

    /// Changes the object that is the last element of a list.
    fn change_last(&mut self, name: &str, change: impl FnOnce(&Object) -> Object) {
        if let Some(Member::List(list)) = self.find(name)
            && let Some(Value::Object(last)) = list.last_mut()
        {
            *last = change(last);
        }
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }

    fn build(self) -> Object {
        self.0.into_iter().map(|(name, member)| (name, Value::from(member))).collect()
    }

    /// The declaration of a state: its id alone says as much as an object that has nothing else.
    fn into_state(self) -> Value {
        match <[_; 1]>::try_from(self.0) {
            Ok([(_, id)]) => id.into(),
            Err(members) => Value::Object(Self(members).build()),
        }
    }
}

/// A time span as the formats write it: milliseconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds beyond 2^53 are 104 days, where a rounded one says nothing"
)]
fn milliseconds(duration: Duration) -> Value {
    Value::Number(duration.as_nanos() as f64 / 1e6)
}

/// The first id that stands twice.
fn duplicate<'a>(ids: impl IntoIterator<Item = &'a Str>) -> Option<BuildError> {
    let mut seen = std::collections::BTreeSet::new();
    ids.into_iter().find(|id| !seen.insert(*id)).map(|id| BuildError::Duplicate(id.clone()))
}
