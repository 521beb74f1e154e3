//! Building machines, jaren-fsm 0.1.

use std::marker::PhantomData;

use jaren_json::{Str, Value, value};

use super::{Brand, BuildError, Effect, Members, duplicate};

/// Writes a machine. It starts in its first state; see [`MachineBuilder::initial`].
///
/// A state of another machine is no state of this one:
///
/// ```compile_fail
/// # use jaren_flow::build;
/// let document = build::machine(|m| {
///     let here = m.state("here");
///     let inner = build::machine(|other| {
///         let there = other.state("there");
///         other.on(there, "go", here);
///     });
/// });
/// ```
pub fn machine(author: impl for<'b> FnOnce(&mut MachineBuilder<'b>)) -> Result<Value, BuildError> {
    let mut builder = MachineBuilder {
        ids: Vec::new(),
        states: Vec::new(),
        transitions: Vec::new(),
        initial: Start::First,
        brand: PhantomData,
    };
    author(&mut builder);
    builder.finish()
}

/// What the closure of [`machine`] writes with.
#[derive(Debug)]
pub struct MachineBuilder<'b> {
    ids: Vec<Str>,
    states: Vec<Members>,
    transitions: Vec<Members>,
    initial: Start,
    brand: Brand<'b>,
}

#[derive(Debug)]
enum Start {
    First,
    Chosen(usize),
    Open,
}

/// A state of a machine that is being written.
#[derive(Debug, Clone, Copy)]
pub struct MachineState<'b> {
    index: usize,
    brand: Brand<'b>,
}

impl<'b> MachineBuilder<'b> {
    /// Declares a state.
    pub fn state(&mut self, id: impl Into<Str>) -> MachineState<'b> {
        let id = id.into();
        let index = self.ids.len();
        self.states.push(Members::of([("id", Value::String(id.clone()))]));
        self.ids.push(id);
        MachineState { index, brand: PhantomData }
    }

    /// Declares a state that tells the host that the machine is done.
    pub fn final_state(&mut self, id: impl Into<Str>) -> MachineState<'b> {
        let state = self.state(id);
        self.set(state, |members| members.set("final", true));
        state
    }

    /// Starts in this state, and not in the first one.
    pub fn initial(&mut self, state: MachineState<'b>) {
        self.initial = Start::Chosen(state.index);
    }

    /// Leaves it to each session where it starts.
    pub fn without_initial(&mut self) {
        self.initial = Start::Open;
    }

    /// Adds an effect of entering the state.
    pub fn entry(&mut self, state: MachineState<'b>, effect: Effect) {
        self.set(state, |members| members.extend("entry", [effect.into_value()]));
    }

    /// Adds an effect of leaving the state.
    pub fn exit(&mut self, state: MachineState<'b>, effect: Effect) {
        self.set(state, |members| members.extend("exit", [effect.into_value()]));
    }

    /// Adds a transition that answers an event.
    pub fn on(
        &mut self,
        from: MachineState<'b>,
        event: impl Into<Str>,
        to: MachineState<'b>,
    ) -> MachineTransition<'_> {
        let event = Value::String(event.into());
        self.add(Members::of([("from", self.id(from)), ("event", event), ("to", self.id(to))]))
    }

    /// Adds a transition that answers every event.
    pub fn on_any(&mut self, from: MachineState<'b>, to: MachineState<'b>) -> MachineTransition<'_> {
        self.add(Members::of([("from", self.id(from)), ("to", self.id(to))]))
    }

    fn add(&mut self, transition: Members) -> MachineTransition<'_> {
        MachineTransition { members: self.transitions.push_mut(transition) }
    }

    fn id(&self, state: MachineState<'b>) -> Value {
        self.ids.get(state.index).into()
    }

    fn set(&mut self, state: MachineState<'b>, change: impl FnOnce(&mut Members)) {
        if let Some(members) = self.states.get_mut(state.index) {
            change(members);
        }
    }

    fn finish(self) -> Result<Value, BuildError> {
        if let Some(error) = duplicate(&self.ids) {
            return Err(error);
        }
        let initial = match self.initial {
            Start::First => self.ids.first(),
            Start::Chosen(index) => self.ids.get(index),
            Start::Open => None,
        };
        Ok(value!({
            "$fsm": "0.1",
            "initial": initial,
            "states": self.states.into_iter().map(Members::into_state).collect::<Value>(),
            "transitions": self.transitions.into_iter().map(Members::build).collect::<Value>()
        }))
    }
}

/// A transition that was added, to say more about it.
#[derive(Debug)]
pub struct MachineTransition<'m> {
    members: &'m mut Members,
}

impl MachineTransition<'_> {
    /// Fires only where the query holds, by effective boolean value.
    pub fn guard(&mut self, query: impl Into<Value>) -> &mut Self {
        self.members.set("guard", query);
        self
    }

    /// Adds an effect.
    pub fn run(&mut self, effect: Effect) -> &mut Self {
        self.members.extend("effects", [effect.into_value()]);
        self
    }
}
