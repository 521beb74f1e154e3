//! Guards: queries by whose truth a transition fires, and which read false when they fail.

use jaren_json::{Diagnostic, Pointer, Value};
use jaren_query::{Query, Scope};

use crate::defects::Defects;
use crate::options::Queries;

/// A compiled guard and its place.
#[derive(Debug)]
pub(crate) struct Guard {
    query: Query,
    /// Aside, for it is seldom read.
    pointer: Box<Pointer>,
}

impl Guard {
    /// Compiles the `guard` of a transition; absent and null are none (JF0007).
    pub(crate) fn compile(
        guard: Option<&Value>,
        transition: &Pointer,
        queries: &Queries,
        defects: &mut Defects,
    ) -> Option<Self> {
        let guard = guard.filter(|guard| !guard.is_null())?;
        let pointer = transition.child("guard");
        let query = queries.in_step(guard, "JF0007", &pointer, "the guard", defects)?;
        Some(Self { query, pointer: Box::new(pointer) })
    }

    /// Whether it holds, by effective boolean value. One that fails reads false and is recorded (JF2003).
    #[inline]
    pub(crate) fn holds(&self, scope: &Scope<'_>, errors: &mut Vec<Diagnostic>) -> bool {
        self.query.truth(scope).unwrap_or_else(|error| {
            errors.push(self.failed(Diagnostic::from(error)));
            false
        })
    }

    #[cold]
    fn failed(&self, cause: Diagnostic) -> Diagnostic {
        Diagnostic::new("JF2003", Pointer::clone(&self.pointer), "the guard failed").with_cause(cause)
    }
}
