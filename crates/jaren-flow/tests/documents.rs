//! Typed documents against the conformance corpus: every document that a compiler accepts is read, and comes out as the
//! text that it was; what the schema refuses is not read either, queries aside.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it did"
)]

use std::path::PathBuf;

use jaren_flow::document::{
    DagDocument, DocumentError, MachineDocument, Nullable, StatechartDocument, WorkflowDocument, machine,
    statechart, workflow,
};
use jaren_json::{Duplicates, Integers, ReadOptions, Value, from_value, read, to_text, value};
use serde::{Serialize, de::DeserializeOwned};

/// Reads the accepted documents of a folder as `T`.
fn come_back<T: Serialize + DeserializeOwned>(folder: &str) {
    let path =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance")).join(folder);
    let Ok(files) = std::fs::read_dir(&path) else {
        println!("skipped: the conformance corpus is not at {}", path.display());
        return;
    };
    let lenient =
        ReadOptions { duplicates: Duplicates::LastWins, integers: Integers::Nearest, ..ReadOptions::data() };
    let mut count = 0;
    for file in files {
        let cases = read(&std::fs::read(file.unwrap().path()).unwrap(), &lenient).unwrap();
        for case in cases.as_array().unwrap() {
            let document = case.get("document").unwrap();
            let expect = case.get("expect");
            let accepted = expect.is_none_or(|expect| expect.get("ok").is_some());
            if accepted {
                let typed: T = from_value(document).unwrap_or_else(|error| panic!("{error}: {document}"));
                assert_eq!(serde_json::to_string(&typed).unwrap(), to_text(document).unwrap());
                count += 1;
            }
        }
    }
    println!("{folder}: {count} documents came back");
    assert!(count > 100);
}

#[test]
fn machines() {
    come_back::<MachineDocument>("fsm");
}

#[test]
fn statecharts() {
    come_back::<StatechartDocument>("statechart");
}

#[test]
fn dags() {
    come_back::<DagDocument>("dag");
}

#[test]
fn workflows() {
    come_back::<WorkflowDocument>("workflow");
}

#[test]
fn a_change_stays_in_place_and_a_removal_takes_the_member_away() {
    let source = value!({
        "states": ["a", { "note": 1, "id": "b", "final": true }],
        "x-tool": [1],
        "initial": null,
        "transitions": [{ "to": "b", "event": null, "from": "a", "effects": [{ "with": 1, "run": "r" }] }]
    });
    let mut document = MachineDocument::read(&source).unwrap();
    let transition = &mut document.transitions[0];
    assert_eq!(transition.event, Nullable::Null);
    transition.event = Nullable::Value("go".into());
    transition.effects.as_mut().unwrap()[0].with = None;
    document.initial = Nullable::Value("a".into());
    document.transitions.push(machine::Transition::read(&value!({ "from": "b", "to": "a" })).unwrap());
    if let machine::Declaration::State(state) = &mut document.states[1] {
        state.is_final = None;
    }
    let expected = concat!(
        r#"{"states":["a",{"note":1,"id":"b"}],"x-tool":[1],"initial":"a","transitions":["#,
        r#"{"to":"b","event":"go","from":"a","effects":[{"run":"r"}]},{"from":"b","to":"a"}]}"#
    );
    assert_eq!(to_text(&document.to_value()).unwrap(), expected);
}

#[test]
fn errors_say_where_what_was_expected_and_what_was_found() {
    let error =
        |result: Result<StatechartDocument, DocumentError>| result.map(|_| ()).unwrap_err().to_string();
    let chart = |transition: Value| {
        let document =
            value!({ "$fsm": "0.2", "initial": "a", "states": ["a"], "transitions": [(transition)] });
        error(StatechartDocument::read(&document))
    };
    assert_eq!(chart(value!(1)), "at '/transitions/0': expected an object, found number");
    assert_eq!(
        chart(value!({ "from": "a", "to": "a", "wen": 1 })),
        "at '/transitions/0/wen': expected no member of this name, found number"
    );
    assert_eq!(
        chart(value!({ "from": "a" })),
        "at '/transitions/0/to': expected a member of this name, found nothing"
    );
    let internal = chart(value!({ "from": "a", "to": "a", "type": "inner" }));
    assert_eq!(internal, "at '/transitions/0/type': expected external or internal, found string");

    let deep = (0..5000).fold(value!([]), |inner, _| value!([(inner)]));
    assert!(error(StatechartDocument::read(&deep)).contains("nests less"));
    let two = workflow::State::read(&value!({ "final": true, "choose": [] })).unwrap_err();
    assert_eq!(two.pointer().as_str(), "/final");
    let read = |value: Value| statechart::Transition::read(&value).unwrap();
    assert_eq!(read(value!({ "from": "a", "to": "b" })), read(value!({ "to": "b", "from": "a" })));
}
