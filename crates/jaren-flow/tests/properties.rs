//! Laws that hold for every document: stepping is total, what is stored restores to itself, and lowering sees no
//! more of a document than its canonical text.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use jaren_flow::machine::Machine;
use jaren_flow::statechart::{Snapshot, Statechart};
use jaren_flow::workflow::{Workflow, lower};
use jaren_flow::{DeclaredTasks, Given};
use jaren_json::{Object, Value, canonical, value};
use proptest::prelude::*;

/// Choices of which a chart is made; every list of them makes a document that compiles.
type Choices = Vec<(u8, u8, u8)>;

const EVENTS: [&str; 4] = ["a", "b", "c", ""];

fn chart(states: &Choices, transitions: &Choices) -> Value {
    let count = states.len();
    // A state's parent is an earlier one, so there is no cycle.
    let parent = |index: usize| {
        let (choice, _, _) = states[index];
        (index > 0 && choice % 4 > 0).then(|| usize::from(choice / 4) % index)
    };
    let children =
        |index: usize| (0..count).filter(move |child| parent(*child) == Some(index)).collect::<Vec<_>>();
    let is_leaf = |index: usize| children(index).is_empty();
    let is_history =
        |index: usize| is_leaf(index) && parent(index).is_some() && states[index].1.is_multiple_of(5);
    let ordinary = |index: usize| children(index).into_iter().filter(|c| !is_history(*c)).collect::<Vec<_>>();
    let is_final = |index: usize| is_leaf(index) && !is_history(index) && states[index].1 % 5 == 1;
    // A state whose children would all be history gets one more.
    let id = |index: usize| format!("s{index}");
    let mut declared: Vec<Value> = Vec::new();
    for (index, (_, _, choice)) in states.iter().enumerate() {
        let mut state = Object::default().with("id", id(index));
        if let Some(parent) = parent(index) {
            state = state.with("parent", id(parent));
        }
        if is_history(index) {
            state = state.with("history", if choice.is_multiple_of(2) { "deep" } else { "shallow" });
        } else {
            state = state.with("entry", value!([{ "run": "in", "with": "$.event" }]));
            state = state.with("exit", value!([{ "run": "out" }]));
        }
        if is_final(index) {
            state = state.with("final", true);
        }
        if !is_leaf(index) {
            let own = ordinary(index);
            let initial = own.get(usize::from(*choice) % own.len().max(1)).map(|child| id(*child));
            if own.is_empty() {
                declared.push(value!({ "id": (format!("x{index}")), "parent": (id(index)) }));
            }
            state = if states[index].1.is_multiple_of(3) {
                state.with("type", "parallel")
            } else {
                state.with("initial", initial.unwrap_or_else(|| format!("x{index}")))
            };
        }
        declared.push(Value::Object(state));
    }
    let sources: Vec<usize> = (0..count).filter(|index| !is_history(*index) && !is_final(*index)).collect();
    let mut edges: Vec<Value> = Vec::new();
    for (from, to, kind) in transitions {
        let Some(from) = sources.get(usize::from(*from) % sources.len().max(1)) else { continue };
        let edge = Object::default().with("from", id(*from)).with("to", id(usize::from(*to) % count));
        edges.push(Value::Object(match kind % 8 {
            0 => edge.with("after", f64::from(kind / 8)),
            1 if !is_leaf(*from) => edge.with("done", true),
            2 => edge.with("always", true).with("guard", "$.context.always"),
            3 => edge.with("event", Value::Null),
            4 => edge.with("event", "a").with("to", id(*from)).with("type", "internal"),
            kind => edge.with("event", EVENTS[usize::from(kind) % EVENTS.len()]).with("guard", "$.payload"),
        }));
    }
    let initial = (0..count).find(|index| parent(*index).is_none()).unwrap();
    value!({ "$fsm": "0.2", "initial": (id(initial)), "states": declared, "transitions": edges })
}

fn choices(most: usize) -> impl Strategy<Value = Choices> {
    proptest::collection::vec(any::<(u8, u8, u8)>(), 1..most)
}

/// What is stored is read back as it was, and steps as the original does.
fn stored(chart: &Statechart, snapshot: &Snapshot) -> Option<Snapshot> {
    let value = snapshot.to_value();
    match chart.restore(&value) {
        Ok(restored) => {
            assert_eq!(restored.to_value(), value);
            assert_eq!(&restored, snapshot);
            Some(restored)
        }
        Err(error) => {
            // Only the state that every later call refuses too; see `docs/formats/statecharts.md`.
            assert_eq!(error.code(), "JF2010");
            let refused = chart.step(snapshot, "a", None, &Given::default()).unwrap_err();
            assert_eq!(refused.code(), "JF2010");
            None
        }
    }
}

proptest! {
    #[test]
    fn every_chart_takes_every_event(
        states in choices(14),
        transitions in choices(20),
        events in proptest::collection::vec((".{0,3}", 0_u8..20, any::<bool>(), any::<bool>()), 1..30),
    ) {
        let document = chart(&states, &transitions);
        let chart = Statechart::compile(&document).unwrap_or_else(|report| panic!("{document}: {report:?}"));
        let context = value!({ "always": false });
        let given = Given { context: Some(&context), payload: None };
        let Ok(start) = chart.start(None, &given) else { return Ok(()) };
        let mut snapshot = start.state;
        for (event, wait, payload, known) in events {
            let Some(restored) = stored(&chart, &snapshot) else { break };
            let event = if known { EVENTS[usize::from(wait) % EVENTS.len()] } else { &event };
            let payload = Value::Bool(payload);
            let given = Given { payload: Some(&payload), ..given };
            let results = [&snapshot, &restored].map(|from| {
                let stepped = chart.step(from, event, None, &given)?;
                let later = stepped.state.time() + f64::from(wait);
                let advanced = chart.advance(&stepped.state, later, &given);
                Ok::<_, jaren_flow::FlowError>((stepped, advanced))
            });
            let [one, other] = results;
            prop_assert_eq!(&one, &other);
            match one {
                Ok((stepped, advanced)) => {
                    prop_assert_eq!(stepped.changed, !stepped.transitions.is_empty());
                    match advanced {
                        Ok(advanced) => snapshot = advanced.state,
                        Err(error) => {
                            prop_assert!(matches!(error.code(), "JF2010" | "JF2012"));
                            snapshot = stepped.state;
                        }
                    }
                }
                Err(error) => prop_assert_eq!(error.code(), "JF2012"),
            }
        }
    }

    #[test]
    fn restoring_refuses_or_normalizes_anything(
        states in choices(8),
        transitions in choices(8),
        noise in proptest::collection::vec((0_usize..5, 0_usize..4, any::<u8>()), 0..4),
    ) {
        let chart = Statechart::compile(&chart(&states, &transitions)).unwrap();
        let Ok(start) = chart.start(None, &Given::default()) else { return Ok(()) };
        let mut value = start.state.to_value().as_object().unwrap().clone();
        for (member, shape, number) in noise {
            let member = ["active", "history", "timers", "serial", "time"][member];
            let id = format!("s{}", number % 8);
            value = value.with(member, match shape {
                0 => Value::Null,
                1 => Value::Number(f64::from(number) - 3.5),
                2 => value!([id]),
                _ => value!({ "s1": [id] }),
            });
        }
        if let Ok(snapshot) = chart.restore(&Value::Object(value)) {
            prop_assert!(stored(&chart, &snapshot).is_some());
        }
    }

    #[test]
    fn a_machine_is_the_flat_statechart_that_says_the_same(
        count in 1_usize..6,
        transitions in choices(12),
        events in proptest::collection::vec((0_usize..4, any::<bool>()), 1..20),
    ) {
        let (machine, chart) = flat(count, &transitions);
        let machine = Machine::compile(&machine).unwrap();
        let chart = Statechart::compile(&chart).unwrap();
        let mut state = machine.initial().unwrap();
        let mut snapshot = chart.start(None, &Given::default()).unwrap().state;
        for (event, payload) in events {
            let payload = Value::Bool(payload);
            let given = Given { payload: Some(&payload), context: None };
            let one = state.step(EVENTS[event], &given);
            let other = chart.step(&snapshot, EVENTS[event], None, &given).unwrap();
            prop_assert_eq!(one.changed, other.changed);
            prop_assert_eq!(Some(one.state.id()), other.state.leaf());
            prop_assert_eq!(one.effects, other.effects);
            (state, snapshot) = (one.state, other.state);
        }
    }

    #[test]
    fn lowering_reads_the_canonical_document(order in any::<u64>(), document in workflow()) {
        let lowered = lower(&document);
        let shuffled = lower(&shuffle(&document, order));
        match (lowered, shuffled) {
            (Ok(one), Ok(other)) => {
                prop_assert_eq!(one.to_value(), other.to_value());
                // Order inside the lowered lists counts, order of members must not have leaked into it.
                prop_assert_eq!(canonical(&one.to_value()).unwrap(), canonical(&other.to_value()).unwrap());
                let again = lower(one.document()).unwrap();
                prop_assert_eq!(again, one);
            }
            (Err(one), Err(other)) => prop_assert_eq!(one.first().code(), other.first().code()),
            (one, other) => prop_assert!(false, "{:?} against {:?}", one.is_ok(), other.is_ok()),
        }
        if let (Ok(one), Ok(other)) = (
            Workflow::compile(&document, &DeclaredTasks),
            Workflow::compile(&shuffle(&document, order), &DeclaredTasks),
        ) {
            prop_assert_eq!(one.identity(), other.identity());
            prop_assert_eq!(one.revisions(), other.revisions());
        }
    }
}

/// The same states and transitions as a machine and as a statechart: a machine's self-transition is internal.
fn flat(count: usize, transitions: &Choices) -> (Value, Value) {
    let id = |index: usize| format!("s{}", index % count);
    let states = (0..count).map(|index| {
        let effect = |run: &str| value!([{ "run": (format!("{run}{index}")), "with": "$.event" }]);
        value!({ "id": (id(index)), "entry": (effect("in")), "exit": (effect("out")) })
    });
    let states: Value = states.collect();
    let edges = |internal: bool| -> Value {
        let edge = |(from, to, kind): &(u8, u8, u8)| {
            let (from, to) = (id(usize::from(*from)), id(usize::from(*to)));
            let event = EVENTS.get(usize::from(kind % 5)).map_or(Value::Null, |event| Value::from(*event));
            let guard = if kind.is_multiple_of(3) { value!("$.payload") } else { Value::Null };
            let edge = Object::default().with("event", event).with("guard", guard);
            let edge = edge.with("effects", value!([{ "run": (format!("{from}{to}{kind}")) }]));
            let edge = if internal && from == to { edge.with("type", "internal") } else { edge };
            Value::Object(edge.with("from", from).with("to", to))
        };
        transitions.iter().map(edge).collect()
    };
    let document = |version: &str, transitions: Value| value!({ "$fsm": version, "initial": "s0", "states": (states.clone()), "transitions": transitions });
    (document("0.1", edges(false)), document("0.2", edges(true)))
}

/// A workflow of a few states that refer to each other, valid or not.
fn workflow() -> impl Strategy<Value = Value> {
    let state = (0_u8..6, 0_u8..6, 0_u8..6).prop_map(|(form, to, other)| {
        let (to, other) = (format!("s{to}"), format!("s{other}"));
        match form {
            0 => value!({ "work": { "task": "t", "version": "1" }, "then": to, "limit": 2 }),
            1 => value!({ "choose": [{ "guard": "$.context.data", "to": to }], "otherwise": other, "limit": 3 }),
            2 => value!({ "on": [{ "event": "go", "to": to }], "after": { "ms": 5, "to": other }, "limit": 1 }),
            3 => value!({
                "flow": { "initial": "in", "states": { "in": { "final": true }, "9": { "final": true } } },
                "then": to,
                "limit": 1
            }),
            _ => value!({ "final": true }),
        }
    });
    proptest::collection::vec(state, 6).prop_map(|states| {
        let states: Object =
            states.into_iter().enumerate().map(|(index, state)| (format!("s{index}"), state)).collect();
        value!({ "$workflow": "0.2", "revision": "r", "initial": "s0", "states": states })
    })
}

/// The same value with the members of its objects turned round by `order`.
fn shuffle(value: &Value, order: u64) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| shuffle(item, order)).collect(),
        Value::Object(object) => {
            let mut members: Vec<(&str, Value)> =
                object.iter().map(|(name, value)| (name, shuffle(value, order.rotate_left(7)))).collect();
            let length = members.len().max(1);
            members.rotate_left(usize::try_from(order % 1009).unwrap() % length);
            Value::Object(members.into_iter().collect())
        }
        other => other.clone(),
    }
}
