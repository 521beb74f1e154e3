//! Building workflows, jaren-workflow 0.2.

use std::marker::PhantomData;
use std::time::Duration;

use jaren_json::{Object, Str, Value, value};

use super::dag::Task;
use super::{Brand, BuildError, Members, duplicate, milliseconds};
use crate::workflow::Form;

/// Writes a workflow under the revision that its author gives it.
///
/// States lead to each other in circles, so they are declared first and then said what they do.
///
/// ```
/// use std::time::Duration;
///
/// use jaren_flow::DeclaredTasks;
/// use jaren_flow::build::{self, task, when};
/// use jaren_flow::workflow::Workflow;
///
/// let document = build::workflow("review/1", |flow| {
///     let [prepare, check, review, done, expired] =
///         flow.states(["prepare", "check", "review", "done", "expired"]);
///     flow.work(prepare, task("prepare", "1"), check);
///     flow.limit(prepare, 3);
///     flow.choose(check, [when("$.context.data.ready", review)], prepare);
///     flow.on(review, "approve", done).guard("$.payload.accept");
///     flow.on(review, "retry", prepare);
///     flow.after(review, Duration::from_secs(60), expired);
///     flow.finish(done);
///     flow.finish(expired);
/// })?;
/// Workflow::compile(&document, &DeclaredTasks)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Work that leads nowhere does not compile, and neither does a choice without an otherwise, a task without a version, or
/// a state of another workflow:
///
/// ```compile_fail
/// # use jaren_flow::build::{self, task};
/// let document = build::workflow("review/1", |flow| {
///     let [prepare] = flow.states(["prepare"]);
///     flow.work(prepare, task("prepare", "1"));
/// });
/// ```
///
/// ```compile_fail
/// # use jaren_flow::build::{self, task};
/// let document = build::workflow("round/1", |flow| {
///     let [round, done] = flow.states(["round", "done"]);
///     flow.flow(round, |inner| {
///         let [work] = inner.states(["work"]);
///         inner.work(work, task("work", "1"), done); // `done` is no state of the inner flow
///     }, done);
///     flow.finish(done);
/// });
/// ```
pub fn workflow(
    revision: impl Into<Str>,
    author: impl for<'b> FnOnce(&mut WorkflowBuilder<'b>),
) -> Result<Value, BuildError> {
    let (initial, states) = scope(author)?;
    let revision = Value::String(revision.into());
    Ok(value!({ "$workflow": "0.2", "revision": revision, "initial": initial, "states": states }))
}

/// The `initial` and the `states` of a workflow or of a nested flow.
fn scope(author: impl for<'b> FnOnce(&mut WorkflowBuilder<'b>)) -> Result<(Value, Object), BuildError> {
    let mut builder =
        WorkflowBuilder { ids: Vec::new(), states: Vec::new(), initial: 0, defect: None, brand: PhantomData };
    author(&mut builder);
    let WorkflowBuilder { ids, states, initial, defect, .. } = builder;
    if let Some(error) = defect.or_else(|| duplicate(&ids)) {
        return Err(error);
    }
    let initial = ids.get(initial).into();
    let states = ids.into_iter().zip(states).map(|(id, members)| {
        let mut forms = Form::ALL.iter().filter(|form| members.has(form.name()));
        match (forms.next(), forms.next()) {
            (Some(_), None) => Ok((id, members.build())),
            (None, _) => Err(BuildError::Undefined(id)),
            (Some(_), Some(_)) => Err(BuildError::TwoForms(id)),
        }
    });
    Ok((initial, states.collect::<Result<Vec<_>, _>>()?.into_iter().collect()))
}

/// What the closure of [`workflow`] writes with, and that of a nested flow.
#[derive(Debug)]
pub struct WorkflowBuilder<'b> {
    ids: Vec<Str>,
    states: Vec<Members>,
    initial: usize,
    /// The first one that was found while writing.
    defect: Option<BuildError>,
    brand: Brand<'b>,
}

/// A state of a workflow that is being written.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowState<'b> {
    index: usize,
    brand: Brand<'b>,
}

/// What a work state does.
#[derive(Debug, Clone)]
pub struct Work(Value);

impl From<Task> for Work {
    fn from(task: Task) -> Self {
        let mut members =
            Members::of([("task", Value::String(task.name)), ("version", Value::String(task.version))]);
        members.set_some("with", task.with);
        Self(Value::Object(members.build()))
    }
}

impl Work {
    /// A dataflow: a document, as [`dag`](super::dag()) writes it. Its tasks need versions.
    pub fn dag(document: impl Into<Value>) -> Self {
        Self(value!({ "dag": document.into() }))
    }
}

/// One way of a choice.
#[derive(Debug, Clone)]
pub struct When<'b> {
    guard: Value,
    to: WorkflowState<'b>,
}

/// Where a choice goes when the guard holds and none before it did.
pub fn when(guard: impl Into<Value>, to: WorkflowState<'_>) -> When<'_> {
    When { guard: guard.into(), to }
}

impl<'b> WorkflowBuilder<'b> {
    /// Declares states by their names. The flow starts in the first one; see [`initial`](Self::initial).
    pub fn states<const N: usize>(&mut self, names: [&str; N]) -> [WorkflowState<'b>; N] {
        names.map(|name| self.state(name))
    }

    /// Declares one state.
    pub fn state(&mut self, name: impl Into<Str>) -> WorkflowState<'b> {
        let index = self.ids.len();
        self.ids.push(name.into());
        self.states.push(Members::default());
        WorkflowState { index, brand: PhantomData }
    }

    /// Starts in this state, and not in the first one.
    pub fn initial(&mut self, state: WorkflowState<'b>) {
        self.initial = state.index;
    }

    /// The state works: it runs a [`task`](super::task) or a [dataflow](Work::dag), and then goes on.
    pub fn work(
        &mut self,
        state: WorkflowState<'b>,
        work: impl Into<Work>,
        then: WorkflowState<'b>,
    ) -> Working<'_, 'b> {
        let Work(work) = work.into();
        let then = self.id(then);
        self.form(state, Form::Work, |members| {
            members.set("work", work);
            members.set("then", then);
        });
        Working { flow: self, state }
    }

    /// The state chooses: the first way whose guard holds, and otherwise another one.
    pub fn choose<const N: usize>(
        &mut self,
        state: WorkflowState<'b>,
        ways: [When<'b>; N],
        otherwise: WorkflowState<'b>,
    ) {
        const { assert!(N > 0, "a choice needs a guarded way") };
        let ways: Value =
            ways.into_iter().map(|way| value!({ "guard": way.guard, "to": self.id(way.to) })).collect();
        let otherwise = self.id(otherwise);
        self.form(state, Form::Choose, |members| {
            members.set("choose", ways);
            members.set("otherwise", otherwise);
        });
    }

    /// The state waits, and the event makes it go on. A state may wait for several ones.
    pub fn on(
        &mut self,
        state: WorkflowState<'b>,
        event: impl Into<Str>,
        to: WorkflowState<'b>,
    ) -> Waiting<'_, 'b> {
        let branch = value!({ "event": (Value::String(event.into())), "to": self.id(to) });
        self.set(state, |members| members.extend("on", [branch]));
        Waiting { flow: self, state }
    }

    /// The state waits, and the time makes it go on, unless an event did before.
    pub fn after(&mut self, state: WorkflowState<'b>, delay: Duration, to: WorkflowState<'b>) {
        let after = value!({ "ms": milliseconds(delay), "to": self.id(to) });
        self.set(state, |members| {
            members.extend("on", []);
            members.set("after", after);
        });
    }

    /// The state has states of its own; when one of its finals is reached, it goes on.
    pub fn flow(
        &mut self,
        state: WorkflowState<'b>,
        author: impl for<'c> FnOnce(&mut WorkflowBuilder<'c>),
        then: WorkflowState<'b>,
    ) {
        match scope(author) {
            Err(error) => {
                self.defect.get_or_insert(error);
            }
            Ok((initial, states)) => {
                let then = self.id(then);
                self.form(state, Form::Flow, |members| {
                    members.set("flow", value!({ "initial": initial, "states": states }));
                    members.set("then", then);
                });
            }
        }
    }

    /// The state ends what it stands in.
    pub fn finish(&mut self, state: WorkflowState<'b>) {
        self.form(state, Form::Final, |members| members.set("final", true));
    }

    /// A run may enter the state so often. Every circle that runs by itself needs such a state.
    pub fn limit(&mut self, state: WorkflowState<'b>, entries: u32) {
        self.set(state, |members| members.set("limit", entries));
    }

    /// Gives a form, which a state has once; a wait alone grows.
    fn form(&mut self, state: WorkflowState<'b>, form: Form, change: impl FnOnce(&mut Members)) {
        let given = self.states.get(state.index).is_some_and(|members| members.has(form.name()));
        if let Some(id) = self.ids.get(state.index).filter(|_| given) {
            self.defect.get_or_insert_with(|| BuildError::TwoForms(id.clone()));
        }
        self.set(state, change);
    }

    fn id(&self, state: WorkflowState<'b>) -> Value {
        self.ids.get(state.index).into()
    }

    fn set(&mut self, state: WorkflowState<'b>, change: impl FnOnce(&mut Members)) {
        if let Some(members) = self.states.get_mut(state.index) {
            change(members);
        }
    }
}

/// A work state, to say more about it.
#[derive(Debug)]
pub struct Working<'f, 'b> {
    flow: &'f mut WorkflowBuilder<'b>,
    state: WorkflowState<'b>,
}

impl<'b> Working<'_, 'b> {
    /// The query of its input, over `$.context`. Without one it is the current data.
    pub fn input(&mut self, query: impl Into<Value>) -> &mut Self {
        self.flow.set(self.state, |members| members.set("input", query));
        self
    }

    /// Where a failure leads to.
    pub fn catch(&mut self, to: WorkflowState<'b>) -> &mut Self {
        let to = self.flow.id(to);
        self.flow.set(self.state, |members| members.set("catch", to));
        self
    }

    /// How often a run may enter the state, as [`WorkflowBuilder::limit`].
    pub fn limit(&mut self, entries: u32) -> &mut Self {
        self.flow.limit(self.state, entries);
        self
    }
}

/// An event that was added to a wait, to say more about it.
#[derive(Debug)]
pub struct Waiting<'f, 'b> {
    flow: &'f mut WorkflowBuilder<'b>,
    state: WorkflowState<'b>,
}

impl Waiting<'_, '_> {
    /// Takes the event only where the query holds, by effective boolean value.
    pub fn guard(&mut self, query: impl Into<Value>) -> &mut Self {
        self.flow.set(self.state, |members| members.change_last("on", |branch| branch.with("guard", query)));
        self
    }
}
