//! Graphviz: a digraph with clusters.

use std::fmt::Write as _;

use super::{Edge, EdgeKind, Graph, Node, NodeKind, Visit};

const LIT: &str = "fillcolor=\"#ffe9a8\", color=\"#b26a00\", penwidth=3";
const LIT_GROUP: &str = "fillcolor=\"#fffaeb\", color=\"#b26a00\", penwidth=3";
const PLAIN_GROUP: &str = "fillcolor=\"#f6f8fa\", color=\"#57606a\", penwidth=1";

pub(super) fn text(graph: &Graph) -> String {
    let direction = if graph.flows_right() { "LR" } else { "TB" };
    let mut out = format!(
        "digraph {{\n  graph [compound=true, rankdir={direction}, fontname=\"sans-serif\", style=\"rounded,filled\", fillcolor=white]\n  \
         node [fontname=\"sans-serif\", shape=box, style=\"rounded,filled\", fillcolor=white]\n  \
         edge [fontname=\"sans-serif\", fontsize=11]\n"
    );
    let mut depth = 1;
    for visit in graph.walk() {
        if let Visit::Leave = visit {
            depth -= 1;
        }
        indent(&mut out, depth);
        match visit {
            Visit::Leave => out.push_str("}\n"),
            Visit::Leaf(index) => {
                if let Some(node) = graph.nodes.get(index) {
                    leaf(&mut out, index, node);
                }
            }
            Visit::Enter(index) => {
                let Some(node) = graph.nodes.get(index) else { continue };
                // A cluster takes over what is not said again.
                let style = if node.kind == NodeKind::Parallel { "dashed,filled" } else { "rounded,filled" };
                let lit = if node.is_lit { LIT_GROUP } else { PLAIN_GROUP };
                let _ = writeln!(out, "subgraph cluster_{index} {{");
                depth += 1;
                indent(&mut out, depth);
                let _ = writeln!(out, "graph [label={}, style=\"{style}\", {lit}]", quote(&label(node)));
                // Edges end at nodes only: this one stands for the cluster.
                indent(&mut out, depth);
                let _ = writeln!(out, "n{index} [shape=point, style=invis, width=0, height=0, label=\"\"]");
            }
        }
    }
    for edge in &graph.edges {
        connect(&mut out, graph, edge);
    }
    out.push_str("}\n");
    out
}

// Writing to a `String` cannot fail.

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn label(node: &Node) -> String {
    let lines: Vec<&str> =
        std::iter::once(&*node.label).chain(node.details.iter().map(String::as_str)).collect();
    lines.join("\n")
}

fn leaf(out: &mut String, index: usize, node: &Node) {
    let shape = match node.kind {
        NodeKind::Start => "shape=point, width=0.15, fillcolor=black",
        NodeKind::Final => "peripheries=2",
        NodeKind::History { .. } => "shape=circle",
        NodeKind::Choice => "shape=diamond, style=filled",
        NodeKind::Wait => "shape=hexagon, style=filled",
        NodeKind::Terminal => "shape=parallelogram, style=filled",
        NodeKind::Work => "shape=component, style=filled",
        NodeKind::Pure => "style=filled",
        NodeKind::State | NodeKind::Group | NodeKind::Parallel => "shape=box",
    };
    let label = match node.kind {
        NodeKind::History { is_deep: true } => format!("H*\n{}", label(node)),
        NodeKind::History { is_deep: false } => format!("H\n{}", label(node)),
        _ => label(node),
    };
    let lit = if node.is_lit { format!(", {LIT}") } else { String::new() };
    let _ = writeln!(out, "n{index} [label={}, {shape}{lit}]", quote(&label));
}

fn connect(out: &mut String, graph: &Graph, edge: &Edge) {
    let line = match edge.kind {
        EdgeKind::Delay | EdgeKind::Failure => "style=dashed",
        EdgeKind::Automatic => "style=bold",
        EdgeKind::Start | EdgeKind::Event | EdgeKind::Data => "style=solid",
    };
    // An edge is cut at a cluster's border, unless its other end lies inside.
    let cut = |group: usize, other: usize, what: &str| {
        let is_outside = group != other && !graph.is_inside(other, group);
        (graph.is_group(group) && is_outside).then(|| format!(", {what}=cluster_{group}"))
    };
    let tail = cut(edge.from, edge.to, "ltail").unwrap_or_default();
    let head = cut(edge.to, edge.from, "lhead").unwrap_or_default();
    let label = quote(&edge.label.join("\n"));
    let _ = writeln!(out, "  n{} -> n{} [label={label}, {line}{tail}{head}]", edge.from, edge.to);
}

/// A quoted string. A backslash would begin one of Graphviz's own escapes.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            control if control.is_control() => quoted.push('\u{fffd}'),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
