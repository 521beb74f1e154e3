//! The graphs of machines and statecharts.

use std::collections::BTreeMap;

use jaren_json::{Report, Value};

use super::{EdgeKind, Graph, NodeKind, label};
use crate::machine::Machine;
use crate::statechart::Statechart;

/// The graph of a jaren-fsm 0.1 document.
pub(super) fn machine(document: &Value) -> Result<Graph, Report> {
    Machine::compile(document)?;
    let mut graph = Graph::default();
    for state in list(document, "states") {
        let id = id(state);
        let is_final = state.get("final").and_then(Value::as_bool) == Some(true);
        let node = graph.add(id, id, if is_final { NodeKind::Final } else { NodeKind::State }, None);
        describe(&mut graph, node, state);
    }
    if let Some(initial) = document.get("initial").and_then(Value::as_str).and_then(|id| graph.find(id)) {
        graph.start(None, initial);
    }
    transitions(&mut graph, document);
    Ok(graph)
}

/// The graph of a jaren-fsm 0.2 document.
pub(super) fn statechart(document: &Value) -> Result<Graph, Report> {
    let chart = Statechart::compile(document)?;
    let declared: BTreeMap<&str, &Value> =
        list(document, "states").iter().map(|state| (id(state), state)).collect();
    let mut graph = Graph::default();
    // In tree order a parent comes first.
    for id in chart.states() {
        let Some(state) = declared.get(&**id) else { continue };
        let parent = state.get("parent").and_then(Value::as_str).and_then(|parent| graph.find(parent));
        let node = graph.add(id, id, NodeKind::State, parent);
        if let Some(parent) = parent.and_then(|parent| graph.nodes.get_mut(parent))
            && parent.kind == NodeKind::State
        {
            parent.kind = NodeKind::Group;
        }
        if let Some(kind) = stated(state)
            && let Some(node) = graph.nodes.get_mut(node)
        {
            node.kind = kind;
        }
        describe(&mut graph, node, state);
    }
    let initials = std::iter::once((None, document))
        .chain(chart.states().filter_map(|id| Some((graph.find(id), *declared.get(&**id)?))));
    let initials: Vec<(Option<usize>, Option<usize>)> = initials
        .map(|(parent, scope)| {
            (parent, scope.get("initial").and_then(Value::as_str).and_then(|id| graph.find(id)))
        })
        .collect();
    for (parent, initial) in initials {
        if let Some(initial) = initial {
            graph.start(parent, initial);
        }
    }
    transitions(&mut graph, document);
    Ok(graph)
}

/// The kind that a declaration states; the rest follows from the children.
fn stated(state: &Value) -> Option<NodeKind> {
    let word = |member: &str| state.get(member).and_then(Value::as_str);
    if let Some(mode) = word("history") {
        return Some(NodeKind::History { is_deep: mode == "deep" });
    }
    if word("type") == Some("final") || state.get("final").and_then(Value::as_bool) == Some(true) {
        return Some(NodeKind::Final);
    }
    (word("type") == Some("parallel")).then_some(NodeKind::Parallel)
}

fn list<'a>(document: &'a Value, member: &str) -> &'a [Value] {
    document.get(member).and_then(Value::as_array).map_or(&[], |list| list)
}

fn id(state: &Value) -> &str {
    state.as_str().or_else(|| state.get("id")?.as_str()).unwrap_or_default()
}

fn describe(graph: &mut Graph, node: usize, state: &Value) {
    let details = ["entry", "exit"].map(|what| label::effects(state.get(what), &format!("{what} ")));
    if let Some(node) = graph.nodes.get_mut(node) {
        node.details.extend(details.into_iter().flatten());
    }
}

fn transitions(graph: &mut Graph, document: &Value) {
    for transition in list(document, "transitions") {
        let end = |member| graph.find(transition.get(member)?.as_str()?);
        let (from, to) = (end("from"), end("to"));
        let (kind, trigger) = trigger(transition);
        let is_internal = transition.get("type").and_then(Value::as_str) == Some("internal");
        let lines = [
            Some(if is_internal { format!("{trigger} (internal)") } else { trigger }),
            label::guard(transition),
            label::effects(transition.get("effects"), ""),
        ];
        graph.connect(from, to, kind, lines.into_iter().flatten().collect());
    }
}

fn trigger(transition: &Value) -> (EdgeKind, String) {
    if let Some(after) = transition.get("after").and_then(Value::as_f64) {
        return (EdgeKind::Delay, format!("after {}", label::duration(after)));
    }
    if transition.get("done").is_some() {
        return (EdgeKind::Automatic, "done".to_owned());
    }
    if transition.get("always").is_some() {
        return (EdgeKind::Automatic, "always".to_owned());
    }
    let event = transition.get("event").and_then(Value::as_str);
    (EdgeKind::Event, event.map_or_else(|| "any event".to_owned(), ToOwned::to_owned))
}
