//! The plan: a query document after compilation.
//!
//! A tree of typed nodes. Names are resolved to slots, paths are parsed, every shape is checked; what is left to find out
//! at evaluation are the values. The tree's height is bounded by the compiler, so it may be walked by recursion.

use jaren_json::{Kind as ValueKind, Shape, Str, Value};

use crate::capability::{Collation, Function, Lexical};
pub(crate) use crate::comparison::Comparison;
use crate::dates::{Component, DateText, Form};
use crate::dependencies::Dependencies;
use crate::iregexp::Pattern;
use crate::path::Path;
use crate::place::{Place, Places};
use crate::query::Limits;
use crate::schema_test::SchemaTest;
use crate::series::{Series, TimeBucket};

/// A compiled query.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) root: Expr,
    /// How many slots the variables of the query need.
    pub(crate) slots: usize,
    /// The names of the external parameters, by their index.
    pub(crate) externals: Vec<Str>,
    pub(crate) places: Places,
    pub(crate) dependencies: Dependencies,
    pub(crate) limits: Limits,
}

/// The index of a variable in the frame of an evaluation.
pub(crate) type Slot = usize;

/// One expression.
#[derive(Debug)]
pub(crate) struct Expr {
    /// Where it stands.
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

/// A pair of operands.
pub(crate) type Pair = Box<[Expr; 2]>;

/// What an expression does. Section numbers are those of the format document.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A value as it is (3.2, 3.3, 3.5.1).
    Literal(Value),
    /// `$`: the input document.
    Input,
    /// A variable that a phrase binds.
    Variable(Slot),
    /// A variable that the caller binds (9).
    External(usize),
    /// A path from one of these (5).
    Path(Box<Root>),
    /// A map constructor (3.1).
    Object(Box<Members>),
    /// `$map` (3.5.2).
    Map(Vec<[Expr; 2]>),
    /// An array constructor (3.4).
    Array(Vec<Expr>),
    /// `$let` and `$return` alone (6.3).
    Let(Vec<(Slot, Expr)>, Box<Expr>),
    /// `$if` (8.3).
    If(Pair, Option<Box<Expr>>),
    /// `$coalesce` and `$default` (8.10).
    Coalesce(Vec<Expr>),
    /// What answers a boolean.
    Test(Test),
    /// What answers a number, or nothing.
    Number(Number),
    /// What answers a text.
    Text(Text),
    /// What may answer several items.
    Many(Many),
    /// `$sum`, `$avg`, `$min`, `$max` (8.8).
    Aggregate(Aggregate, Box<Expr>),
    /// `$head` (8.9).
    Head(Box<Expr>),
    /// `$get` (8.9).
    Get(Pair),
    /// `$from-entries` (8.9).
    FromEntries(Box<Expr>),
    /// `$string` (8.10).
    ToString(Box<Expr>),
    /// A registered function or operator (8.12).
    Call(Box<Call>),
    /// `$lexical`.
    Lexical(Box<LexicalSearch>),
    /// What answers a date or time as a text (8.13).
    DateText(Box<DateText>),
    /// `$overlaps` (8.16).
    Overlaps(Pair),
    /// What makes one value of a geometry or the other way round, or answers nothing (8.14).
    Spatial(Spatial),
}

/// What answers a boolean.
#[derive(Debug)]
pub(crate) enum Test {
    Compare(Comparison, Pair),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    /// `$boolean`: the effective boolean value (8.10).
    Boolean(Box<Expr>),
    Exists(Box<Expr>),
    Empty(Box<Expr>),
    Is(ValueKind, Box<Expr>),
    /// `$is-date` and its like (8.13).
    Form(Form, Box<Expr>),
    /// `$valid` (8.11).
    Valid(SchemaTest, Box<Expr>),
    Text(TextTest, Pair),
    /// `$match` and `$search`: a text and a pattern (8.7).
    Matches(Box<Matching<2>>),
    /// `$within` and `$bbox-intersects` (8.14).
    Spatial(SpatialTest, Pair),
    Quantifier(Box<Quantifier>),
}

/// What answers a number, or nothing where an operand is empty.
#[derive(Debug)]
pub(crate) enum Number {
    /// The place is that of the operator's name, where a zero divisor is reported.
    Arithmetic(Arithmetic, Pair, Place),
    Negate(Box<Expr>),
    /// `$number` (8.10).
    Cast(Box<Expr>),
    /// `$string-length` (8.7).
    Length(Box<Expr>),
    /// `$count` (8.8).
    Count(Box<Expr>),
    /// `$year` and its like, `$epoch` too (8.13).
    Component(Component, Box<Expr>),
    /// `$date-diff` (8.13).
    DateDifference(Box<[Expr; 3]>),
    /// `$time-bucket` (8.16).
    TimeBucket(Box<TimeBucket>),
    /// `$area` and `$length` (8.14).
    Measure(Measure, Box<Expr>),
    /// `$distance` (8.14).
    Distance(Pair),
    /// `$similarity` (8.15).
    Similarity(Pair),
}

/// What answers a text (8.7).
#[derive(Debug)]
pub(crate) enum Text {
    Concat(Vec<Expr>),
    Join(Box<Expr>, Option<Box<Expr>>),
    Substring(Pair, Option<Box<Expr>>),
    Map(TextMap, Box<Expr>),
    /// `$replace`: a text, a pattern and what to put for each match.
    Replace(Box<Matching<3>>),
}

/// What may answer several items.
#[derive(Debug)]
pub(crate) enum Many {
    /// Any FLWOR phrase but `$let` and `$return` alone (6).
    Flwor(Box<Flwor>),
    Seq(Vec<Expr>),
    Distinct(Box<Expr>),
    Reverse(Box<Expr>),
    Sort(Box<Expr>),
    Tail(Box<Expr>),
    Subsequence(Pair, Option<Box<Expr>>),
    IndexOf(Pair),
    /// The place is that of the operator's name, where a range that is too long is reported.
    Range(Pair, Place),
    Entries(Box<Expr>),
    /// `$assert` (8.11). The place is that of the operator's name, where a failure is reported.
    Assert(SchemaTest, Box<Expr>, Place),
    /// `$geohash-neighbours` (8.14).
    CellsAround(Box<Expr>),
    /// `$resample`, `$rolling` and `$asof` (8.16).
    Series(Box<Series>),
    /// The operator of an extension.
    Extended(Box<Extended>),
}

/// An operator that a format above adds to the language.
#[derive(Debug)]
pub(crate) struct Extended {
    /// What its host is told of it.
    pub(crate) tag: usize,
    pub(crate) operand: Expr,
}

/// The operands of an operator that matches, of which the second is a pattern (8.7).
#[derive(Debug)]
pub(crate) struct Matching<const N: usize> {
    pub(crate) pattern: Pattern,
    pub(crate) operands: Box<[Expr; N]>,
}

/// A call of what the host has registered (8.12).
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: Str,
    pub(crate) function: Function,
    pub(crate) operands: Vec<Expr>,
}

/// A request to a lexical provider.
#[derive(Debug)]
pub(crate) struct LexicalSearch {
    pub(crate) lexical: Lexical,
    pub(crate) text: Expr,
    /// The place of the operator's name, where a failure is reported.
    pub(crate) key: Place,
}

/// A path with where it begins.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) from: From,
    pub(crate) path: Path,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    Input,
    Variable(Slot),
    External(usize),
}

/// The members of a map constructor.
#[derive(Debug)]
pub(crate) struct Members {
    /// The names.
    pub(crate) shape: Shape,
    /// The expression of each.
    pub(crate) values: Vec<Expr>,
}

/// A FLWOR phrase: its clauses in the order in which they apply (6.1).
#[derive(Debug)]
pub(crate) struct Flwor {
    pub(crate) fold: Option<(Slot, Expr)>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) lets: Vec<(Slot, Expr)>,
    /// `$as` (6.8).
    pub(crate) assertions: Vec<Assertion>,
    pub(crate) filter: Option<Expr>,
    /// How the last of `bindings` is joined to those before it, where it need not be scanned.
    pub(crate) join: Option<Join>,
    pub(crate) group: Option<Group>,
    pub(crate) order: Option<Order>,
    pub(crate) count: Option<Slot>,
    pub(crate) result: Expr,
}

/// One `$for` binding (6.2, 6.10).
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) slot: Slot,
    /// The variable of `$at`.
    pub(crate) at: Option<Slot>,
    pub(crate) allowing_empty: bool,
    pub(crate) window: Option<Window>,
    pub(crate) source: Expr,
    /// Whether the source reads a variable of an earlier binding of its phrase.
    pub(crate) correlated: bool,
}

/// A join by the equality with which `$where` begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    /// The side of the equality that is the key of the last binding's items.
    pub(crate) inner: JoinSide,
}

/// A side of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JoinSide {
    Left,
    Right,
}

/// The window of a `$for` binding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) sliding: bool,
    pub(crate) size: usize,
    pub(crate) step: usize,
}

/// One member of `$as`: what each item of a variable must satisfy.
#[derive(Debug)]
pub(crate) struct Assertion {
    pub(crate) slot: Slot,
    pub(crate) test: SchemaTest,
    /// Where a failure is reported.
    pub(crate) place: Place,
}

/// `$groupby` (6.5).
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) keys: Vec<(Slot, Expr)>,
    /// The phrase's variables that later clauses read.
    pub(crate) kept: Vec<Slot>,
}

/// `$orderby` (6.6).
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) keys: Vec<OrderKey>,
    /// The phrase's variables that later clauses read.
    pub(crate) kept: Vec<Slot>,
}

/// One key of `$orderby`.
#[derive(Debug)]
pub(crate) struct OrderKey {
    /// The place of the whole specification.
    pub(crate) place: Place,
    pub(crate) key: Expr,
    pub(crate) descending: bool,
    pub(crate) empty_greatest: bool,
    /// The order of its texts, where that is not the order of code points.
    pub(crate) collation: Option<Collation>,
}

/// A quantifier phrase (7).
#[derive(Debug)]
pub(crate) struct Quantifier {
    pub(crate) some: bool,
    pub(crate) bindings: Vec<(Slot, Expr)>,
    pub(crate) satisfies: Expr,
}

/// Arithmetic on two numbers (8.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Idiv,
    Mod,
}

/// Tests of one text against another (8.7).
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextTest {
    Contains,
    StartsWith,
    EndsWith,
}

/// One text made from another (8.7).
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextMap {
    Upper,
    Lower,
    NormalizeSpace,
}

/// What an aggregate answers (8.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Sum,
    Avg,
    Min,
    Max,
}

/// What makes one value of a geometry or the other way round (8.14).
#[derive(Debug)]
pub(crate) enum Spatial {
    Map(SpatialMap, Box<Expr>),
    /// `$geohash`, with the precision.
    Geohash(Box<Expr>, Option<Box<Expr>>),
    /// `$geo-simplify`.
    Simplify(Pair),
}

/// One value made from another (8.14).
#[derive(Clone, Copy, Debug)]
pub(crate) enum SpatialMap {
    /// `$bbox`.
    Bounds,
    Centroid,
    /// `$geo-parse`.
    Parse,
    /// `$geo-text`.
    ToText,
    /// `$geohash-bounds`.
    CellBounds,
}

/// Tests of one geometry against another (8.14).
#[derive(Clone, Copy, Debug)]
pub(crate) enum SpatialTest {
    Within,
    /// `$bbox-intersects`.
    BoundsMeet,
}

/// What is measured of one geometry (8.14).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measure {
    Area,
    Length,
}
