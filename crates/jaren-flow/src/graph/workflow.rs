//! The graphs of workflows: as their authors wrote them, not as they are lowered.

use jaren_json::{Pointer, Value};

use super::{EdgeKind, Graph, NodeKind, dag, label};
use crate::look::{list, text};
use crate::workflow::Form;

/// The graph of a sound jaren-workflow 0.2 document.
pub(super) fn graph(document: &Value) -> Graph {
    let mut graph = Graph::default();
    let mut scopes = vec![(document, Pointer::root(), None)];
    while let Some((scope, prefix, parent)) = scopes.pop() {
        let prefix = prefix.child("states");
        let states = scope.get("states").and_then(Value::as_object);
        for (name, state) in states.into_iter().flatten() {
            let pointer = prefix.child(name);
            let node = graph.add(pointer.as_str(), name, kind(state), parent);
            describe(&mut graph, node, state, &pointer);
            if let Some(flow) = state.get("flow") {
                scopes.push((flow, pointer.child("flow"), Some(node)));
            }
        }
        let initial = text(scope, "initial");
        if let Some(initial) = initial.and_then(|name| graph.find(prefix.child(name).as_str())) {
            graph.start(parent, initial);
        }
        for (name, state) in states.into_iter().flatten() {
            edges(&mut graph, name, state, &prefix);
        }
    }
    graph
}

fn kind(state: &Value) -> NodeKind {
    match Form::ALL.into_iter().find(|form| state.get(form.name()).is_some()) {
        Some(Form::Flow) => NodeKind::Group,
        Some(Form::Work) => NodeKind::Work,
        Some(Form::Choose) => NodeKind::Choice,
        Some(Form::On) => NodeKind::Wait,
        Some(Form::Final) | None => NodeKind::Final,
    }
}

/// What a task node says it runs.
pub(super) fn task(name: &str, version: Option<&str>) -> String {
    version.map_or_else(|| format!("task {name}"), |version| format!("task {name} @ {version}"))
}

fn describe(graph: &mut Graph, node: usize, state: &Value, pointer: &Pointer) {
    let work = state.get("work");
    let said = |member| work?.get(member)?.as_str();
    let runs = said("task").map(|name| task(name, said("version")));
    let limit = state.get("limit").and_then(Value::as_f64).map(|limit| format!("at most {limit} times"));
    if let Some(node) = graph.nodes.get_mut(node) {
        node.details.extend(runs.into_iter().chain(limit));
    }
    if let Some(document) = work.and_then(|work| work.get("dag")) {
        if let Some(node) = graph.nodes.get_mut(node) {
            node.kind = NodeKind::Group;
        }
        dag::add(graph, document, Some(node), &format!("{}#", pointer.as_str()));
    }
}

fn edges(graph: &mut Graph, name: &str, state: &Value, prefix: &Pointer) {
    let from = graph.find(prefix.child(name).as_str());
    let mut connect = |holder: &Value, member: &str, kind: EdgeKind, label: Vec<String>| {
        let to = text(holder, member).and_then(|name| graph.find(prefix.child(name).as_str()));
        graph.connect(from, to, kind, label);
    };
    for branch in list(state, "choose") {
        connect(branch, "to", EdgeKind::Automatic, label::guard(branch).into_iter().collect());
    }
    connect(state, "otherwise", EdgeKind::Automatic, vec!["otherwise".to_owned()]);
    for answer in list(state, "on") {
        let event = text(answer, "event").map(ToOwned::to_owned);
        connect(answer, "to", EdgeKind::Event, event.into_iter().chain(label::guard(answer)).collect());
    }
    if let Some(after) = state.get("after") {
        let ms = after.get("ms").and_then(Value::as_f64).unwrap_or_default();
        connect(after, "to", EdgeKind::Delay, vec![format!("after {}", label::duration(ms))]);
    }
    connect(state, "then", EdgeKind::Automatic, Vec::new());
    connect(state, "catch", EdgeKind::Failure, vec!["failed".to_owned()]);
}
