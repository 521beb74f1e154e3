//! The shared conformance corpus: every answer and every error is that of the reference.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};

use jaren_json::{Duplicates, Integers, ReadOptions, Report, Value, read};
use jaren_query::{Query, Scope};

use self::support::options;

fn corpus() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance/query"))
}

/// What became of a case.
enum Outcome {
    Passed,
    Wrong(String),
}

#[test]
fn no_wrong_answer() {
    let folder = corpus();
    if !folder.is_dir() {
        println!("skipped: no corpus at {}", folder.display());
        return;
    }
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(!files.is_empty());
    let mut wrong = Vec::new();
    for file in files {
        let mut passed = 0;
        for (name, outcome) in cases(&file) {
            match outcome {
                Outcome::Passed => passed += 1,
                Outcome::Wrong(how) => wrong.push(format!("{name}: {how}")),
            }
        }
        println!("{}: {passed} passed", file.file_name().unwrap().to_string_lossy());
    }
    assert!(wrong.is_empty(), "{} wrong answers:\n{}", wrong.len(), wrong.join("\n"));
}

/// The cases of a file, one a line; those with a quirk record what nobody has to do.
fn cases(file: &Path) -> Vec<(String, Outcome)> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(',')).filter(|line| line.starts_with('{'));
    lines
        .filter_map(|line| {
            let lenient = ReadOptions {
                duplicates: Duplicates::LastWins,
                integers: Integers::Nearest,
                ..ReadOptions::data()
            };
            let case = read(line.as_bytes(), &lenient).unwrap();
            if case.get("quirk").is_some() {
                return None;
            }
            let name = case.get("name").unwrap().to_string();
            let strict = ReadOptions { duplicates: Duplicates::Refuse, ..ReadOptions::data() };
            Some(match read(line.as_bytes(), &strict) {
                Ok(case) => (name, outcome(&case)),
                Err(_) if case.get("expect").unwrap().get("error").is_some() => (name, Outcome::Passed),
                Err(error) => (name, Outcome::Wrong(format!("refused while reading: {error}"))),
            })
        })
        .collect()
}

fn outcome(case: &Value) -> Outcome {
    let expect = case.get("expect").unwrap();
    let report = match Query::compile_with(case.get("query").unwrap(), &options(case)) {
        Ok(query) => return ran(case, expect, &query),
        Err(report) => report,
    };
    let found = first(&report);
    if Some(&found) == expect.get("error").map(|error| error_of(error, "compile")).as_ref() {
        return Outcome::Passed;
    }
    Outcome::Wrong(format!("found {report}, expected {expect}"))
}

fn first(report: &Report) -> String {
    format!("compile {} at {:?}", report.first().code(), report.first().pointer().as_str())
}

fn error_of(error: &Value, stage: &str) -> String {
    assert!(error.get("stage").is_some());
    let text = |name| error.get(name).and_then(Value::as_str).unwrap();
    if text("stage") != stage {
        return "an error of the other stage".to_owned();
    }
    format!("{stage} {} at {:?}", text("code"), text("docPath"))
}

fn ran(case: &Value, expect: &Value, query: &Query) -> Outcome {
    if let Some(externals) = case.get("expectExternals") {
        let found = Value::from(query.externals().collect::<Vec<_>>());
        if found != *externals {
            return Outcome::Wrong(format!("externals {found}, expected {externals}"));
        }
    }
    let externals: Vec<(&str, &Value)> =
        case.get("externals").and_then(Value::as_object).into_iter().flatten().collect();
    let input = case.get("input").unwrap();
    let scope = Scope::value(input).with_externals(&externals);
    let answer = query.items(&scope);
    if let Some(how) = disagreement(query, &scope, answer.is_ok()) {
        return Outcome::Wrong(how);
    }
    // A record is the same document in parts.
    if let Some(object) = input.as_object() {
        let parts: Vec<(&str, &Value)> = object.iter().collect();
        let parted = query.items(&Scope::record(&parts).with_externals(&externals));
        let same = match (&answer, &parted) {
            (Ok(a), Ok(b)) => a == b,
            (Err(a), Err(b)) => a.to_string() == b.to_string(),
            _ => false,
        };
        if !same {
            return Outcome::Wrong(format!("over a record {parted:?}, over a value {answer:?}"));
        }
    }
    let (error, items) = (expect.get("error"), expect.get("items").and_then(Value::as_array));
    match (answer, error, items) {
        (Ok(found), None, Some(items)) => {
            let tolerance = if case.get("approx").is_some() { 1e-9 } else { 0.0 };
            let same = found.len() == items.len()
                && found.iter().zip(&items[..]).all(|(a, b)| alike(a, b, tolerance));
            if same {
                Outcome::Passed
            } else {
                Outcome::Wrong(format!("found {found:?}, expected {items:?}"))
            }
        }
        (Err(error), Some(expected), _) => {
            let found = format!("run {} at {:?}", error.code(), error.pointer().as_str());
            let expected = error_of(expected, "run");
            if found == expected {
                Outcome::Passed
            } else {
                Outcome::Wrong(format!("found {found}, expected {expected}"))
            }
        }
        (answer, ..) => Outcome::Wrong(format!("found {answer:?}, expected {expect}")),
    }
}

/// The other ways to ask must agree with the items, wherever those are known.
fn disagreement(query: &Query, scope: &Scope<'_>, answered: bool) -> Option<String> {
    if !answered {
        return None; // result_items bounds some of the ways and not others
    }
    let items = query.items(scope).unwrap();
    let first = query.first(scope).unwrap();
    let exists = query.exists(scope).unwrap();
    let value = query.value(scope).unwrap();
    let truth = query.truth(scope);
    let expected = match items.len() {
        0 => None,
        1 => items.first().cloned(),
        _ => Some(Value::from(items.clone())),
    };
    let truth_known = match (&items[..], &truth) {
        ([], truth) => matches!(truth, Ok(false)),
        ([Value::Bool(bool)], Ok(truth)) => truth == bool,
        ([_], truth) => truth.is_ok(),
        (_, truth) => truth.as_ref().is_err_and(|e| e.code() == "JQ2003" && e.pointer().as_str().is_empty()),
    };
    (first != items.first().cloned() || exists != first.is_some() || value != expected || !truth_known).then(
        || format!("items {items:?}, first {first:?}, exists {exists}, value {value:?}, truth {truth:?}"),
    )
}

/// Whether an answer is the expected one: numbers to the bit (or to the tolerance), members in order.
fn alike(found: &Value, expected: &Value, tolerance: f64) -> bool {
    if let Some(name) = expected.get("@number").and_then(Value::as_str) {
        return found
            .as_f64()
            .is_some_and(|n| n.to_bits() == special(name).to_bits() || n.is_nan() && name == "NaN");
    }
    match (found, expected) {
        (Value::Number(a), Value::Number(b)) => {
            a.to_bits() == b.to_bits()
                || (a - b).abs() <= tolerance.max(tolerance * b.abs()) && tolerance > 0.0
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(&b[..]).all(|(a, b)| alike(a, b, tolerance))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && alike(a, b, tolerance))
        }
        _ => found == expected,
    }
}

fn special(name: &str) -> f64 {
    match name {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        "-0" => -0.0,
        other => panic!("an unknown number: {other}"),
    }
}
