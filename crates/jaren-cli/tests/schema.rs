//! `jaren schema`: the list, and each schema in both drafts.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use jaren::json::Value;

#[test]
fn every_schema_of_the_list_is_printed_in_both_drafts() {
    let sandbox = Sandbox::new();
    let listed = sandbox.jaren("schema --json").code(0).json();
    let names: Vec<&str> =
        listed.iter().map(|line| line.get("name").and_then(Value::as_str).unwrap()).collect();
    assert_eq!(names.len(), 7);
    let people = sandbox.jaren("schema").code(0).out;
    for (name, line) in names.iter().zip(people.lines()) {
        assert!(line.starts_with(&format!("{name} ")), "{line}");
        for (draft, dialect) in [("2020-12", "2020-12/schema"), ("07", "draft-07/schema#")] {
            let words = format!("schema {name} --draft {draft} --json");
            let [schema] = &sandbox.jaren(&words).code(0).json()[..] else { panic!("one line") };
            let said = schema.get("$schema").and_then(Value::as_str).unwrap();
            assert!(said.ends_with(dialect), "{name}: {said}");
        }
    }
    let text = sandbox.jaren("schema workflow").code(0).out;
    assert!(text.starts_with("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"));
}

#[test]
fn a_name_that_there_is_not_is_a_mistake_on_the_command_line() {
    let said = Sandbox::new().jaren("schema worflow").code(2);
    assert!(said.err.contains("'workflow'"), "{}", said.err);
}
