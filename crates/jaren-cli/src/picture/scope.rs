//! The layout of scopes: which edges pass which scope, the inside of one scope, and how it all comes together.

use jaren::flow::graph::{Edge, Graph, Node, NodeKind};

use super::level::{self, End, Given, Inside, Segment};
use super::{Area, Layout, Point, Route, rank, text};

/// Around a picture, and between a group's border and what lies in it.
pub(super) const MARGIN: f64 = 14.0;
/// Between a box's border and its text.
const PADDING: f64 = 10.0;
/// The diameter of a dot.
const DOT: f64 = 12.0;
/// How far a loop reaches out of its box.
pub(super) const LOOP_REACH: f64 = 22.0;
/// Between two loops at one box.
pub(super) const LOOP_GAP: f64 = 6.0;

/// The scope of a node's children is that node; that of the roots is `None`.
type ScopeId = Option<usize>;

/// What each scope holds.
struct Plan<'g> {
    graph: &'g Graph,
    /// The nodes above each, itself first.
    lineages: Vec<Vec<usize>>,
    /// The layer of each node among its siblings.
    layers: Vec<usize>,
    /// By scope: the root scope last.
    segments: Vec<Vec<Segment>>,
    children: Vec<Vec<usize>>,
}

/// Lays a graph out.
pub(super) fn layout(graph: &Graph) -> Layout {
    let plan = Plan::new(graph);
    let count = graph.nodes().len();
    let nowhere = Body { width: 0.0, height: 0.0, loops: 0.0, indent: 0.0 };
    let mut bodies = vec![nowhere; count];
    let mut insides: Vec<Option<Inside>> = (0..=count).map(|_| None).collect();
    // A parent comes before its children, so the inner scopes are laid out first; the root scope is the last.
    for scope in (0..count).rev().chain([count]) {
        let children = plan.children.get(scope).map_or(&[][..], Vec::as_slice);
        if !children.is_empty() {
            let own: Vec<Body> =
                children.iter().map(|child| bodies.get(*child).copied().unwrap_or(nowhere)).collect();
            let node = graph.nodes().get(scope);
            let given = Given {
                children,
                bodies: &own,
                layers: &plan.layers,
                segments: plan.segments.get(scope).map_or(&[], Vec::as_slice),
                above: node.map_or(0.0, header),
                below: MARGIN,
            };
            let inside = level::inside(&given, &|child, edge| {
                let x = insides.get(child)?.as_ref()?.gates.get(&edge)?;
                Some(x + bodies.get(child)?.indent)
            });
            if let Some(slot) = insides.get_mut(scope) {
                *slot = Some(inside);
            }
        }
        let inside = insides.get(scope).and_then(Option::as_ref);
        if let Some(slot) = bodies.get_mut(scope) {
            *slot = body(graph, scope, inside);
        }
    }
    assemble(graph, &bodies, &insides)
}

/// A box with its loops.
#[derive(Debug, Clone, Copy)]
pub(super) struct Body {
    pub(super) width: f64,
    pub(super) height: f64,
    /// What the loops need at its right side.
    pub(super) loops: f64,
    /// From its left side to the inside of its scope.
    pub(super) indent: f64,
}

fn body(graph: &Graph, node: usize, inside: Option<&Inside>) -> Body {
    let Some(own) = graph.nodes().get(node) else {
        return Body { width: 0.0, height: 0.0, loops: 0.0, indent: 0.0 };
    };
    let (text_width, text_height) = text::size(lines(own));
    let (width, height) = match (own.kind, inside) {
        (NodeKind::Start, _) => (DOT, DOT),
        (_, Some(inside)) => {
            let title = header(own);
            ((inside.width + 2.0 * MARGIN).max(text_width + 2.0 * PADDING), inside.height + title + MARGIN)
        }
        _ => (text_width + 2.0 * PADDING + extra_width(own.kind), text_height + 2.0 * PADDING),
    };
    let loops = graph.edges().iter().filter(|edge| edge.from == node && edge.to == node);
    let sizes: Vec<(f64, f64)> = loops.map(label_size).collect();
    let stacked: f64 = sizes.iter().map(|(_, height)| height.max(text::LINE_HEIGHT) + LOOP_GAP).sum();
    let reach = sizes.iter().map(|(width, _)| width + LOOP_REACH + 6.0).fold(0.0, f64::max);
    let indent = inside.map_or(0.0, |inside| (width - inside.width) / 2.0);
    Body { width, height: height.max(stacked), loops: reach, indent }
}

/// What slanted sides take.
fn extra_width(kind: NodeKind) -> f64 {
    match kind {
        NodeKind::Choice | NodeKind::Wait | NodeKind::Terminal => 20.0,
        _ => 0.0,
    }
}

/// The text in a box, a line each.
pub(super) fn lines(node: &Node) -> impl Iterator<Item = &str> {
    let mark = match node.kind {
        NodeKind::History { is_deep: true } => Some("H*"),
        NodeKind::History { is_deep: false } => Some("H"),
        _ => None,
    };
    mark.into_iter().chain([&*node.label]).chain(node.details.iter().map(String::as_str))
}

/// The height of a group's title.
pub(super) fn header(node: &Node) -> f64 {
    text::size(lines(node)).1 + 2.0 * PADDING
}

pub(super) fn label_size(edge: &Edge) -> (f64, f64) {
    text::size(edge.label.iter().map(String::as_str))
}

impl<'g> Plan<'g> {
    fn new(graph: &'g Graph) -> Self {
        let nodes = graph.nodes();
        let mut lineages: Vec<Vec<usize>> = Vec::with_capacity(nodes.len());
        let mut children = vec![Vec::new(); nodes.len() + 1];
        for (index, node) in nodes.iter().enumerate() {
            let above = node.parent.and_then(|parent| lineages.get(parent)).cloned().unwrap_or_default();
            lineages.push(std::iter::once(index).chain(above).collect());
            if let Some(list) = children.get_mut(node.parent.unwrap_or(nodes.len())) {
                list.push(index);
            }
        }
        let segments = vec![Vec::new(); nodes.len() + 1];
        let mut plan = Self { graph, lineages, layers: vec![0; nodes.len()], segments, children };
        plan.layer();
        for (index, edge) in graph.edges().iter().enumerate() {
            plan.route(index, edge);
        }
        plan
    }

    fn lineage(&self, node: usize) -> &[usize] {
        self.lineages.get(node).map_or(&[], Vec::as_slice)
    }

    fn parent(&self, node: usize) -> ScopeId {
        self.graph.nodes().get(node).and_then(|node| node.parent)
    }

    /// The scope in which the two ends of an edge are different things, and those things. `None` stands for the border
    /// of the scope itself, where one end holds the other.
    fn meet(&self, edge: &Edge) -> (ScopeId, Option<usize>, Option<usize>) {
        let (from, to) = (self.lineage(edge.from), self.lineage(edge.to));
        let common = from.iter().rev().zip(to.iter().rev()).take_while(|(a, b)| a == b).count();
        let below =
            |lineage: &[usize]| lineage.len().checked_sub(common + 1).and_then(|i| lineage.get(i)).copied();
        let scope = common.checked_sub(1).and_then(|index| from.iter().rev().nth(index)).copied();
        (scope, below(from), below(to))
    }

    /// Puts the children of every scope into layers.
    fn layer(&mut self) {
        let mut lifted = vec![Vec::new(); self.children.len()];
        for edge in self.graph.edges() {
            if let (scope, Some(from), Some(to)) = self.meet(edge)
                && let Some(list) = lifted.get_mut(self.slot(scope))
            {
                list.push((from, to));
            }
        }
        for (children, edges) in self.children.iter().zip(lifted) {
            let place = |node: usize| children.binary_search(&node).ok();
            let edges: Vec<(usize, usize)> =
                edges.into_iter().filter_map(|(from, to)| place(from).zip(place(to))).collect();
            for (child, layer) in children.iter().zip(rank::layers(children.len(), &edges)) {
                if let Some(slot) = self.layers.get_mut(*child) {
                    *slot = layer;
                }
            }
        }
    }

    fn slot(&self, scope: ScopeId) -> usize {
        scope.unwrap_or_else(|| self.graph.nodes().len())
    }

    fn add(&mut self, scope: ScopeId, segment: Segment) {
        let slot = self.slot(scope);
        if let Some(list) = self.segments.get_mut(slot) {
            list.push(segment);
        }
    }

    /// Cuts an edge into a segment for each scope that it passes.
    fn route(&mut self, index: usize, edge: &Edge) {
        if edge.from == edge.to {
            return;
        }
        let label = Some(label_size(edge)).filter(|_| !edge.label.is_empty());
        let (scope, from, to) = self.meet(edge);
        let layer = |node: Option<usize>| node.and_then(|node| self.layers.get(node)).copied();
        // Where one end is the border, the edge leads down from its upper side, or down to its lower one.
        let is_down = layer(from).zip(layer(to)).is_none_or(|(from, to)| from < to);
        let end = |node: Option<usize>, gate: End| node.map_or(gate, End::Child);
        let middle = Segment {
            edge: index,
            order: 0,
            from: end(from, End::Upper),
            to: end(to, End::Lower),
            is_down,
            label,
        };
        self.add(scope, middle);
        for (end, top, leaves) in [(edge.from, from, true), (edge.to, to, false)] {
            let inner: Vec<usize> =
                self.lineage(end).iter().copied().take_while(|node| Some(*node) != top).collect();
            for child in inner.into_iter().filter(|_| top.is_some()) {
                let depth = i64::try_from(self.lineage(child).len()).unwrap_or(i64::MAX);
                // A line that leads down leaves below and enters above; one that leads up does the reverse.
                let gate = if leaves == is_down { End::Lower } else { End::Upper };
                let (from, to) = if leaves { (End::Child(child), gate) } else { (gate, End::Child(child)) };
                let order = if leaves { -depth } else { depth };
                self.add(self.parent(child), Segment { edge: index, order, from, to, is_down, label: None });
            }
        }
    }
}

/// Puts every scope to its place, and the segments of each edge together.
fn assemble(graph: &Graph, bodies: &[Body], insides: &[Option<Inside>]) -> Layout {
    let nodes = graph.nodes();
    let mut areas = vec![Area::default(); nodes.len()];
    let mut pieces: Vec<Vec<(i64, Route)>> = vec![Vec::new(); graph.edges().len()];
    let (mut width, mut height) = (0.0, 0.0);
    for scope in std::iter::once(nodes.len()).chain(0..nodes.len()) {
        let Some(inside) = insides.get(scope).and_then(Option::as_ref) else { continue };
        let origin = if let (Some(area), Some(node), Some(body)) =
            (areas.get(scope), nodes.get(scope), bodies.get(scope))
        {
            Point { x: area.x + body.indent, y: area.y + header(node) }
        } else {
            (width, height) = (inside.width + 2.0 * MARGIN, inside.height + 2.0 * MARGIN);
            Point { x: MARGIN, y: MARGIN }
        };
        for (child, area) in &inside.areas {
            if let Some(slot) = areas.get_mut(*child) {
                *slot = Area { x: area.x + origin.x, y: area.y + origin.y, ..*area };
            }
        }
        for (edge, order, route) in &inside.routes {
            let moved = |point: &Point| Point { x: point.x + origin.x, y: point.y + origin.y };
            let route = Route {
                points: route.points.iter().map(moved).collect(),
                label: route.label.as_ref().map(moved),
            };
            if let Some(list) = pieces.get_mut(*edge) {
                list.push((*order, route));
            }
        }
    }
    let routes = pieces.into_iter().map(|mut pieces| {
        pieces.sort_by_key(|(order, _)| *order);
        let label = pieces.iter().find_map(|(_, route)| route.label);
        Route { points: pieces.into_iter().flat_map(|(_, route)| route.points).collect(), label }
    });
    Layout { routes: routes.collect(), areas, width, height }
}
