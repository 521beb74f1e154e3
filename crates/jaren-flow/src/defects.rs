//! Collecting the defects of a document.
//!
//! A compiler checks in the order in which the formats' reference does and goes on after a defect, so the first
//! one pushed here is the one that the reference names. The rest are reported in document order.

use std::collections::BTreeMap;

use jaren_json::{Diagnostic, Object, Pointer, Report, Str, Value, in_quotes, nearest};

/// The defects found so far, in the order of the checks.
#[derive(Debug, Default)]
pub(crate) struct Defects {
    found: Vec<Diagnostic>,
    /// How many more there were than a report keeps.
    omitted: usize,
    suggested: usize,
}

/// So many suggestions a document: looking for one takes time, and somebody who needs more has another problem.
const SUGGESTIONS_MAX: usize = 20;

impl Defects {
    pub(crate) fn push(&mut self, code: &'static str, pointer: Pointer, message: impl Into<String>) {
        self.add(Diagnostic::new(code, pointer, message));
    }

    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < Report::DEFECTS_MAX {
            self.found.push(diagnostic);
        } else {
            self.omitted += 1;
        }
    }

    /// What a message about an undeclared name may add: the declared name that was probably meant.
    pub(crate) fn suggest<'a>(
        &mut self,
        name: Option<&Value>,
        declared: impl Iterator<Item = &'a str>,
    ) -> String {
        let near = name.and_then(Value::as_str).and_then(|name| self.nearest(name, declared));
        near.map_or_else(String::new, |near| format!("; did you mean {}?", in_quotes(near)))
    }

    /// The declared name that was probably meant, as long as not many were looked for.
    pub(crate) fn nearest<'a>(
        &mut self,
        name: &str,
        declared: impl Iterator<Item = &'a str>,
    ) -> Option<&'a str> {
        self.suggested += 1;
        if self.suggested > SUGGESTIONS_MAX {
            return None;
        }
        nearest(name, declared)
    }

    /// How many there are: to see whether a part of the document was sound.
    pub(crate) fn count(&self) -> usize {
        self.found.len() + self.omitted
    }

    /// Moves the defects of an embedded document here, each changed by `carry`.
    pub(crate) fn take(&mut self, inner: Defects, carry: impl FnMut(Diagnostic) -> Diagnostic) {
        inner.found.into_iter().map(carry).for_each(|diagnostic| self.add(diagnostic));
        self.omitted += inner.omitted;
    }

    /// What was made, when there was no defect; otherwise the report, in its published order.
    pub(crate) fn finish<T>(self, document: &Value, made: Option<T>) -> Result<T, Report> {
        let mut found = self.found.into_iter();
        let Some(first) = found.next() else {
            // Compilers make nothing only after pushing a defect. Should one ever not, an error beats a panic.
            let message = "the document was refused without a reason, which is a mistake in this compiler";
            return made.ok_or_else(|| Report::new(Diagnostic::new("JR0000", Pointer::root(), message)));
        };
        let mut report = Report::new(first);
        for diagnostic in in_order(document, found.collect()) {
            report.push(diagnostic);
        }
        report.omit(self.omitted);
        Err(report)
    }

    /// All that was found, in document order.
    pub(crate) fn into_sorted(self, document: &Value) -> Vec<Diagnostic> {
        in_order(document, self.found)
    }
}

/// Diagnostics in the order in which their places stand in the document.
fn in_order(document: &Value, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut positions = Positions { document, members: BTreeMap::new() };
    let mut placed: Vec<(Vec<usize>, Diagnostic)> =
        found.into_iter().map(|diagnostic| (positions.of(diagnostic.place()), diagnostic)).collect();
    placed.sort_by(|a, b| a.0.cmp(&b.0));
    placed.into_iter().map(|(_, diagnostic)| diagnostic).collect()
}

/// Where pointers lead, as the position of each step: sorting by it is document order.
struct Positions<'a> {
    document: &'a Value,
    /// The members of the objects on the way, found once: a large object may have as many defects as members.
    members: BTreeMap<Vec<usize>, BTreeMap<&'a str, usize>>,
}

impl Positions<'_> {
    /// A member that is missing comes after those that are there.
    fn of(&mut self, pointer: &Pointer) -> Vec<usize> {
        let mut here = Some(self.document);
        let mut position = Vec::new();
        for token in pointer.tokens() {
            let step = match here {
                Some(Value::Object(object)) => {
                    let members = self.members.entry(position.clone());
                    let members = members.or_insert_with(|| {
                        object.iter().enumerate().map(|(index, (name, _))| (name, index)).collect()
                    });
                    members.get(&*token).copied()
                }
                Some(Value::Array(_)) => token.parse().ok(),
                _ => None,
            };
            here = match here {
                Some(Value::Object(object)) => object.get(&token),
                Some(Value::Array(items)) => step.and_then(|index| items.get(index)),
                _ => None,
            };
            position.push(step.unwrap_or(usize::MAX));
        }
        position
    }
}

/// The pointer that the published cases give for an unknown member: its name is appended as it stands, so a
/// slash in it makes two tokens.
fn raw_child(pointer: &Pointer, name: &str) -> Pointer {
    let mut longer = pointer.clone();
    for token in name.split('/') {
        longer.push(token);
    }
    longer
}

/// Refuses the members of `object` that are not among `known`.
pub(crate) fn unknown_members(
    defects: &mut Defects,
    code: &'static str,
    pointer: &Pointer,
    object: &Object,
    known: &[&str],
    of: &str,
) {
    for (key, _) in object {
        if !known.contains(&key) {
            let near = defects.suggest(Some(&Value::from(key)), known.iter().copied());
            let (name, known) = (in_quotes(key), known.join(", "));
            let message = format!("{of} has no member {name}, only {known}{near}");
            defects
                .add(Diagnostic::new(code, raw_child(pointer, key), message).with_place(pointer.child(key)));
        }
    }
}

/// Whether a string has no character but white space, as the formats' reference (ECMAScript) counts it.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| (c.is_whitespace() && c != '\u{85}') || c == '\u{FEFF}')
}

/// A string with something in it.
pub(crate) fn nonblank(value: Option<&Value>) -> Option<&Str> {
    match value {
        Some(Value::String(text)) if !is_blank(text) => Some(text),
        _ => None,
    }
}
