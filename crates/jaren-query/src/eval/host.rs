//! What a host has registered: functions, operators and lexical providers (section 8.12).

use std::collections::BTreeSet;

use jaren_json::{Value, in_quotes};

use super::Run;
use super::item::{Got, Item, Seq};
use crate::capability::Argument;
use crate::error::{EvalError, FUNCTION, PROVIDER, TYPE};
use crate::plan::{Call, Expr, LexicalSearch};

/// The states in which a lexical result may be; only the first has hits.
const STATES: [&str; 5] = ["complete", "budget-exhausted", "invalidated", "error", "rebuild-required"];

impl<'a> Run<'a> {
    /// Calls a registered function with what its operands answer.
    pub(super) fn call(&mut self, expr: &Expr, call: &'a Call) -> Result<Option<Value>, EvalError> {
        let mut arguments = Vec::with_capacity(call.operands.len());
        for operand in &call.operands {
            let argument: Argument = match self.seq(operand)? {
                Seq::Empty => None,
                Seq::One(item) => Some(item.into_value()),
                items @ Seq::Many(_) => {
                    let all = items.into_vec().into_iter().map(Item::into_value).collect();
                    Some(self.sized(all, operand.place)?)
                }
            };
            arguments.push(argument);
        }
        call.function.call(&arguments).map_err(|reason| {
            self.fail(
                FUNCTION,
                expr.place,
                format!("the registered {} failed: {reason}", in_quotes(&call.name)),
            )
        })
    }

    /// Asks a lexical provider.
    pub(super) fn lexical(&mut self, search: &'a LexicalSearch) -> Result<Value, EvalError> {
        let LexicalSearch { lexical, text, key } = search;
        let text = match self.one(text)? {
            Got::One(Item::Ref(Value::String(text))) => text.clone(),
            Got::One(Item::Own(Value::String(text))) => text,
            got => {
                return Err(self.fail(
                    TYPE,
                    *key,
                    format!("expected one text to search for, found {}", got.describe()),
                ));
            }
        };
        let result = lexical
            .search(&text)
            .map_err(|reason| self.fail(PROVIDER, *key, format!("the lexical provider failed: {reason}")))?;
        if is_lexical_result(&result) {
            return Ok(result);
        }
        Err(self.fail(
            PROVIDER,
            *key,
            "the lexical provider answered no lexical result, or one that is not complete",
        ))
    }
}

/// A state; hits, each with an `id` of its own and a finite `score`; and a `total` of at least as many where the result is
/// complete, and otherwise no hits and `null`.
fn is_lexical_result(result: &Value) -> bool {
    let state = result.get("state").and_then(Value::as_str);
    let Some(hits) = result.get("hits").and_then(Value::as_array) else { return false };
    let mut ids = BTreeSet::new();
    let sound = hits.iter().all(|hit| {
        let id = hit.get("id").and_then(Value::as_str);
        let score = hit.get("score").and_then(Value::as_f64);
        score.is_some_and(f64::is_finite) && id.is_some_and(|id| ids.insert(id))
    });
    let total = result.get("total");
    let counted = if state == Some("complete") {
        let total = total.and_then(Value::as_u64).and_then(|total| usize::try_from(total).ok());
        total.is_some_and(|total| total >= hits.len())
    } else {
        hits.is_empty() && total.is_some_and(Value::is_null)
    };
    sound && counted && state.is_some_and(|state| STATES.contains(&state))
}
