//! The paths that a piece of Rust names: those of its `use` trees, and those that stand in its code.
//!
//! Not a resolver: a name is looked up nowhere. What `use` brings in is told leaf by leaf, with `crate`, `self` and
//! `super` written out from the root of the crate, so that a rule can ask for the beginning of a path.

use super::scan::{is_word, whole};

/// One path, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The byte where its statement, or the path itself, begins.
    pub(super) at: usize,
    /// Its names, the first of them `crate`, or that of a crate or of whatever is in scope.
    pub(super) names: Vec<String>,
    pub(super) by: By,
}

/// How a path is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// A leaf of a `use` tree.
    Use,
    /// A `use` of all that is below it.
    Glob,
    /// It stands in the code.
    Code,
}

/// The paths of a file. `code` has neither comments nor literals; `module` is where the file stands in its crate.
pub(super) fn named(code: &str, module: &[&str]) -> Vec<Named> {
    let mut found = Vec::new();
    let mut rest = code.to_owned();
    for at in whole(code, "use", is_word) {
        let body = code.get(at + 3..).unwrap_or_default();
        let Some(end) = body.find(';').filter(|_| !body.trim_start().starts_with('<')) else { continue };
        let body = body.get(..end).unwrap_or_default();
        let mut tree = Tree { text: body, at, found: &mut found };
        tree.read(&[]);
        rest.replace_range(at..at + 3 + end, &" ".repeat(3 + end));
    }
    found.extend(in_code(&rest));
    for path in &mut found {
        let inner = inner_modules(code, path.at);
        path.names = absolute(&path.names, module, &inner);
    }
    found
}

/// What is left of a `use` tree.
struct Tree<'a> {
    text: &'a str,
    at: usize,
    found: &'a mut Vec<Named>,
}

impl Tree<'_> {
    /// Reads one tree below a path.
    fn read(&mut self, above: &[String]) {
        let mut path = above.to_vec();
        loop {
            self.text = self.text.trim_start_matches(|c: char| c.is_whitespace() || c == ':');
            if let Some(inside) = self.text.strip_prefix('{') {
                self.text = inside;
                return self.branches(&path);
            }
            if let Some(after) = self.text.strip_prefix('*') {
                self.text = after;
                return self.leaf(path, By::Glob);
            }
            let (name, after) = word(self.text);
            if name.is_empty() {
                return;
            }
            self.text = after;
            // `self` at the end of a path is the path itself.
            if name != "self" || path.is_empty() {
                path.push(name.to_owned());
            }
            if !self.text.trim_start().starts_with("::") {
                return self.leaf(path, By::Use);
            }
        }
    }

    /// Reads what stands between braces.
    fn branches(&mut self, above: &[String]) {
        loop {
            self.text = self.text.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if let Some(after) = self.text.strip_prefix('}') {
                self.text = after;
                return;
            }
            let before = self.text.len();
            self.read(above);
            self.text = self.text.trim_start_matches(|c| !matches!(c, ',' | '}'));
            if self.text.len() == before || self.text.is_empty() {
                return;
            }
        }
    }

    fn leaf(&mut self, names: Vec<String>, by: By) {
        self.found.push(Named { at: self.at, names, by });
    }
}

/// The word that a text begins with, without the mark of a raw one, and what follows.
fn word(text: &str) -> (&str, &str) {
    let text = text.strip_prefix("r#").unwrap_or(text);
    text.split_at_checked(text.find(|c| !is_word(c)).unwrap_or(text.len())).unwrap_or((text, ""))
}

/// The paths of more than one name that stand in code.
fn in_code(code: &str) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    let mut past = 0;
    for (colons, _) in code.match_indices("::") {
        if colons < past {
            continue;
        }
        let before = code.get(..colons).unwrap_or_default();
        let first = before.trim_end().rsplit(|c| !is_word(c)).next().unwrap_or_default();
        if first.is_empty() {
            continue; // of a type in brackets, or from the root: then the next colons have the name
        }
        let at = before.trim_end().len() - first.len();
        let mut names = vec![first.to_owned()];
        let mut rest = code.get(colons..).unwrap_or_default();
        while let Some(after) = rest.trim_start().strip_prefix("::") {
            let (name, after) = word(after.trim_start());
            if name.is_empty() {
                break;
            }
            names.push(name.to_owned());
            rest = after;
        }
        past = code.len() - rest.len();
        if names.len() > 1 {
            found.push(Named { at, names, by: By::Code });
        }
    }
    found
}

/// The names of the inline modules around a place, outermost first.
fn inner_modules(code: &str, at: usize) -> Vec<String> {
    let mut inner = Vec::new();
    for start in whole(code, "mod", is_word).take_while(|start| *start < at) {
        let (name, after) = word(code.get(start + 3..).unwrap_or_default().trim_start());
        let Some(body) = after.trim_start().strip_prefix('{') else { continue };
        let end = code.len() - body.len() + closing(body);
        if at < end {
            inner.push(name.to_owned());
        }
    }
    inner
}

/// Where the brace ends that has been opened.
fn closing(body: &str) -> usize {
    let mut depth = 1_u32;
    for (at, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at,
            '}' => depth -= 1,
            _ => {}
        }
    }
    body.len()
}

/// A path from the root of the crate, where it begins with a word for a module.
fn absolute(names: &[String], module: &[&str], inner: &[String]) -> Vec<String> {
    let mut rest = names.iter().peekable();
    let own = module.iter().map(|name| (*name).to_owned()).chain(inner.iter().cloned());
    let mut from: Vec<String> = std::iter::once("crate".to_owned()).chain(own).collect();
    if !matches!(rest.peek().map(|name| name.as_str()), Some("self" | "super")) {
        return names.to_vec();
    }
    while let Some(up) = rest.next_if(|name| matches!(name.as_str(), "self" | "super")) {
        if up == "super" && from.len() > 1 {
            from.pop();
        }
    }
    from.extend(rest.cloned());
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(code: &str) -> Vec<String> {
        let shown = |path: Named| {
            let by = if path.by == By::Glob { "::*" } else { "" };
            format!("{}{by}", path.names.join("::"))
        };
        named(code, &["core", "run"]).into_iter().map(shown).collect()
    }

    #[test]
    fn a_use_tree_is_read_leaf_by_leaf() {
        let code =
            "use std::{fmt, time::{self, Duration as D}, io::{*}};\nuse ::b::r#type;\npub(crate) use x as y;";
        let expected = ["std::fmt", "std::time", "std::time::Duration", "std::io::*", "b::type", "x"];
        assert_eq!(all(code), expected);
    }

    #[test]
    fn a_path_in_code_is_read_to_its_end() {
        let code = "fn f() -> impl Fn() + use<'_> { <T as std::fmt::Debug>::fmt; ::std::env::args(); Vec::<u8>::new() }\n\
                    fn g() { a\n    ::b :: c(); }";
        assert_eq!(all(code), ["std::fmt::Debug", "std::env::args", "a::b::c"]);
    }

    #[test]
    fn words_for_modules_are_written_out() {
        let code = "use super::{a::B, super::c}; fn f() { self::d::e(); crate::g::h() }\n\
                    mod tests { use super::*; use super::super::super::drive; }\nuse self::x;";
        let expected = [
            "crate::core::a::B",
            "crate::c",
            "crate::core::run::*",
            "crate::drive",
            "crate::core::run::x",
            "crate::core::run::d::e",
            "crate::g::h",
        ];
        assert_eq!(all(code), expected);
    }

    #[test]
    fn what_is_no_rust_ends_too() {
        for code in ["use", "use ;", "use {", "use a::{b", "use a::{;}", "::", "a::", "use a::{{},,}; b::c"] {
            let _ = all(code);
        }
    }
}
