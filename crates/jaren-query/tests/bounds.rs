//! Bounds: whatever the document or the input, the stack is enough and nothing panics.

use std::num::NonZeroU64;

use jaren_json::{Array, Object, Value, value};
use jaren_query::{CompileOptions, Limits, Query, Scope, analyze};

/// The nesting that the compiler allows (`Limits::depth`).
const NESTING_MAX: usize = 128;

/// `inner` wrapped so many times.
fn nested(times: usize, inner: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..times).fold(inner, |inner, _| wrap(inner))
}

type Wrap = fn(Value) -> Value;

/// Ways to nest an expression one level deeper.
fn wrappers() -> Vec<(&'static str, Wrap)> {
    vec![
        ("array", |inner| Value::Array(Array::from(vec![inner]))),
        ("member", |inner| value!({"a": inner})),
        ("not", |inner| value!({"$not": inner})),
        ("add", |inner| value!({"$add": [1, {"$coalesce": [inner, 1]}]})),
        ("if", |inner| value!({"$if": [true, inner]})),
        ("condition", |inner| value!({"$if": [inner, true]})),
        ("let", |inner| value!({"$let": {"a": inner}, "$return": "$a"})),
        ("for", |inner| value!({"$for": {"a": "$.rows[*]"}, "$return": inner})),
        ("source", |inner| value!({"$for": {"a": inner}, "$return": "$a"})),
        ("order", |inner| value!({"$for": {"a": 1}, "$orderby": "$a", "$return": inner})),
        (
            "group",
            |inner| value!({"$for": {"a": 1}, "$groupby": {"g": "$a"}, "$orderby": "$g", "$return": inner}),
        ),
        ("fold", |inner| value!({"$fold": {"a": inner}, "$for": {"b": 1}, "$return": "$a"})),
        ("some", |inner| value!({"$some": {"a": "$.rows[*]"}, "$satisfies": inner})),
        ("map", |inner| value!({"$map": [["k", inner]]})),
        ("join", |inner| value!({"$concat": [{"$exists": inner}]})),
        ("space", |inner| value!({"$geo-simplify": [inner, 1]})),
        ("distance", |inner| value!({"$distance": [inner, "$"]})),
        ("distinct", |inner| value!({"$distinct": {"$reverse": {"$tail": {"$seq": [1, inner]}}}})),
    ]
}

/// The deepest document of that kind which compiles, around a leaf.
fn deepest(name: &str, leaf: &Value, wrap: Wrap) -> Value {
    let levels = match name {
        "distinct" => 4,
        // A `$for` takes a level of its own.
        "add" | "join" | "for" | "order" | "group" | "fold" => 2,
        _ => 1,
    };
    let times = NESTING_MAX / levels - 1 - usize::from(name == "source");
    nested(times, leaf.clone(), wrap)
}

/// Runs on a thread with a megabyte of stack, of which 30 percent more than the test takes must be there.
#[expect(clippy::unwrap_used, reason = "what a test calls is a test, too")]
fn within_a_megabyte(run: impl FnOnce() + Send + 'static) {
    let stack = (1 << 20) * 10 / 13;
    std::thread::Builder::new().stack_size(stack).spawn(run).unwrap().join().unwrap();
}

#[test]
fn the_deepest_documents_that_compile_also_run() {
    let input = value!({"rows": [1]});
    for (name, wrap) in wrappers() {
        let (document, input) = (deepest(name, &value!("$.rows[*]"), wrap), input.clone());
        within_a_megabyte(move || {
            let query = Query::compile(&document).unwrap_or_else(|report| panic!("{name}: {report}"));
            // An answer or an error of the language, but an end.
            let _ = query.items(&Scope::value(&input)).is_ok();
            let _ = query.value(&Scope::value(&input)).is_ok();
            let _ = query.truth(&Scope::value(&input)).is_ok();
            assert!(analyze(&document, &CompileOptions::default()).is_ok());
        });
        let too_deep = nested(NESTING_MAX, value!("$.rows[*]"), wrap);
        assert_eq!(Query::compile(&too_deep).unwrap_err().first().code(), "JQ0011", "{name}");
    }
}

#[test]
fn a_document_of_any_depth_is_refused_without_overflow() {
    for (name, wrap) in wrappers() {
        let report = Query::compile(&nested(20_000, value!(1), wrap)).unwrap_err();
        assert_eq!(report.first().code(), "JQ0011", "{name}");
    }
}

#[test]
fn bindings_count_as_nesting() {
    let bindings = |n: usize| (0..n).map(|i| (format!("v{i}"), value!("$.rows[*]"))).collect::<Object>();
    let input = value!({"rows": [1]});
    for (clause, rest) in [("$for", "$return"), ("$some", "$satisfies")] {
        let phrase = |n| {
            Value::Object([(clause, Value::from(bindings(n))), (rest, value!("$v0"))].into_iter().collect())
        };
        let (most, input) = (phrase(NESTING_MAX - 2), input.clone());
        within_a_megabyte(move || {
            let query = Query::compile(&most).unwrap();
            assert_eq!(query.items(&Scope::value(&input)).unwrap().len(), 1);
        });
        for n in [NESTING_MAX + 1, 10_000] {
            assert_eq!(Query::compile(&phrase(n)).unwrap_err().first().code(), "JQ0011");
        }
    }
}

#[test]
fn deep_values_are_data() {
    let deep = nested(100_000, value!(1), |inner| Value::Array(Array::from(vec![inner])));
    let scope = Scope::value(&deep);
    let run = |query: Value| Query::compile(&query).unwrap().items(&scope).unwrap();
    assert_eq!(run(value!({"$count": "$..[0]"})), [value!(100_000)]);
    assert_eq!(run(value!({"$eq": ["$", "$"]})), [value!(true)]);
    assert_eq!(run(value!({"$count": {"$distinct": {"$seq": ["$", "$"]}}})), [value!(1)]);
    assert_eq!(run(value!(["$"])).len(), 1);
}

#[test]
fn a_value_may_grow_deep_in_a_fold() {
    let query = Query::compile(
        &value!({"$fold": {"a": 1}, "$for": {"i": {"$range": [1, 50_000]}}, "$return": ["$a"]}),
    );
    let items = query.unwrap().items(&Scope::value(&Value::Null)).unwrap();
    assert_eq!(items[0].depth(), 50_000);
}

#[test]
fn steps_end_a_loop_that_would_not() {
    let limits = Limits::new().with_steps(NonZeroU64::new(10_000));
    let query =
        value!({"$for": {"i": {"$range": [0, 9_007_199_254_740_991.0]}}, "$where": false, "$return": "$i"});
    let query = Query::compile_with(&query, &CompileOptions::new().with_limits(limits)).unwrap();
    assert_eq!(query.items(&Scope::value(&Value::Null)).unwrap_err().code(), "JQ2009");
}

#[test]
fn long_paths_are_walked_without_recursion() {
    let path = format!("${}", "[0]".repeat(50_000));
    let deep = nested(50_000, value!("end"), |inner| Value::Array(Array::from(vec![inner])));
    let query = Query::compile(&value!(path)).unwrap();
    assert_eq!(query.items(&Scope::value(&deep)).unwrap(), [value!("end")]);
    let path = format!("${}", "[*]".repeat(65));
    assert_eq!(Query::compile(&value!(path)).unwrap_err().first().code(), "JQ0004");
}

/// Queries that are small and would take for ever, or all memory, if nothing stopped them.
fn endless() -> Vec<(&'static str, Value)> {
    let doubling = |next: Value| value!({"$fold": {"a": {"$const": "ab"}}, "$for": {"i": {"$range": [1, 100]}}, "$return": (next)});
    // As large as values may be made: 2^26 - 1 nodes.
    let unfolding = value!({"$fold": {"a": 1}, "$for": {"i": {"$range": [1, 24]}},
        "$return": {"$let": {"b": ["$a", "$a"]}, "$return": "$b"}});
    let many = value!({"$range": [1, 1_000_000]});
    vec![
        ("text", doubling(value!({"$concat": ["$a", "$a"]}))),
        ("join", doubling(value!({"$string-join": [{"$seq": ["$a", "$a"]}, "$a"]}))),
        ("replace", doubling(value!({"$replace": ["$a", ".", "$a"]}))),
        ("sequence", doubling(value!({"$seq": ["$a", "$a"]}))),
        ("array", doubling(value!([{"$let": {"b": "$a"}, "$return": "$b[*]"}, "$a[*]", "$a"]))),
        (
            "elements",
            doubling(
                value!({"$let": {"b": ["$a", "$a"]}, "$return": {"$for": {"x": "$b"}, "$return": "$x"}}),
            ),
        ),
        (
            "equal",
            value!({"$let": {"a": (unfolding.clone()), "b": (unfolding.clone())}, "$return": {"$eq": ["$a", "$b"]}}),
        ),
        ("distinct", value!({"$distinct": {"$seq": [(unfolding.clone()), (unfolding.clone())]}})),
        (
            "group",
            value!({"$for": {"x": {"$seq": [[(unfolding.clone())], [(unfolding.clone())]]}}, "$groupby": {"g": "$x"}, "$return": "$g"}),
        ),
        ("descend", value!({"$let": {"a": (unfolding.clone())}, "$return": {"$count": "$a..*"}})),
        (
            "filter",
            value!({"$let": {"a": (unfolding.clone()), "b": (unfolding)}, "$return": "$a..[?@ == @]"}),
        ),
        (
            "leaps",
            value!({"$let": {"a": {"$const": (nested(60, value!(1), |inner| value!([(inner)])))}},
            "$return": {"$count": (format!("$a{}", "[*,*]".repeat(60)))}}),
        ),
        (
            "compare",
            value!({"$let": {"m": (many.clone())}, "$return": {"$lt": ["$m", {"$for": {"x": "$m"}, "$return": 0}]}}),
        ),
        ("index", value!({"$for": {"i": (many.clone())}, "$return": {"$index-of": [(many.clone()), "$i"]}})),
        ("ranges", value!({"$for": {"i": (many.clone())}, "$return": {"$count": (many.clone())}})),
        (
            "copies",
            value!({"$let": {"m": (many.clone())}, "$return": {"$for": {"i": (many.clone())}, "$return": {"$reverse": "$m"}}}),
        ),
        (
            "windows",
            value!({"$for": {"w": {"$in": (many.clone()), "$window": "sliding", "$size": 500_000}}, "$return": {"$count": "$w"}}),
        ),
        (
            "order",
            value!({"$for": {"a": (many.clone()), "b": (many.clone())}, "$orderby": "$a", "$return": "$b"}),
        ),
        (
            "kept",
            value!({"$for": {"a": (many.clone()), "b": (many)}, "$groupby": {"g": "$a"}, "$return": "$b"}),
        ),
    ]
}

/// Queries of which each round does much at once: a million rounds.
fn endless_rounds() -> Vec<(&'static str, Value)> {
    let rounds = |round: Value| value!({"$for": {"i": {"$range": [1, 1_000_000]}}, "$return": round});
    let long = |piece: &str| Value::from(piece.repeat(10_000));
    let rows = |row: Value| Value::from(vec![row; 1000]);
    let positions = (0..1000).map(|i| value!([i, (i % 2)])).collect::<Value>();
    let line = value!({"type": "LineString", "coordinates": positions});
    let vector = rows(value!(1));
    vec![
        ("patterns", rounds(value!({"$match": ["a", {"$concat": ["a", {"$string": "$i"}]}]}))),
        (
            "patterns in a filter",
            value!({"$let": {"rows": {"$const": [{"p": "a"}, {"p": "b"}]}},
                "$return": (rounds(value!("$rows[?match('a', @.p)]")))}),
        ),
        ("match", rounds(value!({"$match": [(long("a")), "(a|b)*c"]}))),
        ("replace nothing", rounds(value!({"$replace": [(long("a")), "b", ""]}))),
        (
            "match in a filter",
            value!({"$let": {"rows": {"$const": (rows(value!({"text": (long("a"))})))}},
                "$return": (rounds(value!("$rows[?search(@.text, 'b')]")))}),
        ),
        (
            "length in a filter",
            value!({"$let": {"rows": {"$const": (rows(value!({"text": (long("a"))})))}},
                "$return": (rounds(value!("$rows[?length(@.text) == 1]")))}),
        ),
        (
            "equal texts",
            value!({"$let": {"a": (long("a")), "b": (long("a"))}, "$return": (rounds(value!({"$eq": ["$a", "$b"]})))}),
        ),
        (
            "ordered texts",
            value!({"$let": {"a": (long("a")), "b": (long("a"))}, "$return": (rounds(value!({"$lt": ["$a", "$b"]})))}),
        ),
        ("greatest text", value!({"$let": {"a": (long("a"))}, "$return": {"$max": (rounds(value!("$a")))}})),
        (
            "distinct texts",
            value!({"$let": {"a": (long("a"))}, "$return": {"$distinct": (rounds(value!("$a")))}}),
        ),
        (
            "texts as keys",
            value!({"$for": {"i": {"$range": [1, 1_000_000]}}, "$let": {"a": (long("a"))}, "$groupby": {"g": "$a"}, "$return": "$g"}),
        ),
        ("number", rounds(value!({"$number": (long("1"))}))),
        ("geo-parse", rounds(value!({"$geo-parse": {"$concat": ["MULTIPOINT (", (long("0 0, ")), "0 0)"]}}))),
        ("geo-text", rounds(value!({"$geo-text": {"$const": (line.clone())}}))),
        ("geo-simplify", rounds(value!({"$geo-simplify": [{"$const": (line.clone())}, 0.1]}))),
        ("length of a line", rounds(value!({"$length": {"$const": line}}))),
        ("bounds of a cell", rounds(value!({"$geohash-bounds": (long("u"))}))),
        ("cells around", rounds(value!({"$geohash-neighbours": (long("u"))}))),
        ("similarity", rounds(value!({"$similarity": [{"$const": (vector.clone())}, {"$const": vector}]}))),
    ]
}

#[test]
fn work_inside_the_steps_ends() {
    let limits = Limits::new().with_work(NonZeroU64::new(1 << 21));
    for (name, query) in endless().into_iter().chain(endless_rounds()) {
        let query = Query::compile_with(&query, &CompileOptions::new().with_limits(limits))
            .unwrap_or_else(|report| panic!("{name}: {report}"));
        let error = query.items(&Scope::value(&Value::Null)).expect_err(name);
        assert_eq!(error.code(), "JQ2009", "{name}: {error}");
    }
}

#[test]
fn a_value_that_repeats_itself_is_refused_before_it_is_larger_than_memory() {
    let text = "a text of fifty bytes, for its length counts, too.";
    let grown = |rounds: u32, from: &str, next: Value| {
        let range = Value::from(vec![value!(1), value!(rounds)]);
        let query = value!({"$fold": {"a": (from)}, "$for": {"i": {"$range": (range)}}, "$return": (next)});
        Query::compile(&query).unwrap().value(&Scope::value(&value!([])))
    };
    let ways = [
        value!(["$a", "$a"]),
        value!({"x": "$a", "y": "$a"}),
        value!({"$map": [["x", "$a"], ["y", "$a"]]}),
        value!({"$let": {"e": {"$entries": {"x": "$a"}}}, "$return": {"$from-entries": {"$seq": ["$e", {"key": "y", "value": "$a"}]}}}),
    ];
    for next in ways {
        let error = grown(100, text, next.clone()).expect_err("it is refused");
        assert_eq!(error.code(), "JQ2009", "{next}: {error}");
        assert!(grown(20, text, next).unwrap().unwrap().size() <= Limits::SIZE);
    }
    assert!(grown(24, "short", value!(["$a", "$a"])).is_ok());
    assert_eq!(grown(24, text, value!(["$a", "$a"])).unwrap_err().code(), "JQ2009");
    // An input of what was answered before, twice, as a dag composes it from two ports.
    let twice = |value: Value| value!({"a": (value.clone()), "b": (value)});
    let handed_on = Query::compile(&value!("$")).unwrap();
    let answers = (0..100).scan(value!(1), |input, _| {
        *input = handed_on.value(&Scope::value(&twice(input.clone()))).ok()??;
        Some(())
    });
    assert_eq!(answers.count(), 25);
    // Several items of the result are one array.
    let items = value!({"$for": {"i": {"$range": [1, 100]}}, "$return": "$"});
    let large = grown(20, "short", value!(["$a", "$a"])).unwrap().unwrap();
    let items = Query::compile(&items).unwrap().value(&Scope::value(&large));
    assert_eq!(items.unwrap_err().code(), "JQ2009");
}

#[test]
fn the_deepest_path_in_the_deepest_document_needs_no_more_than_a_megabyte_of_stack() {
    // Queries of a filter and parentheses take a level each, a filter another.
    let filters = format!("$.rows{}{}", "[?@.*".repeat(12), "]".repeat(12));
    let groups = format!("$.rows[?{}@.a{}]", "(!".repeat(22), ")".repeat(22));
    let leaps = format!("$.rows{}", "..*".repeat(64));
    let chain = nested(70, value!({"a": 1}), |inner| value!({"rows": [(inner)]}));
    for path in [filters, groups, leaps] {
        for (name, wrap) in wrappers() {
            let limits = Limits::new().with_work(NonZeroU64::new(20_000));
            let (document, input) = (deepest(name, &value!(path.as_str()), wrap), chain.clone());
            within_a_megabyte(move || {
                let options = CompileOptions::new().with_limits(limits);
                let query = Query::compile_with(&document, &options).unwrap();
                let _ = query.items(&Scope::value(&input)).is_ok();
            });
        }
    }
}

#[test]
fn an_analysis_is_no_larger_than_its_document_allows() {
    let elements = |count: usize| Value::from(vec![value!(1); count]);
    let named = |count| Value::Object([("a".repeat(1 << 20), elements(count))].into_iter().collect());
    // Each element has a pointer of a mebibyte.
    assert!(analyze(&named(10), &CompileOptions::default()).is_ok());
    let report = analyze(&named(1000), &CompileOptions::default()).unwrap_err();
    assert_eq!(report.first().code(), "JQ2009");
    // Names are looked up: a phrase may bind many, and read all of them.
    let many = || (0..20_000).map(|i| format!("v{i}"));
    let lets = many().map(|name| (name, value!(1))).collect::<Object>();
    let reads = many().map(|name| Value::from(format!("${name}"))).collect::<Value>();
    let externals = many().map(|name| Value::from(format!("$x{name}"))).collect::<Value>();
    let document = value!({"$let": lets, "$return": [reads, externals]});
    let analysis = analyze(&document, &CompileOptions::default()).unwrap();
    assert_eq!(analysis.get("externals").and_then(Value::as_array).unwrap().len(), 20_000);
}
