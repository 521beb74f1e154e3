//! Drawing a graph as SVG, with no help from outside: a layered layout of each scope, the inner ones first.
//!
//! In a scope, what leads on stands below: nodes are put into layers so that most edges point down, and each edge passes
//! the layers between its ends at a place of its own. No line crosses a box, and a label has the room that it needs.
//! A scope that is laid out is one box for the scope around it; an edge that leaves it does so by a gate in its border.

mod level;
mod order;
mod place;
mod rank;
mod scope;
mod svg;
#[cfg(test)]
mod tests;
mod text;

use jaren::flow::graph::Graph;

pub(crate) use svg::draw;

/// A position, in pixels, from the upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Point {
    x: f64,
    y: f64,
}

/// A box.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Where everything stands: the nodes and edges of the graph by position.
#[derive(Debug)]
struct Layout {
    areas: Vec<Area>,
    routes: Vec<Route>,
    width: f64,
    height: f64,
}

/// How an edge runs: straight lines and curves through these points, from its beginning to its end.
#[derive(Debug, Clone, Default)]
struct Route {
    points: Vec<Point>,
    /// The middle of its label.
    label: Option<Point>,
}

/// Lays a graph out.
fn layout(graph: &Graph) -> Layout {
    scope::layout(graph)
}
