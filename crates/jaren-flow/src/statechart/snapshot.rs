//! The control state of a chart: active leaves, history, timers, serial and time; its JSON form and `restore`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use jaren_json::{Array, Object, Shape, Str, Value};

use super::plan::{Kind, Plan, StateId};
use super::read::Trigger;
use crate::document::statechart::HistoryType;
use crate::error::FlowError;

/// The largest integer that a JSON number holds exactly together with its neighbours, 2^53 - 1.
pub(super) const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

/// A running delay (statechart format, section 4).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Timer {
    pub(super) transition: usize,
    /// Its deadline, in the host's milliseconds.
    pub(super) at: f64,
    pub(super) token: u64,
}

/// The parts of a snapshot, by position.
#[derive(Debug, Clone)]
pub(super) struct Control {
    /// The active leaves in tree order.
    pub(super) leaves: Vec<StateId>,
    /// What each history state remembers, in tree order.
    pub(super) history: BTreeMap<StateId, Vec<StateId>>,
    /// By deadline, then by transition.
    pub(super) timers: Vec<Timer>,
    pub(super) serial: u64,
    pub(super) time: f64,
    /// Members that the format does not know: they are carried along.
    pub(super) extra: Object,
    /// `$.state`.
    pub(super) leaf_ids: Value,
    /// False after an internal transition of a leaf fired together with one that left the parallel state around it:
    /// by the format both take effect, and the leaf's region is entered again beside the other's target. Every
    /// further call refuses such a state, as `restore` does (JF2010).
    pub(super) is_legal: bool,
}

/// The members of the published form, which all snapshots share.
static FORM: LazyLock<Option<Shape>> =
    LazyLock::new(|| Shape::new(["active", "history", "timers", "serial", "time"]));

/// The whole control state of one chart between steps: immutable, cheap to clone, JSON by [`Snapshot::to_value`].
///
/// It belongs to the compiled chart that made it. Another compile of the same document reads it through
/// [`Statechart::restore`](super::Statechart::restore).
#[derive(Clone)]
pub struct Snapshot {
    pub(super) plan: Arc<Plan>,
    pub(super) control: Arc<Control>,
}

impl Snapshot {
    pub(super) fn new(plan: &Arc<Plan>, control: Control) -> Self {
        Self { plan: Arc::clone(plan), control: Arc::new(control) }
    }

    /// The ids of the active leaves, in tree order.
    pub fn active(&self) -> impl Iterator<Item = &Str> {
        self.control.leaves.iter().map(|leaf| &self.plan.state(*leaf).id)
    }

    /// The ids of the active leaves as the list that guards read as `$.state`.
    pub fn active_value(&self) -> &Value {
        &self.control.leaf_ids
    }

    /// The active leaf, when there is only one.
    pub fn leaf(&self) -> Option<&Str> {
        match self.control.leaves.as_slice() {
            [leaf] => Some(&self.plan.state(*leaf).id),
            _ => None,
        }
    }

    /// The logical time, in the host's milliseconds.
    pub fn time(&self) -> f64 {
        self.control.time
    }

    /// The earliest deadline, in the host's milliseconds.
    pub fn deadline(&self) -> Option<f64> {
        self.control.timers.first().map(|timer| timer.at)
    }

    /// The members of the published form that differ from those of an earlier state of the same chart, with what they are
    /// now; nothing where the two cannot be compared by their parts.
    pub fn changes(&self, before: &Self) -> Option<Vec<(&'static str, Value)>> {
        let (new, old) = (&*self.control, &*before.control);
        if !Arc::ptr_eq(&self.plan, &before.plan) || !new.extra.ptr_eq(&old.extra) {
            return None;
        }
        let mut changes = Vec::new();
        if !Arc::ptr_eq(&self.control, &before.control) {
            let differs = [
                ("active", new.leaves != old.leaves),
                ("history", new.history != old.history),
                ("timers", new.timers != old.timers),
                ("serial", new.serial != old.serial),
                ("time", new.time.to_bits() != old.time.to_bits()),
            ];
            let names = differs.into_iter().filter_map(|(name, differs)| differs.then_some(name));
            changes.extend(names.map(|name| (name, self.member(name))));
        }
        Some(changes)
    }

    /// A known member of the published form.
    fn member(&self, name: &str) -> Value {
        let Control { history, timers, serial, time, leaf_ids, .. } = &*self.control;
        let id = |id: &StateId| self.plan.state(*id).id.clone();
        match name {
            "active" => leaf_ids.clone(),
            "history" if history.is_empty() => Value::Object(Object::default()),
            "timers" if timers.is_empty() => Value::Array(Array::default()),
            "history" => {
                let remembered = |ids: &Vec<StateId>| ids.iter().map(id).map(Value::String).collect();
                let records = history.iter().map(|(at, ids)| (id(at), Value::Array(remembered(ids))));
                Value::Object(records.collect())
            }
            "timers" => {
                let timer = |timer: &Timer| {
                    let members = [
                        ("transition", number(timer.transition as u64)),
                        ("at", Value::Number(timer.at)),
                        ("token", number(timer.token)),
                    ];
                    Value::Object(members.into_iter().collect())
                };
                timers.iter().map(timer).collect()
            }
            "serial" => number(*serial),
            _ => Value::Number(*time),
        }
    }

    /// The published form: `{active, history, timers, serial, time}`.
    pub fn to_value(&self) -> Value {
        let known = FORM.as_ref().map(|form| {
            Object::from_shape_fn(form, |position, place| {
                *place = form.names().get(position).map(|name| self.member(name)).unwrap_or_default();
            })
        });
        let extra = self.control.extra.iter();
        Value::Object(extra.fold(known.unwrap_or_default(), |form, (key, value)| form.with(key, value)))
    }
}

/// Equal when the published forms are.
impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.plan, &other.plan) && Arc::ptr_eq(&self.control, &other.control))
            || self.to_value() == other.to_value()
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Snapshot").field(&self.to_value()).finish()
    }
}

/// A counter as a JSON number; counters stay within the safe integers.
pub(super) fn number(counter: u64) -> Value {
    Value::from_count(counter)
}

fn invalid(reason: &str) -> FlowError {
    FlowError::new("JF2010", format!("invalid statechart snapshot: {reason}"))
}

/// Validates a stored snapshot and puts it in order (statechart format, section 5).
pub(super) fn restore(plan: &Plan, value: &Value) -> Result<Control, FlowError> {
    let object =
        value.as_object().ok_or_else(|| invalid(&format!("expected an object, found {}", value.kind())))?;
    let leaves = configuration(plan, object.get("active"), None)
        .ok_or_else(|| invalid("active is no legal configuration of this chart"))?;
    let history = object
        .get("history")
        .and_then(Value::as_object)
        .ok_or_else(|| invalid("history must be an object"))?;
    let timers =
        object.get("timers").and_then(Value::as_array).ok_or_else(|| invalid("timers must be a list"))?;
    let serial = object
        .get("serial")
        .and_then(Value::as_u64)
        .ok_or_else(|| invalid("serial must be an integer, not negative"))?;
    let time = finite(object.get("time")).ok_or_else(|| invalid("time must be a number"))?;
    let history = remembered(plan, history)?;
    let timers = running(plan, timers, &plan.closure(&leaves), serial)?;
    let known = ["active", "history", "timers", "serial", "time"];
    let extra = object.iter().filter(|(key, _)| !known.contains(key));
    let extra = extra.map(|(key, value)| (Str::from(key), value.clone())).collect();
    let leaf_ids = plan.leaf_ids(&leaves);
    Ok(Control { leaves, history, timers, serial, time, extra, leaf_ids, is_legal: true })
}

fn finite(value: Option<&Value>) -> Option<f64> {
    value?.as_f64().filter(|number| number.is_finite())
}

/// A list of distinct declared states, in tree order.
fn ids(plan: &Plan, value: Option<&Value>) -> Option<Vec<StateId>> {
    let items = value?.as_array()?;
    let mut ids: Vec<StateId> = items.iter().map(|item| plan.find(item.as_str()?)).collect::<Option<_>>()?;
    ids.sort_unstable();
    let distinct = ids.windows(2).all(|pair| pair.first() != pair.last());
    (distinct && !ids.is_empty()).then_some(ids)
}

/// Leaves that make a legal configuration of the whole chart, or of the tree below `root`.
fn configuration(plan: &Plan, value: Option<&Value>, root: Option<StateId>) -> Option<Vec<StateId>> {
    let leaves = ids(plan, value)?;
    let fits = |leaf: &StateId| plan.state(*leaf).kind.is_leaf() && plan.is_below(*leaf, root);
    if !leaves.iter().all(fits) {
        return None;
    }
    let active = plan.closure(&leaves);
    let mut counts: BTreeMap<StateId, usize> = BTreeMap::new();
    let mut roots = 0;
    for id in &active {
        match plan.state(*id).parent {
            Some(parent) => *counts.entry(parent).or_default() += 1,
            None => roots += 1,
        }
    }
    let legal = active.iter().filter(|id| root.is_none_or(|root| plan.is_within(**id, root))).all(|id| {
        let count = counts.get(id).copied().unwrap_or(0);
        match plan.state(*id).kind {
            Kind::Compound { .. } => count == 1,
            Kind::Parallel => count == plan.state(*id).children.len(),
            Kind::Atomic | Kind::Final | Kind::History(_) => true,
        }
    });
    (legal && (root.is_some() || roots == 1)).then_some(leaves)
}

fn remembered(plan: &Plan, history: &Object) -> Result<BTreeMap<StateId, Vec<StateId>>, FlowError> {
    let mut records = BTreeMap::new();
    for (id, record) in history {
        let found = plan.find(id).map(|id| (id, plan.state(id)));
        let Some((id, Kind::History(mode), Some(parent))) =
            found.map(|(id, state)| (id, state.kind, state.parent))
        else {
            return Err(invalid("a history record does not belong to a history state"));
        };
        let ids = match mode {
            HistoryType::Deep => configuration(plan, Some(record), Some(parent)),
            HistoryType::Shallow => ids(plan, Some(record)).filter(|ids| {
                let parent = plan.state(parent);
                let whole = if parent.kind == Kind::Parallel { parent.children.len() } else { 1 };
                ids.len() == whole && ids.iter().all(|id| parent.children.binary_search(id).is_ok())
            }),
        };
        records.insert(id, ids.ok_or_else(|| invalid("a history record is no legal configuration"))?);
    }
    Ok(records)
}

fn running(plan: &Plan, timers: &[Value], active: &[StateId], serial: u64) -> Result<Vec<Timer>, FlowError> {
    let mut seen = BTreeSet::new();
    let mut tokens = BTreeSet::new();
    let mut running = Vec::with_capacity(timers.len());
    for value in timers {
        let timer = timer(plan, value, active, serial)
            .filter(|timer| seen.insert(timer.transition) && tokens.insert(timer.token))
            .ok_or_else(|| invalid("a timer does not belong to a delay of an active state"))?;
        running.push(timer);
    }
    sort(&mut running);
    Ok(running)
}

fn timer(plan: &Plan, value: &Value, active: &[StateId], serial: u64) -> Option<Timer> {
    let transition = usize::try_from(value.get("transition")?.as_u64()?).ok()?;
    let compiled = plan.transitions.get(transition)?;
    let delayed = matches!(compiled.trigger, Trigger::After(_));
    let at = finite(value.get("at"))?;
    let token = value.get("token").and_then(Value::as_u64).filter(|token| *token > 0 && *token <= serial)?;
    (delayed && active.binary_search(&compiled.from).is_ok()).then_some(Timer { transition, at, token })
}

/// By deadline, then by transition.
pub(super) fn sort(timers: &mut [Timer]) {
    timers.sort_by(|a, b| {
        let by_deadline = a.at.partial_cmp(&b.at).unwrap_or(std::cmp::Ordering::Equal);
        by_deadline.then(a.transition.cmp(&b.transition))
    });
}
