//! The compiled dag: nodes by position in document order, with what flows into them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jaren_jslt::Stylesheet;
use jaren_json::{Object, Pointer, Shape, Str, Value};
use jaren_query::Query;

use crate::document::dag::Kind;

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
    /// How many nodes it waits for: two edges may come from the same one.
    pub(super) sources: usize,
    /// How many edges deliver its value.
    pub(super) readers: usize,
    /// That of an object of this node's value alone.
    pub(super) alone: OnceLock<Option<Shape>>,
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
            Work::Stylesheet(_) => Kind::Jslt,
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

    /// How many nodes it waits for: two edges may come from the same one.
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// How many edges deliver its value.
    pub fn readers(&self) -> usize {
        self.readers
    }

    /// The same values by node id with that of this node set. What grows alike in the runs of one dag shares its names.
    #[must_use]
    pub fn with_value(&self, values: &Object, value: Value) -> Object {
        if values.is_empty()
            && let Some(alone) = self.alone.get_or_init(|| Shape::new([&self.id]))
        {
            return Object::from_shape(alone, vec![value]).unwrap_or_default();
        }
        values.with(&self.id, value)
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
