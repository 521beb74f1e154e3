//! What a run must come to: a second reading of a plan, which shares no code with the engine.
//!
//! It needs to be told which way each wait ended; everything else follows.

use jaren_json::{Object, Value, value};

use crate::document::{Edition, edited, entry, mix, node_name, number};
use crate::plan::{Form, Node, Part};

/// A place where control may rest, and all that a snapshot saved there may say.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) active: String,
    pub(crate) visits: Object,
    pub(crate) data: Value,
    pub(crate) results: Object,
    pub(crate) event: Value,
    pub(crate) rest: Rest,
}

/// What kind of place it is.
#[derive(Clone, Debug)]
pub(crate) enum Rest {
    /// Work, with its input, the values that may be kept, and its result if it has one.
    Work {
        input: Value,
        kept: Object,
        result: Option<Value>,
    },
    Choice,
    Wait,
    Final,
}

/// Which way a wait ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// The qualified state that it led to.
    pub(crate) marker: String,
    /// The event that was taken; null for the deadline.
    pub(crate) event: Value,
}

/// Where the reading ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    Done(Value),
    /// A state was entered once more than its limit allows (JF2015).
    Limit,
    /// A wait has not ended.
    Undecided,
    /// A decision that the plan does not have.
    Impossible(String),
}

/// Reads a plan. `edition` tells which document the run was bound to when it left the place before which so many states
/// had been entered.
pub(crate) fn read(
    plan: &[Part],
    input: &Value,
    decisions: &[Decision],
    edition: &dyn Fn(u64) -> Edition,
) -> (Vec<Config>, End) {
    let mut reading = Reading {
        data: input.clone(),
        event: Value::Null,
        visits: Object::default(),
        results: Object::default(),
        entered: 0,
        edition,
        decisions: decisions.iter(),
        configs: Vec::new(),
    };
    let ended = reading.parts(plan, "/states").and_then(|()| reading.enter("/states/end", None));
    let end = match ended {
        Ok(()) => {
            reading.rest("/states/end", Rest::Final);
            End::Done(reading.data.clone())
        }
        Err(end) => end,
    };
    (reading.configs, end)
}

struct Reading<'a> {
    data: Value,
    event: Value,
    visits: Object,
    results: Object,
    /// How many states have been entered.
    entered: u64,
    edition: &'a dyn Fn(u64) -> Edition,
    decisions: std::slice::Iter<'a, Decision>,
    configs: Vec<Config>,
}

impl Reading<'_> {
    fn enter(&mut self, state: &str, limit: Option<u64>) -> Result<(), End> {
        let visits = self.visits_of(state) + 1;
        if limit.is_some_and(|limit| visits > limit) {
            return Err(End::Limit);
        }
        self.visits = self.visits.with(state, number(visits));
        self.entered += 1;
        Ok(())
    }

    /// What the document gives the state that was entered last.
    fn edited(&self, members: Value) -> Value {
        edited(members, (self.edition)(self.entered))
    }

    fn visits_of(&self, state: &str) -> u64 {
        self.visits.get(state).and_then(Value::as_u64).unwrap_or(0)
    }

    fn rest(&mut self, state: &str, rest: Rest) {
        self.configs.push(Config {
            active: state.to_owned(),
            visits: self.visits.clone(),
            data: self.data.clone(),
            results: self.results.clone(),
            event: self.event.clone(),
            rest,
        });
    }

    fn parts(&mut self, parts: &[Part], prefix: &str) -> Result<(), End> {
        parts.iter().try_for_each(|part| self.part(part, prefix))
    }

    fn part(&mut self, part: &Part, prefix: &str) -> Result<(), End> {
        let id = part.id;
        let begin = format!("{prefix}/{}", entry(part));
        match &part.form {
            Form::Work => self.work(&begin, value!({ "k": (number(id as u64)) }), None),
            Form::Fan(nodes) => self.fan(&begin, id, nodes),
            Form::Choice { even, odd } => {
                self.work(&begin, value!({ "k": (number(id as u64)) }), None)?;
                let choice = format!("{prefix}/c{id}");
                self.enter(&choice, None)?;
                self.rest(&choice, Rest::Choice);
                let is_even = self.data.as_u64().is_some_and(|data| data.is_multiple_of(2));
                self.parts(if is_even { even } else { odd }, prefix)
            }
            Form::Wait { .. } => self.wait(part, &begin),
            Form::Delay(_) => {
                self.enter(&begin, None)?;
                self.rest(&begin, Rest::Wait);
                Ok(())
            }
            Form::Flow(inner) => {
                self.enter(&begin, None)?;
                let prefix = format!("{begin}/flow/states");
                self.parts(inner, &prefix)?;
                self.enter(&format!("{prefix}/end"), None)
            }
            Form::Loop { body, times, limit } => {
                let count = format!("{prefix}/l{id}");
                loop {
                    self.parts(body, prefix)?;
                    self.enter(&count, Some(*limit))?;
                    self.rest(&count, Rest::Choice);
                    if self.visits_of(&count) >= *times || body.is_empty() {
                        return Ok(());
                    }
                }
            }
            Form::Caught { fan } => self.caught(id, *fan, prefix, &begin),
        }
    }

    /// A work state of one task.
    fn work(&mut self, state: &str, with: Value, input: Option<Value>) -> Result<(), End> {
        self.enter(state, None)?;
        let input = input.map_or_else(|| self.data.clone(), |input| self.edited(input));
        let result = mix(&self.edited(with), &input);
        let kept = value!({ "task": (&result), "output": (&result) });
        self.ended(state, input, &kept, Some(result));
        Ok(())
    }

    fn ended(&mut self, state: &str, input: Value, kept: &Value, result: Option<Value>) {
        let kept = kept.as_object().cloned().unwrap_or_default();
        self.rest(state, Rest::Work { input, kept, result: result.clone() });
        if let Some(result) = result {
            self.results = self.results.with(state, &result);
            self.data = result;
        }
    }

    fn fan(&mut self, state: &str, id: usize, nodes: &[Node]) -> Result<(), End> {
        self.enter(state, None)?;
        let input = self.data.clone();
        let (mut values, mut kept) = (Object::default(), Object::default());
        for (index, node) in nodes.iter().enumerate() {
            let name = node_name(index);
            let ports: Object = if node.from.is_empty() {
                [("in", input.clone())].into_iter().collect()
            } else {
                let named = node.from.iter().map(|from| node_name(*from));
                named.map(|from| (from.clone(), values.get(&from).cloned().unwrap_or_default())).collect()
            };
            let value = if node.task {
                let with = self.edited(value!({ "k": (number((id * 10 + index) as u64)) }));
                mix(&with, &Value::Object(ports))
            } else {
                Value::Number(ports.values().iter().filter_map(Value::as_f64).sum())
            };
            if node.kept {
                kept = kept.with(name.as_str(), &value);
            }
            values = values.with(name, value);
        }
        let result = Value::Object(values);
        self.ended(state, input, &Value::Object(kept.with("out", &result)), Some(result));
        Ok(())
    }

    fn wait(&mut self, part: &Part, begin: &str) -> Result<(), End> {
        let Form::Wait { other, after } = &part.form else { return Ok(()) };
        self.enter(begin, None)?;
        self.rest(begin, Rest::Wait);
        let decision = self.decisions.next().ok_or(End::Undecided)?;
        let exit = decision.marker.strip_prefix(begin).and_then(|exit| exit.strip_prefix('-'));
        let kind = decision.event.get("type").and_then(Value::as_str);
        let q = decision.event.get("payload").and_then(|payload| payload.get("q")).and_then(Value::as_u64);
        let input = value!({ "data": (&self.data) });
        let input = match exit {
            Some("go") if kind == Some("go") && q.is_some_and(|q| (1..=10).contains(&q)) => {
                value!({ "data": (&self.data), "event": (&decision.event) })
            }
            Some("other") if *other && kind == Some("other") => {
                value!({ "data": (&self.data), "event": (&decision.event) })
            }
            Some("late") if after.is_some() => input,
            _ => return Err(End::Impossible(format!("{decision:?} at {begin}"))),
        };
        if exit != Some("late") {
            self.event = decision.event.clone();
        }
        let name = decision.marker.rsplit('/').next().unwrap_or_default();
        self.work(&decision.marker, value!({ "at": name }), Some(input))
    }

    fn caught(&mut self, id: usize, fan: bool, prefix: &str, begin: &str) -> Result<(), End> {
        let input = self.data.clone();
        let k = value!({ "k": (number(id as u64)) });
        self.enter(begin, None)?;
        let (node, kept) = if fan {
            let kept = mix(&self.edited(k.clone()), &input);
            ("bad", value!({ "t0": (&kept), "t1": kept }))
        } else {
            ("task", value!({}))
        };
        self.ended(begin, input, &kept, None);
        let message = format!("JF2006: node '{node}' failed: boom at /nodes/{node}");
        self.data = value!({ "error": { "code": "JF2006", "message": message, "nodeId": node } });
        self.results = self.results.with(begin, &self.data);
        self.work(&format!("{prefix}/r{id}"), k, Some(Value::from(node)))
    }
}
