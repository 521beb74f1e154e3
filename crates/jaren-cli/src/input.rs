//! Reading files and JSON texts that the user names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use jaren::json::{ReadError, ReadOptions, Value, read};

use crate::exit::Exit;
use crate::problem::{Defect, Problem, Source};

/// Bytes of an input that are read at most.
const INPUT_BYTES_MAX: usize = 256 << 20;

/// A document: its value, and its text for showing defects in place.
#[derive(Debug)]
pub(crate) struct Document {
    /// What it says.
    pub(crate) value: Value,
    /// Where it was read from.
    pub(crate) source: Source,
}

/// Reads a document: strict, so that nothing in it is dropped silently.
pub(crate) fn document(path: &Path) -> Result<Document, Problem> {
    let source = source(path, "document", ReadOptions::DOCUMENT_BYTES_MAX)?;
    match read(&source.bytes, &ReadOptions::document()) {
        Ok(value) => Ok(Document { value, source }),
        Err(error) => Err(unreadable_text("document", source, &error)),
    }
}

/// Reads a run's input.
pub(crate) fn data(path: &Path) -> Result<Value, Problem> {
    let source = source(path, "input", INPUT_BYTES_MAX)?;
    read(&source.bytes, &ReadOptions::data()).map_err(|error| unreadable_text("input", source, &error))
}

/// Reads JSON text from the command line.
pub(crate) fn argument(name: &str, text: &str) -> Result<Value, Problem> {
    read(text.as_bytes(), &ReadOptions::data()).map_err(|error| {
        let source = Source { name: Path::new(name).into(), bytes: text.as_bytes().into() };
        unreadable_text(name, source, &error)
    })
}

/// Reads a whole file, up to a limit.
pub(crate) fn read_file(path: &Path, what: &str, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let file = File::open(path).map_err(|error| Problem::unreadable(path, what, &error))?;
    read_all(file, path, what, bytes_max)
}

fn source(path: &Path, what: &str, bytes_max: usize) -> Result<Source, Problem> {
    let standard_input = Path::new("standard input");
    let (name, bytes) = if path == Path::new("-") {
        (standard_input, read_all(io::stdin().lock(), standard_input, what, bytes_max)?)
    } else {
        (path, read_file(path, what, bytes_max)?)
    };
    Ok(Source { name: name.into(), bytes: bytes.into() })
}

fn read_all(from: impl Read, name: &Path, what: &str, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    // One byte more than allowed tells "all of it" from "too much".
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most).read_to_end(&mut bytes).map_err(|error| Problem::unreadable(name, what, &error))?;
    if bytes.len() > bytes_max {
        let message = format!("{what} {} is larger than {bytes_max} bytes", name.display());
        return Err(Problem::new(Exit::Document, message));
    }
    Ok(bytes)
}

fn unreadable_text(what: &str, source: Source, error: &ReadError) -> Problem {
    let offset = error.position().offset;
    let defect = Defect {
        pointer: Some(error.pointer().to_string()),
        message: error.kind().to_string(),
        span: Some(offset..offset.saturating_add(1)),
        ..Defect::default()
    };
    let message = format!("{} is no {what} that can be read", source.name.display());
    Problem::defects(Exit::Document, message, Some(source), vec![defect])
}
