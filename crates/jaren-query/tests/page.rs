//! The examples of the page do what it says.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use jaren_json::{Diagnostic, ReadOptions, Report, Value, read, value};
use jaren_query::{Query, Scope};

const PAGE: &str = include_str!("../../../docs/query.md");

/// The examples: each is an object that begins on a line of its own with the member `query`.
fn examples() -> Vec<Value> {
    let mut texts: Vec<String> = Vec::new();
    for block in PAGE.split("```json\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            if line.starts_with("{\"query\"") {
                texts.push(String::new());
            }
            *texts.last_mut().unwrap() += line;
        }
    }
    let read_example = |text: &String| {
        read(text.as_bytes(), &ReadOptions::document()).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    texts.iter().map(read_example).collect()
}

fn answer(example: &Value) -> Result<Value, Diagnostic> {
    let query = Query::compile(example.get("query").unwrap()).map_err(Report::into_first)?;
    let input = example.get("input").unwrap_or(&Value::Null);
    Ok(query.items(&Scope::value(input))?.into_iter().collect())
}

#[test]
fn the_examples_do_what_the_page_says() {
    for example in examples() {
        let (part, found) = match answer(&example) {
            Ok(items) => ("items", items),
            Err(error) => ("error", value!({"code": error.code(), "pointer": error.pointer().as_str()})),
        };
        assert_eq!(example.get(part), Some(&found), "{example}");
    }
}

/// The operators of sections 3.5 and 8, but for those that need a host.
const OPERATORS: &str = "
    $const $map $seq $exists $empty $distinct $reverse $sort $head $tail $subsequence $index-of $range $get
    $entries $from-entries $if $coalesce $default $eq $ne $lt $le $gt $ge $and $or $not $add $sub $mul $div
    $idiv $mod $neg $count $sum $avg $min $max $concat $string-join $substring $contains $starts-with
    $ends-with $upper $lower $string-length $normalize-space $match $search $replace $is-string $is-number
    $is-boolean $is-null $is-array $is-object $string $number $boolean $is-date $is-time $is-datetime
    $is-duration $year $month $day $hours $minutes $seconds $offset $week $week-year $quarter $weekday $epoch
    $datetime $date-add $date-sub $start-of $end-of $date-diff $date-format $bbox $area $length $centroid
    $distance $within $bbox-intersects $geohash $geo-parse $geo-text $geohash-bounds $geohash-neighbours
    $geo-simplify $similarity $overlaps $time-bucket $resample $rolling $asof
";

#[test]
fn every_operator_has_an_example() {
    let queries: Vec<String> =
        examples().iter().map(|example| example.get("query").unwrap().to_string()).collect();
    for name in OPERATORS.split_whitespace() {
        let named = format!("{{\"{name}\":");
        assert!(queries.iter().any(|query| query.contains(&named)), "{name}");
    }
}
