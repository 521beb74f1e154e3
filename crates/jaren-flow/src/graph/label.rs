//! What edges and nodes say: queries as people write them, durations, triggers.

use jaren_json::Value;

/// A query longer than this is cut.
const QUERY_CHARACTERS_MAX: usize = 44;
/// Operators nest this deep before the rest is written as JSON.
const QUERY_DEPTH_MAX: usize = 8;

const BINARY: [(&str, &str); 13] = [
    ("eq", "="),
    ("ne", "≠"),
    ("lt", "<"),
    ("le", "≤"),
    ("gt", ">"),
    ("ge", "≥"),
    ("add", "+"),
    ("sub", "−"),
    ("mul", "×"),
    ("div", "÷"),
    ("mod", "mod"),
    ("and", "and"),
    ("or", "or"),
];

/// A query in one line: operators between or before their operands, the rest as JSON, cut where it is long.
pub(super) fn query(document: &Value) -> String {
    let whole = infix(document, 0, true);
    match whole.char_indices().nth(QUERY_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", whole.get(..end).unwrap_or_default()),
        None => whole,
    }
}

/// `is_alone` where no operator stands beside it.
fn infix(document: &Value, depth: usize, is_alone: bool) -> String {
    let operation = match document {
        Value::String(text) if text.starts_with('$') => return text.to_string(),
        Value::Object(object) if object.len() == 1 && depth < QUERY_DEPTH_MAX => object.iter().next(),
        _ => None,
    };
    let Some((name, operand)) =
        operation.and_then(|(name, operand)| Some((name.strip_prefix('$')?, operand)))
    else {
        return document.to_string();
    };
    let operands = match operand {
        Value::Array(operands) => operands.as_slice(),
        other => std::slice::from_ref(other),
    };
    let sign = BINARY.iter().find(|(operator, _)| *operator == name && operands.len() > 1);
    let operands: Vec<String> =
        operands.iter().map(|operand| infix(operand, depth + 1, sign.is_none())).collect();
    match sign {
        Some((_, sign)) if is_alone => operands.join(&format!(" {sign} ")),
        Some((_, sign)) => format!("({})", operands.join(&format!(" {sign} "))),
        None => format!("{name}({})", operands.join(", ")),
    }
}

/// A duration in the largest unit that fits it exactly.
pub(super) fn duration(ms: f64) -> String {
    let units = [(86_400_000.0, "d"), (3_600_000.0, "h"), (60_000.0, "min"), (1000.0, "s")];
    let (length, name) =
        units.into_iter().find(|(length, _)| ms > 0.0 && ms % length == 0.0).unwrap_or((1.0, "ms"));
    format!("{} {name}", ms / length)
}

/// The guard of a transition in brackets, where there is one.
pub(super) fn guard(transition: &Value) -> Option<String> {
    let guard = transition.get("guard").filter(|guard| !guard.is_null())?;
    Some(format!("[{}]", query(guard)))
}

/// The names of a list of effects, after `what`.
pub(super) fn effects(list: Option<&Value>, what: &str) -> Option<String> {
    let effects = list?.as_array().filter(|effects| !effects.is_empty())?;
    let names: Vec<&str> = effects.iter().filter_map(|effect| effect.get("run")?.as_str()).collect();
    Some(format!("{what}/ {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use jaren_json::value;

    use super::*;

    #[test]
    fn queries_read_as_people_write_them() {
        assert_eq!(query(&value!({ "$gt": ["$.context.n", 1] })), "$.context.n > 1");
        let nested = value!({ "$and": ["$.a", { "$not": { "$eq": ["$.b", "x"] } }] });
        assert_eq!(query(&nested), r#"$.a and not($.b = "x")"#);
        assert_eq!(query(&value!({ "$count": "$.a[*]" })), "count($.a[*])");
        assert_eq!(query(&value!({ "a": "$.b" })), r#"{"a":"$.b"}"#);
        assert_eq!(query(&value!("$.é".repeat(40).as_str())).chars().count(), QUERY_CHARACTERS_MAX + 1);
    }

    #[test]
    fn durations_take_the_largest_unit_that_fits() {
        let shown = [0.0, 50.0, 1500.0, 60_000.0, 90_000.0, 172_800_000.0].map(duration);
        assert_eq!(shown, ["0 ms", "50 ms", "1500 ms", "1 min", "90 s", "2 d"]);
    }
}
