//! Workflows, jaren-workflow 0.2.

use jaren_json::{Str, Value};

use super::dag::DagDocument;
use super::member::{Part, object};
use super::part::{part, serde};
use super::{DocumentError, Named};

part! {
    /// A workflow.
    closed WorkflowDocument {
        /// The marker, `"0.2"`.
        marker: Str = "$workflow",
        /// The revision that its author gave it.
        revision: Str = "revision",
        /// The state to start in.
        initial: Str = "initial",
        /// The states by their names, in order.
        states: Named<State> = "states",
    }
}

/// A state, by its form.
#[derive(Debug, Clone)]
pub enum State {
    /// Works.
    Work(WorkState),
    /// Chooses.
    Choose(ChooseState),
    /// Waits.
    On(OnState),
    /// Has states of its own.
    Flow(FlowState),
    /// Ends its scope.
    Final(FinalState),
}

impl State {
    /// How often a run may enter it, where that is bounded.
    pub fn limit(&self) -> Option<f64> {
        match self {
            Self::Work(state) => state.limit,
            Self::Choose(state) => state.limit,
            Self::On(state) => state.limit,
            Self::Flow(state) => state.limit,
            Self::Final(state) => state.limit,
        }
    }
}

impl Part for State {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        let has = |form| value.get(form).is_some();
        object(value, None)?;
        if has("work") {
            <WorkState as Part>::read(value).map(Self::Work)
        } else if has("choose") {
            <ChooseState as Part>::read(value).map(Self::Choose)
        } else if has("on") {
            <OnState as Part>::read(value).map(Self::On)
        } else if has("flow") {
            <FlowState as Part>::read(value).map(Self::Flow)
        } else if has("final") {
            <FinalState as Part>::read(value).map(Self::Final)
        } else {
            Err(DocumentError::new("one of work, choose, on, flow and final", Some(value.kind())))
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Work(state) => state.write(),
            Self::Choose(state) => state.write(),
            Self::On(state) => state.write(),
            Self::Flow(state) => state.write(),
            Self::Final(state) => state.write(),
        }
    }
}
serde!(State);

part! {
    /// A state that works.
    closed WorkState {
        /// What it runs.
        work: Work = "work",
        /// The query of the work's input. Null is none.
        input: Option<Value> = "input",
        /// The state after it.
        then: Str = "then",
        /// The state after a failure.
        catch: Option<Str> = "catch",
        /// How often a run may enter it.
        limit: Option<f64> = "limit",
    }
}

/// What a work state runs.
#[derive(Debug, Clone)]
pub enum Work {
    /// A task.
    Task(TaskWork),
    /// A dataflow.
    Dag(DagWork),
}

impl Part for Work {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        if value.get("dag").is_some() {
            <DagWork as Part>::read(value).map(Self::Dag)
        } else {
            <TaskWork as Part>::read(value).map(Self::Task)
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Task(work) => work.write(),
            Self::Dag(work) => work.write(),
        }
    }
}
serde!(Work);

part! {
    /// A task.
    closed TaskWork {
        /// Its name in the registry.
        task: Str = "task",
        /// The version that its handler must have.
        version: Str = "version",
        /// The query of its argument, over the work's input.
        with: Option<Value> = "with",
    }
}

part! {
    /// A dataflow.
    closed DagWork {
        /// The document.
        dag: DagDocument = "dag",
    }
}

part! {
    /// A state that chooses.
    closed ChooseState {
        /// The ways, of which the first is taken whose guard holds.
        choose: Vec<Choice> = "choose",
        /// The state where none does.
        otherwise: Str = "otherwise",
        /// How often a run may enter it.
        limit: Option<f64> = "limit",
    }
}

part! {
    /// One way of a choice.
    closed Choice {
        /// The query that must hold.
        guard: Value = "guard",
        /// The state that it leads to.
        to: Str = "to",
    }
}

part! {
    /// A state that waits.
    closed OnState {
        /// The events that it knows.
        on: Vec<Answer> = "on",
        /// The time that makes it go on.
        after: Option<After> = "after",
        /// How often a run may enter it.
        limit: Option<f64> = "limit",
    }
}

part! {
    /// What a wait does at an event.
    closed Answer {
        /// The event.
        event: Str = "event",
        /// The query that must hold. Null is none.
        guard: Option<Value> = "guard",
        /// The state that it leads to.
        to: Str = "to",
    }
}

part! {
    /// What a wait does after a time.
    closed After {
        /// The milliseconds.
        ms: f64 = "ms",
        /// The state that it leads to.
        to: Str = "to",
    }
}

part! {
    /// A state that has states of its own.
    closed FlowState {
        /// These.
        flow: Flow = "flow",
        /// The state after one of their finals.
        then: Str = "then",
        /// How often a run may enter it.
        limit: Option<f64> = "limit",
    }
}

part! {
    /// A nested flow.
    closed Flow {
        /// The state to start in.
        initial: Str = "initial",
        /// The states by their names, in order.
        states: Named<State> = "states",
    }
}

part! {
    /// A state that ends its scope.
    closed FinalState {
        /// True.
        is_final: bool = "final",
        /// How often a run may enter it.
        limit: Option<f64> = "limit",
    }
}
