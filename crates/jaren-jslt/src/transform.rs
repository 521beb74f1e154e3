//! One transform: finding the rule for a value, firing it, or doing what the mode does without one (section 5).

use std::iter;

use jaren_json::{Diagnostic, Pointer, Value};
use jaren_query::extension::{Allowance, Exhausted, Host, Location, Track};
use jaren_query::{EvalError, Limits, Scope};

use crate::codes::{DEPTH, FAILED, LIMIT, SEVERAL, UNMATCHED};
use crate::compile::{PATH, ROOT};
use crate::document::Disposition;
use crate::error::TransformError;
use crate::locations::Locations;
use crate::rebuild::{Answer, Change, is_identical, rebuild};
use crate::sheet::{Mode, ModeId, Rule, Sheet, UNNAMED};

/// The stack that must be left for one dispatch, in bytes: twice what a body of the deepest nesting that compiles takes
/// down to its `$apply`.
const STACK_LEFT_MIN: usize = if cfg!(debug_assertions) { 2 << 20 } else { 1 << 20 };
/// How much stack is added where less is left, in bytes, and how often: 128 MiB in all.
const STACK_ADDED: usize = 8 << 20;
const STACKS_MAX: usize = 16;
/// What a value takes of the work that a transform may do, where it may be kept in an answer.
const KEPT: usize = size_of::<Value>() / 4;
/// Rules that are looked at for one unit more.
const RULES_EACH: usize = 16;

/// Transforms an input.
pub(crate) fn transform(
    sheet: &Sheet,
    input: &Value,
    parameters: &[(&str, &Value)],
) -> Result<Vec<Value>, TransformError> {
    // Bindings are found by the first of a name, so the engine's own come first.
    let externals: Vec<(&str, &Value)> = iter::once((ROOT, input))
        .chain(parameters.iter().copied().filter(|(name, _)| *name != PATH))
        .collect();
    let mut transform = Transform {
        sheet,
        input,
        externals: &externals,
        locations: Locations::new(sheet.paths.len()),
        prepared: vec![false; sheet.modes.len()],
        depth: 0,
        stacks: 0,
        dispatches_left: sheet.dispatches_max,
        allowance: Allowance::new(&sheet.limits),
        current: None,
        changes: Vec::new(),
    };
    let mut answer = Vec::new();
    if let Answer::Itself = transform.dispatch(input, Some(Locations::ROOT), UNNAMED, &mut answer)? {
        answer.push(input.clone());
    }
    Ok(answer)
}

struct Transform<'t> {
    sheet: &'t Sheet,
    input: &'t Value,
    /// What bodies may name, save `$path`.
    externals: &'t [(&'t str, &'t Value)],
    locations: Locations,
    /// The modes of which the paths were walked.
    prepared: Vec<bool>,
    /// Dispatches around the one that comes next.
    depth: usize,
    /// How often the stack was added to around here.
    stacks: usize,
    dispatches_left: u64,
    /// What is left of the steps and the work; nothing while a body has it.
    allowance: Allowance,
    /// Where the value stands of which the body is being evaluated.
    current: Option<Location>,
    /// The changed children of the containers that are being rebuilt, the innermost last.
    changes: Vec<Change>,
}

impl Transform<'_> {
    /// Dispatches a value in a mode.
    fn dispatch(
        &mut self,
        value: &Value,
        location: Option<Location>,
        mode: ModeId,
        answer: &mut Vec<Value>,
    ) -> Result<Answer, TransformError> {
        let sheet = self.sheet;
        // Modes are numbered by the compiler of this sheet.
        let Some(table) = sheet.modes.get(mode) else { return Ok(Answer::Itself) };
        if self.depth > sheet.depth_max {
            let message = format!("dispatches nest deeper than {}", sheet.depth_max);
            return Err(error(DEPTH, table, message));
        }
        let Some(left) = self.dispatches_left.checked_sub(1) else {
            let message = format!("the transform needs more than {} dispatches", sheet.dispatches_max);
            return Err(error(LIMIT, table, message));
        };
        self.dispatches_left = left;
        let paid = self.allowance.step();
        paid.and_then(|()| self.allowance.work(KEPT + table.rules.len() / RULES_EACH))
            .map_err(|exhausted| spent(exhausted, table))?;
        if location.is_some() {
            self.prepare(mode, table)?;
        }
        if table.positional
            && !location.is_some_and(|location| self.locations.leads_on(location, &table.paths))
        {
            return Ok(Answer::Itself);
        }
        // Where the thread's own stack is short, it goes on on the heap.
        if stacker::remaining_stack().is_none_or(|left| left >= STACK_LEFT_MIN) {
            return self.answer((mode, table), value, location, answer);
        }
        if self.stacks == STACKS_MAX {
            let message = format!(
                "dispatches within each other take more than {} MiB",
                STACKS_MAX * (STACK_ADDED >> 20)
            );
            return Err(error(DEPTH, table, message));
        }
        self.stacks += 1;
        let answered = stacker::grow(STACK_ADDED, || self.answer((mode, table), value, location, answer));
        self.stacks -= 1;
        answered
    }

    /// Fires the rule of the highest rank that matches, or does what the mode does without one.
    fn answer(
        &mut self,
        (mode, table): (ModeId, &Mode),
        value: &Value,
        location: Option<Location>,
        answer: &mut Vec<Value>,
    ) -> Result<Answer, TransformError> {
        let mut rules = table.rules.iter().filter_map(|rule| self.sheet.rules.get(*rule));
        match rules.find(|rule| self.matches(rule, value, location)) {
            Some(rule) => self.fire((rule, table), value, location, answer),
            None => self.built_in((mode, table), value, location, answer),
        }
    }

    /// Walks the match paths of a mode, once, when something that they could select is dispatched in it.
    fn prepare(&mut self, mode: ModeId, table: &Mode) -> Result<(), TransformError> {
        if self.prepared.get_mut(mode).is_some_and(|prepared| !std::mem::replace(prepared, true)) {
            let paths = (&self.sheet.paths[..], &table.paths[..]);
            let walked = self.locations.select(self.input, paths, &self.allowance);
            return walked.map_err(|limit| error(LIMIT, table, limit.to_string()));
        }
        Ok(())
    }

    fn matches(&self, rule: &Rule, value: &Value, location: Option<Location>) -> bool {
        rule.path
            .is_none_or(|path| location.is_some_and(|location| self.locations.is_selected(location, path)))
            && rule.test.as_ref().is_none_or(|test| test.accepts(value))
    }

    /// Evaluates the body of a rule with the value as its input.
    fn fire(
        &mut self,
        (rule, table): (&Rule, &Mode),
        value: &Value,
        location: Option<Location>,
        answer: &mut Vec<Value>,
    ) -> Result<Answer, TransformError> {
        let path = if rule.reads_path { Some(self.path(location, table)?) } else { None };
        let with_path: Vec<(&str, &Value)>;
        let externals = match &path {
            None => self.externals,
            Some(path) => {
                with_path = iter::once((PATH, path)).chain(self.externals.iter().copied()).collect();
                &with_path
            }
        };
        let scope = Scope::value(value).with_externals(externals);
        let around = std::mem::replace(&mut self.current, location);
        let mut allowance = std::mem::take(&mut self.allowance);
        let evaluated = rule.body.evaluate(&scope, self, &mut allowance, answer);
        self.allowance = allowance;
        self.current = around;
        match evaluated {
            Ok(()) => Ok(Answer::Added),
            Err(error) if error.is_foreign() => Err(TransformError::new(error.into())),
            Err(error) => Err(self.failed(rule, location, error)),
        }
    }

    /// What `$path` is in a body, which may keep it.
    fn path(&self, location: Option<Location>, table: &Mode) -> Result<Value, TransformError> {
        let Some(location) = location else { return Ok(Value::Null) };
        let path = self.locations.path(self.input, location);
        self.allowance.work(path.as_str().len() / 4).map_err(|exhausted| spent(exhausted, table))?;
        Ok(Value::from(path.as_str()))
    }

    #[cold]
    fn failed(&self, rule: &Rule, location: Option<Location>, error: EvalError) -> TransformError {
        let message = format!("rule {} failed at {}", rule.place, self.place(location));
        let place = rule.place.child("body").join(error.pointer());
        TransformError::new(Diagnostic::new(FAILED, place, message).with_cause(error.into()))
    }

    /// What happens to a value that no rule matches.
    fn built_in(
        &mut self,
        (mode, table): (ModeId, &Mode),
        value: &Value,
        location: Option<Location>,
        answer: &mut Vec<Value>,
    ) -> Result<Answer, TransformError> {
        let fresh = match table.unmatched.disposition {
            Disposition::Share => false,
            Disposition::Fresh => true,
            Disposition::Error => {
                let message = match &*table.name {
                    "" => format!("no rule matches {}", self.place(location)),
                    name => format!("no rule of mode '{name}' matches {}", self.place(location)),
                };
                return Err(error(UNMATCHED, table, message));
            }
        };
        let width = match value {
            Value::Array(array) => array.len(),
            Value::Object(object) => object.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Ok(Answer::Itself),
        };
        // Each child is looked at, and may be kept in another container.
        self.allowance.work(width.saturating_mul(1 + KEPT)).map_err(|exhausted| spent(exhausted, table))?;
        let (from, before) = (answer.len(), self.changes.len());
        let mut next = 0;
        while let Some((position, child)) = self.next_child(table, location, (value, next)) {
            next = position + 1;
            let below = location.map(|location| self.locations.child(location, value, position));
            let so_far = answer.len();
            self.depth += 1;
            let answered = self.dispatch(child, below, mode, answer)?;
            self.depth -= 1;
            let items = answer.len() - so_far;
            match answered {
                Answer::Itself => {}
                Answer::Added if items > 1 && value.as_object().is_some() => {
                    let message =
                        format!("expected at most one item for {}, found {items}", self.place(below));
                    return Err(error(SEVERAL, table, message));
                }
                Answer::Added
                    if items == 1 && answer.last().is_some_and(|item| is_identical(item, child)) =>
                {
                    answer.pop();
                }
                Answer::Added => self.changes.push(Change { position, items }),
            }
        }
        let changes = self.changes.get(before..).unwrap_or_default();
        if changes.is_empty() && !fresh {
            return Ok(Answer::Itself);
        }
        rebuild(value, changes, (answer, from));
        self.changes.truncate(before);
        if let Some(container) = answer.last() {
            check_size(container, table.unmatched.place.clone())?;
        }
        Ok(Answer::Added)
    }

    /// The next child to dispatch, with its position: whichever comes next, or in a positional mode the next one that a
    /// path leads to. The others are not dispatched, and the depth guard does not count them.
    fn next_child<'v>(
        &self,
        table: &Mode,
        location: Option<Location>,
        (container, from): (&'v Value, usize),
    ) -> Option<(usize, &'v Value)> {
        let position =
            if table.positional { self.locations.next_child(location?, from, &table.paths)? } else { from };
        let child = match container {
            Value::Array(array) => array.get(position),
            Value::Object(object) => object.values().get(position),
            _ => None,
        };
        Some((position, child?))
    }

    /// Where a value stands, for messages.
    fn place(&self, location: Option<Location>) -> String {
        location.map_or_else(
            || "a value without a location".to_owned(),
            |location| self.locations.path(self.input, location).to_string(),
        )
    }
}

impl Host for Transform<'_> {
    /// Section 6.4: the current value and the input know where they stand.
    fn location(&self, external: Option<&str>) -> Option<Location> {
        match external {
            None => self.current,
            Some(ROOT) => Some(Locations::ROOT),
            Some(_) => None,
        }
    }

    fn child(&mut self, location: Location, parent: &Value, position: usize) -> Location {
        self.locations.child(location, parent, position)
    }

    fn apply(
        &mut self,
        mode: ModeId,
        (item, location): (&Value, Option<Location>),
        allowance: &mut Allowance,
        answer: &mut Vec<Value>,
    ) -> Result<(), EvalError> {
        // An error on the way leaves both as they are then: it ends the transform, and nobody looks at them again.
        self.depth += 1;
        std::mem::swap(&mut self.allowance, allowance);
        let answered = self.dispatch(item, location, mode, answer).map_err(TransformError::into_foreign)?;
        if let Answer::Itself = answered {
            answer.push(item.clone());
        }
        std::mem::swap(&mut self.allowance, allowance);
        self.depth -= 1;
        Ok(())
    }
}

/// Values that share their parts can be put together for nothing, and be larger than any memory where they are written.
pub(crate) fn check_size(made: &Value, place: Pointer) -> Result<(), TransformError> {
    if made.size() <= Limits::SIZE {
        return Ok(());
    }
    let message = format!(
        "expected a value of at most {} values and texts of 16 bytes, each counted wherever it stands, found more",
        Limits::SIZE
    );
    Err(TransformError::new(Diagnostic::new(LIMIT, place, message)))
}

#[cold]
fn error(code: &'static str, mode: &Mode, message: String) -> TransformError {
    TransformError::new(Diagnostic::new(code, mode.unmatched.place.clone(), message))
}

#[cold]
fn spent(exhausted: Exhausted, mode: &Mode) -> TransformError {
    error(LIMIT, mode, exhausted.to_string())
}
