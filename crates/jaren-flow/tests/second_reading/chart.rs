//! Random statecharts and what is done to them; the same seed makes the same.

use jaren_json::{Object, Value, value};

/// Splitmix64.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    /// Below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % u64::try_from(bound).unwrap()).unwrap()
    }

    /// Once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

const EVENTS: [&str; 3] = ["a", "b", "c"];

/// An event that charts may name, or one that none does.
pub(crate) fn event(draw: &mut Draw) -> &'static str {
    if draw.once_in(8) { "unknown" } else { draw.pick(&EVENTS) }
}

/// Some node of the tree being grown.
struct Node {
    id: String,
    parent: Option<usize>,
    children: Vec<usize>,
    document: Object,
    /// History or final: nothing leads out of it, and nothing grows below it.
    is_end: bool,
}

/// A document that compiles.
pub(crate) fn chart(draw: &mut Draw) -> Value {
    let mut nodes: Vec<Node> = Vec::new();
    grow(&mut nodes, None, 0, draw);
    if draw.once_in(2) {
        grow(&mut nodes, None, 1, draw);
    }
    let initial = nodes[0].id.clone();
    let count = 2 + draw.below(3 * nodes.len());
    let transitions: Value = (0..count).filter_map(|_| transition(&nodes, draw)).collect();
    let mut states: Vec<Value> = nodes.iter().map(|node| Value::Object(node.document.clone())).collect();
    // The order of declarations is not that of the tree: some are moved to the end, children and parents alike.
    for _ in 0..draw.below(4) {
        let moved = states.remove(draw.below(states.len()));
        states.push(moved);
    }
    value!({ "$fsm": "0.2", "initial": initial, "states": states, "transitions": transitions })
}

fn grow(nodes: &mut Vec<Node>, parent: Option<usize>, depth: usize, draw: &mut Draw) -> usize {
    let index = nodes.len();
    let id = format!("s{index}");
    let mut document = Object::default().with("id", id.clone());
    if let Some(parent) = parent {
        document = document.with("parent", nodes[parent].id.clone());
    }
    nodes.push(Node { id, parent, children: Vec::new(), document: document.clone(), is_end: false });
    let forks = depth == 0 || (depth < 4 && nodes.len() < 16 && draw.once_in(2));
    if forks {
        let is_parallel = draw.once_in(2);
        let children: Vec<usize> =
            (0..=draw.below(3)).map(|_| grow(nodes, Some(index), depth + 1, draw)).collect();
        document = if is_parallel {
            document.with("type", "parallel")
        } else {
            document.with("initial", nodes[draw.pick(&children)].id.clone())
        };
        nodes[index].children = children;
        if draw.once_in(2) {
            history(nodes, index, draw);
        }
    } else if parent.is_some() && draw.once_in(4) {
        document = document.with("final", true);
        nodes[index].is_end = true;
    }
    for member in ["entry", "exit"] {
        if draw.once_in(2) {
            document = document.with(member, effects(&format!("{member} {index}"), draw));
        }
    }
    nodes[index].document = document;
    index
}

fn history(nodes: &mut Vec<Node>, parent: usize, draw: &mut Draw) {
    let id = format!("h{}", nodes.len());
    let document = Object::default()
        .with("id", id.clone())
        .with("parent", nodes[parent].id.clone())
        .with("history", draw.pick(&["deep", "shallow"]));
    nodes.push(Node { id, parent: Some(parent), children: Vec::new(), document, is_end: true });
}

fn is_within(nodes: &[Node], node: usize, ancestor: usize) -> bool {
    node == ancestor || nodes[node].parent.is_some_and(|parent| is_within(nodes, parent, ancestor))
}

fn transition(nodes: &[Node], draw: &mut Draw) -> Option<Value> {
    let (from, to) = (draw.below(nodes.len()), draw.below(nodes.len()));
    if nodes[from].is_end {
        return None;
    }
    let mut edge = Object::default().with("from", nodes[from].id.clone()).with("to", nodes[to].id.clone());
    edge = match draw.below(12) {
        0 => edge.with("always", true).with("guard", guard(draw)),
        1 | 2 if !nodes[from].children.is_empty() => edge.with("done", true),
        3 | 4 => edge.with("after", u32::try_from(draw.below(4) * 5).unwrap()),
        5 => edge,
        6 => edge.with("event", Value::Null),
        _ => edge.with("event", draw.pick(&EVENTS)),
    };
    if draw.once_in(3) {
        edge = edge.with("guard", guard(draw));
    }
    if draw.once_in(3) && is_within(nodes, to, from) {
        edge = edge.with("type", "internal");
    }
    if draw.once_in(3) {
        edge = edge.with("effects", effects("fires", draw));
    }
    Some(edge.into())
}

fn guard(draw: &mut Draw) -> Value {
    match draw.below(6) {
        0 => value!({ "$mod": [1, 0] }),
        1 => value!({ "$eq": [{ "$count": "$.state[*]" }, (u32::try_from(1 + draw.below(3)).unwrap())] }),
        2 => value!({ "$eq": ["$.event", (draw.pick(&EVENTS))] }),
        3 => value!({ "$gt": ["$.context.n", 1] }),
        _ => value!("$.payload.yes"),
    }
}

fn effects(run: &str, draw: &mut Draw) -> Value {
    let with = [
        None,
        Some(value!("$.event")),
        Some(value!("$.payload.no")),
        Some(value!(["$.state"])),
        Some(value!({ "$mod": [1, 0] })),
    ];
    let effect = |draw: &mut Draw| {
        let effect = Object::default().with("run", run);
        let with = draw.pick(&with);
        Value::Object(match with {
            None => effect,
            Some(with) => effect.with("with", with),
        })
    };
    (0..=draw.below(2)).map(|_| effect(draw)).collect()
}
