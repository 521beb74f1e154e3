//! `jaren check`: the formats, every defect with its place, and texts that are no documents.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{ONE_STEP, REVIEW, Sandbox, shell};
use jaren::json::value;

const STATECHART: &str = r#"{"$fsm": "0.2", "initial": "a", "states": ["a", "b"], "transitions": [{"from": "a", "event": "go", "to": "b"}]}"#;
const MACHINE: &str = r#"{"$fsm": "0.1", "initial": null, "states": ["a"], "transitions": []}"#;
const DAG: &str = r#"{"$dag": "0.1", "nodes": {"in": {"kind": "input"}, "out": {"kind": "output"}}, "edges": [{"from": "in", "to": "out"}]}"#;

#[test]
fn every_format_is_known_by_its_own_member() {
    let sandbox = Sandbox::new();
    for (name, text) in
        [("workflow", ONE_STEP), ("statechart", STATECHART), ("machine", MACHINE), ("dag", DAG)]
    {
        sandbox.write("document.json", text);
        let said = sandbox.jaren("check document.json").code(0);
        assert_eq!(said.out, format!("document.json: a {name} without defects\n"));
        let json = sandbox.jaren("check document.json --json").code(0).json();
        assert_eq!(
            json,
            [value!({"type": "checked", "file": "document.json", "format": name, "warnings": []})]
        );
    }
    sandbox.jaren_with("check -", ONE_STEP).code(0);
}

#[test]
fn every_defect_is_shown_in_place_with_a_caret() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "flow.json",
        ONE_STEP.replace("\"end\" }", "\"ende\" }").replace("\"initial\": \"work\"", "\"initial\": \"wrok\""),
    );
    let said = sandbox.jaren("check flow.json").code(3);
    let shown = [
        "  --> flow.json:2:53",
        "   |",
        " 2 |   \"$workflow\": \"0.2\", \"revision\": \"t/1\", \"initial\": \"wrok\",",
        "   |                                                     ^^^^^^",
        "   = at: /initial",
        "",
    ];
    let shown = shown.join("\n");
    assert!(said.err.contains(&shown), "{}", said.err);
    let said = said
        .complains("error[JF0021]")
        .complains("flow.json:4:67")
        .complains("= at: /states/work/then")
        .complains("2 defects");
    assert_eq!(said.out, "");

    let json = sandbox.jaren("check flow.json --json").code(3);
    assert_eq!(json.err, "");
    let [problem] = &json.json()[..] else { panic!("{json:?}") };
    assert_eq!(problem.get("exit"), Some(&value!("document")));
    let defects = problem.get("defects").unwrap();
    assert_eq!(defects.as_array().unwrap().len(), 2);
    let first = defects.at(0).unwrap();
    assert_eq!((first.get("line"), first.get("column")), (Some(&value!(2)), Some(&value!(53))));
}

#[test]
fn what_is_allowed_and_probably_a_slip_is_warned_of() {
    let sandbox = Sandbox::new();
    let text = REVIEW.replace("$.payload.accept", "$payload.accept");
    assert_ne!(text, REVIEW);
    sandbox.write("flow.json", &text);
    let said = sandbox.jaren("check flow.json").code(0).complains("warning[JL0001]").complains("'$.payload'");
    assert_eq!(said.out, "flow.json: a workflow without defects, but 1 warning\n");
    sandbox.jaren("check flow.json --strict").code(3).complains("warning[JL0001]");
    let said = sandbox.jaren("check flow.json --strict --json").code(3);
    let [checked] = &said.json()[..] else { panic!("{said:?}") };
    let warning = checked.get("warnings").and_then(|warnings| warnings.at(0)).unwrap();
    assert_eq!(warning.get("code"), Some(&value!("JL0001")));
    assert!(warning.get("line").is_some_and(|line| line.as_f64().is_some()));
    sandbox.write("flow.json", REVIEW);
    sandbox.jaren("check flow.json --strict").code(0);
}

#[test]
fn a_binding_that_is_missing_or_has_another_version_is_a_defect() {
    let sandbox = Sandbox::new();
    sandbox.write("flow.json", ONE_STEP).write("none.toml", "").write("tasks.toml", shell("true"));
    sandbox.jaren("check flow.json --tasks tasks.toml").code(0);
    sandbox.jaren("check flow.json --tasks none.toml").code(3).complains("JF0018").complains("[tasks.NAME]");
    sandbox.write("flow.json", ONE_STEP.replace("\"version\": \"1\"", "\"version\": \"2\""));
    sandbox.jaren("check flow.json --tasks tasks.toml").code(3).complains("JF0019");
}

#[test]
fn texts_that_are_no_documents_have_each_their_own_error() {
    let sandbox = Sandbox::new();
    sandbox.jaren("check nothing.json").code(4).complains("document nothing.json does not exist");
    sandbox.jaren("check .").code(8).complains("cannot be read");

    sandbox.write("a.json", "{\n  \"$workflow\": \"0.2\",\n}");
    sandbox.jaren("check a.json").code(3).complains("a.json:3:1").complains("expected");
    sandbox.write("a.json", "");
    sandbox.jaren("check a.json").code(3).complains("the end of the text");
    sandbox.write("a.json", "{\"$workflow\": \"0.2\", \"a\": 1, \"a\": 2}");
    sandbox.jaren("check a.json").code(3).complains("a.json:1:30").complains("already").complains("= at: /a");
    sandbox.write("a.json", "[".repeat(100_000));
    sandbox.jaren("check a.json").code(3).complains("deep");
    sandbox.write("a.json", format!("{{\"$workflow\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000)));
    sandbox.jaren("check a.json").code(3).complains("deep");
    sandbox.write("a.json", b"{\"$workflow\": \"\xff\"}");
    sandbox.jaren("check a.json").code(3).complains("UTF-8");
    sandbox.write("a.json", "{\"$workflow\": 12345678901234567890123}");
    sandbox.jaren("check a.json").code(3).complains("more digits");
    sandbox.write("a.json", "{\"states\": {}}");
    sandbox.jaren("check a.json").code(3).complains("does not say its format");
    sandbox.write("a.json", vec![b' '; (16 << 20) + 1]);
    sandbox.jaren("check a.json").code(3).complains("larger than");
}

#[test]
fn of_very_many_defects_the_first_are_shown() {
    let sandbox = Sandbox::new();
    let many = (0..3000).map(|n| format!("\"s{n}\": {{}},")).collect::<Vec<_>>().concat();
    sandbox.write("a.json", ONE_STEP.replace("\"states\": {", &format!("\"states\": {{{many}")));
    let said =
        sandbox.jaren("check a.json").code(3).complains("3000 defects, of which the first 200 are shown");
    assert_eq!(said.err.matches("error[JF0021]").count(), 200);
}

#[test]
fn the_caret_points_into_an_embedded_query() {
    let sandbox = Sandbox::new();
    let text = REVIEW.replace("\"$.payload.accept\"", "{ \"$not\": { \"$ad\": [1, 2] } }");
    sandbox.write("a.json", text);
    let said = sandbox
        .jaren("check a.json")
        .code(3)
        .complains("error[JF0007]")
        .complains("= at: /states/review/on/0/guard/$not");
    assert!(said.err.contains("JQ"), "{said:#?}");
}

#[test]
fn a_long_line_is_cut_around_the_caret() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(5000);
    sandbox.write("a.json", format!("{{\"$workflow\":\"0.2\",\"a\":\"{long}\",\"b\":nul,\"c\":\"{long}\"}}"));
    let said = sandbox.jaren("check a.json").code(3);
    assert!(said.err.lines().all(|line| line.chars().count() < 120), "{}", said.err);
}

#[test]
fn a_hostile_text_cannot_command_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("a.json", "{\"$workflow\": \"0.2\", \"\\u001b[2J\u{202e}\": 1,\u{1b}[31m }");
    let said = sandbox.jaren("check a.json").code(3);
    assert!(!said.err.contains(['\u{1b}', '\u{202e}']), "{:?}", said.err);
}

#[test]
fn colours_are_for_those_who_want_them() {
    let sandbox = Sandbox::new();
    sandbox.write("a.json", "{");
    let mut forced = sandbox.command("check a.json");
    let coloured = forced.env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(coloured.stderr.contains(&0x1b));
    let plain = forced.env("NO_COLOR", "1").output().unwrap();
    assert!(!plain.stderr.contains(&0x1b), "NO_COLOR is stronger");
}

#[test]
fn defects_of_a_tasks_file_are_shown_in_place() {
    let sandbox = Sandbox::new();
    sandbox
        .write("flow.json", ONE_STEP)
        .write("tasks.toml", "[tasks.work]\nversion = 1\nexec = []\n[task.other]\n");
    let said = sandbox.jaren("check flow.json --tasks tasks.toml").code(3);
    said.complains("tasks.toml:2:11")
        .complains("tasks.toml:3:8")
        .complains("tasks.toml:4:2")
        .complains("no tasks file that can be used");
    sandbox
        .jaren("check flow.json --tasks gone.toml")
        .code(4)
        .complains("tasks file gone.toml does not exist");
}

#[test]
fn a_wrong_command_line_has_its_own_code() {
    let sandbox = Sandbox::new();
    sandbox.jaren("chekc flow.json").code(2).complains("check");
    sandbox.jaren("check").code(2);
    sandbox.jaren("--help").code(0).prints("Exit codes:");
    sandbox.jaren("--version").code(0).prints("jaren 0.1.0");
}
