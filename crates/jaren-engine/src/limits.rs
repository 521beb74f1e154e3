//! What a run may be given and may come to: checked where it enters, so that nothing is executed that could not be kept.

use jaren_durable::Retry;
use jaren_durable::limits::BODY_BYTES_MAX;
use jaren_flow::workflow::Workflow;
use jaren_json::Value;

use crate::error::EngineError;
use crate::failure::Failure;
use crate::resources::Resources;
use crate::task::Tasks;

/// How deep a value that enters a run may be nested. What is stored of the run has it some levels deeper, and storages
/// take 512.
pub const VALUE_DEPTH_MAX: u32 = 500;

/// How much JSON text a value that enters a run may have. The largest document of a run, its snapshot, holds the input,
/// the data, an event and the results of its states, and storages take documents of four times as much: what many large
/// results come to is told when it is to be stored (JE0007).
pub const VALUE_BYTES_MAX: usize = BODY_BYTES_MAX / 4;

/// How many events a run's inbox takes. Whoever drives the run has all of them in memory.
pub const INBOX_EVENTS_MAX: u64 = 10_000;

/// How many bytes of JSON text the events in a run's inbox may have together.
pub const INBOX_BYTES_MAX: u64 = 4 * VALUE_BYTES_MAX as u64;

/// A value that a caller gives, by its name: the request is refused if no run could keep it.
pub(crate) fn check(name: &str, value: &Value) -> Result<(), EngineError> {
    if !value.is_json() {
        return Err(EngineError::invalid(format!("{name} holds a number that is not JSON")));
    }
    match defect(value) {
        None => Ok(()),
        Some(defect) => Err(EngineError::too_large(format!("{name} {defect}"))),
    }
}

/// What is wrong with a value that is to enter a run, if something is.
pub(crate) fn defect(value: &Value) -> Option<String> {
    let depth = value.depth();
    if depth > VALUE_DEPTH_MAX {
        return Some(format!("is nested {depth} deep; a run takes values of at most {VALUE_DEPTH_MAX}"));
    }
    let too_large = text_bytes(value, VALUE_BYTES_MAX).is_none();
    too_large.then(|| format!("is larger than {VALUE_BYTES_MAX} bytes of JSON, which a run takes at most"))
}

/// An answer that could not be stored is a failure of its task: the same answer would come again.
pub(crate) fn check_answer(value: Value) -> Result<Value, Failure> {
    match defect(&value) {
        None => Ok(value),
        Some(defect) => {
            let failure =
                Failure::new(format!("the task's answer {defect}; keep it elsewhere and answer where"));
            Err(failure.with_code("JE0007").with_retry(Retry::Never))
        }
    }
}

/// The bytes of a value's text, or a few more. The same for the same value, always.
pub(crate) fn bytes(value: &Value) -> usize {
    text_bytes(value, usize::MAX).unwrap_or(usize::MAX)
}

/// The bytes of a value's text, or a few more; none if there are more than `max`.
fn text_bytes(value: &Value, max: usize) -> Option<usize> {
    let mut open = vec![value];
    let mut bytes = 0;
    while let Some(value) = open.pop() {
        // Each with the comma or colon behind it.
        bytes += match value {
            Value::Null | Value::Bool(_) => 6,
            Value::Number(number) => number_bytes(*number),
            Value::String(string) => string_bytes(string),
            Value::Array(items) => {
                open.extend(items.iter());
                3
            }
            Value::Object(members) => {
                open.extend(members.iter().map(|(_, member)| member));
                3 + members.iter().map(|(name, _)| string_bytes(name)).sum::<usize>()
            }
        };
        if bytes > max {
            return None;
        }
    }
    Some(bytes)
}

fn string_bytes(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        byte if byte.is_ascii_control() => 6,
        _ => 1,
    };
    3 + text.bytes().map(escaped).sum::<usize>()
}

fn number_bytes(number: f64) -> usize {
    match number.abs() {
        small if small.fract() == 0.0 && small < 1e3 => 5,
        whole if whole.fract() == 0.0 && whole < 1e9 => 11,
        // The longest text of a double has 24.
        _ => 25,
    }
}

/// What stops a drive of these dataflows before it has done anything is an error: what is wrong with how the tasks were
/// registered, or the first resource that a task declares and nobody lends.
pub(crate) fn check_dags<'a>(
    dags: impl IntoIterator<Item = &'a Value>,
    tasks: &Tasks,
    resources: &Resources,
) -> Result<(), EngineError> {
    if let Some(defect) = tasks.defect() {
        return Err(EngineError::invalid(defect));
    }
    if !tasks.have_needs() {
        return Ok(());
    }
    for dag in dags {
        let nodes = dag.get("nodes").and_then(Value::as_object);
        let nodes = nodes.into_iter().flat_map(|nodes| nodes.iter());
        for (name, node) in nodes.filter_map(|(_, node)| Some((node.get("run")?.as_str()?, node))) {
            let declared = node.get("version").and_then(Value::as_str);
            if let Some(need) = tasks.needs(name, declared).iter().find(|need| !resources.has(need)) {
                let what = format!("the task {name:?} cannot be run: {}", need.missing());
                return Err(EngineError::no_resource(what));
            }
        }
    }
    Ok(())
}

/// The same for a workflow.
pub(crate) fn check_tasks(
    workflow: &Workflow,
    tasks: &Tasks,
    resources: &Resources,
) -> Result<(), EngineError> {
    check_dags(workflow.lowered().dags().iter().map(|(_, dag)| dag), tasks, resources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jaren_json::{to_text, value};

    #[test]
    fn the_bytes_are_those_of_the_text_or_a_few_more() {
        let odd = value!({ "a\"\\\n\u{1}": [1, -1, 999, 1e9, 0.1, f64::MIN], "": "ü\u{7f}", "x": [null, true, {}] });
        let exact = to_text(&odd).unwrap().len();
        let found = text_bytes(&odd, 1 << 20).unwrap();
        assert!((exact..2 * exact).contains(&found), "{exact} {found}");
        assert_eq!(text_bytes(&odd, found - 1), None);
    }

    #[test]
    fn what_is_too_deep_or_too_large_is_told_with_the_limit() {
        let nested = |depth| (0..depth).fold(value!(1), |inner, _| Value::from([inner]));
        assert_eq!(defect(&nested(VALUE_DEPTH_MAX)), None);
        assert!(defect(&nested(VALUE_DEPTH_MAX + 1)).unwrap().contains("at most 500"));
        let long = |bytes| Value::from("x".repeat(bytes).as_str());
        assert_eq!(defect(&long(VALUE_BYTES_MAX - 3)), None);
        assert!(defect(&long(VALUE_BYTES_MAX)).unwrap().contains("16777216 bytes"));
    }
}
