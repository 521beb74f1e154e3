//! The laws, each over what is stored.

use jaren_json::{Object, Value};

use super::Broken;
use crate::oracle::{Config, Rest};

/// A member of a member.
fn at<'a>(snapshot: &'a Value, part: &str, name: &str) -> &'a Value {
    snapshot.get(part).and_then(|part| part.get(name)).unwrap_or(&Value::Null)
}

pub(super) fn generation(snapshot: &Value) -> u64 {
    snapshot.get("generation").and_then(Value::as_u64).unwrap_or(0)
}

/// The snapshot without its generation and times.
pub(super) fn timeless(snapshot: &Value) -> Value {
    let Some(members) = snapshot.as_object() else { return Value::Null };
    let control = snapshot.get("control").and_then(|control| control.get("active"));
    Value::Object(members.without("generation").with("control", control.cloned().unwrap_or_default()))
}

pub(super) fn is_done(snapshot: &Value) -> bool {
    snapshot.get("status").and_then(Value::as_str) == Some("done")
}

fn pending(snapshot: &Value) -> Option<&Object> {
    snapshot.get("pending").and_then(Value::as_object)
}

fn active(snapshot: &Value) -> &str {
    at(snapshot, "control", "active").at(0).and_then(Value::as_str).unwrap_or_default()
}

fn visits(snapshot: &Value, state: &str) -> u64 {
    at(snapshot, "context", "visits").get(state).and_then(Value::as_u64).unwrap_or(0)
}

/// How many states had been entered.
pub(super) fn entered(snapshot: &Value) -> u64 {
    total(at(snapshot, "context", "visits"))
}

fn total(visits: &Value) -> u64 {
    visits.as_object().into_iter().flat_map(Object::values).filter_map(Value::as_u64).sum()
}

/// The pending activation, if it is this one.
fn activation<'a>(snapshot: &'a Value, state: &str, visit: u64) -> Option<&'a Object> {
    pending(snapshot).filter(|pending| {
        pending.get("state").and_then(Value::as_str) == Some(state)
            && pending.get("visit").and_then(Value::as_u64) == Some(visit)
    })
}

/// Was this node done when the snapshot was saved?
pub(super) fn finished(snapshot: &Value, state: &str, visit: u64, node: &str) -> bool {
    let entered = visits(snapshot, state);
    if active(snapshot) != state || entered != visit {
        return entered >= visit;
    }
    activation(snapshot, state, visit).is_some_and(|pending| {
        pending.contains_key("result")
            || pending.get("values").is_some_and(|values| values.get(node).is_some())
    })
}

/// Does the snapshot ask for this node?
pub(super) fn admits(snapshot: &Value, state: &str, visit: u64, node: &str) -> bool {
    activation(snapshot, state, visit).is_some_and(|pending| pending.contains_key("identity"))
        && !finished(snapshot, state, visit, node)
}

/// The label tells what the snapshot says, or that the last attempt failed.
pub(super) fn label(label: Option<&str>, snapshot: &Value) -> Result<(), Broken> {
    let status = snapshot.get("status").and_then(Value::as_str);
    if label == status || (label == Some("failed") && !is_done(snapshot)) {
        return Ok(());
    }
    Err(format!("its label is {label:?}, its status {status:?}"))
}

/// One snapshot may follow another.
pub(super) fn follows(before: &Value, after: &Value) -> Result<(), Broken> {
    let (old, new) = (generation(before), generation(after));
    if new <= old {
        return Err(format!("generation {new} follows {old}"));
    }
    if number(at(after, "control", "time")) < number(at(before, "control", "time")) {
        return Err("its time went back".to_owned());
    }
    for (state, count) in at(before, "context", "visits").as_object().into_iter().flatten() {
        if count.as_u64().unwrap_or(0) > visits(after, state) {
            return Err(format!("visits of {state} were forgotten"));
        }
    }
    let Some(old) = pending(before) else { return Ok(()) };
    let name = |name: &str| old.get(name).cloned().unwrap_or_default();
    let visit = name("visit").as_u64().unwrap_or(0);
    let Some(new) = activation(after, name("state").as_str().unwrap_or_default(), visit) else {
        return Ok(());
    };
    for part in ["input", "identity", "result"] {
        if old.get(part).is_some_and(|old| new.get(part) != Some(old)) {
            return Err(format!("the {part} of pending work changed"));
        }
    }
    for (node, value) in name("values").as_object().into_iter().flatten() {
        if new.get("values").and_then(|values| values.get(node)) != Some(value) {
            return Err(format!("the saved value of {node} changed"));
        }
    }
    Ok(())
}

/// A rebinding changes what the run is bound to, and otherwise leaves out at the most the work that is under way.
pub(super) fn rebinds(before: &Value, after: &Value) -> Result<(), Broken> {
    if generation(after) != generation(before) + 1 {
        return Err(format!("a rebinding made generation {} of {}", generation(after), generation(before)));
    }
    let same = |part: &str| before.get(part) == after.get(part);
    if !same("context") || active(before) != active(after) {
        return Err("a rebinding changed where the run stands".to_owned());
    }
    let (Some(old), Some(new)) = (pending(before), pending(after)) else {
        return if pending(after).is_none() { Ok(()) } else { Err("a rebinding made work".to_owned()) };
    };
    match ["state", "visit", "input", "values", "result"].iter().find(|part| old.get(part) != new.get(part)) {
        Some(part) => Err(format!("a rebinding changed the {part} of pending work")),
        None => Ok(()),
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// A snapshot is one of the places that the second reading goes through.
pub(super) fn agrees(snapshot: &Value, configs: &[Config], input: &Value) -> Result<(), Broken> {
    let entered = at(snapshot, "context", "visits");
    let count = total(entered);
    let same = |config: &&Config| total(&Value::Object(config.visits.clone())) == count;
    let Some(config) = configs.iter().find(same) else {
        return Err(format!("no way leads through {entered}"));
    };
    let expected = [
        ("visits", Value::Object(config.visits.clone())),
        ("data", config.data.clone()),
        ("results", Value::Object(config.results.clone())),
        ("event", config.event.clone()),
        ("input", input.clone()),
    ];
    for (part, expected) in expected {
        let found = at(snapshot, "context", part);
        if *found != expected {
            return Err(format!("context.{part} is {found}, not {expected}"));
        }
    }
    if active(snapshot) != config.active {
        return Err(format!("it rests in {}, not in {}", active(snapshot), config.active));
    }
    let status = snapshot.get("status").and_then(Value::as_str).unwrap_or_default();
    let rests = match config.rest {
        Rest::Work { .. } | Rest::Choice => status == "running",
        Rest::Wait => status == "running" || status == "waiting",
        Rest::Final => status == "done",
    };
    if !rests {
        return Err(format!("it is {status} in {}", config.active));
    }
    pending_agrees(snapshot, config)
}

fn pending_agrees(snapshot: &Value, config: &Config) -> Result<(), Broken> {
    let Some(pending) = pending(snapshot) else { return Ok(()) };
    let Rest::Work { input, kept, result } = &config.rest else {
        return Err(format!("{} has pending work", config.active));
    };
    if activation(snapshot, &config.active, visits(snapshot, &config.active)).is_none() {
        return Err("its pending work is another one's".to_owned());
    }
    if pending.get("input") != Some(input) {
        return Err(format!("the input of its work is {:?}, not {input}", pending.get("input")));
    }
    for (node, value) in pending.get("values").and_then(Value::as_object).into_iter().flatten() {
        if kept.get(node) != Some(value) {
            return Err(format!("the value of {node} is {value}, not {:?}", kept.get(node)));
        }
    }
    match (pending.get("result"), result) {
        (Some(found), Some(result)) if found == result => Ok(()),
        (None, _) => Ok(()),
        (found, result) => Err(format!("the result of its work is {found:?}, not {result:?}")),
    }
}

#[cfg(test)]
mod tests {
    use jaren_json::value;

    use super::*;
    use crate::oracle::read;
    use crate::plan::{Form, Part};

    /// A snapshot of the first work of a plan, with that pending beside its state and visit.
    fn working(pending: &Value) -> Value {
        let fixed = value!({ "state": "/states/w1", "visit": 1 });
        let members = [&fixed, pending].into_iter().flat_map(|part| part.as_object().into_iter().flatten());
        let pending: Object = members.map(|(name, value)| (name, value.clone())).collect();
        let context =
            value!({ "input": 7, "data": 7, "event": null, "results": {}, "visits": { "/states/w1": 1 } });
        value!({
            "generation": 3, "status": "running", "control": { "active": ["/states/w1"], "time": 0 },
            "context": context, "pending": (Value::Object(pending))
        })
    }

    fn judged(pending: &Value) -> Result<(), Broken> {
        let plan = [Part { id: 1, form: Form::Work }];
        let (configs, _) = read(&plan, &value!(7), &[], &|_| 0);
        agrees(&working(pending), &configs, &value!(7))
    }

    #[test]
    fn pending_work_has_the_input_that_the_second_reading_gives_it() {
        assert_eq!(judged(&value!({ "input": 7, "values": {} })), Ok(()));
        assert!(judged(&value!({ "input": 8, "values": {} })).unwrap_err().contains("the input of its work"));
        assert!(judged(&value!({ "values": {} })).unwrap_err().contains("the input of its work"));
        assert!(judged(&value!({ "input": 7, "values": { "task": 1 } })).is_err());
    }

    #[test]
    fn pending_work_keeps_its_input_and_its_identity() {
        let before = working(&value!({ "input": 7, "values": {}, "identity": "i" }));
        let next = |pending: &Value| {
            let snapshot = working(pending);
            let members = snapshot.as_object().cloned().unwrap_or_default();
            follows(&before, &Value::Object(members.with("generation", 4)))
        };
        assert_eq!(next(&value!({ "input": 7, "values": { "task": 1 }, "identity": "i" })), Ok(()));
        for changed in [
            value!({ "input": 8, "values": {}, "identity": "i" }),
            value!({ "input": 7, "values": {}, "identity": "j" }),
            value!({ "values": {}, "identity": "i" }),
        ] {
            assert!(next(&changed).unwrap_err().contains("of pending work changed"));
        }
    }
}
