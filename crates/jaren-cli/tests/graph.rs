//! `jaren graph`: every format of picture, what is lit, and what cannot be drawn.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{ONE_STEP, REVIEW, Sandbox, shell};

const MACHINE: &str = r#"{"$fsm": "0.1", "initial": "a", "states": ["a", "b"], "transitions": [{"from": "a", "event": "go", "to": "b"}]}"#;

#[test]
fn a_document_is_drawn_in_each_format() {
    let sandbox = Sandbox::new();
    sandbox.write("machine.json", MACHINE);
    let svg = sandbox.jaren("graph machine.json").code(0).out;
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    let mermaid = sandbox.jaren("graph machine.json --format mermaid").code(0).out;
    assert!(mermaid.contains("n0 -->|\"go\"| n1"), "{mermaid}");
    let dot = sandbox.jaren_with("graph - --format dot", MACHINE).code(0).out;
    assert!(dot.contains("n0 -> n1 [label=\"go\""), "{dot}");
    let json = sandbox.jaren("graph machine.json --format dot --json").code(0).json();
    assert_eq!(json[0].get("text").and_then(|text| text.as_str()), Some(&*dot));
}

#[test]
fn a_snapshot_lights_what_is_active() {
    let sandbox = Sandbox::new();
    sandbox.write("machine.json", MACHINE);
    sandbox.write("state.json", "\"b\"");
    let said = sandbox.jaren("graph machine.json --snapshot state.json --format mermaid").code(0);
    assert!(said.out.contains("class n1 lit"), "{}", said.out);
    sandbox.write("state.json", "\"c\"");
    sandbox.jaren("graph machine.json --snapshot state.json").code(7).complains("no state of the document");
    sandbox.write("state.json", "{}");
    sandbox.jaren("graph machine.json --snapshot state.json").code(3).complains("no active state");
}

#[test]
fn a_run_is_drawn_where_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", REVIEW).write("tasks.toml", shell("echo 1"));
    sandbox.jaren("run flow.json --id r --tasks tasks.toml").code(10);
    let kept = sandbox.jaren("graph --run r --format mermaid").code(0).out;
    assert_eq!(kept.matches(" lit\n").count(), 1, "{kept}");
    assert_eq!(sandbox.jaren("graph flow.json --run r --format mermaid").code(0).out, kept);
    sandbox.jaren("graph --run s").code(4);
    sandbox.jaren("graph").code(2);
}

#[test]
fn defects_are_shown_as_check_shows_them() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP.replace("\"end\" }", "\"ende\" }"));
    let checked = sandbox.jaren("check flow.json").code(3).err;
    assert_eq!(sandbox.jaren("graph flow.json").code(3).err, checked);
}
