//! The tasks that a host lends: handlers by name and version, and how each is to be run.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jaren_durable::Retry;
use jaren_flow::{TaskEntry, TaskMap, TaskVersions};
use jaren_json::Value;
use serde::{Serialize, de::DeserializeOwned};

use crate::context::TaskContext;
use crate::failure::Failure;
use crate::resources::Need;
use crate::retry_policy::RetryPolicy;

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

/// A handler that blocks its thread.
pub(crate) type Blocking = dyn Fn(TaskContext, Value, Value) -> Result<Value, Failure> + Send + Sync;

/// How a handler is called.
#[derive(Clone)]
pub(crate) enum Code {
    Async(Arc<dyn Handler>),
    Blocking(Arc<Blocking>),
}

/// One registered task.
#[derive(Clone)]
pub(crate) struct Registered {
    nested: BTreeMap<String, String>,
    pub(crate) code: Code,
    pub(crate) retries: Option<RetryPolicy>,
    pub(crate) limit: Option<Duration>,
    needs: Vec<Need>,
}

impl Registered {
    /// The handler, where a call of it is all that there is to an execution: no retries, no time limit, no thread.
    pub(crate) fn plain(&self) -> Option<&Arc<dyn Handler>> {
        match &self.code {
            Code::Async(handler) if self.retries.is_none() && self.limit.is_none() => Some(handler),
            _ => None,
        }
    }
}

/// The handlers that documents may name, by name and version (dag §7.8).
///
/// One name may be registered at several versions: documents that name the old one and documents that name the new one
/// find theirs side by side, and so do the runs that are under way. The same name and version twice is an error of the
/// first start or opening of a run ([`ErrorKind::Invalid`](crate::ErrorKind::Invalid)).
///
/// How a task is run (its retries, its time limit, its resources) is the host's business: no part of a document's or a
/// run's identity, so that it can be changed while runs are under way.
///
/// ```
/// use std::time::Duration;
/// use jaren_engine::{Failure, RetryPolicy, TaskContext, Tasks};
///
/// struct Shop;
///
/// let mut tasks = Tasks::new();
/// tasks
///     .add("charge", "1", async |context: TaskContext, _: (), amount: f64| {
///         let _shop = context.resource::<Shop>()?;
///         Ok::<f64, Failure>(amount)
///     })
///     .retry(RetryPolicy::times(4))
///     .time_limit(Duration::from_secs(30))
///     .needs::<Shop>();
/// ```
#[derive(Clone, Default)]
pub struct Tasks {
    registered: TaskMap<Arc<Registered>>,
    defects: Vec<String>,
}

impl Tasks {
    /// No tasks: enough for documents that only wait and choose.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a typed handler. `with` and the input are read into serde types, the answer is written from one; what
    /// does not fit is a failure of the node that names the member.
    pub fn add<F, Fut, W, I, O, E>(&mut self, name: &str, version: &str, handler: F) -> Registration<'_>
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
                let (with, input) = read(&with, &input)?;
                write(&handler(context, with, input).await.map_err(Into::into)?)
            }
        };
        self.add_value(name, version, erased)
    }

    /// Registers a typed handler that blocks its thread: it runs on one of the runtime's threads for blocking work.
    ///
    /// Nobody can stop a thread. A blocking handler that should end early looks at
    /// [`cancel`](TaskContext::cancel) between its steps; until it has returned, its drive does not return either, its
    /// resources are held, and no retry begins. An answer that comes after the time limit and the engine's grace is void.
    pub fn add_blocking<F, W, I, O, E>(&mut self, name: &str, version: &str, handler: F) -> Registration<'_>
    where
        F: Fn(TaskContext, W, I) -> Result<O, E> + Send + Sync + 'static,
        W: DeserializeOwned + 'static,
        I: DeserializeOwned + 'static,
        O: Serialize + 'static,
        E: Into<Failure> + 'static,
    {
        let erased = move |context: TaskContext, with: Value, input: Value| {
            let (with, input) = read(&with, &input)?;
            write(&handler(context, with, input).map_err(Into::into)?)
        };
        self.insert(name, Some(version), BTreeMap::new(), Code::Blocking(Arc::new(erased)))
    }

    /// Registers a dynamic handler.
    pub fn add_value(&mut self, name: &str, version: &str, handler: impl Handler) -> Registration<'_> {
        self.insert(name, Some(version), BTreeMap::new(), Code::Async(Arc::new(handler)))
    }

    /// Registers a dynamic handler that has no version: it serves stand-alone dags that keep no checkpoints.
    pub fn add_unversioned(&mut self, name: &str, handler: impl Handler) -> Registration<'_> {
        self.insert(name, None, BTreeMap::new(), Code::Async(Arc::new(handler)))
    }

    /// Registers a handler that is itself composed of tasks: `nested` are their versions by their paths inside it, which
    /// become part of the identity of whatever calls it (dag §7.8).
    pub fn add_nested(
        &mut self,
        name: &str,
        version: &str,
        nested: BTreeMap<String, String>,
        handler: impl Handler,
    ) -> Registration<'_> {
        self.insert(name, Some(version), nested, Code::Async(Arc::new(handler)))
    }

    fn insert(
        &mut self,
        name: &str,
        version: Option<&str>,
        nested: BTreeMap<String, String>,
        code: Code,
    ) -> Registration<'_> {
        let registered = Registered { nested, code, retries: None, limit: None, needs: Vec::new() };
        let is_new = self.registered.insert(name, version, Arc::new(registered));
        let registration = Registration { tasks: self, name: name.into(), version: version.map(Into::into) };
        match version {
            _ if !is_new => registration.refuse("that version of it is registered already"),
            Some(version) if version.trim().is_empty() => {
                registration.refuse("its version is blank, which no document can name")
            }
            _ => registration,
        }
    }

    /// The task that a document means by that name and the version that it declares.
    pub(crate) fn find(&self, name: &str, declared: Option<&str>) -> Option<&Arc<Registered>> {
        self.registered.get(name, declared)
    }

    /// How long an attempt at that task may take.
    pub(crate) fn limit(&self, name: &str, declared: Option<&str>) -> Option<Duration> {
        self.find(name, declared)?.limit
    }

    /// The first thing that is wrong with how the tasks were registered.
    pub(crate) fn defect(&self) -> Option<&str> {
        self.defects.first().map(String::as_str)
    }

    /// Does any task declare a resource?
    pub(crate) fn have_needs(&self) -> bool {
        self.registered.iter().any(|(_, _, task)| !task.needs.is_empty())
    }

    /// The declared resources of that task.
    pub(crate) fn needs(&self, name: &str, declared: Option<&str>) -> &[Need] {
        self.find(name, declared).map_or(&[], |task| &task.needs)
    }
}

/// A task that was just registered, and how it is to be run.
///
/// What makes no sense here (a time limit of nothing, a longest pause below the first one) is an error of the first
/// start or opening of a run ([`ErrorKind::Invalid`](crate::ErrorKind::Invalid)).
#[derive(Debug)]
pub struct Registration<'a> {
    tasks: &'a mut Tasks,
    name: Box<str>,
    version: Option<Box<str>>,
}

impl Registration<'_> {
    /// Tries failed attempts again, inside one execution of the node; without this nothing is retried. The pauses go by
    /// the engine's clock, their length by its random source. Neither attempts nor pauses are stored: a drive that was
    /// interrupted in a pause leaves a run that starts the node at once, and from the first attempt, when it is driven
    /// again.
    #[expect(clippy::must_use_candidate, reason = "it is done when it is called")]
    #[expect(clippy::return_self_not_must_use, reason = "it is done when it is called")]
    pub fn retry(self, policy: RetryPolicy) -> Self {
        if let Some(defect) = policy.defect() {
            self.refuse(&format!("the retry policy makes no sense: {defect}"))
        } else {
            self.change(|task| task.retries = Some(policy))
        }
    }

    /// Gives each attempt so long, by the engine's clock. Then its [`cancel`](TaskContext::cancel) is cancelled; an
    /// answer that comes within the engine's grace still counts, and else the attempt has failed with `JE0008`, which
    /// may be retried.
    #[expect(clippy::return_self_not_must_use, reason = "it is done when it is called")]
    pub fn time_limit(self, limit: Duration) -> Self {
        if limit.is_zero() {
            self.refuse("a time limit needs some time")
        } else {
            self.change(|task| task.limit = Some(limit))
        }
    }

    /// Says that the task cannot do without a resource of this type: a run of a document that names the task is not
    /// driven without it, and that is told before anything is executed.
    #[expect(clippy::return_self_not_must_use, reason = "it is done when it is called")]
    pub fn needs<T: Any + Send + Sync>(self) -> Self {
        self.change(|task| task.needs.push(Need::of::<T>()))
    }

    fn change(self, change: impl FnOnce(&mut Registered)) -> Self {
        if let Some(task) = self.tasks.registered.get_mut(&self.name, self.version.as_deref()) {
            change(Arc::make_mut(task));
        }
        self
    }

    fn refuse(self, what: &str) -> Self {
        self.tasks.defects.push(format!("the task {:?} is registered wrongly: {what}", self.name));
        self
    }
}

fn read<W: DeserializeOwned, I: DeserializeOwned>(with: &Value, input: &Value) -> Result<(W, I), Failure> {
    let with = jaren_json::from_value(with).map_err(|error| unfit("`with`", &error))?;
    let input = jaren_json::from_value(input).map_err(|error| unfit("input", &error))?;
    Ok((with, input))
}

fn write(output: &impl Serialize) -> Result<Value, Failure> {
    jaren_json::to_value(output).map_err(|error| unfit("output", &error))
}

/// The same value would fail again, so nobody needs to try.
fn unfit(what: &str, error: &dyn fmt::Display) -> Failure {
    Failure::new(format!("the task's {what} does not fit its handler: {error}"))
        .with_code("JE0001")
        .with_retry(Retry::Never)
}

impl TaskVersions for Tasks {
    fn entry(&self, task: &str, declared: Option<&str>) -> TaskEntry<'_> {
        self.registered.entry(task, declared)
    }

    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        self.registered.names()
    }

    fn nested(&self, task: &str, declared: Option<&str>) -> Box<dyn Iterator<Item = (&str, &str)> + '_> {
        let nested = self.find(task, declared).map(|registered| &registered.nested);
        Box::new(nested.into_iter().flatten().map(|(path, version)| (&**path, &**version)))
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.registered.iter().map(|(name, version, _)| (name, version))).finish()
    }
}
