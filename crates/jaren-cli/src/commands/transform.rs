//! `jaren transform`: transforms each value of a file or a pipe by a stylesheet.

use std::path::{Path, PathBuf};

use jaren::jslt::{CompileOptions, Stylesheet};
use jaren::json::Value;

use crate::args::{self, Limit, Limited};
use crate::exit::Exit;
use crate::input;
use crate::output::Output;
use crate::pipe::{self, Expression, Program};
use crate::problem::{Problem, Source};

/// What a stylesheet from the command line is called.
const SHEET: &str = "SHEET";

/// Names that the language itself binds.
const RESERVED: [&str; 2] = ["root", "path"];

/// Prints the items that the stylesheet answers to each value.
pub(crate) fn transform(arguments: &args::Transform, output: &Output) -> Result<Exit, Problem> {
    let json = arguments.sheet.to_str().filter(|text| text.trim_start().starts_with(['[', '{']));
    let path = if json.is_none() { Some(Path::new(&arguments.sheet)) } else { None };
    let files: Vec<&Path> = arguments.files.iter().map(PathBuf::as_path).collect();
    pipe::check_inputs(&arguments.pipe, path, &files)?;
    let source = match json {
        Some(text) => Source::new(Path::new(SHEET), text.as_bytes()),
        None => input::document_source(Path::new(&arguments.sheet), "stylesheet")?,
    };
    let expression = Expression::json(input::parse_document("stylesheet", source)?);
    let bindings = pipe::bindings(&arguments.pipe)?;
    if let Some((name, _)) = bindings.iter().find(|(name, _)| RESERVED.contains(&&**name)) {
        let message = format!("'{name}' cannot be bound: in stylesheets ${name} has a meaning of its own");
        return Err(Problem::new(Exit::Usage, message));
    }
    let externals = bindings.iter().map(|(name, _)| &**name);
    let bodies = pipe::options(&arguments.pipe).with_externals(externals);
    let mut options = CompileOptions::new().with_bodies(bodies);
    for Limit { what, count } in &arguments.pipe.limits {
        match what {
            Limited::Dispatches => options.dispatches_max = Some(*count),
            // A depth that this machine cannot address is never reached.
            Limited::DispatchDepth => options.depth_max = usize::try_from(count.get()).unwrap_or(usize::MAX),
            _ => {}
        }
    }
    let sheet = Stylesheet::compile_with(expression.document(), &options)
        .map_err(|report| expression.refused("stylesheet", &report))?;
    let parameters: Vec<(&str, &Value)> = bindings.iter().map(|(name, value)| (&**name, value)).collect();
    let answer = |value: &Value| Ok(sheet.items(value, &parameters)?);
    let program = Program { noun: "stylesheet", expression: &expression, answer: &answer };
    pipe::run(&arguments.pipe, &files, &program, output)
}
