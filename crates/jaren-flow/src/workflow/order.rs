//! The member order that lowering works in.
//!
//! Two documents with the same canonical text are the same document to a resume, so their members are put in one
//! order before anything reads them: the canonical order, except that names that are array indices come first and by
//! their number. That is the order in which the formats' reference walks a canonical document, and the lowered lists
//! keep it.

use jaren_json::Value;

/// The same value with every object in that order, and `-0` as canonical text has it: `0`.
///
/// Recurses once a level: the caller bounds the depth.
pub(super) fn ordered(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
        Value::Number(number) => Value::Number(number + 0.0),
        Value::Array(items) => Value::Array(items.iter().map(ordered).collect()),
        Value::Object(object) => {
            let mut indices: Vec<(u32, &str, &Value)> = Vec::new();
            let mut names: Vec<(&str, &Value)> = Vec::with_capacity(object.len());
            for (name, value) in object.iter_sorted() {
                match array_index(name) {
                    Some(index) => indices.push((index, name, value)),
                    None => names.push((name, value)),
                }
            }
            indices.sort_by_key(|(index, _, _)| *index);
            let indices = indices.into_iter().map(|(_, name, value)| (name, value));
            Value::Object(indices.chain(names).map(|(name, value)| (name, ordered(value))).collect())
        }
    }
}

/// The number of a name that is an array index: canonical decimal, less than 2^32 - 1.
fn array_index(name: &str) -> Option<u32> {
    let canonical = name == "0" || !name.starts_with('0');
    let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    name.parse().ok().filter(|index| canonical && digits && *index < u32::MAX)
}

#[cfg(test)]
mod tests {
    use jaren_json::{Value, value};

    use super::ordered;

    #[test]
    fn indices_come_first_by_number_and_the_rest_canonically() {
        let document = value!({ "b": { "y": 1, "x": 2 }, "10": 0, "01": 0, "2": 0, "4294967295": 0 });
        let ordered = ordered(&document);
        let names: Vec<&str> = ordered.as_object().unwrap().iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["2", "10", "01", "4294967295", "b"]);
        let inner = ordered.get("b").and_then(Value::as_object).unwrap();
        assert_eq!(inner.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(ordered, document);
    }
}
