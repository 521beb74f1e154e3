//! What one save point of the store was for, told from the snapshots before and after it; and which pairs of them there
//! are: the transitions of the core.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jaren_json::Value;

/// What a save point was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// An attempt claimed the run.
    Claim,
    /// The input of work was captured.
    Admission,
    /// The identity of its dataflow was recorded.
    Provenance,
    /// A node has a value.
    Node,
    /// The work has a result.
    Result,
    /// Control moved on from work that is done.
    Completed,
    /// Control moved on from work that failed.
    Caught,
    /// A choice was made.
    Chosen,
    /// A wait took an event.
    Taken,
    /// A wait refused an event.
    Refused,
    /// A deadline moved a wait.
    Due,
    /// A wait saw time that moved nothing.
    Still,
    /// The run rests.
    Wait,
}

use Cause::{
    Admission, Caught, Chosen, Claim, Completed, Due, Node, Provenance, Refused, Result, Still, Taken, Wait,
};

/// What may follow what, within an attempt. A claim may follow everything but a final state.
const FOLLOWS: [(Cause, &[Cause]); 13] = [
    (Claim, &[Admission, Provenance, Node, Result, Completed, Caught, Chosen, Still, Due]),
    (Admission, &[Provenance]),
    (Provenance, &[Node, Caught]),
    (Node, &[Node, Result, Caught]),
    (Result, &[Completed]),
    (Completed, &[Admission, Chosen, Still, Due]),
    (Caught, &[Admission]),
    (Chosen, &[Admission, Chosen, Still, Due]),
    (Taken, &[Admission]),
    (Refused, &[Refused, Taken, Wait]),
    (Due, &[Admission, Chosen, Still, Due]),
    (Still, &[Taken, Refused, Wait]),
    (Wait, &[Still, Due]),
];

/// Every transition that the core can take over the documents of the simulation.
pub(crate) fn all() -> impl Iterator<Item = (Cause, Cause)> {
    let within = FOLLOWS.iter().flat_map(|(before, after)| after.iter().map(|after| (*before, *after)));
    // After these nobody but another attempt can come.
    within.chain(FOLLOWS.iter().map(|(before, _)| (*before, Claim)))
}

/// What the documents write besides the snapshot in the commit of a save point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beside {
    /// A holder.
    pub(crate) claim: bool,
    /// A receipt.
    pub(crate) receipt: bool,
}

/// What the one save point between two snapshots was for.
pub(crate) fn cause(before: &Value, after: &Value, beside: Beside) -> Cause {
    if beside.claim {
        return Claim;
    }
    let member = |snapshot: &Value, name: &str| snapshot.get(name).filter(|found| !found.is_null()).cloned();
    let has = |pending: &Value, name: &str| pending.get(name).is_some();
    match (member(before, "pending"), member(after, "pending")) {
        (None, Some(_)) => Admission,
        (Some(old), Some(new)) if has(&new, "identity") != has(&old, "identity") => Provenance,
        (Some(old), Some(new)) if has(&new, "result") != has(&old, "result") => Result,
        (Some(_), Some(_)) => Node,
        (Some(old), None) if has(&old, "result") => Completed,
        (Some(_), None) => Caught,
        (None, None) => control(before, after, beside),
    }
}

fn control(before: &Value, after: &Value, beside: Beside) -> Cause {
    let visits =
        |snapshot: &Value| snapshot.get("context").and_then(|context| context.get("visits")).cloned();
    let moved = visits(before) != visits(after);
    match (moved, beside.receipt) {
        (true, true) => Taken,
        (true, false) if rests_in(before, &['h', 'd']) => Due,
        (true, false) => Chosen,
        (false, true) => Refused,
        (false, false) if after.get("status").and_then(Value::as_str) == Some("waiting") => Wait,
        (false, false) => Still,
    }
}

/// Is the active state one of these, by the first letter of its name?
pub(crate) fn rests_in(snapshot: &Value, letters: &[char]) -> bool {
    let active = snapshot.get("control").and_then(|control| control.get("active"));
    let active = active.and_then(|active| active.at(0)).and_then(Value::as_str).unwrap_or_default();
    active.rsplit('/').next().is_some_and(|name| name.starts_with(letters))
}

/// How often each transition was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage(BTreeMap<(Cause, Cause), u64>);

impl Coverage {
    pub(crate) fn count(&mut self, before: Cause, after: Cause) {
        *self.0.entry((before, after)).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Coverage) {
        for (pair, count) in &other.0 {
            *self.0.entry(*pair).or_default() += count;
        }
    }

    /// The transitions that were not seen.
    pub(crate) fn missing(&self) -> Vec<(Cause, Cause)> {
        all().filter(|pair| !self.0.contains_key(pair)).collect()
    }

    /// The transitions that nobody knew of.
    pub(crate) fn unknown(&self) -> Vec<(Cause, Cause)> {
        self.0.keys().filter(|pair| all().all(|known| known != **pair)).copied().collect()
    }

    /// Every transition was seen, and no other.
    pub(crate) fn is_whole(&self) -> bool {
        self.missing().is_empty() && self.unknown().is_empty()
    }

    /// `41 of 42 transitions`, and the names of those that are missing or unknown.
    pub(crate) fn summary(&self) -> String {
        let known = all().count();
        let (missing, unknown) = (self.missing(), self.unknown());
        let mut text = format!("{} of {known} transitions of the core", known - missing.len());
        for (what, pairs) in [("missing", missing), ("unknown", unknown)] {
            if !pairs.is_empty() {
                let pairs: Vec<String> =
                    pairs.iter().map(|(before, after)| format!("{before:?} → {after:?}")).collect();
                let _ = write!(text, "; {what}: {}", pairs.join(", "));
            }
        }
        text
    }
}
