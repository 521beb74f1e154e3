//! Deltas: the worked examples and rules of the format (durable section D).

use jaren_json::delta::{
    DeltaErrorKind, Op, Segment, apply, diff, ops_from_value, ops_to_text, ops_to_value,
};
use jaren_json::{Array, Value, value};

use crate::support::parse;

fn run(before: Option<&str>, ops: &str) -> Result<Value, jaren_json::delta::DeltaError> {
    let before = before.map(parse);
    let ops = ops_from_value(&parse(ops))?;
    apply(before.as_ref(), &ops)
}

#[derive(Debug, PartialEq)]
enum Outcome {
    After(Value),
    PathError(String),
    UnsafePath(String),
    SplitsSurrogatePair,
    Form,
}

fn outcome(before: Option<&str>, ops: &str) -> Outcome {
    match run(before, ops) {
        Ok(after) => Outcome::After(after),
        Err(error) => match error.kind() {
            DeltaErrorKind::Path(_) => Outcome::PathError(error.pointer().to_string()),
            DeltaErrorKind::UnsafePath(_) => Outcome::UnsafePath(error.pointer().to_string()),
            DeltaErrorKind::SplitsSurrogatePair => Outcome::SplitsSurrogatePair,
            _ => Outcome::Form,
        },
    }
}

// durable D1 to D8, H40, H45: the worked examples.
#[test]
fn worked_examples() {
    let after = [
        (r#"{"a":1}"#, r#"[["s",["b"],{"x":[1]}]]"#, r#"{"a":1,"b":{"x":[1]}}"#),
        (r#"{"a":[1,2]}"#, r#"[["s",["a",2],3]]"#, r#"{"a":[1,2,3]}"#),
        (r#"{"a":{}}"#, r#"[["s",["a",0],1]]"#, r#"{"a":{"0":1}}"#),
        (r#"{"a":1}"#, r#"[["d",["zz"]]]"#, r#"{"a":1}"#),
        (r#"{"a":[1,2,3]}"#, r#"[["d",["a",1]]]"#, r#"{"a":[1,3]}"#),
        (r#"{"a":"hello"}"#, r#"[["t",["a"],2],["a",["a"],"!"]]"#, r#"{"a":"llo!"}"#),
        (r#"{"a":"😀b"}"#, r#"[["t",["a"],2]]"#, r#"{"a":"b"}"#),
        (r#"{"a":[1,2,3]}"#, r#"[["p",["a"],1,1,["x","y"]]]"#, r#"{"a":[1,"x","y",3]}"#),
        (r#"{"a":[1,2,3]}"#, r#"[["p",["a"],10,5,["x"]]]"#, r#"{"a":[1,2,3,"x"]}"#),
        (r#"{"a":[1,2,3]}"#, r#"[["p",["a"],2,99,[]]]"#, r#"{"a":[1,2]}"#),
        (r#"{"a":[1,2,3]}"#, r#"[["m",["a"],[2,0,1]]]"#, r#"{"a":[3,1,2]}"#),
        (r#"{"a":1}"#, r#"[["r",[1]],["p",[],1,0,[2]]]"#, "[1,2]"),
        (r#"{"a":1}"#, r#"[["s",["a"],{"prototype":1}]]"#, r#"{"a":{"prototype":1}}"#),
    ];
    for (before, ops, expected) in after {
        assert_eq!(outcome(Some(before), ops), Outcome::After(parse(expected)), "{before} {ops}");
    }
    let path = |pointer: &str| Outcome::PathError(pointer.to_owned());
    let unsafe_path = |pointer: &str| Outcome::UnsafePath(pointer.to_owned());
    let refused = [
        (Some(r#"{"a":1}"#), r#"[["s",["b","c"],1]]"#, path("/b")),
        (Some(r#"{"a":[1,2]}"#), r#"[["s",["a",3],3]]"#, unsafe_path("/a/3")),
        (Some(r#"{"a":[1,2]}"#), r#"[["s",["a","0"],3]]"#, unsafe_path("/a/0")),
        (Some(r#"{"a":[1,2,3]}"#), r#"[["d",["a",3]]]"#, path("/a/3")),
        (Some(r#"{"a":"😀b"}"#), r#"[["t",["a"],1]]"#, Outcome::SplitsSurrogatePair),
        (Some("{}"), r#"[["a",["a"],"z"]]"#, path("/a")),
        (None, r#"[["s",["a"],1]]"#, path("")),
        (Some(r#"{"a":1}"#), r#"[["s",["constructor","x"],1]]"#, unsafe_path("/constructor")),
    ];
    for (before, ops, expected) in refused {
        assert_eq!(outcome(before, ops), expected, "{before:?} {ops}");
    }
}

// durable D2
#[test]
fn malformed_operations_are_refused() {
    for ops in [
        "{}",
        "[1]",
        "[[]]",
        "[[1]]",
        r#"[["x",[]]]"#,
        r#"[["r"]]"#,
        r#"[["r",1,2]]"#,
        r#"[["s",["a"]]]"#,
        r#"[["d",["a"],1]]"#,
        r#"[["a",["a"]]]"#,
        r#"[["a",["a"],1]]"#,
        r#"[["t",["a"]]]"#,
        r#"[["t",["a"],-1]]"#,
        r#"[["t",["a"],0.5]]"#,
        r#"[["t",["a"],"1"]]"#,
        r#"[["p",[],0,0]]"#,
        r#"[["p",[],0,0,1]]"#,
        r#"[["p",[],-1,0,[]]]"#,
        r#"[["p",[],0,1.5,[]]]"#,
        r#"[["m",[],0]]"#,
        r#"[["m",[],[0,0]]]"#,
        r#"[["m",[],[1]]]"#,
        r#"[["m",[],[0.5]]]"#,
        r#"[["s","a",1]]"#,
        r#"[["s",[null],1]]"#,
        r#"[["s",[],1]]"#,
        r#"[["d",[]]]"#,
        r#"[["a",[],"x"]]"#,
        r#"[["t",[],1]]"#,
    ] {
        assert_eq!(outcome(Some("[]"), ops), Outcome::Form, "{ops}");
    }
    let error = run(Some("{}"), r#"[["r",1],["s",["a"]]]"#).unwrap_err();
    assert_eq!(error.op(), 1);
    assert_eq!(error.to_string(), r#"s arity: it is ["s", path, value] (operation 1, at the root)"#);
}

// durable D2, H44: operations that were not read are checked as well.
#[test]
fn malformed_operations_of_a_host_are_refused() {
    let root = value!({"a": ["x"]});
    let path = || vec![Segment::from("a")];
    for op in [
        Op::Set { path: vec![], value: Value::Null },
        Op::Delete { path: vec![] },
        Op::Append { path: vec![], text: "x".into() },
        Op::Trim { path: vec![], units: 0 },
        Op::Reorder { path: path(), order: vec![1] },
        Op::Set { path: vec![Segment::from("x"); 513], value: Value::Null },
    ] {
        assert!(
            matches!(
                apply(Some(&root), std::slice::from_ref(&op)).unwrap_err().kind(),
                DeltaErrorKind::Form(_)
            ),
            "{op:?}"
        );
    }
    let reserved = Op::Set { path: vec![Segment::from("__proto__")], value: Value::Null };
    assert!(matches!(apply(Some(&root), &[reserved]).unwrap_err().kind(), DeltaErrorKind::UnsafePath(_)));
}

// durable D3, D4
#[test]
fn paths_go_through_own_members_and_elements() {
    let before = Some(r#"{"a":[{"b":1}],"s":"x","7":[2]}"#);
    let unsafe_path = |pointer: &str| Outcome::UnsafePath(pointer.to_owned());
    let path = |pointer: &str| Outcome::PathError(pointer.to_owned());
    for (ops, expected) in [
        (r#"[["s",["a",-1],0]]"#, unsafe_path("/a")),
        (r#"[["s",["a",0.5],0]]"#, unsafe_path("/a")),
        (r#"[["d",["a",0,"prototype"]]]"#, unsafe_path("/a/0/prototype")),
        (r#"[["p",["__proto__"],0,0,[]]]"#, unsafe_path("/__proto__")),
        (r#"[["s",["a","0","b"],0]]"#, unsafe_path("/a/0")),
        (r#"[["s",["a",1,"b"],0]]"#, path("/a/1")),
        (r#"[["d",["a",2]]]"#, unsafe_path("/a/2")),
        (r#"[["s",["s","b"],0]]"#, path("/s/b")),
        (r#"[["s",["s",0,"b"],0]]"#, path("/s/0")),
        (r#"[["d",["x","y"]]]"#, path("/x")),
        (r#"[["p",["s"],0,0,[]]]"#, path("/s")),
        (r#"[["m",["a"],[0,1]]]"#, path("/a")),
        (r#"[["a",["a"],"x"]]"#, path("/a")),
        (r#"[["t",["a",0,"b"],1]]"#, path("/a/0/b")),
    ] {
        assert_eq!(outcome(before, ops), expected, "{ops}");
    }
    let after = run(before, r#"[["s",[7,0],3],["d",["a",0,"b"]],["t",["s"],9]]"#).unwrap();
    assert_eq!(after, parse(r#"{"a":[{}],"s":"","7":[3]}"#));
}

// durable D7, H42, H46
#[test]
fn what_is_not_touched_is_shared_and_the_old_value_stays() {
    let old = value!({"a": {"x": [1, 2, 3]}, "b": {"y": {"z": 1}}, "c": ["text"]});
    let text = old.to_string();
    let new = apply(
        Some(&old),
        &ops_from_value(&parse(r#"[["s",["b","y","z"],2],["s",["b","y","z"],3]]"#)).unwrap(),
    )
    .unwrap();
    assert_eq!(old.to_string(), text);
    assert_eq!(new.to_string(), r#"{"a":{"x":[1,2,3]},"b":{"y":{"z":3}},"c":["text"]}"#);
    for name in ["a", "c"] {
        assert!(new.get(name).unwrap().ptr_eq(old.get(name).unwrap()));
    }
    let shape = |value: &Value| value.as_object().unwrap().shape().unwrap().clone();
    assert!(shape(&new).ptr_eq(&shape(&old)));
}

#[test]
fn members_may_go_and_come_back() {
    let ops = r#"[["d",["a"]],["s",["n"],1],["d",["n"]],["d",["n"]],["s",["a"],2],["s",["n"],3],["s",["m"],4],["d",["b"]]]"#;
    assert_eq!(run(Some(r#"{"a":1,"b":1}"#), ops).unwrap(), parse(r#"{"a":2,"n":3,"m":4}"#));
    assert_eq!(run(Some(r#"{"a":1}"#), r#"[["d",["a"]],["s",["a","b"],1]]"#).unwrap_err().pointer(), &"/a");
}

fn ops_of(old: &str, new: &str) -> String {
    let (old, new) = (parse(old), parse(new));
    let ops = diff(&old, &new);
    assert_eq!(apply(Some(&old), &ops).unwrap(), new);
    ops_to_value(&ops).to_string()
}

// durable D1
#[test]
fn the_text_of_a_batch_is_that_of_its_form() {
    let verbs = r#"[["r",{"a":[1]}],["s",["a",0],"\u0001\"x"],["d",["b/c","~"]],["a",["s"],"é"],["t",["s"],3],["p",["l"],0,2,[1,{}]],["p",[],9,0,[]],["m",["l"],[2,0,1]]]"#;
    for text in [verbs, "[]"] {
        let ops = ops_from_value(&parse(text)).unwrap();
        assert_eq!(ops_to_text(&ops).unwrap(), ops_to_value(&ops).to_string());
    }
    let nested = Value::Array(Array::from(vec![Value::Null, Value::Number(f64::NAN)]));
    let ops = [Op::Delete { path: vec!["a".into()] }, Op::Set { path: vec!["b".into()], value: nested }];
    assert_eq!(ops_to_text(&ops).unwrap_err().pointer(), &"/1/2/1", "as the form has it");
}

// durable D14
#[test]
fn verified_batches() {
    assert_eq!(ops_of(r#"{"s":"abcdef"}"#, r#"{"s":"defxyz"}"#), r#"[["t",["s"],3],["a",["s"],"xyz"]]"#);
    assert_eq!(
        ops_of(r#"{"l":[1,2,3,4]}"#, r#"{"l":[2,3,4,5]}"#),
        r#"[["p",["l"],0,1,[]],["p",["l"],3,0,[5]]]"#
    );
    // The same length and a middle that differs: compared element by element, as one splice would rewrite what is alike.
    assert_eq!(ops_of(r#"{"l":[1,2,3,4]}"#, r#"{"l":[1,5,6,7,4]}"#), r#"[["p",["l"],1,2,[5,6,7]]]"#);
    assert_eq!(
        ops_of(r#"{"notes":["a"],"revision":1}"#, r#"{"notes":["a","b"],"revision":2}"#),
        r#"[["p",["notes"],1,0,["b"]],["s",["revision"],2]]"#
    );
}

// durable D14, D13, H43
#[test]
fn a_batch_of_too_many_operations_is_one_replacement() {
    let object =
        |count: u32, value: u32| Value::Object((0..count).map(|n| (format!("k{n}"), value)).collect());
    assert_eq!(diff(&object(3000, 0), &object(3000, 1)).len(), 3000);
    for (old, new) in
        [(object(5000, 0), object(5000, 1)), (value!({}), object(5000, 1)), (object(5000, 1), value!({}))]
    {
        let ops = diff(&old, &new);
        assert!(matches!(ops.as_slice(), [Op::Replace(_)]));
        assert_eq!(apply(Some(&old), &ops).unwrap(), new);
    }
}

// durable D13
#[test]
fn a_batch_that_costs_more_than_the_value_is_one_replacement() {
    let long = "x".repeat(100_000);
    let (old, new) = (value!({"a": 1}), value!({"a": (long.clone())}));
    assert!(matches!(diff(&old, &new).as_slice(), [Op::Replace(_)]));
    let (old, new) = (value!({"a": 1, "b": (long.clone())}), value!({"a": (long.clone()), "b": (long)}));
    assert!(matches!(diff(&old, &new).as_slice(), [Op::Set { .. }]));
}

// durable D10
#[test]
fn objects_are_compared_member_by_member() {
    assert_eq!(ops_of(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#), "[]");
    assert_eq!(
        ops_of(r#"{"a":1,"b":{"c":1,"d":1}}"#, r#"{"x":0,"b":{"d":1,"c":2}}"#),
        r#"[["s",["x"],0],["s",["b","c"],2],["d",["a"]]]"#
    );
    assert_eq!(ops_of("{}", r#"{"a":null}"#), r#"[["s",["a"],null]]"#);
}

// durable D10
#[test]
fn objects_with_reserved_names_are_written_whole() {
    for name in ["__proto__", "constructor", "prototype"] {
        let (old, new) = (format!(r#"{{"a":{{"x":1,"{name}":1}}}}"#), r#"{"a":{"x":1,"y":2}}"#);
        assert_eq!(ops_of(&old, new), r#"[["s",["a"],{"x":1,"y":2}]]"#);
        assert_eq!(ops_of(new, &old), format!(r#"[["s",["a"],{{"x":1,"{name}":1}}]]"#));
        assert_eq!(ops_of(&old, &old), "[]");
        assert_eq!(ops_of(&format!(r#"{{"{name}":1}}"#), "{}"), r#"[["r",{}]]"#);
    }
}

// durable D11
#[test]
fn strings_grow_and_move() {
    let text =
        |old: &str, new: &str| ops_of(&value!({"s": old}).to_string(), &value!({"s": new}).to_string());
    assert_eq!(text("", "abc"), r#"[["a",["s"],"abc"]]"#);
    assert_eq!(text("abc", "abcd"), r#"[["a",["s"],"d"]]"#);
    assert_eq!(text("abc", "bc"), r#"[["t",["s"],1]]"#);
    assert_eq!(text("abc", "xyz"), r#"[["s",["s"],"xyz"]]"#);
    assert_eq!(text("abc", ""), r#"[["s",["s"],""]]"#);
    // UTF-16 code units, and never half a pair.
    assert_eq!(text("😀😁b", "😁bc"), r#"[["t",["s"],2],["a",["s"],"c"]]"#);
    assert_eq!(text("😀", "😁"), r#"[["s",["s"],"😁"]]"#);
    assert_eq!(ops_of(r#""abc""#, r#""abcd""#), r#"[["r","abcd"]]"#);
}

#[test]
fn long_strings_are_searched_within_a_window() {
    let (old, tail) = ("ab".repeat(200_000), "ab".repeat(40_000));
    let new = format!("{tail}!");
    let ops = diff(
        &value!({"s": (old.clone()), "big": (old.clone())}),
        &value!({"s": (new.clone()), "big": (old.clone())}),
    );
    assert_eq!(
        apply(Some(&value!({"s": (old.clone()), "big": (old.clone())})), &ops).unwrap(),
        value!({"s": new, "big": old})
    );
}

// durable D12
#[test]
fn arrays_of_the_same_length() {
    let list = |old: &str, new: &str| ops_of(&format!(r#"{{"l":{old}}}"#), &format!(r#"{{"l":{new}}}"#));
    assert_eq!(list(r#"[{"a":1},{"b":1}]"#, r#"[{"a":1},{"b":2}]"#), r#"[["s",["l",1,"b"],2]]"#);
    assert_eq!(list("[1,2,3]", "[3,1,2]"), r#"[["m",["l"],[2,0,1]]]"#);
    assert_eq!(list("[0,1,2,9]", "[0,2,1,9]"), r#"[["m",["l"],[0,2,1,3]]]"#);
    assert_eq!(list(r#"[{"a":1,"b":2},1,1,2]"#, r#"[1,2,1,{"b":2,"a":1}]"#), r#"[["m",["l"],[1,3,2,0]]]"#);
    assert_eq!(list("[1,2,3,4]", "[9,1,2,3]"), r#"[["p",["l"],3,1,[]],["p",["l"],0,0,[9]]]"#);
    assert_eq!(list("[1,2,3]", "[4,5,6]"), r#"[["s",["l",0],4],["s",["l",1],5],["s",["l",2],6]]"#);
    assert_eq!(ops_of("[1,2]", "[2,1]"), r#"[["m",[],[1,0]]]"#);
}

// durable D12
#[test]
fn arrays_of_different_lengths_are_spliced_once() {
    assert_eq!(ops_of("[]", "[1]"), r#"[["p",[],0,0,[1]]]"#);
    assert_eq!(ops_of("[1,2,3]", "[1,3]"), r#"[["p",[],1,1,[]]]"#);
    assert_eq!(ops_of("[1,1,1]", "[1,1]"), r#"[["p",[],2,1,[]]]"#);
    assert_eq!(ops_of("[1,2]", "[]"), r#"[["p",[],0,2,[]]]"#);
}

// durable D13
#[test]
fn another_type_is_set() {
    assert_eq!(ops_of(r#"{"a":[]}"#, r#"{"a":{}}"#), r#"[["s",["a"],{}]]"#);
    assert_eq!(ops_of("[]", "{}"), r#"[["r",{}]]"#);
    assert_eq!(ops_of("1", "null"), r#"[["r",null]]"#);
}

#[test]
fn subtrees_that_are_the_same_are_not_walked() {
    // A value that would take an hour to walk: it shares its parts, and as a tree has 2^100 of them.
    let endless = (0..100).fold(value!(1), |value, _| Value::Array(Array::from_iter([value.clone(), value])));
    let (old, new) = (value!({"e": (&endless), "n": 1}), value!({"e": (&endless), "n": 2}));
    assert_eq!(ops_to_value(&diff(&old, &new)).to_string(), r#"[["s",["n"],2]]"#);
    assert!(old != new);
    assert!(diff(&endless, &endless.clone()).is_empty());
}

#[test]
fn many_operations_on_one_container_take_it_apart_once() {
    let old: Value = (0..50_000).collect::<Array>().into();
    let ops: Vec<Op> =
        (0..50_000).map(|index| Op::Set { path: vec![Segment::Index(index)], value: Value::Null }).collect();
    let started = std::time::Instant::now();
    assert_eq!(apply(Some(&old), &ops).unwrap().as_array().unwrap().len(), 50_000);
    let grown: Vec<Op> = (0..50_000)
        .map(|n| Op::Set { path: vec![Segment::Key(n.to_string().into())], value: Value::Null })
        .collect();
    assert_eq!(apply(Some(&value!({})), &grown).unwrap().as_object().unwrap().len(), 50_000);
    let texts: Vec<Op> = (0..50_000)
        .flat_map(|_| {
            [
                Op::Append { path: vec![Segment::from("s")], text: "xx".into() },
                Op::Trim { path: vec![Segment::from("s")], units: 1 },
            ]
        })
        .collect();
    assert_eq!(
        apply(Some(&value!({"s": ""})), &texts).unwrap().get("s").unwrap().as_str().unwrap().len(),
        50_000
    );
    // Quadratic work would take minutes.
    assert!(started.elapsed().as_secs() < 20);
}
