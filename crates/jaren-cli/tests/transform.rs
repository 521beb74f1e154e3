//! `jaren transform`: stylesheets in a pipe.
#![expect(clippy::unwrap_used, reason = "what drives the program fails by panicking")]

mod common;

use common::Sandbox;

const SHEET: &str = r#"[{ "match": "$..price", "body": { "$mul": ["$", "$rate"] } }]"#;

#[test]
fn values_are_transformed_one_after_the_other() {
    let sandbox = Sandbox::new();
    sandbox
        .write("sheet.json", SHEET)
        .write("data.json", "{\"price\": 10, \"no\": \"a\"}\n[{\"price\": 2}]\n");
    let said = sandbox.jaren("transform sheet.json data.json --arg rate=2").code(0);
    assert_eq!(said.out, "{\"price\":20,\"no\":\"a\"}\n[{\"price\":4}]\n");
    let said = sandbox.jaren_with("transform sheet.json --arg rate=2 --slurp", "{\"price\": 1} 2").code(0);
    assert_eq!(said.out, "[{\"price\":2},2]\n");
    let said =
        sandbox.jaren_with("transform [{\"match\":\"$[*]\",\"body\":\"$path\"}] -r", "[1,2] 3").code(0);
    assert_eq!(said.out, "[\"$[0]\",\"$[1]\"]\n3\n");
}

#[test]
fn a_transform_takes_no_more_than_it_may() {
    let sandbox = Sandbox::new();
    sandbox.write("sheet.json", r#"[{ "match": "$[*]", "body": { "$neg": "$" } }]"#);
    let limited =
        |limit: &str| sandbox.jaren_with(&format!("transform sheet.json --limit {limit}"), "[1, 2, 3]");
    assert_eq!(limited("dispatches=4").code(0).out, "[-1,-2,-3]\n");
    limited("dispatches=3").code(9).complains("error[JR2001]");
    limited("dispatch-depth=1").code(0);
    limited("steps=10").code(0);
    limited("steps=9").code(9).complains("more steps than its limit");
    sandbox.write("sheet.json", r#"[{ "body": { "$apply": "$" } }]"#);
    limited("dispatch-depth=7").code(9).complains("deeper than 7");
}

#[test]
fn mistakes_have_a_caret_and_failures_their_value() {
    let sandbox = Sandbox::new();
    sandbox.write("sheet.json", SHEET);
    sandbox
        .jaren_with("transform sheet.json", "1")
        .code(3)
        .complains("error[JT0007]")
        .complains("sheet.json:1:49")
        .complains("--arg NAME=JSON");
    sandbox
        .jaren_with("transform sheet.json --arg rate=\"x\"", "{\"price\": 1}")
        .code(9)
        .complains("error[JT2004]")
        .complains("sheet.json:1:")
        .complains("the stylesheet fails on value 1 of standard input, in line 1");
    sandbox.write("path.json", "[{ \"match\": \"$..[\", \"body\": 1 }]");
    sandbox.jaren("transform path.json").code(3).complains("error[JT0003]").complains("path.json:1:18");
    sandbox.jaren("transform sheet.json --arg root=1").code(2).complains("a meaning of its own");
    sandbox.jaren("transform gone.json").code(4).complains("stylesheet gone.json does not exist");
    sandbox.jaren("transform - -").code(2).complains("standard input cannot be both");
    sandbox.jaren("transform {}").code(3).complains("error[JT0001]");
}
