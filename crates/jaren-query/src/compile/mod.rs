//! The compiler: from a query document to a plan, reporting every defect on the way.
//!
//! Expressions are compiled in the order in which the format evaluates them, so the first defect reported is the one that
//! a compiler which stops at the first would name. A defective expression becomes a literal, and the rest is compiled as
//! if nothing had happened.

mod binding;
mod dates;
mod extension;
mod host;
mod join;
mod operators;
mod phrase;
mod scope;
mod series;
mod vocabulary;

use std::collections::BTreeSet;

use jaren_json::{Defects, Diagnostic, Object, Report, Shape, Value, did_you_mean, in_quotes};

pub(crate) use self::binding::is_extended;
pub(crate) use self::binding::window_step;
pub use self::phrase::BINDING;
pub(crate) use self::phrase::ORDER_KEY;
pub(crate) use self::scope::Names;
use self::scope::Scope;
pub use self::vocabulary::{Expressions, expressions_of};
pub(crate) use self::vocabulary::{card_of, is_reserved, takes_one};

use crate::dependencies::Dependencies;
use crate::error::{DEPTH, MIXED, PATH, SHAPE, UNDECLARED, VERSION};
use crate::extension::Extension;
use crate::path::{self, Path};
use crate::place::{Place, Places};
use crate::plan::{Expr, From, Kind, Members, Plan, Root};
use crate::query::CompileOptions;

/// How deep expressions may nest whatever the caller's limit is, so that compiling and evaluating cannot overflow the
/// stack. For what lies below it each `$for` binding of a phrase counts as a level beside the phrase's own, and so does each
/// further `$some` binding: the stack pays for them alike.
pub(crate) const NESTING_MAX: usize = 128;

/// The version that this crate implements (section 4.2).
const VERSION_KNOWN: &str = "0.1";

/// Compiles a query document.
pub(crate) fn compile<'d>(
    document: &'d Value,
    options: &'d CompileOptions,
    extension: Option<&'d mut dyn Extension>,
) -> Result<Plan, Report> {
    let mut compiler = Compiler {
        defects: Defects::new(),
        late: Defects::new(),
        places: Places::default(),
        scope: Scope::default(),
        options,
        used: Dependencies::default(),
        declared: options.externals.as_ref().map(|names| names.iter().map(String::as_str).collect()),
        extra_levels: 0,
        deepest: (0, Places::ROOT),
        extension,
    };
    let root = compiler.document(document);
    let depth_max = options.limits.depth.map_or(usize::MAX, std::num::NonZeroUsize::get);
    let (depth, place) = compiler.deepest;
    if depth > depth_max {
        compiler.defect(
            DEPTH,
            place,
            format!("expected at most {depth_max} nested expressions, found {depth}"),
        );
    }
    let Compiler { mut defects, late, places, used, scope: Scope { externals, slots, .. }, .. } = compiler;
    defects.append(late);
    if let Some(report) = defects.into_report() {
        return Err(report);
    }
    let dependencies = used.finish(&externals);
    Ok(Plan { root, slots, externals, places, dependencies, limits: options.limits })
}

struct Compiler<'d> {
    defects: Defects,
    /// Defects of literals that the format has compiled only once the whole document has its shape: patterns and the
    /// specifications of time series. They come after all others.
    late: Defects,
    places: Places,
    scope: Scope<'d>,
    /// What the document uses, as it is met.
    used: Dependencies,
    /// What the host registers.
    options: &'d CompileOptions,
    /// The externals that may occur; any may when this is absent.
    declared: Option<BTreeSet<&'d str>>,
    /// Levels of the stack that bindings need beyond the nesting of expressions.
    extra_levels: usize,
    /// The deepest nesting met so far and the first place that reached it.
    deepest: (usize, Place),
    /// The operator that a format above adds.
    extension: Option<&'d mut dyn Extension>,
}

impl<'d> Compiler<'d> {
    fn defect(&mut self, code: &'static str, place: Place, message: impl Into<String>) {
        let Self { defects, places, .. } = self;
        defects.push_with(|| Diagnostic::new(code, places.pointer(place), message));
    }

    /// What the message about a name may add, as long as there is somebody to read it.
    fn near<'n>(&self, name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
        if self.defects.is_full() { String::new() } else { did_you_mean(name, known) }
    }

    /// Reports a literal of a wrong form, behind every defect of shape.
    fn late_defect(&mut self, place: Place, message: impl Into<String>) {
        let Self { late, places, .. } = self;
        late.push_with(|| Diagnostic::new(SHAPE, places.pointer(place), message));
    }

    /// Reports a defect and answers the expression that stands in for the defective one.
    fn poison(&mut self, code: &'static str, place: Place, message: impl Into<String>) -> Expr {
        self.defect(code, place, message);
        Expr { place, kind: Kind::Literal(Value::Null) }
    }

    /// The whole document: an envelope (section 4.1) or a bare expression.
    fn document(&mut self, document: &'d Value) -> Expr {
        let Some(envelope) = envelope(document) else {
            return self.expr(document, Places::ROOT, 1);
        };
        if let Some(version) = envelope.get("$query")
            && *version != *VERSION_KNOWN
        {
            let place = self.places.member(Places::ROOT, "$query");
            let found = match version.as_str() {
                Some(text) => in_quotes(text).to_string(),
                None => version.kind().to_string(),
            };
            self.defect(VERSION, place, format!("expected version '{VERSION_KNOWN}', found {found}"));
        }
        if envelope.len() != 2 || envelope.get("$query").is_none() || envelope.get("$expr").is_none() {
            self.defect(
                SHAPE,
                Places::ROOT,
                "a version envelope has exactly the members '$query' and '$expr'",
            );
        }
        let place = self.places.member(Places::ROOT, "$expr");
        match envelope.get("$expr") {
            Some(expr) => self.expr(expr, place, 1),
            None => Expr { place, kind: Kind::Literal(Value::Null) },
        }
    }

    /// Any value in the position of an expression; `depth` counts the expressions around it and itself.
    fn expr(&mut self, value: &'d Value, place: Place, depth: usize) -> Expr {
        if depth + self.extra_levels > NESTING_MAX {
            return self.poison(DEPTH, place, format!("expected at most {NESTING_MAX} nested expressions"));
        }
        if depth > self.deepest.0 {
            self.deepest = (depth, place);
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                Expr { place, kind: Kind::Literal(value.clone()) }
            }
            Value::String(text) => self.text(text, value, place),
            Value::Array(elements) => {
                let elements = self.list(elements, place, depth);
                Expr { place, kind: Kind::Array(elements) }
            }
            Value::Object(object) => self.object(object, place, depth),
        }
    }

    /// Expressions in a list that stands at `place`, each one level below `depth`.
    fn list(&mut self, elements: &'d [Value], place: Place, depth: usize) -> Vec<Expr> {
        elements
            .iter()
            .enumerate()
            .map(|(index, element)| {
                let place = self.places.element(place, index);
                self.expr(element, place, depth + 1)
            })
            .collect()
    }

    /// A text (section 3.2).
    fn text(&mut self, text: &'d str, value: &Value, place: Place) -> Expr {
        let kind = match text.strip_prefix('$') {
            None => Kind::Literal(value.clone()),
            Some("") => Kind::Input,
            Some(escaped) if escaped.starts_with('$') => Kind::Literal(Value::from(escaped)),
            Some(rest) if rest.starts_with(['.', '[']) => match self.path(text, 1, place) {
                Some(path) => Kind::Path(Box::new(Root { from: From::Input, path })),
                None => Kind::Literal(Value::Null),
            },
            Some(rest) => return self.variable(text, rest, place),
        };
        Expr { place, kind }
    }

    /// A variable, or a path that begins at one; `rest` is the text after its `$`.
    fn variable(&mut self, text: &'d str, rest: &'d str, place: Place) -> Expr {
        let len = variable_len(rest);
        let name = rest.get(..len).unwrap_or_default();
        if !is_name(name) {
            let message = "expected a path ('$', '$.…', '$[…'), a variable or the escape '$$' for a text";
            return self.poison(PATH, place, message);
        }
        let from = self.resolve(name, place);
        let kind = if len == rest.len() {
            match from {
                From::Variable(slot) => Kind::Variable(slot),
                From::External(index) => Kind::External(index),
                From::Input => Kind::Input,
            }
        } else {
            match self.path(text, 1 + len, place) {
                Some(path) => Kind::Path(Box::new(Root { from, path })),
                None => Kind::Literal(Value::Null),
            }
        };
        Expr { place, kind }
    }

    /// The segments of a path from byte `start` on, or nothing after a defect was reported.
    fn path(&mut self, text: &str, start: usize, place: Place) -> Option<Path> {
        match path::parse(text, start) {
            Ok(path) => Some(path),
            Err(defect) => {
                let help = written_as_text(text, defect.offset);
                self.defect(PATH, place, format!("not a path: {defect}{help}"));
                None
            }
        }
    }

    /// The innermost binding of a name; a free name is an external parameter (section 9).
    fn resolve(&mut self, name: &'d str, place: Place) -> From {
        if let Some(slot) = self.scope.read(name) {
            return From::Variable(slot);
        }
        if let Some(declared) = self.declared.as_ref().filter(|declared| !declared.contains(name)) {
            let near = self.near(name, self.scope.names().chain(declared.iter().copied()));
            let name = format!("${name}");
            let name = in_quotes(&name);
            let message =
                format!("the variable {name} is neither bound by a phrase nor a declared external{near}");
            self.defect(UNDECLARED, place, message);
        }
        From::External(self.scope.external(name))
    }

    /// An object (section 3.1).
    fn object(&mut self, object: &'d Object, place: Place, depth: usize) -> Expr {
        let dollars = object.iter().filter(|(name, _)| name.starts_with('$')).count();
        if dollars == 0 {
            return self.members(object, place, depth);
        }
        if dollars != object.len() {
            let message =
                "an object has either only '$'-names or only plain names; use '$map' or '$const' for both";
            return self.poison(MIXED, place, message);
        }
        self.phrase(object, place, depth)
    }

    /// A map constructor.
    fn members(&mut self, object: &'d Object, place: Place, depth: usize) -> Expr {
        let values = object
            .iter()
            .map(|(name, value)| {
                let place = self.places.member(place, name);
                self.expr(value, place, depth + 1)
            })
            .collect();
        match Shape::new(object.iter().map(|(name, _)| name)) {
            Some(shape) => Expr { place, kind: Kind::Object(Box::new(Members { shape, values })) },
            None => self.poison(SHAPE, place, "expected fewer than 2^32 members"),
        }
    }
}

/// What to add to the message about a text that stopped to be a path at `offset`, if what is left there is an operator as
/// other languages write it.
fn written_as_text(text: &str, offset: usize) -> String {
    const OPERATORS: [(&str, &str); 14] = [
        ("===", "$eq"),
        ("!==", "$ne"),
        ("==", "$eq"),
        ("!=", "$ne"),
        ("<=", "$le"),
        (">=", "$ge"),
        ("<", "$lt"),
        (">", "$gt"),
        ("=", "$eq"),
        ("&&", "$and"),
        ("||", "$or"),
        ("+", "$add"),
        ("-", "$sub"),
        ("/", "$div"),
    ];
    let (Some(before), Some(rest)) = (text.get(..offset), text.get(offset..)) else { return String::new() };
    let found = OPERATORS.into_iter().find(|(written, _)| rest.trim_start().starts_with(written));
    found.map_or_else(String::new, |(written, name)| {
        let operand = in_quotes(before.trim_end()).to_string().replace('\'', "\"");
        format!("; '{written}' is written as an operator: {{\"{name}\": [{operand}, \u{2026}]}}")
    })
}

/// The document where it is an envelope: an object with only `$`-names that names a version or an expression (section 4.1).
pub(crate) fn envelope(document: &Value) -> Option<&Object> {
    document.as_object().filter(|object| {
        (object.get("$query").is_some() || object.get("$expr").is_some())
            && object.iter().all(|(name, _)| name.starts_with('$'))
    })
}

/// How many bytes of a text may be the name of a variable with which it begins.
pub(crate) fn variable_len(text: &str) -> usize {
    text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()
}

/// Whether a text is the name of a variable (section 3.2).
fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
