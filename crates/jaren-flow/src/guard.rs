//! Queries inside documents: compiling them, and guards, which read false when they fail.

use std::num::NonZeroU64;

use jaren_json::{Diagnostic, Pointer, Report, Value};
use jaren_query::{CompileOptions, Limits, Query, Scope};

use crate::defects::Defects;
use crate::error::quote;

/// The steps and the work of one evaluation of a guard: a transition does not wait for an author's slip, and this is
/// enough to look through a million rows.
const EFFORT_MAX: NonZeroU64 = NonZeroU64::new(1 << 24).unwrap();

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
        defects: &mut Defects,
    ) -> Option<Self> {
        let guard = guard.filter(|guard| !guard.is_null())?;
        let pointer = transition.child("guard");
        let limits = Limits { steps: Some(EFFORT_MAX), work: Some(EFFORT_MAX), ..Limits::default() };
        let options = CompileOptions { limits, ..CompileOptions::default() };
        let query = embedded(Query::compile_with(guard, &options), "JF0007", &pointer, "the guard", defects)?;
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
        let message = format!("the guard failed: {}", quote(&cause));
        Diagnostic::new("JF2003", Pointer::clone(&self.pointer), message).with_cause(cause)
    }
}

/// Compiles an embedded query.
pub(crate) fn compile_query(
    document: &Value,
    code: &'static str,
    pointer: &Pointer,
    what: &str,
    defects: &mut Defects,
) -> Option<Query> {
    embedded(Query::compile(document), code, pointer, what, defects)
}

/// What an embedded document compiled to. A failure becomes defects of the document around it, one for each of the
/// embedded one's own, which is its cause.
pub(crate) fn embedded<T>(
    compiled: Result<T, Report>,
    code: &'static str,
    pointer: &Pointer,
    what: &str,
    defects: &mut Defects,
) -> Option<T> {
    match compiled {
        Ok(compiled) => Some(compiled),
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
