//! Values a million deep: nothing overflows the stack, on a thread whose stack is small.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use jaren_json::read::ReadErrorKind;
use jaren_json::{
    Array, Object, Pointer, ReadOptions, Value, canonical, delta, digest, from_value, locate, pretty, read,
    to_text, to_value,
};

const DEPTH: u32 = 1_000_000;

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(256 << 10).spawn(test).unwrap().join().unwrap();
}

fn arrays(depth: u32, innermost: Value) -> Value {
    (0..depth).fold(innermost, |value, _| Value::Array(Array::from_iter([value])))
}

fn objects(depth: u32, innermost: Value) -> Value {
    (0..depth)
        .fold(innermost, |value, _| Value::Object(Object::from_iter([("a", value), ("b", Value::Null)])))
}

#[test]
fn deep_values_are_dropped_compared_and_written() {
    on_a_small_stack(|| {
        // Objects take their time to build where nothing is optimized.
        for (make, depth) in [(arrays as fn(u32, Value) -> Value, DEPTH), (objects, DEPTH / 5)] {
            let [value, same, other] = [1, 1, 2].map(|number| make(depth, Value::from(number)));
            assert_eq!(value.depth(), depth);
            assert!(value == same);
            assert!(value != other);
            assert!(value == value.clone());
            let text = canonical(&value).unwrap();
            assert_eq!(text, to_text(&value).unwrap());
            assert_eq!(text, value.to_string());
            assert_eq!(digest(&value).unwrap(), digest(&same).unwrap());
            let hash = |value: &Value| BuildHasherDefault::<DefaultHasher>::default().hash_one(value);
            assert_eq!(hash(&value), hash(&same));

            let unlimited = ReadOptions { depth_max: u32::MAX, ..ReadOptions::data() };
            assert!(read(text.as_bytes(), &unlimited).unwrap() == value);
            let error = read(text.as_bytes(), &ReadOptions::data()).unwrap_err();
            assert_eq!(error.kind(), ReadErrorKind::Depth { max: 512 });
            assert!(locate(text.as_bytes(), &Pointer::root()).is_some());
        }
    });
}

#[test]
fn a_number_without_text_is_found_at_any_depth() {
    on_a_small_stack(|| {
        let error = canonical(&arrays(DEPTH, Value::from(f64::NAN))).unwrap_err();
        assert_eq!(error.pointer().tokens().count(), DEPTH as usize);
    });
}

#[test]
fn pretty_text_stops_to_indent() {
    on_a_small_stack(|| {
        let value = arrays(10_000, Value::from(1));
        let text = pretty(&value).unwrap();
        assert!(text.len() < 3_000_000);
        assert!(
            read(text.as_bytes(), &ReadOptions { depth_max: 10_000, ..ReadOptions::data() }).unwrap()
                == value
        );
    });
}

#[test]
fn deltas_of_deep_values_set_what_lies_below_their_limit() {
    on_a_small_stack(|| {
        for make in [arrays, objects] {
            let [old, new] = [1, 2].map(|number| make(DEPTH / 5, Value::from(number)));
            let ops = delta::diff(&old, &new);
            assert_eq!(ops.len(), 1);
            assert!(delta::apply(Some(&old), &ops).unwrap() == new);
            assert!(delta::diff(&old, &old.clone()).is_empty());
        }
    });
}

#[test]
fn serde_refuses_deep_values_both_ways() {
    let deep = arrays(DEPTH, Value::Null);
    assert!(to_value(&deep).unwrap_err().message().contains("512 deep"));
    assert!(from_value::<Value>(&deep).unwrap_err().message().contains("512 deep"));
    assert!(serde_json::to_string(&deep).is_err());
    let allowed = objects(512, Value::Null);
    assert_eq!(to_value(&allowed).unwrap(), allowed);
    assert_eq!(from_value::<Value>(&allowed).unwrap(), allowed);
    assert!(to_value(&arrays(513, Value::Null)).is_err());
}

#[test]
fn parts_that_are_shared_stay_when_a_deep_whole_goes() {
    on_a_small_stack(|| {
        let kept = objects(DEPTH / 5, Value::from("kept"));
        let whole = arrays(DEPTH / 2, kept.clone());
        drop(whole);
        assert_eq!(kept.depth(), DEPTH / 5);
        // Wide and deep at once.
        let wide: Value = (0..1_000).map(|n| arrays(n * 10, kept.clone())).collect();
        drop(kept);
        drop(wide);
    });
}

#[test]
fn threads_may_let_go_of_a_deep_value_at_the_same_time() {
    let value = arrays(DEPTH, Value::Null);
    let barrier = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for value in std::iter::repeat_n(value, 4) {
            scope.spawn(|| {
                barrier.wait();
                drop(value);
            });
        }
    });
}
