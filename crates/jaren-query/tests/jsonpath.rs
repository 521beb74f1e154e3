//! RFC 9535: the shared corpus and the public compliance suite, values and paths.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

use std::path::PathBuf;

use jaren_json::{Duplicates, Integers, Pointer, ReadOptions, Value, read, value};
use jaren_query::{JsonPath, Query, Scope};
use proptest::prelude::*;

/// The cases of a file, or nothing where the corpus is not there.
fn cases(file: &str) -> Vec<Value> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance")).join(file);
    let Ok(text) = std::fs::read(&path) else {
        println!("skipped: no corpus at {}", path.display());
        return Vec::new();
    };
    let lenient =
        ReadOptions { duplicates: Duplicates::LastWins, integers: Integers::Nearest, ..ReadOptions::data() };
    let cases = read(&text, &lenient).unwrap();
    cases.get("tests").unwrap_or(&cases).as_array().unwrap().to_vec()
}

/// A selected value as it was recorded: the only number that the corpus spells out is a negative zero.
fn decode(value: &Value) -> Value {
    if value.get("@number").is_some() { Value::Number(-0.0) } else { value.clone() }
}

/// The values and paths of what a path selects, or nothing where it is none.
fn select(path: &str, document: &Value) -> Option<(Value, Value)> {
    let path = JsonPath::parse(path).ok()?;
    let nodes = path.select(document).unwrap();
    let values: Value = nodes.iter().map(|node| node.value.clone()).collect();
    assert_eq!(values, path.values(document).unwrap().into_iter().cloned().collect::<Value>());
    for node in &nodes {
        // A normalized path is a path, and it selects its node and no other.
        let again = JsonPath::parse(node.path.as_str()).unwrap().select(document).unwrap();
        assert_eq!(again, std::slice::from_ref(node));
    }
    Some((values, nodes.iter().map(|node| Value::from(node.path.as_str())).collect()))
}

#[test]
fn the_shared_corpus_agrees() {
    for file in ["grammar", "select", "random"] {
        for case in cases(&format!("jsonpath/{file}.json")) {
            let name = case.get("name").unwrap();
            let found = select(case.get("path").unwrap().as_str().unwrap(), case.get("input").unwrap());
            if case.get("error").is_some() {
                assert!(found.is_none(), "{name}");
            } else {
                let (values, paths) = found.unwrap_or_else(|| panic!("{name}: refused"));
                let expected: Value =
                    case.get("values").unwrap().as_array().unwrap().iter().map(decode).collect();
                assert_eq!((&values, &paths), (&expected, case.get("paths").unwrap()), "{name}");
            }
        }
    }
}

#[test]
fn the_compliance_suite_agrees() {
    for case in cases("third-party/jsonpath-cts.json") {
        let name = case.get("name").unwrap();
        let document = case.get("document").unwrap_or(&Value::Null);
        let found = select(case.get("selector").unwrap().as_str().unwrap(), document);
        if case.get("invalid_selector").is_some() {
            assert!(found.is_none(), "{name}");
            continue;
        }
        let found = found.unwrap_or_else(|| panic!("{name}: refused"));
        let right = match case.get("results") {
            Some(results) => {
                let paths = case.get("results_paths").unwrap().as_array().unwrap();
                results
                    .as_array()
                    .unwrap()
                    .iter()
                    .cloned()
                    .zip(paths.iter().cloned())
                    .any(|pair| pair == found)
            }
            None => found == (case.get("result").unwrap().clone(), case.get("result_paths").unwrap().clone()),
        };
        assert!(right, "{name}: found {found:?}");
    }
}

#[test]
fn filters_read_the_document_in_parts() {
    let (rows, limit) = (value!([{"n": 1}, {"n": 5}, {"n": 9}]), value!({"most": 5}));
    let parts = [("rows", &rows), ("limit", &limit)];
    let scope = Scope::record(&parts);
    let run = |query: Value| Query::compile(&query).unwrap().items(&scope).unwrap();
    assert_eq!(run(value!("$.rows[?@.n <= $.limit.most].n")), [value!(1), value!(5)]);
    // A filter below a variable tests the children of its items, and `$` stays the document.
    let query = value!({"$let": {"all": "$.rows"}, "$return": "$all[?@.n == $.rows[1].n].n"});
    assert_eq!(run(query), [value!(5)]);
    let query = value!({"$let": {"all": ["$.rows[*]"]}, "$return": "$all[?@.n == $.rows[1].n].n"});
    assert_eq!(run(query), [value!(5)]);
}

#[test]
fn a_filter_that_is_none_says_where() {
    for (text, offset) in [
        ("$[?]", 3),
        ("$[?@.a = 1]", 7),
        ("$[?@.a == ]", 10),
        ("$[?1]", 3),
        ("$[?!'a']", 4),
        ("$[?@.* == 1]", 3),
        ("$[?1 == @..a]", 8),
        ("$[?nope(@)]", 3),
        ("$[?length(@.a)]", 3),
        ("$[?count(1) == 1]", 9),
        ("$[?match(@.a)]", 12),
        ("$[?match(@.a, 'x') == true]", 3),
        ("$[?@.a == 01]", 10),
        ("$[?(@.a]", 7),
        ("$[?search(@, '(\\\\p{L}{1,1000}){1,1000}')]", 13),
    ] {
        assert_eq!(JsonPath::parse(text).unwrap_err().offset(), offset, "{text}");
    }
}

#[test]
fn filters_nest_within_bounds() {
    let nested = |times: usize, open: &str, close: &str| {
        format!("$[?{}@.a{}]", open.repeat(times), close.repeat(times))
    };
    for (open, close) in [("(", ")"), ("!(", ")"), ("@[?", "]")] {
        let document = value!([{"a": [[[1]]]}]);
        for times in [1, 5] {
            let _ = JsonPath::parse(&nested(times, open, close)).unwrap().select(&document).unwrap();
        }
        for times in [64, 100_000] {
            assert!(JsonPath::parse(&nested(times, open, close)).is_err(), "{open}");
        }
    }
    // What stands side by side does not nest.
    let long = format!("$[?{}@.a]", "@.b || ".repeat(100_000));
    assert_eq!(JsonPath::parse(&long).unwrap().values(&value!([{"a": 1}])).unwrap().len(), 1);
}

#[test]
fn a_pattern_may_come_from_the_document() {
    let document = value!({"pattern": "a.", "rows": ["ab", "abc", "b", 1]});
    let count = |path: &str| JsonPath::parse(path).unwrap().values(&document).unwrap().len();
    assert_eq!(count("$.rows[?match(@, $.pattern)]"), 1);
    assert_eq!(count("$.rows[?search(@, $.pattern)]"), 2);
    assert_eq!(count("$.rows[?search(@, $.nothing)]"), 0);
    assert_eq!(count("$.rows[?!search(@, '[')]"), 4);
}

proptest! {
    /// Whatever the text, it is a path or an error with a place inside it.
    #[test]
    fn any_text_is_a_path_or_is_refused_inside(text in "\\PC{0,12}|\\$[\\[\\]?@$.*'\"ab0-9(),&|!=<>: -]{0,24}") {
        match JsonPath::parse(&text) {
            Ok(path) => drop(path.select(&value!({"a": [1, {"b": "x"}], "b": null})).unwrap()),
            Err(error) => {
                prop_assert!(error.offset() <= text.len());
                prop_assert!(text.is_char_boundary(error.offset()));
            }
        }
    }

    /// The same place as a pointer and as a normalized path.
    #[test]
    fn a_normalized_path_and_a_pointer_agree(names in prop::collection::vec("\\PC{0,3}|[\\x00-\\x1f'\"\\\\/~]{1,2}", 0..5)) {
        let document = names.iter().rev().fold(value!("here"), |inner, name| {
            Value::Object([(name.as_str(), value!([0, (inner)]))].into_iter().collect())
        });
        let nodes = JsonPath::parse("$..[?@ == 'here']").unwrap().select(&document).unwrap();
        let mut pointer = Pointer::default();
        for name in &names {
            pointer.push(name);
            pointer.push_index(1);
        }
        let found: Vec<_> = nodes.iter().map(|node| Some(node.value)).collect();
        prop_assert_eq!(&found, &if names.is_empty() { vec![] } else { vec![document.pointer(&pointer)] });
    }
}
