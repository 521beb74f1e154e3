//! One run of a stand-alone dag.

use std::collections::VecDeque;
use std::sync::Arc;

use jaren_durable::BoxFuture;
use jaren_flow::dag::{Dag, Node};
use jaren_json::{Object, Report, Str, Value};

use super::workflows::{lent, ready};
use super::{StoreError, store_failed};
use crate::attempt::Lent;
use crate::core::dataflow::{DagRun, Surroundings, TaskCall};
use crate::core::{Cause, NodeStatus, Record, RunError, StartTask};
use crate::crew::{Crew, Ended};
use crate::drive::Drive;
use crate::task::Tasks;

/// Where a host keeps the checkpoints of a dag's runs (dag §7.6). `identity` is there when the dag was compiled with a
/// revision (dag §7.9): it belongs beside what is stored.
pub trait DagStore: Send + Sync + 'static {
    /// `{identity?, values: {node: value}}` of a run; none if nothing was saved.
    fn load<'a>(
        &'a self,
        run: &'a str,
        identity: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Option<Value>, StoreError>>;

    /// Records the value of one node.
    fn save<'a>(
        &'a self,
        run: &'a str,
        node: &'a str,
        value: &'a Value,
        identity: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Records the run's result.
    fn complete<'a>(
        &'a self,
        run: &'a str,
        result: &'a Value,
        identity: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// One run of a dag.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DagCall {
    /// The run's id; needed with a store.
    pub run: String,
    /// The input.
    pub input: Value,
    /// The token and the observer.
    pub drive: Drive,
}

impl DagCall {
    /// A call without a token and an observer.
    pub fn new(run: impl Into<String>, input: Value) -> Self {
        DagCall { run: run.into(), input, drive: Drive::new() }
    }

    /// The same with a token or an observer.
    #[must_use]
    pub fn with_drive(self, drive: Drive) -> Self {
        DagCall { drive, ..self }
    }
}

/// A compiled dag with its tasks and, if it keeps checkpoints, its store.
pub struct Dags {
    dag: Dag,
    document: Value,
    tasks: Tasks,
    store: Option<Arc<dyn DagStore>>,
    revision: Option<String>,
}

impl std::fmt::Debug for Dags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dags")
            .field("tasks", &self.tasks)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

impl Dags {
    /// Compiles a document for the tasks. With a `revision` what is loaded must have been saved under the exact same
    /// document, input, task versions and revision (JF2013).
    pub fn compile(
        document: &Value,
        tasks: Tasks,
        store: Option<Arc<dyn DagStore>>,
        revision: Option<String>,
    ) -> Result<Self, Report> {
        let dag = Dag::compile(document, &tasks)?;
        Ok(Dags { dag, document: document.clone(), tasks, store, revision })
    }

    /// The compiled dag.
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// Runs the dag to its result. The first failure wins; every task is joined before this returns.
    pub async fn run(&self, call: DagCall) -> Result<Value, RunError> {
        if call.drive.cancel.is_cancelled() {
            return Err(interrupted());
        }
        ready([&self.document], &self.tasks, &call.drive)?;
        let identity = match (&self.revision, &self.store) {
            (Some(revision), Some(_)) => {
                let identity = self.dag.identity(revision, &call.input);
                Some(identity.map_err(|error| RunError::new("JF2008", error.to_string()))?)
            }
            _ => None,
        };
        let saved = self.load(&call, identity.as_ref()).await?;
        let run = Str::from(&*call.run);
        let mut turn = Turn {
            dags: self,
            call: &call,
            lent: lent(&run, &call.drive),
            run,
            identity: identity.as_ref(),
            crew: Crew::default(),
            todo: Todo { keeps: self.store.is_some(), ops: VecDeque::new() },
        };
        let ended = turn.run(&saved).await;
        for task in turn.crew.dismiss().await {
            turn.tell(&task.id, NodeStatus::Aborted, task.ms);
        }
        ended
    }

    async fn load(&self, call: &DagCall, identity: Option<&Value>) -> Result<Object, RunError> {
        let Some(store) = &self.store else { return Ok(Object::default()) };
        let loaded = store.load(&call.run, identity).await;
        let loaded = loaded.map_err(|error| store_failed("load the run", &error))?.unwrap_or_default();
        if !loaded.is_null() && identity.is_some() && loaded.get("identity") != identity {
            return Err(RunError::new("JF2013", "the saved values belong to another dag, input or revision"));
        }
        Ok(loaded.get("values").and_then(Value::as_object).cloned().unwrap_or_default())
    }
}

/// A stand-alone run has one activation.
const ACTIVATION: u64 = 1;

fn interrupted() -> RunError {
    RunError::new("JF2007", "the run was interrupted").at("")
}

enum Op {
    Checkpoint(Str, Value),
    Start(TaskCall),
    Record(Str, NodeStatus, f64),
}

/// What the dag asked for and nobody has done yet.
struct Todo {
    keeps: bool,
    ops: VecDeque<Op>,
}

impl Surroundings for Todo {
    fn keeps(&self) -> bool {
        self.keeps
    }

    fn checkpoint(&mut self, node: &Node, value: &Value) -> Result<u64, RunError> {
        self.ops.push_back(Op::Checkpoint(node.id().clone(), value.clone()));
        Ok(0)
    }

    fn start(&mut self, call: TaskCall) {
        self.ops.push_back(Op::Start(call));
    }

    fn record(&mut self, node: &Node, status: NodeStatus, ms: f64) {
        self.ops.push_back(Op::Record(node.id().clone(), status, ms));
    }
}

struct Turn<'a> {
    dags: &'a Dags,
    call: &'a DagCall,
    run: Str,
    lent: Arc<Lent>,
    identity: Option<&'a Value>,
    crew: Crew,
    todo: Todo,
}

impl Turn<'_> {
    async fn run(&mut self, saved: &Object) -> Result<Value, RunError> {
        let mut run = DagRun::new(&self.dags.dag, self.call.input.clone(), saved, 0, &mut self.todo);
        let mut settled = Ok(());
        loop {
            // What happened before a failure is done and told like everything else.
            self.work_off().await?;
            settled?;
            if let Some(result) = run.result() {
                return self.complete(result).await;
            }
            settled = match self.next(run.is_ready()).await? {
                Some(task) => run.settle(task.node, task.result, task.ms, &mut self.todo),
                None => run.wave(&mut self.todo),
            };
        }
    }

    /// The next task that ended; none where nodes can be evaluated first.
    async fn next(&mut self, is_ready: bool) -> Result<Option<Ended>, RunError> {
        tokio::task::coop::consume_budget().await;
        let cancel = &self.call.drive.cancel;
        if cancel.is_cancelled() {
            return Err(interrupted());
        }
        if let Some(task) = self.crew.next_at_hand() {
            return Ok(Some(task));
        }
        if is_ready && !self.crew.is_empty() {
            // A task that ends at once comes before the next pure nodes.
            tokio::task::yield_now().await;
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(interrupted()),
            task = self.crew.next(), if !self.crew.is_empty() => Ok(task),
            () = std::future::ready(()), if is_ready => Ok(None),
            else => Err(RunError::new("JF2016", "the run waits for a task that nobody runs")),
        }
    }

    async fn complete(&self, result: Value) -> Result<Value, RunError> {
        if let Some(store) = &self.dags.store {
            let stored = store.complete(&self.call.run, &result, self.identity).await;
            stored.map_err(|error| store_failed("complete the run", &error))?;
        }
        Ok(result)
    }

    async fn work_off(&mut self) -> Result<(), RunError> {
        while let Some(op) = self.todo.ops.pop_front() {
            match op {
                Op::Record(id, status, ms) => self.tell(&id, status, ms),
                Op::Start(call) => self.start(call),
                Op::Checkpoint(id, value) => self.save(&id, &value).await?,
            }
        }
        Ok(())
    }

    async fn save(&mut self, id: &Str, value: &Value) -> Result<(), RunError> {
        let Some(store) = &self.dags.store else { return Ok(()) };
        let Err(error) = store.save(&self.call.run, id, value, self.identity).await else { return Ok(()) };
        self.tell(id, NodeStatus::Error, 0.0);
        let node = self.dags.dag.find(id).and_then(|index| self.dags.dag.nodes().get(index));
        let pointer = node.map(Node::pointer).map(ToString::to_string).unwrap_or_default();
        Err(RunError::new("JF2009", format!("the checkpoint store failed to save node '{id}': {error}"))
            .at(pointer)
            .on_node(id.clone())
            .because(Cause::Store(error.to_string().into())))
    }

    fn start(&mut self, call: TaskCall) {
        let start = StartTask {
            after: 0,
            activation: ACTIVATION,
            node: call.node,
            id: call.id,
            state: Str::default(),
            visit: 1,
            key: Str::from(&*self.call.run),
            task: call.task,
            version: call.version,
            with: call.with,
            input: call.input,
        };
        self.crew.start(&self.dags.tasks, &self.run, start, 1, &self.lent);
    }

    fn tell(&self, id: &Str, status: NodeStatus, ms: f64) {
        let record = Record::Node { state: Str::default(), visit: 1, node: id.clone(), status, ms };
        self.lent.teller.tell(&record);
    }
}
