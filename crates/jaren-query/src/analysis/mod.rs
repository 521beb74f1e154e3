//! The normalized form of a query document as plain data (Appendix C): how the engine reads it, for whoever translates,
//! plans or vets queries.
//!
//! It is made from the document, not from the plan: it keeps the names that the plan has resolved, and it may change no
//! more often than the format does.

mod operator;
mod phrase;

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Diagnostic, Object, Pointer, Report, Value, value};

use crate::card::Card;
use crate::compile::{Names, compile, envelope, variable_len};
use crate::error::LIMIT;
use crate::path::{self, segments_of};
use crate::place::{Place, Places};
use crate::query::{CompileOptions, Limits};
use crate::schema_test::{SchemaTest, Schemas};

/// The version of the normalized form (Appendix C.7).
const AST_VERSION: u32 = 1;
/// How many bytes the pointers of all nodes may have together. Each node has its own, so without this they would grow with
/// the square of a document that has long names and much below them.
const POINTER_BYTES_MAX: usize = 256 << 20;

/// Reads a query document as a compiler does and answers its normalized form:
/// `{"astVersion", "root", "externals", "frameSize", "dependencies", "limits"}` (Appendix C.1).
///
/// It refuses what compiling with the same options refuses, save that schemas need nothing that compiles them.
/// What the host registers, and the test of a schema, are there as `true`. A form that would be out of all proportion to the
/// document, because each of its nodes has a long pointer, is refused (`JQ2009`).
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
    lenient.schemas.get_or_insert_with(|| Schemas::new(|_| Ok::<_, String>(SchemaTest::new(|_| true))));
    let plan = compile(document, &lenient, None)?;
    let mut analyzer = Analyzer {
        options,
        places: Places::default(),
        pointer_bytes: 0,
        scope: Names::default(),
        external_index: BTreeMap::new(),
        externals: Vec::new(),
        slots: 1,
        reads: Vec::new(),
    };
    let root = match envelope(document).and_then(|envelope| envelope.get("$expr")) {
        Some(expr) => analyzer.member(expr, Places::ROOT, "$expr"),
        None => analyzer.expr(document, Places::ROOT),
    };
    if analyzer.pointer_bytes > POINTER_BYTES_MAX {
        let mebibytes = POINTER_BYTES_MAX >> 20;
        let message = format!(
            "expected a document of which the pointers to all expressions take at most {mebibytes} MiB"
        );
        return Err(Report::new(Diagnostic::new(LIMIT, Pointer::root(), message)));
    }
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
    Value::from_count(n as u64)
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
    places: Places,
    /// How many bytes the pointers of the nodes have so far; beyond the bound no further one is written.
    pointer_bytes: usize,
    scope: Names<'d, Variable<'d>>,
    external_index: BTreeMap<&'d str, usize>,
    /// The external parameters with their slots, in the order of their first appearance.
    externals: Vec<(&'d str, usize)>,
    /// How many slots were given out; the first is the input document's.
    slots: usize,
    /// Every slot that an expression reads, in order.
    reads: Vec<usize>,
}

// The document has compiled: nesting is bounded, and every shape is right.
impl<'d> Analyzer<'d> {
    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    fn bind(&mut self, name: &'d str, slot: usize, card: Card) {
        self.scope.bind(name, Variable { name, slot, card });
    }

    fn expr(&mut self, value: &'d Value, place: Place) -> Node {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.literal(value.clone(), place),
            Value::String(text) => self.text(text, place),
            Value::Array(elements) => {
                let elements =
                    self.list(elements, place).into_iter().map(|node| node.value).collect::<Value>();
                self.node("array", Card::One, place, &value!({ "elements": (elements) }))
            }
            Value::Object(object) => self.object(object, place),
        }
    }

    /// An expression that stands at a member of `place`.
    fn member(&mut self, value: &'d Value, place: Place, name: &str) -> Node {
        let place = self.places.member(place, name);
        self.expr(value, place)
    }

    /// An expression that stands at an element of `place`.
    fn element(&mut self, value: &'d Value, place: Place, index: usize) -> Node {
        let place = self.places.element(place, index);
        self.expr(value, place)
    }

    /// What stands in for an expression that is missing, which the compiler would have refused.
    fn missing(&mut self, place: Place) -> Node {
        debug_assert!(false, "the compiler has accepted this document");
        self.literal(Value::Null, place)
    }

    fn list(&mut self, elements: &'d [Value], place: Place) -> Vec<Node> {
        elements.iter().enumerate().map(|(index, element)| self.element(element, place, index)).collect()
    }

    fn text(&mut self, text: &'d str, place: Place) -> Node {
        match text.strip_prefix('$') {
            None => self.literal(Value::from(text), place),
            Some("") => {
                self.reads.push(0);
                self.node("var", Card::One, place, &value!({"slot": 0, "external": false, "name": "$"}))
            }
            Some(escaped) if escaped.starts_with('$') => self.literal(Value::from(escaped), place),
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
                    return self.node("var", card, place, &fields);
                }
                self.path(text, 1 + len, root, place)
            }
        }
    }

    /// The innermost variable of a name and whether it is an external parameter.
    fn resolve(&mut self, name: &'d str) -> (Variable<'d>, bool) {
        if let Some(variable) = self.scope.get(name) {
            return (variable, false);
        }
        let known = self.external_index.get(name).copied();
        let slot = known.unwrap_or_else(|| {
            let slot = self.slot();
            self.external_index.insert(name, slot);
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
        place: Place,
    ) -> Node {
        self.reads.push(slot);
        let Ok(path) = path::parse(text, start) else { return self.missing(place) };
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
        self.node("path", card, place, &fields)
    }

    fn object(&mut self, object: &'d Object, place: Place) -> Node {
        if object.iter().any(|(name, _)| name.starts_with('$')) {
            return self.phrase(object, place);
        }
        let entries: Value = object
            .iter()
            .map(|(name, value)| {
                let expr = self.member(value, place, name);
                value!({"name": (name), "expr": (expr.value)})
            })
            .collect();
        self.node("object", Card::One, place, &value!({ "entries": (entries) }))
    }

    /// The slots read since a mark, each once.
    fn read_since(&self, mark: usize) -> BTreeSet<usize> {
        self.reads.iter().skip(mark).copied().collect()
    }

    /// A value that is not evaluated.
    fn literal(&mut self, value: Value, place: Place) -> Node {
        self.node("literal", Card::One, place, &value!({ "value": (value) }))
    }

    /// A node: what all have, and then its own fields.
    fn node(&mut self, kind: &str, card: Card, place: Place, fields: &Value) -> Node {
        let own = fields.as_object().into_iter().flatten().map(|(name, value)| (name, value.clone()));
        let all = [
            ("kind", Value::from(kind)),
            ("card", Value::from(card.number())),
            ("docPath", self.pointer(place)),
        ];
        Node { value: Value::Object(all.into_iter().chain(own).collect()), card }
    }

    /// The pointer to a place as a text, as long as they are not too long in all.
    fn pointer(&mut self, place: Place) -> Value {
        if self.pointer_bytes > POINTER_BYTES_MAX {
            return Value::Null;
        }
        let pointer = self.places.pointer(place);
        self.pointer_bytes = self.pointer_bytes.saturating_add(pointer.as_str().len());
        Value::from(pointer.as_str())
    }
}
