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

use jaren_json::{Diagnostic, Value};

use crate::defects::Defects;

/// What is read by the queries of machines and charts.
const STEP: [&str; 4] = ["state", "event", "payload", "context"];

/// The warnings about a document of any of the formats, in document order. What no compiler takes has no meaning, and
/// there may be any warnings about it.
pub fn lint(document: &Value) -> Vec<Diagnostic> {
    let mut warnings = Defects::default();
    let marker = |name: &str| document.get(name).is_some();
    if marker("$workflow") {
        workflow::lint(document, &mut warnings);
    } else if marker("$dag") {
        dag::lint(document, &mut warnings);
    } else {
        chart::lint(document, &mut warnings);
    }
    warnings.into_sorted(document)
}
