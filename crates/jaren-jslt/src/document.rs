//! The document as it is written (sections 2 and 3.1): its shape is checked here, in the order of its members, before
//! anything in it is compiled.

use std::collections::BTreeMap;

use jaren_json::{Defects, Diagnostic, Object, Pointer, Value, did_you_mean, in_quotes};

use crate::codes::{MATCH, RULE, SHEET, VERSION};

/// The version that this crate implements.
const VERSION_KNOWN: &str = "0.1";
const ENVELOPE: [&str; 4] = ["$jslt", "rules", "unmatched", "modes"];
const RULE_MEMBERS: [&str; 4] = ["match", "mode", "priority", "body"];
const MATCH_MEMBERS: [&str; 2] = ["path", "schema"];

/// What becomes of a value that no rule matches (section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    Share,
    Fresh,
    Error,
}

/// A disposition with the place of the member that says so: the document itself where none does.
#[derive(Clone, Debug)]
pub(crate) struct Unmatched {
    pub(crate) disposition: Disposition,
    pub(crate) place: Pointer,
}

/// A stylesheet document of the right shape.
pub(crate) struct Document<'d> {
    pub(crate) rules: Vec<Rule<'d>>,
    pub(crate) unmatched: Unmatched,
    /// The modes that are declared.
    pub(crate) modes: BTreeMap<&'d str, Unmatched>,
}

/// One rule.
pub(crate) struct Rule<'d> {
    pub(crate) place: Pointer,
    pub(crate) mode: &'d str,
    pub(crate) priority: f64,
    pub(crate) pattern: Pattern<'d>,
    pub(crate) body: &'d Value,
}

/// What a rule matches (section 3.1), each part with its place; everything where there is none.
#[derive(Default)]
pub(crate) struct Pattern<'d> {
    pub(crate) path: Option<(&'d str, Pointer)>,
    pub(crate) schema: Option<(&'d Value, Pointer)>,
}

/// Reads a document, adding what is wrong with it to `defects`. Rules of the wrong shape are left out.
pub(crate) fn read<'d>(document: &'d Value, defects: &mut Defects) -> Document<'d> {
    let mut reader = Reader { defects };
    let unmatched = Unmatched { disposition: Disposition::Share, place: Pointer::root() };
    let bare = Document { rules: Vec::new(), unmatched, modes: BTreeMap::new() };
    match document {
        Value::Array(rules) => Document { rules: reader.rules(rules, &Pointer::root()), ..bare },
        Value::Object(envelope) => reader.envelope(envelope, bare),
        other => {
            let message = format!("expected a list of rules or an envelope, found {}", other.kind());
            reader.defect(SHEET, Pointer::root(), message);
            bare
        }
    }
}

struct Reader<'r> {
    defects: &'r mut Defects,
}

impl Reader<'_> {
    fn defect(&mut self, code: &'static str, place: Pointer, message: impl Into<String>) {
        self.defects.push_with(|| Diagnostic::new(code, place, message));
    }

    /// The vocabulary is closed.
    fn known(&mut self, code: &'static str, place: &Pointer, object: &Object, known: &[&str], whose: &str) {
        for (name, _) in object.iter().filter(|(name, _)| !known.contains(name)) {
            let near = if self.defects.is_full() {
                String::new()
            } else {
                did_you_mean(name, known.iter().copied())
            };
            let all = known.join(", ");
            self.defects.push_with(|| {
                let message = format!("{whose} has no member {}, only {all}{near}", in_quotes(name));
                Diagnostic::new(code, place.child(name), message)
            });
        }
    }

    fn envelope<'d>(&mut self, envelope: &'d Object, bare: Document<'d>) -> Document<'d> {
        let root = Pointer::root();
        self.known(SHEET, &root, envelope, &ENVELOPE, "a stylesheet");
        match envelope.get("$jslt") {
            None => self.defect(SHEET, root.child("$jslt"), "an envelope needs its version"),
            Some(version) if *version != *VERSION_KNOWN => {
                let message = format!("expected version '{VERSION_KNOWN}'");
                self.defect(VERSION, root.child("$jslt"), message);
            }
            Some(_) => {}
        }
        let place = root.child("rules");
        let rules = match envelope.get("rules") {
            Some(Value::Array(rules)) => Some(rules),
            Some(other) => {
                self.defect(SHEET, place.clone(), format!("expected a list, found {}", other.kind()));
                None
            }
            None => {
                self.defect(SHEET, place.clone(), "an envelope needs its list of rules");
                None
            }
        };
        let unmatched = self.unmatched(envelope, &root).unwrap_or(bare.unmatched);
        let modes = self.modes(envelope, &root.child("modes"));
        let rules = rules.map(|rules| self.rules(rules, &place)).unwrap_or_default();
        Document { rules, unmatched, modes }
    }

    /// The member `unmatched` of what stands at `place`.
    fn unmatched(&mut self, object: &Object, place: &Pointer) -> Option<Unmatched> {
        let value = object.get("unmatched")?;
        let place = place.child("unmatched");
        let disposition = match value.as_str() {
            Some("share") => Disposition::Share,
            Some("fresh") => Disposition::Fresh,
            Some("error") => Disposition::Error,
            other => {
                let near = did_you_mean(other.unwrap_or_default(), ["share", "fresh", "error"]);
                self.defect(SHEET, place, format!("expected 'share', 'fresh' or 'error'{near}"));
                return None;
            }
        };
        Some(Unmatched { disposition, place })
    }

    fn modes<'d>(&mut self, envelope: &'d Object, place: &Pointer) -> BTreeMap<&'d str, Unmatched> {
        let modes = match envelope.get("modes") {
            None => return BTreeMap::new(),
            Some(Value::Object(modes)) => modes,
            Some(other) => {
                self.defect(
                    SHEET,
                    place.clone(),
                    format!("expected an object of modes, found {}", other.kind()),
                );
                return BTreeMap::new();
            }
        };
        let mut read = BTreeMap::new();
        for (name, mode) in modes {
            let place = place.child(name);
            let Some(mode) = mode.as_object() else {
                self.defect(SHEET, place, format!("expected an object, found {}", mode.kind()));
                continue;
            };
            self.known(SHEET, &place, mode, &["unmatched"], "a mode");
            if mode.get("unmatched").is_none() {
                self.defect(SHEET, place.child("unmatched"), "a mode that is declared needs its disposition");
            }
            if let Some(unmatched) = self.unmatched(mode, &place) {
                read.insert(name, unmatched);
            }
        }
        read
    }

    fn rules<'d>(&mut self, rules: &'d [Value], place: &Pointer) -> Vec<Rule<'d>> {
        let rules = rules.iter().enumerate();
        rules.filter_map(|(index, rule)| self.rule(rule, place.child_index(index))).collect()
    }

    /// One rule, or nothing where no more of it can be compiled.
    fn rule<'d>(&mut self, rule: &'d Value, place: Pointer) -> Option<Rule<'d>> {
        let Some(rule) = rule.as_object() else {
            self.defect(RULE, place, format!("expected a rule, which is an object, found {}", rule.kind()));
            return None;
        };
        self.known(RULE, &place, rule, &RULE_MEMBERS, "a rule");
        let body = rule.get("body");
        if body.is_none() {
            self.defect(RULE, place.child("body"), "a rule needs its body");
        }
        let mode = match rule.get("mode") {
            None => "",
            Some(mode) => mode.as_str().unwrap_or_else(|| {
                self.defect(RULE, place.child("mode"), format!("expected a text, found {}", mode.kind()));
                ""
            }),
        };
        let priority = rule.get("priority").map(|priority| {
            priority.as_f64().filter(|priority| priority.is_finite()).unwrap_or_else(|| {
                self.defect(
                    RULE,
                    place.child("priority"),
                    format!("expected a number, found {}", priority.kind()),
                );
                0.0
            })
        });
        let pattern = rule.get("match").map(|pattern| self.pattern(pattern, &place.child("match")));
        let pattern = pattern.unwrap_or_default();
        // Section 4: what asks for more comes first.
        let default = match (&pattern.path, &pattern.schema) {
            (Some(_), Some(_)) => 1.0,
            (None, None) => -1.0,
            _ => 0.0,
        };
        Some(Rule { place, mode, priority: priority.unwrap_or(default), pattern, body: body? })
    }

    fn pattern<'d>(&mut self, pattern: &'d Value, place: &Pointer) -> Pattern<'d> {
        let object = match pattern {
            Value::String(path) => return Pattern { path: Some((path, place.clone())), schema: None },
            Value::Object(object) => object,
            other => {
                let kind = other.kind();
                let message = format!("expected a path or an object with 'path' or 'schema', found {kind}");
                self.defect(MATCH, place.clone(), message);
                return Pattern::default();
            }
        };
        if object.is_empty() {
            let message = "expected 'path', 'schema' or both; a rule for every value has no 'match'";
            self.defect(MATCH, place.clone(), message);
        }
        self.known(MATCH, place, object, &MATCH_MEMBERS, "a match");
        let path = object.get("path").and_then(|path| {
            let place = place.child("path");
            if path.as_str().is_none() {
                self.defect(
                    MATCH,
                    place.clone(),
                    format!("expected a path as a text, found {}", path.kind()),
                );
            }
            Some((path.as_str()?, place))
        });
        Pattern { path, schema: object.get("schema").map(|schema| (schema, place.child("schema"))) }
    }
}
