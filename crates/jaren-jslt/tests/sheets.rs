//! What a host sees: reports, errors, parameters, sharing.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use jaren_jslt::{CompileOptions, Stylesheet, TransformError};
use jaren_json::{Diagnostic, Value, value};
use jaren_query::{Limits, SchemaTest, Schemas};

fn compile(document: &Value) -> Stylesheet {
    Stylesheet::compile(document).unwrap_or_else(|report| panic!("{report:?}"))
}

fn fails(document: &Value, input: &Value) -> TransformError {
    compile(document).transform(input).unwrap_err()
}

#[test]
fn a_stylesheet_is_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug>(_: &T) {}
    shared(&compile(&value!([])));
    assert_eq!(size_of::<Stylesheet>(), size_of::<usize>());
    assert_eq!(size_of::<TransformError>(), size_of::<usize>());
}

#[test]
fn every_defect_is_reported() {
    let report = Stylesheet::compile(&value!({
        "rules": [
            {"match": "$.a[", "body": {"x": {"$nope": 1}, "y": {"$apply": []}}},
            {"match": {}, "mode": 1, "priority": "high", "note": 1},
            {"match": {"schema": true}, "body": 1},
            7
        ],
        "unmatched": "copy",
        "modes": {"m": {}}
    }))
    .unwrap_err();
    let found: Vec<String> =
        report.iter().map(|defect| format!("{} {}", defect.code(), defect.pointer())).collect();
    assert_eq!(
        found,
        [
            // The shape of the document comes first (sections 2 and 3.1) …
            "JT0001 /$jslt",
            "JT0001 /unmatched",
            "JT0001 /modes/m/unmatched",
            "JT0002 /rules/1/note",
            "JT0002 /rules/1/body",
            "JT0002 /rules/1/mode",
            "JT0002 /rules/1/priority",
            "JT0003 /rules/1/match",
            "JT0002 /rules/3",
            // … then what the rules of a right shape hold.
            "JT0003 /rules/0/match",
            "JT0007 /rules/0/body/x",
            "JT0007 /rules/0/body/y/$apply",
            "JT0006 /rules/2/match/schema",
        ]
    );
    let cause = report.iter().find(|defect| defect.code() == "JT0007").and_then(Diagnostic::cause).unwrap();
    assert_eq!((cause.code(), cause.pointer().as_str()), ("JQ0002", "/x"));
}

#[test]
fn an_error_can_be_kept_compared_and_handed_on() {
    fn is_an_error<E: std::error::Error + Clone + PartialEq + Send + Sync + 'static>() {}
    is_an_error::<TransformError>();
}

#[test]
fn what_was_probably_meant_is_suggested() {
    let sheet = value!({"$jslt": "0.1", "ruels": [], "unmatched": "shared", "rules": [{"boddy": 1, "body": {"$aply": "$"}}]});
    let report = Stylesheet::compile(&sheet).unwrap_err();
    let messages: Vec<_> = report.iter().map(|defect| defect.cause().unwrap_or(defect).message()).collect();
    let meant = ["rules", "share", "body", "$apply"].map(|name| format!("did you mean '{name}'?"));
    assert_eq!(messages.len(), meant.len());
    for (message, meant) in messages.iter().zip(meant) {
        assert!(message.ends_with(&meant), "{message}");
    }
}

#[test]
fn errors_say_where_in_the_input() {
    let input = value!({"it's": [1, "x"]});
    let error = fails(&value!([{"match": "$.*[*]", "body": {"$add": ["$", 1]}}]), &input);
    assert_eq!(error.code(), "JT2004");
    assert_eq!(error.pointer().as_str(), "/0/body/$add/0");
    assert_eq!(error.message(), r"rule /0 failed at $['it\'s'][1]");
    let cause = error.cause().unwrap();
    assert_eq!(cause.message(), "expected a number, found string");
    assert_eq!((cause.code(), cause.pointer().as_str()), ("JQ2001", "/$add/0"));

    let error = fails(
        &value!([{"match": "$", "body": {"$apply": ["x", "m"]}}, {"mode": "m", "body": {"$neg": "$"}}]),
        &input,
    );
    assert_eq!(error.message(), "rule /1 failed at a value without a location");
    assert_eq!(error.cause().unwrap().cause(), None, "wrapped once, however many bodies are around it");

    let error = fails(&value!([{"match": "$.*", "body": {"$seq": [1, 2]}}]), &input);
    assert_eq!(error.message(), r"expected at most one item for $['it\'s'], found 2");

    let unmatched = value!({"$jslt": "0.1", "rules": [{"match": "$", "body": {"$apply": ["$.*[1]", "m"]}}],
                            "modes": {"m": {"unmatched": "error"}}});
    assert_eq!(fails(&unmatched, &input).message(), r"no rule of mode 'm' matches $['it\'s'][1]");
}

#[test]
fn parameters_are_bound_by_name() {
    let document = value!([
        {"match": "$.a", "body": {"$add": ["$rate", "$root.a"]}},
        {"match": "$.b", "body": ["$path", "$other", "$rate"]}
    ]);
    let sheet = compile(&document);
    assert_eq!(sheet.parameters().collect::<Vec<_>>(), ["rate", "other"]);
    let (input, one) = (value!({"a": 2, "b": 0}), value!(1));
    // The engine's own names cannot be bound (section 8.2).
    let parameters = [("root", &one), ("rate", &one), ("path", &one), ("other", &Value::Null)];
    let found = sheet.transform_with(&input, &parameters).unwrap().unwrap();
    assert_eq!(found, value!({"a": 3, "b": ["$['b']", null, 1]}));
    let error = sheet.transform(&input).unwrap_err();
    assert_eq!((error.code(), error.cause().unwrap().code()), ("JT2004", "JQ2006"));

    let closed = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let mut options = CompileOptions::default();
        options.bodies.externals = Some(names);
        Stylesheet::compile_with(&document, &options)
    };
    assert!(closed(&["rate", "other"]).is_ok());
    let report = closed(&["rate"]).unwrap_err();
    assert_eq!(report.len(), 1);
    assert_eq!(report.first().pointer().as_str(), "/1/body/1");
    assert_eq!(report.first().cause().unwrap().code(), "JQ0005");
}

#[test]
fn limits_hold_in_each_body() {
    let limits = Limits::new().with_steps(std::num::NonZeroU64::new(20));
    let mut options = CompileOptions::default();
    options.bodies.limits = limits;
    let document = value!([{"match": "$[*]", "body": {"$count": {"$range": [1, "$"]}}},
                           {"match": "$[2]", "body": {"$for": {"x": {"$range": [1, "$"]}}, "$return": ["$x"]}}]);
    let sheet = Stylesheet::compile_with(&document, &options).unwrap();
    assert_eq!(sheet.transform(&value!([5, 5])).unwrap(), Some(value!([5, 5])));
    let error = sheet.transform(&value!([5, 5, 50])).unwrap_err();
    assert_eq!((error.code(), error.cause().unwrap().code()), ("JT2004", "JQ2009"));
}

#[test]
fn schemas_are_compiled_once() {
    let mut options = CompileOptions::default();
    options.bodies.schemas = Some(Schemas::new(|schema| match schema.as_str() {
        Some(name) => {
            let name = name.to_owned();
            Ok(SchemaTest::new(move |item| item.kind().as_str() == name))
        }
        None => Err("expected the name of a type"),
    }));
    let document = value!([{"match": {"schema": "number"}, "body": {"$neg": "$"}},
                           {"match": {"path": "$[*]", "schema": "number"}, "body": {"$valid": ["$", "string"]}}]);
    let sheet = Stylesheet::compile_with(&document, &options).unwrap();
    assert_eq!(sheet.transform(&value!([1, "x", [2]])).unwrap(), Some(value!([false, "x", [-2]])));
    let report =
        Stylesheet::compile_with(&value!([{"match": {"schema": 5}, "body": 1}]), &options).unwrap_err();
    assert_eq!(report.first().message(), "the host refuses the schema: expected the name of a type");
}

#[test]
fn what_no_rule_touched_is_the_input_s_own() {
    let input =
        value!({"a": {"b": [{"c": 1}, {"d": 2}]}, "e": {"f": [0]}, "text": "too long to be kept inline"});
    let shared = |document: Value| compile(&document).transform(&input).unwrap().unwrap();
    let at = |value: &Value, pointer: &str| {
        value.pointer(&jaren_json::Pointer::parse(pointer).unwrap()).unwrap().clone()
    };

    let found = shared(value!([{"match": "$.a.b[0].c", "body": 5}]));
    assert_eq!(at(&found, "/a/b/0"), value!({"c": 5}));
    for pointer in ["/a/b/1", "/e", "/text"] {
        assert!(at(&found, pointer).ptr_eq(&at(&input, pointer)), "{pointer}");
    }
    // A rule that answers the value itself changes nothing, so the whole input is the answer (section 5.1).
    for document in [
        value!([]),
        value!([{"match": "$..*", "body": "$"}]),
        value!([{"match": "$.text", "body": {"$concat": ["$"]}}]),
        value!([{"match": "$..[1]", "body": {"$apply": ["$", "none"]}}]),
        value!([{"match": "$.nowhere", "body": 1}]),
    ] {
        assert!(shared(document.clone()).ptr_eq(&input), "{document}");
    }
    // Bodies share what their paths select.
    assert!(at(&shared(value!([{"match": "$", "body": {"x": "$.e"}}])), "/x").ptr_eq(&at(&input, "/e")));
    // `fresh` governs what is rebuilt, not what bodies answer.
    let fresh =
        shared(value!({"$jslt": "0.1", "unmatched": "fresh", "rules": [{"match": "$.a.b", "body": "$"}]}));
    assert_eq!(fresh, input);
    assert!(!fresh.ptr_eq(&input) && !at(&fresh, "/e/f").ptr_eq(&at(&input, "/e/f")));
    assert!(at(&fresh, "/a/b").ptr_eq(&at(&input, "/a/b")));
}

/// Differences: the reference would put the name that looks like an index first.
#[test]
fn members_keep_their_order() {
    let body = value!({"$map": [["b", 1], ["1", 2]]});
    let found = compile(&value!([{"match": "$", "body": body}])).transform(&Value::Null).unwrap().unwrap();
    assert_eq!(found.to_string(), r#"{"b":1,"1":2}"#);
}

/// Section 5.1 of the query format: `$` in a filter is the input of the body, which is the value that the rule matched.
#[test]
fn filters_in_selectors_see_the_value() {
    let sheet = compile(&value!([
        {"match": "$.x", "body": [{"$apply": "$.a[?@ == $.b]"}, {"$apply": "$root.a[?@ == $.b]"}]},
        {"match": "$..a[*]", "body": "$path"}
    ]));
    let found =
        sheet.transform(&value!({"a": [1, 2, 3], "b": 3, "x": {"a": [1, 2], "b": 2}})).unwrap().unwrap();
    assert_eq!(found.get("x"), Some(&value!(["$['x']['a'][1]", "$['a'][1]"])));
}
