//! The normalized form of a query document as plain data (Appendix C): how the engine reads it, for whoever translates,
//! plans or vets queries.
//!
//! It is made from the document, not from the plan: it keeps the names that the plan has resolved, and it may change no
//! more often than the format does.

mod card;
mod operator;
mod phrase;

use std::collections::BTreeSet;

use jaren_json::{Object, Pointer, Report, Value, value};

use self::card::Card;
use crate::compile::{compile, is_envelope, variable_len};
use crate::path::{self, segments_of};
use crate::query::{CompileOptions, Limits};
use crate::type_test::{TypeTest, TypeTests};

/// The version of the normalized form (Appendix C.7).
const AST_VERSION: u32 = 1;

/// Reads a query document as a compiler does and answers its normalized form:
/// `{"astVersion", "root", "externals", "frameSize", "dependencies", "limits"}` (Appendix C.1).
///
/// It refuses what compiling with the same options refuses, save that schemas need no type test.
/// What the host registers, and the test of a schema, are there as `true`.
///
/// ```
/// use jaren_json::value;
/// use jaren_query::{CompileOptions, analyze};
///
/// let analysis = analyze(&value!({"$lt": ["$.price", "$most"]}), &CompileOptions::default())?;
/// assert_eq!(analysis.get("externals"), Some(&value!([{"name": "most", "slot": 1}])));
/// assert_eq!(analysis.get("dependencies").and_then(|all| all.get("operators")), Some(&value!(["$lt"])));
/// # Ok::<(), jaren_json::Report>(())
/// ```
pub fn analyze(document: &Value, options: &CompileOptions) -> Result<Value, Report> {
    let mut lenient = options.clone();
    lenient.type_tests.get_or_insert_with(|| TypeTests::new(|_| Ok::<_, String>(TypeTest::new(|_| true))));
    let plan = compile(document, &lenient, None)?;
    let mut analyzer =
        Analyzer { options, scope: Vec::new(), externals: Vec::new(), slots: 1, reads: Vec::new() };
    let envelope =
        document.as_object().filter(|object| is_envelope(object)).and_then(|object| object.get("$expr"));
    let (expr, place) = match envelope {
        Some(expr) => (expr, Pointer::default().child("$expr")),
        None => (document, Pointer::default()),
    };
    let root = analyzer.expr(expr, &place);
    let externals: Value = analyzer
        .externals
        .iter()
        .map(|(name, slot)| value!({"name": (*name), "slot": (number(*slot))}))
        .collect();
    // A limit of steps counts them in a slot of its own.
    let slots = analyzer.slots + usize::from(options.limits.steps.is_some());
    Ok(value!({
        "astVersion": (AST_VERSION),
        "root": (root.value),
        "externals": (externals),
        "frameSize": (number(slots)),
        "dependencies": (plan.dependencies.to_value()),
        "limits": (limits(&options.limits))
    }))
}

/// The limits that were given, or `null` where none was.
pub(crate) fn limits(limits: &Limits) -> Value {
    if *limits == Limits::default() {
        return Value::Null;
    }
    let size = |limit: Option<std::num::NonZeroUsize>| limit.map(|limit| number(limit.get()));
    let count = |limit: Option<std::num::NonZeroU64>| {
        limit.map(|limit| number(usize::try_from(limit.get()).unwrap_or(usize::MAX)))
    };
    let mut value = value!({
        "sequenceItems": (size(limits.sequence_items)),
        "resultItems": (size(limits.result_items)),
        "steps": (count(limits.steps)),
        "depth": (size(limits.depth))
    });
    if let (Value::Object(object), Some(work)) = (&mut value, count(limits.work)) {
        *object = object.with("work", work);
    }
    value
}

fn number(n: usize) -> Value {
    Value::Number(crate::eval::count(n))
}

/// A node of the tree, with its cardinality.
struct Node {
    value: Value,
    card: Card,
}

/// A name in scope.
#[derive(Clone, Copy)]
struct Variable<'d> {
    name: &'d str,
    slot: usize,
    card: Card,
}

struct Analyzer<'d> {
    options: &'d CompileOptions,
    /// The names in scope, the innermost last.
    scope: Vec<Variable<'d>>,
    externals: Vec<(&'d str, usize)>,
    /// How many slots were given out; the first is the input document's.
    slots: usize,
    /// Every slot that an expression reads, in order.
    reads: Vec<usize>,
}

// The document has compiled: nesting is bounded, and every shape is right. What cannot be is read as `null`.
impl<'d> Analyzer<'d> {
    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    fn bind(&mut self, name: &'d str, slot: usize, card: Card) {
        self.scope.push(Variable { name, slot, card });
    }

    fn expr(&mut self, value: &'d Value, place: &Pointer) -> Node {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => literal(value.clone(), place),
            Value::String(text) => self.text(text, place),
            Value::Array(elements) => {
                let elements =
                    self.list(elements, place).into_iter().map(|node| node.value).collect::<Value>();
                node("array", Card::One, place, &value!({ "elements": (elements) }))
            }
            Value::Object(object) => self.object(object, place),
        }
    }

    fn list(&mut self, elements: &'d [Value], place: &Pointer) -> Vec<Node> {
        elements
            .iter()
            .enumerate()
            .map(|(index, element)| self.expr(element, &place.child_index(index)))
            .collect()
    }

    fn text(&mut self, text: &'d str, place: &Pointer) -> Node {
        match text.strip_prefix('$') {
            None => literal(Value::from(text), place),
            Some("") => {
                self.reads.push(0);
                node("var", Card::One, place, &value!({"slot": 0, "external": false, "name": "$"}))
            }
            Some(escaped) if escaped.starts_with('$') => literal(Value::from(escaped), place),
            Some(rest) if rest.starts_with(['.', '[']) => {
                self.path(text, 1, (Variable { name: "$", slot: 0, card: Card::One }, false), place)
            }
            Some(rest) => {
                let len = variable_len(rest);
                let root = self.resolve(rest.get(..len).unwrap_or_default());
                if len == rest.len() {
                    let (Variable { name, slot, card }, external) = root;
                    self.reads.push(slot);
                    let fields = value!({"slot": (number(slot)), "external": (external), "name": (name)});
                    return node("var", card, place, &fields);
                }
                self.path(text, 1 + len, root, place)
            }
        }
    }

    /// The innermost variable of a name and whether it is an external parameter.
    fn resolve(&mut self, name: &'d str) -> (Variable<'d>, bool) {
        if let Some(variable) = self.scope.iter().rev().find(|variable| variable.name == name) {
            return (*variable, false);
        }
        let known = self.externals.iter().find(|(external, _)| *external == name).map(|(_, slot)| *slot);
        let slot = known.unwrap_or_else(|| {
            let slot = self.slot();
            self.externals.push((name, slot));
            slot
        });
        (Variable { name, slot, card: Card::One }, true)
    }

    fn path(
        &mut self,
        text: &str,
        start: usize,
        (Variable { name, slot, card: root_card }, external): (Variable<'d>, bool),
        place: &Pointer,
    ) -> Node {
        self.reads.push(slot);
        let Ok(path) = path::parse(text, start) else { return literal(Value::Null, place) };
        let singular = path.leaps.is_empty();
        let card = if singular && root_card != Card::Many { Card::Opt } else { Card::Many };
        let fields = value!({
            "name": (name),
            "rootSlot": (number(slot)),
            "external": (external),
            "rootCard": (root_card.number()),
            "segments": (segments_of(&path)),
            "singular": (singular)
        });
        node("path", card, place, &fields)
    }

    fn object(&mut self, object: &'d Object, place: &Pointer) -> Node {
        if object.iter().any(|(name, _)| name.starts_with('$')) {
            return self.phrase(object, place);
        }
        let entries: Value = object
            .iter()
            .map(|(name, value)| {
                let expr = self.expr(value, &place.child(name));
                value!({"name": (name), "expr": (expr.value)})
            })
            .collect();
        node("object", Card::One, place, &value!({ "entries": (entries) }))
    }

    /// The slots read since a mark, each once.
    fn read_since(&self, mark: usize) -> BTreeSet<usize> {
        self.reads.iter().skip(mark).copied().collect()
    }
}

fn literal(value: Value, place: &Pointer) -> Node {
    node("literal", Card::One, place, &value!({ "value": (value) }))
}

/// A node: what all have, and then its own fields.
fn node(kind: &str, card: Card, place: &Pointer, fields: &Value) -> Node {
    let own = fields.as_object().into_iter().flatten().map(|(name, value)| (name, value.clone()));
    let all = [
        ("kind", Value::from(kind)),
        ("card", Value::from(card.number())),
        ("docPath", Value::from(place.as_str())),
    ];
    Node { value: Value::Object(all.into_iter().chain(own).collect()), card }
}
