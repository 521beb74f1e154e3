//! Effects: what a host should do, resolved to data. Nothing here executes one.

use jaren_json::{Diagnostic, Pointer, Str, Value};
use jaren_query::{Query, Scope};

use crate::defects::Defects;
use crate::options::Queries;

/// One resolved effect of a step: `{run, with?}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The host's name of what to do.
    pub run: Str,
    /// Its argument, when the document gives one and its query found something.
    pub with: Option<Value>,
}

impl Effect {
    /// The effect as the formats write it.
    pub fn to_value(&self) -> Value {
        let run = ("run", Value::String(self.run.clone()));
        let with = self.with.clone().map(|with| ("with", with));
        Value::Object([run].into_iter().chain(with).collect())
    }
}

/// An effect of the document, compiled.
#[derive(Debug)]
pub(crate) struct EffectPlan {
    run: Str,
    with: Option<(Query, Pointer)>,
}

impl EffectPlan {
    /// Resolves against the scope. A `with` that fails is recorded and the effect left out (JF2004).
    pub(crate) fn resolve(&self, scope: &Scope<'_>, effects: &mut Vec<Effect>, errors: &mut Vec<Diagnostic>) {
        let Some((query, pointer)) = &self.with else {
            effects.push(Effect { run: self.run.clone(), with: None });
            return;
        };
        match query.value(scope) {
            Ok(with) => effects.push(Effect { run: self.run.clone(), with }),
            Err(error) => {
                let message = format!("effect '{}' was left out: its \"with\" failed", self.run);
                errors.push(Diagnostic::new("JF2004", pointer.clone(), message).with_cause(error.into()));
            }
        }
    }
}

/// Compiles a list of `{run, with?}`: JF0008 for its shape, JF0009 for a query that does not compile.
pub(crate) fn compile_effects(
    list: Option<&Value>,
    pointer: &Pointer,
    queries: &Queries,
    defects: &mut Defects,
) -> Vec<EffectPlan> {
    let items = match list {
        None => return Vec::new(),
        Some(Value::Array(items)) => items,
        Some(other) => {
            let message = format!("expected a list of effects {{run, with?}}, found {}", other.kind());
            defects.push("JF0008", pointer.clone(), message);
            return Vec::new();
        }
    };
    let mut plans = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let pointer = pointer.child_index(index);
        let Some(Value::String(run)) = item.get("run").filter(|run| run.as_str() != Some("")) else {
            let message = format!(
                "expected an effect {{run, with?}} with a non-empty string \"run\", found {}",
                item.kind()
            );
            defects.push("JF0008", pointer, message);
            continue;
        };
        let with = match item.get("with") {
            None => None,
            Some(document) => {
                let pointer = pointer.child("with");
                let query =
                    queries.in_step(document, "JF0009", &pointer, "the \"with\" of an effect", defects);
                query.map(|query| (query, pointer))
            }
        };
        plans.push(EffectPlan { run: run.clone(), with });
    }
    plans
}
