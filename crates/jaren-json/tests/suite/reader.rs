//! Reading: what is refused, where, and in which words.

use std::fmt::Write as _;

use jaren_json::read::{ReadErrorKind, values};
use jaren_json::{Duplicates, Integers, Pointer, ReadError, ReadOptions, Reader, Value, locate, read, value};

use crate::support::{AS_ECMASCRIPT, Rng, parse};

fn refused(text: &[u8], options: &ReadOptions) -> ReadError {
    read(text, options).map(|value| value.to_string()).unwrap_err()
}

#[test]
fn reads_every_kind() {
    let text = "\t{ \"a\" :\n[ 1 , -2.5e-1, \"x\\n\\u00e9\\ud83d\\ude00\", true, false, null, [ ], { } ]\r}";
    let expected = value!({"a": [1, -0.25, "x\né😀", true, false, null, [], {}]});
    assert_eq!(read(text.as_bytes(), &ReadOptions::document()).unwrap(), expected);
}

/// Texts, and in which words they are refused.
const BROKEN_NUMBERS: &[(&str, &str)] = &[
    ("", "expected a value, found the end of the text (line 1, column 1, at the root)"),
    ("  \n ", "expected a value, found the end of the text (line 2, column 2, at the root)"),
    ("x", "expected a value, found 'x' (line 1, column 1, at the root)"),
    (
        "'a'",
        "expected a value, found a single quote (strings stand in double quotes) (line 1, column 1, at the root)",
    ),
    ("\u{feff}1", "expected a value, found U+FEFF (line 1, column 1, at the root)"),
    ("1 2", "expected the end of the text after the value, found '2' (line 1, column 3, at the root)"),
    ("01", "expected the end of the text after the value, found '1' (line 1, column 2, at the root)"),
    ("-", "expected a digit, found the end of the text (line 1, column 2, at the root)"),
    ("1.", "expected a digit after the point, found the end of the text (line 1, column 3, at the root)"),
    ("[1.e5]", "expected a digit after the point, found 'e' (line 1, column 4, at /0)"),
    ("1e+", "expected a digit of the exponent, found the end of the text (line 1, column 4, at the root)"),
    (".5", "expected a value, found '.' (line 1, column 1, at the root)"),
    ("+1", "expected a value, found '+' (line 1, column 1, at the root)"),
    ("NaN", "expected a value, found 'N' (line 1, column 1, at the root)"),
];

const BROKEN_OTHERS: &[(&str, &str)] = &[
    ("nul", "expected 'null', found the end of the text (line 1, column 4, at the root)"),
    ("[1, fals]", "expected 'false', found ']' (line 1, column 9, at /1)"),
    ("[1", "expected ',' or ']' after an element, found the end of the text (line 1, column 3, at the root)"),
    ("[1 2]", "expected ',' or ']' after an element, found '2' (line 1, column 4, at the root)"),
    ("[1,]", "expected a value, found ']' (line 1, column 4, at /1)"),
    ("[1}", "expected ',' or ']' after an element, found '}' (line 1, column 3, at the root)"),
    ("[,1]", "expected a value, found ',' (line 1, column 2, at /0)"),
    (
        "{",
        "expected a name in double quotes or '}', found the end of the text (line 1, column 2, at the root)",
    ),
    ("{a: 1}", "expected a name in double quotes or '}', found 'a' (line 1, column 2, at the root)"),
    ("{\"a\" 1}", "expected ':' after a name, found '1' (line 1, column 6, at /a)"),
    ("{\"a\": }", "expected a value, found '}' (line 1, column 7, at /a)"),
    ("{\"a\": 1,}", "expected a name in double quotes after ',', found '}' (line 1, column 9, at the root)"),
    ("{\"a\": 1 \"b\"}", "expected ',' or '}' after a member, found '\"' (line 1, column 9, at the root)"),
    ("{\"a\": [1, {\"b\": tru}]}", "expected 'true', found '}' (line 1, column 20, at /a/1/b)"),
    (
        "\"a",
        "expected '\"' at the end of the string, found the end of the text (line 1, column 3, at the root)",
    ),
    (
        "\"a\n\"",
        "expected an escape: control characters do not stand in a string, found U+000A (line 1, column 3, at the root)",
    ),
    (
        "\"\\x\"",
        "expected one of \" \\ / b f n r t u after a backslash, found 'x' (line 1, column 3, at the root)",
    ),
    ("\"\\u12g4\"", "expected four hexadecimal digits after \\u, found 'g' (line 1, column 6, at the root)"),
    (
        "\"\\ud83dx\"",
        "a string holds a lone surrogate: escape the character as a pair of them (line 1, column 2, at the root)",
    ),
    ("// x\n1", "expected a value, found '/' (line 1, column 1, at the root)"),
];

#[test]
fn says_what_was_expected_and_found_and_where() {
    for (text, message) in BROKEN_NUMBERS.iter().chain(BROKEN_OTHERS) {
        assert_eq!(refused(text.as_bytes(), &ReadOptions::document()).to_string(), *message, "{text}");
    }
}

#[test]
fn counts_columns_in_characters_and_offsets_in_bytes() {
    let error = refused("{\"é\": 1,\n \"😀€\": x}".as_bytes(), &ReadOptions::document());
    let position = error.position();
    assert_eq!((position.offset, position.line, position.column), (22, 2, 8));
    assert_eq!(error.pointer(), &"/😀€");
}

#[test]
fn refuses_what_is_not_utf8() {
    for (text, byte, offset) in [
        (&b"[\"a\xff\"]"[..], 0xff, 3),
        (b"\"\xc3\"", 0xc3, 1),
        (b"\"\xed\xa0\x80\"", 0xed, 1),
        (b"\"\xc0\x80\"", 0xc0, 1),
        (b"\xf8", 0xf8, 0),
    ] {
        let error = refused(text, &ReadOptions::data());
        assert_eq!(error.kind(), ReadErrorKind::Utf8 { byte });
        assert_eq!(error.position().offset, offset);
    }
}

#[test]
fn members_of_the_same_name() {
    let many: String = (0..50).fold(String::new(), |mut text, n| {
        let _ = write!(text, "\"k{n}\":{n},");
        text
    });
    for (text, pointer, last_wins) in [
        (r#"{"a":1,"b":2,"a":3}"#.to_owned(), "/a", r#"{"a":3,"b":2}"#.to_owned()),
        (r#"{"a":1,"\u0061":{"x":2}}"#.to_owned(), "/a", r#"{"a":{"x":2}}"#.to_owned()),
        (r#"[{"x/y":{"":1,"":2}}]"#.to_owned(), "/0/x~1y/", r#"[{"x/y":{"":2}}]"#.to_owned()),
        (
            format!("{{{many}\"k7\":null}}"),
            "/k7",
            format!("{{{}}}", many.replace("\"k7\":7", "\"k7\":null").trim_end_matches(',')),
        ),
        // Wider than what is kept of the names of one text.
        (
            format!("{{{many}{}\"k7\":null}}", many.replace('k', "m")),
            "/k7",
            format!(
                "{{{}{}}}",
                many.replace("\"k7\":7", "\"k7\":null"),
                many.replace('k', "m").trim_end_matches(',')
            ),
        ),
    ] {
        let error = refused(text.as_bytes(), &ReadOptions::document());
        assert_eq!(error.kind(), ReadErrorKind::Duplicate);
        assert_eq!(error.pointer(), &pointer);
        assert_eq!(read(text.as_bytes(), &ReadOptions::data()).unwrap().to_string(), last_wins);
    }
    // The place of the second name.
    assert_eq!(refused(br#"{"a":1,"a":3}"#, &ReadOptions::document()).position().offset, 7);
    // An error within a value that replaces another one is at its member.
    assert_eq!(refused(br#"{"a":1,"b":2,"a":[x]}"#, &ReadOptions::data()).pointer(), &"/a/0");
}

#[test]
fn the_depth_of_what_was_replaced_does_not_count() {
    let value = parse(r#"{"a":[[[]]],"a":1}"#);
    assert_eq!(value.depth(), 1);
    assert_eq!(value, value!({"a": 1}));
}

#[test]
fn limits_hold_at_their_bounds() {
    let options = ReadOptions { depth_max: 3, bytes_max: 10, ..ReadOptions::data() };
    assert!(read(b"[[[1]]]   ", &options).is_ok());
    assert_eq!(refused(b"[[[1]]]    ", &options).kind(), ReadErrorKind::Length { bytes: 11, max: 10 });
    assert_eq!(refused(b"[[[[", &options).kind(), ReadErrorKind::Depth { max: 3 });
    assert_eq!(refused(b"[[[{", &options).pointer(), &"/0/0/0");
    assert!(read(b"1", &ReadOptions { depth_max: 0, ..options }).is_ok());
    assert_eq!(
        refused(b"[]", &ReadOptions { depth_max: 0, ..options }).kind(),
        ReadErrorKind::Depth { max: 0 }
    );
    let deep = "[".repeat(512) + &"]".repeat(512);
    assert_eq!(read(deep.as_bytes(), &ReadOptions::document()).unwrap().depth(), 512);
}

#[test]
fn a_number_is_refused_with_its_pointer() {
    for (text, pointer, kind) in [
        (r#"{"a":[0,9007199254740993]}"#, "/a/1", ReadErrorKind::InexactInteger),
        (r#"{"a":[0,-1e999]}"#, "/a/1", ReadErrorKind::Overflow),
    ] {
        let error = refused(text.as_bytes(), &ReadOptions::data());
        assert_eq!((error.kind(), error.pointer().as_str()), (kind, pointer));
        assert!(
            read(text.as_bytes(), &ReadOptions { integers: Integers::Nearest, ..ReadOptions::data() })
                .is_ok()
        );
    }
}

#[test]
fn objects_of_one_text_share_their_shapes() {
    let rows = parse(r#"[{"a":1,"b":2},{"a":3,"b":4},{"b":5,"a":6},{"a":7}]"#);
    let shape = |index| rows.at(index).unwrap().as_object().unwrap().shape().unwrap().clone();
    assert!(shape(0).ptr_eq(&shape(1)));
    assert!(!shape(0).ptr_eq(&shape(2)));
    assert_eq!(rows.at(0).unwrap().as_object().unwrap().get("b"), Some(&value!(2)));
}

#[test]
fn objects_of_many_shapes_are_read_as_written() {
    let mut rng = Rng::seeded();
    let mut text = String::from("[");
    for row in 0..3_000 {
        text += if row == 0 { "{" } else { ",{" };
        let start = rng.below(50);
        for (index, n) in (start..start + rng.below(80)).enumerate() {
            let _ = write!(text, "{}\"name-{}\":{n}", if index == 0 { "" } else { "," }, n * 7 % 101);
        }
        text += "}";
    }
    text += "]";
    assert_eq!(parse(&text).to_string(), text);
}

#[test]
fn hostile_names_take_no_long_time() {
    let started = std::time::Instant::now();
    let object = (0..100_000).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(",");
    assert_eq!(parse(&format!("{{{object}}}")).as_object().unwrap().len(), 100_000);
    let objects = (0..100_000).map(|n| format!("{{\"{n}\":0}}")).collect::<Vec<_>>().join(",");
    assert_eq!(parse(&format!("[{objects}]")).as_array().unwrap().len(), 100_000);
    assert!(started.elapsed().as_secs() < 20);
}

#[test]
fn values_that_follow_each_other() {
    let all = |text: &str| {
        values(text.as_bytes(), &ReadOptions::data())
            .map(|value| value.map_err(|error| error.position().line))
            .collect::<Vec<_>>()
    };
    assert_eq!(all(""), []);
    assert_eq!(all(" \n "), []);
    assert_eq!(all("1\n{\"a\":2}\n[]\n"), [Ok(value!(1)), Ok(value!({"a": 2})), Ok(value!([]))]);
    assert_eq!(all("1\n{\"a\":\n"), [Ok(value!(1)), Err(3)]);
    assert_eq!(all("\"\u{e9}\" x 1"), [Ok(value!("é")), Err(1)]);
    assert_eq!(values(b"\xff", &ReadOptions::data()).filter(Result::is_err).count(), 1);
}

/// Texts that were changed by chance are accepted by this reader where they are by `serde_json`, and as the same.
#[test]
fn agrees_with_serde_json_on_broken_texts() {
    let mut rng = Rng::seeded();
    let seed = r#"{"a":[1,-2.5e-3,0.0,{"b":null,"c\u00e9\ud83d\ude00":"x\n"},[]],"d":{},"e":true,"f":false,"a":1e5}"#;
    let bytes = b"{}[]:,\"\\ue0189.-+E ntfals/\n\x00\x1f\xc3\xa9\xed";
    let mut accepted = 0;
    for _ in 0..60_000 {
        let mut text = seed.as_bytes().to_vec();
        for _ in 0..=rng.below(3) {
            let (at, byte) =
                (rng.below(text.len() as u64) as usize, bytes[rng.below(bytes.len() as u64) as usize]);
            match rng.below(3) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
        }
        let options =
            ReadOptions { duplicates: Duplicates::LastWins, integers: Integers::Nearest, ..AS_ECMASCRIPT };
        let (ours, theirs) = (read(&text, &options), serde_json::from_slice::<serde_json::Value>(&text));
        let shown = String::from_utf8_lossy(&text);
        // Whatever the text, looking for a part of it ends, and finds one in what is accepted.
        assert!(locate(&text, &Pointer::root()).is_some() || ours.is_err(), "{shown}");
        let _ = locate(&text, &Pointer::from_tokens(["a", "3", "b"]));
        match (&ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                accepted += 1;
                let theirs: Value = parse(&theirs.to_string());
                assert_eq!(*ours, theirs, "{shown}");
            }
            // It refuses numbers beyond the largest.
            (Ok(_), Err(error)) => assert!(error.to_string().contains("out of range"), "{error}: {shown}"),
            (Err(error), Ok(_)) => panic!("{error}: {shown}"),
            (Err(_), Err(_)) => {}
        }
    }
    assert!(accepted > 1_000, "{accepted}");
}

#[test]
fn a_reader_shares_shapes_between_texts_and_forgets_what_is_too_much() {
    let mut reader = Reader::new(ReadOptions::data());
    let mut shape = |text: &str| {
        let value = reader.read(text.as_bytes());
        value.ok().map(|value| value.as_object().unwrap().shape().unwrap().clone())
    };
    let first = shape(r#"{"id": 1, "tags": []}"#).unwrap();
    assert!(shape(r#" {"id":2,"tags":{}} "#).unwrap().ptr_eq(&first));
    // After an error it begins anew, and what it reads is right.
    assert!(shape(r#"{"id": 3, "tags": ["#).is_none());
    let second = shape(r#"{"id": 3, "tags": []}"#).unwrap();
    assert_eq!(second.names(), first.names());
    assert!(shape(r#"{"id": 4, "tags": []}"#).unwrap().ptr_eq(&second));
    // Objects whose names are data leave room for others.
    for n in 0..10_000 {
        let (a, b, c) = (n % 10, n / 10 % 10, n / 100);
        let text = format!(r#"{{"a{a}": {{"b{b}": 1}}, "{c}": 2, "{}": 3}}"#, "n".repeat(c));
        if let Some(shape) = shape(&text) {
            assert_eq!(shape.names().len(), 3);
        }
    }
    let third = shape(r#"{"id": 5, "tags": [], "new": 1}"#).unwrap();
    assert!(shape(r#"{"id": 6, "tags": [], "new": 2}"#).unwrap().ptr_eq(&third));
}
