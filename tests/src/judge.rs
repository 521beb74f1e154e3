//! The judge of the storm: holds what the tasks wrote against what the store said at each kill.

use std::collections::{BTreeMap, BTreeSet};

use jaren::json::Value;

use crate::storm::{CALLS, Folder};

/// One line of the tasks' file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Whether the line tells the end of a call, not its start.
    pub ended: bool,
    /// The activation and node that was called.
    pub node: Node,
}

/// One task node of one activation of a state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// The qualified state.
    pub state: String,
    /// Which visit of the state.
    pub visit: u64,
    /// The name that the document gives to the call.
    pub name: String,
}

impl Call {
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (word, body) = line.trim_end().split_once(' ')?;
        let value = jaren::json::read::read(body.as_bytes(), &jaren::json::read::ReadOptions::data()).ok()?;
        let visit = value.get("visit")?.as_f64()?;
        Some(Self {
            ended: word == "end",
            node: Node {
                state: value.get("state")?.as_str()?.to_owned(),
                visit: whole(visit)?,
                name: value.get("with")?.get("name")?.as_str()?.to_owned(),
            },
        })
    }
}

fn whole(number: f64) -> Option<u64> {
    format!("{number}").parse().ok()
}

/// What a run's stored snapshot says is finished and so must never run again.
#[derive(Debug, Default)]
pub struct Finished {
    visits: BTreeMap<String, u64>,
    nodes: BTreeSet<(String, u64, String)>,
}

impl Finished {
    /// Reads it from a published snapshot (`jaren-workflow-run/0.1`): a visit is finished when its state is no longer
    /// active, and of the active state those nodes are whose values are stored.
    pub fn of(snapshot: &Value) -> Self {
        let mut finished = Self::default();
        let member = |value: &'_ Value, name: &str| value.get(name).cloned().unwrap_or_default();
        let active = member(&member(snapshot, "control"), "active");
        let active: Vec<&str> =
            active.as_array().into_iter().flat_map(|ids| ids.iter()).filter_map(Value::as_str).collect();
        let values = member(&member(snapshot, "pending"), "values");
        let visits = member(&member(snapshot, "context"), "visits");
        for (state, visit) in visits.as_object().into_iter().flat_map(|visits| visits.iter()) {
            let Some(visit) = visit.as_f64().and_then(whole) else { continue };
            let open = active.contains(&state);
            finished.visits.insert(state.to_owned(), visit - u64::from(open));
            if open {
                let nodes = values.as_object().into_iter().flat_map(|values| values.iter());
                finished.nodes.extend(nodes.map(|(node, _)| (state.to_owned(), visit, node.to_owned())));
            }
        }
        finished
    }

    /// Whether this call was finished in the store.
    pub fn holds(&self, node: &Node) -> bool {
        // A work state of one task lowers to a dag whose task node is called `task`.
        let names = [node.name.as_str(), "task"];
        self.visits.get(&node.state).is_some_and(|visits| node.visit <= *visits)
            || names
                .iter()
                .any(|name| self.nodes.contains(&(node.state.clone(), node.visit, (*name).to_owned())))
    }
}

/// What is remembered of a kill until the run is over.
#[derive(Debug)]
pub struct Mark {
    calls: usize,
    finished: Finished,
}

impl Mark {
    /// Reads what the tasks wrote and what the store holds now.
    pub fn of(folder: &Folder) -> Self {
        let finished = folder.view().map(|view| Finished::of(&view.snapshot)).unwrap_or_default();
        Self { calls: folder.calls().len(), finished }
    }

    /// The calls that were finished in the store at this mark and started again after it.
    fn repeated<'a>(&'a self, calls: &'a [Call]) -> impl Iterator<Item = &'a Call> {
        calls.iter().skip(self.calls).filter(|call| !call.ended && self.finished.holds(&call.node))
    }
}

/// Holds the run against the rules after its end: the findings, empty when all is well.
pub fn judge(folder: &Folder, marks: &[Mark], result: &Value, expected: &Value) -> Vec<String> {
    let calls = folder.calls();
    let mut findings = Vec::new();
    if result != expected {
        findings.push("the result differs from the undisturbed run's".to_owned());
    }
    for mark in marks {
        findings
            .extend(mark.repeated(&calls).map(|call| format!("ran again though stored: {:?}", call.node)));
    }
    let mut nodes: Vec<_> = calls.iter().map(|call| &call.node).collect();
    nodes.sort();
    nodes.dedup();
    if nodes.len() != CALLS {
        findings.push(format!("{} different calls instead of {CALLS}", nodes.len()));
    }
    for node in nodes {
        let starts = calls.iter().filter(|call| !call.ended && call.node == *node).count();
        if starts > marks.len() + 1 {
            findings.push(format!("{node:?} ran {starts} times over {} kills", marks.len()));
        }
    }
    findings
}
