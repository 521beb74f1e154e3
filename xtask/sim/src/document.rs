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

/// Which of the documents of a plan: they differ in what their tasks are given. A run begins with the first.
pub(crate) type Edition = u64;
/// How many there are.
pub(crate) const EDITIONS: Edition = 3;

/// The document.
pub(crate) fn document(plan: &[Part], edition: Edition) -> Value {
    let mut states = States { edition, built: ObjectBuilder::new() };
    states.write(plan, "/states", "end");
    states.built.insert("end", value!({ "final": true }));
    let revision = format!("{REVISION}{edition}");
    let states = states.built.build();
    value!({ "$workflow": "0.2", "revision": revision, "initial": (entry_or(plan, "end")), "states": states })
}

/// What revisions begin with; the edition follows.
pub(crate) const REVISION: &str = "sim/";

/// The edition that a run is bound to, by the snapshot's identity, which has the document's canonical text.
pub(crate) fn edition_of(snapshot: &Value) -> Option<Edition> {
    let document = snapshot.get("identity")?.get("document")?.as_str()?;
    let (_, after) = document.split_once(&format!(r#""revision":"{REVISION}"#))?;
    after.split_once('"')?.0.parse().ok()
}

/// Members that a document gives, with its edition from the second on.
pub(crate) fn edited(members: Value, edition: Edition) -> Value {
    match members {
        Value::Object(members) if edition > 0 => Value::Object(members.with("edition", number(edition))),
        members => members,
    }
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

/// The states of one document, as they are written.
struct States {
    edition: Edition,
    built: ObjectBuilder,
}

impl States {
    fn write(&mut self, parts: &[Part], prefix: &str, exit: &str) {
        for (index, part) in parts.iter().enumerate() {
            let next = entry_or(parts.get(index + 1..).unwrap_or_default(), exit);
            self.part(part, prefix, &next);
        }
    }

    fn part(&mut self, part: &Part, prefix: &str, next: &str) {
        let (id, edition) = (part.id, self.edition);
        let states = &mut self.built;
        let begin = entry(part);
        match &part.form {
            Form::Work => states.insert(begin, work(id, edition, next)),
            Form::Fan(nodes) => {
                states.insert(begin, value!({ "work": { "dag": (fan(id, edition, nodes)) }, "then": next }));
            }
            Form::Choice { even, odd } => {
                states.insert(begin, work(id, edition, &format!("c{id}")));
                let guard = value!({ "$eq": [{ "$mod": ["$.context.data", 2] }, 0] });
                let choice = value!({
                    "choose": [{ "guard": guard, "to": (entry_or(even, next)) }], "otherwise": (entry_or(odd, next))
                });
                states.insert(format!("c{id}"), choice);
                self.write(even, prefix, next);
                self.write(odd, prefix, next);
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
                        states.insert(format!("h{id}-{exit}"), marker(id, edition, exit, next));
                    }
                }
            }
            Form::Delay(ms) => {
                states.insert(begin, value!({ "on": [], "after": { "ms": (f64::from(*ms)), "to": next } }));
            }
            Form::Flow(inner) => {
                let mut nested = States { edition, built: ObjectBuilder::new() };
                nested.write(inner, &format!("{prefix}/{begin}/flow/states"), "end");
                nested.built.insert("end", value!({ "final": true }));
                let flow = value!({ "initial": (entry_or(inner, "end")), "states": (nested.built.build()) });
                states.insert(begin, value!({ "flow": flow, "then": next }));
            }
            Form::Loop { body, times, limit } => {
                let count = format!("l{id}");
                let visits = format!("$.context.visits['{prefix}/{count}']");
                let again = value!({ "$lt": [visits, (number(*times))] });
                let to = entry_or(body, next);
                let choice = value!({
                    "choose": [{ "guard": again, "to": to }], "otherwise": next, "limit": (number(*limit))
                });
                states.insert(count.as_str(), choice);
                self.write(body, prefix, &count);
            }
            Form::Caught { fan } => self.caught(id, *fan, begin, next),
        }
    }

    /// Work that fails, and the state that its failure leads to.
    fn caught(&mut self, id: usize, fan: bool, begin: String, next: &str) {
        let edition = self.edition;
        let mut failing = if fan {
            value!({ "work": { "dag": (broken(id, edition)) }, "then": next })
        } else {
            value!({ "work": { "task": FAIL, "version": VERSION }, "then": next })
        };
        if let Value::Object(members) = &failing {
            failing = Value::Object(members.with("catch", format!("r{id}")));
        }
        self.built.insert(begin, failing);
        let with = edited(value!({ "k": (number(id as u64)) }), edition);
        let rescue = value!({
            "work": { "task": MIX, "version": VERSION, "with": with },
            "input": "$.context.data.error.nodeId", "then": next
        });
        self.built.insert(format!("r{id}"), rescue);
    }
}

/// A whole number, as JSON has it.
pub(crate) fn number(count: u64) -> Value {
    Value::Number(u32::try_from(count).map_or(0.0, f64::from))
}

fn work(id: usize, edition: Edition, next: &str) -> Value {
    let with = edited(value!({ "k": (number(id as u64)) }), edition);
    value!({ "work": { "task": MIX, "version": VERSION, "with": with }, "then": next })
}

fn marker(id: usize, edition: Edition, exit: &str, next: &str) -> Value {
    let mut input: Object = [("data", Value::from("$.context.data"))].into_iter().collect();
    if exit != "late" {
        input = input.with("event", "$.context.event");
    }
    let with = edited(value!({ "at": (format!("h{id}-{exit}")) }), edition);
    let input = edited(Value::Object(input), edition);
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

fn fan(id: usize, edition: Edition, nodes: &[Node]) -> Value {
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
            let with = edited(value!({ "k": (number((id * 10 + index) as u64)) }), edition);
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
fn broken(id: usize, edition: Edition) -> Value {
    let with = edited(value!({ "k": (number(id as u64)) }), edition);
    let kept = value!({
        "kind": "task", "run": KEEP, "version": VERSION, "with": with, "checkpoint": true
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
