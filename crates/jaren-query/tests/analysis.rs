//! The normalized form (Appendix C): recorded analyses, and what a host registers.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::num::NonZeroU64;

use jaren_json::{Pointer, ReadOptions, Value, read, value};
use jaren_query::{
    Collations, CompileOptions, Functions, Limits, Operands, Operators, Query, SchemaTest, Schemas, analyze,
};

use self::support::options;

/// One recorded analysis a line, as the reference made it.
fn agrees(lines: &str) -> usize {
    let mut count = 0;
    for line in lines.lines() {
        let case = read(line.as_bytes(), &ReadOptions::data()).unwrap();
        let found = analyze(case.get("query").unwrap(), &options(&case));
        let name = case.get("name").unwrap();
        match (case.get("analysis"), found) {
            (Some(expected), Ok(found)) => assert_eq!(found, *expected, "{name}"),
            (None, Err(report)) => {
                assert_eq!(report.first().code(), case.get("code").unwrap().as_str().unwrap(), "{name}");
            }
            // The reference looks at patterns and specifications only when it runs; the format has them refused.
            (Some(_), Err(report)) if report.first().code() == "JQ0003" => {}
            (expected, found) => panic!("{name}: expected {expected:?}, found {found:?}"),
        }
        count += 1;
    }
    count
}

#[test]
fn recorded_analyses_agree() {
    // What the reference (@jarenjs/json 0.91.4) answered for cases of the shared corpus: the smallest for each operator,
    // clause, kind of selector, limit and error.
    assert!(agrees(include_str!("data/analysis.jsonl")) > 100);
}

#[test]
fn what_the_host_registers_is_there_as_a_fact() {
    let document = value!({
        "$for": {"a": "$.rows[*]"},
        "$as": {"a": {"type": "object"}},
        "$where": {"$valid": ["$a", true]},
        "$orderby": {"$key": {"$twice": "$a.n"}, "$collation": "length"},
        "$return": {"$call": ["half", "$a.n", "$least"]}
    });
    let mut options = CompileOptions::new()
        .with_functions(Functions::new().with("half", |_| Ok::<_, String>(None)))
        .with_collations(Collations::new().with("length", |a, b| a.len().cmp(&b.len())))
        .with_operators(Operators::new().with("$twice", Operands::One, |_| Ok::<_, String>(None)).unwrap());
    let at = |analysis: &Value, pointer: &str| analysis.pointer(&Pointer::parse(pointer).unwrap()).cloned();
    let analysis = analyze(&document, &options).unwrap();
    let expected = value!({"externals": ["least"], "operators": ["$call", "$twice", "$valid"], "functions": ["half"],
        "collations": ["length"]});
    assert_eq!(at(&analysis, "/dependencies"), Some(expected));
    assert_eq!(at(&analysis, "/root/asChecks/0/test"), Some(Value::Null));
    assert_eq!(at(&analysis, "/root/where/args/1/test"), Some(Value::Null));
    assert_eq!(at(&analysis, "/root/orderby/specs/0/collation"), Some(value!(true)));
    assert_eq!(at(&analysis, "/root/orderby/specs/0/key/entry"), Some(value!(true)));
    assert_eq!(at(&analysis, "/root/ret/fn"), Some(value!(true)));
    // Analysis needs nothing that compiles schemas, and compiling does.
    assert_eq!(Query::compile_with(&document, &options).unwrap_err().first().code(), "JQ0008");
    options.schemas = Some(Schemas::new(|schema| {
        if schema.as_bool().is_some() { Ok(SchemaTest::new(|_| true)) } else { Err("expected a boolean") }
    }));
    assert_eq!(analyze(&document, &options).unwrap_err().first().code(), "JQ0009");
}

#[test]
fn a_query_explains_itself() {
    let document = value!({"$if": [{"$gt": ["$.n", "$most"]}, {"$sum": "$.all[*]"}, "$other"]});
    let explained = Query::compile(&document).unwrap().explain();
    let expected = value!({"externals": ["most", "other"], "operators": ["$gt", "$if", "$sum"], "functions": [],
        "collations": [], "limits": null});
    assert_eq!(explained, expected);
    let limits = Limits::new().with_steps(NonZeroU64::new(7));
    let query = Query::compile_with(&document, &CompileOptions::new().with_limits(limits)).unwrap();
    let expected = value!({"sequenceItems": null, "resultItems": null, "steps": 7, "depth": null});
    assert_eq!(query.explain().get("limits"), Some(&expected));
    assert_eq!(query.dependencies().externals, ["most", "other"]);
}
