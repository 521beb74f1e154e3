//! Building dataflows, jaren-dag 0.1.

use std::marker::PhantomData;

use jaren_json::{Object, Str, Value, value};

use super::{Brand, BuildError, Members, duplicate};

/// Writes a dataflow.
///
/// A node takes what flows into it when it is declared, so there is no cycle, and no node without an input. The closure
/// has to end in the output, of which there is one.
///
/// ```
/// use jaren_flow::DeclaredTasks;
/// use jaren_flow::build::{self, task};
/// use jaren_flow::dag::Dag;
/// use jaren_json::value;
///
/// let document = build::dag(|mut dag| {
///     let order = dag.input("order");
///     let rates = dag.constant("rates", value!({ "vat": 0.21 }));
///     let total = dag.query("total", value!({ "$sum": "$[*].price" }), order.select("$.lines"));
///     let stock = dag.task("stock", task("check-stock", "3"), order);
///     dag.checkpoint(stock);
///     dag.output("out", [("total", total), ("stock", stock), ("rates", rates)])
/// })?;
/// Dag::compile(&document, &DeclaredTasks)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Without an output it does not compile:
///
/// ```compile_fail
/// # use jaren_flow::build;
/// let document = build::dag(|mut dag| {
///     dag.input("order");
/// });
/// ```
pub fn dag(author: impl for<'b> FnOnce(DagBuilder<'b>) -> Output<'b>) -> Result<Value, BuildError> {
    let builder = DagBuilder { ids: Vec::new(), nodes: Vec::new(), edges: Vec::new(), brand: PhantomData };
    let Output { dag, .. } = author(builder);
    if let Some(error) = duplicate(&dag.ids) {
        return Err(error);
    }
    let nodes: Object = dag.ids.into_iter().zip(dag.nodes.into_iter().map(Members::build)).collect();
    Ok(value!({ "$dag": "0.1", "nodes": nodes, "edges": dag.edges }))
}

/// What the closure of [`dag`] writes with.
#[derive(Debug)]
pub struct DagBuilder<'b> {
    ids: Vec<Str>,
    nodes: Vec<Members>,
    edges: Vec<Value>,
    brand: Brand<'b>,
}

/// The end of a dataflow.
#[derive(Debug)]
pub struct Output<'b> {
    dag: DagBuilder<'b>,
    node: Node<'b>,
}

impl Output<'_> {
    /// Keeps the result, so that a resumed run does not compute it again.
    #[must_use]
    pub fn checkpoint(mut self) -> Self {
        self.dag.checkpoint(self.node);
        self
    }
}

/// A node of a dataflow that is being written, and the value that flows out of it.
#[derive(Debug, Clone, Copy)]
pub struct Node<'b> {
    index: usize,
    brand: Brand<'b>,
}

/// What flows out of a node, or the part of it that a query selects.
#[derive(Debug, Clone)]
pub struct Feed<'b> {
    from: Node<'b>,
    select: Option<Value>,
}

/// What flows into a node: one value, which is the node's `$`, or one a port, which are the members of its `$`.
#[derive(Debug, Clone)]
pub struct Inputs<'b>(Vec<(Option<Str>, Feed<'b>)>);

impl<'b> Node<'b> {
    /// The part of its value that a query selects.
    #[must_use]
    pub fn select(self, query: impl Into<Value>) -> Feed<'b> {
        Feed { from: self, select: Some(query.into()) }
    }
}

impl<'b> From<Node<'b>> for Feed<'b> {
    fn from(from: Node<'b>) -> Self {
        Self { from, select: None }
    }
}

impl<'b> From<Node<'b>> for Inputs<'b> {
    fn from(from: Node<'b>) -> Self {
        Self(vec![(None, from.into())])
    }
}

impl<'b> From<Feed<'b>> for Inputs<'b> {
    fn from(feed: Feed<'b>) -> Self {
        Self(vec![(None, feed)])
    }
}

impl<'b, P: Into<Str>, F: Into<Feed<'b>>, const N: usize> From<[(P, F); N]> for Inputs<'b> {
    fn from(ports: [(P, F); N]) -> Self {
        const { assert!(N > 0, "a node needs an input") };
        ports.into_iter().collect()
    }
}

/// Ports whose number is known only when the program runs. There must be one.
impl<'b, P: Into<Str>, F: Into<Feed<'b>>> FromIterator<(P, F)> for Inputs<'b> {
    fn from_iter<I: IntoIterator<Item = (P, F)>>(ports: I) -> Self {
        Self(ports.into_iter().map(|(port, feed)| (Some(port.into()), feed.into())).collect())
    }
}

/// A task with the version that it must have.
#[derive(Debug, Clone)]
pub struct Task {
    pub(super) name: Str,
    pub(super) version: Str,
    pub(super) with: Option<Value>,
}

/// A task by its name in the registry, and the version that its handler must have.
pub fn task(name: impl Into<Str>, version: impl Into<Str>) -> Task {
    Task { name: name.into(), version: version.into(), with: None }
}

impl Task {
    /// The query of its argument, over what flows into the node.
    #[must_use]
    pub fn with(mut self, query: impl Into<Value>) -> Self {
        self.with = Some(query.into());
        self
    }
}

/// A task of any version, which only a dataflow may have that keeps nothing.
#[derive(Debug, Clone)]
pub struct UnversionedTask {
    name: Str,
    version: Option<Str>,
    with: Option<Value>,
}

/// A task by its name in the registry.
pub fn unversioned_task(name: impl Into<Str>) -> UnversionedTask {
    UnversionedTask { name: name.into(), version: None, with: None }
}

impl UnversionedTask {
    /// The query of its argument, over what flows into the node.
    #[must_use]
    pub fn with(mut self, query: impl Into<Value>) -> Self {
        self.with = Some(query.into());
        self
    }
}

impl From<Task> for UnversionedTask {
    fn from(task: Task) -> Self {
        Self { name: task.name, version: Some(task.version), with: task.with }
    }
}

impl<'b> DagBuilder<'b> {
    /// Declares where the run's input comes from.
    pub fn input(&mut self, id: impl Into<Str>) -> Node<'b> {
        self.declare(id, "input", None)
    }

    /// Declares a value that is the same in every run.
    pub fn constant(&mut self, id: impl Into<Str>, value: impl Into<Value>) -> Node<'b> {
        self.declare(id, "const", Some(("value", value.into())))
    }

    /// Declares a query over what flows in.
    pub fn query(
        &mut self,
        id: impl Into<Str>,
        query: impl Into<Value>,
        inputs: impl Into<Inputs<'b>>,
    ) -> Node<'b> {
        let node = self.declare(id, "query", Some(("query", query.into())));
        self.feed(node, inputs.into())
    }

    /// Declares a stylesheet over what flows in.
    pub fn stylesheet(
        &mut self,
        id: impl Into<Str>,
        stylesheet: impl Into<Value>,
        inputs: impl Into<Inputs<'b>>,
    ) -> Node<'b> {
        let node = self.declare(id, "jslt", Some(("stylesheet", stylesheet.into())));
        self.feed(node, inputs.into())
    }

    /// Declares a task over what flows in: [`task`], or [`unversioned_task`].
    pub fn task(
        &mut self,
        id: impl Into<Str>,
        task: impl Into<UnversionedTask>,
        inputs: impl Into<Inputs<'b>>,
    ) -> Node<'b> {
        let UnversionedTask { name, version, with } = task.into();
        let node = self.declare(id, "task", Some(("run", Value::String(name))));
        if let Some(members) = self.nodes.get_mut(node.index) {
            members.set_some("version", version);
            members.set_some("with", with);
        }
        self.feed(node, inputs.into())
    }

    /// Keeps the node's result, so that a resumed run does not compute it again. It must be JSON.
    pub fn checkpoint(&mut self, node: Node<'b>) {
        if let Some(members) = self.nodes.get_mut(node.index) {
            members.set("checkpoint", true);
        }
    }

    /// Declares the result, which is the end.
    pub fn output(mut self, id: impl Into<Str>, inputs: impl Into<Inputs<'b>>) -> Output<'b> {
        let node = self.declare(id, "output", None);
        self.feed(node, inputs.into());
        Output { dag: self, node }
    }

    fn declare(&mut self, id: impl Into<Str>, kind: &str, member: Option<(&'static str, Value)>) -> Node<'b> {
        let index = self.ids.len();
        let mut members = Members::of([("kind", kind.into())]);
        if let Some((name, value)) = member {
            members.set(name, value);
        }
        self.ids.push(id.into());
        self.nodes.push(members);
        Node { index, brand: PhantomData }
    }

    fn feed(&mut self, node: Node<'b>, inputs: Inputs<'b>) -> Node<'b> {
        for (port, feed) in inputs.0 {
            let mut edge = Members::of([("from", self.id(feed.from)), ("to", self.id(node))]);
            edge.set_some("port", port);
            edge.set_some("select", feed.select);
            self.edges.push(Value::Object(edge.build()));
        }
        node
    }

    fn id(&self, node: Node<'b>) -> Value {
        self.ids.get(node.index).into()
    }
}
