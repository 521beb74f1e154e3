//! `jaren check`: every defect of a document, whichever of the formats it is in, and warnings about one without.

use jaren::flow::lint::lint;
use jaren::flow::{CompileOptions, DeclaredTasks, Format};
use jaren::json::{Report, value};

use crate::args;
use crate::exit::Exit;
use crate::input::{self, Document};
use crate::output::{Output, tell};
use crate::problem::{Defect, Problem, Source, Warnings, report_defects};
use crate::tasks_file;
use crate::text;

/// The format that the document says it is in.
pub(crate) fn format_of(document: &Document) -> Result<Format, Problem> {
    Format::of(&document.value).ok_or_else(|| unknown_format(document))
}

/// Checks a document; a defect is a problem that names all of them. Warnings are none, unless the arguments are strict.
pub(crate) fn check(arguments: &args::Check, output: &mut Output) -> Result<Exit, Problem> {
    let document = input::document(&arguments.file)?;
    let name = arguments.file.display().to_string();
    let format = format_of(&document)?;
    let options = CompileOptions::new();
    let checked = match &arguments.tasks {
        Some(path) => format.check(&document.value, &tasks_file::read(path)?.bindings, &options),
        None => format.check(&document.value, &DeclaredTasks, &options),
    };
    checked.map_err(|report| refused(format.name(), &document, &report))?;
    let warnings = Warnings::new(&document.source, &lint(&document.value));
    if !output.is_json() {
        tell(&warnings.render());
    }
    let object = value!({
        "type": "checked", "file": name.as_str(), "format": format.name(), "warnings": warnings.to_json()
    });
    output.print(&object, || {
        let but = if warnings.is_empty() { String::new() } else { format!(", but {}", warnings.counted()) };
        format!("{}: a {} without defects{but}\n", text::line(&name), format.name())
    });
    Ok(if arguments.strict && !warnings.is_empty() { Exit::Document } else { Exit::Success })
}

/// The problem of a document that does not compile.
pub(crate) fn refused(format: &str, document: &Document, report: &Report) -> Problem {
    let defects = report_defects(report, Some(&document.source.bytes));
    unusable(format, &document.source, report.len(), defects)
}

/// The problem of a text with that many defects, of which these are shown.
pub(crate) fn unusable(format: &str, source: &Source, count: usize, defects: Vec<Defect>) -> Problem {
    let count = match count {
        1 => "1 defect".to_owned(),
        all if all == defects.len() => format!("{all} defects"),
        all => format!("{all} defects, of which the first {} are shown", defects.len()),
    };
    let message = format!("{} is no {format} that can be used: {count}", source.name.display());
    Problem::defects(Exit::Document, message, Some(source.clone()), defects)
}

fn unknown_format(document: &Document) -> Problem {
    let defect = Defect {
        pointer: Some(String::new()),
        message: "the document does not say its format".to_owned(),
        help: Some("begin a workflow with \"$workflow\": \"0.2\", a dag with \"$dag\": \"0.1\", a statechart with \"$fsm\": \"0.2\", a machine with \"$fsm\": \"0.1\"".to_owned()),
        span: Some(0..1),
        ..Defect::default()
    };
    let message = format!("{} is in none of the formats", document.source.name.display());
    Problem::defects(Exit::Document, message, Some(document.source.clone()), vec![defect])
}
