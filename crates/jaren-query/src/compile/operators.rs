//! Operators: shapes and arities, then what they compile to (section 8).

use jaren_json::{Value, in_quotes};

use super::Compiler;
use super::phrase::{FLWOR, QUANTIFIER};
use super::vocabulary::{Operator, operator};
use crate::error::{NO_SCHEMAS, SCHEMA, SHAPE};
use crate::place::Place;
use crate::plan::{Expr, Kind};
use crate::schema_test::SchemaTest;

impl<'d> Compiler<'d> {
    /// The operator phrase `{name: argument}` that stands at `place`.
    pub(super) fn operator(
        &mut self,
        name: &'d str,
        argument: &'d Value,
        place: Place,
        depth: usize,
    ) -> Expr {
        let key = self.places.member(place, name);
        self.used.operators.push(name.to_owned());
        if self.is_extension(name)
            && let Some(phrase) = self.extended(argument, [place, key], depth)
        {
            return phrase;
        }
        match name {
            "$const" => return Expr { place, kind: Kind::Literal(argument.clone()) },
            "$map" => return self.map(argument, place, key, depth),
            "$call" => return self.call(argument, [place, key], depth),
            "$lexical" => return self.lexical(argument, [place, key], depth),
            _ => {}
        }
        let Some(operator) = operator(name) else {
            if let Some(phrase) = self.host_operator(name, argument, [place, key], depth) {
                return phrase;
            }
            return if FLWOR.contains(&name) || QUANTIFIER.contains(&name) {
                let rest = if QUANTIFIER.contains(&name) {
                    "one of '$some', '$every' and '$satisfies'"
                } else {
                    "'$return' and one of '$for', '$let', '$fold'"
                };
                self.poison(SHAPE, place, format!("'{name}' alone is no phrase: a phrase has {rest}"))
            } else {
                self.unknown(name, place)
            };
        };
        let kind = match (operator, argument) {
            (Operator::One(build), operand) => Some(build(Box::new(self.expr(operand, key, depth + 1)))),
            (operator, Value::Array(operands)) => self.listed(name, operator, operands, key, depth),
            (_, other) => {
                self.defect(
                    SHAPE,
                    key,
                    format!("{} takes a list of operands, found {}", in_quotes(name), other.kind()),
                );
                None
            }
        };
        Expr { place, kind: kind.unwrap_or(Kind::Literal(Value::Null)) }
    }

    /// An operator that takes a list, or nothing after a defect was reported.
    fn listed(
        &mut self,
        name: &str,
        operator: &Operator,
        operands: &'d [Value],
        key: Place,
        depth: usize,
    ) -> Option<Kind> {
        Some(match (operator, operands) {
            (Operator::OneOrTwo(build), [first]) => build(Box::new(self.operand(first, 0, key, depth)), None),
            (Operator::OneOrTwo(build), [first, second]) => {
                let [first, second] = self.pair(first, second, key, depth);
                build(Box::new(first), Some(Box::new(second)))
            }
            (Operator::Two(build), [first, second]) => {
                build(Box::new(self.pair(first, second, key, depth)), key)
            }
            (Operator::TwoOrThree(build), [first, second]) => {
                build(Box::new(self.pair(first, second, key, depth)), None)
            }
            (Operator::TwoOrThree(build), [first, second, third]) => {
                let pair = self.pair(first, second, key, depth);
                build(Box::new(pair), Some(Box::new(self.operand(third, 2, key, depth))))
            }
            (Operator::Three(build), [first, second, third]) => {
                let [first, second] = self.pair(first, second, key, depth);
                build(Box::new([first, second, self.operand(third, 2, key, depth)]))
            }
            (Operator::AtLeast(min, build), operands) if operands.len() >= *min => {
                build(self.list(operands, key, depth))
            }
            (Operator::Schema(build), [first, schema]) => {
                let operand = self.operand(first, 0, key, depth);
                build(self.schema_test(schema, key)?, Box::new(operand), key)
            }
            (Operator::Read(arity, expressions, read), operands) if arity.contains(&operands.len()) => {
                let exprs = self.list(operands.get(..*expressions).unwrap_or(operands), key, depth);
                read(self, exprs, operands, key)?
            }
            (operator, operands) => {
                let message = format!(
                    "{} takes {} operand(s), found {}",
                    in_quotes(name),
                    operator.arity(),
                    operands.len()
                );
                self.defect(SHAPE, key, message);
                return None;
            }
        })
    }

    /// The test of a schema literal, or nothing after a defect was reported (section 8.11).
    pub(super) fn schema_test(&mut self, schema: &Value, place: Place) -> Option<SchemaTest> {
        let Some(schemas) = &self.options.schemas else {
            self.defect(NO_SCHEMAS, place, "a schema needs something that compiles it, and the host lends nothing (`CompileOptions::with_schemas`)");
            return None;
        };
        match schemas.compile(schema) {
            Ok(test) => Some(test),
            Err(reason) => {
                self.defect(SCHEMA, place, format!("the host refuses the schema: {reason}"));
                None
            }
        }
    }

    fn operand(&mut self, value: &'d Value, index: usize, key: Place, depth: usize) -> Expr {
        let place = self.places.element(key, index);
        self.expr(value, place, depth + 1)
    }

    fn pair(&mut self, first: &'d Value, second: &'d Value, key: Place, depth: usize) -> [Expr; 2] {
        let first_place = self.places.element(key, 0);
        let first = self.expr(first, first_place, depth + 1);
        let second_place = self.places.element(key, 1);
        [first, self.expr(second, second_place, depth + 1)]
    }

    /// `$map` (section 3.5.2).
    fn map(&mut self, argument: &'d Value, place: Place, key: Place, depth: usize) -> Expr {
        let Some(entries) = argument.as_array() else {
            let message = format!("'$map' takes a list of pairs, found {}", argument.kind());
            return self.poison(SHAPE, key, message);
        };
        let mut pairs = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let place = self.places.element(key, index);
            let Some([name, value]) = entry.as_array().map(|entry| &entry[..]) else {
                self.defect(SHAPE, place, "expected a pair: [key expression, value expression]");
                continue;
            };
            let name_place = self.places.element(place, 0);
            let name = self.expr(name, name_place, depth + 1);
            let value_place = self.places.element(place, 1);
            pairs.push([name, self.expr(value, value_place, depth + 1)]);
        }
        Expr { place, kind: Kind::Map(pairs) }
    }
}
