//! What a query costs beside the same work written by hand: `cargo bench -p jaren-query`.
//!
//! One JSON line a row, with the median in nanoseconds. The document and the queries are those of the reference's own
//! comparison, so that its numbers from the same machine can be put beside these.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a program for the eyes of its author"
)]

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use jaren_json::{Object, ReadOptions, Shape, Value, read, value};
use jaren_query::{JsonPath, Query, Scope};

const ROWS: u64 = 10_000;

fn main() {
    guard();
    let document = rows();
    let rows = document.as_array().unwrap();
    let number = |row: &Value, name| row.get(name).and_then(Value::as_f64).unwrap();

    let path = JsonPath::parse("$[*].customer.name").unwrap();
    measure("path", "path", || path.values(&document).unwrap().len());
    query("path", &value!(["$[*].customer.name"]), &document);
    measure("path", "hand", || {
        let names = rows.iter().filter_map(|row| row.get("customer")?.get("name"));
        names.cloned().collect::<Value>()
    });
    query("descend", &value!({"$count": "$..name"}), &document);
    query("path filter", &value!(["$[?@.qty >= 500].id"]), &document);
    measure("path filter", "hand", || {
        let large = rows.iter().filter(|row| number(row, "qty") >= 500.0);
        large.map(|row| row.get("id").unwrap().clone()).collect::<Value>()
    });

    let filter = value!([{"$for": {"r": "$[*]"}, "$where": {"$ge": ["$r.qty", 500]},
        "$return": {"id": "$r.id", "total": {"$mul": ["$r.qty", "$r.price"]}}}]);
    query("filter", &filter, &document);
    let shape = Shape::new(["id", "total"]).unwrap();
    measure("filter", "hand", || {
        let large = rows.iter().filter(|row| number(row, "qty") >= 500.0);
        let total = |row: &Value| Value::from(number(row, "qty") * number(row, "price"));
        let made = large.map(|row| vec![row.get("id").unwrap().clone(), total(row)]);
        made.map(|values| Value::from(Object::from_shape(&shape, values).unwrap())).collect::<Value>()
    });

    let group = value!([{"$for": {"r": "$[*]"}, "$let": {"t": {"$mul": ["$r.qty", "$r.price"]}},
        "$groupby": {"region": "$r.region"}, "$return": {"region": "$region", "total": {"$sum": "$t"}}}]);
    query("group", &group, &document);
    measure("group", "hand", || {
        let mut totals: HashMap<&str, f64> = HashMap::new();
        for row in &rows[..] {
            let region = row.get("region").and_then(Value::as_str).unwrap();
            *totals.entry(region).or_default() += number(row, "qty") * number(row, "price");
        }
        totals.len()
    });
    query("sum", &value!({"$sum": "$[*].qty"}), &document);

    let order = value!([{"$for": {"r": "$[*]"}, "$orderby": [{"$key": "$r.qty", "$dir": "desc"}, "$r.id"],
        "$return": "$r.id"}]);
    query("order", &order, &document);
    measure("order", "hand", || {
        let mut sorted: Vec<&Value> = rows.iter().collect();
        let key = |row: &Value| (-number(row, "qty"), number(row, "id"));
        sorted.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap());
        sorted.iter().map(|row| row.get("id").unwrap().clone()).collect::<Value>()
    });

    let join = value!([{"$for": {"x": "$.a[*]", "y": "$.b[*]"}, "$where": {"$eq": ["$x.id", "$y.ref"]},
        "$return": {"id": "$x.id", "n": "$y.n"}}]);
    let right = |i: u32| value!({"ref": (i * 7 % 2000), "n": (i)});
    let (left, right) = (rows.iter().take(2000).cloned(), (0..2000).map(right));
    query("join", &join, &value!({"a": (left.collect::<Value>()), "b": (right.collect::<Value>())}));
}

fn query(work: &str, query: &Value, document: &Value) {
    let query = Query::compile(query).unwrap();
    measure(work, "query", || query.first(&Scope::value(document)).unwrap());
}

fn guard() {
    let query = Query::compile(&value!({"$lt": ["$.context.count", "$.context.limit"]})).unwrap();
    let (state, event) = (value!("s1"), value!("go"));
    let (payload, context) = (value!({"fresh": true, "n": 5}), value!({"count": 3, "limit": 10}));
    let parts = [("state", &state), ("event", &event), ("payload", &payload), ("context", &context)];
    let scope = Scope::record(&parts);
    let whole = value!({"state": "s1", "event": "go", "payload": {"fresh": true, "n": 5},
        "context": {"count": 3, "limit": 10}});
    many("guard over a record", "query", || query.truth(black_box(&scope)).unwrap());
    many("guard over a value", "query", || query.truth(&Scope::value(black_box(&whole))).unwrap());
    many("guard over a value", "hand", || {
        let number = |name| black_box(&whole).get("context")?.get(name)?.as_f64();
        number("count") < number("limit")
    });
}

fn rows() -> Value {
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
    let text = format!("[{}]", (0..ROWS).map(row).collect::<Vec<_>>().join(","));
    read(text.as_bytes(), &ReadOptions::data()).unwrap()
}

/// Whether the arguments ask for this row: all rows, or those that have every one of the words in their names.
fn asked(work: &str, by: &str) -> bool {
    let row = format!("{work} {by}");
    std::env::args().skip(1).filter(|word| !word.starts_with('-')).all(|word| row.contains(&word))
}

/// The median of many runs.
fn measure<T>(work: &str, by: &str, mut run: impl FnMut() -> T) {
    if !asked(work, by) {
        return;
    }
    let started = Instant::now();
    let mut times = Vec::new();
    while times.len() < 20 || started.elapsed() < Duration::from_secs(1) {
        let start = Instant::now();
        black_box(run());
        times.push(start.elapsed());
    }
    times.sort_unstable();
    println!(r#"{{"work":"{work}","by":"{by}","p50_ns":{}}}"#, times[times.len() / 2].as_nanos());
}

/// The median of runs of a million, for what is shorter than a clock tick.
fn many(work: &str, by: &str, mut run: impl FnMut() -> bool) {
    if !asked(work, by) {
        return;
    }
    const TIMES: u32 = 1_000_000;
    let mut times: Vec<f64> = (0..7)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..TIMES {
                black_box(run());
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    println!(r#"{{"work":"{work}","by":"{by}","p50_ns":{:.1}}}"#, times[times.len() / 2]);
}
