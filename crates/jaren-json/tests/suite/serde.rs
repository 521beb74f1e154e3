//! serde in and out.

use std::collections::BTreeMap;

use jaren_json::{Object, Pointer, Str, Value, from_value, to_value, value};
use serde::de::value::MapDeserializer;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: String,
    count: u32,
    price: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    lines: Vec<Line>,
    extra: BTreeMap<i32, Value>,
    unit: (),
    pair: (i64, bool),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Line {
    Empty,
    Text(String),
    Pair(u8, char),
    Item { sku: String, n: i8 },
}

fn order() -> (Order, Value) {
    let order = Order {
        id: "order-7".into(),
        count: 3,
        price: 10.0,
        note: None,
        lines: vec![
            Line::Empty,
            Line::Text("x".into()),
            Line::Pair(1, 'c'),
            Line::Item { sku: "s".into(), n: -1 },
        ],
        extra: BTreeMap::from([(-1, value!({"a": [1]})), (2, value!(null))]),
        unit: (),
        pair: (-5, true),
    };
    let value = value!({
        "id": "order-7", "count": 3, "price": 10,
        "lines": ["Empty", {"Text": "x"}, {"Pair": [1, "c"]}, {"Item": {"sku": "s", "n": -1}}],
        "extra": {"-1": {"a": [1]}, "2": null}, "unit": null, "pair": [-5, true],
    });
    (order, value)
}

#[test]
fn types_go_in_and_come_out() {
    let (order, value) = order();
    assert_eq!(to_value(&order).unwrap(), value);
    assert_eq!(to_value(&order).unwrap().to_string(), value.to_string());
    assert_eq!(from_value::<Order>(&value).unwrap(), order);
}

#[test]
fn strings_are_borrowed_from_the_value() {
    let value = value!({"a": ["x", "a text that is long enough to be shared"]});
    let borrowed: BTreeMap<&str, Vec<&str>> = from_value(&value).unwrap();
    assert_eq!(borrowed["a"][1], "a text that is long enough to be shared");
}

#[test]
fn what_does_not_fit_is_named_with_its_pointer() {
    let (_, value) = order();
    let object = value.as_object().unwrap();
    for (name, member, pointer, message) in [
        ("id", value!(1), "/id", "expected a string, found integer"),
        ("count", value!(-1), "/count", "expected u32, found another integer"),
        ("count", value!(1.5), "/count", "expected u32, found number"),
        ("count", value!("3"), "/count", "expected u32, found string"),
        ("price", value!(null), "/price", "expected f64, found null"),
        ("lines", value!({}), "/lines", "expected a sequence, found object"),
        ("lines", value!(["Empty", {"Text": 1}]), "/lines/1/Text", "expected a string, found integer"),
        (
            "lines",
            value!([{"Item": {"sku": "s", "n": 1000}}]),
            "/lines/0/Item/n",
            "expected i8, found another integer",
        ),
        (
            "lines",
            value!(["Secret"]),
            "/lines/0",
            "expected one of Empty, Text, Pair, Item, found another string",
        ),
        (
            "lines",
            value!(["Text"]),
            "/lines/0",
            "expected an object with one member, the variant with its content",
        ),
        (
            "lines",
            value!([{"Empty": 1}]),
            "/lines/0/Empty",
            "expected null, as the variant has no content, found number",
        ),
        (
            "lines",
            value!([{"Pair": [1]}]),
            "/lines/0/Pair",
            "invalid length 1, expected tuple variant Line::Pair with 2 elements",
        ),
        (
            "lines",
            value!([{"Pair": [1, "c", 3]}]),
            "/lines/0/Pair",
            "expected an array of 2 elements, found 3",
        ),
        (
            "lines",
            value!([1]),
            "/lines/0",
            "expected a string or an object with one member, named as a variant, found number",
        ),
        ("lines", value!([{}]), "/lines/0", "expected an object with one member, named as a variant"),
        ("extra", value!({"x": 1}), "/extra/x", "expected i32, found string"),
    ] {
        let error = from_value::<Order>(&Value::Object(object.with(name, member))).unwrap_err();
        assert_eq!((error.pointer().as_str(), error.message()), (pointer, message));
    }
    let error = from_value::<Order>(&Value::Object(object.without("id"))).unwrap_err();
    assert_eq!(error.to_string(), "missing field `id` (at the root)");
}

#[test]
fn integers_keep_to_what_a_double_holds() {
    for refused in [u64::MAX, (1 << 53) + 1, (1 << 60) + 1] {
        let error = to_value(&BTreeMap::from([("a/b", [0, refused])])).unwrap_err();
        assert_eq!(error.pointer(), "/a~1b/1");
        assert!(error.message().starts_with("an integer that no double holds exactly"));
        assert!(serde_json::from_str::<Value>(&format!("[{refused}]")).is_err());
    }
    assert_eq!(to_value(&(1_u64 << 60)).unwrap().as_f64(), Some(1_152_921_504_606_846_976.0));
    assert_eq!(from_value::<u64>(&value!(1_152_921_504_606_846_976.0)).unwrap(), 1 << 60);
    assert_eq!(from_value::<i64>(&value!(-9_223_372_036_854_775_808.0)).unwrap(), i64::MIN);
    assert!(from_value::<u64>(&value!(18_446_744_073_709_551_616.0)).is_err());
    assert_eq!(from_value::<u8>(&value!(-0.0)).unwrap(), 0);
    assert!(from_value::<f64>(&value!(-0.0)).unwrap().is_sign_negative());
    assert!(from_value::<i32>(&value!(f64::NAN)).is_err());
    assert!(to_value(&f64::NAN).unwrap().as_f64().unwrap().is_nan());
}

#[test]
fn keys_are_strings_or_have_a_text() {
    assert_eq!(to_value(&BTreeMap::from([(true, 1)])).unwrap(), value!({"true": 1}));
    assert_eq!(to_value(&BTreeMap::from([('c', 1)])).unwrap(), value!({"c": 1}));
    assert_eq!(from_value::<BTreeMap<bool, i32>>(&value!({"true": 1})).unwrap(), BTreeMap::from([(true, 1)]));
    assert!(to_value(&BTreeMap::from([((), 1)])).is_err());
    assert!(to_value(&BTreeMap::from([([1], 1)])).is_err());
}

#[test]
fn serde_json_writes_and_reads_values() {
    let value = value!({"b": [1, -2, 0.5, 1e300, null, true], "a": {"x": "y"}, "zero": -0.0});
    let text = serde_json::to_string(&value).unwrap();
    assert_eq!(text, r#"{"b":[1,-2,0.5,1e+300,null,true],"a":{"x":"y"},"zero":0}"#);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    assert_eq!(serde_json::from_str::<Value>(r#"{"a":1,"a":2}"#).unwrap(), value!({"a": 2}));
    assert!(serde_json::to_string(&value!([f64::INFINITY])).is_err());
    // Through the value of that crate, whichever of its features a build has turned on.
    let theirs = serde_json::to_value(&value).unwrap();
    assert_eq!(to_value(&theirs).unwrap(), value);
    assert_eq!(serde_json::from_value::<Value>(theirs).unwrap(), value);
}

#[test]
fn the_parts_of_values_are_serde_types_too() {
    let value = value!({"object": {"a": 1}, "text": "x", "pointer": "/a~1b"});
    #[derive(Debug, Serialize, Deserialize)]
    struct Parts {
        object: Object,
        text: Str,
        pointer: Pointer,
    }
    let parts: Parts = from_value(&value).unwrap();
    assert_eq!(to_value(&parts).unwrap(), value);
    assert!(
        from_value::<Object>(&value!([]))
            .unwrap_err()
            .to_string()
            .contains("expected an object, found array")
    );
    assert!(from_value::<Pointer>(&value!("a")).is_err());
}

/// A number as `serde_json` hands it over when a build turns on `arbitrary_precision`.
const NUMBER_TOKEN: &str = "$serde_json::private::Number";

struct ArbitraryNumber(&'static str);

impl Serialize for ArbitraryNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut number = serializer.serialize_struct(NUMBER_TOKEN, 1)?;
        number.serialize_field(NUMBER_TOKEN, self.0)?;
        number.end()
    }
}

#[test]
fn numbers_of_arbitrary_precision_are_numbers() {
    assert_eq!(to_value(&[ArbitraryNumber("1.5")]).unwrap(), value!([1.5]));
    let error = to_value(&[ArbitraryNumber("9007199254740993")]).unwrap_err();
    assert_eq!(error.pointer(), "/0");
    assert!(to_value(&ArbitraryNumber("1e400")).is_err());

    let from = |text: &'static str| {
        let map = [(NUMBER_TOKEN, text)].into_iter();
        Value::deserialize(MapDeserializer::<_, serde::de::value::Error>::new(map))
    };
    assert_eq!(from("1.5").unwrap(), value!(1.5));
    assert!(from("9007199254740993").is_err());
    assert!(from("x").is_err());
}
