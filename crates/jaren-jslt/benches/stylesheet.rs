//! What a transform costs over 2,500 rows of four values each: `cargo bench -p jaren-jslt`.
//!
//! One line a row, with the best time in microseconds.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the eyes of its author")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use jaren_jslt::Stylesheet;
use jaren_json::{Value, value};

const ROUNDS: u32 = 40;

fn main() {
    let row = |n: u32| value!({"no": (format!("n{n}")), "price": n, "meta": {"owner": (format!("Io{}", n % 7)), "on": (n.is_multiple_of(2))}});
    let document = value!({"cur": "EUR", "rows": ((0..2500).map(row).collect::<Value>())});
    for (name, sheet) in [
        ("every price", value!([{"match": "$..price", "body": {"$mul": ["$", 1.21]}}])),
        ("one price", value!([{"match": "$.rows[77].price", "body": 0}])),
        (
            "rows",
            value!([
                {"match": "$.rows[*]", "body": {"id": "$.no", "net": {"$mul": ["$.price", 2]}, "meta": [{"$apply": "$.meta"}]}},
                {"match": "$.rows[*].meta", "body": "$.owner"}
            ]),
        ),
        (
            "walk by hand",
            value!([
                {"body": {"$if": [{"$is-number": "$"}, {"$add": ["$", 1]},
                    {"$if": [{"$is-array": "$"}, [{"$apply": "$[*]"}], "$"]}]}},
                {"match": "$.rows[*]", "body": {"no": "$.no", "price": {"$apply": "$.price"}}},
                {"match": "$", "body": [{"$apply": "$.rows"}]}
            ]),
        ),
        (
            "fresh",
            value!({"$jslt": "0.1", "rules": [{"match": "$..owner", "body": "x"}], "unmatched": "fresh"}),
        ),
    ] {
        let sheet = Stylesheet::compile(&sheet).unwrap();
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            black_box(sheet.transform(black_box(&document)).unwrap());
            best = best.min(start.elapsed());
        }
        println!("{name}: {:.1} µs", best.as_secs_f64() * 1e6);
    }
}
