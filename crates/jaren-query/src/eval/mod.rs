//! Evaluation: one walk of the plan in the mode that each place needs.
//!
//! A node can be asked for its truth, for a number, for at most one item, for a sequence, or to emit its items into a sink.
//! Each mode counts the node's step once (section 8.12) and then does only what the asker needs: a guard never builds a
//! sequence, and an aggregate over a phrase never collects it.
//!
//! Streaming must not be seen: where the items of one expression are handed on before it is finished, nothing that the
//! receiver does may fail in between. So `$for` streams only from sources that cannot fail once they began (paths,
//! variables, ranges), and an aggregate keeps the first type error until its operand has been evaluated.

mod aggregate;
mod compare;
mod construct;
mod dates;
mod extension;
mod group;
mod host;
mod item;
mod join;
mod modes;
mod order;
mod phrase;
mod schema_test;
mod sequence;
mod series;
mod sight;
mod spatial;
mod table;
mod text;

use std::num::NonZeroU64;
use std::ops::ControlFlow;

use jaren_json::Value;

pub(crate) use self::compare::{compare_items, compare_numbers};
use self::item::{Got, Item, Lent, Seq};
pub(crate) use self::item::{count, item_truth};
use self::modes::finished;
use crate::budget::{Budget, Spent};
use crate::error::{EvalError, LIMIT, SEVERAL, UNBOUND};
use crate::extension::Host;
use crate::path::{Around, Halt, Path, Step, step_into, walk};
use crate::place::{Place, Places};
use crate::plan::{Expr, From as PathFrom, Kind, Plan, Root, Slot};
use crate::query::{Limits, Scope};

/// What it costs to keep an item, in units of work: a unit is a node that is looked at, or four bytes that are kept.
const KEPT: usize = 8;
/// Lists are paid for each time that they have grown by so many items.
const KEPT_EACH: usize = 256;

/// Why an emission ended early.
pub(crate) enum Stop {
    /// The receiver has seen enough. Only ever raised by the sink of the innermost running emission.
    Enough,
    Failed(EvalError),
}

impl From<EvalError> for Stop {
    fn from(error: EvalError) -> Self {
        Self::Failed(error)
    }
}

/// Where items go.
pub(crate) type Sink<'s, 'a> = &'s mut dyn FnMut(&mut Run<'a>, Item<'a>) -> Result<(), Stop>;
/// What to do with a tuple: the current contents of the slots.
pub(crate) type Next<'s, 'a> = &'s mut dyn FnMut(&mut Run<'a>) -> Result<(), Stop>;

/// One evaluation of a plan over a scope.
pub(crate) struct Run<'a> {
    plan: &'a Plan,
    scope: &'a Scope<'a>,
    slots: Vec<Seq<'a>>,
    /// The parts of the arrays and objects that are being built, the innermost last.
    parts: Vec<Value>,
    /// The input as a value of its own, once a filter has asked for it and it is in parts.
    built: Option<Value>,
    /// Steps that may still be taken.
    steps_left: u64,
    /// Work that may still be done inside the steps.
    work: Budget,
    /// What evaluates the operator of an extension, where the plan has one.
    host: Option<&'a mut dyn Host>,
}

impl<'a> Run<'a> {
    #[inline]
    pub(crate) fn new(plan: &'a Plan, scope: &'a Scope<'a>) -> Self {
        Self {
            plan,
            scope,
            slots: if plan.slots == 0 { Vec::new() } else { vec![Seq::Empty; plan.slots] },
            parts: Vec::new(),
            built: None,
            steps_left: plan.limits.steps.map_or(Limits::STEPS, NonZeroU64::get),
            work: Budget::new(plan.limits.work.map_or(Limits::WORK, NonZeroU64::get)),
            host: None,
        }
    }

    pub(crate) fn with_host(plan: &'a Plan, scope: &'a Scope<'a>, host: &'a mut dyn Host) -> Self {
        Self { host: Some(host), ..Self::new(plan, scope) }
    }

    /// Adds the items of the result to others.
    pub(crate) fn append(&mut self, items: &mut Vec<Value>) -> Result<(), EvalError> {
        let from = items.len();
        let place = self.plan.root.place;
        finished(self.emit(&self.plan.root, &mut |run, item| {
            items.push(item.into_value());
            Ok(run.spend_kept(items.len(), place)?)
        }))?;
        self.check_result(items.len().saturating_sub(from))
    }

    /// Hands on each item of the result.
    pub(crate) fn each_item(
        &mut self,
        visit: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Result<(), EvalError> {
        finished(self.emit(&self.plan.root, &mut |_, item| match visit(item.into_value()) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stop::Enough),
        }))
    }

    pub(crate) fn items(&mut self) -> Result<Vec<Value>, EvalError> {
        let items = self.seq(&self.plan.root)?.into_vec();
        self.check_result(items.len())?;
        Ok(items.into_iter().map(Item::into_value).collect())
    }

    pub(crate) fn first(&mut self) -> Result<Option<Value>, EvalError> {
        Ok(self.head(&self.plan.root)?.map(Item::into_value))
    }

    pub(crate) fn value(&mut self) -> Result<Option<Value>, EvalError> {
        Ok(match self.seq(&self.plan.root)? {
            Seq::Empty => None,
            // An input may be composed of earlier answers, twice the same: so this holds for what is only handed on, too.
            Seq::One(item) => Some(self.sized(item.into_value(), Places::ROOT)?),
            items @ Seq::Many(_) => {
                self.check_result(items.len())?;
                let all = items.into_vec().into_iter().map(Item::into_value).collect();
                Some(self.sized(all, Places::ROOT)?)
            }
        })
    }

    pub(crate) fn root_truth(&mut self) -> Result<bool, EvalError> {
        let root = &self.plan.root;
        // Several items of the root itself are nobody's operand: reported at the document (section 10.3).
        self.truth_at(root, Places::ROOT)
    }

    pub(crate) fn root_exists(&mut self) -> Result<bool, EvalError> {
        // The whole query is evaluated, and unlike under `$exists` a bare path counts as an evaluation of its own.
        Ok(self.head(&self.plan.root)?.is_some())
    }

    fn check_result(&self, items: usize) -> Result<(), EvalError> {
        match self.plan.limits.result_items {
            Some(max) if items > max.get() => Err(self.fail(
                LIMIT,
                Places::ROOT,
                format!("expected at most {max} items in the result, found {items}"),
            )),
            _ => Ok(()),
        }
    }

    /// Pays for work inside a step.
    #[inline]
    fn spend(&self, units: usize, place: Place) -> Result<(), EvalError> {
        self.work.spend(units).map_err(|Spent| self.spent(place))
    }

    /// Pays for what is kept each time that a list has grown by so much.
    #[inline]
    fn spend_kept(&self, len: usize, place: Place) -> Result<(), EvalError> {
        if len.is_multiple_of(KEPT_EACH) { self.spend(KEPT * KEPT_EACH, place) } else { Ok(()) }
    }

    /// A value that was made of others, if its size is allowed: parts that are shared cost nothing to put together.
    #[inline]
    fn sized(&self, made: Value, place: Place) -> Result<Value, EvalError> {
        if made.size() <= Limits::SIZE { Ok(made) } else { Err(self.oversized(place)) }
    }

    #[cold]
    fn oversized(&self, place: Place) -> EvalError {
        let message = format!(
            "expected a value of at most {} values and texts of 16 bytes, each counted wherever it stands, found more",
            Limits::SIZE
        );
        self.fail(LIMIT, place, message)
    }

    #[cold]
    fn spent(&self, place: Place) -> EvalError {
        self.fail(LIMIT, place, "this takes more work than the limit of the evaluation allows")
    }

    #[cold]
    fn fail(&self, code: &'static str, place: Place, message: impl Into<String>) -> EvalError {
        EvalError::new(code, self.plan.places.pointer(place), message.into())
    }

    /// Counts the evaluation of a node.
    #[inline]
    fn step(&mut self, expr: &Expr) -> Result<(), EvalError> {
        match self.steps_left.checked_sub(1) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => {
                Err(self.fail(LIMIT, expr.place, "the evaluation takes more steps than its limit allows"))
            }
        }
    }

    /// The effective boolean value (section 2.2).
    #[inline]
    fn truth(&mut self, expr: &'a Expr) -> Result<bool, EvalError> {
        self.truth_at(expr, expr.place)
    }

    fn several(&self, place: Place) -> EvalError {
        self.fail(SEVERAL, place, "expected at most one item for a truth value, found several")
    }

    fn got_truth(&self, got: &Got<'a>, place: Place) -> Result<bool, EvalError> {
        match got {
            Got::None => Ok(false),
            Got::One(item) => Ok(item_truth(item.value())),
            Got::Several => Err(self.several(place)),
        }
    }

    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "slots are numbered by the compiler of this plan, and `new` makes them all"
    )]
    fn slot(&self, slot: Slot) -> &Seq<'a> {
        &self.slots[slot]
    }

    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "slots are numbered by the compiler of this plan, and `new` makes them all"
    )]
    fn set(&mut self, slot: Slot, value: Seq<'a>) {
        self.slots[slot] = value;
    }

    #[inline]
    fn set_lent(&mut self, slot: Slot, item: Lent<'_, 'a>) {
        match item {
            Lent::Scope(value) => self.set(slot, Seq::One(Item::Ref(value))),
            Lent::Made(value) => self.set_made(slot, value),
        }
    }

    #[inline(never)]
    fn set_made(&mut self, slot: Slot, value: &Value) {
        self.set(slot, Seq::One(Item::Own(value.clone())));
    }

    fn external(&self, index: usize, place: Place) -> Result<&'a Value, EvalError> {
        let name = self.plan.externals.get(index).map_or("", |name| name);
        self.scope
            .external(name)
            .ok_or_else(|| self.fail(UNBOUND, place, format!("the external parameter '{name}' is not bound")))
    }

    /// The input document as an item.
    fn input(&self) -> Item<'a> {
        match self.scope.whole() {
            Some(value) => Item::Ref(value),
            None => Item::Own(self.scope.build()),
        }
    }

    /// Where the single steps at the head of a path lead, as long as that is borrowed.
    #[inline]
    fn head_of(&self, root: &'a Root, place: Place) -> Result<Head<'a>, EvalError> {
        let steps = &root.path.head[..];
        let found = match root.from {
            PathFrom::Input => match (self.scope.whole(), steps) {
                (Some(value), _) => step_into(value, steps),
                (None, [Step::Name(name), rest @ ..]) => {
                    self.scope.part(name).and_then(|value| step_into(value, rest))
                }
                (None, [Step::Index(_), ..]) => None,
                (None, []) => return Ok(Head::Items(Seq::One(self.input()))),
            },
            PathFrom::Variable(slot) => match self.slot(slot) {
                Seq::One(Item::Ref(value)) => step_into(value, steps),
                items => return Ok(Head::Items(items.clone())),
            },
            PathFrom::External(index) => step_into(self.external(index, place)?, steps),
        };
        Ok(found.map_or(Head::Nowhere, Head::At))
    }

    /// Emits what a path selects; the step is already counted.
    #[inline]
    fn emit_path(
        &mut self,
        root: &'a Root,
        place: Place,
        mut sink: impl FnMut(&mut Self, Item<'a>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        match self.head_of(root, place)? {
            Head::Nowhere => Ok(()),
            Head::At(node) => self.walk(node, &root.path, place, |run, found| sink(run, Item::Ref(found))),
            Head::Items(items) => self.emit_path_from(&items, root, place, &mut sink),
        }
    }

    /// Calls `visit` with what the leaps of a path select from a node.
    #[inline]
    fn walk<'v>(
        &mut self,
        node: &'v Value,
        path: &'a Path,
        place: Place,
        mut visit: impl FnMut(&mut Self, &'v Value) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if path.leaps.is_empty() {
            return visit(self, node);
        }
        let document = if path.reads_document { self.document() } else { None };
        // Whoever receives the nodes spends of the rest at the same time, and the walk pays when it has ended. Walks nest no
        // deeper than expressions do.
        let before = self.work.left();
        let budget = Budget::new(before);
        let around = Around {
            root: document.as_ref().or_else(|| self.scope.whole()).unwrap_or(&Value::Null),
            budget: &budget,
        };
        let walked =
            walk(&mut (), around, (node, ()), &path.leaps, &mut |(), (found, ())| visit(self, found));
        let paid = self.work.spend_u64(before - budget.left());
        match (walked, paid) {
            (Err(Halt::By(stop)), _) => Err(stop),
            (Ok(()), Ok(())) => Ok(()),
            (Err(Halt::Spent), _) | (_, Err(Spent)) => Err(self.spent(place).into()),
        }
    }

    /// The input as a value of its own, where it is in parts.
    fn document(&mut self) -> Option<Value> {
        if self.scope.whole().is_some() {
            return None;
        }
        Some(self.built.get_or_insert_with(|| self.scope.build()).clone())
    }

    /// Emits what a path selects from each item of a variable. What it finds in a value made by the query is cloned, which is
    /// cheap.
    #[inline(never)]
    fn emit_path_from(
        &mut self,
        items: &Seq<'a>,
        Root { path, .. }: &'a Root,
        place: Place,
        sink: Sink<'_, 'a>,
    ) -> Result<(), Stop> {
        self.spend(items.len(), place)?;
        items.as_slice().iter().try_for_each(|item| match item {
            Item::Ref(value) => step_into(value, &path.head).map_or(Ok(()), |node| {
                self.walk(node, path, place, |run, found| sink(run, Item::Ref(found)))
            }),
            Item::Own(value) => step_into(value, &path.head).map_or(Ok(()), |node| {
                self.walk(node, path, place, |run, found| sink(run, Item::Own(found.clone())))
            }),
        })
    }

    /// Whether an expression has an item. A bare path or variable counts no step of its own (section 8.12).
    fn exists(&mut self, expr: &'a Expr) -> Result<bool, EvalError> {
        match &expr.kind {
            Kind::Variable(slot) => Ok(!matches!(self.slot(*slot), Seq::Empty)),
            Kind::External(index) => self.external(*index, expr.place).map(|_| true),
            Kind::Path(root) => self.path_exists(root, expr.place),
            Kind::Input => Ok(true),
            _ => {
                let mut any = false;
                finished(self.emit(expr, &mut |_, _| {
                    any = true;
                    Ok(())
                }))?;
                Ok(any)
            }
        }
    }

    fn path_exists(&mut self, root: &'a Root, place: Place) -> Result<bool, EvalError> {
        if root.path.leaps.is_empty()
            && let Head::At(_) = self.head_of(root, place)?
        {
            return Ok(true);
        }
        let mut any = false;
        finished(self.emit_path(root, place, |_, _| {
            any = true;
            Err(Stop::Enough)
        }))?;
        Ok(any)
    }
}

/// Where the head of a path leads.
enum Head<'a> {
    Nowhere,
    At(&'a Value),
    /// Not taken yet: the path begins at these items.
    Items(Seq<'a>),
}
