//! Letting go of runs: only those that are done and old, and only when it is asked for.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{ONE_STEP, REVIEW, Sandbox, shell};

#[test]
fn old_runs_that_are_done_are_listed_then_removed() {
    let sandbox = Sandbox::new();
    sandbox.write("wait.json", REVIEW).write("one.json", ONE_STEP).write("tasks.toml", shell("echo 1"));
    for run in ["a", "b"] {
        sandbox.jaren(&format!("run one.json --tasks tasks.toml --id {run}")).code(0);
    }
    sandbox.jaren("run wait.json --tasks tasks.toml --id waits").code(10);
    assert_eq!(sandbox.jaren("prune --older-than 1h").code(0).out, "no runs to prune\n");
    let said = sandbox.jaren("prune --older-than 0s").code(0);
    assert!(said.out.ends_with("2 runs would be removed; --yes removes them\n"), "{said:#?}");
    sandbox.jaren("runs").code(0).prints("a ").prints("b ").prints("waits");

    let said = sandbox.jaren("prune --older-than 0s --yes --json").code(0);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains(r#""removed":true"#)), "{said:#?}");
    assert!(lines[0].starts_with(r#"{"type":"pruned","run":"a","updated":"#), "{said:#?}");
    let said = sandbox.jaren("runs").code(0);
    assert!(said.out.contains("waits") && !said.out.contains("done"), "{said:#?}");
    sandbox.jaren("show a").code(4);
    assert_eq!(sandbox.jaren("prune --older-than 0s --yes").code(0).out, "no runs to prune\n");

    // The id is free: the same document and input are a new run.
    sandbox.jaren("run one.json --tasks tasks.toml --id a").code(0);
}

#[test]
fn an_age_is_a_number_with_a_unit_and_must_be_given() {
    let sandbox = Sandbox::new();
    for words in [
        "prune",
        "prune --older-than 30",
        "prune --older-than d",
        "prune --older-than -1d",
        "prune --older-than 1y",
    ] {
        sandbox.jaren(words).code(2);
    }
    sandbox.jaren("prune --older-than 30d").code(4); // there is no store, and none is made
    assert!(!sandbox.path("jaren.db").exists());
}
