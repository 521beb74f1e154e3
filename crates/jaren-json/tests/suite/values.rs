//! Values, objects, arrays, the macro.

use jaren_json::{
    Array, MemberName, Object, ObjectBuilder, ReadOptions, Shape, Value, canonical, read, to_text, value,
};

#[test]
fn a_literal_value_has_what_was_written() {
    let empty = value!({});
    assert_eq!(empty, Value::Object(Object::default()));
    assert_eq!(value!([]), Value::Array(Array::default()));
    let name = "computed";
    let value = value!({
        "null": null, "list": [null, [], {}, [1, 2,], "x".to_owned() + "y",], (name): {"a": -1, "b": 1 + 1},
        (format!("{name}2")): Some("x"), "none": None::<bool>, "char": 'c', "vec": vec![1.5], "empty": empty,
    });
    let expected = r#"{"null":null,"list":[null,[],{},[1,2],"xy"],"computed":{"a":-1,"b":2},"computed2":"x","none":null,"char":"c","vec":[1.5],"empty":{}}"#;
    assert_eq!(value.to_string(), expected);
    assert_eq!(value!({"a": 1, "b": 2, "a": 3}).to_string(), r#"{"a":3,"b":2}"#);
}

#[test]
fn accessors_answer_for_their_own_kind_alone() {
    let all = value!([null, true, 1.5, "x", [], {}]);
    let kinds: Vec<String> = all.as_array().unwrap().iter().map(|value| value.kind().to_string()).collect();
    assert_eq!(kinds, ["null", "boolean", "number", "string", "array", "object"]);
    for (index, value) in all.as_array().unwrap().iter().enumerate() {
        let answers = [
            value.is_null(),
            value.as_bool().is_some(),
            value.as_f64().is_some(),
            value.as_str().is_some(),
            value.as_array().is_some(),
            value.as_object().is_some(),
        ];
        assert_eq!(answers, std::array::from_fn(|at| at == index));
    }
    assert_eq!(value!(3).as_u64(), Some(3));
    assert_eq!(value!(-3).as_i64(), Some(-3));
    assert_eq!(value!(-0.0).as_u64(), Some(0));
    for number in [0.5, -1.0, 9_007_199_254_740_992.0, 1e300, f64::NAN, f64::INFINITY] {
        assert_eq!(value!(number).as_u64(), None, "{number}");
    }
    assert_eq!(all.at(3).and_then(Value::as_str), Some("x"));
    assert_eq!(value!({"a": 1}).get("a"), Some(&value!(1)));
}

#[test]
fn numbers_that_are_not_json_are_known_however_deep_they_lie() {
    let wild = value!({"a": [1, {"b": f64::NAN}], "c": 1});
    assert!(!wild.is_json() && !Value::from(f64::INFINITY).is_json());
    assert!(!value!([wild.clone(), 1]).is_json());
    assert_eq!((wild.depth(), wild.get("a").unwrap().depth()), (3, 2));
    let members = wild.as_object().unwrap();
    assert!(Value::from(members.without("a")).is_json());
    assert!(Value::from(members.with("a", 1)).is_json());
    let large = (0..200).fold(members.clone(), |object, n: u32| object.with(n.to_string(), n));
    assert!(!Value::from(large.clone()).is_json());
    assert!(Value::from(large.with("a", value!([1]))).is_json());
    for sane in [value!(null), value!(-1.5), value!([]), value!({"a": [[1e308]]})] {
        assert!(sane.is_json());
        assert!(canonical(&sane).is_ok());
    }
}

#[test]
fn depth_counts_containers() {
    let cases =
        [(value!(1), 0), (value!([]), 1), (value!([1]), 1), (value!({}), 1), (value!([[], {"a": [1]}]), 3)];
    for (value, depth) in cases {
        assert_eq!(value.depth(), depth, "{value}");
    }
    let object = value!({"a": [[1]], "b": 1}).as_object().unwrap().clone();
    assert_eq!(object.depth(), 3);
    assert_eq!(object.with("a", 1).depth(), 1);
    assert_eq!(object.without("a").depth(), 1);
    assert_eq!(object.without("b").depth(), 3);
}

#[test]
fn identity_is_a_sign_of_equality() {
    let value = value!({"a": [1, "a text that is long enough to be shared"]});
    assert!(value.ptr_eq(&value.clone()));
    let other = value!({"a": [1, "a text that is long enough to be shared"]});
    assert!(value == other && !value.ptr_eq(&other));
    let scalars = [
        (value!(1), value!(1.0)),
        (value!("short"), value!("short")),
        (value!(null), value!(null)),
        (value!(f64::NAN), value!(f64::NAN)),
    ];
    assert!(scalars.iter().all(|(a, b)| a.ptr_eq(b)));
    // A value that holds a NaN equals itself, whether it is the same allocation or not.
    let nan = value!([f64::NAN]);
    assert!(nan == nan.clone() && nan == value!([f64::NAN]));
}

#[test]
fn a_member_keeps_its_place() {
    let object: Object = [("a", 1), ("b", 2), ("a", 3)].into_iter().collect();
    assert_eq!(Value::Object(object.clone()).to_string(), r#"{"a":3,"b":2}"#);
    let changed = object.with("a", "x").with("c", 4).without("b").without("missing");
    assert_eq!(Value::Object(changed).to_string(), r#"{"a":"x","c":4}"#);
    assert_eq!(object.without("a").without("b"), Object::default());
    let mut builder = ObjectBuilder::new();
    for n in 0..100 {
        builder.insert(format!("{}", n % 40), n);
    }
    assert_eq!(builder.get("7"), Some(&value!(87)));
    let object = builder.build();
    assert_eq!(object.len(), 40);
    assert_eq!(object.keys()[39], "39");
}

#[test]
fn objects_of_one_shape_share_it() {
    let shape = Shape::new(["a", "b"]).unwrap();
    let objects: Vec<Object> =
        (0..3).map(|n| Object::from_shape(&shape, vec![value!(n), value!(null)]).unwrap()).collect();
    assert!(objects.iter().all(|object| object.shape().unwrap().ptr_eq(&shape)));
    assert!(objects[0].with("a", 7).shape().unwrap().ptr_eq(&shape));
    assert!(Object::from_shape(&shape, vec![value!(1)]).is_none());
    assert_eq!(objects[2], value!({"b": null, "a": 2}).as_object().unwrap().clone());
}

#[test]
fn a_guess_is_right_for_objects_of_any_shape() {
    let name = MemberName::new("x");
    let objects = [
        value!({"a": 1, "x": 2}),
        value!({"x": 3}),
        value!({"b": 0, "c": 0, "x": 4}),
        value!({"y": 0}),
        value!({}),
    ];
    let found: Vec<Option<f64>> = (0..3)
        .flat_map(|_| &objects)
        .map(|object| object.as_object().unwrap().get_named(&name).and_then(Value::as_f64))
        .collect();
    assert_eq!(found, [Some(2.0), Some(3.0), Some(4.0), None, None].repeat(3));
}

#[test]
fn integers_that_no_double_holds_are_refused() {
    assert_eq!(Value::try_from(1_u64 << 60).unwrap(), value!(1_152_921_504_606_846_976.0));
    for refused in [Value::try_from((1_i64 << 53) + 1), Value::try_from(u64::MAX), Value::try_from(i64::MAX)]
    {
        assert!(refused.is_err());
    }
    assert!(Value::try_from(i128::MAX).is_err() && Value::try_from(u128::MAX).is_err());
    assert_eq!(Value::try_from(i64::MIN).unwrap().as_f64(), Some(-9_223_372_036_854_775_808.0));
    assert_eq!(Value::try_from(7_usize).unwrap(), value!(7));
}

#[test]
fn a_value_knows_its_size_with_shared_parts_counted_wherever_they_stand() {
    let sizes = [
        (value!(1), 1),
        (value!([]), 1),
        (value!({}), 1),
        (value!([1, [2], {"a": 3}]), 6),
        (value!("fifteen bytes.."), 1),
        (value!("seventeen bytes.."), 2),
        (value!({"a name of thirty-two bytes, here": 1}), 4),
    ];
    for (value, size) in sizes {
        assert_eq!(value.size(), size, "{value}");
        assert_eq!(
            read(to_text(&value).unwrap().as_bytes(), &ReadOptions::data()).unwrap().size(),
            size,
            "{value}"
        );
    }
    let doubled = |rounds: u32| {
        (0..rounds).fold(value!(1), |inner, _| Value::Array(Array::from(vec![inner.clone(), inner])))
    };
    for rounds in 0..31 {
        assert_eq!(doubled(rounds).size(), (2 << rounds) - 1);
    }
    assert_eq!(doubled(100).size(), u32::MAX);
    assert_eq!(value!({"a": (doubled(100))}).size(), u32::MAX);

    // A value of 2^20 leaves is compared and written in full.
    let (one, other) = (doubled(19), doubled(19));
    assert_eq!(one, other);
    assert_eq!(canonical(&one).unwrap(), to_text(&other).unwrap());
}
