//! The depth guard, and that nothing overflows a stack (section 5.4).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::num::NonZeroU64;
use std::thread;

use jaren_jslt::{CompileOptions, Stylesheet, TransformError};
use jaren_json::{Array, Value, value};
use jaren_query::Limits;

/// Far less than any thread has by default.
const STACK: usize = 128 << 10;

/// What a transform answers on a thread with hardly any stack.
fn transform(document: &Value, input: Value, depth_max: usize) -> Result<Option<Value>, TransformError> {
    let options = CompileOptions::new().with_depth_max(depth_max);
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
    let options = CompileOptions::new().with_dispatches_max(NonZeroU64::new(10_000));
    let error = Stylesheet::compile_with(&document, &options).unwrap().transform(&value!(1)).unwrap_err();
    assert_eq!((error.code(), error.pointer().as_str()), ("JR2001", ""));

    let document = value!([{"match": "$[*]", "body": {"$neg": "$"}}]);
    for (dispatches, ends) in [(3, false), (4, true)] {
        let options = CompileOptions::new().with_dispatches_max(NonZeroU64::new(dispatches));
        let sheet = Stylesheet::compile_with(&document, &options).unwrap();
        assert_eq!(sheet.transform(&value!([1, 2, 3])).is_ok(), ends);
    }
}

/// What a transform answers that may do so much.
fn limited(document: &Value, input: &Value, limits: Limits) -> Result<Option<Value>, TransformError> {
    let bodies = jaren_query::CompileOptions::new().with_limits(limits);
    let options = CompileOptions::new().with_bodies(bodies);
    Stylesheet::compile_with(document, &options).unwrap().transform(input)
}

#[test]
fn limits_hold_for_all_bodies_together() {
    let document = value!([{"match": "$[*]", "body": {"$add": ["$", 1]}}]);
    let input: Value = (0..100).map(Value::from).collect();
    // The input and each element are dispatched, and each body has three expressions.
    let steps = |steps| limited(&document, &input, Limits::new().with_steps(NonZeroU64::new(steps)));
    assert!(steps(401).is_ok());
    let error = steps(400).unwrap_err();
    assert_eq!((error.code(), error.pointer().as_str()), ("JT2004", "/0/body/$add/1"));
    assert_eq!(error.cause().map(jaren_json::Diagnostic::code), Some("JQ2009"));
    assert_eq!(steps(397).unwrap_err().code(), "JR2001");
}

#[test]
fn no_stylesheet_works_without_end() {
    let work = |document: &Value, input: &Value| {
        let error = limited(document, input, Limits::new().with_work(NonZeroU64::new(100_000)));
        let error = error.unwrap_err();
        // Inside a body it is that body's failure.
        let code = error.cause().map_or_else(|| error.code(), jaren_json::Diagnostic::code);
        assert!(["JR2001", "JQ2009"].contains(&code), "{error}");
    };
    // 2^40 dispatches.
    let twice = value!([{"body": {"$seq": [{"$apply": "$[*]"}, {"$apply": "$[*]"}]}}]);
    work(&twice, &nested(40, value!(1), in_list));

    // A container is rebuilt for each of its elements.
    let rebuilt = value!([{"match": "$[*]", "body": [{"$apply": ["$root", "m"]}]},
        {"mode": "m", "match": "$[0]", "body": 7}]);
    let many: Value = (0..1000).map(Value::from).collect();
    work(&rebuilt, &many);

    // A long name is in every path below it.
    let named = value!([{"match": "$.*[*]", "body": "$path"}]);
    let long = value!([((0..1000).map(Value::from).collect::<Value>())]);
    let name = "n".repeat(10_000);
    let long = Value::from(
        [(name.as_str(), long.at(0).unwrap().clone())].into_iter().collect::<jaren_json::Object>(),
    );
    work(&named, &long);

    // The paths of rules share what there is.
    let path = |n: u32| format!("${}.m{n}", "[*,*]".repeat(12));
    let rules: Value = (0..20).map(|n| value!({"match": (path(n)), "body": 1})).collect();
    work(&rules, &nested(13, value!(1), in_list));
}

#[test]
fn a_value_that_repeats_itself_is_refused_before_it_is_larger_than_memory() {
    let fold = |rounds: u32| {
        let range = Value::from(vec![value!(1), value!(rounds)]);
        value!({"$fold": {"a": 1}, "$for": {"i": {"$range": (range)}}, "$return": ["$a", "$a"]})
    };
    let transform = |document: &Value, input: &Value| Stylesheet::compile(document).unwrap().transform(input);
    let error = transform(&value!([{"body": (fold(100))}]), &value!(1)).unwrap_err();
    assert_eq!(error.cause().map(jaren_json::Diagnostic::code), Some("JQ2009"), "{error}");

    // Where a container is rebuilt, and where several items of the answer are one array.
    let many: Value = (0..100).map(Value::from).collect();
    let rebuilt = value!([{"match": "$[*]", "body": (fold(20))}]);
    assert_eq!(transform(&rebuilt, &many).unwrap_err().code(), "JR2001");
    let large = (0..30).fold(value!(1), |inner, _| value!([(inner.clone()), (inner)]));
    assert_eq!(transform(&value!([]), &large).unwrap_err().code(), "JR2001");
    let items = value!([{"match": "$", "body": {"$apply": ["$[*]", "m"]}}, {"mode": "m", "match": "$[*]", "body": (fold(20))}]);
    assert_eq!(transform(&items, &many).unwrap_err().code(), "JR2001");
}
