//! One run of one dag, without time and without I/O: which node is next, which task to start, what is finished.
//!
//! Nodes are taken in the order in which their inputs arrived, ties in document order, so the same settlements give
//! the same values, saves and records (dag §7.2). Pure nodes are evaluated here; tasks are handed out and come back.

use std::collections::VecDeque;

use jaren_flow::dag::{Dag, Edge, Evaluated, Kind, Node};
use jaren_json::{CanonicalError, Object, Str, Value};

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

/// What a dag run does to the world around it.
pub(crate) trait Surroundings {
    /// Is there a store for the values of nodes that declare `checkpoint`? Without one they need not be JSON.
    fn keeps(&self) -> bool {
        true
    }
    /// A node that declares `checkpoint` has a value. Answers the number of the save point that holds it.
    fn checkpoint(&mut self, id: &Str, value: &Value) -> Result<u64, RunError>;
    /// A node asks for a task.
    fn start(&mut self, call: TaskCall);
    /// A node settled, or was restored.
    fn record(&mut self, id: &Str, status: NodeStatus, ms: f64);
}

#[derive(Clone, Debug)]
struct Slot {
    /// Inputs that have not arrived.
    missing: usize,
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
    unsettled: usize,
    /// A value that is known to be JSON: what a node passes on unchanged need not be walked again.
    json: Value,
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
        let mut run = DagRun {
            dag: dag.clone(),
            json: input.clone(),
            input,
            values: vec![None; nodes.len()],
            slots: nodes.iter().map(|node| Slot { missing: sources(node), settled: false, after }).collect(),
            ready: VecDeque::new(),
            unsettled: nodes.len(),
        };
        for (id, value) in saved {
            let Some(index) = dag.find(id) else { continue };
            if nodes.get(index).is_some_and(Node::checkpoint) {
                run.place(index, value.clone(), 0);
                around.record(&Str::from(id), NodeStatus::Restored, 0.0);
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

    /// Evaluates whatever is ready, and what becomes ready by it. Answers the result when every node has settled.
    pub(crate) fn pump(&mut self, around: &mut dyn Surroundings) -> Result<Option<Value>, RunError> {
        while !self.ready.is_empty() {
            self.wave(around)?;
        }
        Ok(self.result())
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
        let mut started = false;
        for _ in 0..self.ready.len() {
            let is_task = self.ready.front().is_some_and(|index| self.is_task(*index));
            if started && !is_task {
                break;
            }
            started |= is_task;
            let Some(index) = self.ready.pop_front() else { break };
            let scope = self.dag.scope(index, &self.input, &self.values);
            match scope.and_then(|scope| self.dag.evaluate(index, &scope)) {
                Ok(Evaluated::Value(value)) => self.accept(index, value, 0.0, around)?,
                Ok(Evaluated::Task(call)) => around.start(TaskCall {
                    node: index,
                    after: self.after(index),
                    id: self.id(index),
                    task: call.name,
                    version: call.version,
                    with: call.with,
                    input: call.input,
                }),
                Err(error) => {
                    let id = self.id(index);
                    return Err(Self::fail(&id, RunError::from_flow(error), 0.0, around));
                }
            }
        }
        Ok(())
    }

    /// Takes what a task answered.
    pub(crate) fn settle(
        &mut self,
        index: usize,
        result: Result<Value, Failure>,
        ms: f64,
        around: &mut dyn Surroundings,
    ) -> Result<(), RunError> {
        match result {
            Ok(value) => self.accept(index, value, ms, around),
            Err(failure) => {
                let error = RunError::from_flow(self.dag.failed(index, &failure.message));
                let error = error.because(Cause::Task(failure));
                Err(Self::fail(&self.id(index), error, ms, around))
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
        let id = self.id(index);
        let mut after = self.after(index);
        if around.keeps() && self.dag.nodes().get(index).is_some_and(Node::checkpoint) {
            if !value.ptr_eq(&self.json)
                && let Err(unserializable) = check_json(&value)
            {
                let error = RunError::from_flow(self.dag.unserializable(index, &unserializable));
                return Err(Self::fail(&id, error, ms, around));
            }
            self.json = value.clone();
            after = around.checkpoint(&id, &value)?;
        }
        around.record(&id, NodeStatus::Ok, ms);
        let ready = self.place(index, value, after);
        self.ready.extend(ready);
        Ok(())
    }

    fn fail(id: &Str, error: RunError, ms: f64, around: &mut dyn Surroundings) -> RunError {
        around.record(id, NodeStatus::Error, ms);
        error.on_node(id.clone())
    }

    /// Keeps the value of a node and counts it at its consumers. Answers those that are now ready.
    fn place(&mut self, index: usize, value: Value, after: u64) -> Vec<usize> {
        if let (Some(slot), Some(place)) = (self.slots.get_mut(index), self.values.get_mut(index)) {
            if !slot.settled {
                self.unsettled -= 1;
            }
            slot.settled = true;
            slot.after = after;
            *place = Some(value);
        }
        let mut ready = Vec::new();
        for consumer in self.dag.nodes().get(index).map_or(&[][..], Node::consumers) {
            if let Some(slot) = self.slots.get_mut(*consumer) {
                slot.missing = slot.missing.saturating_sub(1);
                if slot.is_ready() {
                    ready.push(*consumer);
                }
            }
        }
        ready
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

/// How many nodes a node waits for. Two edges may come from the same one.
fn sources(node: &Node) -> usize {
    let mut sources: Vec<usize> = node.inbound().iter().map(Edge::from).collect();
    sources.sort_unstable();
    sources.dedup();
    sources.len()
}

/// The canonical form is asked only when there is something to complain about.
fn check_json(value: &Value) -> Result<(), CanonicalError> {
    if is_json(value) { Ok(()) } else { jaren_json::canonical(value).map(|_| ()) }
}

/// Would canonical JSON take this value? Only NaN and the infinities stop it.
pub(crate) fn is_json(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) if !number.is_finite() => return false,
            Value::Array(items) => open.extend(items.iter()),
            Value::Object(members) => open.extend(members.iter().map(|(_, member)| member)),
            _ => {}
        }
    }
    true
}
