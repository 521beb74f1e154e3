//! Finding the text of a part of a value.

use jaren_json::read::locate_key;
use jaren_json::{Pointer, Span, locate};

fn cut(text: &str, span: Option<Span>) -> Option<&str> {
    span.map(|span| &text[span.start.offset..span.end.offset])
}

#[test]
fn finds_values_and_names() {
    let text = r#" { "a" : [1, {"b/c": "x]\"}"}, -2.5e3 ], "é": {"a": null}, "a~": true } "#;
    let value = |pointer| cut(text, locate(text.as_bytes(), &Pointer::parse(pointer).unwrap()));
    let name = |pointer| cut(text, locate_key(text.as_bytes(), &Pointer::parse(pointer).unwrap()));
    assert_eq!(value(""), Some(text.trim()));
    assert_eq!(value("/a"), Some(r#"[1, {"b/c": "x]\"}"}, -2.5e3 ]"#));
    assert_eq!(value("/a/0"), Some("1"));
    assert_eq!(value("/a/1/b~1c"), Some(r#""x]\"}""#));
    assert_eq!(value("/a/2"), Some("-2.5e3"));
    assert_eq!(value("/é/a"), Some("null"));
    assert_eq!(value("/a~0"), Some("true"));
    assert_eq!(name("/a/1/b~1c"), Some(r#""b/c""#));
    assert_eq!(name("/é"), Some(r#""é""#));
    for nameless in ["", "/a/0", "/x"] {
        assert_eq!(name(nameless), None, "{nameless}");
    }
    for nowhere in ["/x", "/a/3", "/a/-", "/a/0/x", "/é/b"] {
        assert_eq!(value(nowhere), None, "{nowhere}");
    }
}

#[test]
fn says_lines_and_columns_in_characters() {
    let text = "{\n  \"é😀\": [\n    1,\n    2\n  ]\n}";
    let span = locate(text.as_bytes(), &Pointer::parse("/é😀/1").unwrap()).unwrap();
    assert_eq!((span.start.line, span.start.column), (4, 5));
    assert_eq!((span.end.line, span.end.column), (4, 6));
    let span = locate(text.as_bytes(), &Pointer::parse("/é😀").unwrap()).unwrap();
    assert_eq!((span.start.line, span.start.column), (2, 9));
    assert_eq!((span.end.line, span.end.column), (5, 4));
}

#[test]
fn the_last_of_equal_names_counts() {
    let text = r#"{"a": 1, "b": 2, "\u0061": 3}"#;
    assert_eq!(cut(text, locate(text.as_bytes(), &Pointer::parse("/a").unwrap())), Some("3"));
}

#[test]
fn broken_text_has_parts_up_to_where_it_breaks() {
    let text = r#"{"a": 1, "b": }"#;
    assert_eq!(cut(text, locate(text.as_bytes(), &Pointer::parse("/a").unwrap())), Some("1"));
    assert_eq!(locate(text.as_bytes(), &Pointer::parse("/b").unwrap()), None);
    for text in ["", "{", "[", "{\"a\"", "[", "\"", "\u{feff}1"] {
        assert_eq!(locate(text.as_bytes(), &Pointer::parse("/0").unwrap()), None, "{text}");
    }
    assert_eq!(locate(b"\xff", &Pointer::root()), None);
}
