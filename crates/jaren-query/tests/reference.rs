//! A second reading of the language: slow, over whole sequences, sharing no evaluation code with the crate.
//!
//! Queries are generated over a small input; both must answer the same items, or fail with the same code. proptest prints
//! the smallest query on which they differ and a seed that brings it back.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::float_cmp,
    reason = "a test fails by panicking, and the language compares doubles exactly"
)]

use std::collections::BTreeMap;

use jaren_json::{Kind, Object, Value, value};
use jaren_query::{Query, Scope};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

type Items = Result<Vec<Value>, &'static str>;
type Variables = BTreeMap<String, Vec<Value>>;

/// Evaluates an expression by the letter of the format document.
fn eval(query: &Value, input: &Value, variables: &Variables) -> Items {
    let run = |query: &Value| eval(query, input, variables);
    match query {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(vec![query.clone()]),
        Value::String(text) => match text.strip_prefix('$') {
            None => Ok(vec![query.clone()]),
            Some(escaped) if escaped.starts_with('$') => Ok(vec![Value::from(escaped)]),
            Some(rest) => {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let start = match &rest[..end] {
                    "" => vec![input.clone()],
                    name => variables.get(name).cloned().ok_or("JQ2006")?,
                };
                Ok(select(start, &rest[end..]))
            }
        },
        Value::Array(elements) => Ok(vec![concat(&elements[..], run)?.into_iter().collect()]),
        Value::Object(object) if object.keys().iter().all(|name| !name.starts_with('$')) => {
            let mut members = Vec::new();
            for (name, member) in object {
                members.extend(at_most_one(run(member)?, "JQ2001")?.map(|value| (name, value)));
            }
            Ok(vec![Value::Object(members.into_iter().collect())])
        }
        Value::Object(object) => match object.get("$return") {
            Some(_) => phrase(query, input, variables),
            None if object.len() == 2 => quantifier(query, input, variables),
            None => {
                let (name, argument) = object.iter().next().unwrap();
                operator(name, argument, &run)
            }
        },
    }
}

fn concat(elements: &[Value], run: impl Fn(&Value) -> Items) -> Items {
    let mut all = Vec::new();
    for element in elements {
        all.extend(run(element)?);
    }
    Ok(all)
}

fn at_most_one(mut items: Vec<Value>, code: &'static str) -> Result<Option<Value>, &'static str> {
    if items.len() > 1 { Err(code) } else { Ok(items.pop()) }
}

/// Paths of the generated forms: `.name`, `[n]`, `[*]`, `..name`.
fn select(mut nodes: Vec<Value>, mut path: &str) -> Vec<Value> {
    while !path.is_empty() {
        let step = path.trim_start_matches(['.', '[']);
        let end = step.find(['.', '[']).unwrap_or(step.len());
        let (deep, name) = (path.starts_with(".."), step[..end].trim_end_matches(']'));
        nodes = nodes.iter().flat_map(|node| if deep { descend(node) } else { vec![node.clone()] }).collect();
        nodes = nodes.iter().flat_map(|node| children(node, name)).collect();
        path = &step[end..];
    }
    nodes
}

fn descend(node: &Value) -> Vec<Value> {
    std::iter::once(node.clone()).chain(children(node, "*").iter().flat_map(descend)).collect()
}

fn children(node: &Value, name: &str) -> Vec<Value> {
    match (node, name, name.parse::<i64>()) {
        (Value::Array(array), "*", _) => array.to_vec(),
        (Value::Object(object), "*", _) => object.values().to_vec(),
        (Value::Object(object), ..) => object.get(name).cloned().into_iter().collect(),
        (Value::Array(array), _, Ok(index)) => {
            let len = i64::try_from(array.len()).unwrap();
            let index = if index < 0 { index + len } else { index };
            usize::try_from(index).ok().and_then(|index| array.get(index)).cloned().into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn truth(items: Vec<Value>) -> Result<bool, &'static str> {
    Ok(match at_most_one(items, "JQ2003")? {
        None | Some(Value::Null) => false,
        Some(Value::Bool(bool)) => bool,
        Some(Value::Number(number)) => !number.is_nan() && number != 0.0,
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    })
}

fn number(items: Vec<Value>) -> Result<Option<f64>, &'static str> {
    match at_most_one(items, "JQ2001")? {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number)),
        Some(_) => Err("JQ2001"),
    }
}

/// `$eq` on items: structure, and NaN equal to nothing.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(&b[..]).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

fn less(a: &Value, b: &Value, or_equal: bool) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a < b || or_equal && a == b,
        (Value::String(a), Value::String(b)) => {
            let order = a.chars().cmp(b.chars());
            order.is_lt() || or_equal && order.is_eq()
        }
        _ => false,
    }
}

fn compare(name: &str, a: &Value, b: &Value) -> bool {
    match name {
        "$eq" => equal(a, b),
        "$ne" => !equal(a, b),
        "$lt" => less(a, b, false),
        "$le" => less(a, b, true),
        "$gt" => less(b, a, false),
        _ => less(b, a, true),
    }
}

fn operator(name: &str, argument: &Value, run: &dyn Fn(&Value) -> Items) -> Items {
    let operand = |index: usize| run(argument.at(index).unwrap());
    let one = |value: Value| Ok(vec![value]);
    match name {
        "$const" => one(argument.clone()),
        "$seq" => concat(argument.as_array().unwrap(), run),
        "$exists" => one(Value::Bool(!run(argument)?.is_empty())),
        "$empty" => one(Value::Bool(run(argument)?.is_empty())),
        "$not" => one(Value::Bool(!truth(run(argument)?)?)),
        "$if" => match (truth(operand(0)?)?, argument.at(2)) {
            (true, _) => operand(1),
            (false, Some(otherwise)) => run(otherwise),
            (false, None) => Ok(Vec::new()),
        },
        "$and" | "$or" => {
            for operand in argument.as_array().unwrap() {
                if truth(run(operand)?)? == (name == "$or") {
                    return one(Value::Bool(name == "$or"));
                }
            }
            one(Value::Bool(name == "$and"))
        }
        "$eq" | "$ne" | "$lt" | "$le" | "$gt" | "$ge" => {
            let left = operand(0)?;
            let right = if left.is_empty() { Vec::new() } else { operand(1)? };
            one(Value::Bool(left.iter().any(|a| right.iter().any(|b| compare(name, a, b)))))
        }
        "$add" | "$sub" | "$mul" | "$div" | "$idiv" | "$mod" => {
            let Some(a) = number(operand(0)?)? else { return Ok(Vec::new()) };
            let Some(b) = number(operand(1)?)? else { return Ok(Vec::new()) };
            one(Value::Number(match name {
                "$add" => a + b,
                "$sub" => a - b,
                "$mul" => a * b,
                "$div" => a / b,
                _ if b == 0.0 => return Err("JQ2002"),
                "$idiv" => (a / b).trunc(),
                _ => a % b,
            }))
        }
        "$count" | "$sum" | "$avg" | "$min" | "$max" => aggregate(name, run(argument)?),
        "$distinct" => {
            let mut met: Vec<Value> = Vec::new();
            for item in run(argument)? {
                if !met.contains(&item) {
                    met.push(item);
                }
            }
            Ok(met)
        }
        "$head" => Ok(run(argument)?.into_iter().take(1).collect()),
        "$tail" => Ok(run(argument)?.into_iter().skip(1).collect()),
        "$reverse" => Ok(run(argument)?.into_iter().rev().collect()),
        "$coalesce" => {
            for operand in argument.as_array().unwrap() {
                let items = run(operand)?;
                if !items.is_empty() {
                    return Ok(items);
                }
            }
            Ok(Vec::new())
        }
        other => panic!("the generator does not make {other}"),
    }
}

fn aggregate(name: &str, items: Vec<Value>) -> Items {
    let one = |value: Value| Ok(vec![value]);
    match name {
        "$count" => one(Value::from(u32::try_from(items.len()).unwrap())),
        "$sum" | "$avg" => {
            let mut sum = 0.0;
            for item in &items {
                sum += item.as_f64().ok_or("JQ2001")?;
            }
            match (name, items.len()) {
                ("$avg", 0) => Ok(Vec::new()),
                ("$avg", n) => one(Value::Number(sum / f64::from(u32::try_from(n).unwrap()))),
                _ => one(Value::Number(sum)),
            }
        }
        _ => {
            let kind = items.first().map_or(Kind::Number, Value::kind);
            if !matches!(kind, Kind::Number | Kind::String) || items.iter().any(|item| item.kind() != kind) {
                return Err("JQ2001");
            }
            if items.iter().any(|item| item.as_f64().is_some_and(f64::is_nan)) {
                return one(Value::Number(f64::NAN));
            }
            let better =
                |a: &Value, b: &Value| if name == "$min" { less(a, b, false) } else { less(b, a, false) };
            Ok(items
                .into_iter()
                .reduce(|best, item| if better(&item, &best) { item } else { best })
                .into_iter()
                .collect())
        }
    }
}

/// The items of a source, arrays taken apart one level.
fn unpack(items: Vec<Value>) -> Vec<Value> {
    items
        .into_iter()
        .flat_map(|item| item.as_array().map_or_else(|| vec![item.clone()], |array| array.to_vec()))
        .collect()
}

/// All tuples of the bindings, in order; each is evaluated as far as `visit` lets it.
fn tuples(
    bindings: &[(&str, &Value)],
    input: &Value,
    variables: &Variables,
    visit: &mut dyn FnMut(&Variables) -> Result<bool, &'static str>,
) -> Result<bool, &'static str> {
    let Some(((name, source), rest)) = bindings.split_first() else { return visit(variables) };
    for item in unpack(eval(source, input, variables)?) {
        let mut variables = variables.clone();
        variables.insert((*name).to_owned(), vec![item]);
        if !tuples(rest, input, &variables, visit)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn clause<'v>(phrase: &'v Value, name: &str) -> Vec<(&'v str, &'v Value)> {
    phrase.get(name).and_then(Value::as_object).into_iter().flatten().collect()
}

fn quantifier(phrase: &Value, input: &Value, variables: &Variables) -> Items {
    let some = phrase.get("$some").is_some();
    let bindings = clause(phrase, if some { "$some" } else { "$every" });
    let satisfies = phrase.get("$satisfies").unwrap();
    let undecided = tuples(&bindings, input, variables, &mut |variables| {
        Ok(truth(eval(satisfies, input, variables)?)? != some)
    })?;
    Ok(vec![Value::Bool(undecided != some)])
}

/// A FLWOR phrase. What stands before a barrier is evaluated tuple by tuple, and so is `$return` where there is none.
fn phrase(phrase: &Value, input: &Value, outer: &Variables) -> Items {
    let (group, order) = (phrase.get("$groupby").and_then(Value::as_object), order_keys(phrase));
    let fold = clause(phrase, "$fold").first().copied();
    let mut folded = fold.map(|(_, initial)| eval(initial, input, outer)).transpose()?;
    let (bindings, lets) = (clause(phrase, "$for"), clause(phrase, "$let"));
    let mine: Vec<&str> = bindings.iter().chain(&lets).map(|(name, _)| *name).collect();
    let mut groups: Vec<(Vec<Vec<Value>>, Variables)> = Vec::new();
    let mut rows: Vec<(Vec<Option<Value>>, Variables)> = Vec::new();
    let mut answer = Vec::new();
    let mut position = 0_u32;
    let mut finish = |mut variables: Variables| -> Result<(), &'static str> {
        if let Some(name) = phrase.get("$count").and_then(Value::as_str) {
            variables.insert(name.to_owned(), vec![Value::from(position)]);
        }
        position += 1;
        let result = phrase.get("$return").unwrap();
        match (&mut folded, fold) {
            (Some(folded), Some((name, _))) => {
                variables.insert(name.to_owned(), folded.clone());
                *folded = eval(result, input, &variables)?;
            }
            _ => answer.extend(eval(result, input, &variables)?),
        }
        Ok(())
    };
    tuples(&bindings, input, outer, &mut |variables| {
        let mut variables = variables.clone();
        for (name, expr) in &lets {
            let items = eval(expr, input, &variables)?;
            variables.insert((*name).to_owned(), items);
        }
        if let Some(filter) = phrase.get("$where")
            && !truth(eval(filter, input, &variables)?)?
        {
            return Ok(true);
        }
        match group {
            Some(keys) => gather(keys, &mine, variables, input, &mut groups)?,
            None if order.is_empty() => finish(variables)?,
            None => rows.push((order_key(&order, input, &variables)?, variables)),
        }
        Ok(true)
    })?;
    for (_, variables) in groups {
        if order.is_empty() {
            finish(variables)?;
        } else {
            rows.push((order_key(&order, input, &variables)?, variables));
        }
    }
    for variables in sorted(rows, &order)? {
        finish(variables)?;
    }
    Ok(folded.unwrap_or(answer))
}

/// A key of `$orderby`: the expression, whether it descends, and whether nothing is the greatest.
type OrderKey<'v> = (&'v Value, bool, bool);

fn order_keys(phrase: &Value) -> Vec<OrderKey<'_>> {
    let key = |key| {
        let says = |name, word| phrase_word(key, name) == Some(word);
        (key.get("$key").unwrap_or(key), says("$dir", "desc"), says("$empty", "greatest"))
    };
    match phrase.get("$orderby") {
        Some(Value::Array(keys)) => keys.iter().map(key).collect(),
        other => other.into_iter().map(key).collect(),
    }
}

fn phrase_word<'v>(phrase: &'v Value, name: &str) -> Option<&'v str> {
    phrase.get(name)?.as_str()
}

fn order_key(
    keys: &[OrderKey<'_>],
    input: &Value,
    variables: &Variables,
) -> Result<Vec<Option<Value>>, &'static str> {
    let one = |(key, ..): &OrderKey<'_>| match at_most_one(eval(key, input, variables)?, "JQ2005")? {
        key @ (None | Some(Value::Number(_) | Value::String(_))) => Ok(key),
        _ => Err("JQ2005"),
    };
    keys.iter().map(one).collect()
}

/// Stable insertion: nothing is less than anything, unless it is greater, and a NaN less than every other number.
fn sorted(
    rows: Vec<(Vec<Option<Value>>, Variables)>,
    keys: &[OrderKey<'_>],
) -> Result<Vec<Variables>, &'static str> {
    let less_key = |a: &Option<Value>, b: &Option<Value>, greatest: bool| match (a, b) {
        (None, None) => false,
        (None, Some(_)) => !greatest,
        (Some(_), None) => greatest,
        (Some(Value::Number(a)), Some(Value::Number(b))) => a < b || a.is_nan() && !b.is_nan(),
        (Some(a), Some(b)) => less(a, b, false),
    };
    // Rows meet at a key only where those before it do not decide.
    let mixes = |a: &[Option<Value>], b: &[Option<Value>]| {
        for ((_, _, greatest), (a, b)) in keys.iter().zip(a.iter().zip(b)) {
            if let (Some(a), Some(b)) = (a, b)
                && a.kind() != b.kind()
            {
                return true;
            }
            if less_key(a, b, *greatest) || less_key(b, a, *greatest) {
                return false;
            }
        }
        false
    };
    if rows.iter().enumerate().any(|(at, (a, _))| rows.iter().skip(at + 1).any(|(b, _)| mixes(a, b))) {
        return Err("JQ2005");
    }
    let before = |a: &[Option<Value>], b: &[Option<Value>]| {
        for ((_, descends, greatest), (a, b)) in keys.iter().zip(a.iter().zip(b)) {
            let (a, b) = if *descends { (b, a) } else { (a, b) };
            if less_key(a, b, *greatest) || less_key(b, a, *greatest) {
                return less_key(a, b, *greatest);
            }
        }
        false
    };
    let mut sorted: Vec<(Vec<Option<Value>>, Variables)> = Vec::new();
    for row in rows {
        let at = sorted.iter().position(|known| before(&row.0, &known.0)).unwrap_or(sorted.len());
        sorted.insert(at, row);
    }
    Ok(sorted.into_iter().map(|(_, variables)| variables).collect())
}

/// Puts a tuple into its group, where the phrase's own variables hold the values of all its tuples.
fn gather(
    keys: &Object,
    mine: &[&str],
    variables: Variables,
    input: &Value,
    groups: &mut Vec<(Vec<Vec<Value>>, Variables)>,
) -> Result<(), &'static str> {
    let mut key = Vec::new();
    for (_, expr) in keys {
        key.push(Vec::from_iter(at_most_one(eval(expr, input, &variables)?, "JQ2001")?));
    }
    if let Some((_, group)) = groups.iter_mut().find(|(known, _)| *known == key) {
        for name in mine {
            group.get_mut(*name).unwrap().extend(variables[*name].clone());
        }
        return Ok(());
    }
    let mut group = variables;
    for ((name, _), part) in keys.iter().zip(&key) {
        group.insert(name.to_owned(), part.clone());
    }
    groups.push((key, group));
    Ok(())
}

fn input() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        (-2..4_i8).prop_map(Value::from),
        prop::sample::select(vec![
            value!(0.5),
            value!("a"),
            value!("b"),
            value!(""),
            value!(null),
            value!(true)
        ]),
    ];
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(vec!["a", "b", "c"]), inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn path() -> impl Strategy<Value = Value> {
    let root = prop::sample::select(vec!["$", "$", "$x", "$y"]);
    let step = prop::sample::select(vec![".a", ".b", "[*]", "[0]", "[-1]", "..a"]);
    (root, prop::collection::vec(step, 0..3))
        .prop_map(|(root, steps)| Value::from(root.to_owned() + &steps.concat()))
}

fn query() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => path(),
        1 => (-1..3_i8).prop_map(Value::from),
        1 => prop::sample::select(vec![value!("a"), value!("$$x"), value!(null), value!(false), value!({"$const": [1, "$x"]})]),
    ];
    leaf.prop_recursive(5, 48, 3, |inner| {
        let unary = vec![
            "$exists", "$empty", "$not", "$count", "$sum", "$avg", "$min", "$max", "$distinct", "$head", "$tail", "$reverse",
        ];
        let binary = vec![
            "$eq", "$ne", "$lt", "$le", "$gt", "$ge", "$add", "$sub", "$mul", "$div", "$idiv", "$mod", "$and", "$or", "$seq",
            "$coalesce", "$if",
        ];
        let join = (
            prop::collection::vec(inner.clone(), 4),
            prop::sample::select(vec!["$x", "$x.a", "$x.b", "$x[0]", "$y", "$"]),
            prop::sample::select(vec!["$y", "$y.a", "$y.b", "$y[0]", "$x"]),
            (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        );
        let phrase = (
            (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
            prop::collection::vec(inner.clone(), 6),
        );
        prop_oneof![
            2 => (prop::sample::select(unary), inner.clone()).prop_map(|(name, a)| one_member(name, a)),
            3 => (prop::sample::select(binary), inner.clone(), inner.clone())
                .prop_map(|(name, a, b)| one_member(name, value!([a, b]))),
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| value!({"a": a, "b": b})),
            1 => (any::<bool>(), inner.clone(), inner).prop_map(|(some, a, b)| {
                [(if some { "$some" } else { "$every" }, value!({"x": a})), ("$satisfies", b)].into_iter().collect::<Object>().into()
            }),
            2 => join.prop_map(|(parts, left, right, (turned, more, order, both))| {
                let part = |index: usize| parts[index].clone();
                let keys = if turned { value!([right, left]) } else { value!([left, right]) };
                let equality = value!({"$eq": keys});
                let filter = if more { value!({"$and": [equality, (part(2))]}) } else { equality };
                let mut members = vec![("$for", value!({"x": (part(0)), "y": (part(1))})), ("$where", filter)];
                members.push(("$return", if both { value!([(part(3)), "$x", "$y"]) } else { part(3) }));
                members.extend(order.then(|| ("$orderby", value!({"$key": "$x.a"}))));
                members.into_iter().collect::<Object>().into()
            }),
            3 => phrase.prop_map(|((lets, filter, group, order, count), parts)| {
                let part = |index: usize| parts[index].clone();
                let mut members = vec![("$for", value!({"x": part(0)})), ("$return", part(1))];
                members.extend(lets.then(|| ("$let", value!({"y": part(2)}))));
                members.extend(filter.then(|| ("$where", part(3))));
                members.extend(group.then(|| ("$groupby", value!({"z": part(4)}))));
                members.extend(order.then(|| ("$orderby", value!({"$key": part(5)}))));
                members.extend(count.then(|| ("$count", value!("n"))));
                members.into_iter().collect::<Object>().into()
            }),
        ]
    })
}

/// Rows in which keys repeat, miss and differ in kind.
fn rows() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        value!({"$const": [1, 1, 1, 2, 0, 1]}),
        value!({"$const": ["b", "a", "b", "", "a", "b"]}),
        value!({"$const": ["prefix-b", "prefix-", "prefix-a", "prefix-é", "prefix", "prefix-ab", "prefix-a"]}),
        value!({"$const": [{"a": "prefix-b", "b": 2}, {"a": "prefix-b", "b": 1}, {"a": "prefix-a"}, {"b": "x"}, {"a": "prefix-b", "b": 1}]}),
        value!({"$const": [{"a": 1, "b": "x"}, {"a": 2}, {"a": 1, "b": "y"}, {"b": "x"}, {"a": 1, "b": "x"}]}),
        value!({"$const": [{"a": [1, 2], "b": 1}, {"a": 1, "b": [2]}, {"a": [2, 1, 2], "b": 2}, {"a": "x", "b": 1}]}),
        value!("$"),
        value!("$.a"),
    ])
}

/// What rows are compared, grouped and ordered by.
fn key() -> impl Strategy<Value = Value> {
    prop::sample::select(
        ["$x", "$x", "$x.a", "$x.b", "$x.a[*]", "$y", "$y.a", "$y.b", "$y.b[*]", "$.b", "a", "x"]
            .map(Value::from)
            .into_iter()
            .chain([
                value!(1),
                value!(2),
                value!(null),
                value!({"$mul": ["$x", -1]}),
                value!({"$div": [0, 0]}),
            ])
            .collect::<Vec<_>>(),
    )
}

fn comparison() -> impl Strategy<Value = Value> {
    let names = vec!["$eq", "$eq", "$ne", "$lt", "$le", "$gt", "$ge"];
    (prop::sample::select(names), key(), key(), any::<bool>()).prop_map(|(name, left, right, listed)| {
        let of = |side: Value| if listed { value!([side]) } else { side };
        one_member(name, value!([(of(left)), (of(right))]))
    })
}

/// What is looked up in a table, alone or with more; `$x` and `$y` are the rows.
fn join() -> impl Strategy<Value = Value> {
    let side = |name: &'static str| {
        prop::sample::select(vec!["", "", ".a", ".b", ".a[*]"])
            .prop_map(move |rest| Value::from(format!("{name}{rest}")))
    };
    (side("$x"), side("$y"), prop::option::of(comparison()), any::<bool>()).prop_map(
        |(x, y, more, turned)| {
            let equality = value!({"$eq": (if turned { value!([y, x]) } else { value!([x, y]) })});
            match more {
                Some(more) => value!({"$and": [equality, more]}),
                None => equality,
            }
        },
    )
}

/// A phrase over rows, with every clause and what it is made for.
fn table() -> impl Strategy<Value = Value> {
    let order = (key(), any::<bool>(), any::<bool>()).prop_map(|(key, descends, greatest)| {
        value!({"$key": key, "$dir": (if descends { "desc" } else { "asc" }), "$empty": (if greatest { "greatest" } else { "least" })})
    });
    let orders = prop::option::of(prop::collection::vec(order, 1..3));
    let result = prop::sample::select(vec![
        value!(["$x", "$y"]),
        value!("$x"),
        value!({"n": {"$count": "$x"}, "s": {"$head": "$y"}}),
        value!(["$z", {"$count": "$x"}, "$n"]),
        value!({"$seq": ["$f", "$x"]}),
        value!(["$f"]),
    ]);
    let filter = prop::option::of(prop_oneof![comparison(), join()]);
    let group = prop::option::of(key());
    (rows(), rows(), filter, group, orders, result, any::<(bool, bool, bool)>()).prop_map(
        |(x, y, filter, group, orders, result, (second, fold, count))| {
            let sources = if second { value!({"x": x, "y": (y.clone())}) } else { value!({"x": x}) };
            let mut members = vec![("$for", sources), ("$return", result)];
            members.extend((!second).then(|| ("$let", value!({"y": y}))));
            members.extend(filter.map(|filter| ("$where", filter)));
            members.extend(group.map(|key| ("$groupby", value!({"z": key}))));
            members.extend(orders.map(|keys| ("$orderby", keys.into_iter().collect())));
            members.extend(count.then(|| ("$count", value!("n"))));
            members.extend(fold.then(|| ("$fold", value!({"f": 0}))));
            members.into_iter().collect::<Object>().into()
        },
    )
}

fn one_member(name: &str, argument: Value) -> Value {
    Value::Object(std::iter::once((name, argument)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("reference.proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn both_readings_agree(query in query(), input in input()) {
        prop_assert_eq!(fast(&query, &input), eval(&query, &input, &Variables::new()));
    }

    #[test]
    fn both_readings_agree_on_tables(query in table(), input in input()) {
        prop_assert_eq!(fast(&query, &input), eval(&query, &input, &Variables::new()));
    }

    #[test]
    fn both_readings_agree_on_comparisons(query in comparison(), x in input(), y in input()) {
        let query = value!({"$let": {"x": {"$const": x}, "y": {"$const": y}}, "$return": query});
        prop_assert_eq!(fast(&query, &value!(1)), eval(&query, &value!(1), &Variables::new()));
    }
}

fn fast(query: &Value, input: &Value) -> Items {
    let compiled = Query::compile(query).expect("the generator makes well-formed queries");
    compiled.items(&Scope::value(input)).map_err(|error| error.code())
}
