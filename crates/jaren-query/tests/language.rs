//! The language by examples: a query, an input, and what it answers. Sections are those of the format document.
#![expect(clippy::needless_pass_by_value, reason = "queries are written in place")]

use std::ops::ControlFlow;

use jaren_json::{Report, Value, value};
use jaren_query::{CompileOptions, EvalError, PathError, Query, ReservedName, Scope, WalkLimit};

/// `Ok` with all items, or the code and pointer of the first defect or of the error.
fn answer(query: &Value, input: &Value) -> Result<Vec<Value>, String> {
    let query = Query::compile(query).map_err(|report| {
        let first = report.first();
        format!("{} at {:?}", first.code(), first.pointer().as_str())
    })?;
    let answer = query.items(&Scope::value(input));
    answer.map_err(|error| format!("{} at {:?}", error.code(), error.pointer().as_str()))
}

#[track_caller]
fn check(query: Value, input: &Value, expected: &[Value]) {
    assert_eq!(answer(&query, input).as_deref(), Ok(expected), "{query}");
}

#[track_caller]
fn fails(query: Value, expected: &str) {
    assert_eq!(answer(&query, &store()), Err(expected.to_owned()), "{query}");
}

fn store() -> Value {
    value!({
        "site": "North",
        "odd keys": {"a/b": 1},
        "rows": [
            {"id": 1, "region": "east", "qty": 5, "price": 2.5, "tags": ["x", "y"]},
            {"id": 2, "region": "west", "qty": 0, "price": 4},
            {"id": 3, "region": "east", "qty": 7, "price": 1, "tags": []}
        ]
    })
}

#[test]
fn values_stand_for_themselves_and_dollars_for_queries() {
    // 3.2 to 3.5
    let store = store();
    check(value!("text"), &store, &[value!("text")]);
    check(value!("$$price"), &store, &[value!("$price")]);
    check(value!("$.site"), &store, &[value!("North")]);
    check(value!("$.nowhere"), &store, &[]);
    check(value!({"$const": {"$for": ["$x"]}}), &store, &[value!({"$for": ["$x"]})]);
    check(value!({"a": "$.site", "b": "$.nowhere"}), &store, &[value!({"a": "North"})]);
    check(value!([0, "$.rows[*].id", {"$seq": []}]), &store, &[value!([0, 1, 2, 3])]);
    check(
        value!({"$map": [[{"$concat": ["r", 1]}, 1], ["gone", "$.nowhere"]]}),
        &store,
        &[value!({"r1": 1})],
    );
    check(value!({"$query": "0.1", "$expr": 1}), &store, &[value!(1)]);
    fails(value!({"a": "$.rows[*].id"}), "JQ2001 at \"/a\"");
    fails(value!({"$map": [[1, 1]]}), "JQ2004 at \"/$map/0/0\"");
    fails(value!({"a": 1, "$eq": [1, 1]}), "JQ0001 at \"\"");
    fails(value!({"$query": "0.2", "$expr": 1}), "JQ0006 at \"/$query\"");
    fails(value!(["$9"]), "JQ0004 at \"/0\"");
}

#[test]
fn paths_select_in_document_order() {
    // 5.1, RFC 9535
    let store = store();
    check(value!("$.rows[-1].id"), &store, &[value!(3)]);
    check(value!("$.rows[0:2].id"), &store, &[value!(1), value!(2)]);
    check(value!("$.rows[::-2].id"), &store, &[value!(3), value!(1)]);
    check(value!("$.rows[::0].id"), &store, &[]);
    check(value!("$.rows[0]['id', 'qty']"), &store, &[value!(1), value!(5)]);
    check(value!("$['odd keys'][\"a/b\"]"), &store, &[value!(1)]);
    check(value!("$.rows[*].tags[*]"), &store, &[value!("x"), value!("y")]);
    check(value!("$..tags"), &store, &[value!(["x", "y"]), value!([])]);
    check(value!("$..[0]"), &store, &[store.get("rows").unwrap().at(0).unwrap().clone(), value!("x")]);
    check(
        value!({"$let": {"r": "$.rows[*]"}, "$return": "$r.id"}),
        &store,
        &[value!(1), value!(2), value!(3)],
    );
    check(value!({"$let": {"r": {"a": ["$.site"]}}, "$return": "$r.a[0]"}), &store, &[value!("North")]);
}

#[test]
fn comparisons_look_for_a_witness() {
    // 8.4
    let store = store();
    check(value!({"$eq": ["$.rows[*].qty", 7]}), &store, &[value!(true)]);
    check(value!({"$ne": ["$.rows[*].qty", 7]}), &store, &[value!(true)]);
    check(value!({"$eq": ["$.nowhere", "$.nowhere"]}), &store, &[value!(false)]);
    check(
        value!({"$eq": [{"$const": {"a": 1, "b": 2}}, {"$const": {"b": 2, "a": 1}}]}),
        &store,
        &[value!(true)],
    );
    check(value!({"$lt": ["10", 9]}), &store, &[value!(false)]);
    check(value!({"$lt": ["\u{ffff}", "\u{10000}"]}), &store, &[value!(true)]);
    check(
        value!({"$let": {"nan": {"$div": [0, 0]}}, "$return": [
            {"$eq": ["$nan", "$nan"]}, {"$ne": ["$nan", "$nan"]}, {"$eq": [["$nan"], ["$nan"]]}, {"$le": ["$nan", "$nan"]}]}),
        &store,
        &[value!([false, true, false, false])],
    );
}

#[test]
fn truth_and_logic() {
    // 2.2, 8.3, 8.6
    let store = store();
    let truths = value!([{"$boolean": {"$seq": []}}, {"$boolean": 0}, {"$boolean": ""}, {"$boolean": null},
        {"$boolean": {"$const": []}}, {"$boolean": "0"}, {"$not": "$.site"}]);
    check(truths, &store, &[value!([false, false, false, false, true, true, false])]);
    check(value!({"$and": [false, {"$idiv": [1, 0]}]}), &store, &[value!(false)]);
    check(value!({"$or": [true, {"$idiv": [1, 0]}]}), &store, &[value!(true)]);
    check(value!({"$if": ["$.nowhere", 1]}), &store, &[]);
    fails(value!({"$not": "$.rows[*]"}), "JQ2003 at \"/$not\"");
    let several = Query::compile(&value!("$.rows[*]")).unwrap();
    let error = several.truth(&Scope::value(&store)).unwrap_err();
    assert_eq!((error.code(), error.pointer().as_str()), ("JQ2003", ""));
}

#[test]
fn arithmetic_is_that_of_doubles() {
    // 8.5
    let store = store();
    check(
        value!([{"$idiv": [-7, 2]}, {"$mod": [-7, 2]}, {"$div": [1, 8]}]),
        &store,
        &[value!([-3, -1, 0.125])],
    );
    check(value!({"$add": [1, "$.nowhere"]}), &store, &[]);
    fails(value!({"$add": [{"$const": [1]}, 1]}), "JQ2001 at \"/$add/0\"");
    fails(value!({"$mod": [1, 0]}), "JQ2002 at \"/$mod\"");
    // Rounding to cents has no operator of its own: it is a truncating division after a half is added.
    let cents = value!({"$div": [{"$idiv": [{"$add": [{"$mul": [2.345, 100]}, 0.5]}, 1]}, 100]});
    check(cents, &store, &[value!(2.35)]);
}

#[test]
fn phrases_iterate_group_order_and_fold() {
    // 6
    let store = store();
    check(
        value!({"$for": {"r": "$.rows[*]"}, "$where": {"$gt": ["$r.qty", 0]}, "$orderby": {"$key": "$r.price"},
            "$count": "n", "$return": ["$n", "$r.id"]}),
        &store,
        &[value!([0, 3]), value!([1, 1])],
    );
    check(
        value!({"$for": {"r": "$.rows[*]"}, "$groupby": {"region": "$r.region"}, "$return": {"region": "$region",
            "n": {"$count": "$r"}, "sum": {"$sum": "$r.qty"}, "avg": {"$avg": "$r.price"}, "min": {"$min": "$r.price"},
            "max": {"$max": "$r.price"}}}),
        &store,
        &[
            value!({"region": "east", "n": 2, "sum": 12, "avg": 1.75, "min": 1, "max": 2.5}),
            value!({"region": "west", "n": 1, "sum": 0, "avg": 4, "min": 4, "max": 4}),
        ],
    );
    check(
        value!({"$for": {"a": [1, 2], "b": [10, 20]}, "$return": {"$add": ["$a", "$b"]}}),
        &store,
        &[value!(11), value!(21), value!(12), value!(22)],
    );
    check(
        value!({"$fold": {"sum": 0}, "$for": {"r": "$.rows[*]"}, "$return": {"$add": ["$sum", "$r.qty"]}}),
        &store,
        &[value!(12)],
    );
    check(
        value!({"$for": {"w": {"$in": {"$range": [1, 5]}, "$window": "tumbling", "$size": 2, "$at": "i"}},
            "$return": ["$i", "$w"]}),
        &store,
        &[value!([0, 1, 2]), value!([1, 3, 4]), value!([2, 5])],
    );
    check(
        value!({"$for": {"t": {"$in": "$.nowhere", "$allowing-empty": true, "$at": "i"}}, "$return": ["$t", "$i"]}),
        &store,
        &[value!([-1])],
    );
    check(
        value!({"$every": {"r": "$.rows[*]"}, "$satisfies": {"$exists": "$r.id"}}),
        &store,
        &[value!(true)],
    );
}

#[test]
fn a_source_is_evaluated_before_its_tuples() {
    // 6.2: streaming must not be seen.
    let source = value!({"$for": {"x": {"$seq": [1, {"$idiv": [1, 0]}]}}, "$return": {"$neg": "x"}});
    fails(source, "JQ2002 at \"/$for/x/$seq/1/$idiv\"");
    fails(value!({"$sum": {"$seq": ["a", {"$idiv": [1, 0]}]}}), "JQ2002 at \"/$sum/$seq/1/$idiv\"");
    fails(value!({"$head": {"$seq": [1, {"$idiv": [1, 0]}]}}), "JQ2002 at \"/$head/$seq/1/$idiv\"");
    fails(value!({"$max": "$.rows[*]"}), "JQ2001 at \"/$max\"");
}

#[test]
fn every_defect_is_reported_and_the_first_names_the_document() {
    let document = value!({"$where": "$0", "$for": {"x": "$1", "2": 1}, "$return": {"$nope": 1}});
    let report = Query::compile(&document).unwrap_err();
    let found: Vec<_> = report.iter().map(|d| format!("{} {}", d.code(), d.pointer().as_str())).collect();
    assert_eq!(found, ["JQ0004 /$for/x", "JQ0003 /$for/2", "JQ0004 /$where", "JQ0002 /$return"]);
}

#[test]
fn every_error_can_be_kept_compared_and_handed_on() {
    fn is_an_error<E: std::error::Error + Clone + PartialEq + Send + Sync + 'static>() {}
    is_an_error::<Report>();
    is_an_error::<EvalError>();
    is_an_error::<PathError>();
    is_an_error::<WalkLimit>();
    is_an_error::<ReservedName>();
}

#[test]
fn a_message_says_what_was_probably_meant() {
    let message = |document: Value| Query::compile(&document).unwrap_err().first().message().to_owned();
    // An operator as other languages write it.
    for (text, help) in [
        ("$.a > 3", r#"; '>' is written as an operator: {"$gt": ["$.a", …]}"#),
        ("$.a.b==1", r#"; '==' is written as an operator: {"$eq": ["$.a.b", …]}"#),
        ("$x <= $.y", r#"; '<=' is written as an operator: {"$le": ["$x", …]}"#),
        ("$.a && $.b", r#"; '&&' is written as an operator: {"$and": ["$.a", …]}"#),
        ("$.a[", ""),
        ("$.a b", ""),
    ] {
        let message = message(value!(text));
        assert!(message.starts_with("not a path: ") && message.ends_with(help), "{message}");
        assert_eq!(message.contains("operator"), !help.is_empty(), "{message}");
    }
    let order = value!({"$for": {"x": "$"}, "$orderby": {"$key": "$x", "$dri": "desc"}, "$return": "$x"});
    assert!(message(order).ends_with("did you mean '$dir'?"));
    let closed = CompileOptions::new().with_externals(vec!["least".to_owned()]);
    let report = Query::compile_with(&value!("$laest"), &closed).unwrap_err();
    assert!(report.first().message().ends_with("did you mean 'least'?"), "{report}");
}

#[test]
fn defects_without_number_and_names_without_end_are_cut() {
    let report = Query::compile(&Value::from(vec![value!({"$nope": 1}); 100_000])).unwrap_err();
    assert_eq!((report.iter().len(), report.len()), (Report::DEFECTS_MAX, 100_000));
    let report = Query::compile(&value!({(format!("${}", "x".repeat(100_000))): 1})).unwrap_err();
    assert!(report.first().message().len() < 300);
}

#[test]
fn externals_are_bound_by_the_caller() {
    // 9
    let query = Query::compile(&value!({"$gt": ["$.site", "$least"]})).unwrap();
    assert_eq!(query.externals().collect::<Vec<_>>(), ["least"]);
    let (store, least) = (store(), value!("A"));
    let externals = [("least", &least)];
    assert!(query.truth(&Scope::value(&store).with_externals(&externals)).unwrap());
    assert_eq!(query.truth(&Scope::value(&store)).unwrap_err().code(), "JQ2006");
    let closed = CompileOptions::new().with_externals(vec!["least".to_owned()]);
    assert!(Query::compile_with(&value!("$least"), &closed).is_ok());
    assert_eq!(Query::compile_with(&value!(["$most"]), &closed).unwrap_err().first().code(), "JQ0005");
}

#[test]
fn a_record_reads_like_the_object_of_its_parts() {
    let (a, b) = (value!({"x": [1, 2]}), value!("b"));
    let parts = [("a", &a), ("b", &b)];
    let scope = Scope::record(&parts);
    let run = |query: Value| Query::compile(&query).unwrap().items(&scope).unwrap();
    assert_eq!(run(value!("$")), [value!({"a": {"x": [1, 2]}, "b": "b"})]);
    assert_eq!(run(value!("$.a.x[1]")), [value!(2)]);
    assert_eq!(run(value!("$[*]")), [a.clone(), b.clone()]);
    assert_eq!(run(value!("$..x[*]")), [value!(1), value!(2)]);
    assert!(run(value!("$[0]")).is_empty());
    assert_eq!(
        run(value!({"$for": {"m": {"$entries": "$"}}, "$return": "$m.key"})),
        [value!("a"), value!("b")]
    );
}

#[test]
fn what_is_read_is_shared_not_copied() {
    let big = value!({"rows": [{"id": 1}]});
    let parts = [("context", &big)];
    let found =
        Query::compile(&value!("$.context.rows")).unwrap().first(&Scope::record(&parts)).unwrap().unwrap();
    assert!(found.ptr_eq(big.get("rows").unwrap()));
}

#[test]
fn compiled_queries_are_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let query = Query::compile(&value!({"$sum": "$[*]"})).unwrap();
    shared(&query);
    let input = value!([1, 2, 3]);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            let (query, input) = (query.clone(), &input);
            threads.spawn(move || assert_eq!(query.first(&Scope::value(input)).unwrap(), Some(value!(6))));
        }
    });
}

#[test]
fn items_can_be_taken_one_by_one() {
    let taken = |query: Value, most: usize| {
        let query = Query::compile(&query).unwrap();
        let mut items = Vec::new();
        let ended = query.each(&Scope::value(&value!({"a": [3, 1, 2], "b": [[1], "x"]})), |item| {
            items.push(item);
            if items.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (Value::from_iter(items), ended.err().map(|error| error.code()))
    };
    for query in [
        value!("$.a[*]"),
        value!({"$for": {"x": "$.a[*]"}, "$return": "$x"}),
        value!({"$if": [true, {"$seq": [3, {"$let": {"x": 1}, "$return": {"$seq": ["$x", 2]}}]}]}),
        value!({"$for": {"x": "$.a", "y": {"$head": "$.b[*]"}}, "$groupby": {"z": "$x"}, "$return": "$z"}),
        value!({"$reverse": {"$seq": ["$.a[2]", "$.a[1]", "$.a[0]"]}}),
    ] {
        assert_eq!(taken(query.clone(), 9), (value!([3, 1, 2]), None), "{query}");
        assert_eq!(taken(query.clone(), 1), (value!([3]), None), "{query}");
    }
    // Nothing is looked for after the last one that was wanted.
    let fails = value!({"$for": {"x": "$.a[*]"}, "$return": {"$idiv": [6, {"$sub": ["$x", 1]}]}});
    assert_eq!(taken(fails.clone(), 1), (value!([3]), None));
    assert_eq!(taken(fails, 2), (value!([3]), Some("JQ2002")));
}
