//! The workflow document of a plan.
//!
//! Every exit of a wait leads to a work state of its own. A task is admitted by a commit before it starts, so the store
//! tells which way the run went, and in which order.

use jaren_json::{Object, ObjectBuilder, Value, value};

use crate::plan::{Form, Node, Part};

/// The task of all ordinary work: its answer is a digest of what it was given.
pub(crate) const MIX: &str = "mix";
/// The same without a time limit: for work whose failure is caught, where another failure would make another result.
pub(crate) const KEEP: &str = "keep";
/// The task that always fails.
pub(crate) const FAIL: &str = "fail";
/// The version at which documents name both.
pub(crate) const VERSION: &str = "1";

/// The document.
pub(crate) fn document(plan: &[Part]) -> Value {
    let mut states = ObjectBuilder::new();
    write(plan, "/states", "end", &mut states);
    states.insert("end", value!({ "final": true }));
    value!({
        "$workflow": "0.2", "revision": "sim/1", "initial": (entry_or(plan, "end")), "states": (states.build())
    })
}

/// The name of the state that a part begins with.
pub(crate) fn entry(part: &Part) -> String {
    let id = part.id;
    match &part.form {
        Form::Work | Form::Choice { .. } => format!("w{id}"),
        Form::Fan(_) => format!("f{id}"),
        Form::Wait { .. } => format!("h{id}"),
        Form::Delay(_) => format!("d{id}"),
        Form::Flow(_) => format!("n{id}"),
        Form::Loop { body, .. } => entry_or(body, &format!("l{id}")),
        Form::Caught { .. } => format!("x{id}"),
    }
}

pub(crate) fn entry_or(parts: &[Part], exit: &str) -> String {
    parts.first().map_or_else(|| exit.to_owned(), entry)
}

fn write(parts: &[Part], prefix: &str, exit: &str, states: &mut ObjectBuilder) {
    for (index, part) in parts.iter().enumerate() {
        let next = entry_or(parts.get(index + 1..).unwrap_or_default(), exit);
        write_part(part, prefix, &next, states);
    }
}

fn write_part(part: &Part, prefix: &str, next: &str, states: &mut ObjectBuilder) {
    let id = part.id;
    let begin = entry(part);
    match &part.form {
        Form::Work => states.insert(begin, work(id, next)),
        Form::Fan(nodes) => {
            states.insert(begin, value!({ "work": { "dag": (fan(id, nodes)) }, "then": next }));
        }
        Form::Choice { even, odd } => {
            states.insert(begin, work(id, &format!("c{id}")));
            let guard = value!({ "$eq": [{ "$mod": ["$.context.data", 2] }, 0] });
            let choice = value!({
                "choose": [{ "guard": guard, "to": (entry_or(even, next)) }], "otherwise": (entry_or(odd, next))
            });
            states.insert(format!("c{id}"), choice);
            write(even, prefix, next, states);
            write(odd, prefix, next, states);
        }
        Form::Wait { other, after } => {
            write_wait(id, *other, *after, states);
            for exit in ["go", "other", "late"] {
                let is_there = match exit {
                    "go" => true,
                    "other" => *other,
                    _ => after.is_some(),
                };
                if is_there {
                    states.insert(format!("h{id}-{exit}"), marker(id, exit, next));
                }
            }
        }
        Form::Delay(ms) => {
            states.insert(begin, value!({ "on": [], "after": { "ms": (f64::from(*ms)), "to": next } }));
        }
        Form::Flow(inner) => {
            let mut nested = ObjectBuilder::new();
            write(inner, &format!("{prefix}/{begin}/flow/states"), "end", &mut nested);
            nested.insert("end", value!({ "final": true }));
            let flow = value!({ "initial": (entry_or(inner, "end")), "states": (nested.build()) });
            states.insert(begin, value!({ "flow": flow, "then": next }));
        }
        Form::Loop { body, times, limit } => {
            let count = format!("l{id}");
            write(body, prefix, &count, states);
            let visits = format!("$.context.visits['{prefix}/{count}']");
            let again = value!({ "$lt": [visits, (number(*times))] });
            let to = entry_or(body, next);
            let choice = value!({
                "choose": [{ "guard": again, "to": to }], "otherwise": next, "limit": (number(*limit))
            });
            states.insert(count, choice);
        }
        Form::Caught { fan } => {
            let mut failing = if *fan {
                value!({ "work": { "dag": (broken(id)) }, "then": next })
            } else {
                value!({ "work": { "task": FAIL, "version": VERSION }, "then": next })
            };
            if let Value::Object(members) = &failing {
                failing = Value::Object(members.with("catch", format!("r{id}")));
            }
            states.insert(begin, failing);
            let rescue = value!({
                "work": { "task": MIX, "version": VERSION, "with": { "k": (number(id as u64)) } },
                "input": "$.context.data.error.nodeId", "then": next
            });
            states.insert(format!("r{id}"), rescue);
        }
    }
}

/// A whole number, as JSON has it.
pub(crate) fn number(count: u64) -> Value {
    Value::Number(u32::try_from(count).map_or(0.0, f64::from))
}

fn work(id: usize, next: &str) -> Value {
    let with = value!({ "k": (number(id as u64)) });
    value!({ "work": { "task": MIX, "version": VERSION, "with": with }, "then": next })
}

fn marker(id: usize, exit: &str, next: &str) -> Value {
    let mut input: Object = [("data", Value::from("$.context.data"))].into_iter().collect();
    if exit != "late" {
        input = input.with("event", "$.context.event");
    }
    let with = value!({ "at": (format!("h{id}-{exit}")) });
    value!({ "work": { "task": MIX, "version": VERSION, "with": with }, "input": input, "then": next })
}

/// `q` of the payload decides: up to 10 is taken, above is refused, 0 breaks the guard.
fn write_wait(id: usize, other: bool, after: Option<u32>, states: &mut ObjectBuilder) {
    let guard = value!({ "$gt": [{ "$idiv": [10, "$.payload.q"] }, 0] });
    let mut on = vec![value!({ "event": "go", "guard": guard, "to": (format!("h{id}-go")) })];
    if other {
        on.push(value!({ "event": "other", "to": (format!("h{id}-other")) }));
    }
    let mut wait: Object = [("on", Value::from(on))].into_iter().collect();
    if let Some(ms) = after {
        wait = wait.with("after", value!({ "ms": (f64::from(ms)), "to": (format!("h{id}-late")) }));
    }
    states.insert(format!("h{id}"), Value::Object(wait));
}

fn fan(id: usize, nodes: &[Node]) -> Value {
    let mut built = ObjectBuilder::new();
    let mut edges = Vec::new();
    built.insert("in", value!({ "kind": "input" }));
    for (index, node) in nodes.iter().enumerate() {
        let name = node_name(index);
        if node.from.is_empty() {
            edges.push(value!({ "from": "in", "to": (&name), "port": "in" }));
        }
        for from in &node.from {
            let from = node_name(*from);
            edges.push(value!({ "from": (&from), "to": (&name), "port": (&from) }));
        }
        let body = if node.task {
            let with = value!({ "k": (number((id * 10 + index) as u64)) });
            value!({ "kind": "task", "run": MIX, "version": VERSION, "with": with, "checkpoint": (node.kept) })
        } else {
            let ports = node.from.iter().map(|from| Value::from(format!("$.{}", node_name(*from))));
            let sum = ports.fold(value!(0), |sum, port| value!({ "$add": [sum, port] }));
            value!({ "kind": "query", "query": sum, "checkpoint": (node.kept) })
        };
        built.insert(name.as_str(), body);
        edges.push(value!({ "from": (&name), "to": "out", "port": (&name) }));
    }
    built.insert("out", value!({ "kind": "output" }));
    value!({ "$dag": "0.1", "nodes": (built.build()), "edges": (Value::from(edges)) })
}

/// A task that fails behind one that is kept, and another one beside them.
fn broken(id: usize) -> Value {
    let kept = value!({
        "kind": "task", "run": KEEP, "version": VERSION, "with": { "k": (number(id as u64)) }, "checkpoint": true
    });
    value!({
        "$dag": "0.1",
        "nodes": {
            "in": { "kind": "input" },
            "t0": (&kept),
            "t1": (&kept),
            "bad": { "kind": "task", "run": FAIL, "version": VERSION },
            "out": { "kind": "output" }
        },
        "edges": [
            { "from": "in", "to": "t0" }, { "from": "in", "to": "t1" }, { "from": "t0", "to": "bad" },
            { "from": "t1", "to": "out", "port": "t1" }, { "from": "bad", "to": "out", "port": "bad" }
        ]
    })
}

pub(crate) fn node_name(index: usize) -> String {
    format!("t{index}")
}

/// What the task `mix` answers: 31 bits of FNV-1a over the canonical text of all that it was given.
pub(crate) fn mix(with: &Value, input: &Value) -> Value {
    let text = jaren_json::canonical(&value!([with, input])).unwrap_or_default();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Value::Number(u32::try_from(hash >> 33).map_or(0.0, f64::from))
}
