//! The signature of an item, as its source has it: what stands before its body, on one line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;

/// The sources of a checkout, read when they are first asked for.
pub(super) struct Source {
    root: PathBuf,
    read: RefCell<BTreeMap<String, Rc<str>>>,
}

impl Source {
    pub(super) fn new(root: &Path) -> Self {
        Source { root: root.to_owned(), read: RefCell::default() }
    }

    /// The text of a span.
    fn of(&self, span: &Value) -> Option<String> {
        let text = self.text(span.get("filename")?.as_str()?)?;
        let (begin, end) = (offset(&text, span.get("begin")?)?, offset(&text, span.get("end")?)?);
        text.get(begin..end).map(str::to_owned)
    }

    fn text(&self, name: &str) -> Option<Rc<str>> {
        if let Some(text) = self.read.borrow().get(name) {
            return Some(Rc::clone(text));
        }
        let text: Rc<str> = fs::read_to_string(self.root.join(name)).ok()?.into();
        self.read.borrow_mut().insert(name.to_owned(), Rc::clone(&text));
        Some(text)
    }
}

/// The byte at a line and a column, both counted from 1.
fn offset(text: &str, place: &Value) -> Option<usize> {
    let number = |at: usize| usize::try_from(place.get(at)?.as_u64()?).ok()?.checked_sub(1);
    let line: usize = text.split_inclusive('\n').take(number(0)?).map(str::len).sum();
    let before = text.get(line..)?.chars().take(number(1)?).map(char::len_utf8);
    Some(line + before.sum::<usize>())
}

/// The signature, or where the source does not show it (a macro has made it) the kind and the name.
pub(super) fn signature(item: &Value, kind: &str, source: &Source) -> String {
    let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
    let text = item.get("span").and_then(|span| source.of(span));
    let shown = text.map(|text| head(&text, kind)).filter(|head| head.contains(name));
    shown.filter(|head| !head.is_empty()).unwrap_or_else(|| format!("{kind} {name}"))
}

/// What stands before the body of an item of that kind, with each white space one space.
fn head(text: &str, kind: &str) -> String {
    let mut depth = 0_u32;
    let end = text.char_indices().find(|(_, c)| match c {
        '(' if kind == "struct" => depth == 0, // its fields have lines of their own
        '(' | '[' => {
            depth += 1;
            false
        }
        ')' | ']' if depth > 0 => {
            depth -= 1;
            false
        }
        '{' | ';' => depth == 0,
        '=' => depth == 0 && matches!(kind, "constant" | "static" | "assoc_const"),
        _ => false,
    });
    let head = text.get(..end.map_or(text.len(), |(at, _)| at)).unwrap_or_default();
    head.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_before_the_body() {
        let cases = [
            (
                "function",
                "pub fn f(a: [u8; 2],\n    b: u8) -> u8\nwhere\n    u8: Copy,\n{ 1 }",
                "pub fn f(a: [u8; 2], b: u8) -> u8 where u8: Copy,",
            ),
            ("struct", "pub struct S {\n a: u8 }", "pub struct S"),
            ("struct", "pub struct S(u8);", "pub struct S"),
            ("struct_field", "pub a: BTreeMap<u8, u8>", "pub a: BTreeMap<u8, u8>"),
            ("variant", "A { b: u8 }", "A"),
            ("variant", "A(u8, u16)", "A(u8, u16)"),
            ("constant", "pub const N: [u8; 2] = [1, 2];", "pub const N: [u8; 2]"),
            ("type_alias", "pub type T = u8;", "pub type T = u8"),
        ];
        for (kind, text, expected) in cases {
            assert_eq!(head(text, kind), expected, "{kind}");
        }
    }
}
