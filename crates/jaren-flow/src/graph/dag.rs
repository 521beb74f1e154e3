//! The graphs of dataflows, alone and inside a state that works.

use jaren_json::{Report, Value};

use super::{EdgeKind, Graph, NodeKind, label};
use crate::dag::Dag;
use crate::tasks::DeclaredTasks;

/// The graph of a jaren-dag 0.1 document.
pub(super) fn graph(document: &Value) -> Result<Graph, Report> {
    Dag::compile(document, &DeclaredTasks)?;
    let mut graph = Graph { flows_right: true, ..Graph::default() };
    add(&mut graph, document, None, "");
    Ok(graph)
}

/// Adds the nodes and edges of a sound dataflow, each name after `prefix`.
pub(super) fn add(graph: &mut Graph, document: &Value, parent: Option<usize>, prefix: &str) {
    let nodes = document.get("nodes").and_then(Value::as_object);
    for (id, declaration) in nodes.into_iter().flatten() {
        let word = |member: &str| declaration.get(member).and_then(Value::as_str);
        let kind = match word("kind") {
            Some("task") => NodeKind::Work,
            Some("input" | "output") => NodeKind::Terminal,
            _ => NodeKind::Pure,
        };
        let node = graph.add(&format!("{prefix}{id}"), id, kind, parent);
        let does = match (word("kind"), word("run")) {
            (Some("task"), Some(run)) => super::workflow::task(run, word("version")),
            (Some("query"), _) => declaration.get("query").map(label::query).unwrap_or_default(),
            (Some("const"), _) => declaration.get("value").map(label::query).unwrap_or_default(),
            (kind, _) => kind.unwrap_or_default().to_owned(),
        };
        let keeps = declaration.get("checkpoint").and_then(Value::as_bool) == Some(true);
        if let Some(node) = graph.nodes.get_mut(node) {
            node.details.push(does);
            node.details.extend(keeps.then(|| "checkpoint".to_owned()));
        }
    }
    for edge in document.get("edges").and_then(Value::as_array).into_iter().flatten() {
        let end = |member| graph.find(&format!("{prefix}{}", edge.get(member)?.as_str()?));
        let (from, to) = (end("from"), end("to"));
        let port = edge.get("port").and_then(Value::as_str).map(ToOwned::to_owned);
        let select = edge.get("select").map(label::query);
        graph.connect(from, to, EdgeKind::Data, port.into_iter().chain(select).collect());
    }
}
