//! What a step costs: `cargo bench -p jaren-flow`, and beside other engines `cargo xtask bench machines`.
//!
//! One JSON line a row, the best of several rounds, with the keys of the peers' programs. A ring has two guarded
//! transitions for each state: the first reads the payload and refuses, the second reads the context and leads on.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a program for the eyes of its author"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use jaren_flow::Given;
use jaren_flow::machine::Machine;
use jaren_flow::statechart::Statechart;
use jaren_json::{Value, value};
use jaren_query::{Query, Scope};

const SIZES: [usize; 3] = [5, 50, 500];
const ROUNDS: usize = 50;
const ROUND: Duration = Duration::from_millis(5);

fn main() {
    let (payload, context) = (value!({ "n": 5 }), value!({ "count": 1 }));
    for size in SIZES {
        guards(size, &payload, &context);
        hand(size, &payload, &context);
        let document = ring("0.1", size);
        let machine = Machine::compile(&document).unwrap();
        let given = Given { payload: Some(&payload), context: Some(&context) };
        let mut state = machine.initial().unwrap();
        measure("jaren-machine.step", size, || {
            state = state.step("go", &given).state;
        });
        let mut state = machine.initial().unwrap().id();
        measure("jaren-machine.step-by-id", size, || {
            state = machine.step(state, "go", &given).unwrap().state.id();
        });
        charts(size, &given);
        compile(size, "compile-machine", &document, |document| {
            drop(black_box(Machine::compile(document).unwrap()));
        });
        let document = ring("0.2", size);
        compile(size, "compile-statechart", &document, |document| {
            drop(black_box(Statechart::compile(document).unwrap()));
        });
    }
}

/// The two guards of each step, alone.
fn guards(size: usize, payload: &Value, context: &Value) {
    let queries: Vec<_> = (0..size)
        .map(|_| [first_guard(), second_guard()].map(|guard| Query::compile(&guard).unwrap()))
        .collect();
    let mut turn = queries.iter().cycle();
    let (state, event) = (value!("s0"), value!("go"));
    let parts = [("state", &state), ("event", &event), ("payload", payload), ("context", context)];
    let scope = Scope::record(&parts);
    measure("two-guards", size, || {
        let own = turn.next().unwrap();
        black_box(own.iter().any(|query| query.truth(black_box(&scope)).unwrap()));
    });
}

/// The same ring as a table with its guards written by hand over the same values.
fn hand(size: usize, payload: &Value, context: &Value) {
    enum Guard {
        Less(&'static str, f64),
        AtLeast(&'static str, f64),
    }
    let table: Vec<[(Guard, usize); 2]> = (0..size)
        .map(|index| [(Guard::Less("n", 0.0), 0), (Guard::AtLeast("count", 0.0), (index + 1) % size)])
        .collect();
    let number = |value: &Value, name: &str| black_box(value).get(name).and_then(Value::as_f64);
    let holds = |guard: &Guard| match guard {
        Guard::Less(name, bound) => number(payload, name).is_some_and(|number| number < *bound),
        Guard::AtLeast(name, bound) => number(context, name).is_some_and(|number| number >= *bound),
    };
    let mut state = 0;
    measure("hand-table.step", size, || {
        if let Some((_, to)) = table[state].iter().find(|(guard, _)| holds(guard)) {
            state = *to;
        }
    });
    black_box(state);
}

fn charts(size: usize, given: &Given<'_>) {
    let shapes = [
        ("jaren-statechart.step", ring("0.2", size), ["go", "go"]),
        ("jaren-statechart-nested.step", nested(size), ["go", "go"]),
        ("jaren-statechart-parallel.step", parallel(size), ["go", "go"]),
        ("jaren-statechart-history.step", history(size), ["out", "back"]),
    ];
    for (peer, document, events) in shapes {
        let chart = Statechart::compile(&document).unwrap();
        let mut state = chart.start(None, given).unwrap().state;
        let mut turn = 0;
        measure(peer, size, || {
            let result = chart.step(&state, events[turn], None, given).unwrap();
            debug_assert!(result.changed);
            state = black_box(result).state;
            turn ^= 1;
        });
    }
}

fn first_guard() -> Value {
    value!({ "$lt": ["$.payload.n", 0] })
}

fn second_guard() -> Value {
    value!({ "$ge": ["$.context.count", 0] })
}

fn edges(from: &str, first: &str, next: &str) -> [Value; 2] {
    [
        value!({ "from": from, "event": "go", "guard": (first_guard()), "to": first }),
        value!({ "from": from, "event": "go", "guard": (second_guard()), "to": next }),
    ]
}

fn document(version: &str, initial: &str, states: Vec<Value>, transitions: Vec<Value>) -> Value {
    value!({ "$fsm": version, "initial": initial, "states": states, "transitions": transitions })
}

fn ring(version: &str, size: usize) -> Value {
    let id = |index: usize| format!("s{}", index % size);
    let states = (0..size).map(|index| value!({ "id": (id(index)) })).collect();
    let transitions = (0..size).flat_map(|index| edges(&id(index), "s0", &id(index + 1))).collect();
    document(version, "s0", states, transitions)
}

/// The ring four levels down.
fn nested(size: usize) -> Value {
    let id = |index: usize| format!("s{}", index % size);
    let inner =
        |id: &str, parent: &str, initial: &str| value!({ "id": id, "parent": parent, "initial": initial });
    let mut states = vec![value!({ "id": "a", "initial": "b" }), inner("b", "a", "c"), inner("c", "b", "s0")];
    states.extend((0..size).map(|index| value!({ "id": (id(index)), "parent": "c" })));
    let transitions = (0..size).flat_map(|index| edges(&id(index), "s0", &id(index + 1))).collect();
    document("0.2", "a", states, transitions)
}

/// Rings of five states side by side: `size` states in all.
fn parallel(size: usize) -> Value {
    let mut states = vec![value!({ "id": "all", "type": "parallel" })];
    let mut transitions = Vec::new();
    for region in 0..size / 5 {
        let name = format!("r{region}");
        let id = |index: usize| format!("r{region}s{}", index % 5);
        states.push(value!({ "id": (name.clone()), "parent": "all", "initial": (id(0)) }));
        states.extend((0..5).map(|index| value!({ "id": (id(index)), "parent": (name.clone()) })));
        transitions.extend((0..5).flat_map(|index| edges(&id(index), &id(0), &id(index + 1))));
    }
    document("0.2", "all", states, transitions)
}

/// A ring that is left from its outside and entered again where it was.
fn history(size: usize) -> Value {
    let id = |index: usize| format!("s{}", index % size);
    let mut states = vec![
        value!({ "id": "in", "initial": "s0" }),
        value!({ "id": "memory", "parent": "in", "history": "deep" }),
        value!({ "id": "out" }),
    ];
    states.extend((0..size).map(|index| value!({ "id": (id(index)), "parent": "in" })));
    let mut transitions = vec![
        value!({ "from": "in", "event": "out", "guard": (second_guard()), "to": "out" }),
        value!({ "from": "out", "event": "back", "guard": (second_guard()), "to": "memory" }),
    ];
    transitions.extend((0..size).flat_map(|index| edges(&id(index), "s0", &id(index + 1))));
    document("0.2", "in", states, transitions)
}

/// Whether the arguments ask for this row: all rows, or those with one of the words in their name.
fn asked(peer: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    words.peek().is_none() || words.any(|word| peer.contains(&word))
}

fn measure(peer: &str, states: usize, mut run: impl FnMut()) {
    if asked(peer) {
        let ns = best(&mut run);
        println!(r#"{{"peer":"{peer}","states":{states},"ns_per_step":{ns:.1}}}"#);
    }
}

fn compile(states: usize, what: &str, document: &Value, run: impl Fn(&Value)) {
    let peer = format!("jaren-{what}");
    if asked(&peer) {
        let us = best(&mut || run(document)) / 1e3;
        println!(r#"{{"peer":"{peer}","states":{states},"us_per_compile":{us:.1}}}"#);
    }
}

/// Nanoseconds a time, of the best of many short rounds: some of them are undisturbed.
fn best(run: &mut dyn FnMut()) -> f64 {
    let mut round = |times: u32| {
        let start = Instant::now();
        (0..times).for_each(|_| run());
        start.elapsed().as_secs_f64() / f64::from(times)
    };
    let mut times = 1;
    while times < 1 << 24 && round(times) * f64::from(times) < ROUND.as_secs_f64() {
        times *= 2;
    }
    (0..ROUNDS).map(|_| round(times)).fold(f64::INFINITY, f64::min) * 1e9
}
