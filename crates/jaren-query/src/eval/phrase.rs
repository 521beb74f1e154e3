//! FLWOR phrases (section 6) and quantifiers (section 7): the stream of tuples.
//!
//! A tuple is the current contents of the slots; no tuple is ever built. `$for` drives everything after it.

use jaren_json::Value;

use super::construct::List;
use super::group::Groups;
use super::item::{Got, Item, Lent, Seq, count};
use super::join::Joined;
use super::modes::finished;
use super::order::Rows;
use super::{Head, KEPT, Next, Run, Sink, Stop};
use crate::error::{EvalError, LIMIT, TYPE};
use crate::plan::{Binding, Expr, Flwor, Kind, Many, Quantifier, Slot, Window};

impl<'a> Run<'a> {
    /// Emits the results of a phrase, or the accumulator that its `$fold` ends with.
    pub(super) fn flwor(
        &mut self,
        expr: &'a Expr,
        phrase: &'a Flwor,
        sink: Sink<'_, 'a>,
    ) -> Result<(), Stop> {
        if let Some((slot, initial)) = &phrase.fold {
            let value = self.seq(initial)?;
            self.check_length(expr, value.len())?;
            self.set(*slot, value);
            self.drive(phrase, &mut |run| {
                let value = run.seq(&phrase.result)?;
                run.check_length(expr, value.len())?;
                run.set(*slot, value);
                Ok(())
            })?;
            return self.slot(*slot).clone().into_vec().into_iter().try_for_each(|item| sink(self, item));
        }
        let mut produced = 0;
        self.drive(phrase, &mut |run| {
            run.emit(&phrase.result, &mut |run, item| {
                produced += 1;
                sink(run, item)
            })?;
            Ok(run.check_length(expr, produced)?)
        })
    }

    /// The same for a phrase whose results are the last of the parts.
    pub(super) fn push_flwor(&mut self, expr: &'a Expr, phrase: &'a Flwor, list: List) -> Result<(), Stop> {
        let before = self.parts.len();
        self.drive(phrase, &mut |run| {
            run.push(&phrase.result, list)?;
            Ok(run.check_length(expr, run.parts.len() - before)?)
        })
    }

    /// `limits.sequence_items` bounds what a phrase hands on, checked after each tuple.
    fn check_length(&self, expr: &Expr, items: usize) -> Result<(), EvalError> {
        match self.plan.limits.sequence_items {
            Some(max) if items > max.get() => {
                Err(self.fail(LIMIT, expr.place, format!("expected at most {max} items in a phrase")))
            }
            _ => Ok(()),
        }
    }

    /// Calls `next` with each tuple that reaches `$return`.
    fn drive(&mut self, phrase: &'a Flwor, next: Next<'_, 'a>) -> Result<(), Stop> {
        let Some(slot) = phrase.count else { return self.through_barriers(phrase, next) };
        let mut position = 0;
        self.through_barriers(phrase, &mut |run| {
            run.set(slot, Seq::One(Item::number(count(position))));
            position += 1;
            next(run)
        })
    }

    /// The same without the numbers of `$count`, through `$groupby` and `$orderby`.
    fn through_barriers(&mut self, phrase: &'a Flwor, next: Next<'_, 'a>) -> Result<(), Stop> {
        let (bindings, joined) = (&phrase.bindings, &mut None);
        let Some(group) = &phrase.group else {
            let Some(order) = &phrase.order else { return self.tuples(phrase, bindings, joined, next) };
            let mut rows = Rows::default();
            self.tuples(phrase, bindings, joined, &mut |run| Ok(run.add_row(order, &mut rows)?))?;
            return self.ordered(order, rows, next);
        };
        let mut groups = Groups::new(group);
        self.tuples(phrase, bindings, joined, &mut |run| Ok(run.gather(group, &mut groups)?))?;
        let Some(order) = &phrase.order else { return self.each_group(group, groups, next) };
        let mut rows = Rows::default();
        self.each_group(group, groups, &mut |run| Ok(run.add_row(order, &mut rows)?))?;
        self.ordered(order, rows, next)
    }

    /// The tuples of the bindings, then `$let` and `$where`. Recursion is bounded: bindings count as nesting.
    fn tuples(
        &mut self,
        phrase: &'a Flwor,
        bindings: &'a [Binding],
        joined: &mut Option<Joined<'a>>,
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        let Some((binding, rest)) = bindings.split_first() else { return self.survive(phrase, next) };
        let last = rest.is_empty();
        // A limit of steps counts those of a scan.
        if let (Some(join), [], None) = (phrase.join, rest, self.plan.limits.steps) {
            return self.matching(phrase, (join, binding), joined, next);
        }
        if let Some(window) = binding.window {
            return self.windows(binding, window, &mut |run| run.tuples(phrase, rest, joined, next));
        }
        let mut position = 0;
        self.each(&binding.source, !binding.allowing_empty, |run, item| {
            run.set_lent(binding.slot, item);
            if let Some(at) = binding.at {
                run.set(at, Seq::One(Item::number(count(position))));
            }
            position += 1;
            if last { run.survive(phrase, next) } else { run.tuples(phrase, rest, joined, next) }
        })?;
        if position == 0 && binding.allowing_empty {
            self.bind_nothing(binding);
            self.tuples(phrase, rest, joined, next)?;
        }
        Ok(())
    }

    /// The one tuple of an outer join's missing side (section 6.10).
    fn bind_nothing(&mut self, binding: &Binding) {
        self.set(binding.slot, Seq::Empty);
        if let Some(at) = binding.at {
            self.set(at, Seq::One(Item::number(-1.0)));
        }
    }

    #[inline]
    pub(super) fn survive(&mut self, phrase: &'a Flwor, next: Next<'_, 'a>) -> Result<(), Stop> {
        self.bind(&phrase.lets)?;
        self.assertions(&phrase.assertions)?;
        match &phrase.filter {
            Some(filter) if !self.truth(filter)? => Ok(()),
            _ => next(self),
        }
    }

    /// Each item of a source, arrays unpacked (D4). A range that may be `counted` is never built, and then takes no step of
    /// its own.
    pub(super) fn each(
        &mut self,
        source: &'a Expr,
        counted: bool,
        mut visit: impl FnMut(&mut Self, Lent<'_, 'a>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        match &source.kind {
            Kind::Many(Many::Range(pair, _)) if counted => {
                let Some((mut at, end)) = self.range_bounds(pair)? else { return Ok(()) };
                while at <= end {
                    visit(self, Lent::Made(&Value::Number(at)))?;
                    at += 1.0; // exact: both ends are safe integers
                }
                Ok(())
            }
            // These cannot fail once they began, so the tuples may come in between.
            Kind::Path(root) => {
                self.step(source)?;
                match self.head_of(root, source.place)? {
                    Head::Nowhere => Ok(()),
                    Head::At(node) => self.walk(node, &root.path, source.place, |run, found| {
                        Lent::Scope(found).unpack(|item| visit(run, item))
                    }),
                    Head::Items(items) => {
                        self.emit_path_from(&items, root, source.place, &mut |run, item| {
                            item.lend().unpack(|item| visit(run, item))
                        })
                    }
                }
            }
            Kind::Variable(_) => {
                self.emit(source, &mut |run, item| item.lend().unpack(|item| visit(run, item)))
            }
            _ => {
                let items = self.seq(source)?;
                items.as_slice().iter().try_for_each(|item| item.lend().unpack(|item| visit(self, item)))
            }
        }
    }

    /// Runs of consecutive items (section 6.10).
    fn windows(&mut self, binding: &'a Binding, window: Window, next: Next<'_, 'a>) -> Result<(), Stop> {
        let mut items: Vec<Item<'a>> = Vec::new();
        let source = self.seq(&binding.source)?;
        for item in source.as_slice() {
            item.lend().unpack::<Stop>(|item| {
                items.push(item.into_item());
                Ok(self.spend_kept(items.len(), binding.source.place)?)
            })?;
        }
        let (mut start, mut number) = (0_usize, 0);
        while start < items.len() {
            let end = start.saturating_add(window.size);
            if window.sliding && end > items.len() {
                break;
            }
            let run = items.get(start..end.min(items.len())).unwrap_or_default();
            self.spend(KEPT * run.len(), binding.source.place)?;
            self.set(binding.slot, Seq::from(run.to_vec()));
            if let Some(at) = binding.at {
                self.set(at, Seq::One(Item::number(count(number))));
            }
            number += 1;
            next(self)?;
            start = start.saturating_add(window.step);
        }
        if number == 0 && binding.allowing_empty {
            self.bind_nothing(binding);
            next(self)?;
        }
        Ok(())
    }

    /// Whether some, or every, tuple satisfies; the deciding one is the last evaluated.
    pub(super) fn quantifier(&mut self, quantifier: &'a Quantifier) -> Result<bool, EvalError> {
        let mut found = false;
        finished(self.witness(quantifier, &quantifier.bindings, &mut found))?;
        Ok(found == quantifier.some)
    }

    /// Looks for a tuple that decides: satisfying for `$some`, failing for `$every`.
    fn witness(
        &mut self,
        quantifier: &'a Quantifier,
        bindings: &'a [(Slot, Expr)],
        found: &mut bool,
    ) -> Result<(), Stop> {
        let Some(((slot, source), rest)) = bindings.split_first() else {
            if self.truth(&quantifier.satisfies)? == quantifier.some {
                *found = true;
                return Err(Stop::Enough);
            }
            return Ok(());
        };
        self.each(source, true, |run, item| {
            run.set_lent(*slot, item);
            run.witness(quantifier, rest, found)
        })
    }

    /// The bounds of a range, or nothing where it is empty (section 8.9).
    pub(super) fn range_bounds(&mut self, pair: &'a [Expr; 2]) -> Result<Option<(f64, f64)>, EvalError> {
        let [start, end] = pair;
        let (from, to) = (self.one(start)?, self.one(end)?);
        if matches!(from, Got::None) || matches!(to, Got::None) {
            return Ok(None);
        }
        let bound = |got: &Got<'a>, expr: &Expr| match got {
            // A range begins at 0 where -0 is asked for.
            Got::One(item) => {
                item.value().as_i64().and_then(|_| item.value().as_f64()).map(|n| n + 0.0).ok_or(expr.place)
            }
            _ => Err(expr.place),
        };
        let bounds = bound(&from, start).and_then(|from| Ok((from, bound(&to, end)?)));
        bounds.map(Some).map_err(|place| {
            self.fail(TYPE, place, "expected an integer of at most 2^53 - 1 as the bound of a range")
        })
    }
}
