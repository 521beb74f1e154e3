//! Compiling a jaren-fsm 0.2 document: hierarchy, types, initial states, references and domains (JF0020), guards
//! (JF0007) and effects (JF0008, JF0009).

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Diagnostic, Object, Pointer, Str, Value};

use super::plan::{Kind, Plan, State, StateId, Transition};
use super::read::{self, StateDocument, Trigger};
use crate::defects::Defects;
use crate::document::statechart::{HistoryType, StateType};
use crate::effect::{EffectPlan, compile_effects};
use crate::guard::Guard;
use crate::options::Queries;

const CODE: &str = "JF0020";

/// Compiles into `defects`; a plan comes out only when the document is sound.
pub(super) fn check(document: &Value, queries: &Queries, defects: &mut Defects) -> Option<Plan> {
    let before = defects.count();
    let head = read::head(document, defects)?;
    let declared = declared(read::states(head, defects), queries, defects);
    if declared.is_empty() {
        return None;
    }
    let tree = Tree::grow(declared, defects);
    let initial = initial(head, &tree, defects);
    let states = tree.into_states();
    let by_id: BTreeMap<Str, StateId> =
        states.iter().enumerate().map(|(index, state)| (state.id.clone(), StateId(index))).collect();
    let initial = initial.and_then(|id| by_id.get(&id).copied()).unwrap_or(StateId(0));
    let pointer = Pointer::root().child("transitions");
    let Some(Value::Array(items)) = head.get("transitions") else {
        defects.push(CODE, pointer, "transitions must be a list");
        return None;
    };
    let roots = (0..states.len()).map(StateId);
    let roots = roots.filter(|id| states.get(id.0).is_some_and(|state| state.parent.is_none())).collect();
    let mut plan = Plan {
        states,
        roots,
        transitions: Vec::with_capacity(items.len()),
        by_id,
        initial,
        microsteps_max: queries.microsteps_max,
        is_automatic: false,
    };
    for (index, item) in items.iter().enumerate() {
        let compiled = transition(item, &pointer.child_index(index), &plan, queries, defects);
        if let Some(transition) = compiled {
            index_by_source(&mut plan, &transition);
            plan.transitions.push(transition);
        }
    }
    (defects.count() == before).then_some(plan)
}

/// One declaration, and its effects.
#[derive(Debug)]
struct Declared<'a> {
    shape: StateDocument<'a>,
    entry: Vec<EffectPlan>,
    exit: Vec<EffectPlan>,
}

/// The declarations, without those that are refused.
fn declared<'a>(items: &'a [Value], queries: &Queries, defects: &mut Defects) -> Vec<Declared<'a>> {
    let mut seen = BTreeSet::new();
    let mut declared = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let pointer = Pointer::root().child("states").child_index(index);
        let Some(shape) = read::state(item, pointer, &mut seen, defects) else { continue };
        let entry = compile_effects(shape.entry, &shape.pointer.child("entry"), queries, defects);
        let exit = compile_effects(shape.exit, &shape.pointer.child("exit"), queries, defects);
        declared.push(Declared { shape, entry, exit });
    }
    declared
}

/// Lists a transition, which is the next one of the plan, at its source.
fn index_by_source(plan: &mut Plan, transition: &Transition) {
    // Of a sound document that is its position in the document too, for nothing is left out.
    let index = plan.transitions.len();
    plan.is_automatic |= matches!(transition.trigger, Trigger::Done | Trigger::Always);
    let Some(source) = plan.states.get_mut(transition.from.0) else { return };
    match transition.trigger {
        Trigger::Any | Trigger::Event(_) => source.on_event.push(index),
        Trigger::Done | Trigger::Always => source.automatic.push(index),
        Trigger::After(_) => source.delayed.push(index),
    }
}

/// The declared states with their parents resolved. Positions are those of the declarations.
struct Tree<'a> {
    declared: Vec<Declared<'a>>,
    /// `None` also where the declared parent is unusable.
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    /// The states whose declared parent is unusable: what names one is not wrong on that account.
    displaced: BTreeSet<Str>,
}

impl<'a> Tree<'a> {
    fn grow(declared: Vec<Declared<'a>>, defects: &mut Defects) -> Self {
        let by_id: BTreeMap<&str, usize> =
            declared.iter().enumerate().map(|(index, state)| (state.shape.id.as_str(), index)).collect();
        let mut stated: Vec<Option<usize>> = declared
            .iter()
            .map(|state| state.shape.parent.as_ref().and_then(|parent| by_id.get(parent.as_str()).copied()))
            .collect();
        refuse_bad_parents(&declared, &mut stated, defects);
        let mut children = vec![Vec::new(); declared.len()];
        for (index, parent) in stated.iter().enumerate() {
            if let Some(list) = parent.and_then(|parent| children.get_mut(parent)) {
                list.push(index);
            }
        }
        let displaced = declared
            .iter()
            .zip(&stated)
            .filter(|(state, parent)| state.shape.parent.is_some() && parent.is_none())
            .map(|(state, _)| state.shape.id.clone())
            .collect();
        let tree = Self { declared, parents: stated, children, displaced };
        for index in 0..tree.declared.len() {
            tree.check_type(index, defects);
        }
        tree
    }

    #[expect(clippy::indexing_slicing, reason = "positions come from enumerating `declared`")]
    fn state(&self, index: usize) -> &StateDocument<'a> {
        &self.declared[index].shape
    }

    fn is_history(&self, index: usize) -> bool {
        self.state(index).declared == Some(StateType::History)
    }

    fn children(&self, index: usize) -> &[usize] {
        self.children.get(index).map_or(&[], Vec::as_slice)
    }

    fn ordinary(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        self.children(index).iter().copied().filter(|child| !self.is_history(*child))
    }

    /// The type, inferred where it is not stated.
    fn kind(&self, index: usize) -> StateType {
        self.state(index).declared.unwrap_or_else(|| {
            if self.ordinary(index).next().is_some() { StateType::Compound } else { StateType::Atomic }
        })
    }

    /// The rules of section 1's table for one state.
    fn check_type(&self, index: usize, defects: &mut Defects) {
        let state = self.state(index);
        let kind = self.kind(index);
        match kind {
            StateType::Atomic | StateType::Final | StateType::History => {
                if !self.children(index).is_empty() {
                    let message = format!("a state of type {} cannot have children", kind.word());
                    defects.push(CODE, state.pointer.clone(), message);
                }
            }
            StateType::Compound => {
                let initial = state.initial.as_deref();
                let sound = self.ordinary(index).any(|child| Some(&*self.state(child).id) == initial);
                if !sound && !self.is_displaced(initial) {
                    let message = "a compound state needs an initial that names one of its own children";
                    defects.push(CODE, state.pointer.child("initial"), message);
                }
            }
            StateType::Parallel => {
                if self.ordinary(index).next().is_none() {
                    let message = "a parallel state needs at least one region";
                    defects.push(CODE, state.pointer.clone(), message);
                }
            }
        }
        if kind != StateType::Compound
            && state.initial.is_some()
            && !self.is_displaced(state.initial.as_deref())
        {
            let message = format!("only a compound state has an initial, this one is {}", kind.word());
            defects.push(CODE, state.pointer.child("initial"), message);
        }
        if kind == StateType::History {
            let parentless = state.parent.is_none();
            if parentless || state.history.is_none() || self.has_effects(index) {
                let message = "a history state needs a parent and \"history\": \"shallow\" or \"deep\", and has no effects";
                defects.push(CODE, state.pointer.clone(), message);
            }
        }
    }

    fn has_effects(&self, index: usize) -> bool {
        self.declared.get(index).is_some_and(|state| !state.entry.is_empty() || !state.exit.is_empty())
    }

    fn is_displaced(&self, id: Option<&str>) -> bool {
        id.is_some_and(|id| self.displaced.contains(id))
    }

    /// The positions of the declarations in tree order. Without recursion: a document may nest as deep as it likes.
    fn order(&self) -> Vec<usize> {
        let roots = (0..self.declared.len()).filter(|index| self.parents.get(*index) == Some(&None));
        let mut open: Vec<usize> = roots.collect();
        open.reverse();
        let mut order = Vec::with_capacity(self.declared.len());
        while let Some(index) = open.pop() {
            order.push(index);
            open.extend(self.children(index).iter().rev());
        }
        order
    }

    /// The states in tree order.
    fn into_states(mut self) -> Vec<State> {
        let order = self.order();
        let mut ranks = vec![StateId(0); self.declared.len()];
        for (position, index) in order.iter().enumerate() {
            if let Some(rank) = ranks.get_mut(*index) {
                *rank = StateId(position);
            }
        }
        let ranked = |index: usize| ranks.get(index).copied().unwrap_or(StateId(0));
        let mut states: Vec<State> = Vec::with_capacity(order.len());
        for index in order {
            let own = ranked(index);
            let initial = self.state(index).initial.as_deref();
            let initial = self.ordinary(index).find(|child| Some(&*self.state(*child).id) == initial);
            let kind = match self.kind(index) {
                StateType::Compound => Kind::Compound { initial: initial.map_or(own, ranked) },
                StateType::Parallel => Kind::Parallel,
                StateType::Final => Kind::Final,
                StateType::History => {
                    Kind::History(self.state(index).history.unwrap_or(HistoryType::Shallow))
                }
                StateType::Atomic => Kind::Atomic,
            };
            let (histories, children): (Vec<usize>, Vec<usize>) =
                self.children(index).iter().partition(|child| self.is_history(**child));
            let parent = self.parents.get(index).copied().flatten().map(ranked);
            let Some(state) = self.declared.get_mut(index) else { continue };
            states.push(State {
                id: state.shape.id.clone(),
                kind,
                parent,
                last: own,
                children: children.into_iter().map(ranked).collect(),
                histories: histories.into_iter().map(ranked).collect(),
                entry: std::mem::take(&mut state.entry),
                exit: std::mem::take(&mut state.exit),
                on_event: Vec::new(),
                automatic: Vec::new(),
                delayed: Vec::new(),
                alone: Value::from([Value::String(state.shape.id.clone())]),
            });
        }
        measure(&mut states);
        states
    }
}

/// Finds each state's last descendant, which is that of its last child: children come after their parents.
fn measure(states: &mut [State]) {
    for position in (0..states.len()).rev() {
        let Some((Some(parent), last)) = states.get(position).map(|state| (state.parent, state.last)) else {
            continue;
        };
        if let Some(parent) = states.get_mut(parent.0) {
            parent.last = parent.last.max(last);
        }
    }
}

/// Refuses undeclared parents and one parent of each cycle, and cuts the tree there.
fn refuse_bad_parents(declared: &[Declared<'_>], parents: &mut [Option<usize>], defects: &mut Defects) {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        Unknown,
        /// On the walk that started at this state.
        Walk(usize),
        Sound,
        Cyclic,
    }
    let mut marks = vec![Mark::Unknown; declared.len()];
    let mut cyclic = Vec::new();
    for (start, state) in declared.iter().enumerate() {
        let state = &state.shape;
        if state.parent.is_some() && parents.get(start) == Some(&None) {
            let parent = state.parent.clone().map(Value::String);
            let near = defects.suggest(parent.as_ref(), declared.iter().map(|state| state.shape.id.as_str()));
            let message = format!("the parent is not a declared state{near}");
            defects.push(CODE, state.pointer.child("parent"), message);
        }
        let mut walk = Vec::new();
        let mut here = Some(start);
        let verdict = loop {
            let Some(index) = here else { break Mark::Sound };
            match marks.get_mut(index) {
                Some(mark @ Mark::Unknown) => *mark = Mark::Walk(start),
                Some(Mark::Walk(_)) => {
                    defects.push(CODE, state.pointer.child("parent"), "the parents form a cycle");
                    break Mark::Cyclic;
                }
                Some(known) => break *known,
                None => break Mark::Sound,
            }
            walk.push(index);
            here = parents.get(index).copied().flatten();
        };
        for index in walk {
            if let Some(mark) = marks.get_mut(index) {
                *mark = verdict;
            }
            if verdict == Mark::Cyclic {
                cyclic.push(index);
            }
        }
    }
    for index in cyclic {
        if let Some(parent) = parents.get_mut(index) {
            *parent = None;
        }
    }
}

/// The id of the initial root state.
fn initial(head: &Object, tree: &Tree<'_>, defects: &mut Defects) -> Option<Str> {
    let named = head.get("initial").and_then(Value::as_str);
    let sound = tree
        .declared
        .iter()
        .position(|state| Some(&*state.shape.id) == named)
        .filter(|index| tree.state(*index).parent.is_none() && !tree.is_history(*index));
    if sound.is_none() && !tree.is_displaced(named) {
        let near =
            defects.suggest(head.get("initial"), tree.declared.iter().map(|state| state.shape.id.as_str()));
        let message = format!("initial must name an ordinary state that has no parent{near}");
        defects.push(CODE, Pointer::root().child("initial"), message);
    }
    sound.map(|index| tree.state(index).id.clone())
}

/// Compiles one transition against the tree; its defects are found in the reference's order.
fn transition(
    item: &Value,
    pointer: &Pointer,
    plan: &Plan,
    queries: &Queries,
    defects: &mut Defects,
) -> Option<Transition> {
    let endpoint = |member| item.get(member).and_then(Value::as_str).and_then(|id| plan.find(id));
    let ends = endpoint("from").zip(endpoint("to"));
    if ends.is_none() {
        let member = ["from", "to"].into_iter().find(|member| endpoint(member).is_none());
        let member = member.unwrap_or("from");
        let near = defects.suggest(item.get(member), plan.by_id.keys().map(Str::as_str));
        let message = format!("\"{member}\" of a transition must name a declared state{near}");
        let mut place = pointer.clone();
        if item.get(member).is_some() {
            place.push(member);
        }
        defects.add(Diagnostic::new(CODE, pointer.clone(), message).with_place(place));
    }
    let object = item.as_object()?;
    read::transition_members(object, pointer, defects);
    let source = endpoint("from").map(|from| plan.state(from).kind);
    if matches!(source, Some(Kind::Final | Kind::History(_))) {
        let message = "a final or history state has no outgoing transitions";
        defects.push(CODE, pointer.child("from"), message);
    }
    let trigger = read::trigger(object, pointer, defects);
    if trigger == Trigger::Done
        && source.is_some_and(|kind| !matches!(kind, Kind::Compound { .. } | Kind::Parallel))
    {
        let message = "done needs a source that is compound or parallel";
        defects.push(CODE, pointer.child("done"), message);
    }
    let internal = read::is_internal(object);
    let inside = ends.is_none_or(|(from, to)| plan.is_within(to, from));
    if internal.is_none() || (internal == Some(true) && !inside) {
        let message = "type is external or internal, and an internal transition stays within its source";
        defects.push(CODE, pointer.child("type"), message);
    }
    let guard = Guard::compile(object.get("guard"), pointer, queries, defects);
    let effects = compile_effects(object.get("effects"), &pointer.child("effects"), queries, defects);
    let (from, to) = ends?;
    let domain = if internal == Some(true) { Some(from) } else { domain(plan, from, to) };
    Some(Transition { from, to, trigger, guard, effects, domain })
}

/// The nearest proper ancestor of both ends that is not parallel. A history state counts by its own place, not
/// its parent's: a jump from its sibling must not exit the parent and so overwrite what was remembered.
fn domain(plan: &Plan, from: StateId, to: StateId) -> Option<StateId> {
    plan.lineage(from)
        .skip(1)
        .find(|id| plan.state(*id).kind != Kind::Parallel && plan.is_below(to, Some(*id)))
}
