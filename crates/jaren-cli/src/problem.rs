//! What stops a command: a message, the defects of a file where there are any, and an exit code.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use jaren::json::read::{locate, locate_key};
use jaren::json::{Diagnostic, Pointer, Report, Value, value};
use jaren::query::JsonPath;

use crate::exit::Exit;
use crate::output::integer;
use crate::snippet;
use crate::text;

/// Defects of a report that are looked up in the text and shown; more are counted.
pub(crate) const DEFECTS_SHOWN_MAX: usize = 200;

/// A text that was read, kept so that its defects can be shown in place.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The path as the user wrote it.
    pub(crate) name: Arc<Path>,
    /// All of its bytes, or those around the defects.
    pub(crate) bytes: Arc<[u8]>,
    /// Where in the file these bytes begin.
    start: Start,
}

/// Where a part of a text begins; both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The line.
    pub(crate) line: usize,
    /// The column.
    pub(crate) column: usize,
}

impl Default for Start {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

impl Source {
    /// A whole text.
    pub(crate) fn new(name: impl Into<Arc<Path>>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::part(name, bytes, Start::default())
    }

    /// A part of a text.
    pub(crate) fn part(name: impl Into<Arc<Path>>, bytes: impl Into<Arc<[u8]>>, start: Start) -> Self {
        Self { name: name.into(), bytes: bytes.into(), start }
    }

    /// The place of a range of byte offsets into [`Self::bytes`].
    fn place(&self, span: &Range<usize>) -> snippet::Place {
        let mut place = snippet::place(&self.bytes, span);
        if place.line == 1 {
            place.column = place.column.saturating_add(self.start.column - 1);
        }
        place.line = place.line.saturating_add(self.start.line - 1);
        place
    }
}

/// One defect of a document or a tasks file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Defect {
    /// The format's code, where the format has one.
    pub(crate) code: Option<&'static str>,
    /// Where in the document, as an RFC 6901 pointer.
    pub(crate) pointer: Option<String>,
    /// What is wrong, a lower-case fragment.
    pub(crate) message: String,
    /// What the message wraps, outermost first.
    pub(crate) causes: Vec<String>,
    /// What to do, where the message does not say it.
    pub(crate) help: Option<String>,
    /// Byte offsets in the source, where they are known.
    pub(crate) span: Option<Range<usize>>,
}

/// What stops a command.
#[derive(Debug)]
pub(crate) struct Problem {
    exit: Exit,
    message: String,
    help: Option<Box<str>>,
    source: Option<Source>,
    defects: Vec<Defect>,
}

impl Problem {
    /// A problem that is told in one sentence.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), help: None, source: None, defects: Vec::new() }
    }

    /// A document or tasks file with defects.
    pub(crate) fn defects(
        exit: Exit,
        message: impl Into<String>,
        source: Option<Source>,
        defects: Vec<Defect>,
    ) -> Self {
        Self { source, defects, ..Self::new(exit, message) }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(path: &Path, what: &str, error: &std::io::Error) -> Self {
        let name = path.display();
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                Self::new(Exit::NotFound, format!("{what} {name} does not exist"))
            }
            _ => Self::new(Exit::Io, format!("{what} {name} cannot be read: {error}")),
        }
    }

    /// Adds what the user can do.
    #[must_use]
    pub(crate) fn with_help(mut self, help: impl Into<Box<str>>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The text for people, styled; the stream strips the styles where they do not belong.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        if let Some(source) = &self.source {
            for defect in &self.defects {
                render_defect(&mut text, &ERROR, source, defect);
            }
        } else {
            for defect in &self.defects {
                render_head(&mut text, &ERROR, defect.code, &defect.message);
                render_notes(&mut text, 2, defect);
                text.push('\n');
            }
        }
        render_head(&mut text, &ERROR, None, &self.message);
        if let Some(help) = &self.help {
            render_note(&mut text, 2, "help", help);
        }
        text
    }

    /// The object for programs.
    pub(crate) fn to_json(&self) -> Value {
        let file = self.source.as_ref().map(|source| source.name.display().to_string());
        let defects: Vec<Value> =
            self.defects.iter().map(|defect| defect.to_json(self.source.as_ref())).collect();
        value!({
            "type": "error",
            "exit": self.exit.word(),
            "message": self.message.as_str(),
            "help": self.help.as_deref(),
            "file": file.as_deref(),
            "defects": defects,
        })
    }
}

impl Defect {
    fn to_json(&self, source: Option<&Source>) -> Value {
        let place = source.zip(self.span.as_ref()).map(|(source, span)| source.place(span));
        let number =
            |get: fn(&snippet::Place) -> usize| place.as_ref().map_or(Value::Null, |at| integer(get(at)));
        value!({
            "code": self.code,
            "pointer": self.pointer.as_deref(),
            "message": self.message.as_str(),
            "causes": self.causes.iter().map(|cause| Value::from(cause.as_str())).collect::<Value>(),
            "help": self.help.as_deref(),
            "line": number(|at| at.line),
            "column": number(|at| at.column),
        })
    }
}

/// Collects the defects of a compiler's report, each with its place in `source`. Of very many the first ones.
pub(crate) fn report_defects(report: &Report, source: Option<&[u8]>) -> Vec<Defect> {
    report.iter().take(DEFECTS_SHOWN_MAX).map(|diagnostic| diagnostic_defect(diagnostic, source)).collect()
}

/// Warnings about a document, each with its place.
#[derive(Debug)]
pub(crate) struct Warnings {
    source: Source,
    shown: Vec<Defect>,
    count: usize,
}

impl Warnings {
    /// These warnings about a text, of very many the first ones.
    pub(crate) fn new(source: &Source, warnings: &[Diagnostic]) -> Self {
        let shown = warnings.iter().take(DEFECTS_SHOWN_MAX);
        Self {
            source: source.clone(),
            shown: shown.map(|warning| diagnostic_defect(warning, Some(&source.bytes))).collect(),
            count: warnings.len(),
        }
    }

    /// How many there are: `3 warnings`.
    pub(crate) fn counted(&self) -> String {
        match self.count {
            1 => "1 warning".to_owned(),
            all if all == self.shown.len() => format!("{all} warnings"),
            all => format!("{all} warnings, of which the first {} are shown", self.shown.len()),
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The text for people, styled.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        for warning in &self.shown {
            render_defect(&mut text, &WARNING, &self.source, warning);
        }
        text
    }

    /// The list for programs, in which each is as a defect.
    pub(crate) fn to_json(&self) -> Value {
        self.shown.iter().map(|warning| warning.to_json(Some(&self.source))).collect()
    }
}

/// A defect with its place in `source`.
pub(crate) fn diagnostic_defect(diagnostic: &Diagnostic, source: Option<&[u8]>) -> Defect {
    let mut causes = Vec::new();
    // The place of an embedded query's defect leads into the query already.
    let place = diagnostic.place();
    let mut next = diagnostic.cause();
    while let Some(cause) = next {
        causes.push(format!("{}: {}", cause.code(), cause.message()));
        next = cause.cause();
    }
    Defect {
        code: Some(diagnostic.code()),
        pointer: Some(place.to_string()),
        message: diagnostic.message().to_owned(),
        causes,
        help: code_help(diagnostic.code()).map(str::to_owned),
        span: source.and_then(|bytes| {
            let span = find(bytes, place)?;
            Some(if is_about_a_path(diagnostic) { path_span(bytes, span) } else { span })
        }),
    }
}

/// Whether a diagnostic or what it wraps refuses the text of a path.
fn is_about_a_path(diagnostic: &Diagnostic) -> bool {
    let mut chain = std::iter::successors(Some(diagnostic), |diagnostic| diagnostic.cause());
    chain.any(|diagnostic| matches!(diagnostic.code(), "JQ0004" | "JT0003"))
}

/// The character within the string at `span` at which it ceases to be a path; the whole string where escapes in it would
/// have to be counted.
fn path_span(source: &[u8], span: Range<usize>) -> Range<usize> {
    let literal = source.get(span.clone()).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let text = literal.and_then(|literal| literal.strip_prefix('"')?.strip_suffix('"'));
    let Some(offset) = text.filter(|text| !text.contains('\\')).and_then(path_mistake) else { return span };
    let at = span.start.saturating_add(1).saturating_add(offset);
    at..at.saturating_add(1)
}

/// The byte offset at which a text that begins with `$` or `$name` ceases to be a path.
pub(crate) fn path_mistake(text: &str) -> Option<usize> {
    let after_root =
        text.strip_prefix('$')?.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let name = text.len() - after_root.len() - 1;
    JsonPath::parse(&format!("${after_root}")).err().map(|error| error.offset() + name)
}

/// Where a defect at `pointer` is shown: at the value, or at its name where the value takes several lines, or at what
/// ought to hold it where it is missing.
fn find(source: &[u8], pointer: &Pointer) -> Option<Range<usize>> {
    let mut pointer = pointer.clone();
    loop {
        let value = locate(source, &pointer);
        let name = locate_key(source, &pointer)
            .filter(|_| value.is_none_or(|value| value.start.line != value.end.line));
        if let Some(span) = name.or(value) {
            return Some(span.start.offset..span.end.offset);
        }
        pointer = pointer.parent()?;
    }
}

/// What to do about codes whose message cannot know of this program's files.
fn code_help(code: &str) -> Option<&'static str> {
    match code {
        "JF0018" => Some("bind it with a [tasks.NAME] table in the file that --tasks names"),
        "JF0019" => Some("let the document and the binding in the tasks file name the same version"),
        _ => None,
    }
}

/// What a message is: its word and the style of the word.
struct Weight(&'static str, Style);

const ERROR: Weight = Weight("error", AnsiColor::Red.on_default().bold());
const WARNING: Weight = Weight("warning", AnsiColor::Yellow.on_default().bold());
const BOLD: Style = Style::new().bold();
const FRAME: Style = AnsiColor::Blue.on_default().bold();

fn render_defect(out: &mut String, weight: &Weight, source: &Source, defect: &Defect) {
    render_head(out, weight, defect.code, &defect.message);
    let name = source.name.display().to_string();
    let name = text::line(&name);
    let Some(span) = &defect.span else {
        let _ = writeln!(out, " {FRAME}-->{FRAME:#} {name}");
        render_notes(out, 2, defect);
        out.push('\n');
        return;
    };
    let at = source.place(span);
    let number = at.line.to_string();
    let margin = number.len() + 1;
    let _ = writeln!(out, "{:margin$}{FRAME}-->{FRAME:#} {name}:{}:{}", "", at.line, at.column);
    let _ = writeln!(out, "{:margin$} {FRAME}|{FRAME:#}", "");
    let _ = writeln!(out, "{FRAME}{number:>margin$} |{FRAME:#} {}", at.shown);
    let (caret, carets) = (at.caret, "^".repeat(at.carets));
    let style = weight.1;
    let _ = writeln!(out, "{:margin$} {FRAME}|{FRAME:#} {:caret$}{style}{carets}{style:#}", "", "");
    render_notes(out, margin + 1, defect);
    out.push('\n');
}

fn render_head(out: &mut String, Weight(word, style): &Weight, code: Option<&str>, message: &str) {
    let code = code.map(|code| format!("[{code}]")).unwrap_or_default();
    let _ = writeln!(out, "{style}{word}{code}{style:#}{BOLD}: {}{BOLD:#}", text::lines(message));
}

fn render_notes(out: &mut String, margin: usize, defect: &Defect) {
    if let Some(pointer) = &defect.pointer {
        let whole = if pointer.is_empty() { "the whole document" } else { pointer };
        render_note(out, margin, "at", whole);
    }
    for cause in &defect.causes {
        render_note(out, margin, "because", cause);
    }
    if let Some(help) = &defect.help {
        render_note(out, margin, "help", help);
    }
}

fn render_note(out: &mut String, margin: usize, label: &str, note: &str) {
    let _ = writeln!(out, "{:margin$}{FRAME}={FRAME:#} {BOLD}{label}{BOLD:#}: {}", "", text::lines(note));
}
