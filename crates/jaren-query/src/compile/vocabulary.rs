//! The closed vocabulary (section 8.1): each operator with the shape of its argument and what it compiles to.

use std::ops::RangeInclusive;

use jaren_json::{Kind as ValueKind, Value};

use super::phrase::{FLWOR, QUANTIFIER};
use super::{Compiler, dates, series};
use crate::dates::{Component, DateText, Edge, Form};
use crate::iregexp::{Extent, Pattern};
use crate::place::Place;
use crate::plan::{
    Aggregate, Arithmetic, Comparison, Expr, Kind, Many, Matching, Measure, Number, Pair, Spatial,
    SpatialMap, SpatialTest, Test, Text, TextMap, TextTest,
};
use crate::type_test::TypeTest;

/// How many operands an operator takes, and what it compiles to with them.
pub(super) enum Operator {
    /// The argument is the one operand.
    One(fn(Box<Expr>) -> Kind),
    /// The argument is a list, as for all that follow.
    OneOrTwo(fn(Box<Expr>, Option<Box<Expr>>) -> Kind),
    /// The place is that of the operator's name.
    Two(fn(Pair, Place) -> Kind),
    TwoOrThree(fn(Pair, Option<Box<Expr>>) -> Kind),
    Three(fn(Box<[Expr; 3]>) -> Kind),
    AtLeast(usize, fn(Vec<Expr>) -> Kind),
    /// An operand and a schema literal; the place is that of the operator's name.
    Schema(fn(TypeTest, Box<Expr>, Place) -> Kind),
    /// A list of so many operands, of which so many leading ones are expressions and the rest literals, and what the
    /// compiler makes of them; it reports what is wrong with the literals.
    Read(RangeInclusive<usize>, usize, Read),
}

/// Makes an operator of its expressions and of all its operands as they are written; the place is that of its name.
pub(super) type Read = fn(&mut Compiler<'_>, Vec<Expr>, &[Value], Place) -> Option<Kind>;

/// Every operator that takes its operands in the ordinary way.
pub(super) static OPERATORS: &[(&str, Operator)] = {
    use Operator::{AtLeast, One, OneOrTwo, Schema, Three, Two, TwoOrThree};
    &[
        ("$seq", AtLeast(0, |operands| Kind::Many(Many::Seq(operands)))),
        ("$exists", One(|operand| Kind::Test(Test::Exists(operand)))),
        ("$empty", One(|operand| Kind::Test(Test::Empty(operand)))),
        ("$if", TwoOrThree(Kind::If)),
        ("$eq", Two(|pair, _| Kind::Test(Test::Compare(Comparison::Eq, pair)))),
        ("$ne", Two(|pair, _| Kind::Test(Test::Compare(Comparison::Ne, pair)))),
        ("$lt", Two(|pair, _| Kind::Test(Test::Compare(Comparison::Lt, pair)))),
        ("$le", Two(|pair, _| Kind::Test(Test::Compare(Comparison::Le, pair)))),
        ("$gt", Two(|pair, _| Kind::Test(Test::Compare(Comparison::Gt, pair)))),
        ("$ge", Two(|pair, _| Kind::Test(Test::Compare(Comparison::Ge, pair)))),
        ("$add", Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Add, pair, key)))),
        ("$sub", Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Sub, pair, key)))),
        ("$mul", Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Mul, pair, key)))),
        ("$div", Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Div, pair, key)))),
        ("$idiv", Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Idiv, pair, key)))),
        ("$mod", Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Mod, pair, key)))),
        ("$neg", One(|operand| Kind::Number(Number::Negate(operand)))),
        ("$and", AtLeast(1, |operands| Kind::Test(Test::And(operands)))),
        ("$or", AtLeast(1, |operands| Kind::Test(Test::Or(operands)))),
        ("$not", One(|operand| Kind::Test(Test::Not(operand)))),
        ("$concat", AtLeast(0, |operands| Kind::Text(Text::Concat(operands)))),
        ("$string-join", OneOrTwo(|items, separator| Kind::Text(Text::Join(items, separator)))),
        ("$substring", TwoOrThree(|pair, length| Kind::Text(Text::Substring(pair, length)))),
        ("$contains", Two(|pair, _| Kind::Test(Test::Text(TextTest::Contains, pair)))),
        ("$starts-with", Two(|pair, _| Kind::Test(Test::Text(TextTest::StartsWith, pair)))),
        ("$ends-with", Two(|pair, _| Kind::Test(Test::Text(TextTest::EndsWith, pair)))),
        ("$upper", One(|operand| Kind::Text(Text::Map(TextMap::Upper, operand)))),
        ("$lower", One(|operand| Kind::Text(Text::Map(TextMap::Lower, operand)))),
        ("$string-length", One(|operand| Kind::Number(Number::Length(operand)))),
        ("$normalize-space", One(|operand| Kind::Text(Text::Map(TextMap::NormalizeSpace, operand)))),
        ("$match", Two(|pair, _| Kind::Test(Test::Matches(Box::new(matching(pair, Extent::Whole)))))),
        ("$search", Two(|pair, _| Kind::Test(Test::Matches(Box::new(matching(pair, Extent::Part)))))),
        ("$replace", Three(|operands| Kind::Text(Text::Replace(Box::new(matching(operands, Extent::Part)))))),
        ("$count", One(|operand| Kind::Number(Number::Count(operand)))),
        ("$sum", One(|operand| Kind::Aggregate(Aggregate::Sum, operand))),
        ("$avg", One(|operand| Kind::Aggregate(Aggregate::Avg, operand))),
        ("$min", One(|operand| Kind::Aggregate(Aggregate::Min, operand))),
        ("$max", One(|operand| Kind::Aggregate(Aggregate::Max, operand))),
        ("$distinct", One(|operand| Kind::Many(Many::Distinct(operand)))),
        ("$reverse", One(|operand| Kind::Many(Many::Reverse(operand)))),
        ("$sort", One(|operand| Kind::Many(Many::Sort(operand)))),
        ("$head", One(Kind::Head)),
        ("$tail", One(|operand| Kind::Many(Many::Tail(operand)))),
        ("$subsequence", TwoOrThree(|pair, length| Kind::Many(Many::Subsequence(pair, length)))),
        ("$index-of", Two(|pair, _| Kind::Many(Many::IndexOf(pair)))),
        ("$range", Two(|pair, key| Kind::Many(Many::Range(pair, key)))),
        ("$get", Two(|pair, _| Kind::Get(pair))),
        ("$entries", One(|operand| Kind::Many(Many::Entries(operand)))),
        ("$from-entries", One(Kind::FromEntries)),
        ("$is-string", One(|operand| Kind::Test(Test::Is(ValueKind::String, operand)))),
        ("$is-number", One(|operand| Kind::Test(Test::Is(ValueKind::Number, operand)))),
        ("$is-boolean", One(|operand| Kind::Test(Test::Is(ValueKind::Boolean, operand)))),
        ("$is-null", One(|operand| Kind::Test(Test::Is(ValueKind::Null, operand)))),
        ("$is-array", One(|operand| Kind::Test(Test::Is(ValueKind::Array, operand)))),
        ("$is-object", One(|operand| Kind::Test(Test::Is(ValueKind::Object, operand)))),
        ("$string", One(Kind::ToString)),
        ("$number", One(|operand| Kind::Number(Number::Cast(operand)))),
        ("$boolean", One(|operand| Kind::Test(Test::Boolean(operand)))),
        ("$coalesce", AtLeast(1, Kind::Coalesce)),
        ("$default", Two(|pair, _| Kind::Coalesce(Vec::from(*pair)))),
        ("$valid", Schema(|test, operand, _| Kind::Test(Test::Valid(test, operand)))),
        ("$assert", Schema(|test, operand, key| Kind::Many(Many::Assert(test, operand, key)))),
        ("$is-date", One(|operand| Kind::Test(Test::Form(Form::Date, operand)))),
        ("$is-time", One(|operand| Kind::Test(Test::Form(Form::Time, operand)))),
        ("$is-datetime", One(|operand| Kind::Test(Test::Form(Form::DateTime, operand)))),
        ("$is-duration", One(|operand| Kind::Test(Test::Form(Form::Duration, operand)))),
        ("$year", One(|operand| component(Component::Year, operand))),
        ("$month", One(|operand| component(Component::Month, operand))),
        ("$day", One(|operand| component(Component::Day, operand))),
        ("$hours", One(|operand| component(Component::Hours, operand))),
        ("$minutes", One(|operand| component(Component::Minutes, operand))),
        ("$seconds", One(|operand| component(Component::Seconds, operand))),
        ("$offset", One(|operand| component(Component::Offset, operand))),
        ("$week", One(|operand| component(Component::Week, operand))),
        ("$week-year", One(|operand| component(Component::WeekYear, operand))),
        ("$quarter", One(|operand| component(Component::Quarter, operand))),
        ("$weekday", One(|operand| component(Component::Weekday, operand))),
        ("$epoch", One(|operand| component(Component::Epoch, operand))),
        ("$datetime", One(|operand| date_text(DateText::Instant(operand)))),
        ("$date-add", TwoOrThree(|pair, unit| date_text(DateText::Shift { back: false, pair, unit }))),
        ("$date-sub", TwoOrThree(|pair, unit| date_text(DateText::Shift { back: true, pair, unit }))),
        ("$start-of", Two(|pair, _| date_text(DateText::Truncate(Edge::Start, pair)))),
        ("$end-of", Two(|pair, _| date_text(DateText::Truncate(Edge::End, pair)))),
        ("$date-diff", Operator::Read(3..=3, 3, dates::difference)),
        ("$date-format", Operator::Read(2..=2, 2, dates::format)),
        ("$bbox", One(|operand| spatial_map(SpatialMap::Bounds, operand))),
        ("$area", One(|operand| Kind::Number(Number::Measure(Measure::Area, operand)))),
        ("$length", One(|operand| Kind::Number(Number::Measure(Measure::Length, operand)))),
        ("$centroid", One(|operand| spatial_map(SpatialMap::Centroid, operand))),
        ("$distance", Two(|pair, _| Kind::Number(Number::Distance(pair)))),
        ("$within", Two(|pair, _| Kind::Test(Test::Spatial(SpatialTest::Within, pair)))),
        ("$bbox-intersects", Two(|pair, _| Kind::Test(Test::Spatial(SpatialTest::BoundsMeet, pair)))),
        ("$geohash", OneOrTwo(|operand, precision| Kind::Spatial(Spatial::Geohash(operand, precision)))),
        ("$geo-parse", One(|operand| spatial_map(SpatialMap::Parse, operand))),
        ("$geo-text", One(|operand| spatial_map(SpatialMap::ToText, operand))),
        ("$geohash-bounds", One(|operand| spatial_map(SpatialMap::CellBounds, operand))),
        ("$geohash-neighbours", One(|operand| Kind::Many(Many::CellsAround(operand)))),
        ("$geo-simplify", Two(|pair, _| Kind::Spatial(Spatial::Simplify(pair)))),
        ("$similarity", Two(|pair, _| Kind::Number(Number::Similarity(pair)))),
        ("$overlaps", Two(|pair, _| Kind::Overlaps(pair))),
        ("$time-bucket", Operator::Read(2..=4, 3, series::time_bucket)),
        ("$resample", Operator::Read(2..=2, 1, series::resample)),
        ("$rolling", Operator::Read(2..=2, 1, series::rolling)),
        ("$asof", Operator::Read(2..=3, 2, series::as_of)),
    ]
};

/// The operands with the pattern among them, compiled already where its text stands in the document.
fn matching<const N: usize>(operands: Box<[Expr; N]>, extent: Extent) -> Matching<N> {
    let text = match operands.get(1).map(|operand| &operand.kind) {
        Some(Kind::Literal(value)) => value.as_str(),
        _ => None,
    };
    let pattern = Pattern::new(text, extent);
    Matching { pattern, operands }
}

fn component(component: Component, operand: Box<Expr>) -> Kind {
    Kind::Number(Number::Component(component, operand))
}

fn date_text(operator: DateText) -> Kind {
    Kind::DateText(Box::new(operator))
}

fn spatial_map(map: SpatialMap, operand: Box<Expr>) -> Kind {
    Kind::Spatial(Spatial::Map(map, operand))
}

/// The operator of that name.
pub(super) fn operator(name: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|(known, _)| *known == name).map(|(_, operator)| operator)
}

impl Operator {
    /// The number of operands in words.
    pub(super) fn arity(&self) -> String {
        match self {
            Self::One(_) => "1".to_owned(),
            Self::OneOrTwo(_) => "1 to 2".to_owned(),
            Self::Two(_) | Self::Schema(_) => "2".to_owned(),
            Self::TwoOrThree(_) => "2 to 3".to_owned(),
            Self::Three(_) => "3".to_owned(),
            Self::AtLeast(min, _) => format!("at least {min}"),
            Self::Read(arity, ..) if arity.start() == arity.end() => arity.end().to_string(),
            Self::Read(arity, ..) => format!("{} to {}", arity.start(), arity.end()),
        }
    }
}

/// Whether a `$`-name belongs to the language wherever it stands beside others.
pub(super) fn is_vocabulary(name: &str) -> bool {
    known_names().any(|known| known == name)
}

/// Names of the language that stand only in places of their own.
const RESERVED: [&str; 14] = [
    "$call",
    "$lexical",
    "$query",
    "$expr",
    "$in",
    "$at",
    "$allowing-empty",
    "$window",
    "$size",
    "$step",
    "$key",
    "$dir",
    "$empty",
    "$collation",
];

/// How an operator of the language takes its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Its value is the operand.
    One,
    /// A list, of which so many leading operands are expressions.
    Leading(usize),
}

/// The same by the operator's name.
pub(crate) fn operands_of(name: &str) -> Option<Operands> {
    Some(match operator(name)? {
        Operator::One(_) => Operands::One,
        Operator::Schema(_) => Operands::Leading(1),
        Operator::Read(_, expressions, _) => Operands::Leading(*expressions),
        _ => Operands::Leading(usize::MAX),
    })
}

/// Whether no host may register an operator of that name.
pub(crate) fn is_reserved(name: &str) -> bool {
    is_vocabulary(name) || RESERVED.contains(&name)
}

fn known_names() -> impl Iterator<Item = &'static str> {
    let operators = OPERATORS.iter().map(|(name, _)| *name);
    FLWOR.into_iter().chain(QUANTIFIER).chain(["$const", "$map"]).chain(operators)
}

/// What other query languages call operators of this one.
const FOREIGN: [(&str, &str); 4] = [("$lte", "$le"), ("$gte", "$ge"), ("$neq", "$ne"), ("$cond", "$if")];

/// The message for a `$`-name outside the language.
pub(super) fn unknown(name: &str) -> String {
    let foreign = FOREIGN.iter().find(|(foreign, _)| *foreign == name).map(|(_, known)| *known);
    match foreign.or_else(|| near(name, known_names())) {
        Some(known) => format!("no operator is named '{name}'; did you mean '{known}'?"),
        None => format!(
            "no operator is named '{name}'; a text that begins with '$' is written '$$…' or in '$const'"
        ),
    }
}

/// The known name that another was probably meant to be.
pub(super) fn near(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // Two edits in a name that long are a slip of the pen; names far longer than any known one are not compared.
    known
        .filter(|known| known.len().abs_diff(name.len()) <= 2)
        .map(|known| (edits(known.as_bytes(), name.as_bytes()), known))
        .filter(|(edits, known)| *edits <= 2 && *edits + 1 < known.len())
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, known)| known)
}

/// The number of insertions, removals and replacements between two names.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (above, y) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal + usize::from(x != y);
            diagonal = *above;
            *above = replaced.min(left + 1).min(diagonal + 1);
            left = *above;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = known_names().collect();
        // `$count` is a clause and an operator (section 6.7).
        assert_eq!(names.len(), 9 + 3 + 2 + OPERATORS.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 9 + 3 + 2 + OPERATORS.len() - 1);
    }

    #[test]
    fn suggestions() {
        assert!(unknown("$exist").contains("'$exists'"));
        assert!(unknown("$retrun").contains("'$return'"));
        assert!(!unknown("$filter-all").contains("mean"));
        assert_eq!(edits(b"kitten", b"sitting"), 3);
    }
}
