//! Queries inside documents: compiling them, and guards, which read false when they fail.

use jaren_json::{Diagnostic, Pointer, Value};
use jaren_query::{Query, Scope};

use crate::defects::Defects;
use crate::error::quote;

/// A compiled guard and its place.
#[derive(Debug)]
pub(crate) struct Guard {
    query: Query,
    pointer: Pointer,
}

impl Guard {
    /// Compiles the `guard` of a transition; absent and null are none (JF0007).
    pub(crate) fn compile(
        guard: Option<&Value>,
        transition: &Pointer,
        defects: &mut Defects,
    ) -> Option<Self> {
        let guard = guard.filter(|guard| !guard.is_null())?;
        let pointer = transition.child("guard");
        let query = compile_query(guard, "JF0007", &pointer, "the guard", defects)?;
        Some(Self { query, pointer })
    }

    /// Whether it holds, by effective boolean value. One that fails reads false and is recorded (JF2003).
    pub(crate) fn holds(&self, scope: &Scope<'_>, errors: &mut Vec<Diagnostic>) -> bool {
        self.query.truth(scope).unwrap_or_else(|error| {
            let cause = Diagnostic::from(error);
            let message = format!("the guard failed: {}", quote(&cause));
            errors.push(Diagnostic::new("JF2003", self.pointer.clone(), message).with_cause(cause));
            false
        })
    }
}

/// Compiles an embedded query. A failure becomes defects of the document around it, one for each of the query's own,
/// which is its cause.
pub(crate) fn compile_query(
    document: &Value,
    code: &'static str,
    pointer: &Pointer,
    what: &str,
    defects: &mut Defects,
) -> Option<Query> {
    match Query::compile(document) {
        Ok(query) => Some(query),
        Err(report) => {
            for cause in report.iter() {
                let message = format!("{what} does not compile: {}", quote(cause));
                let defect = Diagnostic::new(code, pointer.clone(), message).with_cause(cause.clone());
                defects.add(defect.with_place(pointer.join(cause.pointer())));
            }
            None
        }
    }
}
