//! Normalized paths (RFC 9535 2.7): the one spelling of where a node stands.

use std::fmt::{self, Write};

/// Where a node stands in a document, such as `$['items'][0]['price']`: [`JsonPath::select`](crate::JsonPath::select) answers
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NormalizedPath(String);

impl NormalizedPath {
    /// The root, `$`.
    #[doc(hidden)]
    pub fn root() -> Self {
        Self("$".to_owned())
    }

    /// Goes one step down: to the member of that name.
    #[doc(hidden)]
    pub fn push_name(&mut self, name: &str) {
        self.0.push_str("['");
        for char in name.chars() {
            match char {
                '\u{8}' => self.0.push_str("\\b"),
                '\t' => self.0.push_str("\\t"),
                '\n' => self.0.push_str("\\n"),
                '\u{c}' => self.0.push_str("\\f"),
                '\r' => self.0.push_str("\\r"),
                '\'' => self.0.push_str("\\'"),
                '\\' => self.0.push_str("\\\\"),
                char if char < ' ' => {
                    // Writing to a string does not fail.
                    let _ = write!(self.0, "\\u{:04x}", u32::from(char));
                }
                char => self.0.push(char),
            }
        }
        self.0.push_str("']");
    }

    /// Goes one step down: to the element at that index.
    #[doc(hidden)]
    pub fn push_index(&mut self, index: usize) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "[{index}]");
    }

    /// The path as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NormalizedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_rfc_9535_2_7_says() {
        let mut path = NormalizedPath::root();
        for name in ["a", "", "it's", "\\", "\u{8}\t\n\u{c}\r", "\u{0}\u{b}\u{1f}", "\"\u{7f}é😀/~"] {
            path.push_name(name);
        }
        path.push_index(10);
        let expected = r#"$['a']['']['it\'s']['\\']['\b\t\n\f\r']['\u0000\u000b\u001f']['"~é😀/~'][10]"#
            .replacen('~', "\u{7f}", 1);
        assert_eq!(path.to_string(), expected);
    }
}
