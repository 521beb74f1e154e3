//! Phrases: FLWOR (section 6) and quantifiers (section 7).

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Object, Value, in_quotes};

use super::binding::is_extended;
use super::join::join;
use super::vocabulary::is_vocabulary;
use super::{Compiler, is_name};
use crate::capability::Collation;
use crate::error::{DUPLICATE, SHAPE, UNDECLARED, UNREGISTERED};
use crate::place::Place;
use crate::plan::{Assertion, Expr, Flwor, Group, Kind, Many, Order, OrderKey, Quantifier, Slot, Test};

/// The clauses of a FLWOR phrase.
pub(super) const FLWOR: [&str; 9] =
    ["$fold", "$for", "$let", "$as", "$where", "$groupby", "$orderby", "$count", "$return"];
/// The members of a quantifier phrase.
pub(super) const QUANTIFIER: [&str; 3] = ["$some", "$every", "$satisfies"];
/// The clauses whose members are named for the variables that they bind. `$at` of an extended binding and `$count` of a phrase
/// name one in a text.
pub const BINDING: [&str; 6] = ["$fold", "$for", "$let", "$groupby", "$some", "$every"];
/// The members of an explicit `$orderby` key (section 6.6).
pub(crate) const ORDER_KEY: [&str; 4] = ["$key", "$dir", "$empty", "$collation"];

/// What the binding clauses of one phrase have bound so far.
#[derive(Default)]
pub(super) struct Bound<'d> {
    /// All names, among which none may occur twice (section 6.3).
    pub(super) names: BTreeSet<&'d str>,
    /// The variables that differ from tuple to tuple, with their slots.
    pub(super) tuple: Vec<(&'d str, Slot)>,
}

impl<'d> Compiler<'d> {
    /// An object whose names all begin with `$`.
    pub(super) fn phrase(&mut self, object: &'d Object, place: Place, depth: usize) -> Expr {
        let has = |name| object.get(name).is_some();
        if object.len() >= 2
            && has("$return")
            && (has("$for") || has("$let") || has("$fold"))
            && object.iter().all(|(name, _)| FLWOR.contains(&name))
        {
            return if object.len() == 2 && has("$let") {
                self.only_let(object, place, depth)
            } else {
                self.flwor(object, place, depth)
            };
        }
        if object.len() == 2 && has("$satisfies") && (has("$some") || has("$every")) {
            return self.quantifier(object, place, depth);
        }
        let mut members = object.iter();
        if let (Some((name, argument)), None) = (members.next(), members.next()) {
            return self.operator(name, argument, place, depth);
        }
        if let Some((name, _)) = object.iter().find(|(name, _)| {
            !is_vocabulary(name) && !self.is_extension(name) && self.options.operators.get(name).is_none()
        }) {
            return self.unknown(name, place);
        }
        let message = "these '$'-names do not form a phrase together: an operator stands alone, \
                       and a FLWOR phrase has '$return' and one of '$for', '$let', '$fold'";
        self.poison(SHAPE, place, message)
    }

    fn only_let(&mut self, object: &'d Object, place: Place, depth: usize) -> Expr {
        let mark = self.scope.enter();
        let lets = self.lets(object, place, depth, &mut Bound::default());
        let result = self.clause(object, "$return", place, depth);
        self.scope.leave(mark);
        match result {
            Some(result) => Expr { place, kind: Kind::Let(lets, Box::new(result)) },
            None => self.poison(SHAPE, place, "expected '$return'"),
        }
    }

    fn flwor(&mut self, object: &'d Object, place: Place, depth: usize) -> Expr {
        let mark = self.scope.enter();
        let extra_levels = self.extra_levels;
        let mut bound = Bound::default();
        let before_fold = self.deepest;
        let fold = self.fold(object, place, depth, &mut bound);
        let after_fold = std::mem::replace(&mut self.deepest, before_fold);
        let bindings = self.bindings(object, place, depth, &mut bound);
        self.extra_levels += bindings.len();
        if let Some((name, slot, _)) = &fold {
            self.scope.bind(name, *slot);
        }
        let lets = self.lets(object, place, depth, &mut bound);
        // The depth limit names the first deepest place, and reads the initial value of a fold after `$for` and `$let`.
        if after_fold.0 > self.deepest.0 {
            self.deepest = after_fold;
        }
        let assertions = self.assertions(object, place, &bound);
        let filter = self.clause(object, "$where", place, depth);
        let mut group = self.group(object, place, depth, &mut bound);
        let after_group = self.scope.reads.len();
        let mut order = self.order(object, place, depth);
        let after_order = self.scope.reads.len();
        let count = self.count(object, place, &mut bound);
        let result = self.clause(object, "$return", place, depth);
        let read_since = |from: usize| -> BTreeSet<Slot> {
            self.scope.reads.get(from..).unwrap_or_default().iter().copied().collect()
        };
        if let Some(order) = &mut order {
            let read = read_since(after_order);
            let keys = group.iter().flat_map(|group| group.keys.iter().map(|(slot, _)| *slot));
            let tuple = bound.tuple.iter().map(|(_, slot)| *slot);
            order.kept = keys.chain(tuple).filter(|slot| read.contains(slot)).collect();
        }
        if let Some(group) = &mut group {
            let read = read_since(after_group);
            group.kept =
                bound.tuple.iter().map(|(_, slot)| *slot).filter(|slot| read.contains(slot)).collect();
        }
        self.scope.leave(mark);
        self.extra_levels = extra_levels;
        let Some(result) = result else { return self.poison(SHAPE, place, "expected '$return'") };
        let fold = fold.map(|(_, slot, initial)| (slot, initial));
        let plain = lets.is_empty() && assertions.is_empty();
        let accumulator = fold.as_ref().map(|(slot, _)| *slot);
        let join = if plain { join(&bindings, filter.as_ref(), accumulator) } else { None };
        let phrase = Flwor { fold, bindings, lets, assertions, filter, join, group, order, count, result };
        Expr { place, kind: Kind::Many(Many::Flwor(Box::new(phrase))) }
    }

    /// The expression of a clause that may be missing.
    pub(super) fn clause(
        &mut self,
        object: &'d Object,
        name: &'static str,
        place: Place,
        depth: usize,
    ) -> Option<Expr> {
        let value = object.get(name)?;
        let place = self.places.member(place, name);
        Some(self.expr(value, place, depth + 1))
    }

    /// The members of a clause that binds names, or nothing where it is missing or no such object.
    pub(super) fn binding_object(
        &mut self,
        object: &'d Object,
        name: &'static str,
        place: Place,
    ) -> Option<(&'d Object, Place)> {
        let clause = object.get(name)?;
        let place = self.places.member(place, name);
        match clause.as_object() {
            Some(names) if names.is_empty() => {
                self.defect(SHAPE, place, format!("expected at least one variable in '{name}'"));
                None
            }
            Some(names) => Some((names, place)),
            None => {
                self.defect(
                    SHAPE,
                    place,
                    format!("expected an object of variables, found {}", clause.kind()),
                );
                None
            }
        }
    }

    /// Notes that the phrase binds a name.
    pub(super) fn claim(&mut self, name: &'d str, place: Place, bound: &mut Bound<'d>) {
        if !is_name(name) {
            let message = "expected a variable name: a letter or '_', then letters, digits and '_'";
            self.defect(SHAPE, place, message);
        } else if !bound.names.insert(name) {
            self.defect(
                DUPLICATE,
                place,
                format!("the variable {} is bound twice in one phrase", in_quotes(name)),
            );
        }
    }

    /// `$fold`: the accumulator's name, slot and initial value, which sees none of the phrase's variables.
    fn fold(
        &mut self,
        object: &'d Object,
        place: Place,
        depth: usize,
        bound: &mut Bound<'d>,
    ) -> Option<(&'d str, Slot, Expr)> {
        let (names, clause) = self.binding_object(object, "$fold", place)?;
        if names.len() != 1 {
            self.defect(SHAPE, clause, format!("expected one accumulator in '$fold', found {}", names.len()));
        }
        let (name, value) = names.iter().next()?;
        let place = self.places.member(clause, name);
        self.claim(name, place, bound);
        let initial = self.expr(value, place, depth + 1);
        Some((name, self.scope.slot(), initial))
    }

    fn lets(
        &mut self,
        object: &'d Object,
        place: Place,
        depth: usize,
        bound: &mut Bound<'d>,
    ) -> Vec<(Slot, Expr)> {
        let Some((names, clause)) = self.binding_object(object, "$let", place) else { return Vec::new() };
        let mut lets = Vec::with_capacity(names.len());
        for (name, value) in names {
            let place = self.places.member(clause, name);
            self.claim(name, place, bound);
            let expr = self.plain_source(value, place, depth);
            let slot = self.scope.slot();
            self.scope.bind(name, slot);
            bound.tuple.push((name, slot));
            lets.push((slot, expr));
        }
        lets
    }

    /// A source that may not have the extended form.
    fn plain_source(&mut self, value: &'d Value, place: Place, depth: usize) -> Expr {
        if value.as_object().is_some_and(is_extended) {
            return self.poison(SHAPE, place, "only '$for' takes the extended form of a binding");
        }
        self.expr(value, place, depth + 1)
    }

    /// `$as` (section 6.8).
    fn assertions(&mut self, object: &'d Object, place: Place, bound: &Bound<'d>) -> Vec<Assertion> {
        let Some((names, clause)) = self.binding_object(object, "$as", place) else { return Vec::new() };
        let slots: BTreeMap<&str, Slot> = bound.tuple.iter().copied().collect();
        let mut assertions = Vec::with_capacity(names.len());
        for (name, schema) in names {
            let place = self.places.member(clause, name);
            let Some(slot) = slots.get(name) else {
                let near = self.near(name, slots.keys().copied());
                let name = in_quotes(name);
                let message =
                    format!("'$as' names {name}, which '$for' and '$let' of its phrase do not bind{near}");
                self.defect(UNDECLARED, place, message);
                continue;
            };
            if let Some(test) = self.schema_test(schema, place) {
                assertions.push(Assertion { slot: *slot, test, place });
            }
        }
        assertions
    }

    fn group(
        &mut self,
        object: &'d Object,
        place: Place,
        depth: usize,
        bound: &mut Bound<'d>,
    ) -> Option<Group> {
        let (names, clause) = self.binding_object(object, "$groupby", place)?;
        let mut keys = Vec::with_capacity(names.len());
        for (name, value) in names {
            let place = self.places.member(clause, name);
            self.claim(name, place, bound);
            let key = self.expr(value, place, depth + 1);
            keys.push((name, self.scope.slot(), key));
        }
        // Keys are evaluated before there is a group: they do not see each other.
        let keys = keys.into_iter().map(|(name, slot, key)| {
            self.scope.bind(name, slot);
            (slot, key)
        });
        Some(Group { keys: keys.collect(), kept: Vec::new() })
    }

    fn order(&mut self, object: &'d Object, place: Place, depth: usize) -> Option<Order> {
        let value = object.get("$orderby")?;
        let place = self.places.member(place, "$orderby");
        let keys = match value {
            Value::Array(keys) if keys.is_empty() => {
                self.defect(SHAPE, place, "expected at least one key in '$orderby'");
                return None;
            }
            Value::Array(keys) => keys
                .iter()
                .enumerate()
                .map(|(index, key)| {
                    let place = self.places.element(place, index);
                    self.order_key(key, place, depth)
                })
                .collect(),
            key => vec![self.order_key(key, place, depth)],
        };
        Some(Order { keys, kept: Vec::new() })
    }

    fn order_key(&mut self, value: &'d Value, place: Place, depth: usize) -> OrderKey {
        let explicit =
            value.as_object().filter(|object| object.iter().any(|(name, _)| ORDER_KEY.contains(&name)));
        let Some(object) = explicit else {
            let key = self.expr(value, place, depth + 1);
            return OrderKey { place, key, descending: false, empty_greatest: false, collation: None };
        };
        if let Some((name, _)) = object.iter().find(|(name, _)| !ORDER_KEY.contains(name)) {
            let near = self.near(name, ORDER_KEY);
            let (name, all) = (in_quotes(name), ORDER_KEY.join(", "));
            let message = format!("{name} is no member of an '$orderby' key; it has {all}{near}");
            self.defect(SHAPE, place, message);
        } else if object.get("$key").is_none() {
            self.defect(SHAPE, place, "expected '$key' in an explicit '$orderby' key");
        }
        let descending = self.choice(object, "$dir", ["asc", "desc"], place);
        let empty_greatest = self.choice(object, "$empty", ["least", "greatest"], place);
        let collation = object.get("$collation").and_then(|name| self.collation(name, place));
        let key = self.clause(object, "$key", place, depth);
        let key = key.unwrap_or(Expr { place, kind: Kind::Literal(Value::Null) });
        OrderKey { place, key, descending, empty_greatest, collation }
    }

    fn collation(&mut self, name: &Value, place: Place) -> Option<Collation> {
        let place = self.places.member(place, "$collation");
        let Some(name) = name.as_str() else {
            self.defect(SHAPE, place, "expected the name of a collation as a text");
            return None;
        };
        let collation = self.options.collations.get(name).cloned();
        if collation.is_some() {
            self.used.collations.push(name.to_owned());
        } else {
            let near = self.near(name, self.options.collations.names());
            self.defect(UNREGISTERED, place, format!("no collation {} is registered{near}", in_quotes(name)));
        }
        collation
    }

    /// Whether a member has the second of two words; the first is the default.
    fn choice(&mut self, object: &Object, name: &'static str, words: [&str; 2], place: Place) -> bool {
        let Some(value) = object.get(name) else { return false };
        let [first, second] = words;
        if *value == *second {
            return true;
        }
        if *value != *first {
            let place = self.places.member(place, name);
            self.defect(SHAPE, place, format!("expected '{first}' or '{second}'"));
        }
        false
    }

    fn count(&mut self, object: &'d Object, place: Place, bound: &mut Bound<'d>) -> Option<Slot> {
        let value = object.get("$count")?;
        let place = self.places.member(place, "$count");
        let Some(name) = value.as_str() else {
            self.defect(SHAPE, place, "expected a variable name as a text, without '$'");
            return None;
        };
        self.claim(name, place, bound);
        let slot = self.scope.slot();
        self.scope.bind(name, slot);
        Some(slot)
    }

    fn quantifier(&mut self, object: &'d Object, place: Place, depth: usize) -> Expr {
        let some = object.get("$some").is_some();
        let mark = self.scope.enter();
        let extra_levels = self.extra_levels;
        let mut bound = Bound::default();
        let mut bindings = Vec::new();
        if let Some((names, clause)) =
            self.binding_object(object, if some { "$some" } else { "$every" }, place)
        {
            for (name, value) in names {
                let place = self.places.member(clause, name);
                self.claim(name, place, &mut bound);
                self.extra_levels = extra_levels + bindings.len();
                if self.too_many_levels(value, place, depth) {
                    break;
                }
                let source = self.plain_source(value, place, depth);
                let slot = self.scope.slot();
                self.scope.bind(name, slot);
                bindings.push((slot, source));
            }
        }
        let satisfies = self.clause(object, "$satisfies", place, depth);
        self.scope.leave(mark);
        self.extra_levels = extra_levels;
        match satisfies {
            Some(satisfies) => {
                let quantifier = Box::new(Quantifier { some, bindings, satisfies });
                Expr { place, kind: Kind::Test(Test::Quantifier(quantifier)) }
            }
            None => self.poison(SHAPE, place, "expected '$satisfies'"),
        }
    }
}
