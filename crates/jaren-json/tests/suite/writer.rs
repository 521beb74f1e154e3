//! Canonical, compact and pretty text.

use jaren_json::{Value, canonical, pretty, to_text, value};

#[test]
fn canonical_members_are_in_the_order_of_utf16_code_units() {
    // RFC 8785, 3.2.3.
    let value = value!({
        "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh", "1": "One",
        "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control", "\u{f6}": "Latin Small Letter O With Diaeresis",
    });
    let names: Vec<&str> = value.as_object().unwrap().iter_sorted().map(|(name, _)| name).collect();
    assert_eq!(names, ["\r", "1", "\u{80}", "\u{f6}", "\u{20ac}", "\u{1f600}", "\u{fb33}"]);
}

#[test]
fn strings_are_escaped_where_they_must_be() {
    let text: String =
        (0..0x21).map(|unit| char::from_u32(unit).unwrap()).chain("\"\\/\u{7f}é\u{2028}".chars()).collect();
    let expected = concat!(
        r#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#,
        r"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f",
        " \\\"\\\\/\u{7f}é\u{2028}\""
    );
    assert_eq!(to_text(&Value::from(text)).unwrap(), expected);
}

#[test]
fn compact_text_keeps_the_order_of_members() {
    let value = value!({"b": [1, "x", null, true], "a": {}, "c": [], "": -0.0});
    assert_eq!(value.to_string(), r#"{"b":[1,"x",null,true],"a":{},"c":[],"":0}"#);
    assert_eq!(canonical(&value).unwrap(), r#"{"":0,"a":{},"b":[1,"x",null,true],"c":[]}"#);
}

#[test]
fn pretty_text_is_indented() {
    let value = value!({"b": [1, {"x": null}], "a": {}, "c": []});
    let expected = r#"{
  "b": [
    1,
    {
      "x": null
    }
  ],
  "a": {},
  "c": []
}"#;
    assert_eq!(pretty(&value).unwrap(), expected);
    assert_eq!(pretty(&value!(1)).unwrap(), "1");
}

#[test]
fn numbers_without_a_text_are_refused_with_their_pointer() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let value = value!({"z": number, "a/b": [0, {"c": number}]});
        assert_eq!(canonical(&value).unwrap_err().pointer(), &"/a~1b/1/c");
        assert_eq!(to_text(&value).unwrap_err().pointer(), &"/z");
        assert_eq!(pretty(&value).unwrap_err().pointer(), &"/z");
        assert_eq!(
            canonical(&value!(number)).unwrap_err().to_string(),
            "JSON has no number for the NaN or infinity at the root"
        );
        // For people to read.
        assert_eq!(value.to_string(), r#"{"z":null,"a/b":[0,{"c":null}]}"#);
        assert_eq!(format!("{value:?}"), format!(r#"{{"z":{number},"a/b":[0,{{"c":{number}}}]}}"#));
    }
}
