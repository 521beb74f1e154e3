//! Dates and times beside the recorded cases: what we decide otherwise, and what no case asks (section 8.13).

use jaren_json::{Value, value};
use jaren_query::{Query, Scope};
use proptest::prelude::*;

/// What a query answers over nothing, or the code and the pointer of its error.
fn answer(document: &Value) -> Value {
    let query = match Query::compile(document) {
        Ok(query) => query,
        Err(report) => return Value::from(report.first().code()),
    };
    match query.items(&Scope::value(&Value::Null)) {
        Ok(items) => items.into_iter().collect(),
        Err(error) => Value::from(format!("{} {}", error.code(), error.pointer().as_str())),
    }
}

#[test]
fn what_is_a_date_or_time() {
    // docs/differences.md
    for (text, forms) in [
        ("2026-07-27", [true, false, false]),
        ("2026-07-27Z", [true, false, false]),
        ("2026-07-27ZT10:00:00Z", [false, false, false]),
        ("2026-07-27 10:00:00Z", [false, false, true]),
        ("2026-07-27\u{a0}10:00:00Z", [false, false, false]),
        ("2026-07-27\t10:00:00Z", [false, false, false]),
        ("2026-07-27T10:00:00Z ", [false, false, false]),
        ("2026-05-05T23:59:60Z", [false, false, true]),
        ("23:59:60.5Z", [false, true, false]),
        ("00:29:60+00:30", [false, true, false]),
        ("47:59:60Z", [false, false, false]),
        ("22:119:60Z", [false, false, false]),
        ("10:00:00,5Z", [false, false, false]),
        ("10:00:00.Z", [false, false, false]),
        ("10:00:00+1:00", [false, false, false]),
        ("1é:00:00Z", [false, false, false]),
    ] {
        let query = value!([{"$is-date": text}, {"$is-time": text}, {"$is-datetime": text}]);
        assert_eq!(answer(&query).at(0), Some(&Value::from(forms.to_vec())), "{text:?}");
    }
}

#[test]
fn results_have_a_spelling() {
    // docs/differences.md
    for (query, expected) in [
        (value!({"$date-add": ["9999-12-31", "P1D"]}), value!("JQ2001 /$date-add/0")),
        (
            value!({"$date-add": ["9999-12-31T23:59:59.999Z", 1, "millisecond"]}),
            value!("JQ2001 /$date-add/0"),
        ),
        (value!({"$date-sub": ["0000-01-01", 1, "day"]}), value!("JQ2001 /$date-sub/0")),
        (value!({"$date-sub": ["2020-02-29", 2021, "year"]}), value!("JQ2001 /$date-sub/0")),
        (value!({"$start-of": ["0000-01-01", "week"]}), value!("JQ2001 /$start-of/0")),
        (value!({"$end-of": ["9999-12-30", "week"]}), value!("JQ2001 /$end-of/0")),
        (value!({"$end-of": ["9999-06-01T12:00:00Z", "year"]}), value!(["9999-12-31T23:59:59.999Z"])),
        (value!({"$date-sub": ["9999-12-31", "P9999Y11M30D"]}), value!(["0000-01-01"])),
        (value!({"$date-add": ["0000-01-01", 3_652_424, "day"]}), value!(["9999-12-31"])),
    ] {
        assert_eq!(answer(&query), expected, "{query}");
    }
}

#[test]
fn the_end_of_a_leap_second() {
    // docs/differences.md
    let query = value!([
        {"$end-of": ["2016-12-31T23:59:60.25Z", "second"]},
        {"$end-of": ["2016-12-31T23:59:60.25Z", "minute"]},
        {"$date-add": ["2016-12-31T23:59:60Z", 1, "second"]}
    ]);
    let expected = value!(["2016-12-31T23:59:60.999Z", "2016-12-31T23:59:59.999Z", "2017-01-01T00:00:01Z"]);
    assert_eq!(answer(&query).at(0), Some(&expected));
}

#[test]
fn odd_numbers_end_in_an_answer() {
    let infinite = value!({"$div": [1, 0]});
    let nan = value!({"$div": [0, 0]});
    let numbers = [infinite, nan, value!(1e308), value!(-1e308), value!(9e15), value!(-9e15), value!(1e-308)];
    for number in numbers {
        for unit in ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"] {
            for date in ["2026-01-31", "2026-01-31T10:00:00Z", "10:00:00Z"] {
                let query = value!({"$date-add": [date, (number.clone()), unit]});
                let found = answer(&query);
                assert!(found.at(0).is_some() || found == value!("JQ2001 /$date-add/0"), "{query}: {found}");
            }
        }
        let found = answer(&value!({"$datetime": (number.clone())}));
        assert!(found == value!(["1970-01-01T00:00:00Z"]) || found == value!("JQ2001 /$datetime"), "{found}");
    }
    let long = format!("P{}D", "9".repeat(400));
    assert_eq!(
        answer(&value!({"$date-add": ["2026-01-31", (Value::from(long))]})),
        value!("JQ2001 /$date-add/0")
    );
    assert_eq!(answer(&value!({"$datetime": (-1e-300)})), value!(["1970-01-01T00:00:00Z"]));
}

/// Every 97th day of the calendar, which is walked by its own rules: its number, its date and its weekday.
fn some_days() -> Vec<(f64, String, f64)> {
    let (mut year, mut month, mut day, mut weekday) = (0, 1, 1, 6.0);
    let mut days = Vec::new();
    for number in -719_528..=2_932_896 {
        if number % 97 == 0 || (year, month, day) == (9999, 12, 31) {
            days.push((f64::from(number), format!("{year:04}-{month:02}-{day:02}"), weekday));
        }
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        day += 1;
        if last.get(month - 1).is_none_or(|last| day > *last) {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
        weekday = if weekday < 7.0 { weekday + 1.0 } else { 1.0 };
    }
    days
}

#[test]
fn the_calendar_from_its_first_day_to_its_last() {
    let query = Query::compile(&value!({"$for": {"d": "$[*]"}, "$return": {"$concat": [
        {"$substring": [{"$datetime": {"$mul": ["$d.number", 86_400_000]}}, 0, 10]},
        " ", {"$string": {"$weekday": "$d.date"}},
        " ", {"$string": {"$div": [{"$epoch": "$d.date"}, 86_400_000]}}
    ]}}))
    .unwrap();
    let days = some_days();
    let input: Vec<Value> =
        days.iter().map(|(number, date, _)| value!({"number": (*number), "date": (date.as_str())})).collect();
    let found = query.items(&Scope::value(&Value::from(input))).unwrap();
    assert_eq!(found.len(), days.len());
    for (found, (number, date, weekday)) in found.iter().zip(days) {
        assert_eq!(found.as_str(), Some(format!("{date} {weekday} {number}").as_str()));
    }
}

fn texts() -> impl Strategy<Value = String> {
    let date = (0..9999_u32, 1..13_u32, 1..32_u32).prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}"));
    let time = (0..25_u32, 0..61_u32, 0..61_u32, "(\\.[0-9]{1,7})?", "Z|[+-][0-2][0-9]:[0-6][0-9]")
        .prop_map(|(h, m, s, fraction, offset)| format!("{h:02}:{m:02}:{s:02}{fraction}{offset}"));
    prop_oneof![
        date.clone(),
        time.clone(),
        (date, "[Tt \u{a0}]", time).prop_map(|(date, separator, time)| format!("{date}{separator}{time}")),
        "[-0-9TZ:+.é ]{0,30}",
    ]
}

proptest! {
    /// What an operator writes is read again, as itself.
    #[test]
    fn what_is_written_is_canonical(text in texts(), amount in -5000.0..5000.0_f64, unit in 0..9_usize) {
        let units = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"];
        let text = Value::from(text);
        for amount in [amount, amount.trunc()] {
            let unit = units[unit];
            let moved = answer(&value!({"$date-add": [(text.clone()), amount, unit]}));
            if let Some(moved) = moved.at(0) {
                let same = answer(&value!({"$date-add": [(moved.clone()), 0, "day"]}));
                prop_assert_eq!(same, value!([(moved.clone())]));
                let start = answer(&value!({"$start-of": [(moved.clone()), unit]}));
                let Some(start) = start.at(0) else { continue };
                let again = answer(&value!({"$start-of": [(start.clone()), unit]}));
                prop_assert_eq!(again, value!([(start.clone())]));
                let inside = answer(&value!({"$date-diff": [(start.clone()), (moved.clone()), unit]}));
                prop_assert!(inside == value!([0]) || inside == value!("JQ2001 /$date-diff/0"), "{}", inside);
            }
        }
    }

    /// Durations and patterns of any text end in an answer.
    #[test]
    fn any_text_is_a_pattern_or_is_refused(pattern in ".{0,12}|['yMdEHhmsSaXDwQ]{0,12}", duration in "-?P[0-9YMWDTHS.,]{0,12}") {
        for date in ["2026-01-31", "2026-01-31T10:20:30.5-05:30", "10:20:30Z"] {
            let query = value!({"$date-format": [date, {"$concat": [{"$const": (Value::from(pattern.clone()))}]}]});
            let formatted = answer(&query);
            prop_assert!(formatted.at(0).is_some() || formatted == value!("JQ2001 /$date-format/1"), "{}", formatted);
            let moved = answer(&value!({"$date-add": [date, (Value::from(duration.clone()))]}));
            prop_assert!(moved.at(0).is_some() || moved.as_str().is_some_and(|error| error.starts_with("JQ2001")), "{}", moved);
        }
    }
}
