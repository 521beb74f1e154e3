//! What `query` and `transform` have in common: values come in one after the other, items go out.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use jaren::json::{Array, Diagnostic, Report, Value};
use jaren::query::{BundledZones, CompileOptions, Limits};

use crate::args::{Binding, Limit, Limited, Pipe};
use crate::commands::check;
use crate::exit::Exit;
use crate::input::{self, Document};
use crate::output::Output;
use crate::printer::Printer;
use crate::problem::{DEFECTS_SHOWN_MAX, Defect, Problem, Source, diagnostic_defect, path_mistake};
use crate::stream::{Input, Stream};

/// What `--arg` binds, by name.
pub(crate) type Bindings = Vec<(String, Value)>;

/// Refuses what cannot be read, before anything is: `expression` is the file of the query or stylesheet, if it has one.
pub(crate) fn check_inputs(
    options: &Pipe,
    expression: Option<&Path>,
    files: &[&Path],
) -> Result<(), Problem> {
    let standard_input = Path::new("-");
    if options.null_input && !files.is_empty() {
        return Err(Problem::new(Exit::Usage, "with --null-input no FILE is read"));
    }
    let reads_it = !options.null_input && (files.is_empty() || files.contains(&standard_input));
    if expression == Some(standard_input) && reads_it {
        let message = "standard input cannot be both what is asked and what is read: name a FILE";
        return Err(Problem::new(Exit::Usage, message));
    }
    Ok(())
}

/// What the program lends to every query: JSON Schema for schema literals, and the time zones of the IANA by name; and
/// the limits that were asked for.
pub(crate) fn options(options: &Pipe) -> CompileOptions {
    CompileOptions::new()
        .with_limits(limits(&options.limits))
        .with_schemas(jaren::json_schemas())
        .with_time_zones(Arc::new(BundledZones))
}

/// The limits of queries; the last one of a name counts.
fn limits(arguments: &[Limit]) -> Limits {
    let mut limits = Limits::new();
    for Limit { what, count } in arguments {
        // A count beyond what this machine can address bounds nothing.
        let size = NonZeroUsize::try_from(*count).ok();
        match what {
            Limited::Steps => limits.steps = Some(*count),
            Limited::Work => limits.work = Some(*count),
            Limited::Depth => limits.depth = size,
            Limited::SequenceItems => limits.sequence_items = size,
            Limited::ResultItems => limits.result_items = size,
            Limited::Dispatches | Limited::DispatchDepth => {}
        }
    }
    limits
}

/// Reads what `--arg` and its like bind.
pub(crate) fn bindings(options: &Pipe) -> Result<Bindings, Problem> {
    let json = |Binding { name, value }: &Binding| {
        input::argument(&format!("--arg {name}"), value)
            .map_err(|problem| problem.with_help(format!("a text is bound by --arg-text {name}=TEXT")))
    };
    let text = |binding: &Binding| Ok(Value::from(binding.value.as_str()));
    let file = |binding: &Binding| input::data(Path::new(&binding.value));
    let mut bindings = Bindings::new();
    let mut bind = |arguments: &[Binding], read: &dyn Fn(&Binding) -> Result<Value, Problem>| {
        for binding in arguments {
            let name = &binding.name;
            if bindings.iter().any(|(bound, _)| bound == name) {
                return Err(Problem::new(Exit::Usage, format!("the variable '{name}' is bound twice")));
            }
            bindings.push((name.clone(), read(binding)?));
        }
        Ok(())
    };
    bind(&options.bindings, &json)?;
    bind(&options.arg_text, &text)?;
    bind(&options.arg_file, &file)?;
    Ok(bindings)
}

/// The text of a query or stylesheet.
#[derive(Debug)]
pub(crate) struct Expression {
    document: Document,
    /// Whether the text is that of a path, without the quotes that make it JSON.
    is_bare: bool,
}

impl Expression {
    /// A text of JSON.
    pub(crate) fn json(document: Document) -> Self {
        Self { document, is_bare: false }
    }

    /// The text of a path: of a JSON string without its quotes.
    pub(crate) fn bare(path: &str, source: Source) -> Self {
        Self { document: Document { value: Value::from(path), source }, is_bare: true }
    }

    /// The document that it says.
    pub(crate) fn document(&self) -> &Value {
        &self.document.value
    }

    /// The problem of a text that does not compile.
    pub(crate) fn refused(&self, noun: &str, report: &Report) -> Problem {
        let defects =
            report.iter().take(DEFECTS_SHOWN_MAX).map(|diagnostic| self.defect(diagnostic)).collect();
        check::unusable(noun, &self.document.source, report.len(), defects)
    }

    fn failed(&self, message: String, diagnostic: &Diagnostic) -> Problem {
        let defects = vec![self.defect(diagnostic)];
        Problem::defects(Exit::Evaluation, message, Some(self.document.source.clone()), defects)
    }

    fn defect(&self, diagnostic: &Diagnostic) -> Defect {
        let mut defect = if self.is_bare {
            Defect { pointer: None, span: self.bare_span(), ..diagnostic_defect(diagnostic, None) }
        } else {
            diagnostic_defect(diagnostic, Some(&self.document.source.bytes))
        };
        let mut chain = std::iter::successors(Some(diagnostic), |diagnostic| diagnostic.cause());
        if chain.any(|diagnostic| diagnostic.code() == "JQ0005") {
            defect.help = Some("bind a variable with --arg NAME=JSON or --arg-text NAME=TEXT".to_owned());
        }
        defect
    }

    /// Where a bare path ceases to be one; all of it where it is one.
    fn bare_span(&self) -> Option<Range<usize>> {
        let path = self.document.value.as_str()?;
        let start = self.document.source.bytes.iter().position(|byte| *byte == b'$')?;
        let span = path_mistake(path).map_or(0..path.len(), |offset| offset..offset.saturating_add(1));
        Some(start.saturating_add(span.start)..start.saturating_add(span.end))
    }
}

/// A compiled query or stylesheet.
pub(crate) struct Program<'p> {
    /// What it is, for messages.
    pub(crate) noun: &'static str,
    /// Its text.
    pub(crate) expression: &'p Expression,
    /// What it answers to a value.
    pub(crate) answer: &'p dyn Fn(&Value) -> Result<Vec<Value>, Diagnostic>,
}

/// Reads all values, prints all items of the answers to them.
pub(crate) fn run(
    options: &Pipe,
    files: &[&Path],
    program: &Program<'_>,
    output: &Output,
) -> Result<Exit, Problem> {
    let mut run = Run { program, printer: Printer::new(options, output.is_json()), last: None };
    let worked = run.all(options, files);
    // What was printed before a problem goes out before it.
    let printed = run.printer.finish();
    worked?;
    printed?;
    let is_true = run.last.is_some_and(|last| !matches!(last, Value::Null | Value::Bool(false)));
    Ok(if options.exit_status && !is_true { Exit::Failed } else { Exit::Success })
}

struct Run<'p> {
    program: &'p Program<'p>,
    printer: Printer,
    /// The last item.
    last: Option<Value>,
}

impl Run<'_> {
    fn all(&mut self, options: &Pipe, files: &[&Path]) -> Result<(), Problem> {
        if options.null_input {
            return self.one(&Value::Null, 1, || "the null input".to_owned());
        }
        let files = if files.is_empty() { &[Path::new("-")] } else { files };
        if options.slurp {
            return self.slurped(options, files);
        }
        let mut before = 0;
        for file in files {
            let mut stream = Stream::open(file, options.round)?;
            while self.printer.is_open()
                && let Some(input) = stream.next(|| self.printer.flush())?
            {
                let Input { value, number, line } = input;
                let name = || format!("value {number} of {}, in line {line}", stream.name());
                self.one(&value, before + number, name)?;
            }
            before += stream.count();
        }
        Ok(())
    }

    /// Answers all values of all files, as one array.
    fn slurped(&mut self, options: &Pipe, files: &[&Path]) -> Result<(), Problem> {
        let (mut values, mut bytes) = (Vec::new(), 0);
        let mut names = Vec::new();
        for file in files {
            let mut stream = Stream::open(file, options.round)?;
            stream.slurp(&mut values, &mut bytes)?;
            names.push(stream.name().to_owned());
        }
        self.one(&Array::from(values).into(), 1, || format!("the values of {}", names.join(", ")))
    }

    fn one(&mut self, value: &Value, number: u64, name: impl Fn() -> String) -> Result<(), Problem> {
        let Program { noun, expression, answer } = self.program;
        let items = answer(value)
            .map_err(|error| expression.failed(format!("the {noun} fails on {}", name()), &error))?;
        for item in &items {
            self.printer.item(item, number).map_err(|pointer| {
                let at = if pointer.is_root() { String::new() } else { format!(" at {pointer}") };
                let message = format!(
                    "the answer to {} is not JSON: it has an infinity or NaN{at}, which JSON has no number for",
                    name()
                );
                Problem::new(Exit::Evaluation, message)
            })?;
        }
        if let Some(last) = items.into_iter().next_back() {
            self.last = Some(last);
        }
        Ok(())
    }
}
