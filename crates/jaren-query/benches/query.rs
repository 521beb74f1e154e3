//! What a query costs beside the same work written by hand: `cargo bench -p jaren-query`, and beside other engines
//! `cargo xtask bench queries`. Words after `--` choose the rows that have all of them in their names.
//!
//! One JSON line a row: the median in nanoseconds, and a check of the result that is the same in every program.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a program for the eyes of its author"
)]

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use jaren_json::{Object, ReadOptions, Shape, Value, read, value};
use jaren_query::{JsonPath, Query, Scope};

mod measure;
use measure::{is_asked, measure};

const ROWS: u64 = 10_000;

fn main() {
    let queries = read(include_bytes!("queries.json"), &ReadOptions::document()).unwrap();
    guard(&queries);

    let text = rows();
    let parse = || read(text.as_bytes(), &ReadOptions::data()).unwrap();
    measure("parse", "jaren", parse, Value::clone);

    let document = parse();
    let right = |i: u32| value!({"ref": (i * 7 % 2000), "n": (i)});
    let (left, right) = (document.as_array().unwrap()[..2000].iter().cloned(), (0..2000).map(right));
    let tables = value!({"a": (left.collect::<Value>()), "b": (right.collect::<Value>())});
    for (work, query) in queries.as_object().unwrap().iter().filter(|(work, _)| *work != "guard") {
        let query = Query::compile(query).unwrap();
        let document = if work == "join" { &tables } else { &document };
        measure(work, "jaren", || query.first(&Scope::value(document)).unwrap().unwrap(), Value::clone);
    }
    for work in ["path", "path-filter"] {
        let text = queries.get(work).and_then(|query| query.at(0)?.as_str()).unwrap();
        let path = JsonPath::parse(text).unwrap();
        let nodes = |nodes: &Vec<&Value>| nodes.iter().map(|&node| node.clone()).collect();
        measure(work, "jaren, nodes only", || path.values(&document).unwrap(), nodes);
    }
    hand(&document);
}

/// The same work on the same values, as a person would write it who knows what the documents look like.
fn hand(document: &Value) {
    let by = "hand, jaren-json";
    let rows = document.as_array().unwrap();
    let number = |row: &Value, name| row.get(name).and_then(Value::as_f64).unwrap();
    let large = || rows.iter().filter(|row| number(row, "qty") >= 500.0);

    let name = |row: &Value| row.get("customer")?.get("name").cloned();
    measure("path", by, || rows.iter().filter_map(name).collect(), Value::clone);
    measure("path-filter", by, || large().map(|row| row.get("id").unwrap().clone()).collect(), Value::clone);

    let shape = Shape::new(["id", "total"]).unwrap();
    let total = |row: &Value| {
        let values =
            vec![row.get("id").unwrap().clone(), Value::from(number(row, "qty") * number(row, "price"))];
        Value::from(Object::from_shape(&shape, values).unwrap())
    };
    measure("filter", by, || large().map(total).collect(), Value::clone);

    let group = || {
        let mut totals: HashMap<&str, f64> = HashMap::new();
        for row in &rows[..] {
            let region = row.get("region").and_then(Value::as_str).unwrap();
            *totals.entry(region).or_default() += number(row, "qty") * number(row, "price");
        }
        totals
    };
    measure("group", by, group, |totals| {
        totals.iter().map(|(region, total)| value!({"region": (*region), "total": (*total)})).collect()
    });

    let order = || {
        let mut sorted: Vec<&Value> = rows.iter().collect();
        let key = |row: &Value| (-number(row, "qty"), number(row, "id"));
        sorted.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap());
        sorted.iter().map(|row| row.get("id").unwrap().clone()).collect()
    };
    measure("order", by, order, Value::clone);
}

/// A guard over the parts of a scope, as machines evaluate it, and over a whole value, as the peers do.
fn guard(queries: &Value) {
    let query = Query::compile(queries.get("guard").unwrap()).unwrap();
    let (state, event) = (value!("s1"), value!("go"));
    let (payload, context) = (value!({"fresh": true, "n": 5}), value!({"count": 3, "limit": 10}));
    let parts = [("state", &state), ("event", &event), ("payload", &payload), ("context", &context)];
    let scope = Scope::record(&parts);
    let whole = value!({"state": "s1", "event": "go", "payload": {"fresh": true, "n": 5},
        "context": {"count": 3, "limit": 10}});
    measure_guard("guard", "jaren", || query.truth(&Scope::value(black_box(&whole))).unwrap());
    measure_guard("guard-parts", "jaren", || query.truth(black_box(&scope)).unwrap());
    let number = |name| black_box(&whole).get("context")?.get(name)?.as_f64();
    measure_guard("guard", "hand, jaren-json", || number("count") < number("limit"));
}

fn rows() -> String {
    let regions = ["north", "south", "east", "west", "centre"];
    let row = |i: u64| {
        let x = i.wrapping_mul(2_654_435_761) % 1_000_003;
        let region = regions[usize::try_from(x % 5).unwrap()];
        format!(
            r#"{{"id":{i},"region":"{region}","qty":{},"price":{}.5,"tags":["a","b"],"customer":{{"name":"c{}","vip":{}}}}}"#,
            x % 1000,
            x % 97,
            x % 500,
            x.is_multiple_of(7)
        )
    };
    format!("[{}]", (0..ROWS).map(row).collect::<Vec<_>>().join(","))
}

/// Prints the median of rounds of many runs, for what is shorter than a clock tick.
fn measure_guard(work: &str, by: &str, mut run: impl FnMut() -> bool) {
    const RUNS: u32 = 100_000;
    if !is_asked(work, by) {
        return;
    }
    assert!(run(), "the guard holds");
    let mut round = || {
        let start = Instant::now();
        for _ in 0..RUNS {
            black_box(run());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(RUNS)
    };
    let mut rounds: Vec<f64> = (0..51).map(|_| round()).collect();
    rounds.sort_unstable_by(f64::total_cmp);
    #[expect(clippy::indexing_slicing, reason = "there are 51")]
    let median = rounds[25];
    println!(r#"{{"work":"{work}","by":"{by}","ns":{median:.2},"check":"true"}}"#);
}
