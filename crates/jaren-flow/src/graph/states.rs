//! The graphs of machines and statecharts.

use std::collections::BTreeMap;

use jaren_json::Value;

use super::{EdgeKind, Graph, NodeKind, label};
use crate::document::statechart::{HistoryType, StateType, TransitionType};
use crate::look::{holds, list, state_id, text};
use crate::statechart::Statechart;

/// The graph of a sound jaren-fsm 0.1 document.
pub(super) fn machine(document: &Value) -> Graph {
    let mut graph = Graph::default();
    for state in list(document, "states") {
        let Some(id) = state_id(state) else { continue };
        let kind = if holds(state, "final") { NodeKind::Final } else { NodeKind::State };
        let node = graph.add(id, id, kind, None);
        describe(&mut graph, node, state);
    }
    if let Some(initial) = text(document, "initial").and_then(|id| graph.find(id)) {
        graph.start(None, initial);
    }
    transitions(&mut graph, document);
    graph
}

/// The graph of a jaren-fsm 0.2 document, which `chart` is compiled from.
pub(super) fn statechart(document: &Value, chart: &Statechart) -> Graph {
    let states = list(document, "states").iter();
    let declared: BTreeMap<&str, &Value> =
        states.filter_map(|state| Some((&**state_id(state)?, state))).collect();
    let mut graph = Graph::default();
    // In tree order a parent comes first.
    for id in chart.states() {
        let Some(state) = declared.get(&**id) else { continue };
        let parent = text(state, "parent").and_then(|parent| graph.find(parent));
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
        .map(|(parent, scope)| (parent, text(scope, "initial").and_then(|id| graph.find(id))))
        .collect();
    for (parent, initial) in initials {
        if let Some(initial) = initial {
            graph.start(parent, initial);
        }
    }
    transitions(&mut graph, document);
    graph
}

/// The kind that a declaration states; the rest follows from the children.
fn stated(state: &Value) -> Option<NodeKind> {
    if let Some(mode) = text(state, "history") {
        return Some(NodeKind::History { is_deep: mode == HistoryType::Deep.word() });
    }
    let stated = text(state, "type");
    if stated == Some(StateType::Final.word()) || holds(state, "final") {
        return Some(NodeKind::Final);
    }
    (stated == Some(StateType::Parallel.word())).then_some(NodeKind::Parallel)
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
        let is_internal = text(transition, "type") == Some(TransitionType::Internal.word());
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
    let event = text(transition, "event");
    (EdgeKind::Event, event.map_or_else(|| "any event".to_owned(), ToOwned::to_owned))
}
