//! Compiling a jaren-fsm 0.1 document: JF0001 to JF0009.

use std::collections::BTreeMap;

use jaren_json::{Object, Pointer, Str, Value};

use super::places::Places;
use super::read;
use crate::defects::Defects;
use crate::effect::{EffectPlan, compile_effects};
use crate::guard::Guard;
use crate::options::Queries;

#[derive(Debug)]
pub(super) struct StatePlan {
    /// In the document.
    pub(super) position: usize,
    pub(super) id: Str,
    /// `$.state` in this state: its id.
    pub(super) name: Value,
    /// The events that its transitions name, strings, each once.
    pub(super) events: Vec<Value>,
    /// Its transitions in document order.
    pub(super) transitions: Vec<Transition>,
    pub(super) is_final: bool,
    pub(super) entry: Box<[EffectPlan]>,
    pub(super) exit: Box<[EffectPlan]>,
}

#[derive(Debug)]
pub(super) struct Transition {
    /// The position of its event among those of its state; `None` is any event.
    pub(super) event: Option<usize>,
    pub(super) to: usize,
    pub(super) guard: Option<Guard>,
    pub(super) effects: Box<[EffectPlan]>,
}

impl StatePlan {
    /// The position of an event that a transition names, added where it is new. `known` finds those that are not.
    fn name_event(&mut self, event: &Str, known: &mut BTreeMap<(usize, Str), usize>, state: usize) -> usize {
        *known.entry((state, event.clone())).or_insert_with(|| {
            self.events.push(event.into());
            self.events.len() - 1
        })
    }
}

#[derive(Debug)]
pub(super) struct Plan {
    /// In document order.
    pub(super) states: Vec<StatePlan>,
    pub(super) places: Places,
    pub(super) initial: Option<usize>,
}

impl Plan {
    /// The state at that position.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "positions are those that this plan's states have")]
    pub(super) fn state(&self, position: usize) -> &StatePlan {
        &self.states[position]
    }
}

/// A plan on the way.
#[derive(Default)]
struct Draft {
    states: Vec<StatePlan>,
    by_id: BTreeMap<Str, usize>,
    /// The positions of named events, by state.
    events: BTreeMap<(usize, Str), usize>,
}

/// Compiles into `defects`; a plan comes out only when the document is sound.
pub(super) fn check(document: &Value, queries: &Queries, defects: &mut Defects) -> Option<Plan> {
    let before = defects.count();
    let head = read::head(document, defects)?;
    let mut draft = Draft::default();
    let items = read::list(head, "states", "JF0002", defects)?;
    for (index, item) in items.iter().enumerate() {
        let pointer = Pointer::root().child("states").child_index(index);
        state(item, &pointer, &mut draft, queries, defects);
    }
    let initial = initial(head, &draft, defects);
    let items = read::list(head, "transitions", "JF0005", defects)?;
    for (index, item) in items.iter().enumerate() {
        let pointer = Pointer::root().child("transitions").child_index(index);
        transition(item, &pointer, &mut draft, queries, defects);
    }
    let Draft { states, .. } = draft;
    (defects.count() == before).then(|| Plan { places: Places::new(&states), states, initial })
}

fn state(item: &Value, pointer: &Pointer, draft: &mut Draft, queries: &Queries, defects: &mut Defects) {
    let Some((id, is_final)) = read::state(item, pointer, defects) else { return };
    let entry = compile_effects(item.get("entry"), &pointer.child("entry"), queries, defects);
    let exit = compile_effects(item.get("exit"), &pointer.child("exit"), queries, defects);
    if draft.by_id.contains_key(id) {
        defects.push("JF0003", pointer.clone(), format!("another state has the id '{id}' already"));
        return;
    }
    draft.by_id.insert(id.clone(), draft.states.len());
    draft.states.push(StatePlan {
        position: draft.states.len(),
        id: id.clone(),
        name: id.into(),
        events: Vec::new(),
        transitions: Vec::new(),
        is_final,
        entry: entry.into(),
        exit: exit.into(),
    });
}

fn initial(head: &Object, draft: &Draft, defects: &mut Defects) -> Option<usize> {
    let named = head.get("initial");
    let found = named.and_then(Value::as_str).and_then(|id| draft.by_id.get(id)).copied();
    if found.is_none() && named.is_none_or(|named| !named.is_null()) {
        let near = defects.suggest(named, draft.states.iter().map(|state| state.id.as_str()));
        let message = format!("initial must name a declared state, or be null{near}");
        defects.push("JF0004", Pointer::root().child("initial"), message);
    }
    found
}

fn transition(item: &Value, pointer: &Pointer, draft: &mut Draft, queries: &Queries, defects: &mut Defects) {
    let Some(document) = read::transition(item, pointer, defects) else { return };
    let mut end = |id: &Str, member: &str| {
        let found = draft.by_id.get(id).copied();
        if found.is_none() {
            let near = defects.suggest(Some(&id.into()), draft.states.iter().map(|state| state.id.as_str()));
            let message = format!("\"{member}\" of a transition must name a declared state{near}");
            defects.push("JF0006", pointer.child(member), message);
        }
        found
    };
    let (from, to) = (end(document.from, "from"), end(document.to, "to"));
    let guard = Guard::compile(document.object.get("guard"), pointer, queries, defects);
    let effects =
        compile_effects(document.object.get("effects"), &pointer.child("effects"), queries, defects).into();
    let Some((from, to)) = from.zip(to) else { return };
    if let Some(state) = draft.states.get_mut(from) {
        let event = document.event.map(|event| state.name_event(event, &mut draft.events, from));
        state.transitions.push(Transition { event, to, guard, effects });
    }
}
