//! The proof that no cycle runs for ever: every cycle of edges that are followed without an external event crosses a
//! state with a `limit` (workflow format, section 1).

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::Str;

/// One state, whether it is bounded, and the states it may go to by itself.
#[derive(Debug)]
pub(super) struct Links {
    pub(super) id: Str,
    pub(super) bounded: bool,
    pub(super) next: Vec<Str>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Unseen,
    Open,
    Closed,
}

/// The states at which a walk in declaration order closes a cycle that nothing bounds, each once, in the order found.
pub(super) fn unbounded(states: &[Links]) -> Vec<usize> {
    let by_id: BTreeMap<&str, usize> =
        states.iter().enumerate().map(|(index, state)| (state.id.as_str(), index)).collect();
    let mut marks: Vec<Mark> =
        states.iter().map(|state| if state.bounded { Mark::Closed } else { Mark::Unseen }).collect();
    let mut reported = BTreeSet::new();
    let mut found = Vec::new();
    for start in 0..states.len() {
        // A walk without recursion: each entry is a state and how many of its edges were followed.
        let mut walk: Vec<(usize, usize)> = Vec::new();
        let mut step = Some(start);
        loop {
            if let Some(index) = step.take() {
                match marks.get_mut(index) {
                    Some(mark @ Mark::Unseen) => {
                        *mark = Mark::Open;
                        walk.push((index, 0));
                    }
                    Some(Mark::Open) if reported.insert(index) => found.push(index),
                    _ => {}
                }
            }
            let Some((index, followed)) = walk.last_mut() else { break };
            if let Some(next) = states.get(*index).and_then(|state| state.next.get(*followed)) {
                *followed += 1;
                step = by_id.get(next.as_str()).copied();
            } else {
                if let Some(mark) = marks.get_mut(*index) {
                    *mark = Mark::Closed;
                }
                walk.pop();
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use jaren_json::Str;

    use super::{Links, unbounded};

    fn graph(states: &[(&str, bool, &[&str])]) -> Vec<Links> {
        let links = |(id, bounded, next): &(&str, bool, &[&str])| Links {
            id: Str::from(*id),
            bounded: *bounded,
            next: next.iter().map(|next| Str::from(*next)).collect(),
        };
        states.iter().map(links).collect()
    }

    #[test]
    fn a_limit_on_any_state_of_a_cycle_bounds_it() {
        assert_eq!(unbounded(&graph(&[("a", false, &["b"]), ("b", false, &["a"])])), [0]);
        assert_eq!(unbounded(&graph(&[("a", false, &["b"]), ("b", true, &["a"])])), [] as [usize; 0]);
        assert_eq!(unbounded(&graph(&[("a", false, &["a"]), ("b", false, &["b"])])), [0, 1]);
        assert_eq!(unbounded(&graph(&[("a", false, &["b", "b"]), ("b", false, &[])])), [] as [usize; 0]);
    }
}
