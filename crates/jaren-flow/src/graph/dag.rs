//! The graphs of dataflows, alone and inside a state that works.

use jaren_json::Value;

use super::{EdgeKind, Graph, NodeKind, label};
use crate::document::dag::Kind;
use crate::look::{holds, list, text};

/// The graph of a sound jaren-dag 0.1 document.
pub(super) fn graph(document: &Value) -> Graph {
    let mut graph = Graph { flows_right: true, ..Graph::default() };
    add(&mut graph, document, None, "");
    graph
}

/// Adds the nodes and edges of a sound dataflow, each name after `prefix`.
pub(super) fn add(graph: &mut Graph, document: &Value, parent: Option<usize>, prefix: &str) {
    let nodes = document.get("nodes").and_then(Value::as_object);
    for (id, declaration) in nodes.into_iter().flatten() {
        let word = text(declaration, "kind");
        let Some(kind) = Kind::ALL.iter().find(|kind| word == Some(kind.word())) else { continue };
        let shown = match kind {
            Kind::Task => NodeKind::Work,
            Kind::Input | Kind::Output => NodeKind::Terminal,
            Kind::Const | Kind::Query | Kind::Jslt => NodeKind::Pure,
        };
        let node = graph.add(&format!("{prefix}{id}"), id, shown, parent);
        let query = |member| declaration.get(member).map(label::query).unwrap_or_default();
        let does = match kind {
            Kind::Task => {
                let run = text(declaration, "run").unwrap_or_default();
                super::workflow::task(run, text(declaration, "version"))
            }
            Kind::Query => query("query"),
            Kind::Const => query("value"),
            Kind::Input | Kind::Output | Kind::Jslt => kind.word().to_owned(),
        };
        if let Some(node) = graph.nodes.get_mut(node) {
            node.details.push(does);
            node.details.extend(holds(declaration, "checkpoint").then(|| "checkpoint".to_owned()));
        }
    }
    for edge in list(document, "edges") {
        let end = |member| graph.find(&format!("{prefix}{}", text(edge, member)?));
        let (from, to) = (end("from"), end("to"));
        let port = text(edge, "port").map(ToOwned::to_owned);
        let select = edge.get("select").map(label::query);
        graph.connect(from, to, EdgeKind::Data, port.into_iter().chain(select).collect());
    }
}
