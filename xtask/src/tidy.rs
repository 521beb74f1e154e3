//! Style that no compiler checks; runs as the task `tidy` and as a test.
//!
//! Each rule is a function from what it looks at to findings, and is tested on planted text.

mod docs;
mod files;
mod leftovers;
mod length;
mod links;
mod manifests;
mod paths;
mod purity;
mod ratchet;
mod scan;

use std::fmt;
use std::path::Path;

use crate::run::Failure;
use crate::workspace;
use files::SourceFile;
use ratchet::Ratchet;

/// A place and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// From 1; 0 where the whole file is meant.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// The task. `bless` lowers what the ratchet tolerates to what is there; it never raises it.
pub(crate) fn tidy(bless: bool) -> Result<(), Failure> {
    let root = workspace::root();
    let sources = files::sources(root)?;
    let measures = length::measure_all(&sources);
    for note in length::notes(&measures) {
        println!("tidy: note: {note}");
    }
    if bless {
        Ratchet::read(root)?.shrunk(&measures).write(root)?;
    }
    let findings = findings(root, &sources)?;
    for finding in &findings {
        eprintln!("tidy: {finding}");
    }
    if findings.is_empty() {
        println!("tidy: {} files are in order", sources.len());
        Ok(())
    } else {
        Err(format!("{} findings of tidy", findings.len()))
    }
}

/// Everything that every rule finds, sorted by place.
fn findings(root: &Path, sources: &[SourceFile]) -> Result<Vec<Finding>, Failure> {
    let mut found: Vec<Finding> = sources.iter().flat_map(leftovers::check).collect();
    found.extend(Ratchet::read(root)?.check(&length::measure_all(sources)));
    found.extend(links::check(root, sources));
    let metadata = workspace::metadata()?;
    found.extend(manifests::check(sources, &manifests::users(&metadata)));
    found.extend(purity::check(sources, &purity::rules(&metadata)?));
    found.extend(docs::check(sources, &docs::library_crates(&metadata)));
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let root = workspace::root();
        let sources = files::sources(root).unwrap();
        assert!(sources.len() > 20, "the walk found only {} files", sources.len());
        let found = findings(root, &sources).unwrap();
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "`cargo xtask tidy` finds:\n{}", shown.join("\n"));
    }
}
