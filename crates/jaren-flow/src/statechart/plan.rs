//! The compiled statechart: states in tree order, so that "below" is a range, and transitions by their source.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use jaren_json::{Str, Value};

use super::read::Trigger;
use crate::document::statechart::HistoryType;
use crate::effect::EffectPlan;
use crate::guard::Guard;

/// A state's position in tree order: parents before children, siblings as declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StateId(pub(super) usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Atomic,
    Final,
    Compound { initial: StateId },
    Parallel,
    History(HistoryType),
}

impl Kind {
    /// Whether it is a leaf of a configuration.
    pub(super) fn is_leaf(self) -> bool {
        matches!(self, Self::Atomic | Self::Final)
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) id: Str,
    pub(super) kind: Kind,
    pub(super) parent: Option<StateId>,
    /// The last state below this one, itself when there is none.
    pub(super) last: StateId,
    /// Its ordinary children in order.
    pub(super) children: Vec<StateId>,
    /// Its history children in order.
    pub(super) histories: Vec<StateId>,
    pub(super) entry: Vec<EffectPlan>,
    pub(super) exit: Vec<EffectPlan>,
    /// Its transitions on external events, wildcards among them, in document order.
    pub(super) on_event: Vec<usize>,
    /// Its `always` and `done` transitions in document order.
    pub(super) automatic: Vec<usize>,
    /// Its delayed transitions in document order.
    pub(super) delayed: Vec<usize>,
    /// `[id]`: what `$.state` is when this leaf alone is active.
    pub(super) alone: Value,
}

#[derive(Debug)]
pub(super) struct Transition {
    pub(super) from: StateId,
    pub(super) to: StateId,
    pub(super) trigger: Trigger,
    pub(super) guard: Option<Guard>,
    pub(super) effects: Vec<EffectPlan>,
    /// Firing exits every active state below it; `None` is the root of all.
    pub(super) domain: Option<StateId>,
}

/// Everything that stepping reads.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) states: Vec<State>,
    /// The states without a parent, in order.
    pub(super) roots: Vec<StateId>,
    pub(super) transitions: Vec<Transition>,
    pub(super) by_id: BTreeMap<Str, StateId>,
    pub(super) initial: StateId,
    pub(super) microsteps_max: NonZeroU64,
    /// Whether any transition is `always` or `done`.
    pub(super) is_automatic: bool,
}

impl Plan {
    #[expect(clippy::indexing_slicing, reason = "a StateId is minted by the compiler of this very plan")]
    pub(super) fn state(&self, id: StateId) -> &State {
        &self.states[id.0]
    }

    #[expect(clippy::indexing_slicing, reason = "transition indices are minted by the compiler of this plan")]
    pub(super) fn transition(&self, index: usize) -> &Transition {
        &self.transitions[index]
    }

    pub(super) fn find(&self, id: &str) -> Option<StateId> {
        self.by_id.get(id).copied()
    }

    /// Strictly below; everything is below the root of all.
    pub(super) fn is_below(&self, id: StateId, ancestor: Option<StateId>) -> bool {
        ancestor.is_none_or(|ancestor| id > ancestor && id <= self.state(ancestor).last)
    }

    pub(super) fn is_within(&self, id: StateId, ancestor: StateId) -> bool {
        id == ancestor || self.is_below(id, Some(ancestor))
    }

    /// The state and its ancestors, innermost first.
    pub(super) fn lineage(&self, id: StateId) -> impl Iterator<Item = StateId> + '_ {
        std::iter::successors(Some(id), |id| self.state(*id).parent)
    }

    /// The states of a configuration: its leaves, in tree order, and all that is above them.
    pub(super) fn closure(&self, leaves: &[StateId]) -> Vec<StateId> {
        let mut active: Vec<StateId> = Vec::with_capacity(leaves.len() * 4);
        for leaf in leaves {
            let start = active.len();
            for id in self.lineage(*leaf) {
                if active.get(..start).is_some_and(|known| known.binary_search(&id).is_ok()) {
                    break;
                }
                active.push(id);
            }
            if let Some(new) = active.get_mut(start..) {
                new.reverse();
            }
        }
        active
    }

    /// The states of the configuration `active` strictly below `ancestor`, as a run of it.
    pub(super) fn below<'a>(&self, active: &'a [StateId], ancestor: Option<StateId>) -> &'a [StateId] {
        let Some(ancestor) = ancestor else { return active };
        let start = active.partition_point(|id| *id <= ancestor);
        let end = active.partition_point(|id| *id <= self.state(ancestor).last);
        active.get(start..end).unwrap_or_default()
    }

    /// Whether an active state is completed: a final one, a compound one with an active final child, a parallel
    /// one whose regions all are.
    pub(super) fn is_complete(&self, id: StateId, leaves: &[StateId]) -> bool {
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let state = self.state(id);
            let complete = match state.kind {
                Kind::Final => true,
                Kind::Parallel => {
                    open.extend(&state.children);
                    true
                }
                // A final child is a leaf.
                Kind::Compound { .. } => self.below(leaves, Some(id)).first().is_some_and(|leaf| {
                    let leaf = self.state(*leaf);
                    leaf.kind == Kind::Final && leaf.parent == Some(id)
                }),
                Kind::Atomic | Kind::History(_) => false,
            };
            if !complete {
                return false;
            }
        }
        true
    }

    /// `$.state`: the ids of the active leaves.
    pub(super) fn leaf_ids(&self, leaves: &[StateId]) -> Value {
        match leaves {
            [leaf] => self.state(*leaf).alone.clone(),
            _ => {
                Value::Array(leaves.iter().map(|leaf| Value::String(self.state(*leaf).id.clone())).collect())
            }
        }
    }

    pub(super) fn names(&self, ids: &[StateId]) -> Vec<Str> {
        ids.iter().map(|id| self.state(*id).id.clone()).collect()
    }
}
