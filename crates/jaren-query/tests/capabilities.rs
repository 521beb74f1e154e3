//! What a host registers: functions, operators, collations, lexical providers (section 8.12).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cmp::Ordering;

use jaren_json::{Value, value};
use jaren_query::{
    Argument, Collations, CompileOptions, Functions, Lexical, LexicalProviders, Operands, Operators, Query,
    Scope,
};

fn options() -> CompileOptions {
    let functions = Functions::new()
        .with("arguments", |arguments: &[Argument]| {
            let shown = arguments.iter().map(|argument| value!({"argument": (argument.clone())}));
            Ok::<_, String>(Some(shown.collect()))
        })
        .with("nothing", |_| Ok::<_, String>(None))
        .with("broken", |_| Err("no such row"));
    let operators = Operators::new()
        .with("$twice", Operands::One, |arguments| match arguments {
            [argument] => {
                Ok(argument.as_ref().and_then(Value::as_f64).map(|number| Value::from(2.0 * number)))
            }
            _ => Err("one operand was promised"),
        })
        .unwrap()
        .with("$pair", Operands::List(1..=2), |arguments| {
            Ok::<_, String>(Some(arguments.iter().flatten().cloned().collect()))
        })
        .unwrap();
    let collations = Collations::new()
        .with("length", |left, right| left.len().cmp(&right.len()))
        .with("absurd", |_, _| Ordering::Greater);
    let lexical_providers = LexicalProviders::new().with("catalog", |request| {
        let hits = request.get("hits").cloned().ok_or("expected hits")?;
        Ok::<_, &str>(Lexical::new(move |text| match text {
            "boom" => Err("the index is gone"),
            _ => Ok(value!({"state": "complete", "hits": (hits.clone()), "total": 1})),
        }))
    });
    CompileOptions::new()
        .with_functions(functions)
        .with_operators(operators)
        .with_collations(collations)
        .with_lexical_providers(lexical_providers)
}

/// The items, or the code and the pointer of the error.
fn run(query: &Value) -> Result<Vec<Value>, String> {
    let input = value!({"rows": [1, 2], "none": [], "names": ["ccc", "a", "bb", "dd"]});
    let query = Query::compile_with(query, &options())
        .map_err(|report| format!("{} {}", report.first().code(), report.first().pointer().as_str()))?;
    query
        .items(&Scope::value(&input))
        .map_err(|error| format!("{} {}", error.code(), error.pointer().as_str()))
}

#[test]
fn functions_are_given_sequences_as_json() {
    let query = value!({"$call": ["arguments", "$.rows[*]", "$.rows", "$.none[*]", 1]});
    let expected = value!([{"argument": [1, 2]}, {"argument": [1, 2]}, {"argument": null}, {"argument": 1}]);
    assert_eq!(run(&query), Ok(vec![expected]));
    assert_eq!(run(&value!({"$call": ["nothing"]})), Ok(vec![]));
    assert_eq!(run(&value!([{"$call": ["broken", 1]}])), Err("JQ2010 /0".to_owned()));
    assert_eq!(
        run(&value!({"$call": ["broken", {"$idiv": [1, 0]}]})),
        Err("JQ2002 /$call/1/$idiv".to_owned())
    );
    for query in
        [value!({"$call": ["missing"]}), value!({"$call": []}), value!({"$call": [1]}), value!({"$call": 1})]
    {
        assert_eq!(run(&query), Err("JQ0010 /$call".to_owned()), "{query}");
    }
    assert_eq!(run(&value!({"$call": ["nothing", {"$nope": 1}]})), Err("JQ0002 /$call/1".to_owned()));
}

#[test]
fn operators_join_the_vocabulary() {
    assert_eq!(
        run(&value!({"$for": {"r": "$.rows"}, "$return": {"$twice": "$r"}})),
        Ok(vec![value!(2), value!(4)])
    );
    assert_eq!(run(&value!({"$pair": [1, "$.none[*]"]})), Ok(vec![value!([1])]));
    assert_eq!(run(&value!({"$pair": []})), Err("JQ0003 /$pair".to_owned()));
    assert_eq!(run(&value!({"$pair": 1})), Err("JQ0003 /$pair".to_owned()));
    assert_eq!(run(&value!({"$pair": [1], "$twice": 2})), Err("JQ0003 ".to_owned()));
    assert_eq!(run(&value!({"$thrice": 1})), Err("JQ0002 ".to_owned()));
    for name in ["$add", "$for", "$call", "$query", "add", "$", ""] {
        assert!(Operators::new().with(name, Operands::One, |_| Ok::<_, String>(None)).is_err(), "{name}");
    }
}

#[test]
fn collations_order_texts_and_leave_numbers() {
    let ordered = |collation: &str, dir: &str| {
        run(
            &value!({"$for": {"n": "$.names"}, "$orderby": {"$key": "$n", "$dir": (dir), "$collation": (collation)},
            "$return": "$n"}),
        )
    };
    // Stable: of the two names of two letters the first stays first.
    assert_eq!(ordered("length", "asc"), Ok(vec![value!("a"), value!("bb"), value!("dd"), value!("ccc")]));
    assert_eq!(ordered("length", "desc"), Ok(vec![value!("ccc"), value!("bb"), value!("dd"), value!("a")]));
    assert_eq!(ordered("absurd", "asc").unwrap().len(), 4);
    assert_eq!(ordered("nl", "asc"), Err("JQ0010 /$orderby/$collation".to_owned()));
    let numbers = value!({"$for": {"n": {"$seq": [10, 9]}}, "$orderby": {"$key": "$n", "$collation": "absurd"}, "$return": "$n"});
    assert_eq!(run(&numbers), Ok(vec![value!(9), value!(10)]));
}

#[test]
fn a_collation_that_contradicts_itself_does_no_harm() {
    let query = value!({"$for": {"i": {"$range": [1, 5000]}},
        "$orderby": {"$key": {"$string": "$i"}, "$collation": "absurd"}, "$return": "$i"});
    assert_eq!(run(&query).unwrap().len(), 5000);
}

#[test]
fn lexical_results_are_checked() {
    let search = |text: Value, hits: Value| run(&value!({"$lexical": ["catalog", (text), {"hits": (hits)}]}));
    let hits = value!([{"id": "a", "score": 1.5}]);
    let found = value!({"state": "complete", "hits": (hits.clone()), "total": 1});
    assert_eq!(search(value!("tea"), hits.clone()), Ok(vec![found]));
    assert_eq!(search(value!("boom"), hits.clone()), Err("JQ2012 /$lexical".to_owned()));
    assert_eq!(search(value!(1), hits), Err("JQ2001 /$lexical".to_owned()));
    for hits in [
        value!(1),
        value!([{"id": "a"}]),
        value!([{"id": 1, "score": 1}]),
        value!([{"id": "a", "score": 1}, {"id": "a", "score": 1}]),
        value!([{"id": "a", "score": 1}, {"id": "b", "score": 1}]),
    ] {
        assert_eq!(search(value!("tea"), hits.clone()), Err("JQ2012 /$lexical".to_owned()), "{hits}");
    }
    assert_eq!(run(&value!({"$lexical": ["catalog", "tea", {}]})), Err("JQ0012 /$lexical".to_owned()));
    assert_eq!(run(&value!({"$lexical": ["other", "tea", {}]})), Err("JQ0012 /$lexical".to_owned()));
    assert_eq!(run(&value!({"$lexical": ["catalog", "tea"]})), Err("JQ0003 /$lexical".to_owned()));
}
