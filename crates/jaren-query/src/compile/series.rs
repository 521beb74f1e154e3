//! The specifications of time series (section 8.16): literals, read once and for all.

use jaren_json::{Object, Value, did_you_mean, in_quotes};

use super::Compiler;
use crate::path;
use crate::place::Place;
use crate::plan::{Expr, Kind, Many, Number};
use crate::series::{
    AsOf, Choice, Clock, Column, Columns, Direction, Fill, Resample, Rolling, Series, Summary, TimeBucket,
    Width, instant, ladder, width,
};
use crate::zone::TimeZones;

const CLOCK: [&str; 3] = ["zone", "offset", "disambiguation"];
const RESAMPLE: [&str; 8] = ["every", "origin", "start", "end", "aggregate", "fill", "at", "value"];
const ROLLING: [&str; 5] = ["width", "aggregate", "minPeriods", "at", "value"];
const AS_OF: [&str; 5] = ["direction", "tolerance", "by", "leftAt", "rightAt"];

const AGGREGATES: [(&str, Summary); 7] = [
    ("sum", Summary::Sum),
    ("mean", Summary::Mean),
    ("min", Summary::Min),
    ("max", Summary::Max),
    ("first", Summary::First),
    ("last", Summary::Last),
    ("count", Summary::Count),
];
const FILLS: [(&str, Fill); 5] = [
    ("omit", Fill::Omit),
    ("null", Fill::Null),
    ("zero", Fill::Zero),
    ("locf", Fill::Carry),
    ("linear", Fill::Linear),
];
const DIRECTIONS: [(&str, Direction); 3] =
    [("backward", Direction::Backward), ("forward", Direction::Forward), ("nearest", Direction::Nearest)];
const CHOICES: [(&str, Choice); 3] =
    [("reject", Choice::Reject), ("earlier", Choice::Earlier), ("later", Choice::Later)];

/// `$resample`.
pub(super) fn resample(
    compiler: &mut Compiler<'_>,
    operands: Vec<Expr>,
    written: &[Value],
    key: Place,
) -> Option<Kind> {
    let (place, spec) = compiler.literal(written, 1, key);
    let spec = read_resample(spec, compiler.options.time_zones.as_deref());
    let spec = compiler.or_late(spec, place)?;
    let [series]: [Expr; 1] = operands.try_into().ok()?;
    Some(Kind::Many(Many::Series(Box::new(Series::Resample(series, spec, place)))))
}

/// `$rolling`.
pub(super) fn rolling(
    compiler: &mut Compiler<'_>,
    operands: Vec<Expr>,
    written: &[Value],
    key: Place,
) -> Option<Kind> {
    let (place, spec) = compiler.literal(written, 1, key);
    let spec = read_rolling(spec, compiler.options.time_zones.as_deref());
    let spec = compiler.or_late(spec, place)?;
    let [series]: [Expr; 1] = operands.try_into().ok()?;
    Some(Kind::Many(Many::Series(Box::new(Series::Rolling(series, spec, place)))))
}

/// `$asof`.
pub(super) fn as_of(
    compiler: &mut Compiler<'_>,
    operands: Vec<Expr>,
    written: &[Value],
    key: Place,
) -> Option<Kind> {
    let none = Value::Object(Object::default());
    let (place, spec) = if written.len() > 2 { compiler.literal(written, 2, key) } else { (key, &none) };
    let spec = read_as_of(spec);
    let spec = compiler.or_late(spec, place)?;
    Some(Kind::Many(Many::Series(Box::new(Series::AsOf(operands.try_into().ok()?, spec, place)))))
}

/// `$time-bucket`: the clock is a literal, and where the width and the origin are literals the buckets are known.
pub(super) fn time_bucket(
    compiler: &mut Compiler<'_>,
    operands: Vec<Expr>,
    written: &[Value],
    key: Place,
) -> Option<Kind> {
    let clock = if written.len() > 3 {
        let (place, spec) = compiler.literal(written, 3, key);
        let clock = members(spec, &[&CLOCK])
            .and_then(|spec| read_clock(spec, compiler.options.time_zones.as_deref()));
        compiler.or_late(clock, place)?
    } else {
        Clock::default()
    };
    let mut operands = operands.into_iter();
    let (at, every, origin) = (operands.next()?, operands.next()?, operands.next());
    let literal_origin = match origin.as_ref().map(|origin| &origin.kind) {
        None | Some(Kind::Literal(Value::Null)) => Some(None),
        Some(Kind::Literal(value)) => Some(Some(value)),
        Some(_) => None,
    };
    let ladder = match (&every.kind, literal_origin) {
        (Kind::Literal(width), Some(origin)) => {
            let ladder = ladder(width, origin, &clock).map_err(ToOwned::to_owned);
            Some(compiler.or_late(ladder, every.place)?)
        }
        _ => None,
    };
    let pair = Box::new([at, every]);
    Some(Kind::Number(Number::TimeBucket(Box::new(TimeBucket { pair, origin, clock, ladder }))))
}

impl Compiler<'_> {
    /// A literal operand and its place.
    fn literal<'w>(&mut self, written: &'w [Value], index: usize, key: Place) -> (Place, &'w Value) {
        (self.places.element(key, index), written.get(index).unwrap_or(&Value::Null))
    }

    fn or_late<T>(&mut self, read: Result<T, String>, place: Place) -> Option<T> {
        read.map_err(|reason| self.late_defect(place, reason)).ok()
    }
}

fn read_resample(spec: &Value, zones: Option<&dyn TimeZones>) -> Result<Resample, String> {
    let spec = members(spec, &[&RESAMPLE, &CLOCK])?;
    let every = spec.get("every").ok_or("expected a member 'every'")?;
    let ladder = ladder(every, spec.get("origin"), &read_clock(spec, zones)?)?;
    let bound = |name| {
        spec.get(name).map(|bound| instant(Some(bound)).map_err(|reason| format!("'{name}': {reason}")))
    };
    let (start, end) = (bound("start").transpose()?, bound("end").transpose()?);
    if let (Some(start), Some(end)) = (start, end) {
        if start >= end {
            return Err("expected 'end' after 'start'".to_owned());
        }
        ladder.index(start).and_then(|_| ladder.index(end))?;
    }
    let (aggregate, fill) = (one_of(spec, "aggregate", &AGGREGATES)?, one_of(spec, "fill", &FILLS)?);
    Ok(Resample {
        columns: read_columns(spec)?,
        ladder,
        aggregate: aggregate.unwrap_or(Summary::Mean),
        fill: fill.unwrap_or(Fill::Omit),
        start,
        end,
    })
}

fn read_rolling(spec: &Value, zones: Option<&dyn TimeZones>) -> Result<Rolling, String> {
    let spec = members(spec, &[&ROLLING, &CLOCK])?;
    let clock = read_clock(spec, zones)?;
    let min_periods = match spec.get("minPeriods") {
        None => 1.0,
        Some(Value::Number(min)) if *min >= 1.0 && min.fract() == 0.0 => *min,
        Some(_) => return Err("expected 'minPeriods' to be a positive whole number".to_owned()),
    };
    Ok(Rolling {
        columns: read_columns(spec)?,
        width: width(spec.get("width").ok_or("expected a member 'width'")?, &clock)?,
        clock,
        aggregate: one_of(spec, "aggregate", &AGGREGATES)?.unwrap_or(Summary::Mean),
        min_periods,
    })
}

fn read_as_of(spec: &Value) -> Result<AsOf, String> {
    let spec = members(spec, &[&AS_OF])?;
    let columns = |at| {
        let at = selector(spec, at)?.unwrap_or_else(|| Column::member("at"));
        Ok::<_, String>(Columns { at, value: Column::member("value") })
    };
    Ok(AsOf {
        left: columns("leftAt")?,
        right: columns("rightAt")?,
        by: selector(spec, "by")?,
        direction: one_of(spec, "direction", &DIRECTIONS)?.unwrap_or(Direction::Backward),
        tolerance: spec.get("tolerance").map_or(Ok(f64::INFINITY), read_tolerance)?,
    })
}

fn read_tolerance(tolerance: &Value) -> Result<f64, String> {
    match tolerance {
        Value::Number(ms) if *ms >= 0.0 => Some(*ms),
        Value::String(text) => Width::fixed_ms(text),
        _ => None,
    }
    .ok_or_else(|| "expected 'tolerance' to be milliseconds, or a duration of weeks to seconds".to_owned())
}

fn read_columns(spec: &Object) -> Result<Columns, String> {
    let column = |name| Ok::<_, String>(selector(spec, name)?.unwrap_or_else(|| Column::member(name)));
    Ok(Columns { at: column("at")?, value: column("value")? })
}

fn read_clock(spec: &Object, zones: Option<&dyn TimeZones>) -> Result<Clock, String> {
    let choice = one_of(spec, "disambiguation", &CHOICES)?.unwrap_or(Choice::Reject);
    let minutes = match spec.get("offset") {
        None => None,
        Some(Value::Number(minutes)) => Some(*minutes),
        Some(_) => return Err("expected 'offset' to be a number of minutes".to_owned()),
    };
    match (spec.get("zone"), minutes) {
        (None, minutes) => Ok(Clock::Offset(minutes.unwrap_or_default() * 60_000.0)),
        (Some(Value::String(name)), minutes) if **name == *"UTC" => {
            Ok(Clock::Offset(minutes.unwrap_or_default() * 60_000.0))
        }
        (Some(Value::String(_)), Some(_)) => Err("expected 'zone' or 'offset', found both".to_owned()),
        (Some(Value::String(name)), None) => {
            let zones = zones.ok_or("named zones need the time zones of a host, and none are installed")?;
            let zone = zones.zone(name).ok_or("the host knows no time zone of this name")?;
            Ok(Clock::Zone(zone, choice))
        }
        (Some(other), _) => Err(format!("expected 'zone' to be the name of a zone, found {}", other.kind())),
    }
}

/// The specification as an object that has only these members.
fn members<'w>(spec: &'w Value, known: &[&[&'static str]]) -> Result<&'w Object, String> {
    let object = spec.as_object().ok_or_else(|| {
        format!("expected a specification, an object that is taken literally, found {}", spec.kind())
    })?;
    let known = || known.iter().copied().flatten().copied();
    match object.iter().find(|(name, _)| !known().any(|known| known == *name)) {
        None => Ok(object),
        Some((name, _)) => {
            let all = known().collect::<Vec<_>>().join(", ");
            let near = did_you_mean(name, known());
            Err(format!("no member is named {}; there are {all}{near}", in_quotes(name)))
        }
    }
}

/// What a member names among these, if it is there.
fn one_of<T: Copy>(spec: &Object, name: &str, known: &[(&str, T)]) -> Result<Option<T>, String> {
    let Some(value) = spec.get(name) else { return Ok(None) };
    let found = known.iter().find(|(known, _)| value.as_str() == Some(known)).map(|(_, found)| *found);
    found.map(Some).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        format!("expected '{name}' to be one of {}", names.join(", "))
    })
}

/// A path from a row to one thing in it, if the member is there.
fn selector(spec: &Object, name: &str) -> Result<Option<Column>, String> {
    let Some(value) = spec.get(name) else { return Ok(None) };
    let path = value.as_str().filter(|text| text.starts_with('$')).and_then(|text| path::parse(text, 1).ok());
    match path {
        Some(path) if path.leaps.is_empty() && !path.head.is_empty() => Ok(Some(Column(path.head))),
        _ => Err(format!("expected '{name}' to be a path of names and indexes into the row, such as '$.at'")),
    }
}
