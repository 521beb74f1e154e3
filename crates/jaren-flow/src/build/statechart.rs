//! Building statecharts, jaren-fsm 0.2.

use std::marker::PhantomData;
use std::time::Duration;

use jaren_json::{Str, Value, value};

use super::{Brand, BuildError, Effect, Members, duplicate, milliseconds};

/// Writes a statechart.
///
/// ```
/// use std::time::Duration;
///
/// use jaren_flow::build;
/// use jaren_flow::statechart::Statechart;
///
/// let document = build::statechart(|chart| {
///     let working = chart.compound("working");
///     let editing = chart.within(working).state("editing"); // the first one within: `working` starts there
///     let review = chart.within(working).state("review");
///     let memory = chart.within(working).deep_history("memory");
///     let paused = chart.state("paused");
///     let expired = chart.final_state("expired");
///     chart.on(editing, "submit", review);
///     chart.on(working, "pause", paused);
///     chart.on(paused, "resume", memory);
///     chart.after(review, Duration::from_secs(60), expired);
/// })?;
/// Statechart::compile(&document)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What the types rule out: a compound state without a start, children of an atomic state, a history without a parent,
/// transitions out of final and history states, completion of a state that has no children. So this does not compile:
///
/// ```compile_fail
/// # use jaren_flow::build;
/// let document = build::statechart(|chart| {
///     let end = chart.final_state("end");
///     let start = chart.state("start");
///     chart.on(end, "again", start);
/// });
/// ```
pub fn statechart(author: impl for<'b> FnOnce(&mut StatechartBuilder<'b>)) -> Result<Value, BuildError> {
    let mut builder = StatechartBuilder {
        ids: Vec::new(),
        states: Vec::new(),
        parents: Vec::new(),
        transitions: Vec::new(),
        initial: None,
        brand: PhantomData,
    };
    author(&mut builder);
    builder.finish()
}

/// What the closure of [`statechart`] writes with.
#[derive(Debug)]
pub struct StatechartBuilder<'b> {
    ids: Vec<Str>,
    states: Vec<Members>,
    parents: Vec<Option<Place>>,
    transitions: Vec<Members>,
    initial: Option<usize>,
    brand: Brand<'b>,
}

/// Where a state stands that has children: its index, and whether one of them is its initial.
#[derive(Debug, Clone, Copy)]
struct Place {
    index: usize,
    starts: bool,
}

#[expect(unnameable_types, reason = "no type of another crate is a handle")]
mod sealed {
    /// A handle of this module.
    pub trait Handle: Copy {
        /// The position of its state.
        fn index(self) -> usize;
    }
}
use self::sealed::Handle;

/// Any state, as the target of a transition.
pub trait Target<'b>: Handle {}
/// A state that may be started in, and that may have effects: every one but a history.
pub trait Ordinary<'b>: Target<'b> {}
/// A state that transitions may leave: every one but finals and histories.
pub trait Source<'b>: Ordinary<'b> {}
/// A state that has children.
pub trait Parent<'b>: Source<'b> {
    /// Whether it starts in one of its children, or in all of them.
    #[doc(hidden)]
    fn starts_in_one(self) -> bool;
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $($role:ident)*;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'b> {
            index: usize,
            brand: Brand<'b>,
        }

        impl Handle for $name<'_> {
            fn index(self) -> usize {
                self.index
            }
        }

        $(impl<'b> $role<'b> for $name<'b> {})*
    )*};
}

handles! {
    /// An atomic state.
    State: Target Ordinary Source;
    /// A state of which one child is active.
    Compound: Target Ordinary Source;
    /// A state of which all children are active.
    Parallel: Target Ordinary Source;
    /// A state that completes what it stands in.
    Final: Target Ordinary;
    /// What its parent was in when it was left.
    History: Target;
}

impl<'b> Parent<'b> for Compound<'b> {
    fn starts_in_one(self) -> bool {
        true
    }
}

impl<'b> Parent<'b> for Parallel<'b> {
    fn starts_in_one(self) -> bool {
        false
    }
}

impl<'b> StatechartBuilder<'b> {
    /// Declares an atomic state.
    pub fn state(&mut self, id: impl Into<Str>) -> State<'b> {
        self.level().state(id)
    }

    /// Declares a final state.
    pub fn final_state(&mut self, id: impl Into<Str>) -> Final<'b> {
        self.level().final_state(id)
    }

    /// Declares a compound state. It starts in the first child that it is given.
    pub fn compound(&mut self, id: impl Into<Str>) -> Compound<'b> {
        self.level().compound(id)
    }

    /// Declares a parallel state. Its children are its regions.
    pub fn parallel(&mut self, id: impl Into<Str>) -> Parallel<'b> {
        self.level().parallel(id)
    }

    /// The inside of a state, to declare its children.
    pub fn within(&mut self, parent: impl Parent<'b>) -> Level<'_, 'b> {
        let place = Place { index: parent.index(), starts: parent.starts_in_one() };
        Level { chart: self, parent: Some(place) }
    }

    fn level(&mut self) -> Level<'_, 'b> {
        Level { chart: self, parent: None }
    }

    /// Makes what the state stands in start in it: the chart or a compound state. The regions of a parallel state start
    /// all together, whatever is said here.
    pub fn initial(&mut self, state: impl Ordinary<'b>) {
        let parent = self.parents.get(state.index()).copied().flatten();
        self.start(parent, state.index());
    }

    fn start(&mut self, parent: Option<Place>, index: usize) {
        match parent {
            None => self.initial = Some(index),
            Some(parent) if parent.starts => {
                let id = self.id(index);
                self.set(parent.index, |members| members.set("initial", id));
            }
            Some(_) => {}
        }
    }

    /// Adds an effect of entering the state.
    pub fn entry(&mut self, state: impl Ordinary<'b>, effect: Effect) {
        self.set(state.index(), |members| members.extend("entry", [effect.into_value()]));
    }

    /// Adds an effect of leaving the state.
    pub fn exit(&mut self, state: impl Ordinary<'b>, effect: Effect) {
        self.set(state.index(), |members| members.extend("exit", [effect.into_value()]));
    }

    /// Adds a transition that answers an event.
    pub fn on(
        &mut self,
        from: impl Source<'b>,
        event: impl Into<Str>,
        to: impl Target<'b>,
    ) -> ChartTransition<'_> {
        self.add(from, Some(("event", Value::String(event.into()))), to)
    }

    /// Adds a transition that answers every event.
    pub fn on_any(&mut self, from: impl Source<'b>, to: impl Target<'b>) -> ChartTransition<'_> {
        self.add(from, None, to)
    }

    /// Adds a transition that fires after a time in the state.
    pub fn after(
        &mut self,
        from: impl Source<'b>,
        delay: Duration,
        to: impl Target<'b>,
    ) -> ChartTransition<'_> {
        self.add(from, Some(("after", milliseconds(delay))), to)
    }

    /// Adds a transition that fires by itself, once its guard holds.
    pub fn always(&mut self, from: impl Source<'b>, to: impl Target<'b>) -> ChartTransition<'_> {
        self.add(from, Some(("always", Value::Bool(true))), to)
    }

    /// Adds a transition that fires when what is within the state has completed.
    pub fn done(&mut self, from: impl Parent<'b>, to: impl Target<'b>) -> ChartTransition<'_> {
        self.add(from, Some(("done", Value::Bool(true))), to)
    }

    fn add(
        &mut self,
        from: impl Handle,
        trigger: Option<(&'static str, Value)>,
        to: impl Handle,
    ) -> ChartTransition<'_> {
        let mut members = Members::of([("from", self.id(from.index()))]);
        if let Some((name, value)) = trigger {
            members.set(name, value);
        }
        members.set("to", self.id(to.index()));
        ChartTransition { members: self.transitions.push_mut(members) }
    }

    fn id(&self, index: usize) -> Value {
        self.ids.get(index).into()
    }

    fn set(&mut self, index: usize, change: impl FnOnce(&mut Members)) {
        if let Some(members) = self.states.get_mut(index) {
            change(members);
        }
    }

    fn finish(self) -> Result<Value, BuildError> {
        if let Some(error) = duplicate(&self.ids) {
            return Err(error);
        }
        let initial = self.initial.and_then(|index| self.ids.get(index));
        Ok(value!({
            "$fsm": "0.2",
            "initial": initial,
            "states": self.states.into_iter().map(Members::into_state).collect::<Value>(),
            "transitions": self.transitions.into_iter().map(Members::build).collect::<Value>()
        }))
    }
}

/// The inside of a state, where its children are declared.
#[derive(Debug)]
pub struct Level<'c, 'b> {
    chart: &'c mut StatechartBuilder<'b>,
    parent: Option<Place>,
}

impl<'b> Level<'_, 'b> {
    /// Declares an atomic state.
    pub fn state(self, id: impl Into<Str>) -> State<'b> {
        State { index: self.declare(id, true, None), brand: PhantomData }
    }

    /// Declares a final state.
    pub fn final_state(self, id: impl Into<Str>) -> Final<'b> {
        Final { index: self.declare(id, true, Some(("final", true.into()))), brand: PhantomData }
    }

    /// Declares a compound state. It starts in the first child that it is given.
    pub fn compound(self, id: impl Into<Str>) -> Compound<'b> {
        Compound { index: self.declare(id, true, Some(("type", "compound".into()))), brand: PhantomData }
    }

    /// Declares a parallel state. Its children are its regions.
    pub fn parallel(self, id: impl Into<Str>) -> Parallel<'b> {
        Parallel { index: self.declare(id, true, Some(("type", "parallel".into()))), brand: PhantomData }
    }

    /// Declares the memory of which children were active.
    pub fn shallow_history(self, id: impl Into<Str>) -> History<'b> {
        History { index: self.declare(id, false, Some(("history", "shallow".into()))), brand: PhantomData }
    }

    /// Declares the memory of which states were active, all the way down.
    pub fn deep_history(self, id: impl Into<Str>) -> History<'b> {
        History { index: self.declare(id, false, Some(("history", "deep".into()))), brand: PhantomData }
    }

    fn declare(self, id: impl Into<Str>, is_ordinary: bool, kind: Option<(&'static str, Value)>) -> usize {
        let Self { chart, parent } = self;
        let id = id.into();
        let index = chart.ids.len();
        let mut members = Members::of([("id", Value::String(id.clone()))]);
        if let Some(parent) = parent {
            members.set("parent", chart.id(parent.index));
        }
        if let Some((name, value)) = kind {
            members.set(name, value);
        }
        chart.ids.push(id);
        chart.states.push(members);
        chart.parents.push(parent);
        let has_start = match parent {
            None => chart.initial.is_some(),
            Some(parent) => chart.states.get(parent.index).is_some_and(|members| members.has("initial")),
        };
        if is_ordinary && !has_start {
            chart.start(parent, index);
        }
        index
    }
}

/// A transition that was added, to say more about it.
#[derive(Debug)]
pub struct ChartTransition<'c> {
    members: &'c mut Members,
}

impl ChartTransition<'_> {
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

    /// Stays in the source, leaving only what is active within it. The target must be the source or lie within it.
    pub fn internal(&mut self) -> &mut Self {
        self.members.set("type", "internal");
        self
    }
}
