//! Time series beside the recorded cases: what we decide otherwise, and what no case asks (section 8.16).

use std::num::{NonZeroU64, NonZeroUsize};

use jaren_json::{Object, Value, value};
use jaren_query::{CompileOptions, Limits, Query, Scope};
use proptest::prelude::*;

/// What a query answers, or the code and the pointer of its error.
fn answer_within(document: &Value, input: &Value, sequence_items: usize) -> Value {
    let limits = Limits::new().with_sequence_items(NonZeroUsize::new(sequence_items));
    let options = CompileOptions::new().with_limits(limits);
    let query = match Query::compile_with(document, &options) {
        Ok(query) => query,
        Err(report) => {
            return Value::from(format!("{} {}", report.first().code(), report.first().pointer().as_str()));
        }
    };
    match query.items(&Scope::value(input)) {
        Ok(items) => items.into_iter().collect(),
        Err(error) => Value::from(format!("{} {}", error.code(), error.pointer().as_str())),
    }
}

fn answer(document: &Value, input: &Value) -> Value {
    answer_within(document, input, 0)
}

#[test]
fn keys_are_equal_as_values_are() {
    // docs/differences.md
    let query =
        value!({"$for": {"m": {"$asof": ["$.l", "$.r", {"by": "$.k"}]}}, "$return": "$m.right.value"});
    let keys = [value!({"a": 1, "b": 2}), value!([1]), value!("1"), value!(1), value!(null)];
    let row = |at: f64, (number, key): (u32, &Value)| value!({"at": at, "value": number, "k": (key.clone())});
    let left: Vec<Value> = (0..).zip(&keys).map(|key| row(5.0, key)).collect();
    let mut right: Vec<Value> = (0..).zip(&keys).map(|key| row(4.0, key)).collect();
    right.push(value!({"at": 4, "value": 9, "k": {"b": 2, "a": 1}}));
    right.push(value!({"at": 4, "value": 8}));
    let input = value!({"l": (Value::from(left)), "r": (Value::from(right))});
    assert_eq!(answer(&query, &input), value!([9, 1, 2, 3, 4]));
}

#[test]
fn rows_may_be_lists() {
    let spec = value!({"every": 10, "at": "$[0]", "value": "$[1]"});
    let query = value!({"$resample": ["$", (spec.clone())]});
    assert_eq!(answer(&query, &value!([[1, 2], [3, 4]])), value!([{"at": 0, "count": 2, "value": 3}]));
    assert_eq!(answer(&query, &value!([[1, 2], 3])), value!("JQ2001 /$resample/1"));
}

#[test]
fn rows_are_shared_where_nothing_changes() {
    let query = value!({"$asof": ["$", "$"]});
    let rows = value!([{"at": 1, "value": 2, "note": ["long"]}]);
    let found = answer(&query, &rows);
    let left = found.at(0).and_then(|answer| answer.get("left")).unwrap();
    assert!(left.ptr_eq(rows.at(0).unwrap()));
}

#[test]
fn buckets_are_bounded() {
    // docs/differences.md
    let far = value!([{"at": 0, "value": 1}, {"at": 1e15, "value": 2}]);
    let resample = |spec: Value| value!({"$count": {"$resample": ["$", (spec)]}});
    let code = value!("JQ2007 /$count/$resample/1");
    assert_eq!(answer(&resample(value!({"every": 1})), &far), value!([2]));
    assert_eq!(answer(&resample(value!({"every": "P1D", "fill": "null"})), &far), code);
    assert_eq!(answer(&resample(value!({"every": 1, "fill": "locf", "start": 0, "end": 1e15})), &far), code);
    // Months walk a calendar, of which a million are too many too.
    let ends = value!([{"at": (-8e15), "value": 1}, {"at": 8e15, "value": 2}]);
    assert_eq!(answer(&resample(value!({"every": "P1M", "fill": "zero"})), &ends), code);
    assert_eq!(answer(&resample(value!({"every": "P1M"})), &ends), value!([2]));
    // The limit of sequences counts what is made, not what was there.
    let rows =
        value!([{"at": 0, "value": 1}, {"at": 1, "value": 1}, {"at": 2, "value": 1}, {"at": 5, "value": 1}]);
    assert_eq!(answer_within(&resample(value!({"every": 1, "fill": "null"})), &rows, 2), value!([6]));
    assert_eq!(answer_within(&resample(value!({"every": 1, "fill": "null"})), &rows, 1), code);
}

#[test]
fn many_rows_take_no_more_than_their_number() {
    // Runs of buckets without rows between ones without readings, and rows at one instant: no operator looks at them again
    // and again.
    let rows: Vec<Value> =
        (0..100_000).map(|n| value!({"at": (f64::from(n) * 2.0), "value": null})).collect();
    let rows = Value::from(rows);
    let linear = value!({"$count": {"$resample": ["$", {"every": 1, "fill": "linear"}]}});
    assert_eq!(answer(&linear, &rows), value!([199_999]));
    let late: Vec<Value> = (0..50_000).map(|_| value!({"at": 1e6, "value": 1})).collect();
    let input = value!({"l": (rows), "r": (Value::from(late))});
    let forward = value!({"$count": {"$asof": ["$.l", "$.r", {"direction": "forward"}]}});
    assert_eq!(answer(&forward, &input), value!([100_000]));
}

#[test]
fn rows_and_buckets_are_paid_for() {
    let rows: Vec<Value> = (0..1000).map(|at| value!({"at": at, "value": 1})).collect();
    let rows = Value::from(rows);
    for work in [
        value!({"$rolling": ["$", {"width": 10}]}),
        value!({"$resample": [[], {"every": 1, "start": 0, "end": 1e4, "fill": "null"}]}),
        value!({"$asof": ["$", "$", {"by": "$.at"}]}),
    ] {
        let query = value!({"$for": {"n": {"$range": [1, 100_000]}}, "$return": {"$count": (work)}});
        let limits = Limits::new().with_work(NonZeroU64::new(1_000_000));
        let options = CompileOptions::new().with_limits(limits);
        let query = Query::compile_with(&query, &options).unwrap();
        assert_eq!(query.items(&Scope::value(&rows)).unwrap_err().code(), "JQ2009");
    }
}

#[test]
fn odd_numbers_end_in_an_answer() {
    // docs/differences.md
    let numbers = [0.0, -0.0, 1e-308, 1.5, -1.0, 9e15, -9e15, 8.64e15, -8.64e15, 1e300, -1e300];
    let widths = [
        value!("P1M"),
        value!("P1D"),
        value!(1),
        value!("P99999999999999Y"),
        value!(9_007_199_254_740_991.0),
    ];
    for at in numbers {
        for origin in numbers {
            for every in &widths {
                for offset in [0.0, 1e9, -1e300] {
                    let clock = value!({"offset": offset});
                    let query = value!({"$time-bucket": ["$", (every.clone()), origin, (clock.clone())]});
                    let found = answer(&query, &Value::from(at));
                    let refused = found
                        .as_str()
                        .is_some_and(|error| error.starts_with("JQ2001") || error.starts_with("JQ0003"));
                    assert!(found.at(0).is_some() || refused, "{query} {at}: {found}");
                    let mut spec = Object::from_iter([("width", every.clone())]);
                    spec = spec.with("offset", offset);
                    let rolling = value!({"$rolling": ["$", (Value::from(spec))]});
                    let rows = value!([{"at": at, "value": 1}, {"at": origin, "value": 2}]);
                    let found = answer(&rolling, &rows);
                    assert!(
                        found.as_array().is_some() || found == value!("JQ2001 /$rolling/1"),
                        "{rolling}: {found}"
                    );
                }
            }
        }
    }
}

fn specs() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "every",
        "width",
        "origin",
        "start",
        "end",
        "aggregate",
        "fill",
        "at",
        "value",
        "zone",
        "offset",
        "by",
        "disambiguation",
        "minPeriods",
        "direction",
        "tolerance",
        "leftAt",
        "rightAt",
        "other",
    ]);
    let values = prop::sample::select(vec![
        value!(10),
        value!(0),
        value!(-1),
        value!(1.5),
        value!("PT1H"),
        value!("P1M"),
        value!("mean"),
        value!("linear"),
        value!("locf"),
        value!("$.at"),
        value!("$.k[0]"),
        value!("$..x"),
        value!("$"),
        value!("nearest"),
        value!("later"),
        value!("UTC"),
        value!("Europe/Paris"),
        value!(null),
        value!({}),
        value!([]),
        value!("2026-01-01"),
    ]);
    prop::collection::vec((names, values), 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn rows() -> impl Strategy<Value = Value> {
    let instants = prop_oneof![
        (-50..50).prop_map(Value::from),
        Just(value!("2026-01-01T00:00:00Z")),
        Just(value!(8.64e15)),
        Just(value!("x"))
    ];
    let row = prop_oneof![
        9 => (instants, -5..5).prop_map(|(at, value)| value!({"at": (at), "value": value, "k": [value]})),
        1 => Just(value!([1])),
    ];
    prop::collection::vec(row, 0..6).prop_map(Value::from)
}

proptest! {
    /// Whatever stands in a specification and in its rows, there is an answer or an error of the right stage.
    #[test]
    fn any_specification_is_read_or_refused(spec in specs(), rows in rows()) {
        for query in [
            value!({"$resample": ["$", (spec.clone())]}),
            value!({"$rolling": ["$", (spec.clone())]}),
            value!({"$asof": ["$", "$", (spec.clone())]}),
            value!({"$time-bucket": ["$[0].at", "$[1].at", "$[2].at", (spec.clone())]}),
            value!({"$overlaps": [(value!({"$const": (spec.clone())})), "$[0]"]}),
        ] {
            let found = answer_within(&query, &rows, 1000);
            let refused = found.as_str().is_some_and(|error| {
                ["JQ0003 /", "JQ2001 /", "JQ2007 /"].iter().any(|code| error.starts_with(code))
            });
            prop_assert!(refused || found.as_array().is_some(), "{}: {}", query, found);
        }
    }

    /// A window that holds one instant, and buckets as wide as nothing lies between, are the rows themselves.
    #[test]
    fn windows_and_buckets_agree(values in prop::collection::vec(prop::option::of(-100..100_i32), 1..20)) {
        let rows: Value = (0_u32..).zip(&values).map(|(at, value)| {
            let value = value.map_or(Value::Null, Value::from);
            value!({"at": at, "value": (value)})
        }).collect();
        for aggregate in ["sum", "mean", "min", "max", "first", "last", "count"] {
            let rolling = answer(&value!({"$rolling": ["$", {"width": 1, "aggregate": aggregate}]}), &rows);
            let resample = answer(&value!({"$resample": ["$", {"every": 1, "aggregate": aggregate}]}), &rows);
            prop_assert_eq!(&rolling, &resample, "{}", aggregate);
            // And a window of everything ends with what one bucket of everything answers.
            let rolling = answer(&value!({"$rolling": ["$", {"width": 1000, "aggregate": aggregate}]}), &rows);
            let bucket = answer(&value!({"$resample": ["$", {"every": 1000, "aggregate": aggregate}]}), &rows);
            let last = rolling.at(values.len() - 1).and_then(|row| row.get("value"));
            prop_assert_eq!(last, bucket.at(0).and_then(|bucket| bucket.get("value")), "{}", aggregate);
        }
    }
}
