//! Machines, jaren-fsm 0.1. Every part may have members that the format does not know.

use jaren_json::{Str, Value};

use super::member::Part;
use super::part::{part, serde};
use super::{DocumentError, Effect, Nullable};

part! {
    /// A machine.
    open MachineDocument {
        /// The marker, `"0.1"` where it is there.
        marker: Option<Str> = "$fsm",
        /// The state to start from. The format wants the member, if null.
        initial: Nullable<Str> = "initial",
        /// The states in order.
        states: Vec<Declaration> = "states",
        /// The transitions in order.
        transitions: Vec<Transition> = "transitions",
    }
}

/// How a state is declared.
#[derive(Debug, Clone)]
pub enum Declaration {
    /// By its id alone.
    Id(Str),
    /// With what it does.
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

part! {
    /// A state.
    open State {
        /// Its id.
        id: Str = "id",
        /// What entering it does.
        entry: Option<Vec<Effect>> = "entry",
        /// What leaving it does.
        exit: Option<Vec<Effect>> = "exit",
        /// Whether the host may take the machine as done.
        is_final: Option<bool> = "final",
    }
}

part! {
    /// A transition.
    open Transition {
        /// The state that it leaves.
        from: Str = "from",
        /// The event that it answers; without a value, every one.
        event: Nullable<Str> = "event",
        /// The query that must hold. Null is none.
        guard: Option<Value> = "guard",
        /// The state that it enters.
        to: Str = "to",
        /// What it does.
        effects: Option<Vec<Effect>> = "effects",
    }
}
