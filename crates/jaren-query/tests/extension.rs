//! The seam for a format above: an operator of its own, and where its items stand.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use jaren_json::{Diagnostic, Pointer, Value, value};
use jaren_query::extension::{Allowance, ExtendedQuery, Extension, Host, Location, Reading, Refusal};
use jaren_query::{CompileOptions, EvalError, Limits, Query, Scope};

/// `{"$mark": operand}` or `{"$mark": [operand, name]}`.
#[derive(Default)]
struct Mark(Vec<String>);

impl Extension for Mark {
    fn name(&self) -> &'static str {
        "$mark"
    }

    fn read(&mut self, argument: &Value) -> Result<Reading, Refusal> {
        let tag = self.0.len();
        self.0.push(String::new());
        let Some(list) = argument.as_array() else {
            return Ok(Reading { operand: None, tag, refusal: None });
        };
        if list.is_empty() || list.len() > 2 {
            return Err(Refusal { element: None, message: "expected one or two".to_owned() });
        }
        let refusal = list.get(1).filter(|name| name.as_str().is_none());
        let refusal = refusal.map(|_| Refusal { element: Some(1), message: "expected a text".to_owned() });
        Ok(Reading { operand: Some(0), tag, refusal })
    }
}

fn all() -> Allowance {
    Allowance::new(&Limits::default())
}

/// Answers `tag: item at positions` for each item, and nothing for `null`.
#[derive(Default)]
struct Marks {
    /// The parent and the position of each location but the first.
    known: Vec<(u32, usize)>,
}

impl Host for Marks {
    fn location(&self, external: Option<&str>) -> Option<Location> {
        matches!(external, None | Some("root")).then_some(Location(0))
    }

    fn child(&mut self, location: Location, _: &Value, position: usize) -> Location {
        self.known.push((location.0, position));
        Location(u32::try_from(self.known.len()).unwrap())
    }

    fn apply(
        &mut self,
        tag: usize,
        (item, location): (&Value, Option<Location>),
        _: &mut Allowance,
        answer: &mut Vec<Value>,
    ) -> Result<(), EvalError> {
        if item.as_str() == Some("boom") {
            let pointer = Pointer::parse("/elsewhere").unwrap();
            return Err(EvalError::foreign(Diagnostic::new("XX1", pointer, "the host says no")));
        }
        let positions = location.map(|Location(mut at)| {
            let mut positions = Vec::new();
            while at != 0 {
                let (parent, position) = self.known[at as usize - 1];
                positions.insert(0, position);
                at = parent;
            }
            positions
        });
        if !item.is_null() {
            answer.push(Value::from(match positions {
                Some(positions) => format!("{tag}: {item} at {positions:?}"),
                None => format!("{tag}: {item}"),
            }));
        }
        Ok(())
    }
}

fn compile(document: &Value) -> Result<ExtendedQuery, jaren_json::Report> {
    ExtendedQuery::compile(document, &CompileOptions::default(), &mut Mark::default())
}

fn answer(document: &Value, input: &Value) -> Vec<Value> {
    let mut answer = Vec::new();
    let externals = [("root", input), ("other", input)];
    let scope = Scope::value(input).with_externals(&externals);
    compile(document).unwrap().evaluate(&scope, &mut Marks::default(), &mut all(), &mut answer).unwrap();
    answer
}

#[test]
fn paths_from_known_places_carry_locations() {
    let input = value!({"n": null, "a": [5, {"b": 6}]});
    let found = |document: Value| answer(&document, &input);
    assert_eq!(found(value!({"$mark": "$.a[1].b"})), ["0: 6 at [1, 1, 0]"]);
    assert_eq!(found(value!({"$mark": "$root..b"})), ["0: 6 at [1, 1, 0]"]);
    assert_eq!(found(value!({"$mark": "$.*"})), [r#"0: [5,{"b":6}] at [1]"#]);
    assert_eq!(found(value!({"$mark": ["$", "x"]})), [r#"0: {"n":null,"a":[5,{"b":6}]} at []"#]);
    assert_eq!(found(value!({"$mark": "$other.a[0]"})), ["0: 5"]);
    assert_eq!(found(value!({"$let": {"root": "$.a"}, "$return": {"$mark": "$root[0]"}})), ["0: 5"]);
    assert_eq!(found(value!({"$mark": {"$seq": ["$.a[0]"]}})), ["0: 5"]);
    assert_eq!(found(value!({"$seq": [{"$mark": "$.a[0]"}, {"$mark": [1]}]})), ["0: 5 at [1, 0]", "1: 1"]);
    assert_eq!(found(value!({"$mark": "$.zzz"})), Vec::<Value>::new());
}

#[test]
fn refusals_stand_where_the_extension_says() {
    let defects = |document: Value| {
        let report = compile(&document).unwrap_err();
        report.iter().map(|defect| format!("{} {}", defect.code(), defect.pointer())).collect::<Vec<_>>()
    };
    assert_eq!(defects(value!({"$mark": []})), ["JQ0003 /$mark"]);
    assert_eq!(defects(value!([{"$mark": ["$9", 1]}])), ["JQ0004 /0/$mark/0", "JQ0003 /0/$mark/1"]);
    assert_eq!(defects(value!({"$mark": 1, "$eq": [1, 1]})), ["JQ0003 "]);
}

#[test]
fn without_an_extension_its_operator_is_unknown() {
    assert_eq!(Query::compile(&value!({"$mark": 1})).unwrap_err().first().code(), "JQ0002");
    assert_eq!(Query::compile(&value!({"$mark": 1, "$eq": [1, 1]})).unwrap_err().first().code(), "JQ0002");
}

#[test]
fn an_error_of_the_host_ends_the_evaluation() {
    let input = value!({"a": "boom"});
    let query = compile(&value!({"$count": {"$mark": {"$seq": [1, "$.a"]}}})).unwrap();
    let error = query
        .evaluate(&Scope::value(&input), &mut Marks::default(), &mut all(), &mut Vec::new())
        .unwrap_err();
    assert_eq!((error.code(), error.pointer().as_str(), error.is_foreign()), ("XX1", "/elsewhere", true));

    // The operand fails before the host sees an item.
    let query = compile(&value!({"$mark": {"$seq": ["$.a", {"$add": ["x", 1]}]}})).unwrap();
    let error = query
        .evaluate(&Scope::value(&input), &mut Marks::default(), &mut all(), &mut Vec::new())
        .unwrap_err();
    assert_eq!((error.code(), error.is_foreign()), ("JQ2001", false));
}

#[test]
fn an_operand_costs_its_step() {
    let steps = |n| Limits::new().with_steps(std::num::NonZeroU64::new(n));
    let input = value!({"a": 1});
    let query = compile(&value!({"$mark": "$.a"})).unwrap();
    for (n, ends) in [(1, false), (2, true)] {
        let mut allowance = Allowance::new(&steps(n));
        let result =
            query.evaluate(&Scope::value(&input), &mut Marks::default(), &mut allowance, &mut Vec::new());
        assert_eq!(result.is_ok(), ends);
        assert!(allowance.step().is_err(), "all was spent");
    }
}
