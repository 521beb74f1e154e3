//! Machines as parts of an app: the document of a machine, projected to plain JSON that an app interprets by itself.
//!
//! An app keeps its whole state as one JSON value and changes it by actions, which are queries. [`fsm_to_app`] writes, for
//! each named event of a machine, the action that does what the machine would do: the state of the machine is a slice of the
//! app's state, the app's state is the machine's context, and the argument of the action (`$payload`) is the payload.
//! Nothing of jaren runs in the app.
//!
//! ```
//! use jaren_flow::app::{AppOptions, fsm_to_app};
//! use jaren_json::value;
//! use jaren_query::{Query, Scope};
//!
//! let app = fsm_to_app(&value!({
//!     "initial": "draft",
//!     "states": ["draft", "approved"],
//!     "transitions": [{ "from": "draft", "event": "approve", "guard": "$.context.reviewer", "to": "approved" }]
//! }), &AppOptions::new())?;
//! assert_eq!(app.slice, value!({ "current": "draft" }));
//!
//! let approve = Query::compile(app.actions.get("fsm/approve").unwrap())?;
//! let state = value!({ "fsm": { "current": "draft" }, "reviewer": "sam" });
//! let change = approve.first(&Scope::value(&state).with_externals(&[("payload", &value!(null))]))?;
//! let patch = value!([{ "op": "replace", "path": "/fsm/current", "value": "approved" }]);
//! assert_eq!(change, Some(value!({ "patch": (patch) })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Laws
//!
//! 1. An action answers nothing where the machine would ignore the event; otherwise `{patch, effects?}`: the patch replaces
//!    the state of the machine, and the effects are those of the step, in its order.
//! 2. Guards and effects read what they read in a step, all of it from before the change.
//! 3. The names of actions are closed: a machine in an app answers its named events only. Transitions for every event are
//!    part of the action of each of these.
//! 4. A guard or an effect that fails makes the whole action fail, where a step would record it and go on.

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Object, Pointer, Report, Str, Value, value};
use jaren_query::Query;
use jaren_query::extension::{BINDING, Expressions, expressions_of};

use crate::look::list;
use crate::machine::Machine;

/// The variable that stands for the scope of a step in a generated action.
const SCOPE: &str = "__fsm";
/// The variable that holds what the query of an argument finds.
const FOUND: &str = "__fsm_with";

/// Where a machine lives in an app.
#[derive(Debug, Clone)]
pub struct AppOptions {
    pointer: Pointer,
    namespace: String,
}

impl AppOptions {
    /// The slice at `/fsm`, and actions whose names begin with `fsm/`.
    pub fn new() -> Self {
        Self { pointer: Pointer::root().child("fsm"), namespace: "fsm/".to_owned() }
    }

    /// The same with the slice at another place of the app's state, which must lead through names that need no quotes.
    #[must_use]
    pub fn with_pointer(mut self, pointer: Pointer) -> Self {
        self.pointer = pointer;
        self
    }

    /// The same with names of actions that begin otherwise.
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }
}

impl Default for AppOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// What a machine brings to an app.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct App {
    /// The slice at the start: `{current}`.
    pub slice: Value,
    /// The actions by their names.
    pub actions: Object,
    /// The machine's named events, in the order in which transitions name them.
    pub events: Vec<Str>,
}

/// Why a machine cannot be projected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AppError {
    /// The document does not compile.
    #[error(transparent)]
    Document(#[from] Report),
    /// The pointer is none of names that need no quotes.
    #[error(
        "the pointer to the slice must consist of names of letters, digits and '_', like /fsm or /ui/wizard"
    )]
    Pointer,
    /// A query binds the variable that generated actions need for themselves.
    #[error("the query at {0} binds the variable '__fsm', which actions use themselves: rename it")]
    Reserved(Pointer),
    /// A filter in a path reads the event or the payload.
    #[error(
        "a filter in the path at {0} reads more of the scope than $.context and $.state, which a filter in an action \
         cannot: use $for and $where"
    )]
    Filter(Pointer),
    /// The queries of the machine nest so deep that no action can hold them.
    #[error("the action of the event '{0}' would be no query: {1}")]
    Action(Str, Report),
}

/// Projects a jaren-fsm 0.1 document.
pub fn fsm_to_app(document: &Value, options: &AppOptions) -> Result<App, AppError> {
    let machine = Machine::compile(document)?;
    if options.pointer.is_root() || !options.pointer.tokens().all(|name| is_plain_name(&name)) {
        return Err(AppError::Pointer);
    }
    let current = format!("${}.current", options.pointer.as_str().replace('/', "."));
    let patched = options.pointer.child("current").to_string();
    let mut generator = Generator { document, current: &current, patched, states: BTreeMap::new() };
    for (index, state) in list(document, "states").iter().enumerate() {
        if let Some(id) = state.get("id").and_then(Value::as_str) {
            generator.states.insert(id, (index, state));
        }
    }
    let mut seen = BTreeSet::new();
    let named = list(document, "transitions").iter().filter_map(|transition| match transition.get("event") {
        Some(Value::String(event)) => Some(event),
        _ => None,
    });
    let events: Vec<Str> = named.filter(|event| seen.insert(*event)).cloned().collect();
    let actions = events.iter().map(|event| {
        let name = format!("{}{event}", options.namespace);
        generator.action(event).map(|action| (name, action))
    });
    let actions = actions.collect::<Result<Vec<_>, _>>()?.into_iter().collect();
    Ok(App { slice: value!({ "current": machine.initial() }), actions, events })
}

/// The JSON Schema of the slice: `current` is one of the machine's states. It is the same in drafts 2020-12 and 07.
pub fn fsm_state_schema(document: &Value) -> Result<Value, Report> {
    let states: Value = Machine::compile(document)?.states().collect();
    Ok(value!({
        "type": "object",
        "required": ["current"],
        "properties": { "current": { "description": "The state that the machine is in.", "enum": states } }
    }))
}

fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A text as an expression that is that text.
fn literal(text: &str) -> Value {
    if text.starts_with('$') { Value::from(format!("${text}")) } else { Value::from(text) }
}

/// So many transitions are one chain of conditions; what a query may nest is bounded.
const CHAIN_MAX: usize = 40;

/// Writes the actions of a machine that compiles.
struct Generator<'a> {
    document: &'a Value,
    /// The path to the machine's state.
    current: &'a str,
    /// The pointer to it.
    patched: String,
    /// The states that may have effects, by their ids, with their places in the document.
    states: BTreeMap<&'a str, (usize, &'a Value)>,
}

impl Generator<'_> {
    /// A chain over the transitions that the event may fire, in their order.
    fn action(&self, event: &Str) -> Result<Value, AppError> {
        let answers = |transition: &Value| match transition.get("event") {
            None | Some(Value::Null) => true,
            Some(named) => *named == **event,
        };
        let mut branches = Vec::new();
        for (index, transition) in list(self.document, "transitions").iter().enumerate() {
            if answers(transition) {
                let at = Pointer::root().child("transitions").child_index(index);
                branches.push([self.condition(transition, &at)?, self.change(transition, &at)?]);
            }
        }
        let chains = branches.chunks(CHAIN_MAX).map(|branches| {
            branches.iter().rev().fold(None, |rest: Option<Value>, branch| {
                let branch: Value = branch.iter().cloned().chain(rest).collect();
                Some(value!({ "$if": branch }))
            })
        });
        let mut chains: Vec<Value> = chains.flatten().collect();
        let chain = match chains.pop() {
            Some(only) if chains.is_empty() => only,
            last => value!({ "$coalesce": chains.into_iter().chain(last).collect::<Value>() }),
        };
        let action = value!({
            "$let": {
                (SCOPE): { "state": self.current, "event": literal(event), "payload": "$payload", "context": "$" }
            },
            "$return": chain
        });
        Query::compile(&action).map_err(|report| AppError::Action(event.clone(), report))?;
        Ok(action)
    }

    fn condition(&self, transition: &Value, at: &Pointer) -> Result<Value, AppError> {
        let here = value!({ "$eq": [self.current, end(transition, "from")] });
        match transition.get("guard").filter(|guard| !guard.is_null()) {
            None => Ok(here),
            Some(guard) => Ok(value!({ "$and": [here, self.query(guard, &at.child("guard"))?] })),
        }
    }

    /// What the action answers when the transition fires.
    fn change(&self, transition: &Value, at: &Pointer) -> Result<Value, AppError> {
        let (from, to) = (end(transition, "from"), end(transition, "to"));
        let mut effects = Vec::new();
        if from != to {
            self.effects_of_state(transition.get("from"), "exit", &mut effects)?;
        }
        self.effects(transition, "effects", at, &mut effects)?;
        if from != to {
            self.effects_of_state(transition.get("to"), "entry", &mut effects)?;
        }
        let patch = value!([{ "op": "replace", "path": self.patched.as_str(), "value": to }]);
        let effects = Some(effects).filter(|effects| !effects.is_empty());
        let effects = effects.map(|effects| ("effects", Value::from(effects)));
        Ok(Value::Object([("patch", patch)].into_iter().chain(effects).collect()))
    }

    fn effects_of_state(
        &self,
        id: Option<&Value>,
        member: &str,
        effects: &mut Vec<Value>,
    ) -> Result<(), AppError> {
        let known = id.and_then(Value::as_str).and_then(|id| self.states.get(id));
        let Some((index, state)) = known else { return Ok(()) };
        self.effects(state, member, &Pointer::root().child("states").child_index(*index), effects)
    }

    /// The effects in a member of what stands at `at`.
    fn effects(
        &self,
        owner: &Value,
        member: &str,
        at: &Pointer,
        effects: &mut Vec<Value>,
    ) -> Result<(), AppError> {
        let at = at.child(member);
        for (index, effect) in owner.get(member).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let with = match effect.get("with") {
                None => None,
                Some(with) => Some(self.argument(with, &at.child_index(index).child("with"))?),
            };
            let with = with.map(|with| ("with", with));
            effects.push(Value::Object([("run", end(effect, "run"))].into_iter().chain(with).collect()));
        }
        Ok(())
    }

    /// The argument of an effect. Where the query may find several items a step makes a list of them, and so does this.
    fn argument(&self, query: &Value, at: &Pointer) -> Result<Value, AppError> {
        let query_here = self.query(query, at)?;
        if finds_at_most_one(query) {
            return Ok(query_here);
        }
        let found = format!("${FOUND}");
        let several = value!({ "$gt": [{ "$count": found.as_str() }, 1] });
        Ok(value!({
            "$let": { (FOUND): query_here },
            "$return": { "$if": [several, [found.as_str()], found.as_str()] }
        }))
    }

    /// A whole query over the scope of a step as an expression of an action.
    fn query(&self, query: &Value, at: &Pointer) -> Result<Value, AppError> {
        match query.get("$expr") {
            Some(expression) => self.expression(expression, &at.child("$expr")),
            None => self.expression(query, at),
        }
    }

    fn expression(&self, expression: &Value, at: &Pointer) -> Result<Value, AppError> {
        match expression {
            Value::String(text) => self.text(text, at),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.expression(item, &at.child_index(index))).collect()
            }
            Value::Object(object) => {
                let members = object.iter().map(|(name, argument)| {
                    let at = at.child(name);
                    refuse_reserved(name, argument, object, &at)?;
                    Ok((name, self.operand(name, argument, &at)?))
                });
                Ok(Value::Object(members.collect::<Result<Vec<_>, AppError>>()?.into_iter().collect()))
            }
            scalar => Ok(scalar.clone()),
        }
    }

    /// A member of an object: what the language takes as it stands is left so.
    fn operand(&self, name: &str, argument: &Value, at: &Pointer) -> Result<Value, AppError> {
        let expressions = match expressions_of(name) {
            Expressions::All => return self.expression(argument, at),
            Expressions::Nothing => return Ok(argument.clone()),
            Expressions::Elements(range) => range,
        };
        let Some(list) = argument.as_array() else { return Ok(argument.clone()) };
        let operands = list.iter().enumerate().map(|(index, operand)| {
            if expressions.contains(&index) {
                self.expression(operand, &at.child_index(index))
            } else {
                Ok(operand.clone())
            }
        });
        operands.collect()
    }

    /// A text: a path begins at the variable that stands for the scope.
    fn text(&self, text: &str, at: &Pointer) -> Result<Value, AppError> {
        let Some(rest) = text.strip_prefix('$').filter(|rest| !rest.starts_with('$')) else {
            return Ok(Value::from(text));
        };
        let rest = self.filters(rest).ok_or_else(|| AppError::Filter(at.clone()))?;
        let is_scope = rest.is_empty() || rest.starts_with(['.', '[']);
        Ok(Value::from(if is_scope { format!("${SCOPE}{rest}") } else { format!("${rest}") }))
    }

    /// A path behind its root, with the roots in its filters led to where an action finds them: there `$` is the state of
    /// the app, and no variable can be read. Nothing where that cannot be.
    fn filters(&self, path: &str) -> Option<String> {
        let mut written = String::with_capacity(path.len());
        let mut quote = None;
        let mut rest = path.chars();
        while let Some(c) = rest.next() {
            match (c, quote) {
                ('\\', Some(_)) => {
                    written.push(c);
                    written.extend(rest.next());
                    continue;
                }
                ('$', None) => {
                    let (to, after) = [("", ".context"), (self.current.get(1..)?, ".state")]
                        .into_iter()
                        .find_map(|(to, member)| Some((to, rest.as_str().strip_prefix(member)?)))?;
                    if after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || !c.is_ascii()) {
                        return None;
                    }
                    written.push('$');
                    written.push_str(to);
                    rest = after.chars();
                    continue;
                }
                ('\'' | '"', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                _ => {}
            }
            written.push(c);
        }
        Some(written)
    }
}

/// The id or the name in a member, as an expression.
fn end(object: &Value, member: &str) -> Value {
    literal(object.get(member).and_then(Value::as_str).unwrap_or_default())
}

/// Refuses the binding of a variable that actions bind.
fn refuse_reserved(name: &str, argument: &Value, phrase: &Object, at: &Pointer) -> Result<(), AppError> {
    let binds = |reserved: &str| match name {
        name if BINDING.contains(&name) => argument.get(reserved).is_some(),
        "$at" => *argument == *reserved,
        "$count" => *argument == *reserved && phrase.contains_key("$return"),
        _ => false,
    };
    if binds(SCOPE) { Err(AppError::Reserved(at.clone())) } else { Ok(()) }
}

/// Whether that is plain to see: for the rest it is checked when the action runs.
fn finds_at_most_one(query: &Value) -> bool {
    match query {
        Value::String(text) => {
            let from_root = text == "$" || text.starts_with("$.") || text.starts_with("$[");
            !text.starts_with('$')
                || text.starts_with("$$")
                || (from_root && !text.contains(['*', '?', ':', ',']) && !text.contains(".."))
        }
        Value::Object(object) => {
            object.contains_key("$const") || object.iter().all(|(name, _)| !name.starts_with('$'))
        }
        _ => true,
    }
}
