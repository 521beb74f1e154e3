//! The closed vocabulary (section 8.1): each operator with the shape of its argument and what it compiles to.

use std::ops::{Range, RangeInclusive};

use jaren_json::{Kind as ValueKind, Value, in_quotes, nearest};

use super::phrase::{FLWOR, QUANTIFIER};
use super::{Compiler, dates, series};
use crate::card::{self, Card, Rule};
use crate::dates::{Component, DateText, Edge, Form};
use crate::error::UNKNOWN;
use crate::iregexp::{Extent, Pattern};
use crate::place::Place;
use crate::plan::{
    Aggregate, Arithmetic, Comparison, Expr, Kind, Many, Matching, Measure, Number, Pair, Spatial,
    SpatialMap, SpatialTest, Test, Text, TextMap, TextTest,
};
use crate::schema_test::SchemaTest;

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
    Schema(fn(SchemaTest, Box<Expr>, Place) -> Kind),
    /// A list of so many operands, of which so many leading ones are expressions and the rest literals, and what the
    /// compiler makes of them; it reports what is wrong with the literals.
    Read(RangeInclusive<usize>, usize, Read),
}

/// Makes an operator of its expressions and of all its operands as they are written; the place is that of its name.
pub(super) type Read = fn(&mut Compiler<'_>, Vec<Expr>, &[Value], Place) -> Option<Kind>;

/// Every operator that takes its operands in the ordinary way, with how many items it answers.
pub(super) static OPERATORS: &[(&str, Rule, Operator)] = {
    use Operator::{AtLeast, One, OneOrTwo, Schema, Three, Two, TwoOrThree};
    &[
        ("$seq", card::sum, AtLeast(0, |operands| Kind::Many(Many::Seq(operands)))),
        ("$exists", card::one, One(|operand| Kind::Test(Test::Exists(operand)))),
        ("$empty", card::one, One(|operand| Kind::Test(Test::Empty(operand)))),
        ("$if", card::branch, TwoOrThree(Kind::If)),
        ("$eq", card::one, Two(|pair, _| Kind::Test(Test::Compare(Comparison::Eq, pair)))),
        ("$ne", card::one, Two(|pair, _| Kind::Test(Test::Compare(Comparison::Ne, pair)))),
        ("$lt", card::one, Two(|pair, _| Kind::Test(Test::Compare(Comparison::Lt, pair)))),
        ("$le", card::one, Two(|pair, _| Kind::Test(Test::Compare(Comparison::Le, pair)))),
        ("$gt", card::one, Two(|pair, _| Kind::Test(Test::Compare(Comparison::Gt, pair)))),
        ("$ge", card::one, Two(|pair, _| Kind::Test(Test::Compare(Comparison::Ge, pair)))),
        (
            "$add",
            card::one_of_all,
            Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Add, pair, key))),
        ),
        (
            "$sub",
            card::one_of_all,
            Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Sub, pair, key))),
        ),
        (
            "$mul",
            card::one_of_all,
            Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Mul, pair, key))),
        ),
        (
            "$div",
            card::one_of_all,
            Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Div, pair, key))),
        ),
        (
            "$idiv",
            card::one_of_all,
            Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Idiv, pair, key))),
        ),
        (
            "$mod",
            card::one_of_all,
            Two(|pair, key| Kind::Number(Number::Arithmetic(Arithmetic::Mod, pair, key))),
        ),
        ("$neg", card::one_of_first, One(|operand| Kind::Number(Number::Negate(operand)))),
        ("$and", card::one, AtLeast(1, |operands| Kind::Test(Test::And(operands)))),
        ("$or", card::one, AtLeast(1, |operands| Kind::Test(Test::Or(operands)))),
        ("$not", card::one, One(|operand| Kind::Test(Test::Not(operand)))),
        ("$concat", card::one, AtLeast(0, |operands| Kind::Text(Text::Concat(operands)))),
        ("$string-join", card::one, OneOrTwo(|items, separator| Kind::Text(Text::Join(items, separator)))),
        ("$substring", card::one, TwoOrThree(|pair, length| Kind::Text(Text::Substring(pair, length)))),
        ("$contains", card::one, Two(|pair, _| Kind::Test(Test::Text(TextTest::Contains, pair)))),
        ("$starts-with", card::one, Two(|pair, _| Kind::Test(Test::Text(TextTest::StartsWith, pair)))),
        ("$ends-with", card::one, Two(|pair, _| Kind::Test(Test::Text(TextTest::EndsWith, pair)))),
        ("$upper", card::one, One(|operand| Kind::Text(Text::Map(TextMap::Upper, operand)))),
        ("$lower", card::one, One(|operand| Kind::Text(Text::Map(TextMap::Lower, operand)))),
        ("$string-length", card::one, One(|operand| Kind::Number(Number::Length(operand)))),
        (
            "$normalize-space",
            card::one,
            One(|operand| Kind::Text(Text::Map(TextMap::NormalizeSpace, operand))),
        ),
        (
            "$match",
            card::one,
            Two(|pair, _| Kind::Test(Test::Matches(Box::new(matching(pair, Extent::Whole))))),
        ),
        (
            "$search",
            card::one,
            Two(|pair, _| Kind::Test(Test::Matches(Box::new(matching(pair, Extent::Part))))),
        ),
        (
            "$replace",
            card::one,
            Three(|operands| Kind::Text(Text::Replace(Box::new(matching(operands, Extent::Part))))),
        ),
        ("$count", card::one, One(|operand| Kind::Number(Number::Count(operand)))),
        ("$sum", card::one, One(|operand| Kind::Aggregate(Aggregate::Sum, operand))),
        ("$avg", card::one_of_first, One(|operand| Kind::Aggregate(Aggregate::Avg, operand))),
        ("$min", card::one_of_first, One(|operand| Kind::Aggregate(Aggregate::Min, operand))),
        ("$max", card::one_of_first, One(|operand| Kind::Aggregate(Aggregate::Max, operand))),
        ("$distinct", card::first, One(|operand| Kind::Many(Many::Distinct(operand)))),
        ("$reverse", card::first, One(|operand| Kind::Many(Many::Reverse(operand)))),
        ("$sort", card::first, One(|operand| Kind::Many(Many::Sort(operand)))),
        ("$head", card::head_of_first, One(Kind::Head)),
        ("$tail", card::tail_of_first, One(|operand| Kind::Many(Many::Tail(operand)))),
        (
            "$subsequence",
            card::some_of_first,
            TwoOrThree(|pair, length| Kind::Many(Many::Subsequence(pair, length))),
        ),
        ("$index-of", card::some_of_first, Two(|pair, _| Kind::Many(Many::IndexOf(pair)))),
        ("$range", card::many, Two(|pair, key| Kind::Many(Many::Range(pair, key)))),
        ("$get", card::opt, Two(|pair, _| Kind::Get(pair))),
        ("$entries", card::many, One(|operand| Kind::Many(Many::Entries(operand)))),
        ("$from-entries", card::one, One(Kind::FromEntries)),
        ("$is-string", card::one, One(|operand| Kind::Test(Test::Is(ValueKind::String, operand)))),
        ("$is-number", card::one, One(|operand| Kind::Test(Test::Is(ValueKind::Number, operand)))),
        ("$is-boolean", card::one, One(|operand| Kind::Test(Test::Is(ValueKind::Boolean, operand)))),
        ("$is-null", card::one, One(|operand| Kind::Test(Test::Is(ValueKind::Null, operand)))),
        ("$is-array", card::one, One(|operand| Kind::Test(Test::Is(ValueKind::Array, operand)))),
        ("$is-object", card::one, One(|operand| Kind::Test(Test::Is(ValueKind::Object, operand)))),
        ("$string", card::one_of_first, One(Kind::ToString)),
        ("$number", card::one_of_first, One(|operand| Kind::Number(Number::Cast(operand)))),
        ("$boolean", card::one, One(|operand| Kind::Test(Test::Boolean(operand)))),
        ("$coalesce", card::first_that_answers, AtLeast(1, Kind::Coalesce)),
        ("$default", card::first_that_answers, Two(|pair, _| Kind::Coalesce(Vec::from(*pair)))),
        ("$valid", card::one, Schema(|test, operand, _| Kind::Test(Test::Valid(test, operand)))),
        ("$assert", card::first, Schema(|test, operand, key| Kind::Many(Many::Assert(test, operand, key)))),
        ("$is-date", card::one, One(|operand| Kind::Test(Test::Form(Form::Date, operand)))),
        ("$is-time", card::one, One(|operand| Kind::Test(Test::Form(Form::Time, operand)))),
        ("$is-datetime", card::one, One(|operand| Kind::Test(Test::Form(Form::DateTime, operand)))),
        ("$is-duration", card::one, One(|operand| Kind::Test(Test::Form(Form::Duration, operand)))),
        ("$year", card::one_of_first, One(|operand| component(Component::Year, operand))),
        ("$month", card::one_of_first, One(|operand| component(Component::Month, operand))),
        ("$day", card::one_of_first, One(|operand| component(Component::Day, operand))),
        ("$hours", card::one_of_first, One(|operand| component(Component::Hours, operand))),
        ("$minutes", card::one_of_first, One(|operand| component(Component::Minutes, operand))),
        ("$seconds", card::one_of_first, One(|operand| component(Component::Seconds, operand))),
        ("$offset", card::opt, One(|operand| component(Component::Offset, operand))),
        ("$week", card::one_of_first, One(|operand| component(Component::Week, operand))),
        ("$week-year", card::one_of_first, One(|operand| component(Component::WeekYear, operand))),
        ("$quarter", card::one_of_first, One(|operand| component(Component::Quarter, operand))),
        ("$weekday", card::one_of_first, One(|operand| component(Component::Weekday, operand))),
        ("$epoch", card::one_of_first, One(|operand| component(Component::Epoch, operand))),
        ("$datetime", card::one_of_first, One(|operand| date_text(DateText::Instant(operand)))),
        (
            "$date-add",
            card::one_of_first,
            TwoOrThree(|pair, unit| date_text(DateText::Shift { back: false, pair, unit })),
        ),
        (
            "$date-sub",
            card::one_of_first,
            TwoOrThree(|pair, unit| date_text(DateText::Shift { back: true, pair, unit })),
        ),
        ("$start-of", card::one_of_first, Two(|pair, _| date_text(DateText::Truncate(Edge::Start, pair)))),
        ("$end-of", card::one_of_first, Two(|pair, _| date_text(DateText::Truncate(Edge::End, pair)))),
        ("$date-diff", card::one_of_first, Operator::Read(3..=3, 3, dates::difference)),
        ("$date-format", card::one_of_first, Operator::Read(2..=2, 2, dates::format)),
        ("$bbox", card::opt, One(|operand| spatial_map(SpatialMap::Bounds, operand))),
        ("$area", card::opt, One(|operand| Kind::Number(Number::Measure(Measure::Area, operand)))),
        ("$length", card::opt, One(|operand| Kind::Number(Number::Measure(Measure::Length, operand)))),
        ("$centroid", card::opt, One(|operand| spatial_map(SpatialMap::Centroid, operand))),
        ("$distance", card::opt, Two(|pair, _| Kind::Number(Number::Distance(pair)))),
        ("$within", card::one, Two(|pair, _| Kind::Test(Test::Spatial(SpatialTest::Within, pair)))),
        (
            "$bbox-intersects",
            card::one,
            Two(|pair, _| Kind::Test(Test::Spatial(SpatialTest::BoundsMeet, pair))),
        ),
        (
            "$geohash",
            card::opt,
            OneOrTwo(|operand, precision| Kind::Spatial(Spatial::Geohash(operand, precision))),
        ),
        ("$geo-parse", card::opt, One(|operand| spatial_map(SpatialMap::Parse, operand))),
        ("$geo-text", card::opt, One(|operand| spatial_map(SpatialMap::ToText, operand))),
        ("$geohash-bounds", card::opt, One(|operand| spatial_map(SpatialMap::CellBounds, operand))),
        ("$geohash-neighbours", card::many, One(|operand| Kind::Many(Many::CellsAround(operand)))),
        ("$geo-simplify", card::one_of_first, Two(|pair, _| Kind::Spatial(Spatial::Simplify(pair)))),
        ("$similarity", card::opt, Two(|pair, _| Kind::Number(Number::Similarity(pair)))),
        ("$overlaps", card::one_of_all, Two(|pair, _| Kind::Overlaps(pair))),
        ("$time-bucket", card::one_of_all, Operator::Read(2..=4, 3, series::time_bucket)),
        ("$resample", card::many, Operator::Read(2..=2, 1, series::resample)),
        ("$rolling", card::many, Operator::Read(2..=2, 1, series::rolling)),
        ("$asof", card::many, Operator::Read(2..=3, 2, series::as_of)),
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
    OPERATORS.iter().find(|(known, ..)| *known == name).map(|(.., operator)| operator)
}

/// How many items the operator of that name answers for operands of these cardinalities; one that the language does not
/// have answers at most one.
pub(crate) fn card_of(name: &str, operands: &[Card]) -> Card {
    let rule = OPERATORS.iter().find(|(known, ..)| *known == name).map(|(_, rule, _)| rule);
    rule.map_or(Card::Opt, |rule| rule(operands))
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

/// Which parts of what stands behind a `$`-name are expressions, for those who rewrite queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expressions {
    /// All of it: an operand, a list of operands, the members of a clause.
    All,
    /// Of a list these elements; the others are literals.
    Elements(Range<usize>),
    /// Nothing: it stands for itself.
    Nothing,
}

/// Which parts of what stands behind a name of the language are expressions. Of a name that a host registers, all of it is.
pub fn expressions_of(name: &str) -> Expressions {
    match (name, operator(name)) {
        ("$const" | "$as", _) => Expressions::Nothing,
        ("$call", _) => Expressions::Elements(1..usize::MAX),
        ("$lexical", _) => Expressions::Elements(1..2),
        (_, Some(Operator::Schema(_))) => Expressions::Elements(0..1),
        (_, Some(Operator::Read(_, expressions, _))) => Expressions::Elements(0..*expressions),
        _ => Expressions::All,
    }
}

/// Whether the argument of an operator of the language is its one operand, and no list of them.
pub(crate) fn takes_one(name: &str) -> bool {
    matches!(operator(name), Some(Operator::One(_)))
}

/// Whether no host may register an operator of that name.
pub(crate) fn is_reserved(name: &str) -> bool {
    is_vocabulary(name) || RESERVED.contains(&name)
}

fn known_names() -> impl Iterator<Item = &'static str> {
    let operators = OPERATORS.iter().map(|(name, ..)| *name);
    FLWOR.into_iter().chain(QUANTIFIER).chain(["$const", "$map"]).chain(operators)
}

/// What other query languages call operators of this one.
const FOREIGN: [(&str, &str); 4] = [("$lte", "$le"), ("$gte", "$ge"), ("$neq", "$ne"), ("$cond", "$if")];

impl Compiler<'_> {
    /// Reports a `$`-name outside the language.
    pub(super) fn unknown(&mut self, name: &str, place: Place) -> Expr {
        let message = if self.defects.is_full() {
            String::new()
        } else {
            let extension = self.extension.as_ref().map(|extension| extension.name());
            unknown(name, extension.into_iter().chain(self.options.operators.names()))
        };
        self.poison(UNKNOWN, place, message)
    }
}

/// The message for such a name, where there are these operators beside the language's own.
fn unknown<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> String {
    let foreign = FOREIGN.iter().find(|(foreign, _)| *foreign == name).map(|(_, known)| *known);
    let known = known_names().map(|known| -> &'a str { known });
    let shown = in_quotes(name);
    match foreign.or_else(|| nearest(name, others.chain(known))) {
        Some(known) => format!("no operator is named {shown}; did you mean '{known}'?"),
        None => {
            format!(
                "no operator is named {shown}; a text that begins with '$' is written '$$…' or in '$const'"
            )
        }
    }
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
    fn the_published_schema_has_every_name_and_no_other() {
        let schema = crate::schema::query(crate::schema::Dialect::default());
        let of = |definition: &str| {
            let found = schema
                .get("$defs")
                .and_then(|all| all.get(definition))
                .and_then(|found| found.get("properties"));
            found
                .and_then(Value::as_object)
                .unwrap()
                .iter()
                .map(|(name, _)| name.to_owned())
                .collect::<Vec<_>>()
        };
        let mut published = [of("operator"), of("flwor"), of("quantifier")].concat();
        let mut known: Vec<_> = known_names().chain(["$call", "$lexical"]).collect();
        published.sort_unstable();
        known.sort_unstable();
        assert_eq!(published, known);
    }

    #[test]
    fn what_is_written_beside_expressions_is_left_alone() {
        assert_eq!(expressions_of("$const"), Expressions::Nothing);
        assert_eq!(expressions_of("$add"), Expressions::All);
        assert_eq!(expressions_of("$valid"), Expressions::Elements(0..1));
        assert_eq!(expressions_of("$asof"), Expressions::Elements(0..2));
    }

    #[test]
    fn suggestions() {
        let unknown = |name| unknown(name, ["$mark"].into_iter());
        for (name, meant) in
            [("$exist", "$exists"), ("$retrun", "$return"), ("$gte", "$ge"), ("$makr", "$mark")]
        {
            assert!(unknown(name).ends_with(&format!("did you mean '{meant}'?")), "{name}");
        }
        assert!(!unknown("$filter-all").contains("mean"));
    }
}
