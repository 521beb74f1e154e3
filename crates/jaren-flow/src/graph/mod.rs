//! Documents as graphs: what a picture shows, and the pictures that are text, for Mermaid and for Graphviz.
//!
//! A graph has a node for each state or node of the document and an edge for each transition. States nest; guards,
//! delays and effects are written at the edges, queries shortened as people write them. Drawing is somebody else's.
//!
//! ```
//! use jaren_flow::graph::Graph;
//! use jaren_json::value;
//!
//! let mut graph = Graph::of(&value!({
//!     "$fsm": "0.2",
//!     "initial": "closed",
//!     "states": ["closed", "open"],
//!     "transitions": [{ "from": "closed", "event": "push", "guard": "$.context.unlocked", "to": "open" }]
//! }))?;
//! assert!(graph.light("closed"));
//! assert!(graph.to_mermaid().contains(r#""push<br/>[$.context.unlocked]""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dag;
mod dot;
mod label;
mod mermaid;
mod states;
mod workflow;

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Report, Str, Value};

use crate::format::Format;
use crate::options::CompileOptions;
use crate::statechart::Statechart;
use crate::tasks::DeclaredTasks;

/// What a picture of a document shows. Nodes and edges refer to each other by position; a parent comes before its
/// children.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    flows_right: bool,
    /// The nodes by their names.
    places: BTreeMap<Str, usize>,
    /// The nodes that have children.
    groups: BTreeSet<usize>,
}

/// A state, a node of a dataflow, or the dot from which a scope starts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Node {
    /// The name that snapshots know it by; for a node of a dataflow in a workflow, its state's name and its id. Empty
    /// for a dot.
    pub name: Str,
    /// What it is called where it stands.
    pub label: Str,
    /// What it is.
    pub kind: NodeKind,
    /// The node that it lies in.
    pub parent: Option<usize>,
    /// What else is to say about it, a line each.
    pub details: Vec<String>,
    /// Whether it is active.
    pub is_lit: bool,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// The dot from which a scope starts; an edge leads from it to the initial state.
    Start,
    /// A state without children.
    State,
    /// A state in which others lie.
    Group,
    /// A state whose children are active side by side.
    Parallel,
    /// A final state.
    Final,
    /// A history state: shallow or deep.
    History {
        /// Whether it remembers leaves.
        is_deep: bool,
    },
    /// A state that chooses.
    Choice,
    /// A state that waits.
    Wait,
    /// A state that works, or a node that runs a task.
    Work,
    /// A node that gives the input of a dataflow, or takes its output.
    Terminal,
    /// A node that makes values by itself: const, query, stylesheet.
    Pure,
}

/// A transition, an edge of a dataflow, or what leads from a dot.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Edge {
    /// The node that it leaves.
    pub from: usize,
    /// The node that it enters.
    pub to: usize,
    /// Its label, a line each.
    pub label: Vec<String>,
    /// What it is.
    pub kind: EdgeKind,
}

/// What an edge is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeKind {
    /// From a dot to where a scope starts.
    Start,
    /// A transition that answers something from outside.
    Event,
    /// A transition that time makes.
    Delay,
    /// A transition that the chart makes by itself.
    Automatic,
    /// The way after a failure.
    Failure,
    /// Data that flow.
    Data,
}

impl Graph {
    /// The graph of a document in any of the formats, told by its marker; one without a marker is a machine. The report
    /// is that of the format's compiler. Tasks need not be known.
    pub fn of(document: &Value) -> Result<Self, Report> {
        Self::of_with(document, &CompileOptions::new())
    }

    /// The same with options. [`CompileOptions::for_reading`] takes queries as they are.
    pub fn of_with(document: &Value, options: &CompileOptions) -> Result<Self, Report> {
        let format = Format::of(document).unwrap_or(Format::Machine);
        if format == Format::Statechart {
            return Statechart::compile_with(document, options)
                .map(|chart| states::statechart(document, &chart));
        }
        format.check(document, &DeclaredTasks, options)?;
        Ok(match format {
            Format::Workflow => workflow::graph(document),
            Format::Dag => dag::graph(document),
            Format::Statechart | Format::Machine => states::machine(document),
        })
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The edges, in the order of the document.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Whether it reads from left to right, as dataflows do, and not from top to bottom.
    pub fn flows_right(&self) -> bool {
        self.flows_right
    }

    /// Marks a state and all that it lies in as active; false where there is none of that name.
    pub fn light(&mut self, name: &str) -> bool {
        let mut next = self.find(name);
        let is_found = next.is_some();
        while let Some(node) = next.and_then(|index| self.nodes.get_mut(index)) {
            node.is_lit = true;
            next = node.parent;
        }
        is_found
    }

    /// The picture as text for Mermaid: a flowchart with a subgraph for each state that has children.
    pub fn to_mermaid(&self) -> String {
        mermaid::text(self)
    }

    /// The picture as text for Graphviz: a digraph with a cluster for each state that has children.
    pub fn to_dot(&self) -> String {
        dot::text(self)
    }

    /// The nodes that lie directly in a node, or in none.
    pub fn children(&self, parent: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        self.nodes.iter().enumerate().filter(move |(_, node)| node.parent == parent).map(|(index, _)| index)
    }

    /// Whether other nodes lie in it.
    pub fn is_group(&self, node: usize) -> bool {
        self.groups.contains(&node)
    }

    fn add(&mut self, name: &str, label: &str, kind: NodeKind, parent: Option<usize>) -> usize {
        let (name, label) = (Str::from(name), Str::from(label));
        self.groups.extend(parent);
        if kind != NodeKind::Start {
            self.places.insert(name.clone(), self.nodes.len());
        }
        self.nodes.push(Node { name, label, kind, parent, details: Vec::new(), is_lit: false });
        self.nodes.len() - 1
    }

    /// A dot in `parent` that leads to `to`.
    fn start(&mut self, parent: Option<usize>, to: usize) {
        let dot = self.add("", "", NodeKind::Start, parent);
        self.edges.push(Edge { from: dot, to, label: Vec::new(), kind: EdgeKind::Start });
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// An edge between declared names; a sound document names no others.
    fn connect(&mut self, from: Option<usize>, to: Option<usize>, kind: EdgeKind, label: Vec<String>) {
        if let (Some(from), Some(to)) = (from, to) {
            self.edges.push(Edge { from, to, label, kind });
        }
    }

    /// How a text picture walks: each node after what opens it, and [`Visit::Leave`] where a group ends.
    fn walk(&self) -> Vec<Visit> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        let mut open: Vec<Visit> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            match node.parent.and_then(|parent| children.get_mut(parent)) {
                Some(siblings) => siblings.push(index),
                None => open.push(Visit::Enter(index)),
            }
        }
        let mut visits = Vec::new();
        while let Some(visit) = open.pop() {
            if let Visit::Enter(index) = visit {
                let inside: &[usize] = children.get(index).map_or(&[], Vec::as_slice);
                if inside.is_empty() {
                    visits.push(Visit::Leaf(index));
                    continue;
                }
                open.push(Visit::Leave);
                open.extend(inside.iter().map(|child| Visit::Enter(*child)));
            }
            visits.push(visit);
        }
        visits
    }

    /// Whether `node` lies in `group`, however deep.
    fn is_inside(&self, node: usize, group: usize) -> bool {
        let parent = |index: &usize| self.nodes.get(*index).and_then(|node| node.parent);
        std::iter::successors(parent(&node), parent).any(|above| above == group)
    }
}

/// A place in the walk of a text picture.
#[derive(Debug, Clone, Copy)]
enum Visit {
    /// A node that has no children.
    Leaf(usize),
    /// A group begins.
    Enter(usize),
    /// The innermost open group ends.
    Leave,
}
