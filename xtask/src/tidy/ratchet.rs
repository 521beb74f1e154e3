//! The lengths above the limits that are tolerated, in a checked-in file that only shrinks.
//!
//! A line is `PATH LINES` for a file or `PATH FUNCTION LINES` for a function. What is above its limit must stand there
//! with exactly its length: what grew, what shrank and what is new are findings, and `cargo xtask tidy --bless` writes
//! only what shrank.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Finding;
use super::length::Measure;
use crate::run::Failure;

/// From the repository's root.
const FILE: &str = "xtask/tidy-ratchet.txt";

type Key = (String, Option<String>);

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ratchet(BTreeMap<Key, usize>);

impl Ratchet {
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let mut tolerated = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (path, function, lines) = match *words.as_slice() {
                [path, lines] => (path, None, lines),
                [path, function, lines] => (path, Some(function.to_owned()), lines),
                _ => {
                    return Err(format!(
                        "{FILE}: `{line}` is neither `PATH LINES` nor `PATH FUNCTION LINES`"
                    ));
                }
            };
            let lines = lines.parse().map_err(|_| format!("{FILE}: `{lines}` is no number of lines"))?;
            tolerated.insert((path.to_owned(), function), lines);
        }
        Ok(Self(tolerated))
    }

    pub(super) fn write(&self, root: &Path) -> Result<(), Failure> {
        let lines = self.0.iter().map(|((path, function), lines)| match function {
            Some(function) => format!("{path} {function} {lines}\n"),
            None => format!("{path} {lines}\n"),
        });
        fs::write(root.join(FILE), lines.collect::<String>()).map_err(|error| format!("{FILE}: {error}"))
    }

    pub(super) fn check(&self, measures: &[Measure]) -> Vec<Finding> {
        let over = over(measures);
        let mut found = Vec::new();
        for (key, measure) in &over {
            let what = key.1.as_ref().map_or_else(|| "the file".to_owned(), |name| format!("`{name}`"));
            let (lines, limit) = (measure.lines, measure.limit());
            let message = match self.0.get(key) {
                None => format!("{what} has {lines} lines, more than {limit}: split it"),
                Some(&was) if lines > was => {
                    format!("{what} grew from {was} to {lines} lines, above {limit}")
                }
                Some(&was) if lines < was => {
                    format!("{what} shrank from {was} to {lines} lines: run `cargo xtask tidy --bless`")
                }
                Some(_) => continue,
            };
            found.push(Finding::new(&key.0, measure.line, message));
        }
        for (path, function) in self.0.keys().filter(|key| !over.contains_key(*key)) {
            let what = function.as_ref().map_or_else(|| path.clone(), |name| format!("`{name}` of {path}"));
            let message = format!("{what} no longer needs its line: run `cargo xtask tidy --bless`");
            found.push(Finding::new(FILE, 0, message));
        }
        found
    }

    /// The same with everything lowered to what is there. Nothing is added and nothing is raised.
    pub(super) fn shrunk(&self, measures: &[Measure]) -> Self {
        let over = over(measures);
        let lower = self.0.iter().filter_map(|(key, &was)| {
            let measure = over.get(key)?;
            Some((key.clone(), measure.lines.min(was)))
        });
        Self(lower.collect())
    }
}

/// What is above its limit; of several functions of one name in a file, the longest.
fn over(measures: &[Measure]) -> BTreeMap<Key, &Measure> {
    let mut over: BTreeMap<Key, &Measure> = BTreeMap::new();
    for measure in measures.iter().filter(|measure| measure.lines > measure.limit()) {
        let longest = over.entry((measure.path.clone(), measure.function.clone())).or_insert(measure);
        if measure.lines > longest.lines {
            *longest = measure;
        }
    }
    over
}

#[cfg(test)]
mod tests {
    use super::super::length::{FILE_LINES_MAX, FUNCTION_LINES_MAX};
    use super::*;

    fn function(lines: usize) -> Measure {
        Measure { path: "a.rs".to_owned(), line: 7, function: Some("f".to_owned()), lines }
    }

    fn messages(ratchet: &str, measures: &[Measure]) -> Vec<String> {
        let found = Ratchet::parse(ratchet).unwrap().check(measures);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn limits_hold_at_the_line() {
        let file = |lines| Measure { path: "a.rs".to_owned(), line: 0, function: None, lines };
        assert_eq!(messages("", &[function(FUNCTION_LINES_MAX), file(FILE_LINES_MAX)]), Vec::<String>::new());
        let found = messages("", &[function(FUNCTION_LINES_MAX + 1), file(FILE_LINES_MAX + 1)]);
        let expected = [
            "a.rs: the file has 701 lines, more than 700: split it",
            "a.rs:7: `f` has 71 lines, more than 70: split it",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_tolerated_may_neither_grow_nor_shrink_unnoticed() {
        assert_eq!(messages("a.rs f 90\n", &[function(90)]), Vec::<String>::new());
        assert!(messages("a.rs f 90\n", &[function(91)])[0].contains("grew from 90 to 91"));
        assert!(messages("a.rs f 90\n", &[function(89)])[0].contains("shrank from 90 to 89"));
        assert!(messages("a.rs f 90\n", &[function(10)])[0].contains("no longer needs its line"));
        assert!(messages("a.rs f 90\n", &[])[0].contains("no longer needs its line"));
    }

    #[test]
    fn blessing_only_lowers() {
        let shrunk =
            |ratchet: &str, measures: &[Measure]| Ratchet::parse(ratchet).unwrap().shrunk(measures).0;
        let key = ("a.rs".to_owned(), Some("f".to_owned()));
        assert_eq!(shrunk("a.rs f 90\n", &[function(80)]).get(&key), Some(&80));
        assert_eq!(shrunk("a.rs f 90\n", &[function(95)]).get(&key), Some(&90));
        assert!(shrunk("a.rs f 90\n", &[function(60)]).is_empty());
        assert!(shrunk("", &[function(95)]).is_empty());
    }

    #[test]
    fn a_malformed_line_is_refused() {
        for line in ["a.rs", "a.rs f g 3", "a.rs many"] {
            assert!(Ratchet::parse(line).is_err(), "{line}");
        }
    }
}
