//! Geography and vectors beyond the shared cases: what bounds them, what the cases leave open, and odd geometries.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::num::NonZeroU64;

use jaren_json::{Value, value};
use jaren_query::{CompileOptions, EvalError, Limits, Query, Scope};

fn items(query: &Value, input: &Value) -> Result<Vec<Value>, EvalError> {
    Query::compile(query).unwrap().items(&Scope::value(input))
}

#[track_caller]
fn check(query: &Value, input: &Value, expected: &[Value]) {
    assert_eq!(items(query, input).unwrap(), expected, "{query} of {input}");
}

/// Every operator of sections 8.14 and 8.15 with the input as each of its operands.
fn operators() -> Vec<Value> {
    let mut queries: Vec<Value> =
        ["$bbox", "$area", "$length", "$centroid", "$geo-text", "$geo-parse", "$geohash-bounds"]
            .into_iter()
            .chain(["$geohash-neighbours"])
            .map(|name| Value::Object([(name, value!("$"))].into_iter().collect()))
            .collect();
    let square =
        value!({"$const": {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]}});
    for name in ["$distance", "$within", "$bbox-intersects", "$similarity"] {
        for pair in [value!(["$", "$"]), value!(["$", square.clone()]), value!([square.clone(), "$"])] {
            queries.push(Value::Object([(name, pair)].into_iter().collect()));
        }
    }
    queries.extend([value!({"$geohash": ["$", 12]}), value!({"$geo-simplify": ["$", 0.5]})]);
    queries
}

/// Coordinates of every kind in every geometry, whole and broken.
fn odd_values() -> Vec<Value> {
    let numbers =
        [0.0, -0.0, 1e-320, 1e154, 1e200, f64::MAX, f64::MIN, f64::INFINITY, f64::NAN].map(Value::from);
    let mut values = vec![
        value!([]),
        value!({}),
        value!([[]]),
        value!([[[]], []]),
        value!(""),
        value!("z"),
        value!("POINT"),
    ];
    for a in &numbers {
        for b in &numbers {
            let (p, q) = (value!([a.clone(), b.clone()]), value!([b.clone(), a.clone(), 7]));
            let parts = [
                value!([]),
                value!([p.clone()]),
                value!([p.clone(), q.clone()]),
                value!([p.clone(), q.clone(), [1, 1], [a.clone(), 1], p.clone()]),
                value!([null, p.clone(), {}, "x", [1], q.clone(), p.clone(), true]),
            ];
            for part in parts {
                values.push(value!({"type": "LineString", "coordinates": part.clone()}));
                values.push(value!({"type": "Polygon", "coordinates": [part.clone(), [], part.clone()]}));
                values
                    .push(value!({"type": "MultiPolygon", "coordinates": [[part.clone()], part.clone(), 1]}));
                values.push(
                    value!({"type": "Feature", "geometry": {"type": "MultiPoint", "coordinates": part}}),
                );
            }
            values.extend([
                p,
                value!({"type": "GeometryCollection", "geometries": [q, {"type": "Point"}, null]}),
            ]);
        }
    }
    values
}

#[test]
fn odd_geometries_end_in_an_answer() {
    for input in odd_values() {
        for query in operators() {
            match items(&query, &input) {
                Ok(items) => {
                    let answer = items.first().cloned().unwrap_or_default();
                    // What is measured is a number of the world, or nothing.
                    assert!(answer.as_f64().is_none_or(f64::is_finite), "{query} of {input:?}: {answer:?}");
                }
                Err(error) => assert_eq!(error.code(), "JQ2001", "{query} of {input:?}"),
            }
        }
    }
}

#[test]
fn rings_are_closed_where_the_format_says_so() {
    // 8.14: `$area` and `$within` read an open ring as closed. It begins at its western end, so the missing side matters.
    let open = value!({"type": "Polygon", "coordinates": [[[0, 0], [4, 4], [0, 4]]]});
    let closed = value!({"type": "Polygon", "coordinates": [[[0, 0], [4, 4], [0, 4], [0, 0]]]});
    let turned = value!({"type": "Polygon", "coordinates": [[[4, 4], [0, 4], [0, 0]]]});
    let area = value!({"$idiv": [{"$area": "$"}, 1000]});
    let expected = items(&area, &closed).unwrap();
    assert!(expected.first().and_then(Value::as_f64).unwrap() > 0.0);
    for ring in [open, turned] {
        check(&area, &ring, &expected);
        check(&value!({"$within": [[1, 2], "$"]}), &ring, &[value!(true)]);
        check(&value!({"$within": [[3, 1], "$"]}), &ring, &[value!(false)]);
    }
}

#[test]
fn each_position_of_a_grid_lies_in_one_cell() {
    let cell = |west: i32, south: i32| {
        let (east, north) = (west + 1, south + 1);
        value!({"type": "Polygon", "coordinates": [[
            [west, south], [east, south], [east, north], [west, north], [west, south]
        ]]})
    };
    let grid: Value = (0..3).flat_map(|x| (0..3).map(move |y| cell(x, y))).collect();
    for at in [[1.0, 1.0], [1.5, 1.0], [1.0, 1.5], [0.3, 2.7], [2.0, 2.0]].map(Value::from_iter) {
        let query = value!({"$count": {"$for": {"cell": "$[*]"}, "$where": {"$within": [at, "$cell"]}, "$return": 1}});
        check(&query, &grid, &[value!(1)]);
    }
}

#[test]
fn holes_and_collections_count() {
    let with_hole =
        value!([[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]], [[1, 1], [3, 1], [3, 3], [1, 3], [1, 1]]]);
    let other = value!([[[8, 8], [9, 8], [9, 9], [8, 8]]]);
    let features = value!({"type": "FeatureCollection", "features": [
        {"type": "Feature", "geometry": null},
        {"type": "Feature", "geometry": {"type": "GeometryCollection", "geometries": [
            {"type": "Point", "coordinates": [20, 20]},
            {"type": "MultiPolygon", "coordinates": [with_hole, other]}
        ]}}
    ]});
    for (at, within) in [([0.5, 0.5], true), ([2.0, 2.0], false), ([8.7, 8.2], true), ([20.0, 20.0], false)] {
        check(&value!({"$within": [Value::from_iter(at), "$"]}), &features, &[value!(within)]);
    }
    check(
        &value!({"$geo-text": "$"}),
        &features,
        &[value!(
            "GEOMETRYCOLLECTION (GEOMETRYCOLLECTION (POINT (20 20), MULTIPOLYGON (((0 0, 4 0, 4 4, 0 4, 0 0), \
             (1 1, 3 1, 3 3, 1 3, 1 1)), ((8 8, 9 8, 9 9, 8 8)))))"
        )],
    );
}

#[test]
fn texts_are_read_strictly() {
    let read = |text: &str| items(&value!({"$geo-parse": "$"}), &Value::from(text)).unwrap().pop();
    for (text, kind, coordinates) in [
        ("MultiPoint zm(1 2 3 4,(5 6 7 8))", "MultiPoint", value!([[1, 2, 3], [5, 6, 7]])),
        ("POINT M (1 2 3)", "Point", value!([1, 2])),
        ("LINESTRING(-0 1.,.5\t1e1)", "LineString", value!([[0, 1], [0.5, 10]])),
        ("POINT (-1.e2 +1E-2)", "Point", value!([-100, 0.01])),
        ("MULTILINESTRING Z EMPTY", "MultiLineString", value!([])),
    ] {
        assert_eq!(read(text), Some(value!({"type": kind, "coordinates": coordinates})), "{text}");
    }
    for text in [
        "POINT (1 2) ",
        " POINT (1 2)",
        "POINTZ (1 2 3)",
        "POINT Z (1 2)",
        "POINT (1 2 3 4)",
        "POINT ZM (1 2 3 4 5)",
        "POINT (1 2 +)",
        "POINT (1 2e)",
        "POINT (1 . 2)",
        "POINT (inf 1)",
        "LINESTRING (0 0, 1 1 1)",
        "LINESTRING (0 0, 1 1,)",
        "LINESTRING ()",
        "POLYGON ((0 0, 1 0, 1 1, 0 1))",
        "POLYGON M ((0 0 1, 1 0 1, 1 1 1, 0 0 2))",
        "GEOMETRYCOLLECTION (1 2)",
        "GEOMETRYCOLLECTION ()",
        "POINT (1 2)é",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    let nested =
        |levels: usize| format!("{}POINT EMPTY{}", "GEOMETRYCOLLECTION (".repeat(levels), ")".repeat(levels));
    assert!(read(&nested(8)).is_some());
    assert!(read(&nested(9)).is_none());
    assert!(read(&nested(100_000)).is_none());
}

#[test]
fn simplifying_keeps_what_it_need_not_change() {
    let simplified =
        |input: &Value| items(&value!({"$geo-simplify": ["$", 0.5]}), input).unwrap().pop().unwrap();
    let feature = value!({
        "type": "Feature", "id": 7, "properties": {"name": "n"},
        "geometry": {"type": "LineString", "bbox": [0, 0, 9, 1], "coordinates": [[0, 0, 1], [1, 0.1, 2], [2, 0, 3]]}
    });
    assert_eq!(
        simplified(&feature).to_string(),
        r#"{"type":"Feature","id":7,"properties":{"name":"n"},"geometry":{"type":"LineString","bbox":[0,0,9,1],"coordinates":[[0,0,1],[2,0,3]]}}"#
    );
    for unchanged in [
        value!({"type": "Polygon", "coordinates": [[[0, 0], [0.1, 0], [0.1, 0.1], [0, 0.1], [0, 0]]]}),
        value!({"type": "LineString", "coordinates": [[0, 0], [1, 0], "x", [2, 0]]}),
        value!({"type": "LineString", "coordinates": [[0, 0], [1, f64::NAN], [2, 0]]}),
        value!({"type": "LineString", "coordinates": 1}),
        value!({"type": "LineString"}),
        value!({"type": "Feature"}),
        value!({"type": "FeatureCollection", "features": {}}),
        value!({"type": "MultiPoint", "coordinates": [[0, 0], [0, 0], [0, 0]]}),
        value!([[0, 0], [1, 0], [2, 0]]),
    ] {
        assert_eq!(simplified(&unchanged), unchanged);
    }
}

#[test]
fn collections_nest_only_so_deep() {
    let nested = |levels: usize| {
        let point = value!({"type": "Point", "coordinates": [1, 2]});
        (0..levels).fold(point, |inner, _| value!({"type": "GeometryCollection", "geometries": [inner]}))
    };
    for query in [value!({"$geo-text": "$"}), value!({"$geo-simplify": ["$", 1]})] {
        assert_eq!(items(&query, &nested(32)).unwrap().len(), 1, "{query}");
        assert_eq!(items(&query, &nested(33)).unwrap_err().code(), "JQ2007", "{query}");
    }
    // What only measures goes as deep as a value may be.
    check(&value!({"$bbox": "$"}), &nested(20_000), &[value!([1, 2, 1, 2])]);
    check(&value!({"$within": ["$", "$"]}), &nested(20_000), &[value!(false)]);
}

/// The items, or the code of the error, with so many steps.
fn limited(query: &Value, input: &Value, steps: u64) -> Result<Vec<Value>, &'static str> {
    let limits = Limits::new().with_steps(NonZeroU64::new(steps));
    let query = Query::compile_with(query, &CompileOptions::new().with_limits(limits)).unwrap();
    query.items(&Scope::value(input)).map_err(|error| error.code())
}

#[test]
fn much_work_takes_steps() {
    let line = |positions: u32| -> Value {
        let positions: Value =
            (0..positions).map(|x| value!([f64::from(x) / 1e4, f64::from(x % 2)])).collect();
        value!({"type": "LineString", "coordinates": positions})
    };
    // Two expressions; a thousand positions are free.
    let length = value!({"$idiv": [{"$length": "$"}, 1e9]});
    let bounds = value!({"$bbox": "$"});
    assert!(limited(&bounds, &line(1000), 2).is_ok());
    assert_eq!(limited(&bounds, &line(100_000), 50), Err("JQ2009"));
    assert!(limited(&bounds, &line(100_000), 100).is_ok());
    assert_eq!(limited(&length, &line(100_000), 150), Err("JQ2009"));
    // A zigzag of which each position is the furthest in turn.
    let simplify = value!({"$count": {"$geo-simplify": ["$", 0.1]}});
    assert_eq!(limited(&simplify, &line(20_000), 1000), Err("JQ2009"));
    assert_eq!(limited(&simplify, &line(1000), 1000), Ok(vec![value!(1)]));
}

#[test]
fn shared_parts_take_the_steps_of_their_copies() {
    // Sixty doublings make a value of 2^60 positions in little memory.
    let doubled = (0..60).fold(value!([[1, 2]]), |inner, _| value!([inner.clone(), inner]));
    for query in [value!({"$bbox": "$"}), value!({"$centroid": "$"}), value!({"$within": [[1, 2], "$"]})] {
        assert_eq!(limited(&query, &doubled, 200), Err("JQ2009"), "{query}");
    }
    let collections = (0..30).fold(
        value!({"type": "Point", "coordinates": [1, 2]}),
        |inner, _| value!({"type": "GeometryCollection", "geometries": [inner.clone(), inner]}),
    );
    for query in [value!({"$area": "$"}), value!({"$geo-text": "$"}), value!({"$geo-simplify": ["$", 1]})] {
        assert_eq!(limited(&query, &collections, 200), Err("JQ2009"), "{query}");
    }
}
