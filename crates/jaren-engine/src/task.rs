//! The tasks that a host lends: handlers by name and version, and what a handler is told.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jaren_flow::{TaskEntry, TaskVersions};
use jaren_json::Value;
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use crate::failure::{Failure, Retry};

/// What a handler returns: a future that the engine owns until it ends.
pub type TaskFuture = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;

/// A handler over dynamic values. A closure of the right shape is one.
pub trait Handler: Send + Sync + 'static {
    /// Runs the task once. `with` and `input` are null when the document gives none.
    fn run(&self, context: TaskContext, with: Value, input: Value) -> TaskFuture;
}

impl<F, Fut> Handler for F
where
    F: Fn(TaskContext, Value, Value) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, Failure>> + Send + 'static,
{
    fn run(&self, context: TaskContext, with: Value, input: Value) -> TaskFuture {
        Box::pin(self(context, with, input))
    }
}

/// What a handler knows about the call, beside its `with` and its input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskContext {
    /// The run's id.
    pub run: Arc<str>,
    /// The qualified state that the task works for, like `/states/pay`; empty in a stand-alone dag.
    pub state: Arc<str>,
    /// How many times the run has entered that state, this time included.
    pub visit: u64,
    /// The dag node; `task` for a work state that names a task directly.
    pub node: Arc<str>,
    /// The task's registered name.
    pub task: Arc<str>,
    /// The canonical activation key `[run, state, visit]`: the same after a crash, another one on the next visit.
    /// Give it to the outside system that must not act twice.
    pub key: Arc<str>,
    /// 1 for the first time that this handle drives the node in this visit; not stored, so a new process starts at 1.
    pub attempt: u32,
    /// Cancelled when the run is interrupted or a sibling failed. A handler should then return soon.
    pub cancel: CancellationToken,
}

struct Registered {
    version: Option<Box<str>>,
    nested: BTreeMap<String, String>,
    handler: Arc<dyn Handler>,
}

/// The handlers that documents may name, each with the version that documents must name with it (dag §7.8).
#[derive(Clone, Default)]
pub struct Tasks {
    registered: BTreeMap<Box<str>, Arc<Registered>>,
}

impl Tasks {
    /// No tasks: enough for documents that only wait and choose.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a typed handler. `with` and the input are read into serde types, the answer is written from one; what
    /// does not fit is a failure of the node that names the member. A later registration of a name replaces it.
    pub fn add<F, Fut, W, I, O, E>(&mut self, name: &str, version: &str, handler: F) -> &mut Self
    where
        F: Fn(TaskContext, W, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        W: DeserializeOwned + Send + 'static,
        I: DeserializeOwned + Send + 'static,
        O: Serialize + Send + 'static,
        E: Into<Failure> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let erased = move |context: TaskContext, with: Value, input: Value| {
            let handler = Arc::clone(&handler);
            async move {
                let with = read::<W>(&with, "`with`")?;
                let input = read::<I>(&input, "input")?;
                let output = handler(context, with, input).await.map_err(Into::into)?;
                jaren_json::to_value(&output).map_err(|error| unfit("output", &error))
            }
        };
        self.add_value(name, version, erased)
    }

    /// Registers a dynamic handler.
    pub fn add_value(&mut self, name: &str, version: &str, handler: impl Handler) -> &mut Self {
        self.insert(name, Some(version.into()), Arc::new(handler))
    }

    /// Registers a dynamic handler that has no version: it serves stand-alone dags that keep no checkpoints.
    pub fn add_unversioned(&mut self, name: &str, handler: impl Handler) -> &mut Self {
        self.insert(name, None, Arc::new(handler))
    }

    /// Registers a handler that is itself composed of tasks: `nested` are their versions by their paths inside it, which
    /// become part of the identity of whatever calls it (dag §7.8).
    pub fn add_nested(
        &mut self,
        name: &str,
        version: &str,
        nested: BTreeMap<String, String>,
        handler: impl Handler,
    ) -> &mut Self {
        let registered = Registered { version: Some(version.into()), nested, handler: Arc::new(handler) };
        self.registered.insert(name.into(), Arc::new(registered));
        self
    }

    fn insert(&mut self, name: &str, version: Option<Box<str>>, handler: Arc<dyn Handler>) -> &mut Self {
        let registered = Registered { version, nested: BTreeMap::new(), handler };
        self.registered.insert(name.into(), Arc::new(registered));
        self
    }

    /// The handler of that name.
    pub(crate) fn handler(&self, name: &str) -> Option<Arc<dyn Handler>> {
        self.registered.get(name).map(|entry| Arc::clone(&entry.handler))
    }
}

fn read<T: DeserializeOwned>(value: &Value, what: &str) -> Result<T, Failure> {
    jaren_json::from_value(value).map_err(|error| unfit(what, &error))
}

/// The same value would fail again, so nobody needs to try.
fn unfit(what: &str, error: &dyn fmt::Display) -> Failure {
    Failure::new(format!("the task's {what} does not fit its handler: {error}"))
        .with_code("JE0001")
        .with_retry(Retry::Never)
}

impl TaskVersions for Tasks {
    fn version(&self, task: &str) -> TaskEntry<'_> {
        match self.registered.get(task) {
            None => TaskEntry::Missing,
            Some(entry) => entry.version.as_deref().map_or(TaskEntry::Unversioned, TaskEntry::Version),
        }
    }

    fn nested(&self, task: &str) -> Option<&BTreeMap<String, String>> {
        self.registered.get(task).map(|entry| &entry.nested).filter(|nested| !nested.is_empty())
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.registered.iter().map(|(name, entry)| (name, &entry.version))).finish()
    }
}
