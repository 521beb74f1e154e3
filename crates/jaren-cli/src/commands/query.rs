//! `jaren query`: asks each value of a file or a pipe.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use jaren::json::{Value, pretty, to_text};
use jaren::query::{Query, Scope, analyze};

use crate::args::{self, Limited, Pipe};
use crate::exit::Exit;
use crate::input;
use crate::output::Output;
use crate::pipe::{self, Expression, Program};
use crate::problem::{Problem, Source};
use crate::text;

/// What a query from the command line is called.
const EXPR: &str = "EXPR";

/// Prints the items that the query answers to each value.
pub(crate) fn query(arguments: &args::Query, output: &mut Output) -> Result<Exit, Problem> {
    let word = arguments.expression.as_deref().unwrap_or_default();
    let after_at = word.to_str().and_then(|word| word.strip_prefix('@')).map(Path::new);
    let mut files: Vec<&Path> = arguments.files.iter().map(PathBuf::as_path).collect();
    let path = arguments.from_file.as_deref().or(after_at);
    if arguments.from_file.is_some()
        && let Some(first) = &arguments.expression
    {
        // Then the first word is a file, too.
        files.insert(0, Path::new(first));
    }
    let of_sheets = |limit: &args::Limit| matches!(limit.what, Limited::Dispatches | Limited::DispatchDepth);
    if arguments.pipe.limits.iter().any(of_sheets) {
        return Err(Problem::new(Exit::Usage, "a query has no dispatches that could be limited"));
    }
    if !arguments.explain {
        pipe::check_inputs(&arguments.pipe, path, &files)?;
    }
    let expression = match path {
        Some(path) => parse(input::document_source(path, "query")?)?,
        None => from_word(word)?,
    };
    if arguments.explain {
        return explain(&expression, &arguments.pipe, output);
    }
    let bindings = pipe::bindings(&arguments.pipe)?;
    let options = pipe::options(&arguments.pipe).with_externals(bindings.iter().map(|(name, _)| &**name));
    let query = Query::compile_with(expression.document(), &options)
        .map_err(|report| expression.refused("query", &report))?;
    let externals: Vec<(&str, &Value)> = bindings.iter().map(|(name, value)| (&**name, value)).collect();
    let answer = |value: &Value| Ok(query.items(&Scope::value(value).with_externals(&externals))?);
    let program = Program { noun: "query", expression: &expression, answer: &answer };
    pipe::run(&arguments.pipe, &files, &program, output)
}

/// Prints the normalized form of a query. Its variables need no values, so none has to be bound.
fn explain(expression: &Expression, options: &Pipe, output: &mut Output) -> Result<Exit, Problem> {
    let analysis = analyze(expression.document(), &pipe::options(options))
        .map_err(|report| expression.refused("query", &report))?;
    output.print(&analysis, || {
        let text = if options.compact { to_text(&analysis) } else { pretty(&analysis) };
        // A document holds no NaN, and the form of one neither.
        text::json(&text.unwrap_or_default()).into_owned() + "\n"
    });
    Ok(Exit::Success)
}

fn from_word(word: &OsStr) -> Result<Expression, Problem> {
    let text = word.to_str().ok_or_else(|| Problem::new(Exit::Usage, "the query is not UTF-8"))?;
    parse(Source::new(Path::new(EXPR), text.as_bytes())).map_err(|problem| {
        if Path::new(text).is_file() {
            problem.with_help(format!("the query in that file is asked with @{text}"))
        } else if text.trim_start().starts_with(['{', '[', '"']) {
            problem
        } else {
            problem.with_help(
                "a path begins with '$' and stands in single quotes, so that the shell leaves it alone: '$.items[*].price'",
            )
        }
    })
}

fn parse(source: Source) -> Result<Expression, Problem> {
    let text = str::from_utf8(&source.bytes).unwrap_or_default().trim();
    if text.starts_with('$') {
        let path = text.to_owned();
        return Ok(Expression::bare(&path, source));
    }
    input::parse_document("query", source).map(Expression::json)
}
