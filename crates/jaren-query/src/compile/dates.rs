//! Operators on dates and times that the compiler has to look into (section 8.13).

use jaren_json::Value;

use super::Compiler;
use crate::dates::{DatePattern, DateText};
use crate::place::Place;
use crate::plan::{Expr, Kind, Number};

/// `$date-diff`.
pub(super) fn difference(_: &mut Compiler<'_>, operands: Vec<Expr>, _: &[Value], _: Place) -> Option<Kind> {
    Some(Kind::Number(Number::DateDifference(operands.try_into().ok()?)))
}

/// `$date-format`: a pattern that is a literal is compiled with the query.
pub(super) fn format(
    compiler: &mut Compiler<'_>,
    operands: Vec<Expr>,
    _: &[Value],
    key: Place,
) -> Option<Kind> {
    let pair: Box<[Expr; 2]> = operands.try_into().ok()?;
    let [_, pattern] = &*pair;
    let pattern = match &pattern.kind {
        Kind::Literal(Value::String(text)) => match DatePattern::parse(text) {
            Ok(pattern) => Some(pattern),
            Err(reason) => {
                compiler.late_defect(key, format!("not a date pattern: {reason}"));
                return None;
            }
        },
        _ => None,
    };
    Some(Kind::DateText(Box::new(DateText::Format(pair, pattern))))
}
