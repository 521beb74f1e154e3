//! Large objects that are changed member by member: what they hold, and that a change costs by what it changes.

use jaren_json::delta::{Op, apply, diff, ops_from_value, ops_to_value};
use jaren_json::{Object, Value, canonical, value};
use proptest::prelude::*;

/// An object of that many members, set one after the other.
fn grown(count: u32) -> Object {
    (0..count).fold(Object::default(), |object, n| object.with(name(n), n))
}

/// In an order that is not that of the names.
fn name(n: u32) -> String {
    format!("m{}", n * 7919 % 100_003)
}

fn plain(count: u32) -> Object {
    (0..count).map(|n| (name(n), Value::from(n))).collect()
}

#[test]
fn it_is_the_same_object() {
    for count in [1_u32, 63, 64, 65, 66, 100, 1000, 5000] {
        let (large, plain) = (grown(count), plain(count));
        assert_eq!(large, plain);
        assert_eq!(large.len(), count as usize);
        assert_eq!(large.depth(), plain.depth());
        assert_eq!(large.size(), plain.size());
        assert_eq!(large.keys(), plain.keys());
        assert_eq!(Value::from(large.clone()).to_string(), Value::from(plain.clone()).to_string());
        assert_eq!(canonical(&large.clone().into()), canonical(&plain.clone().into()));
        for n in 0..count {
            assert_eq!(large.get(&name(n)), Some(&Value::from(n)));
        }
        assert_eq!(large.get("missing"), None);
        assert!(!large.contains_key("n"));
        assert_eq!(large.without(&name(count / 2)), plain.without(&name(count / 2)));
    }
}

#[test]
fn its_depth_is_that_of_its_deepest_member() {
    let object = grown(500).with("deep", value!([[[]]]));
    assert_eq!(object.depth(), 4);
    assert_eq!(object.with("deep", 1).depth(), 1);
    let deep = (0..100).fold(Value::from(1), |value, _| value!([value]));
    let object = object.with("deep", deep.clone()).with("more", 2);
    assert_eq!((object.depth(), object.len()), (101, 502));
    assert!(object.get("deep").unwrap().ptr_eq(&deep));
}

#[test]
fn a_set_member_is_found_by_a_small_delta() {
    let before = grown(5000);
    let after =
        before.with(name(1234), "other").with("new", 1).with("newer", 2).with(name(9), value!({"a": [1]}));
    let (before, after) = (Value::from(before), Value::from(after));
    let ops = diff(&before, &after);
    assert_eq!(ops.len(), 4);
    let Some(Op::Set { path, .. }) = ops.get(2) else { panic!("a new member is set") };
    assert_eq!(path.as_slice(), ["new".into()]);
    let replica = apply(Some(&before), &ops).unwrap();
    assert_eq!(replica, after);
    assert_eq!(replica.to_string(), after.to_string());
    assert_eq!(diff(&after, &before).len(), 4);
    assert_eq!(apply(Some(&after), &diff(&after, &before)).unwrap(), before);
}

// durable D3
#[test]
fn a_reserved_name_is_set_with_the_whole() {
    let before = Value::from(grown(100));
    let after = Value::from(grown(100).with("__proto__", 1));
    assert!(matches!(diff(&before, &after).as_slice(), [Op::Replace(_)]));
}

#[test]
fn operations_change_it_as_they_change_a_small_one() {
    let ops = [
        r#"[["d",["m0"]],["s",["m0"],1],["s",["n"],1],["d",["n"]],["d",["n"]],["s",["n"],{"a":1}],["s",["n","a"],2]]"#,
        r#"[["s",["m0"],"text"],["a",["m0"],"s"],["d",["missing"]]]"#,
        r#"[["d",["m7919"]],["d",["m15838"]],["s",["x"],{"y":[]}],["p",["x","y"],0,0,[1,2]]]"#,
        r#"[["s",[5],1],["d",[5]]]"#,
    ];
    for ops in ops {
        let ops = ops_from_value(&crate::support::parse(ops)).unwrap();
        let expected = apply(Some(&plain(60).into()), &ops).unwrap();
        let expected = expected.as_object().unwrap();
        for large in [grown(70), plain(70)] {
            let made = apply(Some(&large.into()), &ops).unwrap();
            let made = made.as_object().unwrap();
            // The ten members more stand before what the operations added.
            let rest = (60..70).fold(made.clone(), |object, n| object.without(&name(n)));
            assert_eq!(rest.keys(), expected.keys());
            assert_eq!(&rest, expected);
        }
    }
    let many: Vec<Op> =
        (0..60).map(|n| Op::Set { path: vec![name(n).as_str().into()], value: Value::Null }).collect();
    let made = apply(Some(&grown(70).into()), &many).unwrap();
    let expected = (0..60).fold(grown(70), |object, n| object.with(name(n), Value::Null));
    assert_eq!(made, Value::from(expected));
}

proptest! {
    #[test]
    fn any_two_versions_are_connected_by_a_delta(
        first in proptest::collection::vec(0_u32..400, 60..300),
        second in proptest::collection::vec((0_u32..400, 0_u8..4), 0..60),
    ) {
        let before = first.iter().fold(Object::default(), |object, n| object.with(name(*n), *n));
        let after = second.iter().fold(before.clone(), |object, (n, what)| match what {
            0 => object.without(&name(*n)),
            1 => object.with(name(*n), value!({"n": (*n)})),
            _ => object.with(name(*n), "other"),
        });
        let model: Vec<(String, Value)> =
            after.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        prop_assert_eq!(&model.into_iter().collect::<Object>(), &after);
        let (before, after) = (Value::from(before), Value::from(after));
        for (one, other) in [(&before, &after), (&after, &before)] {
            let ops = ops_from_value(&ops_to_value(&diff(one, other))).unwrap();
            prop_assert_eq!(&apply(Some(one), &ops).unwrap(), other);
        }
    }
}
