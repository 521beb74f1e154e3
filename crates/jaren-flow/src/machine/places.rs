//! Finding a state by its id: a good part of a machine's step, so a table of its own, without a probe too many.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use super::compile::StatePlan;

/// An open table of positions. Its seed is random, so that no choice of ids makes it slow.
#[derive(Debug)]
pub(super) struct Places {
    /// `EMPTY` or a position; a power of two of them, at most half of which are taken.
    slots: Box<[u32]>,
    hasher: RandomState,
}

const EMPTY: u32 = u32::MAX;

impl Places {
    /// The table of these states, whose ids differ.
    pub(super) fn new(states: &[StatePlan]) -> Self {
        let count = (2 * states.len()).next_power_of_two();
        let mut places = Self { slots: vec![EMPTY; count].into(), hasher: RandomState::default() };
        for (state, position) in states.iter().zip(0..EMPTY) {
            let mut slot = places.first(&state.id);
            while places.slots.get(slot).is_some_and(|taken| *taken != EMPTY) {
                slot = places.next(slot);
            }
            if let Some(free) = places.slots.get_mut(slot) {
                *free = position;
            }
        }
        places
    }

    /// The one of these states that has this id.
    #[inline]
    pub(super) fn find<'s>(&self, id: &str, states: &'s [StatePlan]) -> Option<&'s StatePlan> {
        let mut slot = self.first(id);
        loop {
            // An empty slot is a position that no state has.
            let state = states.get(*self.slots.get(slot)? as usize)?;
            if state.id == *id {
                return Some(state);
            }
            slot = self.next(slot);
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
    fn first(&self, id: &str) -> usize {
        // The bytes alone: what `str` adds to tell where it ends costs as much again.
        let mut hasher = self.hasher.build_hasher();
        hasher.write(id.as_bytes());
        hasher.finish() as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use jaren_json::{Value, value};

    use crate::machine::Machine;

    #[test]
    fn every_state_is_found_and_nothing_else() {
        for count in [0, 1, 2, 3, 64, 1000] {
            let states: Value = (0..count).map(|index| Value::from(format!("s{index}"))).collect();
            let document = value!({ "initial": null, "states": states, "transitions": [] });
            let machine = Machine::compile(&document).unwrap();
            for index in 0..count {
                assert_eq!(machine.is_final(&format!("s{index}")), Ok(false));
            }
            assert_eq!(machine.is_final("").unwrap_err().code(), "JF2001");
            assert_eq!(machine.is_final(&format!("s{count}")).unwrap_err().code(), "JF2001");
        }
    }
}
