//! Configurations: completing one from the states that transitions lead to, and which transitions fire together.

use super::plan::{Kind, Plan, StateId, Transition};

/// A configuration being made of the states that transitions lead to and those that stay.
pub(super) struct Filled {
    /// The active states in tree order.
    pub(super) active: Vec<StateId>,
    /// Whether no compound state has two active children.
    pub(super) is_legal: bool,
}

/// Completes `seeds`, which are in tree order, to a configuration: regions that none of them names, and initial
/// children, are filled in.
pub(super) fn fill(plan: &Plan, seeds: &[StateId]) -> Filled {
    let mut filled = Filled { active: Vec::new(), is_legal: true };
    let mut open = Vec::new();
    open_seeded(plan, &plan.roots, seeds, &mut open, &mut filled);
    while let Some(id) = open.pop() {
        filled.active.push(id);
        let state = plan.state(id);
        match state.kind {
            Kind::Parallel => open.extend(state.children.iter().rev()),
            Kind::Compound { initial } => match plan.below(seeds, Some(id)) {
                [] => open.push(initial),
                seeds => open_seeded(plan, &state.children, seeds, &mut open, &mut filled),
            },
            Kind::Atomic | Kind::Final | Kind::History(_) => {}
        }
    }
    filled
}

/// Opens the siblings that a seed is in, the first one last so that it is taken first. More than one is no legal
/// configuration: see [`Control::is_legal`].
fn open_seeded(
    plan: &Plan,
    siblings: &[StateId],
    mut seeds: &[StateId],
    open: &mut Vec<StateId>,
    filled: &mut Filled,
) {
    let start = open.len();
    while let Some(seed) = seeds.first() {
        // The last sibling that does not come after the seed holds it.
        let after = siblings.partition_point(|sibling| sibling <= seed);
        let Some(holder) = after.checked_sub(1).and_then(|index| siblings.get(index)) else { break };
        open.push(*holder);
        let last = plan.state(*holder).last;
        seeds = seeds.get(seeds.partition_point(|seed| *seed <= last)..).unwrap_or_default();
    }
    filled.is_legal &= open.len() <= start + 1;
    if let Some(opened) = open.get_mut(start..) {
        opened.reverse();
    }
}

/// The leaves of a configuration.
pub(super) fn leaves(plan: &Plan, active: &[StateId]) -> Vec<StateId> {
    active.iter().copied().filter(|id| plan.state(*id).kind.is_leaf()).collect()
}

/// Whether the active root state is completed.
pub(super) fn is_final(plan: &Plan, leaves: &[StateId]) -> bool {
    let root = leaves.first().and_then(|leaf| plan.lineage(*leaf).last());
    root.is_some_and(|root| plan.is_complete(root, leaves))
}

/// Of two conflicting transitions the one with the inner source fires, otherwise the one selected first; what
/// remains is put in document order.
pub(super) fn resolve_conflicts(plan: &Plan, mut enabled: Vec<usize>) -> Vec<usize> {
    if enabled.len() < 2 {
        return enabled;
    }
    if are_apart(plan, &enabled) {
        enabled.sort_unstable();
        return enabled;
    }
    let mut selected: Vec<usize> = Vec::with_capacity(enabled.len());
    for index in enabled {
        let transition = plan.transition(index);
        let conflicts = |other: &usize| conflict(plan, transition, plan.transition(*other));
        let loses = |other: &usize| !plan.is_below(transition.from, Some(plan.transition(*other).from));
        if selected.iter().any(|other| conflicts(other) && loses(other)) {
            continue;
        }
        selected.retain(|other| !conflicts(other));
        selected.push(index);
    }
    selected.sort_unstable();
    selected
}

/// Whether each transition keeps to a part of the tree that comes after the one before it, as those of regions do. A
/// domain holds its source, so such transitions cannot conflict.
fn are_apart(plan: &Plan, enabled: &[usize]) -> bool {
    enabled.iter().zip(enabled.iter().skip(1)).all(|(one, next)| {
        let [one, next] = [one, next].map(|index| plan.transition(*index).domain);
        one.zip(next).is_some_and(|(one, next)| plan.state(one).last < next)
    })
}

/// Whether two transitions exit a common state or one's source is within the other's.
fn conflict(plan: &Plan, a: &Transition, b: &Transition) -> bool {
    plan.is_within(a.from, b.from)
        || plan.is_within(b.from, a.from)
        || exits_overlap(plan, a.domain, b.domain)
}

/// Whether something is active below both: below the inner one of two nested domains, unless that is a leaf.
fn exits_overlap(plan: &Plan, a: Option<StateId>, b: Option<StateId>) -> bool {
    let inner = match (a, b) {
        (None, inner) | (inner, None) => inner,
        (Some(a), Some(b)) if plan.is_within(a, b) => Some(a),
        (Some(a), Some(b)) if plan.is_within(b, a) => Some(b),
        _ => return false,
    };
    inner.is_none_or(|inner| !plan.state(inner).kind.is_leaf())
}
