//! Defects of documents: a code, a pointer into the document, a message, a cause.

use std::error::Error;
use std::fmt;

use crate::Pointer;

/// How a pointer appears in a message: the root by its name.
pub(crate) fn place(pointer: &Pointer) -> &str {
    if pointer.is_root() { "the root" } else { pointer.as_str() }
}

/// One defect of a document.
///
/// Displayed at its [`place`](Self::place) with its [`reason`](Self::reason), as `JF0006 at /transitions/0/to: …`.
/// Messages are lower-case fragments that name pointers and types, not values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    code: &'static str,
    pointer: Pointer,
    /// Boxed because it is rare.
    place: Option<Box<Pointer>>,
    message: String,
    cause: Option<Box<Diagnostic>>,
}

impl Diagnostic {
    /// A defect at a place in the document; the code is stable, the format's own.
    pub fn new(code: &'static str, pointer: Pointer, message: impl Into<String>) -> Self {
        Self { code, pointer, place: None, message: message.into(), cause: None }
    }

    /// This defect, shown at another place of the text that its author wrote than its pointer says: a format may
    /// publish a pointer into a document that was derived or embedded.
    #[must_use]
    pub fn with_place(mut self, place: Pointer) -> Self {
        self.place = Some(Box::new(place));
        self
    }

    /// This defect as the consequence of another one.
    #[must_use]
    pub fn with_cause(mut self, cause: Self) -> Self {
        self.cause = Some(Box::new(cause));
        self
    }

    /// The same defect in a document that holds this one at `prefix`; causes move along.
    #[must_use]
    pub fn under(mut self, prefix: &Pointer) -> Self {
        self.pointer = prefix.join(&self.pointer);
        self.place = self.place.map(|place| Box::new(prefix.join(&place)));
        self.cause = self.cause.map(|cause| Box::new(cause.under(prefix)));
        self
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Where in the document.
    pub fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// Where to show it in the text that its author wrote: the pointer, unless the format's pointer leads elsewhere.
    pub fn place(&self) -> &Pointer {
        self.place.as_deref().unwrap_or(&self.pointer)
    }

    /// What is wrong, without code and place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The message and what led to this defect, as the formats publish it where nobody can follow the causes:
    /// `the guard failed: JQ2001: … at /1`.
    pub fn reason(&self) -> String {
        self.message.clone() + &self.cause().map(Self::quoted).unwrap_or_default()
    }

    /// This as the cause in another's [`reason`](Self::reason), in front of it what joins them: `: JQ2001: … at /1`,
    /// without the place where that is the whole document.
    pub fn quoted(&self) -> String {
        let quoted = format!(": {}: {}", self.code, self.reason());
        if self.pointer.is_root() { quoted } else { format!("{quoted} at {}", self.pointer) }
    }

    /// How many bytes its texts have, with those of its causes.
    fn bytes(&self) -> usize {
        let mut bytes = 0_usize;
        let mut diagnostic = Some(self);
        while let Some(Self { pointer, place, message, cause, .. }) = diagnostic {
            let pointers = pointer.as_str().len() + place.as_ref().map_or(0, |place| place.as_str().len());
            bytes = bytes.saturating_add(pointers).saturating_add(message.len());
            diagnostic = cause.as_deref();
        }
        bytes
    }

    /// The defect that led to this one.
    pub fn cause(&self) -> Option<&Self> {
        self.cause.as_deref()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.code, place(self.place()), self.reason())
    }
}

impl Error for Diagnostic {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

/// The defects that a compiler found in a document: at least one, the first being the one that it is known by.
///
/// It keeps [`Report::DEFECTS_MAX`] of them, and fewer where their pointers and messages are long; the others it counts.
/// One word wide. Displayed as the first defect and the number of the others.
#[derive(Clone, PartialEq, Eq)]
pub struct Report(Box<Kept>);

#[derive(Clone, PartialEq, Eq)]
struct Kept {
    first: Diagnostic,
    rest: Vec<Diagnostic>,
    /// How many bytes the texts of the kept ones have.
    bytes: usize,
    /// How many were not kept.
    omitted: usize,
}

const _: () = assert!(size_of::<Report>() == size_of::<usize>(), "an error is one word");

impl Report {
    /// How many defects are kept.
    pub const DEFECTS_MAX: usize = 1000;
    /// How many bytes their texts have together, after which no further one is kept.
    const BYTES_MAX: usize = 1 << 20;

    /// A report of one defect.
    pub fn new(first: Diagnostic) -> Self {
        let bytes = first.bytes();
        Self(Box::new(Kept { first, rest: Vec::new(), bytes, omitted: 0 }))
    }

    /// A report of these defects, or nothing where there is none.
    pub fn from_defects(defects: impl IntoIterator<Item = Diagnostic>) -> Option<Self> {
        let mut defects = defects.into_iter();
        let mut report = Self::new(defects.next()?);
        defects.for_each(|defect| report.push(defect));
        Some(report)
    }

    /// Adds a defect behind the others, or counts it where the report is full.
    pub fn push(&mut self, defect: Diagnostic) {
        if self.is_full() {
            self.omit(1);
            return;
        }
        self.0.bytes = self.0.bytes.saturating_add(defect.bytes());
        self.0.rest.push(defect);
    }

    /// Counts so many defects that are not kept.
    pub fn omit(&mut self, defects: usize) {
        self.0.omitted = self.0.omitted.saturating_add(defects);
    }

    /// Whether no further defect is kept.
    pub fn is_full(&self) -> bool {
        self.0.rest.len().saturating_add(1) >= Self::DEFECTS_MAX || self.0.bytes >= Self::BYTES_MAX
    }

    /// The defect that the document is known by.
    pub fn first(&self) -> &Diagnostic {
        &self.0.first
    }

    /// The first defect, alone.
    pub fn into_first(self) -> Diagnostic {
        self.0.first
    }

    /// How many defects there are, with those that are not kept; never zero.
    #[expect(clippy::len_without_is_empty, reason = "a report is never empty")]
    pub fn len(&self) -> usize {
        self.0.rest.len().saturating_add(1).saturating_add(self.0.omitted)
    }

    /// The defects that are kept, the first one first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Diagnostic> {
        // A chain does not know its exact length.
        (0..self.0.rest.len().saturating_add(1)).map(|index| match index.checked_sub(1) {
            None => &self.0.first,
            Some(index) => self.0.rest.get(index).unwrap_or(&self.0.first),
        })
    }

    /// The same report on a document that holds this one at `prefix`.
    #[must_use]
    pub fn under(self, prefix: &Pointer) -> Self {
        let Kept { first, rest, bytes, omitted } = *self.0;
        let rest = rest.into_iter().map(|defect| defect.under(prefix)).collect();
        Self(Box::new(Kept { first: first.under(prefix), rest, bytes, omitted }))
    }
}

impl From<Diagnostic> for Report {
    fn from(defect: Diagnostic) -> Self {
        Self::new(defect)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.first, f)?;
        match self.len() - 1 {
            0 => Ok(()),
            1 => f.write_str(" (and 1 more defect)"),
            more => write!(f, " (and {more} more defects)"),
        }
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Error for Report {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.first.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_its_first_defect_and_counts_the_others() {
        let defect =
            |code, pointer| Diagnostic::new(code, Pointer::parse(pointer).unwrap(), "names no state");
        let mut report = Report::new(defect("JF0006", "/transitions/0/to"));
        assert_eq!(report.to_string(), "JF0006 at /transitions/0/to: names no state");
        report.push(defect("JF0007", "").with_cause(defect("JQ0003", "/guard")));
        assert_eq!(report.to_string(), "JF0006 at /transitions/0/to: names no state (and 1 more defect)");
        assert_eq!(report.iter().map(Diagnostic::code).collect::<Vec<_>>(), ["JF0006", "JF0007"]);

        let report = report.under(&Pointer::parse("/states/a").unwrap());
        let last = report.iter().last().unwrap();
        assert_eq!(last.pointer(), &"/states/a");
        assert_eq!(last.source().unwrap().to_string(), "JQ0003 at /states/a/guard: names no state");
        assert_eq!(last.reason(), "names no state: JQ0003: names no state at /states/a/guard");
        assert_eq!(Report::from_defects([]), None);

        let carried = defect("JF0018", "/nodes/task/run").with_place(Pointer::parse("/work/task").unwrap());
        assert_eq!(carried.pointer(), &"/nodes/task/run");
        assert_eq!(carried.to_string(), "JF0018 at /work/task: names no state");
        assert_eq!(carried.under(&Pointer::parse("/states/a").unwrap()).place(), &"/states/a/work/task");
    }
}
