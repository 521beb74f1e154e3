//! The files that the rules look at.

use std::fs;
use std::path::Path;

use super::scan::{self, Scanned};
use crate::run::Failure;

/// A text file of the repository.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// From the repository's root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// Code and comments apart, for Rust files.
    pub(super) rust: Option<Scanned>,
}

impl SourceFile {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let rust = Path::new(path).extension().is_some_and(|ending| ending == "rs").then(|| scan::scan(text));
        Self { path: path.to_owned(), text: text.to_owned(), rust }
    }

    /// Whether the whole file is test code: an integration test, or a module of unit tests.
    pub(super) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "tests" | "tests.rs"))
    }

    pub(super) fn is_markdown(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|ending| ending == "md")
    }
}

/// What holds sources. Everything else at the top is configuration, or was put there by running something.
const TOP: [&str; 9] =
    [".ci", "Cargo.toml", "README.md", "crates", "deny.toml", "docs", "examples", "tests", "xtask"];

/// Endings of files that people write. Data files keep the form in which they came.
const ENDINGS: [&str; 4] = [".rs", ".md", ".toml", ".sh"];

/// All files that the rules look at, sorted by path.
pub(super) fn sources(root: &Path) -> Result<Vec<SourceFile>, Failure> {
    let mut found = Vec::new();
    for name in TOP {
        let path = root.join(name);
        if path.exists() {
            walk(&path, name, &mut found)?;
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(path: &Path, name: &str, found: &mut Vec<SourceFile>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if path.is_dir() {
        for entry in fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let below = entry.file_name();
            let below = below.to_string_lossy();
            if below != "target" {
                walk(&entry.path(), &format!("{name}/{below}"), found)?;
            }
        }
    } else if name == ".ci/run" || ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        found.push(SourceFile::new(name, &fs::read_to_string(path).map_err(failed)?));
    }
    Ok(())
}
