//! Operators, calls and the constructors that look like them (Appendix C.3).

use jaren_json::{Object, Pointer, Value, value};

use super::card::{Card, of_operator};
use super::{Analyzer, Node, literal, node};
use crate::compile::{Operands, operands_of};

impl<'d> Analyzer<'d> {
    pub(super) fn operator(&mut self, name: &'d str, argument: &'d Value, place: &Pointer) -> Node {
        let key = place.child(name);
        let list = argument.as_array().map(|list| &list[..]).unwrap_or_default();
        match name {
            "$const" => literal(argument.clone(), place),
            "$map" => self.map(list, place, &key),
            "$call" => self.call(list, place, &key),
            "$lexical" => {
                let text = self.operand(list, 1, &key);
                let request = raw(list.get(2), &key.child_index(2));
                let args = value!([(text.value), (request)]);
                node("op", Card::One, place, &value!({"name": (name), "args": (args), "entry": true}))
            }
            name => self.vocabulary(name, argument, place, &key),
        }
    }

    fn vocabulary(&mut self, name: &'d str, argument: &'d Value, place: &Pointer, key: &Pointer) -> Node {
        let list = argument.as_array().map(|list| &list[..]).unwrap_or_default();
        let (mut args, mut cards) = (Vec::new(), Vec::new());
        let mut add = |node: Node| {
            cards.push(node.card);
            args.push(node.value);
        };
        let known = operands_of(name);
        let host = self.options.operators.get(name);
        let one = match host {
            Some(host) => host.operands == crate::Operands::One,
            None => known == Some(Operands::One),
        };
        if one {
            add(self.expr(argument, key));
        } else {
            let expressions = match known {
                Some(Operands::Leading(expressions)) => expressions,
                _ => usize::MAX,
            };
            for (index, operand) in list.iter().enumerate() {
                let place = key.child_index(index);
                if index < expressions {
                    add(self.expr(operand, &place));
                    continue;
                }
                let value = match name {
                    "$valid" | "$assert" => with_test(operand, &place, self.options.type_tests.is_some()),
                    _ => raw(Some(operand), &place),
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
            None => of_operator(name, &cards),
        };
        node("op", card, place, &Value::Object(fields))
    }

    fn operand(&mut self, list: &'d [Value], index: usize, key: &Pointer) -> Node {
        let place = key.child_index(index);
        match list.get(index) {
            Some(operand) => self.expr(operand, &place),
            None => literal(Value::Null, &place),
        }
    }

    fn map(&mut self, list: &'d [Value], place: &Pointer, key: &Pointer) -> Node {
        let mut pairs = Vec::with_capacity(list.len());
        for (index, pair) in list.iter().enumerate() {
            let place = key.child_index(index);
            let pair = pair.as_array().map(|pair| &pair[..]).unwrap_or_default();
            let name = self.operand(pair, 0, &place);
            let value = self.operand(pair, 1, &place);
            pairs.push(value!({"key": (name.value), "value": (value.value)}));
        }
        node("map", Card::One, place, &value!({ "pairs": (pairs.into_iter().collect::<Value>()) }))
    }

    fn call(&mut self, list: &'d [Value], place: &Pointer, key: &Pointer) -> Node {
        let name = list.first().cloned().unwrap_or_default();
        let args: Value = (1..list.len()).map(|index| self.operand(list, index, key).value).collect();
        node("call", Card::Opt, place, &value!({"name": (name), "fn": true, "args": (args)}))
    }
}

/// A value that nothing evaluates.
fn raw(value: Option<&Value>, place: &Pointer) -> Value {
    node("raw", Card::One, place, &value!({ "value": (value.cloned()) })).value
}

/// A schema, with whether a host has compiled it.
fn with_test(schema: &Value, place: &Pointer, compiled: bool) -> Value {
    let test = if compiled { Value::Bool(true) } else { Value::Null };
    node("raw", Card::One, place, &value!({"value": (schema.clone()), "test": (test)})).value
}
