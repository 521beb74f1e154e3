//! Queries and transforms in other Rust crates and by hand on `serde_json::Value`, on the documents of
//! crates/jaren-query/benches/query.rs and crates/jaren-jslt/benches/stylesheet.rs.
//! Arguments choose the rows that have every word in their names.
mod hand;

use std::hint::black_box;
use std::time::{Duration, Instant};

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::{Val, read};
use serde_json::{Value, json};

const WARM: Duration = Duration::from_millis(100);
const TIME: Duration = Duration::from_millis(400);

fn main() {
    let (rows, scope) = (rows(), scope());
    hand::guard(&scope);
    let text = rows.to_string();
    measure("parse", "serde_json", || serde_json::from_str::<Value>(&text).unwrap(), Value::clone);
    let (tables, tree) = (tables(&rows), tree());
    hand::queries(&rows, &tables);
    hand::sheets(&tree);
    jaq(&[&rows, &tables, &tree, &scope]);
    serde_json_path(&rows, &scope);
    jmespath(&rows, &scope);
}

fn jaq(documents: &[&Value; 4]) {
    let parse = |text: &str| read::parse_single(text.as_bytes()).unwrap();
    let result = |value: &Val| serde_json::from_str(&value.to_string()).unwrap();
    let [rows, tables, tree, scope] = documents.map(ToString::to_string);
    measure("parse", "jaq", || parse(&rows), result);
    let [rows, tables, tree, scope] = [rows, tables, tree, scope].map(|text| parse(&text));
    for (work, document, code) in [
        ("guard", &scope, ".context.count < .context.limit"),
        ("path", &rows, "[.[].customer.name]"),
        ("path-filter", &rows, "[.[] | select(.qty >= 500) | .id]"),
        ("descend", &rows, "[.. | objects | select(has(\"name\"))] | length"),
        ("filter", &rows, "[.[] | select(.qty >= 500) | {id, total: (.qty * .price)}]"),
        ("filter-plain", &rows, "[.[] | select(.qty >= 500) | {id, qty}]"),
        (
            "group",
            &rows,
            "reduce .[] as $r ({}; .[$r.region] += $r.qty * $r.price) | to_entries | map({region: .key, total: .value})",
        ),
        ("sum", &rows, "reduce .[].qty as $n (0; . + $n)"),
        ("order", &rows, "sort_by(-.qty, .id) | map(.id)"),
        (
            "join",
            &tables,
            "(reduce .b[] as $y ({}; .[$y.ref | tostring] = $y.n)) as $n
                | [.a[] | {id, n: $n[.id | tostring]} | select(.n != null)]",
        ),
        ("sheet-prices", &tree, ".rows[].price |= . * 1.5"),
        ("sheet-price", &tree, ".rows[77].price = 0"),
        ("sheet-rows", &tree, ".rows |= map({id: .no, net: (.price * 2), meta: [.meta.owner]})"),
        ("sheet-walk", &tree, "[[.rows[] | {no, price: (.price + 1)}]]"),
        ("sheet-fresh", &tree, ".rows[].meta.owner = \"x\""),
    ] {
        let loader = Loader::new(jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()));
        let arena = Arena::default();
        let modules = loader.load(&arena, File { code, path: () }).unwrap();
        let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let filter = Compiler::default().with_funs(functions).compile(modules).unwrap();
        let run = || {
            let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
            filter.id.run((context, document.clone())).map(unwrap_valr).next().unwrap().unwrap()
        };
        if work == "guard" {
            measure_guard("jaq", 51, || run() == Val::from(true));
        } else {
            measure(work, "jaq", run, result);
        }
    }
}

fn serde_json_path(rows: &Value, scope: &Value) {
    let by = "serde_json_path";
    let path = |text| serde_json_path::JsonPath::parse(text).unwrap();
    let [count, limit] = ["$.context.count", "$.context.limit"].map(path);
    let number =
        |path: &serde_json_path::JsonPath| path.query(scope).exactly_one().unwrap().as_f64().unwrap();
    measure_guard(by, 51, || number(&count) < number(&limit));
    for (work, text) in [("path", "$[*].customer.name"), ("path-filter", "$[?@.qty >= 500].id")] {
        let path = path(text);
        measure(work, by, || path.query(rows), |nodes| nodes.iter().map(|&node| node.clone()).collect());
    }
    let names = path("$..name");
    measure("descend", by, || names.query(rows).len(), |count| json!(count));
}

fn jmespath(rows: &Value, scope: &Value) {
    let by = "jmespath";
    let variable = |text: &str| jmespath::Rcvar::new(jmespath::Variable::from_json(text).unwrap());
    let text = rows.to_string();
    let result = |value: &jmespath::Rcvar| serde_json::from_str(&value.to_string()).unwrap();
    measure("parse", by, || variable(&text), result);
    let (rows, scope) = (variable(&text), variable(&scope.to_string()));
    let guard = jmespath::compile("context.count < context.limit").unwrap();
    measure_guard(by, 51, || guard.search(scope.clone()).unwrap().is_truthy());
    for (work, text) in [
        ("path", "[].customer.name"),
        ("path-filter", "[?qty >= `500`].id"),
        // The language has no arithmetic, so it has no row for `filter` and `group`.
        ("filter-plain", "[?qty >= `500`].{id: id, qty: qty}"),
        ("sum", "sum([].qty)"),
        // Sorting is stable and by one key.
        ("order", "reverse(sort_by(reverse(@), &qty))[].id"),
    ] {
        let query = jmespath::compile(text).unwrap();
        measure(work, by, || query.search(rows.clone()).unwrap(), result);
    }
}

fn rows() -> Value {
    let regions = ["north", "south", "east", "west", "centre"];
    let row = |i: u64| {
        let x = i.wrapping_mul(2_654_435_761) % 1_000_003;
        json!({"id": i, "region": regions[(x % 5) as usize], "qty": x % 1000, "price": (x % 97) as f64 + 0.5,
            "tags": ["a", "b"], "customer": {"name": format!("c{}", x % 500), "vip": x % 7 == 0}})
    };
    (0..10_000).map(row).collect()
}

fn tables(rows: &Value) -> Value {
    let right = |i: u64| json!({"ref": i * 7 % 2000, "n": i});
    json!({"a": &rows.as_array().unwrap()[..2000], "b": (0..2000).map(right).collect::<Value>()})
}

fn tree() -> Value {
    let row = |n: u64| json!({"no": format!("n{n}"), "price": n, "meta": {"owner": format!("Io{}", n % 7), "on": n % 2 == 0}});
    json!({"cur": "EUR", "rows": (0..2500).map(row).collect::<Value>()})
}

fn scope() -> Value {
    json!({"state": "s1", "event": "go", "payload": {"fresh": true, "n": 5}, "context": {"count": 3, "limit": 10}})
}

/// Prints the median of many runs, which includes giving the result's memory back.
fn measure<T>(work: &str, by: &str, mut run: impl FnMut() -> T, result: impl FnOnce(&T) -> Value) {
    if !is_asked(work, by) {
        return;
    }
    let check = check(work, result(&run()));
    let started = Instant::now();
    while started.elapsed() < WARM {
        black_box(run());
    }
    let started = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || started.elapsed() < TIME {
        let start = Instant::now();
        drop(black_box(run()));
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let median = times[times.len() / 2].as_nanos();
    println!(r#"{{"work":"{work}","by":"{by}","ns":{median},"check":"{check}"}}"#);
}

/// Prints the median of rounds of many runs, for what is shorter than a clock tick.
fn measure_guard(by: &str, rounds: usize, mut run: impl FnMut() -> bool) {
    const RUNS: u32 = 100_000;
    if !is_asked("guard", by) {
        return;
    }
    assert!(run(), "the guard holds");
    let started = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || times.len() < rounds && started.elapsed() < TIME {
        let start = Instant::now();
        for _ in 0..RUNS {
            black_box(run());
        }
        times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(RUNS));
    }
    times.sort_unstable_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!(r#"{{"work":"guard","by":"{by}","ns":{median:.2},"check":"true"}}"#);
}

fn is_asked(work: &str, by: &str) -> bool {
    let row = format!("{work} {by}");
    std::env::args().skip(1).all(|word| row.contains(&word))
}

/// Length and FNV-1a hash of the canonical text; groups come in any order, so theirs are sorted.
fn check(work: &str, mut result: Value) -> String {
    if work == "group" {
        result.as_array_mut().unwrap().sort_by_key(|group| group["region"].as_str().unwrap().to_owned());
    }
    let mut text = String::new();
    canonical(&result, &mut text);
    let hash =
        text.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{}-{hash:08x}", text.len())
}

/// Canonical text of the values that occur here: plain strings, and numbers that are short as decimals.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                text.push(if index == 0 { '[' } else { ',' });
                canonical(item, text);
            }
            text.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Object(members) => {
            for (index, (name, value)) in members.iter().enumerate() {
                text.push(if index == 0 { '{' } else { ',' });
                text.push_str(&format!("\"{name}\":"));
                canonical(value, text);
            }
            text.push_str(if members.is_empty() { "{}" } else { "}" });
        }
        Value::Number(number) => text.push_str(&number.as_f64().unwrap().to_string()),
        other => text.push_str(&other.to_string()),
    }
}
