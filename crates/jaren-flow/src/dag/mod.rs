//! Dataflows, jaren-dag 0.1: named nodes wired by edges that carry data, compiled against a registry of tasks.
//!
//! [`Dag::compile`] checks a document; [`Dag::scope`] assembles what a node reads and [`Dag::evaluate`] does what can
//! be done purely. Scheduling nodes, calling handlers and keeping checkpoints belong to `jaren-engine`.

mod compile;
mod cycle;
mod plan;
mod read;

use std::sync::Arc;

use jaren_json::{Diagnostic, NotJson, Object, Pointer, Report, Str, Value};
use jaren_query::{Limits, Query, Scope};

pub(crate) use self::compile::Host;
pub use self::plan::{Edge, Node};
use self::plan::{Plan, Work};
use crate::defects::Defects;
pub use crate::document::dag::Kind;
use crate::error::FlowError;
use crate::options::{CompileOptions, Queries};
use crate::tasks::TaskVersions;

/// A compiled dag: immutable, `Send + Sync`, cheap to clone.
#[derive(Debug, Clone)]
pub struct Dag {
    plan: Arc<Plan>,
}

/// What evaluating a node came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Evaluated {
    /// Its value.
    Value(Value),
    /// A handler must be called: what it answers is the node's value.
    Task(TaskCall),
}

/// A call that a task node asks for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskCall {
    /// The handler's name in the registry.
    pub name: Str,
    /// The declared version, where there is one.
    pub version: Option<Str>,
    /// The resolved `with`; null when the document has none or its query found nothing.
    pub with: Value,
    /// The node's scope.
    pub input: Value,
}

impl Dag {
    /// Compiles a jaren-dag 0.1 document. The report has every defect, JF0010 to JF0019.
    pub fn compile(document: &Value, tasks: &dyn TaskVersions) -> Result<Self, Report> {
        Self::compile_with(document, tasks, &CompileOptions::new())
    }

    /// The same with options.
    pub fn compile_with(
        document: &Value,
        tasks: &dyn TaskVersions,
        options: &CompileOptions,
    ) -> Result<Self, Report> {
        let mut defects = Defects::default();
        let dag = Self::check(document, Host { tasks, queries: &Queries::new(options) }, &mut defects);
        defects.finish(document, dag)
    }

    /// Compiles into `defects`; a dag comes out only when the document is sound.
    pub(crate) fn check(document: &Value, host: Host<'_>, defects: &mut Defects) -> Option<Self> {
        compile::check(document, host, defects).map(|plan| Self { plan: Arc::new(plan) })
    }

    /// The nodes in document order.
    pub fn nodes(&self) -> &[Node] {
        &self.plan.nodes
    }

    /// The position of the node with this id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.plan.by_id.get(id).copied()
    }

    /// The position of the output node.
    pub fn output(&self) -> usize {
        self.plan.output
    }

    /// Every declared task version by its node's path, nested ones below, sorted (section 7.8).
    pub fn task_versions(&self) -> &Object {
        &self.plan.task_versions
    }

    /// The canonical text of the document.
    pub(crate) fn canonical(&self) -> &Str {
        &self.plan.canonical
    }

    /// What a kept value depends on: `{revision, document, input, taskVersions}`, document and input as canonical
    /// text (section 7.9). Fails when the input is not JSON.
    pub fn identity(&self, revision: &str, input: &Value) -> Result<Value, NotJson> {
        let members = [
            ("revision", Value::from(revision)),
            ("document", Value::String(self.plan.canonical.clone())),
            ("input", Value::from(jaren_json::canonical(input)?)),
            ("taskVersions", Value::Object(self.plan.task_versions.clone())),
        ];
        Ok(Value::Object(members.into_iter().collect()))
    }

    /// What the node reads (section 6.1): the run's input for an input node, null for a const node, otherwise what
    /// its edges deliver from `values`, which holds the nodes' values by position.
    ///
    /// JF2006 when a `select` fails, or where all of it is larger than [`Limits::SIZE`]: values that are small in memory
    /// may repeat each other. JR0000 where a value is missing: a node is scheduled after those that it waits for.
    pub fn scope(&self, node: usize, input: &Value, values: &[Option<Value>]) -> Result<Value, FlowError> {
        let node = self.node(node)?;
        let scope = match (&node.work, &node.ports, node.inbound.first()) {
            (Work::Input, ..) => input.clone(),
            (_, None, None) => Value::Null,
            (_, None, Some(edge)) => self.deliver(node, edge, values)?,
            (_, Some(ports), _) => {
                let delivered = node.inbound.iter().map(|edge| self.deliver(node, edge, values));
                let delivered = delivered.collect::<Result<Vec<Value>, FlowError>>()?;
                Object::from_shape(ports, delivered).unwrap_or_default().into()
            }
        };
        if scope.size() > Limits::SIZE {
            let message = format!("what flows into it has a size of more than {}", Limits::SIZE);
            return Err(failed(node, &message));
        }
        Ok(scope)
    }

    /// What one edge delivers: the source's value, through `select` where there is one; nothing found is null.
    fn deliver(&self, node: &Node, edge: &Edge, values: &[Option<Value>]) -> Result<Value, FlowError> {
        let Some(value) = values.get(edge.from).and_then(Option::as_ref) else {
            let from = self.plan.nodes.get(edge.from).map_or("", |from| from.id.as_str());
            let message = format!("node '{}' waits for node '{from}', which has no value yet", node.id);
            return Err(FlowError::new("JR0000", message).at(node.pointer.clone()).of_node(node.id.clone()));
        };
        let Some(select) = &edge.select else { return Ok(value.clone()) };
        select.value(&Scope::value(value)).map(Option::unwrap_or_default).map_err(|error| {
            let message = format!("the select on edge {} into '{}' failed", edge.index, node.id);
            let pointer = Pointer::root().child("edges").child_index(edge.index).child("select");
            FlowError::new("JF2006", message).at(pointer).of_node(node.id.clone()).caused_by(error.into())
        })
    }

    /// Does the node's work as far as it is pure. JF2006 when its query or stylesheet fails.
    pub fn evaluate(&self, node: usize, scope: &Value) -> Result<Evaluated, FlowError> {
        let node = self.node(node)?;
        let broken = |cause: Diagnostic| {
            FlowError::new("JF2006", format!("node '{}' failed", node.id))
                .at(node.pointer.clone())
                .of_node(node.id.clone())
                .caused_by(cause)
        };
        let run = |query: &Query| {
            let found = query.value(&Scope::value(scope)).map_err(|error| broken(error.into()))?;
            Ok::<_, FlowError>(found.unwrap_or_default())
        };
        Ok(match &node.work {
            Work::Input | Work::Output => Evaluated::Value(scope.clone()),
            Work::Const(value) => Evaluated::Value(value.clone()),
            Work::Query(query) => Evaluated::Value(run(query)?),
            Work::Stylesheet(sheet) => {
                let made = sheet.transform(scope).map_err(|error| broken(error.into()))?;
                Evaluated::Value(made.unwrap_or_default())
            }
            Work::Task { name, version, with } => Evaluated::Task(TaskCall {
                name: name.clone(),
                version: version.clone(),
                with: with.as_ref().map(run).transpose()?.unwrap_or_default(),
                input: scope.clone(),
            }),
        })
    }

    /// The failure of a node whose handler failed with `message`: JF2006 at the node.
    pub fn failed(&self, node: usize, message: &str) -> FlowError {
        self.node(node).map_or_else(|error| error, |node| failed(node, message))
    }

    /// The failure of a node that keeps its value while that is not JSON: JF2008 at the node.
    pub fn unserializable(&self, node: usize, error: &NotJson) -> FlowError {
        self.node(node).map_or_else(
            |error| error,
            |node| {
                let reason =
                    format!("node '{}' keeps a checkpoint but its value is not JSON: {error}", node.id);
                FlowError::new("JF2008", reason).at(node.pointer.clone()).of_node(node.id.clone())
            },
        )
    }

    /// Positions come from this dag's own list; any other is the caller's mistake.
    fn node(&self, node: usize) -> Result<&Node, FlowError> {
        self.plan
            .nodes
            .get(node)
            .ok_or_else(|| FlowError::new("JR0000", "no node of this dag has that position"))
    }
}

fn failed(node: &Node, message: &str) -> FlowError {
    FlowError::new("JF2006", format!("node '{}' failed: {message}", node.id))
        .at(node.pointer.clone())
        .of_node(node.id.clone())
}
