//! `jaren query` in a pipe: what goes in, what comes out, what stops it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use common::{Said, Sandbox, ended};
use jaren::json::value;

/// Calls the program with these words and a text on standard input.
fn asked(sandbox: &Sandbox, words: &[&str], input: &str) -> Said {
    let mut command = sandbox.command("query");
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may end without having read it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    ended(child)
}

fn ask(words: &[&str], input: &str) -> Said {
    asked(&Sandbox::new(), words, input)
}

#[test]
fn items_go_out_one_a_line() {
    let input = "{\"a\": [1, {\"b\": 2.50}]}\n{\"a\": []} {\"a\":\n[\"x\", null]}";
    assert_eq!(ask(&["$.a[*]"], input).code(0).out, "1\n{\"b\":2.5}\n\"x\"\nnull\n");
    assert_eq!(ask(&["$.a[*]", "-r"], input).code(0).out, "1\n{\"b\":2.5}\nx\nnull\n");
    assert_eq!(ask(&["$.a[1]", "--pretty"], input).code(0).out, "{\n  \"b\": 2.5\n}\nnull\n");
    assert_eq!(ask(&["{\"$count\": \"$.a[*]\"}", "-"], input).code(0).out, "2\n0\n2\n");
    assert_eq!(ask(&["$"], " \n").code(0).out, "");
    assert_eq!(ask(&["$$cash"], "0").code(0).out, "\"$cash\"\n", "the text of a JSON string, escape and all");
}

#[test]
fn the_query_and_the_values_come_from_files_too() {
    let sandbox = Sandbox::new();
    sandbox
        .write("sum.json", "{\n  \"$sum\": \"$.rows[*].n\"\n}\n")
        .write("path", "\n$.rows[0]\n")
        .write("data.json", "{\"rows\": [{\"n\": 1}, {\"n\": 2}]}");
    for words in ["@sum.json data.json", "-f sum.json data.json", "data.json --from-file sum.json"] {
        assert_eq!(sandbox.jaren(&format!("query {words}")).code(0).out, "3\n");
    }
    assert_eq!(sandbox.jaren("query @path data.json").code(0).out, "{\"n\":1}\n");
    assert_eq!(sandbox.jaren_with("query @- data.json", "$.rows[1]").code(0).out, "{\"n\":2}\n");
    sandbox.jaren_with("query @-", "$").code(2).complains("standard input cannot be both");
    sandbox.jaren("query $ gone.json").code(4).complains("file gone.json does not exist");
    sandbox.jaren("query $ .").code(8).complains("cannot be read");
    sandbox.jaren("query @gone.json data.json").code(4).complains("query gone.json does not exist");
    sandbox.jaren("query sum.json data.json").code(3).complains("is asked with @sum.json");
    sandbox.jaren("query").code(2).complains("EXPR");
}

#[test]
fn variables_are_bound_or_refused() {
    let limit = ["{\"$gt\": [\"$.n\", \"$limit\"]}", "--arg", "limit=3"];
    assert_eq!(ask(&limit, "{\"n\": 4} {\"n\": 3}").code(0).out, "true\nfalse\n");
    assert_eq!(ask(&["$o.a[0]", "--arg", "o={\"a\": [\"x=y\"]}"], "0").code(0).out, "\"x=y\"\n");
    ask(&["$limit"], "0")
        .code(3)
        .complains("error[JQ0005]")
        .complains("help: bind a variable with --arg NAME=JSON");
    ask(&["$n", "--arg", "n=x"], "0").code(3).complains("--arg n:1:1").complains("--arg-text n=TEXT");
    ask(&["$n", "--arg", "n"], "0").code(2).complains("NAME=VALUE");
    ask(&["$n", "--arg", "$n=1"], "0").code(2).complains("without '$'");
    ask(&["$n", "--arg", "a-b=1"], "0").code(2).complains("ASCII letters");
    ask(&["$n", "--arg", "n=1", "--arg", "n=2"], "0").code(2).complains("twice");
}

#[test]
fn variables_are_texts_and_files_too() {
    let sandbox = Sandbox::new();
    sandbox.write("prices.json", r#"{"tea": 3, "milk": 2}"#);
    let total = r#"query {"$mul":["$.n",{"$get":["$prices","$.of"]}]} --arg-file prices=prices.json"#;
    assert_eq!(sandbox.jaren_with(total, r#"{"n": 2, "of": "tea"}"#).code(0).out, "6\n");
    sandbox.jaren("query $x --arg-file x=gone.json").code(4).complains("gone.json");
    assert_eq!(ask(&["$x", "--arg-text", "x=a=\"b"], "0").code(0).out, "\"a=\\\"b\"\n");
    ask(&["$x", "--arg-text", "x=1", "--arg", "x=1"], "0").code(2).complains("bound twice");
}

#[test]
fn files_are_read_one_after_the_other() {
    let sandbox = Sandbox::new();
    sandbox.write("a.json", "{\"n\": 1} {\"n\": 2}").write("b.json", "\n{\"n\": 3} 4 [").write("n", "$.n");
    assert_eq!(sandbox.jaren("query $.n a.json a.json").code(0).out, "1\n2\n1\n2\n");
    assert_eq!(sandbox.jaren("query -f n a.json a.json").code(0).out, "1\n2\n1\n2\n");
    assert_eq!(sandbox.jaren_with("query $.n a.json -", "{\"n\": 7}").code(0).out, "1\n2\n7\n");
    assert_eq!(
        sandbox.jaren_with("query -s {\"$sum\":\"$[*].n\"} a.json -", "{\"n\": 7}").code(0).out,
        "10\n"
    );
    let said = sandbox.jaren("query --json $.n a.json b.json").code(3);
    assert!(said.out.contains("{\"type\":\"item\",\"input\":3,\"value\":3}"), "{}", said.out);
    sandbox.jaren("query $.n a.json b.json").code(3).complains("value 3 of b.json").complains("b.json:2:");
    sandbox.jaren_with("query @- a.json -", "$").code(2).complains("standard input cannot be both");
    assert_eq!(sandbox.jaren("query $.n a.json gone.json").code(4).out, "1\n2\n");
}

#[test]
fn an_answer_takes_no_more_than_it_may() {
    let all = |limit: &str| ask(&["$[*]", "--limit", limit], "[1, 2, 3]");
    assert_eq!(all("result-items=3").code(0).out, "1\n2\n3\n");
    all("result-items=2").code(9).complains("error[JQ2009]");
    all("steps=1").code(0);
    all("steps=0").code(2).complains("1 or more");
    all("steps").code(2).complains("steps=1000000");
    all("time=1").code(2).complains("steps, work, depth, sequence-items, result-items");
    all("dispatches=1").code(2).complains("no dispatches");
    ask(&["$..*", "--limit", "work=5"], "[1, [2, 3], 4]").code(9).complains("error[JQ2009]");
    ask(&["[[1]]", "--limit", "depth=2"], "").code(3).complains("error[JQ0011]");
    let loops = r#"{"$count": {"$for": {"i": {"$range": [1, 100]}}, "$return": "$i"}}"#;
    ask(&[loops, "-n", "--limit", "sequence-items=99"], "").code(9).complains("error[JQ20");
    ask(&[loops, "-n", "--limit", "steps=50", "--limit", "steps=5000"], "").code(0).prints("100\n");
    ask(&["$", "--explain", "--limit", "steps=7"], "").code(0).prints("\"steps\": 7");
}

#[test]
fn schemas_and_zones_are_there() {
    let schema = r#"{"$valid": ["$.tags[*]", {"type": "string", "maxLength": 3}]}"#;
    let input = r#"{"tags": ["new"]} {"tags": ["sale"]}"#;
    assert_eq!(ask(&[schema], input).code(0).out, "true\nfalse\n");
    let days =
        r#"{"$count": {"$resample": ["$", {"every": "P1D", "zone": "Europe/Paris", "fill": "null"}]}}"#;
    let input = r#"[{"at": "2026-03-28T22:30:00Z", "value": 1}, {"at": "2026-03-29T22:30:00Z", "value": 2}]"#;
    assert_eq!(ask(&[days], input).code(0).out, "3\n", "three days in Paris, two in UTC");
}

#[test]
fn all_values_at_once_or_none() {
    assert_eq!(ask(&["{\"$count\": \"$[*]\"}", "--slurp"], "1 2\n[3]").code(0).out, "3\n");
    assert_eq!(ask(&["$", "-s"], "").code(0).out, "[]\n");
    assert_eq!(ask(&["[\"$\"]", "-n"], "not JSON").code(0).out, "[null]\n");
    ask(&["$", "-n", "x.json"], "").code(2).complains("no FILE is read");
    ask(&["$", "-n", "-s"], "").code(2);
}

#[test]
fn the_exit_status_tells_the_last_item() {
    for (input, code) in [("1", 0), ("0", 0), ("false 1", 0), ("1 false", 1), ("null", 1), ("", 1)] {
        ask(&["$", "--exit-status"], input).code(code);
    }
    ask(&["$.gone", "-e"], "{}").code(1);
}

#[test]
fn a_mistake_in_the_query_has_a_caret() {
    let shown = |said: &Said, lines: [&str; 3]| {
        let lines = lines.map(|line| format!("{line}\n")).concat();
        assert!(said.err.contains(&lines), "{}", said.err);
    };
    let said = ask(&["$.items[*.price"], "").code(3).complains("error[JQ0004]");
    shown(&said, ["  --> EXPR:1:10", "   |", " 1 | $.items[*.price"]);
    shown(&said, [" 1 | $.items[*.price", "   |          ^", ""]);
    let said = ask(&["{\"$gt\": [\"$.a[\", 1]}"], "").code(3).complains("at: /$gt/0");
    shown(&said, [" 1 | {\"$gt\": [\"$.a[\", 1]}", "   |               ^", "   = at: /$gt/0"]);
    let said = ask(&["{\"$gr\": [1, 2]}"], "").code(3).complains("error[JQ0002]");
    assert!(said.err.contains("EXPR is no query that can be used: 1 defect"), "{}", said.err);
    ask(&["{\"a\": 1,}"], "").code(3).complains("EXPR:1:9");
    ask(&[".items"], "").code(3).complains("a path begins with '$'");
    ask(&[""], "").code(3).complains("a path begins with '$'");

    let sandbox = Sandbox::new();
    sandbox.write("q.json", "{\n  \"$add\": [1, \"$x.a b\"]\n}").write("path", "\n  $.a b\n");
    let both = sandbox.jaren("query @q.json").code(3).complains("q.json:2:20").complains("JQ0005");
    assert!(both.err.contains("2 defects"), "{}", both.err);
    sandbox.jaren("query @path").code(3).complains("path:2:6");
}

#[test]
fn a_value_that_is_no_json_stops_with_its_number_and_line() {
    let said = ask(&["$.a"], "{\"a\": 1}\n{\"a\": 2}\n  {\"a\": 3,}\n{\"a\": 4}").code(3);
    assert_eq!(said.out, "1\n2\n");
    said.complains("standard input:3:11").complains("value 3 of standard input is no JSON");
    ask(&["$"], "1 [1, 2").code(3).complains("the end of the text");
    let said = ask(&["$"], "12345678901234567890").code(3).complains("--round");
    assert_eq!(said.out, "");
    assert_eq!(ask(&["$", "--round"], "12345678901234567890").code(0).out, "12345678901234567000\n");
}

#[test]
fn a_query_that_fails_names_the_value_and_stops() {
    let said = ask(&["{\"$idiv\": [10, \"$.n\"]}"], "{\"n\": 5}\n\n{\"n\": 0}\n{\"n\": 2}").code(9);
    assert_eq!(said.out, "2\n");
    said.complains("error[JQ2002]")
        .complains("EXPR:1:1")
        .complains("the query fails on value 2 of standard input, in line 3");
    ask(&["{\"$div\": [1, \"$\"]}"], "2 0").code(9).complains("the answer to value 2").complains("infinity");
    ask(&["{\"$idiv\": [1, 0]}", "-n"], "").code(9).complains("the null input");
    ask(&["{\"$idiv\": [1, 0]}", "-s"], "").code(9).complains("the values of standard input");
}

#[test]
fn programs_get_records() {
    let said = ask(&["$.a[*]", "--json"], "{\"a\": [1, 2]} {} {\"a\": [3]} x").code(3);
    assert_eq!(said.err, "");
    let lines = said.json();
    let records = [(1, 1), (1, 2), (3, 3)]
        .map(|(input, value)| value!({ "type": "item", "input": input, "value": value }));
    assert_eq!(lines.get(..3).unwrap(), records);
    let problem = lines.get(3).unwrap();
    assert_eq!(problem.get("exit"), Some(&value!("document")));
    let defect = problem.get("defects").unwrap().at(0).unwrap();
    assert_eq!((defect.get("line"), defect.get("column")), (Some(&value!(1)), Some(&value!(29))));
    ask(&["$", "--json", "--raw"], "").code(2);
}

#[test]
fn an_answer_comes_before_the_next_value_is_written() {
    let sandbox = Sandbox::new();
    let mut child =
        sandbox.command("query $.n").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for n in 0..5 {
        writeln!(stdin, "{{\"n\": {n}}}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{n}\n"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command("query $")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdin.write_all(b"1\n").unwrap();
    let mut byte = [0; 2];
    stdout.read_exact(&mut byte).unwrap();
    drop(stdout);
    // An endless producer is stopped by the closed pipe.
    while stdin.write_all(b"[1, 2, 3]\n").is_ok() {}
    let said = ended(child).code(0);
    assert_eq!(said.err, "");
}

#[test]
fn what_is_printed_is_not_changed() {
    assert_eq!(ask(&["$", "-r"], "\"\\u001b[31mred\\u009b\"").code(0).out, "\u{1b}[31mred\u{9b}\n");
    assert_eq!(ask(&["$"], "\"\\u001b[31m\u{202e}\"").code(0).out, "\"\\u001b[31m\u{202e}\"\n");
}

#[test]
fn an_explanation_needs_no_values() {
    let said = ask(&["{\"$lt\": [\"$.price\", \"$most\"]}", "--explain", "--compact"], "not JSON").code(0);
    let [analysis] = &said.json()[..] else { panic!("{said:?}") };
    let dependencies = analysis.get("dependencies").unwrap();
    assert_eq!(dependencies.get("externals"), Some(&value!(["most"])));
    assert_eq!(dependencies.get("operators"), Some(&value!(["$lt"])));
    assert_eq!(ask(&["$.a", "--explain", "--json"], "").code(0).out.lines().count(), 1);
    ask(&["$.a", "--explain"], "").code(0).prints("{\n  \"astVersion\": 1,\n");
    ask(&["@-", "--explain"], "$.a").code(0);
    ask(&["$.a[", "--explain"], "").code(3).complains("EXPR:1:5");
}
