//! Phrases: `let`, `flwor` and `quant` (Appendix C.3 and C.4).

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Object, Value, value};

use super::{Analyzer, Node, Variable, number};
use crate::card::Card;
use crate::compile::{ORDER_KEY, is_extended, window_step};
use crate::place::Place;

/// What a FLWOR phrase has bound for each tuple, in order.
type Tuple<'d> = Vec<Variable<'d>>;

impl<'d> Analyzer<'d> {
    pub(super) fn phrase(&mut self, object: &'d Object, place: Place) -> Node {
        let has = |name| object.get(name).is_some();
        let mark = self.scope.enter();
        let node = if has("$satisfies") {
            self.quantifier(object, place)
        } else if has("$return") && object.len() == 2 && has("$let") {
            let bindings = self.lets(object, place, &mut Vec::new());
            let result = self.clause(object, "$return", place);
            self.node("let", result.card, place, &value!({"bindings": (bindings), "ret": (result.value)}))
        } else if has("$return") {
            self.flwor(object, place)
        } else {
            match object.iter().next() {
                Some((name, argument)) => self.operator(name, argument, place),
                None => self.missing(place),
            }
        };
        self.scope.leave(mark);
        node
    }

    fn clause(&mut self, object: &'d Object, name: &str, place: Place) -> Node {
        match object.get(name) {
            Some(expr) => self.member(expr, place, name),
            None => self.missing(place),
        }
    }

    fn members(object: &'d Object, name: &str) -> impl Iterator<Item = (&'d str, &'d Value)> {
        object.get(name).and_then(Value::as_object).into_iter().flatten()
    }

    fn lets(&mut self, object: &'d Object, place: Place, tuple: &mut Tuple<'d>) -> Value {
        let clause = self.places.member(place, "$let");
        let mut bindings = Vec::new();
        for (name, source) in Self::members(object, "$let") {
            let expr = self.member(source, clause, name);
            let slot = self.slot();
            self.bind(name, slot, expr.card);
            tuple.push(Variable { name, slot, card: expr.card });
            bindings.push(value!({"name": (name), "slot": (number(slot)), "expr": (expr.value)}));
        }
        bindings.into_iter().collect()
    }

    fn fors(&mut self, object: &'d Object, place: Place, tuple: &mut Tuple<'d>) -> Value {
        let clause = self.places.member(place, "$for");
        let mut bindings = Vec::new();
        for (name, source) in Self::members(object, "$for") {
            let place = self.places.member(clause, name);
            let extended = source.as_object().filter(|source| is_extended(source));
            let expr = match extended {
                Some(extended) => self.clause(extended, "$in", place),
                None => self.expr(source, place),
            };
            let option = |name| extended.and_then(|extended| extended.get(name));
            let allowing_empty = option("$allowing-empty").and_then(Value::as_bool).unwrap_or(false);
            let window = extended.and_then(window);
            let card = match (&window, allowing_empty) {
                (Some(_), _) => Card::Many,
                (None, true) => Card::Opt,
                (None, false) => Card::One,
            };
            let slot = self.slot();
            self.bind(name, slot, card);
            tuple.push(Variable { name, slot, card });
            let at = option("$at").and_then(Value::as_str).map(|name| {
                let slot = self.slot();
                self.bind(name, slot, Card::One);
                tuple.push(Variable { name, slot, card: Card::One });
                slot
            });
            bindings.push(value!({
                "name": (name),
                "slot": (number(slot)),
                "expr": (expr.value),
                "atSlot": (at.map_or(Value::Number(-1.0), number)),
                "allowingEmpty": (allowing_empty),
                "window": (window)
            }));
        }
        bindings.into_iter().collect()
    }

    fn flwor(&mut self, object: &'d Object, place: Place) -> Node {
        let mark = self.scope.enter();
        let mut tuple = Vec::new();
        let fold = Self::members(object, "$fold").next().map(|(name, initial)| {
            let place = self.places.member(place, "$fold");
            let place = self.places.member(place, name);
            let expr = self.expr(initial, place);
            (name, self.slot(), expr, place)
        });
        let for_bindings = self.fors(object, place, &mut tuple);
        let iterates = object.get("$for").is_some() || object.get("$groupby").is_some();
        let accumulator = fold.as_ref().map(|(name, slot, ..)| (*name, *slot));
        if let Some((name, slot)) = accumulator {
            self.bind(name, slot, Card::Many);
        }
        let let_bindings = self.lets(object, place, &mut tuple);
        let checks = self.checks(object, place, &tuple);
        let filter = object.get("$where").map(|_| self.clause(object, "$where", place).value);
        let group = object.get("$groupby").map(|_| self.group_keys(object, place));
        if let Some((_, keys)) = &group {
            self.scope.leave(mark);
            self.bind_grouped(accumulator, &tuple, keys);
        }
        let after_group = self.reads.len();
        let order_place = self.places.member(place, "$orderby");
        let specs = object.get("$orderby").map(|keys| self.order_keys(keys, order_place));
        let after_order = self.reads.len();
        let count = object.get("$count").and_then(Value::as_str).map(|name| {
            let slot = self.slot();
            self.bind(name, slot, Card::One);
            value!({"name": (name), "slot": (number(slot))})
        });
        let result = self.clause(object, "$return", place);
        let read = self.read_since(after_group);
        let kept: Vec<usize> =
            tuple.iter().map(|variable| variable.slot).filter(|slot| read.contains(slot)).collect();
        let at_order = match &group {
            Some((_, keys)) => keys.iter().map(|(_, slot)| *slot).chain(kept.iter().copied()).collect(),
            None => tuple.iter().map(|variable| variable.slot).collect::<Vec<_>>(),
        };
        let read = self.read_since(after_order);
        let live = at_order.into_iter().filter(|slot| read.contains(slot));
        let orderby = specs.map(|specs| {
            let live: Value = live.map(number).collect();
            value!({"specs": (specs), "docPath": (self.pointer(order_place)), "liveSlots": (live)})
        });
        let groupby = group.map(|(keys, _)| {
            let place = self.places.member(place, "$groupby");
            let kept: Value = kept.iter().copied().map(number).collect();
            value!({"keys": (keys), "docPath": (self.pointer(place)), "accSlots": (kept)})
        });
        let card = match &fold {
            Some((_, _, initial, _)) => initial.card.join(result.card),
            None if iterates => Card::Many,
            None if filter.is_some() => result.card.join(Card::Zero),
            None => result.card,
        };
        let fold = fold.map(|(name, slot, expr, place)| {
            value!({"name": (name), "slot": (number(slot)), "expr": (expr.value), "docPath": (self.pointer(place))})
        });
        let fields = value!({
            "fold": (fold), "forBindings": (for_bindings), "letBindings": (let_bindings), "asChecks": (checks),
            "where": (filter), "groupby": (groupby), "orderby": (orderby), "count": (count), "ret": (result.value),
            "limits": (super::limits(&self.options.limits))
        });
        self.node("flwor", card, place, &fields)
    }

    /// Binds what there is for each group: the same slots hold sequences now.
    fn bind_grouped(
        &mut self,
        accumulator: Option<(&'d str, usize)>,
        tuple: &Tuple<'d>,
        keys: &[(&'d str, usize)],
    ) {
        let variables = tuple.iter().map(|variable| (variable.name, variable.slot));
        accumulator.into_iter().chain(variables).for_each(|(name, slot)| self.bind(name, slot, Card::Many));
        for (name, slot) in keys {
            self.bind(name, *slot, Card::Opt);
        }
    }

    /// `$as`.
    fn checks(&mut self, object: &'d Object, place: Place, tuple: &Tuple<'d>) -> Option<Value> {
        object.get("$as")?;
        let clause = self.places.member(place, "$as");
        let test = if self.options.schemas.is_some() { Value::Bool(true) } else { Value::Null };
        let slots: BTreeMap<_, _> = tuple.iter().map(|variable| (variable.name, variable.slot)).collect();
        let lets: BTreeSet<_> = Self::members(object, "$let").map(|(name, _)| name).collect();
        let check = |(name, schema): (&str, &Value)| {
            let place = self.places.member(clause, name);
            value!({
                "name": (name), "slot": (slots.get(name).copied().map(number)), "isLet": (lets.contains(name)),
                "schema": (schema.clone()), "test": (test.clone()), "docPath": (self.pointer(place))
            })
        };
        Some(Self::members(object, "$as").map(check).collect())
    }

    /// The keys of `$groupby`, and the variables that they become.
    fn group_keys(&mut self, object: &'d Object, place: Place) -> (Value, Vec<(&'d str, usize)>) {
        let clause = self.places.member(place, "$groupby");
        let (mut keys, mut variables) = (Vec::new(), Vec::new());
        for (name, key) in Self::members(object, "$groupby") {
            let place = self.places.member(clause, name);
            let expr = self.expr(key, place);
            let slot = self.slot();
            variables.push((name, slot));
            keys.push(value!({
                "name": (name), "slot": (number(slot)), "expr": (expr.value), "docPath": (self.pointer(place))
            }));
        }
        (keys.into_iter().collect(), variables)
    }

    fn order_keys(&mut self, keys: &'d Value, place: Place) -> Value {
        match keys {
            Value::Array(keys) => {
                let keys = keys.iter().enumerate();
                keys.map(|(index, key)| {
                    let place = self.places.element(place, index);
                    self.order_key(key, place)
                })
                .collect()
            }
            key => value!([(self.order_key(key, place))]),
        }
    }

    fn order_key(&mut self, key: &'d Value, place: Place) -> Value {
        let explicit =
            key.as_object().filter(|key| ORDER_KEY.into_iter().any(|name| key.get(name).is_some()));
        let is =
            |name, word: &str| explicit.and_then(|key| key.get(name)).and_then(Value::as_str) == Some(word);
        let collation = explicit.and_then(|key| key.get("$collation")).cloned();
        let expr = match explicit {
            Some(key) => self.clause(key, "$key", place),
            None => self.expr(key, place),
        };
        value!({
            "key": (expr.value),
            "desc": (is("$dir", "desc")),
            "emptyGreatest": (is("$empty", "greatest")),
            "collation": (collation.as_ref().map(|_| true)),
            "collationName": (collation),
            "docPath": (self.pointer(place))
        })
    }

    fn quantifier(&mut self, object: &'d Object, place: Place) -> Node {
        let some = object.get("$some").is_some();
        let name = if some { "$some" } else { "$every" };
        let clause = self.places.member(place, name);
        let mut bindings = Vec::new();
        for (name, source) in Self::members(object, name) {
            let expr = self.member(source, clause, name);
            let slot = self.slot();
            self.bind(name, slot, Card::One);
            bindings.push(value!({"name": (name), "slot": (number(slot)), "expr": (expr.value)}));
        }
        let satisfies = self.clause(object, "$satisfies", place);
        let bindings: Value = bindings.into_iter().collect();
        let fields = value!({"some": (some), "bindings": (bindings), "satisfies": (satisfies.value)});
        self.node("quant", Card::One, place, &fields)
    }
}

/// The window of an extended binding.
fn window(binding: &Object) -> Option<Value> {
    let sliding = binding.get("$window")?.as_str() == Some("sliding");
    let size = binding.get("$size").cloned().unwrap_or_default();
    let step = binding.get("$step").cloned();
    let step = step.unwrap_or_else(|| window_step(sliding, size.clone(), Value::from(1)));
    Some(value!({"sliding": (sliding), "size": (size), "step": (step)}))
}
