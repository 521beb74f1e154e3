//! The lists of cases that are expected to fail: checked in, sorted, one name a line, and only shrinking.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jaren_json::{ReadOptions, Value, read, to_text};

use crate::HERE;
use crate::corpus::CorpusError;
use crate::kind::Kind;

/// The list of one folder.
#[derive(Debug)]
pub(crate) struct ExpectedFailures {
    path: PathBuf,
    /// None where the folder has no list yet.
    names: Option<BTreeSet<String>>,
}

impl ExpectedFailures {
    pub(crate) fn read(kind: Kind) -> Result<Self, CorpusError> {
        let path = Path::new(HERE).join("expected-failures").join(format!("{}.txt", kind.name()));
        if !path.exists() {
            return Ok(Self { path, names: None });
        }
        let text =
            fs::read_to_string(&path).map_err(|source| CorpusError::File { path: path.clone(), source })?;
        let names: Vec<String> = text.lines().map(parse).collect();
        if !names.is_sorted() {
            return Err(CorpusError::Shape { path, found: "the names are not sorted".to_owned() });
        }
        Ok(Self { path, names: Some(names.into_iter().collect()) })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.as_ref().is_some_and(|names| names.contains(name))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &String> {
        self.names.iter().flatten()
    }

    /// Writes the list without what passed and, when everything ran, without names that no case has. A folder
    /// that has no list yet gets what failed.
    pub(crate) fn bless(
        &self,
        failed: &BTreeSet<&str>,
        ran: &BTreeSet<&str>,
        complete: bool,
    ) -> Result<(), CorpusError> {
        let names: BTreeSet<&str> = match &self.names {
            None => failed.clone(),
            Some(names) => names
                .iter()
                .map(String::as_str)
                .filter(|name| if ran.contains(name) { failed.contains(name) } else { !complete })
                .collect(),
        };
        let mut text: String = names.into_iter().map(line).collect::<Vec<_>>().join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        fs::write(&self.path, text).map_err(|source| CorpusError::File { path: self.path.clone(), source })
    }
}

/// A name on its line: as it is, or as a JSON string where a line could not hold it.
fn line(name: &str) -> String {
    let plain = !name.starts_with('"') && name.trim() == name && !name.contains(char::is_control);
    if plain { name.to_owned() } else { to_text(&Value::from(name)).unwrap_or_default() }
}

fn parse(line: &str) -> String {
    let quoted = line.starts_with('"').then(|| read(line.as_bytes(), &ReadOptions::data()).ok()).flatten();
    quoted.as_ref().and_then(Value::as_str).unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back_from_its_line() {
        for name in ["plain: name", "ends with a blank ", "has\na line end", "\"quoted\"", "tab\there", ""] {
            let line = line(name);
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(parse(&line), name);
        }
    }

    #[test]
    fn a_list_only_shrinks() {
        let path = std::env::temp_dir().join(format!("jaren-expected-{}.txt", std::process::id()));
        let set = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<_>>();
        let bless =
            |names: Option<&[&'static str]>, failed: &[&'static str], ran: &[&'static str], complete| {
                let names = names.map(|names| names.iter().map(|&name| name.to_owned()).collect());
                let list = ExpectedFailures { path: path.clone(), names };
                list.bless(&set(failed), &set(ran), complete).unwrap();
                fs::read_to_string(&path).unwrap()
            };
        // What passes goes, what newly fails does not come.
        assert_eq!(bless(Some(&["a", "b"]), &["b", "c"], &["a", "b", "c"], false), "b\n");
        // A name that did not run stays, unless everything ran.
        assert_eq!(bless(Some(&["a", "gone"]), &["a"], &["a"], false), "a\ngone\n");
        assert_eq!(bless(Some(&["a", "gone"]), &["a"], &["a"], true), "a\n");
        // A new folder is seeded; an empty list is a list.
        assert_eq!(bless(None, &["c"], &["a", "c"], false), "c\n");
        assert_eq!(bless(Some(&[]), &["c"], &["c"], true), "");
        fs::remove_file(&path).unwrap();
    }
}
