//! What a transform costs over 2,500 rows of four values each: `cargo bench -p jaren-jslt`, and beside other engines
//! `cargo xtask bench queries`. Words after `--` choose the rows that have all of them in their names.
//!
//! One JSON line a row: the median in nanoseconds, and a check of the result that is the same in every program.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the eyes of its author")]

use jaren_jslt::Stylesheet;
use jaren_json::{ReadOptions, Value, read, value};

#[path = "../../jaren-query/benches/measure/mod.rs"]
mod measure;
use measure::measure;

fn main() {
    let row = |n: u32| value!({"no": (format!("n{n}")), "price": n, "meta": {"owner": (format!("Io{}", n % 7)), "on": (n.is_multiple_of(2))}});
    let document = value!({"cur": "EUR", "rows": ((0..2500).map(row).collect::<Value>())});
    let sheets = read(include_bytes!("sheets.json"), &ReadOptions::document()).unwrap();
    for (work, sheet) in sheets.as_object().unwrap() {
        let sheet = Stylesheet::compile(sheet).unwrap();
        measure(work, "jaren", || sheet.transform(&document).unwrap(), |result| result.clone().unwrap());
    }
}
