//! The depth guard, and that nothing overflows a stack (section 5.4).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::num::NonZeroU64;
use std::thread;

use jaren_jslt::{CompileOptions, Stylesheet, TransformError};
use jaren_json::{Array, Value, value};

/// Far less than any thread has by default.
const STACK: usize = 128 << 10;

/// What a transform answers on a thread with hardly any stack.
fn transform(document: &Value, input: Value, depth_max: usize) -> Result<Option<Value>, TransformError> {
    let options = CompileOptions { depth_max, ..CompileOptions::default() };
    let sheet = Stylesheet::compile_with(document, &options).unwrap();
    thread::Builder::new().stack_size(STACK).spawn(move || sheet.transform(&input)).unwrap().join().unwrap()
}

fn nested(times: usize, inner: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..times).fold(inner, |inner, _| wrap(inner))
}

fn in_list(inner: Value) -> Value {
    Value::from(Array::from(vec![inner]))
}

#[test]
fn an_input_as_deep_as_the_guard_is_transformed() {
    let deep = |leaf: i32| nested(1024, value!(leaf), in_list);
    for rules in [
        value!([{"body": {"$if": [{"$is-array": "$"}, [{"$apply": "$[*]"}], {"$add": ["$", 1]}]}}]),
        value!([{"match": "$..[?@ == 1]", "body": 2}]),
        value!({"$jslt": "0.1", "rules": [{"match": "$..*", "priority": -2, "body": 2}, {"match": "$..[0]",
            "body": {"$if": [{"$is-array": "$"}, {"$apply": ["$", "m"]}, 2]}},
            {"mode": "m", "body": [{"$apply": ["$[*]", ""]}]}]}),
    ] {
        let modes = rules.get("rules").is_some();
        let found = transform(&rules, if modes { nested(340, value!(1), in_list) } else { deep(1) }, 1024);
        assert_eq!(found.unwrap(), Some(if modes { nested(340, value!(2), in_list) } else { deep(2) }));
    }
    let rules = value!({"$jslt": "0.1", "rules": [], "unmatched": "fresh"});
    assert_eq!(transform(&rules, deep(1), 1024).unwrap(), Some(deep(1)));
    assert_eq!(transform(&rules, in_list(deep(1)), 1024).unwrap_err().code(), "JT2001");
}

#[test]
fn a_rule_that_applies_itself_ends() {
    for depth_max in [0, 1, 1024, usize::MAX] {
        let error = transform(&value!([{"body": {"$apply": ["$"]}}]), value!(1), depth_max).unwrap_err();
        assert_eq!((error.code(), error.pointer().as_str()), ("JT2001", ""));
    }
    // The deepest body that compiles, as often as the guard allows.
    type Wrap = fn(Value) -> Value;
    let wraps: [Wrap; 4] = [
        |inner| value!({"a": inner}),
        |inner| value!({"$for": {"a": 1}, "$return": inner}),
        |inner| value!({"$for": {"a": inner}, "$groupby": {"g": "$a"}, "$orderby": "$g", "$return": "$a"}),
        |inner| value!({"$if": [{"$not": inner}, 1]}),
    ];
    for wrap in wraps {
        for times in [60, 120] {
            let body = nested(times, value!({"$apply": "$"}), wrap);
            let Ok(_) = Stylesheet::compile(&value!([{"body": (body.clone())}])) else { continue };
            assert_eq!(transform(&value!([{"body": body}]), value!(1), 1024).unwrap_err().code(), "JT2001");
        }
    }
}

#[test]
fn the_guard_names_the_mode() {
    // Section 5.4 with 2.1: the place is what decides the mode's disposition.
    let ping = |modes: Value| {
        value!({"$jslt": "0.1", "modes": modes, "unmatched": "fresh", "rules": [
            {"body": {"$apply": ["$", "m"]}}, {"mode": "m", "body": {"$apply": ["$", ""]}}]})
    };
    let place = |document: Value, depth_max| {
        transform(&document, value!(1), depth_max).unwrap_err().pointer().to_string()
    };
    assert_eq!(place(ping(value!({})), 4), "/unmatched");
    assert_eq!(place(ping(value!({"m": {"unmatched": "share"}})), 4), "/modes/m/unmatched");
    assert_eq!(place(ping(value!({"m": {"unmatched": "share"}})), 5), "/unmatched");
}

#[test]
fn dispatches_can_be_counted() {
    // Depth alone does not bound this: it would take 2^60 dispatches.
    let document = value!([{"body": {"$if": [
        {"$gt": [{"$count": "$..*"}, 60]}, 0, {"$seq": [{"$apply": [["$"]]}, {"$apply": [["$"]]}]}]}}]);
    let options = CompileOptions { dispatches_max: NonZeroU64::new(10_000), ..CompileOptions::default() };
    let error = Stylesheet::compile_with(&document, &options).unwrap().transform(&value!(1)).unwrap_err();
    assert_eq!((error.code(), error.pointer().as_str()), ("JR2001", ""));

    let document = value!([{"match": "$[*]", "body": {"$neg": "$"}}]);
    for (dispatches, ends) in [(3, false), (4, true)] {
        let options =
            CompileOptions { dispatches_max: NonZeroU64::new(dispatches), ..CompileOptions::default() };
        let sheet = Stylesheet::compile_with(&document, &options).unwrap();
        assert_eq!(sheet.transform(&value!([1, 2, 3])).is_ok(), ends);
    }
}
