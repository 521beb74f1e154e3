//! Reading a jaren-workflow 0.2 document: shapes only (JF0021). What a name refers to is the business of lowering.

use jaren_json::{Diagnostic, Object, Pointer, Str, Value};

use crate::defects::{Defects, nonblank, unknown_members};

pub(super) const CODE: &str = "JF0021";

/// Checks the head of the document: its marker and revision.
pub(super) fn head<'a>(document: &'a Value, defects: &mut Defects) -> Option<(&'a Object, Str)> {
    let object =
        document.as_object().filter(|object| object.get("$workflow").and_then(Value::as_str) == Some("0.2"));
    let Some(object) = object else {
        let message = "a workflow is an object with \"$workflow\": \"0.2\" and a revision that is not blank";
        defects.push(CODE, Pointer::root(), message);
        return None;
    };
    let revision = nonblank(object.get("revision")).cloned().unwrap_or_default();
    if revision.is_empty() {
        let message = "a workflow needs a string \"revision\" that is not blank";
        let defect = Diagnostic::new(CODE, Pointer::root(), message);
        defects.add(defect.with_place(Pointer::root().child("revision")));
    }
    let known = ["$workflow", "revision", "initial", "states"];
    unknown_members(defects, CODE, &Pointer::root(), object, &known, "a workflow");
    Some((object, revision))
}

/// The five forms of a state, of which it declares exactly one (section 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Runs a dag and replaces the data by its result.
    Work,
    /// Goes on at once, where the first guard that holds says.
    Choose,
    /// Waits for an event or a delay.
    On,
    /// Contains states of its own.
    Flow,
    /// Ends its scope.
    Final,
}

impl Form {
    pub(crate) const ALL: [Self; 5] = [Self::Work, Self::Choose, Self::On, Self::Flow, Self::Final];

    /// The member that declares the form, which is also the `kind` in the lowered specs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Choose => "choose",
            Self::On => "on",
            Self::Flow => "flow",
            Self::Final => "final",
        }
    }

    fn members(self) -> &'static [&'static str] {
        match self {
            Self::Work => &["work", "input", "then", "catch", "limit"],
            Self::Choose => &["choose", "otherwise", "limit"],
            Self::On => &["on", "after", "limit"],
            Self::Flow => &["flow", "then", "limit"],
            Self::Final => &["final", "limit"],
        }
    }
}

/// A state's members, its form and its limit.
pub(super) struct StateDocument<'a> {
    pub(super) object: &'a Object,
    pub(super) form: Form,
    pub(super) limit: Option<u64>,
}

pub(super) fn state<'a>(
    name: &str,
    spec: &'a Value,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<StateDocument<'a>> {
    let Some(object) = spec.as_object().filter(|_| !name.is_empty()) else {
        let message = format!("a state is an object under a name that is not empty, found {}", spec.kind());
        defects.push(CODE, pointer.clone(), message);
        return None;
    };
    let mut forms = Form::ALL.into_iter().filter(|form| object.contains_key(form.name()));
    let form = forms.next().filter(|form| {
        let switched_on = object.get("final").and_then(Value::as_bool) == Some(true);
        forms.next().is_none() && (*form != Form::Final || switched_on)
    });
    let Some(form) = form else {
        let message = "a state declares exactly one of work, choose, on, flow and final: true";
        defects.push(CODE, pointer.clone(), message);
        return None;
    };
    let of = format!("a state with {}", form.name());
    unknown_members(defects, CODE, pointer, object, form.members(), &of);
    let limit = match object.get("limit") {
        None => None,
        Some(limit) => {
            let limit = limit.as_u64().filter(|limit| *limit > 0);
            if limit.is_none() {
                let message = "limit must be a positive integer";
                defects.push(CODE, pointer.child("limit"), message);
            }
            limit
        }
    };
    Some(StateDocument { object, form, limit })
}

/// What a work state does.
pub(super) enum WorkDocument<'a> {
    Task { task: &'a Str, version: &'a Str, with: Option<&'a Value> },
    Dag(&'a Value),
}

/// Reads `work`; `pointer` is the state's.
pub(super) fn work<'a>(
    object: &'a Object,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<WorkDocument<'a>> {
    let pointer = pointer.child("work");
    let work = object.get("work").and_then(Value::as_object);
    let Some(work) = work.filter(|work| work.contains_key("task") != work.contains_key("dag")) else {
        defects.push(CODE, pointer, "work declares either a task or a dag");
        return None;
    };
    if let Some(dag) = work.get("dag") {
        if work.len() != 1 || dag.as_object().is_none() {
            let message = "dag must be a dag document, with nothing beside it";
            defects.push(CODE, pointer.child("dag"), message);
            return None;
        }
        return Some(WorkDocument::Dag(dag));
    }
    let named = nonblank(work.get("task")).zip(nonblank(work.get("version")));
    if named.is_none() {
        let message = "a task needs a name and a version, both not blank";
        defects.push(CODE, pointer.clone(), message);
    }
    unknown_members(defects, CODE, &pointer, work, &["task", "version", "with"], "a task");
    let (task, version) = named?;
    Some(WorkDocument::Task { task, version, with: work.get("with") })
}

/// The list of a choice's or a wait's branches.
pub(super) fn branches<'a>(
    object: &'a Object,
    form: Form,
    pointer: &Pointer,
    defects: &mut Defects,
) -> &'a [Value] {
    let list = object.get(form.name()).and_then(Value::as_array);
    let may_be_empty = form == Form::On && object.contains_key("after");
    if let Some(list) = list.filter(|list| may_be_empty || !list.is_empty()) {
        return list;
    }
    let message = if form == Form::On {
        "on must be a list of {event, to, guard?}, and it may be empty only beside an after"
    } else {
        "choose must be a list with at least one {guard, to}"
    };
    defects.push(CODE, pointer.child(form.name()), message);
    &[]
}

/// One `{guard, to}`: the guard and the target.
pub(super) fn choice<'a>(
    branch: &'a Value,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<(&'a Value, Option<&'a Value>)> {
    let object = branch.as_object().filter(|object| only(object, &["guard", "to"]));
    let guard = object.and_then(|object| object.get("guard"));
    if guard.is_none() {
        defects.push(CODE, pointer.clone(), "a choice is {guard, to}");
    }
    guard.map(|guard| (guard, branch.get("to")))
}

/// One `{event, to, guard?}`: the event's name, the guard and the target.
pub(super) fn answer<'a>(
    branch: &'a Value,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<(&'a Str, Option<&'a Value>, Option<&'a Value>)> {
    let object = branch.as_object().filter(|object| only(object, &["event", "to", "guard"]));
    let event = object.and_then(|object| nonblank(object.get("event")));
    if event.is_none() {
        defects.push(
            CODE,
            pointer.clone(),
            "a wait's branch is {event, to, guard?} with an event that is not blank",
        );
    }
    event.map(|event| (event, branch.get("guard"), branch.get("to")))
}

/// The `after` of a wait: its duration and the target.
pub(super) fn after<'a>(
    object: &'a Object,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<(f64, Option<&'a Value>)> {
    let value = object.get("after")?;
    let object = value.as_object().filter(|object| only(object, &["ms", "to"]));
    let duration = object
        .and_then(|object| object.get("ms"))
        .and_then(Value::as_f64)
        .filter(|duration| duration.is_finite() && *duration >= 0.0);
    if duration.is_none() {
        let message = "after is {ms, to} with a number of milliseconds that is not negative";
        defects.push(CODE, pointer.child("after"), message);
    }
    duration.map(|duration| (duration, value.get("to")))
}

fn only(object: &Object, known: &[&str]) -> bool {
    object.iter().all(|(name, _)| known.contains(&name))
}
