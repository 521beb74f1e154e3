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

use std::hint::black_box;
use std::time::{Duration, Instant};

use jaren_json::{ReadOptions, Value, read, value};
use jaren_query::{Query, Scope};

const ROWS: u64 = 10_000;

fn main() {
    guard();
    let document = rows();
    let rows = document.as_array().unwrap();

    let filter = Query::compile(&value!([{"$for": {"r": "$[*]"}, "$where": {"$ge": ["$r.qty", 500]},
        "$return": {"id": "$r.id", "total": {"$mul": ["$r.qty", "$r.price"]}}}]))
    .unwrap();
    measure("filter", "query", || filter.first(&Scope::value(&document)).unwrap());
    measure("filter", "hand", || {
        let number = |row: &Value, name| row.get(name).and_then(Value::as_f64).unwrap();
        let large = rows.iter().filter(|row| number(row, "qty") >= 500.0);
        let total = |row: &Value| number(row, "qty") * number(row, "price");
        large
            .map(|row| value!({"id": row.get("id").unwrap().clone(), "total": total(row)}))
            .collect::<Value>()
    });

    let group =
        Query::compile(&value!([{"$for": {"r": "$[*]"}, "$let": {"t": {"$mul": ["$r.qty", "$r.price"]}},
        "$groupby": {"region": "$r.region"}, "$return": {"region": "$region", "total": {"$sum": "$t"}}}]))
        .unwrap();
    measure("group", "query", || group.first(&Scope::value(&document)).unwrap());

    let sum = Query::compile(&value!({"$sum": "$[*].qty"})).unwrap();
    measure("sum", "query", || sum.first(&Scope::value(&document)).unwrap());

    let order =
        Query::compile(&value!([{"$for": {"r": "$[*]"}, "$orderby": [{"$key": "$r.qty", "$dir": "desc"},
        "$r.id"], "$return": "$r.id"}]))
        .unwrap();
    measure("order", "query", || order.first(&Scope::value(&document)).unwrap());
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

/// Whether the arguments ask for this row: all rows, or those whose work has one of the words in it.
fn asked(work: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    words.peek().is_none() || words.any(|word| work.contains(&word))
}

/// The median of many runs.
fn measure<T>(work: &str, by: &str, mut run: impl FnMut() -> T) {
    if !asked(work) {
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
    if !asked(work) {
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
