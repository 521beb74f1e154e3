//! Paths as plain data: the segments, selectors and filters of Appendix C.3.

use jaren_json::{Value, value};

use super::filter::{Comparable, Filter, Query};
use super::{Path, Selector, Step};
use crate::comparison::Comparison;
use crate::iregexp::Extent;

/// The segments of a path in order.
pub(crate) fn segments_of(path: &Path) -> Value {
    let child = |step: &Step| value!({"descendant": false, "selectors": [(step_of(step))]});
    let mut segments: Vec<Value> = path.head.iter().map(child).collect();
    for leap in &path.leaps {
        let selectors: Value = leap.selectors.iter().map(selector_of).collect();
        segments.push(value!({"descendant": (leap.descendant), "selectors": (selectors)}));
        segments.extend(leap.then.iter().map(child));
    }
    segments.into_iter().collect()
}

fn step_of(step: &Step) -> Value {
    match step {
        Step::Name(name) => value!({"kind": "name", "name": (name.name().clone())}),
        Step::Index(index) => value!({"kind": "index", "index": (integer(*index))}),
    }
}

/// An integer of a path, which a double always holds.
#[expect(clippy::cast_precision_loss, reason = "the parser allows at most 2^53 - 1")]
fn integer(n: i64) -> Value {
    Value::Number(n as f64)
}

fn selector_of(selector: &Selector) -> Value {
    match selector {
        Selector::Step(step) => step_of(step),
        Selector::Wildcard => value!({"kind": "wildcard"}),
        Selector::Slice { start, end, step } => {
            let bound = |bound: &Option<i64>| bound.map(integer);
            value!({"kind": "slice", "start": (bound(start)), "end": (bound(end)), "step": (bound(step))})
        }
        Selector::Filter(filter) => value!({"kind": "filter", "expr": (filter_of(filter))}),
    }
}

/// Recursion is bounded by the parser.
fn filter_of(filter: &Filter) -> Value {
    let all = |operands: &[Filter]| operands.iter().map(filter_of).collect::<Value>();
    match filter {
        Filter::Any(operands) => value!({"kind": "or", "operands": (all(operands))}),
        Filter::All(operands) => value!({"kind": "and", "operands": (all(operands))}),
        Filter::Not(operand) => value!({"kind": "not", "operand": (filter_of(operand))}),
        Filter::Exists(query) => value!({"kind": "exists", "query": (query_of(query))}),
        Filter::Compare(comparison, sides) => {
            let [left, right] = &**sides;
            let sign = match comparison {
                Comparison::Eq => "==",
                Comparison::Ne => "!=",
                Comparison::Lt => "<",
                Comparison::Le => "<=",
                Comparison::Gt => ">",
                Comparison::Ge => ">=",
            };
            let (left, right) = (comparable_of(left), comparable_of(right));
            value!({"kind": "cmp", "op": (sign), "left": (left), "right": (right)})
        }
        Filter::Matches(matches) => {
            let name = match matches.extent {
                Extent::Whole => "match",
                Extent::Part => "search",
            };
            let args = vec![comparable_of(&matches.text), comparable_of(&matches.pattern_text)];
            value!({"kind": "ftest", "func": (function(name, args, "logical"))})
        }
    }
}

fn query_of(query: &Query) -> Value {
    value!({"relative": (query.relative), "segments": (segments_of(&query.path))})
}

fn comparable_of(comparable: &Comparable) -> Value {
    let nodes = |query: &Query| value!({"kind": "query", "query": (query_of(query))});
    match comparable {
        Comparable::Literal(value) => value!({"kind": "literal", "value": (value.clone())}),
        Comparable::Singular { relative, steps } => {
            let child = |step: &Step| value!({"descendant": false, "selectors": [(step_of(step))]});
            let segments: Value = steps.iter().map(child).collect();
            value!({"kind": "query", "query": {"relative": (*relative), "segments": (segments)}})
        }
        Comparable::Length(operand) => function("length", vec![comparable_of(operand)], "value"),
        Comparable::Count(query) => function("count", vec![nodes(query)], "value"),
        Comparable::OnlyValue(query) => function("value", vec![nodes(query)], "value"),
    }
}

fn function(name: &str, args: Vec<Value>, returns: &str) -> Value {
    value!({"kind": "func", "name": (name), "args": (args.into_iter().collect::<Value>()), "returns": (returns)})
}
