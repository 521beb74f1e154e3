//! Mermaid: a flowchart, the one of its diagrams in which every label can be quoted and anything can nest.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Edge, EdgeKind, Graph, Node, NodeKind, Visit};

/// The classes of lit states and of dots.
const CLASSES: &str =
    "  classDef lit fill:#ffe9a8,stroke:#b26a00,stroke-width:3px\n  classDef dot fill:#333,stroke:#333\n";

pub(super) fn text(graph: &Graph) -> String {
    let mut out = format!("flowchart {}\n", if graph.flows_right() { "LR" } else { "TB" });
    let mut depth = 1;
    let mut lit = Vec::new();
    let anchored = anchored(graph);
    for visit in graph.walk() {
        if let Visit::Leave = visit {
            depth -= 1;
        }
        indent(&mut out, depth);
        match visit {
            Visit::Leave => out.push_str("end\n"),
            Visit::Enter(index) | Visit::Leaf(index) => {
                let Some(node) = graph.nodes.get(index) else { continue };
                if node.is_lit {
                    lit.push(format!("n{index}"));
                }
                let is_group = matches!(visit, Visit::Enter(_));
                declare(&mut out, index, node, is_group);
                if is_group {
                    depth += 1;
                    if anchored.contains(&index) {
                        indent(&mut out, depth);
                        let _ = writeln!(out, "n{index}a((\" \")):::dot");
                    }
                }
            }
        }
    }
    for edge in &graph.edges {
        connect(&mut out, graph, edge);
    }
    out.push_str(CLASSES);
    if !lit.is_empty() {
        let _ = writeln!(out, "  class {} lit", lit.join(","));
    }
    out
}

// Writing to a `String` cannot fail.

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn declare(out: &mut String, index: usize, node: &Node, is_group: bool) {
    let lines = std::iter::once(&*node.label).chain(node.details.iter().map(String::as_str));
    let label = lines.map(escape).collect::<Vec<_>>().join("<br/>");
    let (open, close) = match node.kind {
        _ if is_group => {
            let _ = writeln!(out, "subgraph n{index}[\"{label}\"]");
            return;
        }
        NodeKind::Start => {
            let _ = writeln!(out, "n{index}((\" \")):::dot");
            return;
        }
        NodeKind::Final => ("(((", ")))"),
        NodeKind::History { .. } => ("((", "))"),
        NodeKind::Choice => ("{", "}"),
        NodeKind::Wait => ("([", "])"),
        NodeKind::Terminal => ("[/", "/]"),
        NodeKind::Pure => ("[", "]"),
        NodeKind::Work => ("[[", "]]"),
        NodeKind::State | NodeKind::Group | NodeKind::Parallel => ("(", ")"),
    };
    let mark = match node.kind {
        NodeKind::History { is_deep: true } => "H* ",
        NodeKind::History { is_deep: false } => "H ",
        _ => "",
    };
    let _ = writeln!(out, "n{index}{open}\"{mark}{label}\"{close}");
}

/// The groups with an edge to themselves or to what lies in them. Mermaid refuses those: inside the group a dot stands
/// for it.
fn anchored(graph: &Graph) -> BTreeSet<usize> {
    let ends = graph.edges.iter().flat_map(|edge| [(edge.from, edge.to), (edge.to, edge.from)]);
    ends.filter(|(group, other)| needs_anchor(graph, *group, *other)).map(|(group, _)| group).collect()
}

/// Whether the edge between them must end at the dot inside `group`.
fn needs_anchor(graph: &Graph, group: usize, other: usize) -> bool {
    graph.is_group(group) && (group == other || graph.is_inside(other, group))
}

fn connect(out: &mut String, graph: &Graph, edge: &Edge) {
    let end = |this, other| format!("n{this}{}", if needs_anchor(graph, this, other) { "a" } else { "" });
    let (from, to) = (end(edge.from, edge.to), end(edge.to, edge.from));
    let arrow = match edge.kind {
        EdgeKind::Delay | EdgeKind::Failure => "-.->",
        EdgeKind::Automatic => "==>",
        EdgeKind::Start | EdgeKind::Event | EdgeKind::Data => "-->",
    };
    let label = edge.label.iter().map(|line| escape(line)).collect::<Vec<_>>().join("<br/>");
    let label = if label.is_empty() { label } else { format!("|\"{label}\"|") };
    let _ = writeln!(out, "  {from} {arrow}{label} {to}");
}

/// A text inside a quoted label. Mermaid reads entities by number between `#` and `;`, also in quotes, and a label that
/// begins like a list or has backquotes as Markdown.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        let is_plain = character.is_alphanumeric()
            || matches!(
                character,
                ' ' | '.' | ',' | '$' | '(' | ')' | '[' | ']' | '/' | '=' | '@' | '-' | '?' | '!'
            )
            || (!character.is_ascii() && !character.is_control());
        if is_plain {
            safe.push(character);
        } else {
            let _ = write!(safe, "#{};", u32::from(character));
        }
    }
    if safe.is_empty() { " ".to_owned() } else { safe }
}
