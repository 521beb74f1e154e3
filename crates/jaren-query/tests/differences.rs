//! Where we decide otherwise than the reference does, and where we follow it against the letter of the format
//! (docs/differences.md).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use jaren_json::{Value, value};
use jaren_query::{Query, Scope};

fn ask(query: impl Into<Value>) -> Result<Vec<Value>, &'static str> {
    Query::compile(&query.into()).unwrap().items(&Scope::value(&Value::Null)).map_err(|error| error.code())
}

fn text(query: impl Into<Value>) -> String {
    ask(query).unwrap().first().unwrap().to_string()
}

#[test]
fn members_keep_their_order_and_every_name_is_a_name() {
    assert_eq!(text(value!({"$map": [["b", 1], ["2", 2], ["1", 3]]})), r#"{"b":1,"2":2,"1":3}"#);
    assert_eq!(text(value!({"$const": {"__proto__": {"x": 1}, "a": 2}})), r#"{"__proto__":{"x":1},"a":2}"#);
    let entries = value!({"$from-entries": {"$const": {"key": "__proto__", "value": 1}}});
    assert_eq!(text(entries), r#"{"__proto__":1}"#);
}

#[test]
fn a_join_cannot_be_told_from_two_loops() {
    let fails = value!({"$seq": [{"$idiv": [1, 0]}]});
    let equal = value!({"$eq": ["$a", "$b"]});
    let join = |a: Value, b: Value| value!({"$for": {"a": a, "b": b}, "$where": (&equal), "$return": "$b"});
    assert_eq!(ask(join(value!({"$seq": []}), fails.clone())), Ok(vec![]), "no outer tuple, no inner source");
    assert_eq!(ask(join(value!({"$neg": "x"}), fails)), Err("JQ2001"), "the outer source fails first");
    assert_eq!(
        ask(join(value!(5), value!({"$range": [1, 1_000_001]}))),
        Ok(vec![value!(5)]),
        "a range is not kept"
    );
}

#[test]
fn the_sum_of_zeros_and_the_fractions_of_an_instant() {
    let sums = ask(value!({"$seq": [{"$sum": (-0.0)}, {"$sum": {"$seq": [(-0.0), (-0.0)]}}]})).unwrap();
    let signs: Vec<bool> = sums.iter().map(|sum| sum.as_f64().unwrap().is_sign_negative()).collect();
    assert_eq!(signs, [true, false]);
    assert_eq!(ask(value!({"$datetime": 0.001})), Ok(vec![value!("1970-01-01T00:00:00.000001Z")]));
}

#[test]
fn letters_of_a_date_format() {
    let format = |letters: &str| text(value!({"$date-format": ["2026-07-27T04:05:06.078+02:00", letters]}));
    let answers = ["X", "yyyyy", "SSSSSS", "k"].map(format);
    assert_eq!(answers, ["\"+02:00\"", "\"20262026\"", "\"078078\"", "\"k\""]);
}

#[test]
fn anchors_of_a_regular_expression() {
    let matches = |text: &str, pattern: &str| ask(value!({"$match": [text, pattern]})).unwrap();
    assert_eq!(matches("^a", "^a"), [value!(false)]);
    assert_eq!(matches("a", "^a"), [value!(true)]);
}
