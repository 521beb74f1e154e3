//! The core, and the delta that a store would write for each of its steps.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use allocation_counter::{AllocationInfo, measure};
use jaren_engine::core::{Input, Output, Phase, RunState, StartTask, Step};
use jaren_flow::DeclaredTasks;
use jaren_flow::workflow::Workflow;
use jaren_json::{ObjectBuilder, Value, delta, value};

fn work(then: &str) -> Value {
    value!({ "work": { "task": "t", "version": "1" }, "then": then })
}

fn workflow(states: impl Into<Value>) -> Workflow {
    let states = states.into();
    let document = value!({ "$workflow": "0.2", "revision": "r/1", "initial": "s0", "states": states });
    Workflow::compile(&document, &DeclaredTasks).unwrap()
}

/// So many work states one after the other.
fn chain(steps: usize) -> Workflow {
    let mut states = ObjectBuilder::new();
    for step in 0..steps {
        states.insert(format!("s{step}"), work(&format!("s{}", step + 1)));
    }
    states.insert(format!("s{steps}"), value!({ "final": true }));
    workflow(states.build())
}

/// One work state, entered so often.
fn cycle(steps: usize) -> Workflow {
    let steps = u32::try_from(steps).unwrap();
    workflow(value!({
        "s0": { "work": { "task": "t", "version": "1" }, "then": "again", "limit": steps },
        "again": { "choose": [{ "guard": { "$lt": ["$.context.data", steps] }, "to": "s0" }], "otherwise": "end" },
        "end": { "final": true }
    }))
}

/// A node that fans out to so many tasks or queries, and one that gathers them.
pub(crate) fn fan(width: usize, node: &Value) -> Value {
    let mut nodes = ObjectBuilder::new();
    let mut edges = Vec::new();
    nodes.insert("in", value!({ "kind": "input" }));
    for index in 0..width {
        let id = format!("n{index:05}");
        nodes.insert(id.clone(), node.clone());
        edges.push(value!({ "from": "in", "to": (&*id) }));
        edges.push(value!({ "from": (&*id), "to": "out", "port": (&*id) }));
    }
    nodes.insert("out", value!({ "kind": "output" }));
    value!({ "$dag": "0.1", "nodes": (nodes.build()), "edges": edges })
}

fn wide(width: usize, node: &Value) -> Workflow {
    workflow(
        value!({ "s0": { "work": { "dag": (fan(width, node)) }, "then": "end" }, "end": { "final": true } }),
    )
}

/// A run, with what a store would have of it.
struct Driven {
    run: RunState,
    stored: Value,
    /// Tasks that were asked for and have not ended.
    asked: VecDeque<StartTask>,
    asked_max: usize,
    /// In which order tasks were asked for.
    order: Vec<String>,
}

impl Driven {
    fn new(workflow: &Workflow, concurrency: usize) -> Self {
        let run = RunState::start(workflow.clone(), "r", value!(0), Some(0.0)).unwrap();
        let run = run.with_concurrency(NonZeroUsize::new(concurrency).unwrap());
        Driven { run, stored: Value::Null, asked: VecDeque::new(), asked_max: 0, order: Vec::new() }
    }

    /// To the end; answers the bytes of the deltas.
    fn finish(&mut self) -> usize {
        let mut bytes = 0;
        let mut step = self.run.step(Input::Begin, Some(0.0));
        loop {
            bytes += self.save(&step);
            for output in step.outputs {
                if let Output::Start(call) = output {
                    self.order.push(call.id.to_string());
                    self.asked.push_back(call);
                }
            }
            self.asked_max = self.asked_max.max(self.asked.len());
            step = match step.phase {
                Phase::Done(_) => return bytes,
                Phase::More => self.run.step(Input::Continue, Some(0.0)),
                Phase::Working => {
                    let call = self.asked.pop_front().unwrap();
                    let result = Ok(Value::from(call.input.as_f64().unwrap() + 1.0));
                    let (activation, node) = (call.activation, call.node);
                    self.run.step(Input::Settled { activation, node, result, ms: 0.0 }, Some(0.0))
                }
                other => panic!("{other:?}"),
            };
        }
    }

    /// As a session does it: the difference to what it has.
    fn save(&mut self, step: &Step) -> usize {
        let saves = |output: &&Output| matches!(output, Output::Save(_));
        let Some(Output::Save(point)) = step.outputs.iter().rfind(saves) else { return 0 };
        let snapshot = point.snapshot.to_stored();
        let ops = delta::diff(&self.stored, &snapshot);
        self.stored = snapshot;
        delta::ops_to_value(&ops).to_string().len()
    }
}

/// What a run costs, without its preparation: allocations and bytes of deltas.
fn cost(workflow: &Workflow) -> (AllocationInfo, usize) {
    let mut bytes = 0;
    let mut driven = Driven::new(workflow, 64);
    let info = measure(|| bytes = driven.finish());
    (info, bytes)
}

/// A run of so many times as many steps costs so many times as much, and a little more as trees grow by a level or two.
#[track_caller]
fn grows_with_its_steps(times: u64, small: &Workflow, large: &Workflow) {
    let ((small, small_bytes), (large, large_bytes)) = (cost(small), cost(large));
    let shown = format!("{small:?} {small_bytes}\n{large:?} {large_bytes}");
    assert!(large.count_total * 4 < small.count_total * times * 5, "allocations\n{shown}");
    assert!(large_bytes as u64 * 4 < small_bytes as u64 * times * 5, "bytes of deltas\n{shown}");
    // A change of a large object copies a way down a tree, which is longer than a small object.
    assert!(large.bytes_total < small.bytes_total * times * 2, "bytes allocated\n{shown}");
}

#[test]
fn ten_thousand_states_cost_a_hundred_times_a_hundred() {
    grows_with_its_steps(100, &chain(100), &chain(10_000));
}

#[test]
fn ten_thousand_visits_cost_a_hundred_times_a_hundred() {
    grows_with_its_steps(100, &cycle(100), &cycle(10_000));
}

#[test]
fn ten_thousand_nodes_cost_twice_five_thousand() {
    for node in [
        value!({ "kind": "task", "run": "t", "version": "1" }),
        value!({ "kind": "task", "run": "t", "version": "1", "checkpoint": true }),
        value!({ "kind": "query", "query": "$", "checkpoint": true }),
    ] {
        grows_with_its_steps(2, &wide(5_000, &node), &wide(10_000, &node));
    }
}

#[test]
fn ready_tasks_wait_in_document_order_without_their_inputs() {
    let workflow = wide(1000, &value!({ "kind": "task", "run": "t", "version": "1" }));
    let mut driven = Driven::new(&workflow, 7);
    driven.finish();
    assert_eq!(driven.asked_max, 7);
    let expected: Vec<String> = (0..1000).map(|index| format!("n{index:05}")).collect();
    assert_eq!(driven.order, expected);
}

// dag §7.2: what runs at once is no part of the result.
#[test]
fn the_bound_does_not_change_the_result() {
    let workflow = wide(50, &value!({ "kind": "task", "run": "t", "version": "1", "checkpoint": true }));
    let results: Vec<Value> = [1, 3, 50, 1000]
        .into_iter()
        .map(|concurrency| {
            let mut driven = Driven::new(&workflow, concurrency);
            driven.finish();
            driven.run.snapshot().to_value()
        })
        .collect();
    assert!(results.iter().all(|result| result == &results[0]));
}
