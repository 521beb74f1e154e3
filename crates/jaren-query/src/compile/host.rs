//! What a host has registered: `$call`, operators, `$lexical` (section 8.12).

use std::ops::RangeInclusive;

use jaren_json::{Str, Value, in_quotes};

use super::Compiler;
use crate::capability::{Function, Operands};
use crate::error::{NO_PROVIDER, SHAPE, UNREGISTERED};
use crate::place::Place;
use crate::plan::{Call, Expr, Kind, LexicalSearch};

impl<'d> Compiler<'d> {
    /// `$call`, its argument at `key`.
    pub(super) fn call(&mut self, argument: &'d Value, [place, key]: [Place; 2], depth: usize) -> Expr {
        let Some([Value::String(name), operands @ ..]) = argument.as_array().map(|argument| &argument[..])
        else {
            let message = "'$call' takes a list: the name of a registered function and its operands";
            return self.poison(UNREGISTERED, key, message);
        };
        let Some(function) = self.options.functions.get(name).cloned() else {
            let near = self.near(name, self.options.functions.names());
            let message = format!("no function {} is registered{near}", in_quotes(name));
            return self.poison(UNREGISTERED, key, message);
        };
        self.used.functions.push(name.to_string());
        let operands = operands
            .iter()
            .enumerate()
            .map(|(index, operand)| {
                let place = self.places.element(key, index + 1);
                self.expr(operand, place, depth + 1)
            })
            .collect();
        Expr { place, kind: called(name, function, operands) }
    }

    /// The phrase of a registered operator, if there is one of that name.
    pub(super) fn host_operator(
        &mut self,
        name: &str,
        argument: &'d Value,
        [place, key]: [Place; 2],
        depth: usize,
    ) -> Option<Expr> {
        let operator = self.options.operators.get(name)?;
        let operands = match (&operator.operands, argument) {
            (Operands::One, operand) => vec![self.expr(operand, key, depth + 1)],
            (Operands::List(arity), Value::Array(operands)) if arity.contains(&operands.len()) => {
                self.list(operands, key, depth)
            }
            (Operands::List(arity), _) => {
                return Some(self.poison(
                    SHAPE,
                    key,
                    format!("{} takes a list of {} operand(s)", in_quotes(name), words(arity)),
                ));
            }
        };
        Some(Expr { place, kind: called(name, operator.function.clone(), operands) })
    }

    /// `$lexical`, its argument at `key`.
    pub(super) fn lexical(&mut self, argument: &'d Value, [place, key]: [Place; 2], depth: usize) -> Expr {
        let Some([Value::String(name), text, request @ Value::Object(_)]) =
            argument.as_array().map(|argument| &argument[..])
        else {
            return self.poison(SHAPE, key, "'$lexical' takes [provider, text expression, request]");
        };
        let Some(provider) = self.options.lexical_providers.get(name) else {
            let near = self.near(name, self.options.lexical_providers.names());
            let message = format!("no lexical provider {} is registered{near}", in_quotes(name));
            return self.poison(NO_PROVIDER, key, message);
        };
        match provider.compile(request) {
            Ok(lexical) => {
                let text_place = self.places.element(key, 1);
                let text = self.expr(text, text_place, depth + 1);
                Expr { place, kind: Kind::Lexical(Box::new(LexicalSearch { lexical, text, key })) }
            }
            Err(reason) => {
                self.poison(NO_PROVIDER, key, format!("the lexical provider refuses the request: {reason}"))
            }
        }
    }
}

fn called(name: &str, function: Function, operands: Vec<Expr>) -> Kind {
    Kind::Call(Box::new(Call { name: Str::from(name), function, operands }))
}

fn words(arity: &RangeInclusive<usize>) -> String {
    if arity.start() == arity.end() {
        arity.start().to_string()
    } else {
        format!("{} to {}", arity.start(), arity.end())
    }
}
