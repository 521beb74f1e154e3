//! Seeds for the fuzz targets: what the cases give, in the form that a target reads.

use std::fs;
use std::path::Path;

use jaren_json::{Value, value};

use crate::case::Case;
use crate::kind::Kind;

/// Writes a file for each case that a target can use, in a folder a target.
pub(crate) fn write(cases: &[Case], folder: &Path) -> std::io::Result<usize> {
    let mut written = 0;
    for (number, case) in cases.iter().enumerate() {
        for (target, text) in seeds(case) {
            let folder = folder.join(target);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(format!("case-{number}")), text)?;
            written += 1;
        }
    }
    Ok(written)
}

/// The targets that the case is a seed of.
fn seeds(case: &Case) -> Vec<(&'static str, String)> {
    let member = |name: &str| case.get(name).cloned().unwrap_or_default();
    let text = |name: &str| case.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let pair = |first: &str, second: Value| value!([(member(first)), second]).to_string();
    match case.kind {
        Kind::Canonical | Kind::Jcs => vec![("reader", text("text"))],
        Kind::Query => {
            vec![("query", pair("query", member("input"))), ("delta", pair("query", member("input")))]
        }
        Kind::Jsonpath => vec![("path", text("path"))],
        Kind::JsonpathCts => vec![("path", text("selector"))],
        Kind::Jslt => vec![("stylesheet", pair("stylesheet", member("input")))],
        Kind::Fsm => vec![("machine", member("document").to_string())],
        Kind::Statechart => vec![("statechart", pair("document", snapshot(case)))],
        Kind::Dag => vec![("dag", member("document").to_string())],
        Kind::Workflow => {
            let document = ("workflow", member("document").to_string());
            let saves = saves(case).into_iter().map(|saved| ("run", pair("document", saved)));
            std::iter::once(document).chain(saves).collect()
        }
    }
}

/// What the case expects to be saved, the longest of each run: they are what most follows from.
fn saves(case: &Case) -> Vec<Value> {
    let runs = case.get("runs").and_then(Value::as_array);
    let longest = |run: &Value| {
        let saves =
            run.get("expect")?.get("saves")?.as_array()?.iter().filter_map(|save| save.get("snapshot"));
        saves.max_by_key(|snapshot| snapshot.to_string().len()).cloned()
    };
    runs.into_iter().flatten().filter_map(longest).collect()
}

/// A snapshot that the case hands to its chart, or that the chart answers.
fn snapshot(case: &Case) -> Value {
    let steps = case.get("script").and_then(Value::as_array);
    let given = |step: &Value| step.get("state").or_else(|| step.get("expect")?.get("state")).cloned();
    steps.and_then(|steps| steps.iter().find_map(given)).unwrap_or_default()
}
