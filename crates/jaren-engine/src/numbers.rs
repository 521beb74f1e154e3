//! Between the integers that we count with and the doubles that documents have.

use jaren_host::Timestamp;
use jaren_json::Value;

/// A count or a generation as a JSON number.
pub(crate) fn count(count: u64) -> Value {
    Value::from_count(count)
}

/// Milliseconds as a JSON number.
pub(crate) fn millis(at: Timestamp) -> Value {
    Value::Number(to_statechart(at))
}

/// Milliseconds as a statechart's explicit time. Exact for all times within 285,000 years of 1970.
#[expect(
    clippy::cast_precision_loss,
    reason = "times beyond 2^53 milliseconds are rounded, which harms nothing"
)]
pub(crate) fn to_statechart(at: Timestamp) -> f64 {
    at.as_millis() as f64
}

/// Explicit time as milliseconds: rounded up, so that nothing is told to be due before it is.
#[expect(clippy::cast_possible_truncation, reason = "a float cast saturates, and so does time")]
pub(crate) fn from_statechart(at: f64) -> Timestamp {
    Timestamp::from_millis(at.ceil() as i64)
}
