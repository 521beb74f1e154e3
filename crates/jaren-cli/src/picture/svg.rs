//! The picture itself.

use std::fmt::Write as _;

use jaren::flow::graph::{Edge, EdgeKind, Graph, Node, NodeKind};

use super::scope::{LOOP_GAP, LOOP_REACH, label_size, lines};
use super::text::{FONT_SIZE, LINE_HEIGHT};
use super::{Area, Point, Route, layout};

/// More nodes and edges than this make no picture that anybody could read.
const PARTS_MAX: usize = 3000;

const STYLE: &str = "\
    svg { background: #ffffff }\n\
    text { font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1b1f24 }\n\
    .box { fill: #ffffff; stroke: #57606a; stroke-width: 1.3 }\n\
    .group { fill: #f6f8fa } .parallel { stroke-dasharray: 6 4 }\n\
    .pure { fill: #f0f7ff } .work { fill: #eefaf0 } .wait { fill: #fff8e5 } .terminal { fill: #f3f0ff }\n\
    .over > text { paint-order: stroke; stroke: #f6f8fa; stroke-width: 5 } .over.lit > text { stroke: #fffaeb }\n\
    .dot { fill: #24292f } .title { font-weight: bold } .detail { fill: #57606a }\n\
    .lit > .box { fill: #ffe9a8; stroke: #b26a00; stroke-width: 3 } .lit > .group { fill: #fffaeb }\n\
    .line { fill: none; stroke: #57606a; stroke-width: 1.3 } .delay, .failure { stroke-dasharray: 5 4 }\n\
    .failure { stroke: #b42318 } .head { fill: #57606a } .failure-head { fill: #b42318 }\n";

/// Draws a graph, or says that it is too large.
pub(crate) fn draw(graph: &Graph, title: &str) -> Result<String, TooLarge> {
    let parts = graph.nodes().len() + graph.edges().len();
    if parts > PARTS_MAX {
        return Err(TooLarge { parts, max: PARTS_MAX });
    }
    let layout = layout(graph);
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-size=\"{FONT_SIZE}\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n",
        escape(title)
    );
    // A parent comes before its children, and lines lie over boxes.
    for (node, area) in graph.nodes().iter().zip(&layout.areas) {
        draw_node(&mut out, node, *area);
    }
    let mut loops = vec![0.0; graph.nodes().len()];
    for (edge, route) in graph.edges().iter().zip(&layout.routes) {
        let turned = (edge.from == edge.to).then(|| turn(edge, &layout.areas, &mut loops)).flatten();
        draw_edge(&mut out, graph, edge, turned.as_ref().unwrap_or(route));
    }
    // The titles of groups stand over the lines that enter below them.
    for (node, area) in graph.nodes().iter().zip(&layout.areas).filter(|(node, _)| is_group(node)) {
        let lit = if node.is_lit { " lit" } else { "" };
        let _ = writeln!(out, "<g class=\"over{lit}\" data-name=\"{}\">", escape(&node.name));
        caption(&mut out, node, *area);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    Ok(out)
}

/// A graph with more nodes and edges than are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TooLarge {
    /// How many it has.
    pub(crate) parts: usize,
    /// How many are drawn at most.
    pub(crate) max: usize,
}

// Writing to a `String` cannot fail.

fn draw_node(out: &mut String, node: &Node, area: Area) {
    let lit = if node.is_lit { " lit" } else { "" };
    let _ = writeln!(out, "<g class=\"node{lit}\" data-name=\"{}\">", escape(&node.name));
    let Area { x, y, width, height } = area;
    let class = match node.kind {
        NodeKind::Group => "box group",
        NodeKind::Parallel => "box group parallel",
        NodeKind::Pure => "box pure",
        NodeKind::Work => "box work",
        NodeKind::Wait => "box wait",
        NodeKind::Terminal => "box terminal",
        _ => "box",
    };
    let slant = 10.0;
    let mut polygon = |corners: [(f64, f64); 6]| {
        let points: Vec<String> =
            corners.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
        let _ = writeln!(out, "<polygon class=\"{class}\" points=\"{}\"/>", points.join(" "));
    };
    let (right, bottom, middle) = (x + width, y + height, y + height / 2.0);
    match node.kind {
        NodeKind::Start => {
            let (cx, cy, r) = (short(x + width / 2.0), short(middle), short(width / 2.0));
            let _ = writeln!(out, "<circle class=\"dot\" cx=\"{cx}\" cy=\"{cy}\" r=\"{r}\"/>");
        }
        NodeKind::Choice => polygon([
            (x, middle),
            (x + slant, y),
            (right - slant, y),
            (right, middle),
            (right - slant, bottom),
            (x + slant, bottom),
        ]),
        NodeKind::Terminal => polygon([
            (x + slant, y),
            (right, y),
            (right, y),
            (right - slant, bottom),
            (x, bottom),
            (x, bottom),
        ]),
        kind => {
            let round = match kind {
                NodeKind::Pure | NodeKind::Work => 2.0,
                NodeKind::Wait | NodeKind::History { .. } => height / 2.0,
                _ => 8.0,
            };
            rectangle(out, class, area, round);
            if kind == NodeKind::Final {
                let inner = Area { x: x + 3.0, y: y + 3.0, width: width - 6.0, height: height - 6.0 };
                rectangle(out, "line", inner, 6.0);
            }
        }
    }
    if !is_group(node) {
        caption(out, node, area);
    }
    out.push_str("</g>\n");
}

fn is_group(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Group | NodeKind::Parallel)
}

fn rectangle(out: &mut String, class: &str, area: Area, round: f64) {
    let [x, y, width, height, round] = [area.x, area.y, area.width, area.height, round].map(short);
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\"/>"
    );
}

fn caption(out: &mut String, node: &Node, area: Area) {
    if node.kind == NodeKind::Start {
        return;
    }
    let is_group = is_group(node);
    let (x, anchor) = if is_group { (area.x + 10.0, "start") } else { (area.x + area.width / 2.0, "middle") };
    #[expect(clippy::cast_precision_loss, reason = "there are not 2^53 lines")]
    let text_height = lines(node).count() as f64 * LINE_HEIGHT;
    let mut y = if is_group { area.y + 10.0 } else { area.y + (area.height - text_height) / 2.0 };
    for (index, line) in lines(node).enumerate() {
        let is_detail = index + node.details.len() >= lines(node).count();
        let class = if is_detail { "detail" } else { "title" };
        write_line(out, line, class, Point { x, y: y + LINE_HEIGHT / 2.0 }, anchor);
        y += LINE_HEIGHT;
    }
}

fn write_line(out: &mut String, line: &str, class: &str, at: Point, anchor: &str) {
    let (x, y) = (short(at.x), short(at.y + 0.35 * FONT_SIZE));
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" xml:space=\"preserve\">{}</text>",
        escape(line)
    );
}

fn draw_edge(out: &mut String, graph: &Graph, edge: &Edge, route: &Route) {
    let class = match edge.kind {
        EdgeKind::Start => "start",
        EdgeKind::Event => "event",
        EdgeKind::Delay => "delay",
        EdgeKind::Automatic => "automatic",
        EdgeKind::Failure => "failure",
        EdgeKind::Data => "data",
    };
    let name = |end: usize| graph.nodes().get(end).map(|node| escape(&node.name)).unwrap_or_default();
    let (from, to) = (name(edge.from), name(edge.to));
    let _ = writeln!(out, "<g class=\"edge\" data-from=\"{from}\" data-to=\"{to}\">");
    let _ = writeln!(out, "<path class=\"line {class}\" d=\"{}\"/>", path(&route.points));
    head(out, &route.points, if edge.kind == EdgeKind::Failure { "failure-head" } else { "head" });
    if let Some(middle) = route.label {
        let (_, height) = label_size(edge);
        let mut y = middle.y - height / 2.0 + LINE_HEIGHT / 2.0;
        for line in &edge.label {
            write_line(out, line, "label", Point { x: middle.x, y }, "middle");
            y += LINE_HEIGHT;
        }
    }
    out.push_str("</g>\n");
}

/// Straight down where the points stand above each other, and a curve that begins and ends upright where not.
fn path(points: &[Point]) -> String {
    let mut d = String::new();
    let mut last: Option<Point> = None;
    for point in points {
        let (x, y) = (short(point.x), short(point.y));
        let _ = match last {
            None => write!(d, "M{x} {y}"),
            Some(before) if (before.x - point.x).abs() < 0.05 => write!(d, " L{x} {y}"),
            Some(before) if (before.y - point.y).abs() < 0.05 => write!(d, " L{x} {y}"),
            Some(before) => {
                let middle = short(f64::midpoint(before.y, point.y));
                write!(d, " C{} {middle} {x} {middle} {x} {y}", short(before.x))
            }
        };
        last = Some(*point);
    }
    d
}

/// The tip of an arrow at the last point, in the direction in which the line arrives.
fn head(out: &mut String, points: &[Point], class: &str) {
    let Some((tip, rest)) = points.split_last() else { return };
    let Some(before) = rest.iter().rev().find(|point| *point != tip) else { return };
    let (length, half) = (8.0, 4.0);
    let is_upright = (tip.y - before.y).abs() >= 0.05;
    let corners = if is_upright {
        let y = tip.y - length * (tip.y - before.y).signum();
        [(tip.x, tip.y), (tip.x - half, y), (tip.x + half, y)]
    } else {
        let x = tip.x - length * (tip.x - before.x).signum();
        [(tip.x, tip.y), (x, tip.y - half), (x, tip.y + half)]
    };
    let points: Vec<String> = corners.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
    let _ = writeln!(out, "<polygon class=\"{class}\" points=\"{}\"/>", points.join(" "));
}

/// A loop at the right side of its box, below the loops that are there already.
fn turn(edge: &Edge, areas: &[Area], used: &mut [f64]) -> Option<Route> {
    let (area, used) = (areas.get(edge.from)?, used.get_mut(edge.from)?);
    let (width, height) = label_size(edge);
    let height = height.max(LINE_HEIGHT);
    let (x, top) = (area.x + area.width, area.y + *used + LOOP_GAP / 2.0);
    *used += height + LOOP_GAP;
    let (out, bottom) = (x + LOOP_REACH - 6.0, top + height);
    let points = [(x, top), (out, top), (out, bottom), (x, bottom)].map(|(x, y)| Point { x, y });
    let label = Point { x: out + 6.0 + width / 2.0, y: f64::midpoint(top, bottom) };
    Some(Route { points: points.to_vec(), label: Some(label).filter(|_| !edge.label.is_empty()) })
}

/// A coordinate with one digit behind the point.
fn short(coordinate: f64) -> f64 {
    (coordinate * 10.0).round() / 10.0
}

/// Text and attribute values; characters that XML cannot hold are shown as one that it can.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}
