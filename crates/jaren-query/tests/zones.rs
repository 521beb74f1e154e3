//! Buckets and windows on the clocks of zones, whose days are not all of 24 hours (section 8.16).
#![cfg(feature = "time-zones")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use jaren_json::{Value, value};
use jaren_query::{BundledZones, CompileOptions, Query, Scope};

fn compile(document: &Value) -> Result<Query, String> {
    let options = CompileOptions::new().with_time_zones(Arc::new(BundledZones));
    Query::compile_with(document, &options).map_err(|report| report.first().code().to_owned())
}

/// Where the bucket begins that an instant falls in, or the code of the error.
fn bucket(at: &str, every: &str, zone: &str, disambiguation: &str) -> String {
    let clock = value!({"zone": zone, "disambiguation": disambiguation});
    let document = value!({"$datetime": {"$time-bucket": ["$", every, null, (clock)]}});
    match compile(&document).and_then(|query| {
        query.first(&Scope::value(&Value::from(at))).map_err(|error| error.code().to_owned())
    }) {
        Ok(instant) => instant.unwrap().as_str().unwrap().to_owned(),
        Err(code) => code,
    }
}

#[test]
fn days_and_months_begin_at_the_zones_midnight() {
    for (at, every, zone, start) in [
        ("2026-02-15T23:30:00Z", "P1D", "Europe/Amsterdam", "2026-02-15T23:00:00Z"),
        ("2026-07-15T22:30:00Z", "P1D", "Europe/Amsterdam", "2026-07-15T22:00:00Z"),
        ("2026-07-15T21:59:59.999Z", "P1D", "Europe/Amsterdam", "2026-07-14T22:00:00Z"),
        // The day of 23 hours and the day of 25.
        ("2026-03-29T20:00:00Z", "P1D", "Europe/Amsterdam", "2026-03-28T23:00:00Z"),
        ("2026-10-25T22:59:59Z", "P1D", "Europe/Amsterdam", "2026-10-24T22:00:00Z"),
        ("2026-10-25T23:00:00Z", "P1D", "Europe/Amsterdam", "2026-10-25T23:00:00Z"),
        ("2026-10-31T22:30:00Z", "P1M", "Europe/Amsterdam", "2026-09-30T22:00:00Z"),
        ("2026-10-31T23:30:00Z", "P1M", "Europe/Amsterdam", "2026-10-31T23:00:00Z"),
        // Widths of less than a day are the same everywhere.
        ("2026-03-29T01:30:00Z", "PT1H", "Europe/Amsterdam", "2026-03-29T01:00:00Z"),
        ("2026-01-01T04:00:00Z", "P1Y", "America/New_York", "2025-01-01T05:00:00Z"),
    ] {
        assert_eq!(bucket(at, every, zone, "reject"), start, "{at} {every} {zone}");
    }
}

#[test]
fn a_midnight_that_the_clocks_show_never_or_twice() {
    // At midnight of 4 November 2018 the clocks of Brazil were put forward; at one o'clock those of Cuba back to midnight.
    for (zone, disambiguation, start) in [
        ("America/Sao_Paulo", "reject", "JQ2001"),
        ("America/Sao_Paulo", "earlier", "2018-11-04T02:00:00Z"),
        ("America/Sao_Paulo", "later", "2018-11-04T03:00:00Z"),
        ("America/Havana", "reject", "JQ2001"),
        ("America/Havana", "earlier", "2018-11-04T04:00:00Z"),
        ("America/Havana", "later", "2018-11-04T05:00:00Z"),
    ] {
        assert_eq!(
            bucket("2018-11-04T12:00:00Z", "P1D", zone, disambiguation),
            start,
            "{zone} {disambiguation}"
        );
    }
}

#[test]
fn zones_are_looked_up_while_compiling() {
    assert_eq!(bucket("2026-01-01", "P1D", "Mars/Olympus", "reject"), "JQ0003");
    let both = value!({"$time-bucket": [0, "P1D", null, {"zone": "Europe/Paris", "offset": 60}]});
    assert_eq!(compile(&both).unwrap_err(), "JQ0003");
    let rolling = value!({"$rolling": ["$", {"width": "P1D", "zone": "Mars/Olympus"}]});
    assert_eq!(compile(&rolling).unwrap_err(), "JQ0003");
}

#[test]
fn a_year_of_days_and_a_window_of_one() {
    let rows = value!([
        {"at": "2026-03-28T12:00:00+01:00", "value": 1},
        {"at": "2026-03-29T12:00:00+02:00", "value": 2},
        {"at": "2026-12-31T12:00:00+01:00", "value": 3}
    ]);
    let days = value!({"$count": {"$resample": ["$", {
        "every": "P1D", "zone": "Europe/Amsterdam", "fill": "null", "start": "2026-01-01", "end": "2026-12-31T23:00:00Z"
    }]}});
    let days = compile(&days).unwrap().first(&Scope::value(&rows)).unwrap();
    assert_eq!(days, Some(value!(365)));
    // The day before noon of 29 March began 23 hours earlier, at noon: the row of that noon is not inside.
    let counts = value!({"$for": {"w": {"$rolling": ["$", {"width": "P1D", "zone": "Europe/Amsterdam"}]}}, "$return": "$w.count"});
    let counts = compile(&counts).unwrap().items(&Scope::value(&rows)).unwrap();
    assert_eq!(counts, [value!(1), value!(1), value!(1)]);
}
