//! Steps of machines in other Rust crates and by hand, on the ring of crates/jaren-flow/benches/step.rs: the first guard
//! reads the payload and refuses, the second reads the context and leads on.
mod gen;

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};
use statig::prelude::*;

const TIMES: u32 = 1_000_000;
const ROUNDS: usize = 40;

fn bench(peer: &str, states: usize, mut run: impl FnMut()) {
    let round = |_| {
        let start = Instant::now();
        (0..TIMES).for_each(|_| run());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
    };
    let ns = (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min);
    println!(r#"{{"peer":"{peer}","states":{states},"ns_per_step":{ns:.2}}}"#);
}

/// A guard that a person would write who knows what the document says.
enum Guard {
    Less(&'static str, f64),
    AtLeast(&'static str, f64),
}

fn main() {
    macro_rules! statig {
        ($module:ident, $states:expr) => {{
            let mut machine = gen::$module::M { count: black_box(1) }.state_machine();
            machine.init();
            bench("statig", $states, || machine.handle(black_box(&gen::$module::Ev::Go { n: 5 })));
        }};
    }
    macro_rules! smlang {
        ($module:ident, $states:expr) => {{
            let context = gen::$module::Ctx { count: black_box(1) };
            let mut machine = gen::$module::MStateMachine::new(context);
            bench("smlang", $states, || drop(black_box(machine.process_event(gen::$module::MEvents::Go(black_box(5))))));
        }};
    }
    statig!(statig5, 5);
    statig!(statig50, 50);
    statig!(statig500, 500);
    smlang!(smlang5, 5);
    smlang!(smlang50, 50);
    let (payload, context) = (json!({ "n": 5 }), json!({ "count": 1 }));
    let number = |value: &Value, name: &str| black_box(value).get(name).and_then(Value::as_f64);
    let holds = |guard: &Guard| match guard {
        Guard::Less(name, bound) => number(&payload, name).is_some_and(|number| number < *bound),
        Guard::AtLeast(name, bound) => number(&context, name).is_some_and(|number| number >= *bound),
    };
    for states in [5, 50, 500] {
        let table: Vec<[(Guard, usize); 2]> = (0..states)
            .map(|index| [(Guard::Less("n", 0.0), 0), (Guard::AtLeast("count", 0.0), (index + 1) % states)])
            .collect();
        let mut state = 0;
        bench("hand-table-serde_json", states, || {
            if let Some((_, to)) = table[state].iter().find(|(guard, _)| holds(guard)) {
                state = *to;
            }
        });
        black_box(state);
    }
}
