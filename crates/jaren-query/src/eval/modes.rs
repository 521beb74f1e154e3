//! The modes in which a node can be asked: truth, number, at most one item, a sequence, an emission.

use jaren_json::Value;

use super::item::{Got, Item, Seq, item_truth};
use super::{Head, Run, Sink, Stop};
use crate::error::{EvalError, TYPE};
use crate::path::{Sight, step_into};
use crate::place::Place;
use crate::plan::{Expr, Kind, Many, Root, Slot, Test};

impl<'a> Run<'a> {
    /// The effective boolean value; several items are reported at `place`, where the operand begins.
    pub(super) fn truth_at(&mut self, expr: &'a Expr, place: Place) -> Result<bool, EvalError> {
        self.step(expr)?;
        match &expr.kind {
            Kind::Test(test) => self.test(test),
            Kind::If(pair, otherwise) => match self.branch(pair, otherwise.as_deref())? {
                Some(branch) => self.truth_at(branch, place),
                None => Ok(false),
            },
            Kind::Let(bindings, result) => {
                self.bind(bindings)?;
                self.truth_at(result, place)
            }
            _ => {
                let got = match self.sight(expr) {
                    Sight::At(value) => return Ok(item_truth(value)),
                    Sight::Nowhere => return Ok(false),
                    Sight::Hidden => self.one_stepped(expr)?,
                };
                self.got_truth(&got, place)
            }
        }
    }

    pub(super) fn test(&mut self, test: &'a Test) -> Result<bool, EvalError> {
        match test {
            Test::Compare(comparison, pair) => self.compare(*comparison, pair),
            Test::And(operands) => {
                for operand in operands {
                    if !self.truth(operand)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Test::Or(operands) => {
                for operand in operands {
                    if self.truth(operand)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Test::Not(operand) => self.truth(operand).map(|truth| !truth),
            Test::Boolean(operand) => self.truth(operand),
            Test::Exists(operand) => self.exists(operand),
            Test::Empty(operand) => self.exists(operand).map(|exists| !exists),
            Test::Valid(test, operand) => self.valid(test, operand),
            Test::Is(kind, operand) => {
                Ok(matches!(self.one(operand)?, Got::One(item) if item.value().kind() == *kind))
            }
            Test::Form(form, operand) => self.has_form(*form, operand),
            Test::Text(test, pair) => self.text_test(*test, pair),
            Test::Matches(matching) => self.matches(matching),
            Test::Spatial(test, pair) => self.spatial_test(*test, pair),
            Test::Quantifier(quantifier) => self.quantifier(quantifier),
        }
    }

    /// The one number that an operand must be, or nothing where it is empty (section 8.5).
    pub(super) fn number(&mut self, expr: &'a Expr) -> Result<Option<f64>, EvalError> {
        self.step(expr)?;
        let got = match (self.sight(expr), &expr.kind) {
            (Sight::Nowhere, _) => return Ok(None),
            (Sight::At(Value::Number(number)), _) => return Ok(Some(*number)),
            (Sight::At(other), _) => Got::One(Item::Ref(other)),
            (Sight::Hidden, Kind::Number(number)) => return self.numeric(number),
            (Sight::Hidden, _) => self.one_stepped(expr)?,
        };
        match &got {
            Got::None => Ok(None),
            Got::One(item) if item.value().as_f64().is_some() => Ok(item.value().as_f64()),
            _ => Err(self.not_a_number(&got, expr.place)),
        }
    }

    #[cold]
    pub(super) fn not_a_number(&self, got: &Got<'a>, place: Place) -> EvalError {
        self.fail(TYPE, place, format!("expected a number, found {}", got.describe()))
    }

    /// At most one item.
    #[inline]
    pub(super) fn one(&mut self, expr: &'a Expr) -> Result<Got<'a>, EvalError> {
        self.step(expr)?;
        self.one_stepped(expr)
    }

    /// The same after the node's step was counted.
    pub(super) fn one_stepped(&mut self, expr: &'a Expr) -> Result<Got<'a>, EvalError> {
        Ok(match &expr.kind {
            Kind::Literal(value) => Got::One(Item::Ref(value)),
            Kind::Input => Got::One(self.input()),
            Kind::Variable(slot) => match self.slot(*slot) {
                Seq::Empty => Got::None,
                Seq::One(item) => Got::One(item.clone()),
                Seq::Many(_) => Got::Several,
            },
            Kind::External(index) => Got::One(Item::Ref(self.external(*index, expr.place)?)),
            Kind::Path(root) => self.path_one(root, expr.place)?,
            Kind::Object(members) => Got::One(Item::Own(self.object(members, expr.place)?.into())),
            Kind::Array(elements) => Got::One(Item::Own(self.array(elements, expr.place)?)),
            Kind::Let(bindings, result) => {
                self.bind(bindings)?;
                self.one(result)?
            }
            Kind::If(pair, otherwise) => match self.branch(pair, otherwise.as_deref())? {
                Some(branch) => self.one(branch)?,
                None => Got::None,
            },
            Kind::Coalesce(operands) => {
                for operand in operands {
                    match self.one(operand)? {
                        Got::None => {}
                        got => return Ok(got),
                    }
                }
                Got::None
            }
            Kind::Test(test) => Got::One(Item::Own(Value::Bool(self.test(test)?))),
            Kind::Number(number) => self.numeric(number)?.map(Item::number).into(),
            Kind::Many(_) => self.one_of_many(expr)?,
            _ => self.one_of_operator(expr)?,
        })
    }

    #[inline(never)]
    fn one_of_many(&mut self, expr: &'a Expr) -> Result<Got<'a>, EvalError> {
        let mut got = Got::None;
        finished(self.emit_stepped(expr, &mut |_, item| {
            got = if matches!(got, Got::None) { Got::One(item) } else { Got::Several };
            Ok(())
        }))?;
        Ok(got)
    }

    /// The same for operators that nest less. In a function of its own, because the stack pays for every arm of a function
    /// at each level.
    #[inline(never)]
    fn one_of_operator(&mut self, expr: &'a Expr) -> Result<Got<'a>, EvalError> {
        Ok(match &expr.kind {
            Kind::Map(pairs) => Got::One(Item::Own(self.map(pairs, expr.place)?)),
            Kind::Text(text) => Got::One(Item::Own(self.text(text)?)),
            Kind::Aggregate(aggregate, operand) => self.aggregate(*aggregate, operand)?.into(),
            Kind::Head(operand) => self.head(operand)?.into(),
            Kind::Get(pair) => self.get(pair)?.into(),
            Kind::FromEntries(operand) => Got::One(Item::Own(self.object_of_entries(operand)?)),
            Kind::ToString(operand) => self.cast_to_text(operand)?.map(Item::Own).into(),
            Kind::Call(call) => self.call(expr, call)?.map(Item::Own).into(),
            Kind::Lexical(search) => Got::One(Item::Own(self.lexical(search)?)),
            Kind::Spatial(operator) => self.spatial(operator)?.map(Item::Own).into(),
            Kind::Overlaps(pair) => self.overlaps(pair)?.into(),
            Kind::DateText(operator) => self.date_text(operator)?.map(Item::Own).into(),
            // All others are answered before.
            _ => Got::None,
        })
    }

    fn path_one(&mut self, root: &'a Root, place: Place) -> Result<Got<'a>, EvalError> {
        if root.path.leaps.is_empty() {
            return Ok(match self.head_of(root, place)? {
                Head::Nowhere => Got::None,
                Head::At(value) => Got::One(Item::Ref(value)),
                Head::Items(items) => {
                    self.spend(items.len(), place)?;
                    path_from_items(root, &items)
                }
            });
        }
        let mut got = Got::None;
        let ended = self.emit_path(root, place, |_, item| {
            if matches!(got, Got::None) {
                got = Got::One(item);
                return Ok(());
            }
            got = Got::Several;
            Err(Stop::Enough) // a path cannot fail any more
        });
        finished(ended)?;
        Ok(got)
    }

    /// The whole sequence.
    #[inline]
    pub(super) fn seq(&mut self, expr: &'a Expr) -> Result<Seq<'a>, EvalError> {
        self.step(expr)?;
        match (self.sight(expr), &expr.kind) {
            (Sight::At(value), _) => Ok(Seq::One(Item::Ref(value))),
            (Sight::Nowhere, _) => Ok(Seq::Empty),
            (Sight::Hidden, Kind::Variable(slot)) => Ok(self.slot(*slot).clone()),
            (Sight::Hidden, _) => self.collect(expr),
        }
    }

    /// The items of a node whose step was counted, the first of them without a list.
    fn collect(&mut self, expr: &'a Expr) -> Result<Seq<'a>, EvalError> {
        let mut first = None;
        let mut items = Vec::new();
        let ended = self.emit_stepped(expr, &mut |run, item| {
            if items.is_empty() {
                match first.take() {
                    None => {
                        first = Some(item);
                        return Ok(());
                    }
                    Some(first) => items.push(first),
                }
            }
            items.push(item);
            Ok(run.spend_kept(items.len(), expr.place)?)
        });
        finished(ended)?;
        Ok(first.map_or_else(|| Seq::from(items), Seq::One))
    }

    /// Hands every item to a sink.
    #[inline]
    pub(super) fn emit(&mut self, expr: &'a Expr, sink: Sink<'_, 'a>) -> Result<(), Stop> {
        self.step(expr)?;
        self.emit_stepped(expr, sink)
    }

    fn emit_stepped(&mut self, expr: &'a Expr, sink: Sink<'_, 'a>) -> Result<(), Stop> {
        match &expr.kind {
            Kind::Variable(slot) => match self.slot(*slot).clone() {
                Seq::Empty => Ok(()),
                Seq::One(item) => sink(self, item),
                Seq::Many(items) => {
                    self.spend(items.len(), expr.place)?;
                    items.iter().try_for_each(|item| sink(self, item.clone()))
                }
            },
            Kind::Path(root) => self.emit_path(root, expr.place, sink),
            Kind::Let(bindings, result) => {
                self.bind(bindings)?;
                self.emit(result, sink)
            }
            Kind::If(pair, otherwise) => match self.branch(pair, otherwise.as_deref())? {
                Some(branch) => self.emit(branch, sink),
                None => Ok(()),
            },
            Kind::Coalesce(operands) => {
                let mut any = false;
                for operand in operands {
                    self.emit(operand, &mut |run, item| {
                        any = true;
                        sink(run, item)
                    })?;
                    if any {
                        break;
                    }
                }
                Ok(())
            }
            // Not by way of the other operators: phrases nest, and each level of the stack counts.
            Kind::Many(Many::Flwor(phrase)) => self.flwor(expr, phrase, sink),
            Kind::Many(many) => self.emit_many(expr, many, sink),
            Kind::Object(members) => {
                let object = self.object(members, expr.place)?;
                sink(self, Item::Own(Value::Object(object)))
            }
            _ => match self.one_stepped(expr)? {
                Got::One(item) => sink(self, item),
                // Every node that can answer several items has its own arm above.
                Got::None | Got::Several => Ok(()),
            },
        }
    }

    #[inline]
    pub(super) fn bind(&mut self, bindings: &'a [(Slot, Expr)]) -> Result<(), EvalError> {
        for (slot, expr) in bindings {
            // A number is written where it stays: on its way through a sequence it would be waited for.
            let value = if let Kind::Number(number) = &expr.kind {
                self.step(expr)?;
                self.numeric(number)?.map_or(Seq::Empty, |number| Seq::One(Item::number(number)))
            } else {
                self.seq(expr)?
            };
            self.set(*slot, value);
        }
        Ok(())
    }

    /// The branch of an `$if` to take.
    fn branch(
        &mut self,
        pair: &'a [Expr; 2],
        otherwise: Option<&'a Expr>,
    ) -> Result<Option<&'a Expr>, EvalError> {
        let [condition, then] = pair;
        Ok(if self.truth(condition)? { Some(then) } else { otherwise })
    }
}

/// The end of an emission whose sink raises nothing but `Enough`.
pub(super) fn finished(ended: Result<(), Stop>) -> Result<(), EvalError> {
    match ended {
        Ok(()) | Err(Stop::Enough) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// What single steps find in the items of a variable.
fn path_from_items<'a>(root: &'a Root, items: &Seq<'a>) -> Got<'a> {
    let mut found = items.as_slice().iter().filter_map(|item| match item {
        Item::Ref(value) => step_into(value, &root.path.head).map(Item::Ref),
        Item::Own(value) => step_into(value, &root.path.head).map(|found| Item::Own(found.clone())),
    });
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Got::Several,
        (first, _) => first.into(),
    }
}
