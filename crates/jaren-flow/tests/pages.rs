//! The JSON examples of the pages compile, and without a warning.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use jaren_flow::DeclaredTasks;
use jaren_flow::dag::Dag;
use jaren_flow::lint::lint;
use jaren_flow::machine::Machine;
use jaren_flow::statechart::Statechart;
use jaren_flow::workflow::Workflow;
use jaren_json::{ReadOptions, Report, Value, read};

fn compiles(page: &str, compile: impl Fn(&Value) -> Result<(), Report>) {
    let fences: Vec<&str> =
        page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!fences.is_empty());
    for fence in fences {
        let document = read(fence.as_bytes(), &ReadOptions::document())
            .unwrap_or_else(|error| panic!("{error}: {fence}"));
        compile(&document).unwrap_or_else(|report| panic!("{report:?}: {fence}"));
        assert_eq!(lint(&document), [], "{fence}");
    }
}

#[test]
fn machines() {
    compiles(include_str!("../../../docs/formats/machines.md"), |document| {
        Machine::compile(document).map(drop)
    });
}

#[test]
fn statecharts() {
    compiles(include_str!("../../../docs/formats/statecharts.md"), |document| {
        Statechart::compile(document).map(drop)
    });
}

#[test]
fn dataflows() {
    compiles(include_str!("../../../docs/formats/dataflows.md"), |document| {
        Dag::compile(document, &DeclaredTasks).map(drop)
    });
}

#[test]
fn workflows() {
    compiles(include_str!("../../../docs/formats/workflows.md"), |document| {
        Workflow::compile(document, &DeclaredTasks).map(drop)
    });
}
