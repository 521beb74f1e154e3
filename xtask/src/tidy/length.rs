//! How long files and functions are.

use super::files::SourceFile;
use super::scan::{is_word, whole};

/// A file above this gets a note.
const FILE_LINES_SOFT: usize = 500;
/// A file above this is a finding, unless the ratchet tolerates it.
pub(super) const FILE_LINES_MAX: usize = 700;
/// A function above this is a finding, unless the ratchet tolerates it.
pub(super) const FUNCTION_LINES_MAX: usize = 70;

/// Something measured in lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) path: String,
    /// The line where it begins; 0 for a file.
    pub(super) line: usize,
    /// None for a file.
    pub(super) function: Option<String>,
    pub(super) lines: usize,
}

impl Measure {
    pub(super) fn limit(&self) -> usize {
        if self.function.is_some() { FUNCTION_LINES_MAX } else { FILE_LINES_MAX }
    }
}

/// Files near their limit.
pub(super) fn notes(measures: &[Measure]) -> Vec<String> {
    let files = measures.iter().filter(|measure| measure.function.is_none());
    files
        .filter(|file| file.lines > FILE_LINES_SOFT && file.lines <= FILE_LINES_MAX)
        .map(|file| {
            format!("{} has {} lines without its tests; does it hold two ideas?", file.path, file.lines)
        })
        .collect()
}

pub(super) fn measure_all(sources: &[SourceFile]) -> Vec<Measure> {
    sources.iter().flat_map(measure).collect()
}

/// The file without its tests, then its functions in order. A file that is all tests is measured by its functions only.
fn measure(file: &SourceFile) -> Vec<Measure> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let code = Code(&rust.code);
    let mut measures = Vec::new();
    if !file.is_test() {
        let lines = rust.code.lines().count() - code.test_lines();
        measures.push(Measure { path: file.path.clone(), line: 0, function: None, lines });
    }
    for (name, line, lines) in code.functions() {
        measures.push(Measure { path: file.path.clone(), line, function: Some(name), lines });
    }
    measures
}

/// Code without comments and literals.
struct Code<'a>(&'a str);

impl Code<'_> {
    /// Name, first line and length in lines of every function with a body.
    fn functions(&self) -> Vec<(String, usize, usize)> {
        let mut found = Vec::new();
        // `r#fn` is a name.
        for at in whole(self.0, "fn", |c| is_word(c) || c == '#') {
            let after = self.0.get(at + 2..).unwrap_or("");
            let name: String = after.trim_start().chars().take_while(|&c| is_word(c)).collect();
            // A type such as `fn(u8)` has no name, a method of a trait may have no body.
            let end = self.block_end(at).filter(|_| !name.is_empty());
            if let Some(end) = end {
                let line = self.line(at);
                found.push((name, line, self.line(end) + 1 - line));
            }
        }
        found
    }

    /// The number of lines in items that only tests see.
    fn test_lines(&self) -> usize {
        let mut lines = 0;
        let mut past = 0;
        for (at, _) in self.0.match_indices("#[cfg(test)]") {
            if at >= past {
                let end = self.block_end(at + "#[cfg(test)]".len());
                past = end.unwrap_or(at);
                lines += end.map_or(0, |end| self.line(end) + 1 - self.line(at));
            }
        }
        lines
    }

    /// Where the block ends that belongs to the item at `at`; none for an item that ends with a semicolon.
    fn block_end(&self, at: usize) -> Option<usize> {
        let (mut round, mut curly) = (0_i32, 0_i32);
        for (offset, c) in self.0.get(at..)?.char_indices() {
            match c {
                '(' | '[' => round += 1,
                ')' | ']' => round -= 1,
                '{' => curly += 1,
                '}' => {
                    curly -= 1;
                    if curly == 0 && round == 0 {
                        return Some(at + offset);
                    }
                }
                ';' if round == 0 && curly == 0 => return None,
                _ => {}
            }
        }
        None
    }

    fn line(&self, at: usize) -> usize {
        1 + self.0.bytes().take(at).filter(|&byte| byte == b'\n').count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(Option<String>, usize, usize)> {
        let file = SourceFile::new("crates/a/src/b.rs", text);
        measure(&file).into_iter().map(|m| (m.function, m.line, m.lines)).collect()
    }

    #[test]
    fn functions_are_measured_from_fn_to_the_closing_brace() {
        let text = "fn a() {\n  if x { }\n}\ntrait T { fn none(&self) -> [u8; 2]; fn one() {} }\n\
                    type F = fn(u8) -> u8;\nfn b<const N: usize>(x: [u8; N])\nwhere\n  X: Y,\n{\n  \"}\"\n}\n";
        let functions: Vec<_> = of(text).into_iter().skip(1).collect();
        let expected = [("a", 1, 3), ("one", 4, 1), ("b", 6, 6)];
        assert_eq!(functions, expected.map(|(name, line, lines)| (Some(name.to_owned()), line, lines)));
    }

    #[test]
    fn tests_do_not_count_for_the_file() {
        let text = "//! Words.\nfn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n";
        assert_eq!(of(text).first(), Some(&(None, 0, 3)));
        let outside = "//! Words.\n#[cfg(test)]\nmod tests;\nfn c() {}\n";
        assert_eq!(of(outside).first(), Some(&(None, 0, 4)));
    }

    #[test]
    fn a_file_of_tests_is_measured_by_its_functions_only() {
        let file = SourceFile::new("crates/a/tests/b.rs", "//! Words.\nfn a() {}\n");
        assert_eq!(measure(&file).len(), 1);
    }
}
