//! One run of one dag, without time and without I/O: which node is next, which task to start, what is finished.
//!
//! Nodes are taken in the order in which their inputs arrived, ties in document order, so the same settlements give
//! the same values, saves and records (dag §7.2). Pure nodes are evaluated here; tasks are handed out, up to a bound at
//! once, and come back. The input of a node is assembled when it is its turn, and a value is let go of once everything
//! that reads it has begun: so what a wide dag holds is bounded by what runs.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use jaren_flow::dag::{Dag, Evaluated, Kind, Node};
use jaren_json::{Object, Str, Value};

use super::error::{Cause, RunError};
use super::record::NodeStatus;
use crate::failure::Failure;

/// A task that a node asks for.
#[derive(Clone, Debug)]
pub(crate) struct TaskCall {
    pub(crate) node: usize,
    /// The save point that must be durable before the task may start: the last one among those of its inputs.
    pub(crate) after: u64,
    pub(crate) id: Str,
    pub(crate) task: Str,
    pub(crate) version: Option<Str>,
    pub(crate) with: Value,
    pub(crate) input: Value,
}

/// How many tasks of a run are under way at once, unless its driver says otherwise.
pub const CONCURRENCY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);

/// What a dag run does to the world around it.
pub(crate) trait Surroundings {
    /// Is there a store for the values of nodes that declare `checkpoint`? Without one they need not be JSON.
    fn keeps(&self) -> bool {
        true
    }
    /// A node that declares `checkpoint` has a value. Answers the number of the save point that holds it.
    fn checkpoint(&mut self, node: &Node, value: &Value) -> Result<u64, RunError>;
    /// A node asks for a task.
    fn start(&mut self, call: TaskCall);
    /// A node settled, or was restored.
    fn record(&mut self, node: &Node, status: NodeStatus, ms: f64);
}

#[derive(Clone, Debug)]
struct Slot {
    /// Inputs that have not arrived.
    missing: usize,
    /// Edges that have yet to deliver its value.
    unread: usize,
    settled: bool,
    /// The save point that makes this value durable, its inputs' included; 0 when nothing was saved for it.
    after: u64,
}

impl Slot {
    fn is_ready(&self) -> bool {
        self.missing == 0 && !self.settled
    }
}

/// The state of one dag run. After an error it is over.
#[derive(Clone, Debug)]
pub(crate) struct DagRun {
    dag: Dag,
    input: Value,
    values: Vec<Option<Value>>,
    slots: Vec<Slot>,
    ready: VecDeque<usize>,
    /// Tasks whose inputs are there, but not their turn.
    queued: VecDeque<usize>,
    /// Tasks that were handed out.
    running: usize,
    /// So many tasks run at once.
    concurrency: NonZeroUsize,
    unsettled: usize,
}

impl DagRun {
    /// Seeds the saved values (dag §7.6) and finds what can be evaluated at once. `after` is the save point that
    /// admitted this run.
    pub(crate) fn new(
        dag: &Dag,
        input: Value,
        saved: &Object,
        after: u64,
        around: &mut dyn Surroundings,
    ) -> Self {
        let nodes = dag.nodes();
        let slot =
            |node: &Node| Slot { missing: node.sources(), unread: node.readers(), settled: false, after };
        let mut run = DagRun {
            dag: dag.clone(),
            input,
            values: vec![None; nodes.len()],
            slots: nodes.iter().map(slot).collect(),
            ready: VecDeque::new(),
            queued: VecDeque::new(),
            running: 0,
            concurrency: CONCURRENCY,
            unsettled: nodes.len(),
        };
        for (id, value) in saved {
            let found = dag.find(id).and_then(|index| Some((index, nodes.get(index)?)));
            let Some((index, node)) = found.filter(|(_, node)| node.checkpoint()) else { continue };
            run.place(index, value.clone(), 0);
            around.record(node, NodeStatus::Restored, 0.0);
            // A node that has its value reads nothing.
            for edge in node.inbound() {
                if let Some(slot) = run.slots.get_mut(edge.from()) {
                    slot.unread = slot.unread.saturating_sub(1);
                }
            }
        }
        run.ready = run
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.is_ready())
            .map(|(index, _)| index)
            .collect();
        run
    }

    /// The same with another bound on the tasks that are handed out at once.
    pub(crate) fn with_concurrency(mut self, concurrency: NonZeroUsize) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Evaluates whatever is ready, and what becomes ready by it, up to so many nodes.
    pub(crate) fn pump(
        &mut self,
        mut nodes_max: usize,
        around: &mut dyn Surroundings,
    ) -> Result<(), RunError> {
        while self.is_ready() && nodes_max > 0 {
            nodes_max -= self.evaluate(nodes_max, around)?;
        }
        Ok(())
    }

    /// Are there nodes that could be evaluated at once?
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The result, when every node has settled.
    pub(crate) fn result(&self) -> Option<Value> {
        let output = self.values.get(self.dag.output()).cloned().flatten();
        output.filter(|_| self.unsettled == 0)
    }

    /// Evaluates the nodes that are ready now, up to the first tasks among them: those need not wait for the rest.
    pub(crate) fn wave(&mut self, around: &mut dyn Surroundings) -> Result<(), RunError> {
        self.evaluate(usize::MAX, around).map(|_| ())
    }

    /// The same up to so many nodes. Answers how many it took.
    fn evaluate(&mut self, nodes_max: usize, around: &mut dyn Surroundings) -> Result<usize, RunError> {
        let (mut started, mut taken) = (false, 0);
        for _ in 0..self.ready.len().min(nodes_max) {
            let is_task = self.ready.front().is_some_and(|index| self.is_task(*index));
            if started && !is_task {
                break;
            }
            let Some(index) = self.ready.pop_front() else { break };
            taken += 1;
            if is_task && self.running >= self.concurrency.get() {
                self.queued.push_back(index);
                continue;
            }
            started |= is_task;
            let scope = self.dag.scope(index, &self.input, &self.values);
            self.read(index);
            match scope.and_then(|scope| self.dag.evaluate(index, &scope)) {
                Ok(Evaluated::Value(value)) => self.accept(index, value, 0.0, around)?,
                Ok(Evaluated::Task(call)) => {
                    self.running += 1;
                    around.start(TaskCall {
                        node: index,
                        after: self.after(index),
                        id: self.id(index),
                        task: call.name,
                        version: call.version,
                        with: call.with,
                        input: call.input,
                    });
                }
                Err(error) => return Err(self.fail(index, RunError::from_flow(error), 0.0, around)),
            }
        }
        Ok(taken)
    }

    /// A node has its input: values that nothing else waits for are let go of.
    fn read(&mut self, index: usize) {
        for edge in self.dag.nodes().get(index).map_or(&[][..], Node::inbound) {
            let Some(slot) = self.slots.get_mut(edge.from()) else { continue };
            slot.unread = slot.unread.saturating_sub(1);
            if slot.unread == 0
                && let Some(value) = self.values.get_mut(edge.from())
            {
                *value = None;
            }
        }
    }

    /// Takes what a task answered.
    pub(crate) fn settle(
        &mut self,
        index: usize,
        result: Result<Value, Failure>,
        ms: f64,
        around: &mut dyn Surroundings,
    ) -> Result<(), RunError> {
        self.running = self.running.saturating_sub(1);
        if let Some(next) = self.queued.pop_front() {
            self.ready.push_front(next);
        }
        match result {
            Ok(value) => self.accept(index, value, ms, around),
            Err(failure) => {
                let error = RunError::from_flow(self.dag.failed(index, &failure.message));
                Err(self.fail(index, error.because(Cause::Task(failure)), ms, around))
            }
        }
    }

    fn accept(
        &mut self,
        index: usize,
        value: Value,
        ms: f64,
        around: &mut dyn Surroundings,
    ) -> Result<(), RunError> {
        let mut after = self.after(index);
        if let Some(node) = self.dag.nodes().get(index) {
            if around.keeps() && node.checkpoint() {
                if !value.is_json()
                    && let Err(unserializable) = jaren_json::canonical(&value)
                {
                    let error = RunError::from_flow(self.dag.unserializable(index, &unserializable));
                    return Err(self.fail(index, error, ms, around));
                }
                after = around.checkpoint(node, &value)?;
            }
            around.record(node, NodeStatus::Ok, ms);
        }
        self.place(index, value, after);
        Ok(())
    }

    fn fail(&self, index: usize, error: RunError, ms: f64, around: &mut dyn Surroundings) -> RunError {
        let Some(node) = self.dag.nodes().get(index) else { return error };
        around.record(node, NodeStatus::Error, ms);
        error.on_node(node.id().clone())
    }

    /// Keeps the value of a node and counts it at its consumers. Those that have all their inputs now are ready.
    fn place(&mut self, index: usize, value: Value, after: u64) {
        if let (Some(slot), Some(place)) = (self.slots.get_mut(index), self.values.get_mut(index)) {
            if !slot.settled {
                self.unsettled -= 1;
            }
            slot.settled = true;
            slot.after = after;
            *place = Some(value);
        }
        for consumer in self.dag.nodes().get(index).map_or(&[][..], Node::consumers) {
            if let Some(slot) = self.slots.get_mut(*consumer) {
                slot.missing = slot.missing.saturating_sub(1);
                if slot.is_ready() {
                    self.ready.push_back(*consumer);
                }
            }
        }
    }

    fn is_task(&self, index: usize) -> bool {
        self.dag.nodes().get(index).is_some_and(|node| node.kind() == Kind::Task)
    }

    /// The save point that everything this node depends on is part of.
    fn after(&self, index: usize) -> u64 {
        let own = self.slots.get(index).map_or(0, |slot| slot.after);
        let inbound = self.dag.nodes().get(index).map_or(&[][..], Node::inbound);
        let inputs = inbound.iter().filter_map(|edge| self.slots.get(edge.from())).map(|slot| slot.after);
        inputs.fold(own, u64::max)
    }

    fn id(&self, index: usize) -> Str {
        self.dag.nodes().get(index).map(|node| node.id().clone()).unwrap_or_default()
    }
}
