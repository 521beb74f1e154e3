//! Statecharts, jaren-fsm 0.2.

use jaren_json::{Str, Value};

use super::member::Part;
use super::part::{part, serde, words};
use super::{DocumentError, Effect, Nullable};

part! {
    /// A statechart.
    closed StatechartDocument {
        /// The marker, `"0.2"`.
        marker: Str = "$fsm",
        /// The root state to start in.
        initial: Str = "initial",
        /// The states in order.
        states: Vec<Declaration> = "states",
        /// The transitions in order.
        transitions: Vec<Transition> = "transitions",
    }
}

/// How a state is declared.
#[derive(Debug, Clone)]
pub enum Declaration {
    /// By its id alone: an atomic root state.
    Id(Str),
    /// With its place and what it does.
    State(State),
}

impl Declaration {
    /// The state's id.
    pub fn id(&self) -> &Str {
        match self {
            Self::Id(id) => id,
            Self::State(state) => &state.id,
        }
    }
}

impl Part for Declaration {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        match value {
            Value::String(id) => Ok(Self::Id(id.clone())),
            other => <State as Part>::read(other).map(Self::State),
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Id(id) => Value::String(id.clone()),
            Self::State(state) => state.write(),
        }
    }
}
serde!(Declaration);

words! {
    /// The type of a state, where it is stated.
    StateType, "atomic, compound, parallel, final or history" {
        /// Without children.
        Atomic = "atomic",
        /// With one active child.
        Compound = "compound",
        /// With all children active.
        Parallel = "parallel",
        /// Completing its parent.
        Final = "final",
        /// The memory of its parent.
        History = "history",
    }
}

words! {
    /// What a history remembers.
    HistoryType, "shallow or deep" {
        /// The active children of its parent.
        Shallow = "shallow",
        /// The active leaves below its parent.
        Deep = "deep",
    }
}

words! {
    /// What a transition leaves.
    TransitionType, "external or internal" {
        /// Its source.
        External = "external",
        /// What is active within its source.
        Internal = "internal",
    }
}

part! {
    /// A state.
    closed State {
        /// Its id.
        id: Str = "id",
        /// The state in which it stands.
        parent: Option<Str> = "parent",
        /// The child that it starts in.
        initial: Option<Str> = "initial",
        /// Its type, inferred where it is not stated.
        state_type: Option<StateType> = "type",
        /// That it is a history, and what it remembers.
        history: Option<HistoryType> = "history",
        /// That it is final.
        is_final: Option<bool> = "final",
        /// What entering it does.
        entry: Option<Vec<Effect>> = "entry",
        /// What leaving it does.
        exit: Option<Vec<Effect>> = "exit",
    }
}

part! {
    /// A transition.
    closed Transition {
        /// The state that it leaves.
        from: Str = "from",
        /// The event that it answers. Without this and the next three, it answers every event.
        event: Nullable<Str> = "event",
        /// The milliseconds in its source after which it fires.
        after: Option<f64> = "after",
        /// That it fires by itself.
        always: Option<bool> = "always",
        /// That it fires when its source has completed.
        done: Option<bool> = "done",
        /// What it leaves; external without a value.
        transition_type: Nullable<TransitionType> = "type",
        /// The query that must hold. Null is none.
        guard: Option<Value> = "guard",
        /// The state that it enters.
        to: Str = "to",
        /// What it does.
        effects: Option<Vec<Effect>> = "effects",
    }
}
