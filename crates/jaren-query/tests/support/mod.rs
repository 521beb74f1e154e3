//! What the tests over recorded cases share.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::num::{NonZeroU64, NonZeroUsize};

use jaren_json::Value;
use jaren_query::{CompileOptions, Limits};

/// The options that a case is compiled with.
pub(crate) fn options(case: &Value) -> CompileOptions {
    let limit = |name| case.get("limits").and_then(|limits| limits.get(name)).and_then(Value::as_u64);
    let size = |name| limit(name).and_then(|n| NonZeroUsize::new(usize::try_from(n).unwrap()));
    let declared = case.get("declared").and_then(Value::as_array);
    let limits = Limits::new()
        .with_steps(limit("steps").and_then(NonZeroU64::new))
        .with_depth(size("depth"))
        .with_sequence_items(size("sequenceItems"))
        .with_result_items(size("resultItems"));
    let options = CompileOptions::new().with_limits(limits);
    match declared {
        Some(names) => options.with_externals(names.iter().map(|name| name.as_str().unwrap())),
        None => options,
    }
}
