//! Warnings: what a format allows and its author hardly meant.
//!
//! A compiler refuses what has no meaning. What has one and can be of no use is found here: it changes nothing about the
//! document, which compiles and runs. There is a warning only where the document alone shows it.
//!
//! | code | what is warned of |
//! |---|---|
//! | `JL0001` | a query reads a variable that nothing binds: wherever it is read, it fails |
//! | `JL0002` | a path leads into a member that what is read there never has: it finds nothing |
//! | `JL0003` | a state that is entered by no way from the initial one |
//! | `JL0004` | a transition behind one without a guard that takes the same event |
//!
//! ```
//! use jaren_flow::lint::lint;
//! use jaren_json::value;
//!
//! let machine = value!({
//!     "initial": "draft",
//!     "states": ["draft", "review"],
//!     "transitions": [{ "from": "draft", "event": "submit", "guard": "$payload.complete", "to": "review" }]
//! });
//! let warnings = lint(&machine);
//! assert_eq!(warnings.len(), 1);
//! assert_eq!((warnings[0].code(), warnings[0].place().as_str()), ("JL0001", "/transitions/0/guard"));
//! assert!(warnings[0].message().ends_with("did you mean '$.payload'?"));
//! ```

mod chart;
mod dag;
mod query;
mod workflow;

use jaren_json::{Diagnostic, Pointer, Value};

use crate::defects::Defects;
use crate::format::Format;
use crate::options::{CompileOptions, Queries};

/// What is read by the queries of machines and charts.
const STEP: [&str; 4] = ["state", "event", "payload", "context"];

/// The warnings about a document of any of the formats, in document order. What no compiler takes has no meaning, and
/// there may be any warnings about it.
pub fn lint(document: &Value) -> Vec<Diagnostic> {
    lint_with(document, &CompileOptions::new())
}

/// The same for a document that compiles with these options.
pub fn lint_with(document: &Value, options: &CompileOptions) -> Vec<Diagnostic> {
    let mut warnings = Warnings { found: Defects::default(), queries: Queries::new(options) };
    match Format::of(document) {
        Some(Format::Workflow) => workflow::lint(document, &mut warnings),
        Some(Format::Dag) => dag::lint(document, &mut warnings),
        Some(Format::Statechart | Format::Machine) | None => chart::lint(document, &mut warnings),
    }
    warnings.found.into_sorted(document)
}

/// The warnings so far, and what the queries of the document may name.
struct Warnings {
    found: Defects,
    queries: Queries,
}

impl Warnings {
    fn push(&mut self, code: &'static str, pointer: Pointer, message: impl Into<String>) {
        self.found.push(code, pointer, message);
    }
}
