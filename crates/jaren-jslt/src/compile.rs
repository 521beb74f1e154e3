//! The compiler: from a document of the right shape to a sheet, reporting every defect on the way.
//!
//! First come the defects of the whole document's shape, then rule by rule those of its path, its schema and its body.
//! That is the order of the format's own compiler, so the first defect is the one that it names.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Defects, Diagnostic, Pointer, Report, Str, Value};
use jaren_query::extension::{ExtendedQuery, Extension, Reading, Refusal};
use jaren_query::{JsonPath, SchemaTest};

use crate::codes::{BODY, MATCH, NO_SCHEMAS, SCHEMA};
use crate::document::{self, Disposition, Document};
use crate::sheet::{Mode, ModeId, Rule, Sheet};
use crate::stylesheet::CompileOptions;

/// The names that the engine binds for each body (section 8.2).
pub(crate) const ROOT: &str = "root";
pub(crate) const PATH: &str = "path";

/// Compiles a stylesheet document.
pub(crate) fn compile(document: &Value, options: &CompileOptions) -> Result<Sheet, Report> {
    let mut defects = Defects::new();
    let document = document::read(document, &mut defects);
    let mut bodies = options.bodies.clone();
    if let Some(parameters) = &mut bodies.externals {
        parameters.extend([ROOT.to_owned(), PATH.to_owned()]);
    }
    let mut compiler = Compiler {
        defects,
        bodies,
        modes: Modes::default(),
        paths: Vec::new(),
        path_index: BTreeMap::new(),
        parameters: Vec::new(),
        parameter_names: BTreeSet::new(),
    };
    compiler.modes.id("");
    let mut rules = Vec::with_capacity(document.rules.len());
    // Which mode each rule belongs to, and its priority.
    let mut ranks = Vec::with_capacity(document.rules.len());
    for rule in &document.rules {
        let mode = compiler.modes.id(rule.mode);
        if let Some(compiled) = compiler.rule(rule, mode) {
            rules.push(compiled);
            ranks.push((mode, rule.priority));
        }
    }
    for name in document.modes.keys() {
        compiler.modes.id(name);
    }
    let Compiler { defects, modes, paths, parameters, .. } = compiler;
    if let Some(report) = defects.into_report() {
        return Err(report);
    }
    Ok(Sheet {
        modes: tables(&document, &rules, &ranks, modes, paths.len()),
        rules,
        paths,
        parameters,
        depth_max: options.depth_max,
        dispatches_max: options.dispatches_max.map_or(u64::MAX, std::num::NonZeroU64::get),
        limits: options.bodies.limits,
    })
}

/// The rules of each mode in the order of their ranks (section 4).
fn tables(
    document: &Document<'_>,
    rules: &[Rule],
    ranks: &[(ModeId, f64)],
    modes: Modes,
    paths: usize,
) -> Vec<Mode> {
    let mut modes: Vec<Mode> = modes
        .names
        .into_iter()
        .map(|name| {
            let unmatched = document.modes.get(&*name).unwrap_or(&document.unmatched).clone();
            let positional = unmatched.disposition == Disposition::Share;
            let paths = vec![0; paths.div_ceil(64)].into_boxed_slice();
            Mode { name, unmatched, rules: Vec::new(), paths, positional }
        })
        .collect();
    for (index, (rule, (mode, _))) in rules.iter().zip(ranks).enumerate() {
        let Some(mode) = modes.get_mut(*mode) else { continue };
        mode.rules.push(index);
        match rule.path {
            None => mode.positional = false,
            Some(path) => {
                if let Some(word) = mode.paths.get_mut(path / 64) {
                    *word |= 1 << (path % 64);
                }
            }
        }
    }
    let priority = |rule: usize| ranks.get(rule).map_or(0.0, |(_, priority)| *priority);
    for mode in &mut modes {
        mode.rules.sort_by(|a, b| {
            let order = priority(*b).partial_cmp(&priority(*a)).unwrap_or(Ordering::Equal);
            order.then(b.cmp(a))
        });
    }
    modes
}

/// The modes that were named so far.
#[derive(Default)]
struct Modes {
    ids: BTreeMap<Str, ModeId>,
    names: Vec<Str>,
}

impl Modes {
    /// The id of a mode; naming one makes it (section 7).
    fn id(&mut self, name: &str) -> ModeId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.names.len();
        self.names.push(Str::from(name));
        self.ids.insert(Str::from(name), id);
        id
    }
}

struct Compiler<'d> {
    defects: Defects,
    /// How bodies are compiled.
    bodies: jaren_query::CompileOptions,
    modes: Modes,
    paths: Vec<JsonPath>,
    path_index: BTreeMap<&'d str, usize>,
    /// In the order of their first appearance.
    parameters: Vec<Str>,
    parameter_names: BTreeSet<Str>,
}

impl<'d> Compiler<'d> {
    fn defect(&mut self, code: &'static str, place: &Pointer, message: impl Into<String>) {
        self.defects.push_with(|| Diagnostic::new(code, place.clone(), message));
    }

    /// One rule, or nothing where its body does not compile.
    fn rule(&mut self, rule: &document::Rule<'d>, mode: ModeId) -> Option<Rule> {
        let path = rule.pattern.path.as_ref().and_then(|(path, place)| self.path(path, place));
        let test = rule.pattern.schema.as_ref().and_then(|(schema, place)| self.schema(schema, place));
        let body = self.body(rule, mode)?;
        let reads_path = body.externals().any(|name| name == PATH);
        Some(Rule { place: rule.place.clone(), path, test, body, reads_path })
    }

    /// The index of a path. Rules with the same one, of whatever mode, share it.
    fn path(&mut self, text: &'d str, place: &Pointer) -> Option<usize> {
        if let Some(index) = self.path_index.get(text) {
            return Some(*index);
        }
        match JsonPath::parse(text) {
            Ok(path) => {
                self.paths.push(path);
                let index = self.paths.len() - 1;
                self.path_index.insert(text, index);
                Some(index)
            }
            Err(error) => {
                self.defect(MATCH, place, error.to_string());
                None
            }
        }
    }

    fn schema(&mut self, schema: &Value, place: &Pointer) -> Option<SchemaTest> {
        let Some(schemas) = &self.bodies.schemas else {
            self.defect(NO_SCHEMAS, place, "a schema needs something that compiles it, and the host lends nothing (`CompileOptions::with_schemas`)");
            return None;
        };
        match schemas.compile(schema) {
            Ok(test) => Some(test),
            Err(reason) => {
                self.defect(SCHEMA, place, format!("the host refuses the schema: {reason}"));
                None
            }
        }
    }

    fn body(&mut self, rule: &document::Rule<'d>, mode: ModeId) -> Option<ExtendedQuery> {
        let mut apply = Apply { modes: &mut self.modes, own: mode };
        match ExtendedQuery::compile(rule.body, &self.bodies, &mut apply) {
            Ok(body) => {
                for name in body.externals().filter(|name| ![ROOT, PATH].contains(name)) {
                    let name = Str::from(name);
                    if self.parameter_names.insert(name.clone()) {
                        self.parameters.push(name);
                    }
                }
                Some(body)
            }
            Err(report) => {
                let place = rule.place.child("body");
                for cause in report.iter() {
                    self.defects.push_with(|| {
                        let place = place.join(cause.pointer());
                        Diagnostic::new(BODY, place, "the body does not compile").with_cause(cause.clone())
                    });
                }
                self.defects.omit(report.len() - report.iter().len());
                None
            }
        }
    }
}

/// `$apply` (section 6): the operator that only bodies have. Its tag is the mode in which it dispatches.
struct Apply<'m> {
    modes: &'m mut Modes,
    /// The mode of the rule, for the forms that name none.
    own: ModeId,
}

impl Extension for Apply<'_> {
    fn name(&self) -> &'static str {
        "$apply"
    }

    fn read(&mut self, argument: &Value) -> Result<Reading, Refusal> {
        let own = Reading { operand: Some(0), tag: self.own, refusal: None };
        match argument.as_array().map(|list| &list[..]) {
            None => Ok(Reading { operand: None, ..own }),
            Some([_]) => Ok(own),
            Some([_, Value::String(mode)]) => Ok(Reading { tag: self.modes.id(mode), ..own }),
            Some([_, other]) => {
                let message = format!("expected the name of a mode as a text, found {}", other.kind());
                Ok(Reading { refusal: Some(Refusal { element: Some(1), message }), ..own })
            }
            Some(list) => {
                let message =
                    format!("'$apply' takes [selector] or [selector, mode], found {} elements", list.len());
                Err(Refusal { element: None, message })
            }
        }
    }
}
