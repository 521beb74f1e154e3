//! Drift between the docs and the code: every crate on the map, every code explained, the test command printed.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::Metadata;

use super::Finding;
use super::files::SourceFile;
use super::scan::{is_word, whole};

/// Pages that must name every crate of `crates/`.
const MAPS: [&str; 2] = ["README.md", "docs/architecture.md"];

/// The page that explains every code.
const ERRORS: &str = "docs/errors.md";

/// The line of the README that `.ci/run` looks for and runs.
const TEST_COMMAND: &str = "cargo xtask ci";

/// The names of the packages under `crates/`.
pub(super) fn library_crates(metadata: &Metadata) -> BTreeSet<String> {
    let members = metadata.workspace_packages().into_iter();
    let crates = members.filter(|member| member.manifest_path.as_str().contains("/crates/"));
    crates.map(|member| member.name.to_string()).collect()
}

pub(super) fn check(sources: &[SourceFile], crates: &BTreeSet<String>) -> Vec<Finding> {
    let page = |path: &str| sources.iter().find(|file| file.path == path);
    let mut found = Vec::new();
    for path in MAPS {
        let text = page(path).map_or("", |file| &*file.text);
        for name in crates.iter().filter(|name| !names(text, name)) {
            found.push(Finding::new(path, 0, format!("the crate `{name}` is missing on this page")));
        }
    }
    let readme = page("README.md").map_or("", |file| &*file.text);
    if !readme.lines().any(|line| command(line) == TEST_COMMAND) {
        let message = format!("the test command `{TEST_COMMAND}`, which .ci/run reads here, is missing");
        found.push(Finding::new("README.md", 0, message));
    }
    if let Some(errors) = page(ERRORS) {
        found.extend(errors_page(&errors.text, &codes(sources)));
    }
    found
}

/// The page against the codes that the crates give, each with a file that gives it.
fn errors_page(text: &str, codes: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut rows = BTreeSet::new();
    for (line, text) in (1..).zip(text.lines()) {
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        let Some(code) = cells.get(1).and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`')) else {
            continue;
        };
        if !is_code(code) {
            continue;
        }
        let mut complain = |message: String| found.push(Finding::new(ERRORS, line, message));
        if !matches!(*cells.as_slice(), ["", _, means, cure, ""] if !means.is_empty() && !cure.is_empty()) {
            complain(format!("`{code}` needs two cells: what it means, and what to do"));
        }
        if !codes.contains_key(code) {
            complain(format!("`{code}` is given by no crate: remove its row"));
        }
        if !rows.insert(code) {
            complain(format!("`{code}` has two rows"));
        }
    }
    let missing = codes.iter().filter(|(code, _)| !rows.contains(code.as_str()));
    found.extend(
        missing
            .map(|(code, path)| Finding::new(path, 0, format!("the code `{code}` has no row in {ERRORS}"))),
    );
    found
}

/// A line of a console block without its prompt and its comment.
fn command(line: &str) -> &str {
    line.trim_start_matches("$ ").split(" #").next().unwrap_or("").trim()
}

/// Whether a text has a name, not as the beginning of a longer one.
fn names(text: &str, name: &str) -> bool {
    whole(text, name, |c| is_word(c) || c == '-').next().is_some()
}

/// Every code that the crates can give, with a file that gives it.
fn codes(sources: &[SourceFile]) -> BTreeMap<String, String> {
    let mut codes = BTreeMap::new();
    for file in sources.iter().filter(|file| file.path.starts_with("crates/") && !file.is_test()) {
        for literal in file.text.split('"') {
            if is_code(literal) {
                codes.entry(literal.to_owned()).or_insert_with(|| file.path.clone());
            }
        }
    }
    codes
}

/// `J`, a capital letter, four digits, as `JF0011`; or what a command of a task came to, as `command-status`.
fn is_code(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix("command-") {
        return !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    }
    let mut bytes = text.bytes();
    bytes.next() == Some(b'J')
        && bytes.next().is_some_and(|byte| byte.is_ascii_uppercase())
        && bytes.len() == 4
        && bytes.all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files.iter().map(|(path, text)| SourceFile::new(path, text)).collect();
        let crates = ["jaren", "jaren-json"].map(str::to_owned).into();
        check(&sources, &crates).iter().map(ToString::to_string).collect()
    }

    const README: (&str, &str) = ("README.md", "jaren jaren-json\n$ cargo xtask ci  # everything\n");
    const MAP: (&str, &str) = ("docs/architecture.md", "`jaren`, `jaren-json`");

    #[test]
    fn a_true_map_has_no_finding() {
        let code = ("crates/a/src/lib.rs", "const C: &str = \"JF0011\";");
        let page = ("docs/errors.md", "| code | means | do |\n|---|---|---|\n| `JF0011` | why | how |\n");
        assert_eq!(messages(&[README, MAP, code, page]), Vec::<String>::new());
    }

    #[test]
    fn a_longer_name_does_not_stand_for_a_shorter_one() {
        let found = messages(&[README, ("docs/architecture.md", "`jaren-json`")]);
        assert_eq!(found, ["docs/architecture.md: the crate `jaren` is missing on this page"]);
    }

    #[test]
    fn an_unexplained_code_and_a_missing_command_are_found() {
        let code =
            ("crates/a/src/lib.rs", "f(\"JF0011\", \"JF001\", \"JFabcd\", \"command-x\", \"command-X\")");
        let found =
            messages(&[("README.md", "jaren jaren-json"), MAP, code, ("docs/errors.md", "JF0011: `JF0011`")]);
        assert!(found[0].contains("the test command"), "{found:?}");
        let unexplained =
            |code| format!("crates/a/src/lib.rs: the code `{code}` has no row in docs/errors.md");
        assert_eq!(found[1..], [unexplained("JF0011"), unexplained("command-x")]);
    }

    #[test]
    fn a_row_that_is_stale_or_double_or_empty_is_found() {
        let code = ("crates/a/src/lib.rs", "\"JF0011\"");
        let rows =
            "| `JF0011` | why | |\n| `JF0011` | why | how |\n| `JE0001` | why | how |\n| `other` | x | y |\n";
        let expected = [
            "docs/errors.md:1: `JF0011` needs two cells: what it means, and what to do",
            "docs/errors.md:2: `JF0011` has two rows",
            "docs/errors.md:3: `JE0001` is given by no crate: remove its row",
        ];
        assert_eq!(messages(&[README, MAP, code, ("docs/errors.md", rows)]), expected);
    }
}
