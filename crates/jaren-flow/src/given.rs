//! What a caller gives to one call of a machine or a statechart.

use jaren_json::Value;

/// What guards and effects read besides the state and the event. What is absent reads null.
///
/// ```
/// use jaren_flow::Given;
/// use jaren_json::value;
///
/// let context = value!({ "open": true });
/// let given = Given { context: Some(&context), ..Given::default() };
/// assert_eq!(given.payload, None);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    /// `$.payload`.
    pub payload: Option<&'a Value>,
    /// `$.context`.
    pub context: Option<&'a Value>,
}
