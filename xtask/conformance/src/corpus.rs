//! Finding and reading the cases.

use std::fs;
use std::path::{Path, PathBuf};

use jaren_json::{
    Duplicates, Integers, Pointer, ReadError, ReadOptions, Value, locate, read as read_json, value,
};
use thiserror::Error;

use crate::case::{Case, DOCUMENTS};
use crate::kind::Kind;

/// Why the corpus could not be read.
#[derive(Debug, Error)]
pub(crate) enum CorpusError {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}")]
    Json { path: PathBuf, source: ReadError },
    #[error("{path}: {found}")]
    Shape { path: PathBuf, found: String },
    #[error("{path}: no folder above it has a format's name, and it is none of the third-party suites")]
    Kind { path: PathBuf },
}

/// All cases under the given roots, folders and files, in the order of their names.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Case>, CorpusError> {
    let mut cases = Vec::new();
    for path in paths {
        let path =
            fs::canonicalize(path).map_err(|source| CorpusError::File { path: path.clone(), source })?;
        let mut files = Vec::new();
        if path.is_dir() {
            walk(&path, &mut files)?;
            files.retain(|file| kind_of(file).is_some());
        } else {
            files.push(path.clone());
        }
        if files.is_empty() {
            return Err(CorpusError::Shape { path, found: "no file of cases is in here".to_owned() });
        }
        for file in files {
            let kind = kind_of(&file).ok_or_else(|| CorpusError::Kind { path: file.clone() })?;
            cases.extend(read_file(kind, &file)?);
        }
    }
    Ok(cases)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CorpusError> {
    let failed = |source| CorpusError::File { path: folder.to_path_buf(), source };
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut below = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    below.sort();
    for path in below {
        if path.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// The kind that the nearest folder's name tells, or the file's own.
fn kind_of(file: &Path) -> Option<Kind> {
    let named = |path: &Path| path.file_name().and_then(|name| name.to_str()).and_then(Kind::of_name);
    if file.file_stem().is_some_and(|stem| stem == Kind::JsonpathCts.name()) {
        return Some(Kind::JsonpathCts);
    }
    file.ancestors().skip(1).find_map(named)
}

fn read_file(kind: Kind, path: &Path) -> Result<Vec<Case>, CorpusError> {
    let shape = |found: String| CorpusError::Shape { path: path.to_path_buf(), found };
    let text = fs::read(path).map_err(|source| CorpusError::File { path: path.to_path_buf(), source })?;
    if kind == Kind::Jcs {
        return jcs(path, &text);
    }
    let file = read_json(&text, &lenient())
        .map_err(|source| CorpusError::Json { path: path.to_path_buf(), source })?;
    let cases = if kind == Kind::JsonpathCts { file.get("tests") } else { Some(&file) };
    let cases = cases.and_then(Value::as_array).ok_or_else(|| shape("no array of cases".to_owned()))?;
    let mut read: Vec<Case> = cases
        .iter()
        .enumerate()
        .map(|(index, case)| {
            Case::new(kind, case.clone()).ok_or_else(|| shape(format!("case {index} has no name")))
        })
        .collect::<Result<_, _>>()?;
    if kind != Kind::JsonpathCts && read_json(&text, &strict()).is_err() {
        refuse(&mut read, &text);
    }
    Ok(read)
}

/// Everything that can be read is: what a case gives may be what a reader must refuse.
fn lenient() -> ReadOptions {
    ReadOptions { duplicates: Duplicates::LastWins, integers: Integers::Nearest, ..unlimited() }
}

/// As documents are read.
fn strict() -> ReadOptions {
    ReadOptions { duplicates: Duplicates::Refuse, integers: Integers::Exact, ..unlimited() }
}

/// A case file is trusted and lies deeper than the documents in it.
fn unlimited() -> ReadOptions {
    ReadOptions { depth_max: 2_000, ..ReadOptions::document() }
}

/// Notes for each case whose document the strict reader refuses where it does.
fn refuse(cases: &mut [Case], text: &[u8]) {
    for (index, case) in cases.iter_mut().enumerate() {
        let at = Pointer::default().child_index(index);
        for member in DOCUMENTS {
            let span = locate(text, &at.child(member));
            let document = span.and_then(|span| text.get(span.start.offset..span.end.offset));
            if let Some(Err(error)) = document.map(|document| read_json(document, &strict())) {
                case.refused = Some(error.pointer().clone());
            }
        }
    }
}

/// A pair of files, `x.input.json` and its exact canonical bytes in `x.output.json`, in the form of a canonical case.
fn jcs(path: &Path, input: &[u8]) -> Result<Vec<Case>, CorpusError> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(stem) = name.strip_suffix(".input.json") else { return Ok(Vec::new()) };
    let output_path = path.with_file_name(format!("{stem}.output.json"));
    let output =
        fs::read(&output_path).map_err(|source| CorpusError::File { path: output_path.clone(), source })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let body = value!({ "name": stem, "text": text(input), "canonical": text(&output) });
    Ok(Case::new(Kind::Jcs, body).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_with_a_formats_name_tells_the_kind() {
        let kind = |path: &str| kind_of(Path::new(path));
        assert_eq!(kind("/a/query/b.json"), Some(Kind::Query));
        assert_eq!(kind("/query/dag/deeper/b.json"), Some(Kind::Dag));
        assert_eq!(kind("/a/third-party/jsonpath-cts.json"), Some(Kind::JsonpathCts));
        assert_eq!(kind("/a/third-party/jcs/x.input.json"), Some(Kind::Jcs));
        assert_eq!(kind("/a/other/query.json"), None);
    }

    #[test]
    fn a_document_that_the_strict_reader_refuses_is_noted_with_its_place() {
        let text =
            br#"[{"name":"a","document":{"x":{"y":1,"y":2}}},{"name":"b","query":[1,9007199254740993]},
            {"name":"c","query":1,"input":{"z":1,"z":2}}]"#;
        let file = read_json(text, &lenient()).unwrap();
        let mut cases: Vec<_> =
            file.as_array().unwrap().iter().map(|case| Case::new(Kind::Dag, case.clone()).unwrap()).collect();
        refuse(&mut cases, text);
        let refused: Vec<_> = cases.iter().map(|case| case.refused.as_ref().map(Pointer::as_str)).collect();
        assert_eq!(refused, [Some("/x/y"), Some("/1"), None]);
    }
}
