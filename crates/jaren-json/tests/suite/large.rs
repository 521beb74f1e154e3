//! Large objects and arrays that are changed part by part: what they hold, and that a change costs by what it changes.

use jaren_json::delta::{Op, apply, diff, ops_from_value, ops_to_value};
use jaren_json::{Array, Object, Value, canonical, value};
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

fn numbers(count: u32) -> Array {
    (0..count).map(Value::from).collect()
}

#[test]
fn an_array_with_other_elements_is_the_same_as_one_made_of_them() {
    for count in [1_u32, 2, 255, 256, 257, 1000, 5000] {
        let changed = [0, count / 2, count - 1];
        let made = numbers(count).with_each(changed.map(|n| (n as usize, value!(["other"]))));
        let other = |n| if changed.contains(&n) { value!(["other"]) } else { Value::from(n) };
        let plain: Array = (0..count).map(other).collect();
        assert_eq!((made.len(), made.is_empty()), (count as usize, false));
        assert_eq!((made.depth(), made.size()), (plain.depth(), plain.size()));
        for n in 0..=count {
            assert_eq!(made.get(n as usize), plain.get(n as usize));
        }
        assert_eq!(made, plain);
        assert_eq!(made.as_slice(), plain.as_slice());
        assert_eq!(Value::from(made).to_string(), Value::from(plain).to_string());
    }
}

#[test]
fn changes_beyond_the_end_change_nothing() {
    let array = numbers(300);
    let same = array.with_each([(300, Value::Null), (usize::MAX, Value::Null)]);
    assert!(same.ptr_eq(&array));
    assert!(array.with_each([]).ptr_eq(&array));
    assert_eq!(Array::default().with_each([(0, Value::Null)]), Array::default());
}

#[test]
fn of_several_changes_of_one_element_the_last_counts() {
    let array = numbers(300).with_each([(7, value!("a")), (7, value!("b"))]);
    assert_eq!(array.get(7), Some(&value!("b")));
    let array = array.with_each([(7, value!("c")), (8, value!("d"))]);
    assert_eq!(array.as_slice()[6..10], [value!(6), value!("c"), value!("d"), value!(9)]);
}

#[test]
fn the_elements_that_stay_are_shared() {
    let row = |n: u32| value!({"n": (n), "text": "some text that is too long to stand in place"});
    let rows: Array = (0..1000).map(row).collect();
    let changed = rows.with_each([(500, Value::Null)]);
    for slice in [false, true] {
        for n in (0..1000).filter(|n| *n != 500) {
            let stayed = if slice { &changed.as_slice()[n] } else { changed.get(n).unwrap() };
            assert!(stayed.ptr_eq(rows.get(n).unwrap()));
        }
    }
}

#[test]
fn the_extent_of_a_changed_array_is_that_of_what_is_in_it() {
    let array = numbers(300).with_each([(5, value!([[]]))]);
    assert_eq!((array.depth(), array.size()), (3, 302));
    // The deepest element goes.
    let array = array.with_each([(5, value!("some text of more than sixteen bytes"))]);
    assert_eq!((array.depth(), array.size()), (1, 303));
    let array = array.with_each([(6, value!(f64::NAN))]);
    assert!(!Value::from(array.clone()).is_json());
    let array = array.with_each([(7, value!(f64::NAN)), (6, Value::Null)]);
    assert!(!Value::from(array.clone()).is_json());
    assert!(Value::from(array.with_each([(7, Value::Null)])).is_json());
    // A deep one is let go of without recursion.
    let deep = (0..100_000).fold(Value::from(1), |value, _| value!([value]));
    let array = numbers(300).with_each([(5, deep)]);
    assert_eq!(array.depth(), 100_001);
    assert_eq!(array.with_each([(5, Value::Null)]).depth(), 1);
}

#[test]
fn a_changed_element_is_found_by_a_small_delta() {
    let rows: Array = (0..1000_u32).map(|n| value!({"n": (n), "price": 1})).collect();
    let change = |array: &Array, n: usize| array.with_each([(n, value!({"n": (n as u32), "price": 2}))]);
    let (one, other) = (change(&rows, 700), change(&change(&rows, 700), 5));
    for array in [&one, &other] {
        assert!(array.as_slice().len() == 1000);
    }
    let versions = [rows.clone(), one.clone(), other, change(&rows, 700), change(&one, 9)].map(Value::from);
    for before in &versions {
        for after in &versions {
            let ops = diff(before, after);
            assert_eq!(ops.len(), (0..1000).filter(|n| before.at(*n) != after.at(*n)).count());
            assert_eq!(&apply(Some(before), &ops).unwrap(), after);
        }
    }
    let Some(Op::Set { path, value }) = diff(&versions[0], &versions[1]).pop() else { panic!("one is set") };
    assert_eq!(path.as_slice(), [700.into(), "price".into()]);
    assert_eq!(value, value!(2));
}

proptest! {
    #[test]
    fn a_changed_array_is_like_its_model(
        count in 250_usize..700,
        rounds in proptest::collection::vec(
            (proptest::collection::vec((0_usize..700, crate::support::arb_value()), 0..12), any::<bool>()), 1..6),
    ) {
        let mut model: Vec<Value> = (0..count).map(|n| Value::from(n as u32)).collect();
        let mut array: Array = model.iter().cloned().collect();
        for (changes, is_looked_at) in rounds {
            let before = Value::from(array.clone());
            array = array.with_each(changes.iter().cloned());
            for (index, value) in changes {
                if let Some(element) = model.get_mut(index) {
                    *element = value;
                }
            }
            let plain: Array = model.iter().cloned().collect();
            prop_assert_eq!((array.depth(), array.size()), (plain.depth(), plain.size()));
            prop_assert_eq!(Value::from(array.clone()).is_json(), Value::from(plain.clone()).is_json());
            prop_assert!((0..=count).all(|n| array.get(n) == plain.get(n)));
            let after = Value::from(array.clone());
            let ops = diff(&before, &after);
            prop_assert_eq!(&apply(Some(&before), &ops).unwrap(), &Value::from(plain.clone()));
            if is_looked_at {
                prop_assert_eq!(array.as_slice(), plain.as_slice());
            }
        }
    }

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
