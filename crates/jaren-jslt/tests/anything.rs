//! Whatever the document and the input: a stylesheet or a report, an answer or an error, and no panic.

use std::num::NonZeroU64;

use jaren_jslt::{CompileOptions, Stylesheet};
use jaren_json::{Object, Value, value};
use jaren_query::{Limits, SchemaTest, Schemas};
use proptest::prelude::*;

/// Values of the language's own words.
fn anything() -> impl Strategy<Value = Value> {
    let texts = [
        "", "0.1", "share", "fresh", "error", "$", "$.a", "$..*", "$[?@.a]", "$[", "$root", "$path", "$x",
        "m",
    ];
    let names = [
        "$jslt",
        "rules",
        "unmatched",
        "modes",
        "match",
        "mode",
        "priority",
        "body",
        "path",
        "schema",
        "$apply",
        "$seq",
        "$const",
        "$valid",
        "$if",
        "a",
        "m",
        "",
    ];
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![-1.0, 0.0, 0.5, 1e300]).prop_map(Value::from),
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
    ];
    scalar.prop_recursive(6, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(names.to_vec()), inner.clone()), 0..4)
                .prop_map(|members| members.into_iter().collect::<Object>().into()),
            // What is more often of the right shape.
            (inner.clone(), inner.clone())
                .prop_map(|(pattern, body)| value!({"match": pattern, "body": body})),
            inner.clone().prop_map(|body| value!({"body": body})),
            inner.prop_map(|argument| value!({"$apply": argument})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn ends(document in anything(), rules in prop::collection::vec(anything(), 0..3), input in anything()) {
        let mut options = CompileOptions::new().with_depth_max(20).with_dispatches_max(NonZeroU64::new(1000));
        options.bodies.limits = Limits::new().with_steps(NonZeroU64::new(1000));
        options.bodies.schemas =
            Some(Schemas::new(|schema| schema.as_bool().map(|is| SchemaTest::new(move |_| is)).ok_or("a boolean")));
        for document in [document, Value::from(rules)] {
            match Stylesheet::compile_with(&document, &options) {
                Ok(sheet) => match sheet.transform_with(&input, &[("x", &document)]) {
                    Ok(_) => {}
                    Err(error) => prop_assert!(["JT2", "JR2"].iter().any(|kind| error.code().starts_with(kind))),
                },
                Err(report) => {
                    for defect in report.iter() {
                        prop_assert!(defect.code().starts_with("JT0"));
                        // It stands in the document, or is a member that should.
                        let place = defect.pointer();
                        let parent = place.parent().unwrap_or_default();
                        prop_assert!(document.pointer(place).or_else(|| document.pointer(&parent)).is_some(), "{}", place);
                    }
                }
            }
        }
    }
}
