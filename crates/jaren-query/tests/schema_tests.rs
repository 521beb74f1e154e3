//! Schemas in queries (sections 6.8 and 8.11), compiled by a host that knows the names of types.

use jaren_json::{Value, value};
use jaren_query::{CompileOptions, Query, SchemaTest, Schemas, Scope};

fn options() -> CompileOptions {
    let schemas = Schemas::new(|schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some(name) => {
            let name = name.to_owned();
            Ok(SchemaTest::new(move |item| item.kind().as_str() == name))
        }
        None => Err("expected a type"),
    });
    CompileOptions::new().with_schemas(schemas)
}

fn run(document: &Value) -> Result<Vec<Value>, (&'static str, String)> {
    let input = value!({"n": [1, 2], "m": [1, "x"], "s": "x"});
    let query = Query::compile_with(document, &options())
        .map_err(|report| (report.first().code(), report.first().pointer().to_string()))?;
    query.items(&Scope::value(&input)).map_err(|error| (error.code(), error.pointer().to_string()))
}

#[test]
fn each_item_is_tested() {
    let number = value!({"type": "number"});
    for (document, expected) in [
        (value!({"$valid": ["$.n[*]", (number.clone())]}), vec![value!(true)]),
        (value!({"$valid": ["$.m[*]", (number.clone())]}), vec![value!(false)]),
        (value!({"$valid": ["$.n", (number.clone())]}), vec![value!(false)]),
        (value!({"$valid": ["$.none", (number.clone())]}), vec![value!(true)]),
        (value!({"$assert": ["$.n[*]", (number.clone())]}), vec![value!(1), value!(2)]),
        (
            value!({"$for": {"x": {"$in": "$.m[*]", "$at": "i"}}, "$as": {"i": (number.clone())}, "$return": "$i"}),
            vec![value!(0), value!(1)],
        ),
        (value!({"$let": {"x": "$.none"}, "$as": {"x": (number.clone())}, "$return": 1}), vec![value!(1)]),
    ] {
        assert_eq!(run(&document), Ok(expected), "{document}");
    }
}

#[test]
fn what_fails_says_where() {
    let number = value!({"type": "number"});
    let phrase = |schema: Value| value!({"$for": {"x": "$.m[*]"}, "$as": {"x": schema}, "$return": "$x"});
    for (document, code, place) in [
        (value!([{"$assert": ["$.m[*]", (number.clone())]}]), "JQ2008", "/0/$assert"),
        (phrase(number.clone()), "JQ2008", "/$as/x"),
        (phrase(value!(5)), "JQ0009", "/$as/x"),
        (value!({"$valid": ["$", {"$ref": "#"}]}), "JQ0009", "/$valid"),
        (value!({"$valid": ["$"]}), "JQ0003", "/$valid"),
        (value!({"$valid": [{"$nope": 1}, 5]}), "JQ0002", "/$valid/0"),
        (value!({"$for": {"x": 1}, "$as": {"y": (number.clone())}, "$return": 1}), "JQ0005", "/$as/y"),
        (value!({"$valid": [{"$add": ["$.s", 1]}, (number.clone())]}), "JQ2001", "/$valid/0/$add/0"),
    ] {
        assert_eq!(run(&document), Err((code, place.to_owned())), "{document}");
    }
}

#[test]
fn without_a_type_test_no_schema_compiles() {
    for document in
        [value!({"$valid": [1, true]}), value!({"$for": {"x": 1}, "$as": {"x": true}, "$return": 1})]
    {
        assert_eq!(Query::compile(&document).unwrap_err().first().code(), "JQ0008");
    }
}
