//! Operators, calls and the constructors that look like them (Appendix C.3).

use jaren_json::{Object, Value, value};

use super::{Analyzer, Node};
use crate::capability::Operands;
use crate::card::Card;
use crate::compile::{Expressions, card_of, expressions_of, takes_one};
use crate::place::Place;

impl<'d> Analyzer<'d> {
    pub(super) fn operator(&mut self, name: &'d str, argument: &'d Value, place: Place) -> Node {
        let key = self.places.member(place, name);
        let list = argument.as_array().map(|list| &list[..]).unwrap_or_default();
        match name {
            "$const" => self.literal(argument.clone(), place),
            "$map" => self.map(list, place, key),
            "$call" => self.call(list, place, key),
            "$lexical" => {
                let text = self.operand(list, 1, key);
                let request = self.places.element(key, 2);
                let request = self.raw(list.get(2), request);
                let args = value!([(text.value), (request)]);
                self.node("op", Card::One, place, &value!({"name": (name), "args": (args), "entry": true}))
            }
            name => self.vocabulary(name, argument, place, key),
        }
    }

    fn vocabulary(&mut self, name: &'d str, argument: &'d Value, place: Place, key: Place) -> Node {
        let list = argument.as_array().map(|list| &list[..]).unwrap_or_default();
        let (mut args, mut cards) = (Vec::new(), Vec::new());
        let mut add = |node: Node| {
            cards.push(node.card);
            args.push(node.value);
        };
        let host = self.options.operators.get(name);
        let one = host.map_or_else(|| takes_one(name), |host| host.operands == Operands::One);
        if one {
            add(self.expr(argument, key));
        } else {
            let expressions = expressions_of(name);
            for (index, operand) in list.iter().enumerate() {
                let place = self.places.element(key, index);
                if !matches!(&expressions, Expressions::Elements(range) if !range.contains(&index)) {
                    add(self.expr(operand, place));
                    continue;
                }
                let value = match name {
                    "$valid" | "$assert" => self.with_test(operand, place, self.options.schemas.is_some()),
                    _ => self.raw(Some(operand), place),
                };
                add(Node { value, card: Card::One });
            }
        }
        let mut fields =
            Object::from_iter([("name", Value::from(name)), ("args", args.into_iter().collect())]);
        let limits = super::limits(&self.options.limits);
        if name == "$range" && !limits.is_null() {
            fields = fields.with("limits", limits);
        }
        let card = match host {
            Some(_) => {
                fields = fields.with("entry", true);
                Card::Opt
            }
            None => card_of(name, &cards),
        };
        self.node("op", card, place, &Value::Object(fields))
    }

    fn operand(&mut self, list: &'d [Value], index: usize, key: Place) -> Node {
        let place = self.places.element(key, index);
        match list.get(index) {
            Some(operand) => self.expr(operand, place),
            None => self.missing(place),
        }
    }

    fn map(&mut self, list: &'d [Value], place: Place, key: Place) -> Node {
        let mut pairs = Vec::with_capacity(list.len());
        for (index, pair) in list.iter().enumerate() {
            let place = self.places.element(key, index);
            let pair = pair.as_array().map(|pair| &pair[..]).unwrap_or_default();
            let name = self.operand(pair, 0, place);
            let value = self.operand(pair, 1, place);
            pairs.push(value!({"key": (name.value), "value": (value.value)}));
        }
        self.node("map", Card::One, place, &value!({ "pairs": (pairs.into_iter().collect::<Value>()) }))
    }

    fn call(&mut self, list: &'d [Value], place: Place, key: Place) -> Node {
        let name = list.first().cloned().unwrap_or_default();
        let args: Value = (1..list.len()).map(|index| self.operand(list, index, key).value).collect();
        self.node("call", Card::Opt, place, &value!({"name": (name), "fn": true, "args": (args)}))
    }

    /// A value that nothing evaluates.
    fn raw(&mut self, value: Option<&Value>, place: Place) -> Value {
        self.node("raw", Card::One, place, &value!({ "value": (value.cloned()) })).value
    }

    /// A schema, with whether a host has compiled it.
    fn with_test(&mut self, schema: &Value, place: Place, compiled: bool) -> Value {
        let test = if compiled { Value::Bool(true) } else { Value::Null };
        self.node("raw", Card::One, place, &value!({"value": (schema.clone()), "test": (test)})).value
    }
}
