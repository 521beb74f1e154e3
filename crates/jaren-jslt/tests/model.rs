//! Random stylesheets against a model that does what sections 3 to 6 say and nothing to be fast: it keeps locations as
//! lists of positions, asks every path about every value, and rebuilds what it walks.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use jaren_jslt::{CompileOptions, Stylesheet};
use jaren_json::{Array, Object, Value, value};
use jaren_query::extension::{Allowance, Track};
use jaren_query::{JsonPath, Limits, NormalizedPath};
use proptest::prelude::*;

const DEPTH_MAX: usize = 8;
const MODES: [&str; 2] = ["", "m"];

/// Positions from the root down.
type Place = Option<Vec<usize>>;

#[derive(Clone, Debug)]
struct Rule {
    path: Option<String>,
    mode: usize,
    priority: Option<i8>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Itself,
    Wrapped,
    Path,
    Twice,
    Nothing,
    /// The operator alone.
    Apply(Selector, Option<usize>),
    /// The operator in an array.
    List(Selector, Option<usize>),
    /// The operator twice.
    Pair(Selector, Selector),
}

#[derive(Clone, Debug)]
enum Selector {
    Path(&'static str),
    Root(&'static str),
    /// The items of a path without their locations.
    Lost(&'static str),
    Literal,
}

#[derive(Clone, Debug)]
struct Sheet {
    rules: Vec<Rule>,
    unmatched: Option<usize>,
    mode: Option<usize>,
}

const DISPOSITIONS: [&str; 3] = ["share", "fresh", "error"];

fn body(rule: &Body) -> Value {
    let apply = |selector: &Selector, mode: &Option<usize>| {
        let selector = match selector {
            Selector::Path(path) => value!(*path),
            Selector::Root(path) => Value::from(path.replacen('$', "$root", 1)),
            Selector::Lost(path) => value!({"$seq": [*path]}),
            Selector::Literal => value!({"$const": {"a": [0]}}),
        };
        match mode {
            None => value!({ "$apply": [selector] }),
            Some(mode) => value!({ "$apply": [selector, (MODES[*mode])] }),
        }
    };
    match rule {
        Body::Itself => value!("$"),
        Body::Wrapped => value!({"v": "$"}),
        Body::Path => value!("$path"),
        Body::Twice => value!({"$seq": ["$", "!"]}),
        Body::Nothing => value!({"$seq": []}),
        Body::Apply(selector, mode) => apply(selector, mode),
        Body::List(selector, mode) => value!([(apply(selector, mode))]),
        Body::Pair(first, second) => value!({"$seq": [(apply(first, &None)), (apply(second, &None))]}),
    }
}

fn document(sheet: &Sheet) -> Value {
    let rules = sheet.rules.iter().map(|rule| {
        let mut members = vec![("mode", value!(MODES[rule.mode])), ("body", body(&rule.body))];
        members.extend(rule.path.as_ref().map(|path| ("match", Value::from(path.as_str()))));
        members.extend(rule.priority.map(|priority| ("priority", Value::from(f64::from(priority)))));
        Value::from(members.into_iter().collect::<Object>())
    });
    let mut members = vec![("$jslt", value!("0.1")), ("rules", Value::Array(rules.collect::<Array>()))];
    members.extend(sheet.unmatched.map(|unmatched| ("unmatched", value!(DISPOSITIONS[unmatched]))));
    members.extend(
        sheet.mode.map(|unmatched| ("modes", value!({"m": {"unmatched": (DISPOSITIONS[unmatched])}}))),
    );
    members.into_iter().collect::<Object>().into()
}

/// A walk that keeps all positions.
struct Places(Vec<Vec<usize>>);

impl Track for Places {
    type Place = usize;

    fn child(&mut self, place: usize, _: &Value, position: usize) -> usize {
        let mut below = self.0[place].clone();
        below.push(position);
        self.0.push(below);
        self.0.len() - 1
    }
}

fn select(path: &str, value: &Value, place: &[usize]) -> Vec<(Value, Vec<usize>)> {
    let mut found = Vec::new();
    let walked = JsonPath::parse(path).unwrap().walk(
        &Allowance::new(&Limits::default()),
        &mut Places(vec![place.to_vec()]),
        (value, 0),
        &mut |places, value, place| {
            found.push((value.clone(), places.0[place].clone()));
        },
    );
    walked.unwrap();
    found
}

struct Model<'s> {
    sheet: &'s Sheet,
    root: Value,
}

type Answer = Result<Vec<Value>, &'static str>;

impl Model<'_> {
    fn matches(&self, rule: &Rule, place: &Place) -> bool {
        rule.path.as_ref().is_none_or(|path| {
            place
                .as_ref()
                .is_some_and(|place| select(path, &self.root, &[]).iter().any(|(_, found)| found == place))
        })
    }

    fn disposition(&self, mode: usize) -> &'static str {
        let unmatched =
            if mode == 1 { self.sheet.mode.or(self.sheet.unmatched) } else { self.sheet.unmatched };
        DISPOSITIONS[unmatched.unwrap_or(0)]
    }

    /// Whether nothing can happen to a value: every rule needs a path, and none leads there or below.
    fn is_out_of_the_way(&self, mode: usize, place: &Place) -> bool {
        let mut rules = self.sheet.rules.iter().filter(|rule| rule.mode == mode);
        self.disposition(mode) == "share"
            && rules.all(|rule| {
                rule.path.as_ref().is_some_and(|path| {
                    let Some(place) = place else { return true };
                    !select(path, &self.root, &[]).iter().any(|(_, found)| found.starts_with(place))
                })
            })
    }

    fn dispatch(&self, value: &Value, place: &Place, mode: usize, depth: usize) -> Answer {
        if depth > DEPTH_MAX {
            return Err("JT2001");
        }
        if self.is_out_of_the_way(mode, place) {
            return Ok(vec![value.clone()]);
        }
        let priority = |rule: &Rule| rule.priority.unwrap_or_else(|| -i8::from(rule.path.is_none()));
        let matching = self.sheet.rules.iter().filter(|rule| rule.mode == mode && self.matches(rule, place));
        // The last of the highest is what `max_by_key` answers.
        match matching.max_by_key(|rule| priority(rule)) {
            Some(rule) => self.fire(rule, value, place, depth),
            None => self.built_in(value, place, mode, depth),
        }
    }

    fn fire(&self, rule: &Rule, value: &Value, place: &Place, depth: usize) -> Answer {
        let apply = |selector: &Selector, mode: Option<usize>| {
            self.apply(selector, mode.unwrap_or(rule.mode), value, place, depth)
        };
        Ok(match &rule.body {
            Body::Itself => vec![value.clone()],
            Body::Wrapped => vec![value!({"v": (value.clone())})],
            Body::Path => {
                vec![place.as_ref().map_or(Value::Null, |place| Value::from(self.normalized(place)))]
            }
            Body::Twice => vec![value.clone(), value!("!")],
            Body::Nothing => vec![],
            Body::Apply(selector, mode) => apply(selector, *mode)?,
            Body::List(selector, mode) => vec![Value::from(apply(selector, *mode)?)],
            Body::Pair(first, second) => [apply(first, None)?, apply(second, None)?].concat(),
        })
    }

    fn apply(&self, selector: &Selector, mode: usize, value: &Value, place: &Place, depth: usize) -> Answer {
        let items: Vec<(Value, Place)> = match (selector, place) {
            (Selector::Path(path), Some(place)) => {
                select(path, value, place).into_iter().map(|(value, place)| (value, Some(place))).collect()
            }
            (Selector::Root(path), _) => {
                select(path, &self.root, &[]).into_iter().map(|(value, place)| (value, Some(place))).collect()
            }
            (Selector::Path(path) | Selector::Lost(path), _) => {
                select(path, value, &[]).into_iter().map(|(value, _)| (value, None)).collect()
            }
            (Selector::Literal, _) => vec![(value!({"a": [0]}), None)],
        };
        let mut answer = Vec::new();
        for (item, place) in items {
            answer.extend(self.dispatch(&item, &place, mode, depth + 1)?);
        }
        Ok(answer)
    }

    fn built_in(&self, value: &Value, place: &Place, mode: usize, depth: usize) -> Answer {
        let disposition = self.disposition(mode);
        if disposition == "error" {
            return Err("JT2003");
        }
        let children: Vec<Value> = match value {
            Value::Array(array) => array.to_vec(),
            Value::Object(object) => object.values().to_vec(),
            scalar => return Ok(vec![scalar.clone()]),
        };
        let mut answers = Vec::new();
        for (position, child) in children.iter().enumerate() {
            let below = place.as_ref().map(|place| [&place[..], &[position]].concat());
            if self.is_out_of_the_way(mode, &below) {
                answers.push(vec![child.clone()]);
                continue;
            }
            let answer = self.dispatch(child, &below, mode, depth + 1)?;
            if value.as_object().is_some() && answer.len() > 1 {
                return Err("JT2002");
            }
            answers.push(answer);
        }
        let same = answers.iter().zip(&children).all(|(answer, child)| {
            matches!(&answer[..], [one] if one.ptr_eq(child) || one.as_str().is_some() && one == child)
        });
        if same && disposition == "share" {
            return Ok(vec![value.clone()]);
        }
        Ok(vec![match value {
            Value::Object(object) => {
                let members = object.keys().iter().zip(answers);
                members
                    .filter_map(|(name, answer)| Some((name, answer.into_iter().next()?)))
                    .collect::<Object>()
                    .into()
            }
            _ => answers.into_iter().flatten().collect(),
        }])
    }

    fn normalized(&self, place: &[usize]) -> String {
        let mut path = NormalizedPath::root();
        let mut value = &self.root;
        for position in place {
            value = match value {
                Value::Object(object) => {
                    path.push_name(&object.keys()[*position]);
                    &object.values()[*position]
                }
                array => {
                    path.push_index(*position);
                    array.at(*position).unwrap()
                }
            };
        }
        path.to_string()
    }
}

/// For each container of a value, in order, which container of the input it is.
fn sharing(value: &Value, input: &[Value], found: &mut Vec<Option<usize>>) {
    let children = match value {
        Value::Array(array) => &array[..],
        Value::Object(object) => object.values(),
        _ => return,
    };
    if !children.is_empty() {
        found.push(input.iter().position(|candidate| candidate.ptr_eq(value)));
    }
    for child in children {
        sharing(child, input, found);
    }
}

fn containers(value: &Value, found: &mut Vec<Value>) {
    let children = match value {
        Value::Array(array) => &array[..],
        Value::Object(object) => object.values(),
        _ => return,
    };
    if !children.is_empty() {
        found.push(value.clone());
    }
    for child in children {
        containers(child, found);
    }
}

fn input() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        Just(value!(true)),
        (0..3_u32).prop_map(Value::from),
        Just(value!("a text that is too long to be kept inline")),
    ];
    scalar.prop_recursive(3, 20, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(vec!["a", "b", "c"]), inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Object>().into()),
        ]
    })
}

const PATHS: [&str; 12] = [
    "$",
    "$.a",
    "$.a.b",
    "$[0]",
    "$[*]",
    "$..b",
    "$..[0]",
    "$.*.*",
    "$..*",
    "$[::-1]",
    "$['a','b']",
    "$.c[-1]",
];

fn sheet() -> impl Strategy<Value = Sheet> {
    let selector = prop_oneof![
        prop::sample::select(vec!["$", "$[*]", "$.*", "$.a", "$..b", "$[::-1]"]).prop_map(Selector::Path),
        prop::sample::select(vec!["$", "$.a", "$.b[*]"]).prop_map(Selector::Root),
        prop::sample::select(vec!["$", "$.a", "$.*"]).prop_map(Selector::Lost),
        Just(Selector::Literal),
    ];
    let target = prop::option::of(0..MODES.len());
    let body = prop_oneof![
        Just(Body::Itself),
        Just(Body::Wrapped),
        Just(Body::Path),
        Just(Body::Twice),
        Just(Body::Nothing),
        (selector.clone(), target.clone()).prop_map(|(selector, mode)| Body::Apply(selector, mode)),
        (selector.clone(), target).prop_map(|(selector, mode)| Body::List(selector, mode)),
        (selector.clone(), selector).prop_map(|(first, second)| Body::Pair(first, second)),
    ];
    let path = prop::option::weighted(0.8, prop::sample::select(PATHS.to_vec()).prop_map(str::to_owned));
    let rule = (path, 0..MODES.len(), prop::option::weighted(0.3, -1_i8..3), body)
        .prop_map(|(path, mode, priority, body)| Rule { path, mode, priority, body });
    let disposition = || prop::option::weighted(0.5, prop::sample::select(vec![0_usize, 0, 1, 1, 2]));
    (prop::collection::vec(rule, 0..6), disposition(), disposition())
        .prop_map(|(rules, unmatched, mode)| Sheet { rules, unmatched, mode })
}

fn agree(sheet: &Sheet, root: &Value) {
    let options = CompileOptions::new().with_depth_max(DEPTH_MAX);
    let document = document(sheet);
    let compiled = Stylesheet::compile_with(&document, &options).unwrap();
    let found = compiled.items(root, &[]).map_err(|error| error.code());
    let expected = Model { sheet, root: root.clone() }.dispatch(root, &Some(Vec::new()), 0, 0);
    assert_eq!(found, expected, "{document} over {root}");
    let (mut known, mut shared, mut should) = (Vec::new(), Vec::new(), Vec::new());
    containers(root, &mut known);
    found.unwrap_or_default().iter().for_each(|value| sharing(value, &known, &mut shared));
    expected.unwrap_or_default().iter().for_each(|value| sharing(value, &known, &mut should));
    assert_eq!(shared, should, "{document} shares other parts of {root}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_model_agrees(sheet in sheet(), root in input()) {
        agree(&sheet, &root);
    }

    /// More paths than one word has bits.
    #[test]
    fn the_model_agrees_with_many_paths(rest in sheet(), root in input(), at in 0_usize..80) {
        let mut rules: Vec<Rule> = (0..80)
            .map(|n| Rule { path: Some(format!("$..x{n}")), mode: n % 2, priority: None, body: Body::Wrapped })
            .collect();
        rules.splice(at..at, rest.rules);
        agree(&Sheet { rules, ..rest }, &root);
    }
}
