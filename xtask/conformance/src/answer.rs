//! Comparing what we answer with what a case expects.

use jaren_json::{Array, Object, Pointer, Value, to_text};

/// What beside the values must agree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Whether the order of members has a meaning.
    pub(crate) order: bool,
    /// Whether numbers agree within 1e-9, absolute or relative.
    pub(crate) approx: bool,
}

impl Rules {
    /// For snapshots, identities and the envelope of an answer.
    pub(crate) const EXACT: Self = Self { order: false, approx: false };
}

/// A count or a position as a value.
#[expect(clippy::cast_precision_loss, reason = "what cases count is far below 2^53")]
pub(crate) fn count(count: u64) -> Value {
    Value::Number(count as f64)
}

/// The expected value as it was answered: `{"@number": "NaN"}` stands for a number that JSON cannot hold.
pub(crate) fn decode(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(decode).collect::<Array>()),
        Value::Object(members) => special(members).map_or_else(
            || Value::Object(members.iter().map(|(name, value)| (name, decode(value))).collect::<Object>()),
            Value::Number,
        ),
        other => other.clone(),
    }
}

fn special(members: &Object) -> Option<f64> {
    match members.get("@number")?.as_str()? {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        "-0" => Some(-0.0),
        _ => None,
    }
}

/// The first difference, with its place: `at /items/0: expected 3, found "x"`.
pub(crate) fn same(expected: &Value, found: &Value, rules: Rules) -> Result<(), String> {
    let result = same_at(&Pointer::default(), expected, found, rules);
    match (result, expected.get("error"), found.get("error")) {
        // Of two errors the whole of both says more than the member in which they differ.
        (Err(_), Some(a), Some(b)) => Err(differ(&Pointer::default(), &short(a), &short(b))),
        (result, ..) => result,
    }
}

fn same_at(at: &Pointer, expected: &Value, found: &Value, rules: Rules) -> Result<(), String> {
    match (expected, found) {
        (Value::Number(a), Value::Number(b)) if same_number(*a, *b, rules) => Ok(()),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b.iter()).enumerate() {
                same_at(&at.child_index(index), a, b, rules)?;
            }
            Ok(())
        }
        (Value::Object(a), Value::Object(b)) => same_members(at, a, b, rules),
        (Value::Null, Value::Null) => Ok(()),
        (Value::Bool(a), Value::Bool(b)) if a == b => Ok(()),
        (Value::String(a), Value::String(b)) if a == b => Ok(()),
        _ => Err(differ(at, &short(expected), &short(found))),
    }
}

fn same_members(at: &Pointer, a: &Object, b: &Object, rules: Rules) -> Result<(), String> {
    if at.is_root() && a.iter().any(|(name, _)| !b.contains_key(name)) {
        // An answer of another kind: the whole of both says more.
        return Err(differ(at, &short(&Value::from(a.clone())), &short(&Value::from(b.clone()))));
    }
    for (name, value) in a {
        match b.get(name) {
            Some(found) => same_at(&at.child(name), value, found, rules)?,
            None => return Err(differ(&at.child(name), &short(value), "no such member")),
        }
    }
    if let Some((name, value)) = b.iter().find(|(name, _)| !a.contains_key(name)) {
        return Err(differ(&at.child(name), "no such member", &short(value)));
    }
    let names =
        |object: &Object| object.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>().join(", ");
    if rules.order && names(a) != names(b) {
        return Err(differ(at, &format!("the order {}", names(a)), &names(b)));
    }
    Ok(())
}

/// Bit for bit, except that one NaN is as good as another.
fn same_number(a: f64, b: f64, rules: Rules) -> bool {
    if a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) {
        return true;
    }
    rules.approx && (a - b).abs() <= 1e-9_f64.max(1e-9 * a.abs().max(b.abs()))
}

/// A difference at a place.
pub(crate) fn differ(at: &Pointer, expected: &str, found: &str) -> String {
    let at = if at.is_root() { String::new() } else { format!("at {at}: ") };
    format!("{at}expected {expected}, found {found}")
}

/// A value on one short line, numbers that JSON cannot hold included.
pub(crate) fn short(value: &Value) -> String {
    let text = to_text(value).unwrap_or_else(|_| format!("{value:?}"));
    match text.char_indices().nth(100) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use jaren_json::value;

    use super::*;

    #[test]
    fn numbers_are_compared_to_the_bit() {
        let minus_zero = decode(&value!({"@number": "-0"}));
        assert!(same(&minus_zero, &Value::Number(-0.0), Rules::EXACT).is_ok());
        assert!(same(&minus_zero, &Value::Number(0.0), Rules::EXACT).is_err());
        assert!(same(&decode(&value!({"@number": "NaN"})), &Value::Number(f64::NAN), Rules::EXACT).is_ok());
        assert!(same(&value!(1), &Value::Number(1.0 + 1e-12), Rules::EXACT).is_err());
    }

    #[test]
    fn approximate_numbers_agree_absolutely_or_relatively() {
        let approx = Rules { order: true, approx: true };
        assert!(same(&value!(1e12), &Value::Number(1e12 + 100.0), approx).is_ok());
        assert!(same(&value!(0), &Value::Number(1e-10), approx).is_ok());
        assert!(same(&value!(1), &Value::Number(1.0 + 1e-8), approx).is_err());
        assert!(same(&value!("a"), &value!("b"), approx).is_err());
    }

    #[test]
    fn the_order_of_members_counts_only_where_it_has_a_meaning() {
        let (a, b) = (value!({"x": 1, "y": [2]}), value!({"y": [2], "x": 1}));
        assert!(same(&a, &b, Rules::EXACT).is_ok());
        let found = same(&a, &b, Rules { order: true, approx: false }).unwrap_err();
        assert_eq!(found, "expected the order x, y, found y, x");
    }

    #[test]
    fn a_difference_names_its_place() {
        let found = same(&value!({"a": [1, 2]}), &value!({"a": [1, 3]}), Rules::EXACT).unwrap_err();
        assert_eq!(found, "at /a/1: expected 2, found 3");
        let difference = |expected: Value, found: Value| same(&expected, &found, Rules::EXACT).unwrap_err();
        assert_eq!(difference(value!([{"a": 1}]), value!([{}])), "at /0/a: expected 1, found no such member");
        assert_eq!(difference(value!({}), value!({"a": 1})), "at /a: expected no such member, found 1");
        assert_eq!(difference(value!({"a": 1}), value!({"b": 1})), r#"expected {"a":1}, found {"b":1}"#);
        assert_eq!(
            same(&value!([1]), &value!([1, 2]), Rules::EXACT).unwrap_err(),
            "expected [1], found [1,2]"
        );
    }
}
