//! Dataflows, jaren-dag 0.1. Every part may have members that the format does not know.

use jaren_json::{Object, Str, Value};

use super::member::{Part, member, object, put};
use super::part::{part, serde, words};
use super::{DocumentError, Named};

part! {
    /// A dataflow.
    open DagDocument {
        /// The marker, `"0.1"`.
        marker: Str = "$dag",
        /// The nodes by their ids, in order.
        nodes: Named<Node> = "nodes",
        /// The edges in order.
        edges: Vec<Edge> = "edges",
    }
}

/// A node.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it does.
    pub work: Work,
    /// Whether its result is kept.
    pub checkpoint: Option<bool>,
    source: Object,
}

/// What a node does.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Gives the run's input.
    Input,
    /// Takes the run's result.
    Output,
    /// Gives a value.
    Const {
        /// The value.
        value: Value,
    },
    /// Evaluates a query.
    Query {
        /// The query.
        query: Value,
    },
    /// Applies a stylesheet.
    Jslt {
        /// The stylesheet.
        stylesheet: Value,
    },
    /// Runs a task.
    Task {
        /// Its name in the registry.
        run: Str,
        /// The version that its handler must have.
        version: Option<Str>,
        /// The query of its argument.
        with: Option<Value>,
    },
}

words! {
    /// The words for them.
    Kind, "input, output, const, query, jslt or task" {
        /// See [`Work::Input`].
        Input = "input",
        /// See [`Work::Output`].
        Output = "output",
        /// See [`Work::Const`].
        Const = "const",
        /// See [`Work::Query`].
        Query = "query",
        /// See [`Work::Jslt`].
        Jslt = "jslt",
        /// See [`Work::Task`].
        Task = "task",
    }
}

impl Work {
    /// The kind of the node.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Input => Kind::Input,
            Self::Output => Kind::Output,
            Self::Const { .. } => Kind::Const,
            Self::Query { .. } => Kind::Query,
            Self::Jslt { .. } => Kind::Jslt,
            Self::Task { .. } => Kind::Task,
        }
    }
}

impl Part for Node {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        let node = object(value, None)?;
        let work = match member(node, "kind")? {
            Kind::Input => Work::Input,
            Kind::Output => Work::Output,
            Kind::Const => Work::Const { value: member(node, "value")? },
            Kind::Query => Work::Query { query: member(node, "query")? },
            Kind::Jslt => Work::Jslt { stylesheet: member(node, "stylesheet")? },
            Kind::Task => Work::Task {
                run: member(node, "run")?,
                version: member(node, "version")?,
                with: member(node, "with")?,
            },
        };
        Ok(Self { work, checkpoint: member(node, "checkpoint")?, source: node.clone() })
    }

    fn write(&self) -> Value {
        let node = put(self.source.clone(), "kind", &self.work.kind());
        let node = match &self.work {
            Work::Input | Work::Output => node,
            Work::Const { value } => put(node, "value", value),
            Work::Query { query } => put(node, "query", query),
            Work::Jslt { stylesheet } => put(node, "stylesheet", stylesheet),
            Work::Task { run, version, with } => {
                put(put(put(node, "run", run), "version", version), "with", with)
            }
        };
        Value::Object(put(node, "checkpoint", &self.checkpoint))
    }
}
serde!(Node);

part! {
    /// An edge.
    open Edge {
        /// The node whose value flows.
        from: Str = "from",
        /// The node into which it flows.
        to: Str = "to",
        /// The member of that node's `$` that it becomes.
        port: Option<Str> = "port",
        /// The part of the value that flows.
        select: Option<Value> = "select",
    }
}
