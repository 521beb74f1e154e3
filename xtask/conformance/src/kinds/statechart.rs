//! Cases of stylesheets, which no crate compiles yet.

use crate::case::Case;
use crate::kind::Outcome;

pub(crate) fn run(_case: &Case) -> Outcome {
    Err("no crate compiles stylesheets yet".to_owned())
}
