//! The compiled dag: nodes by position in document order, with what flows into them.

use std::collections::BTreeMap;

use jaren_jslt::Stylesheet;
use jaren_json::{Object, Pointer, Shape, Str, Value};
use jaren_query::Query;

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Yields the input of the run.
    Input,
    /// Yields its literal value.
    Const,
    /// Evaluates a query over its scope.
    Query,
    /// Transforms its scope by a stylesheet.
    Stylesheet,
    /// Calls a registered handler with its scope.
    Task,
    /// Its scope is the result of the run.
    Output,
}

#[derive(Debug)]
pub(super) enum Work {
    Input,
    Const(Value),
    Query(Query),
    Stylesheet(Stylesheet),
    Task { name: Str, version: Option<Str>, with: Option<Query> },
    Output,
}

/// One node of a compiled dag. Other nodes are named by their positions in [`Dag::nodes`](super::Dag::nodes).
#[derive(Debug)]
pub struct Node {
    pub(super) id: Str,
    pub(super) pointer: Pointer,
    pub(super) checkpoint: bool,
    pub(super) work: Work,
    pub(super) inbound: Vec<Edge>,
    /// The names of the scope's members, when the scope is an object of ports.
    pub(super) ports: Option<Shape>,
    pub(super) consumers: Vec<usize>,
}

impl Node {
    /// The node's id.
    pub fn id(&self) -> &Str {
        &self.id
    }

    /// What it does.
    pub fn kind(&self) -> Kind {
        match self.work {
            Work::Input => Kind::Input,
            Work::Const(_) => Kind::Const,
            Work::Query(_) => Kind::Query,
            Work::Stylesheet(_) => Kind::Stylesheet,
            Work::Task { .. } => Kind::Task,
            Work::Output => Kind::Output,
        }
    }

    /// Whether its value is to be kept.
    pub fn checkpoint(&self) -> bool {
        self.checkpoint
    }

    /// Its place in the dag document.
    pub fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// What flows into it, in document order of the edges.
    pub fn inbound(&self) -> &[Edge] {
        &self.inbound
    }

    /// The nodes that wait for it, each once, in document order.
    pub fn consumers(&self) -> &[usize] {
        &self.consumers
    }
}

/// One edge into a node.
#[derive(Debug)]
pub struct Edge {
    pub(super) from: usize,
    pub(super) port: Option<Str>,
    pub(super) select: Option<Query>,
    /// Its position among all edges.
    pub(super) index: usize,
}

impl Edge {
    /// The position of the node whose value it delivers.
    pub fn from(&self) -> usize {
        self.from
    }

    /// The member of the receiving node's scope that it fills.
    pub fn port(&self) -> Option<&Str> {
        self.port.as_ref()
    }
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) nodes: Vec<Node>,
    pub(super) by_id: BTreeMap<Str, usize>,
    pub(super) output: usize,
    pub(super) task_versions: Object,
    /// The canonical text of the document: a part of its identity.
    pub(super) canonical: Str,
}
