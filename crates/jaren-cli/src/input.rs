//! Reading files and JSON texts that the user names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use jaren::json::{ReadError, ReadOptions, Value, read};

use crate::exit::Exit;
use crate::problem::{Defect, Problem, Source};

/// Bytes of an input that are read at most.
const INPUT_BYTES_MAX: usize = 256 << 20;

/// What standard input is called where a file has its path.
pub(crate) const STANDARD_INPUT: &str = "standard input";

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
    parse_document("document", document_source(path, "document")?)
}

/// Reads a document's text.
pub(crate) fn document_source(path: &Path, what: &str) -> Result<Source, Problem> {
    source(path, what, ReadOptions::DOCUMENT_BYTES_MAX)
}

/// Takes a text for a document.
pub(crate) fn parse_document(what: &str, source: Source) -> Result<Document, Problem> {
    match read(&source.bytes, &ReadOptions::document()) {
        Ok(value) => Ok(Document { value, source }),
        Err(error) => Err(unreadable_text(what, source, &error)),
    }
}

/// Reads a run's input.
pub(crate) fn data(path: &Path) -> Result<Value, Problem> {
    let source = source(path, "input", INPUT_BYTES_MAX)?;
    read(&source.bytes, &ReadOptions::data()).map_err(|error| unreadable_text("input", source, &error))
}

/// Reads JSON text from the command line.
pub(crate) fn argument(name: &str, text: &str) -> Result<Value, Problem> {
    read(text.as_bytes(), &ReadOptions::data())
        .map_err(|error| unreadable_text("JSON", Source::new(Path::new(name), text.as_bytes()), &error))
}

/// Reads a whole file, up to a limit.
pub(crate) fn read_file(path: &Path, what: &str, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let file = File::open(path).map_err(|error| Problem::unreadable(path, what, &error))?;
    read_all(file, path, what, bytes_max)
}

fn source(path: &Path, what: &str, bytes_max: usize) -> Result<Source, Problem> {
    let (name, bytes) = if path == Path::new("-") {
        let name = Path::new(STANDARD_INPUT);
        (name, read_all(io::stdin().lock(), name, what, bytes_max)?)
    } else {
        (path, read_file(path, what, bytes_max)?)
    };
    Ok(Source::new(name, bytes))
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
    let message = format!("{} is no {what} that can be read", source.name.display());
    Problem::defects(Exit::Document, message, Some(source), vec![text_defect(error)])
}

/// Why a text is no JSON, with the place.
pub(crate) fn text_defect(error: &ReadError) -> Defect {
    let offset = error.position().offset;
    Defect {
        pointer: Some(error.pointer().to_string()),
        message: error.kind().to_string(),
        span: Some(offset..offset.saturating_add(1)),
        ..Defect::default()
    }
}
