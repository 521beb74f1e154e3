//! Making text of unknown origin harmless before it reaches a terminal or a stored failure.

use std::borrow::Cow;

/// Whether printing the character could move the cursor, recolour the screen or reorder the text around it.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn replace(text: &str, keep: impl Fn(char) -> bool, escape: impl Fn(u32) -> String) -> Cow<'_, str> {
    if !text.chars().any(|c| is_harmful(c) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_harmful(c) && !keep(c) {
            safe.push_str(&escape(u32::from(c)));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

fn visible(code: u32) -> String {
    format!("\\u{{{code:x}}}")
}

/// One line of text: control and direction characters, line ends included, become visible escapes.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    replace(text, |_| false, visible)
}

/// Several lines of text: as [`line`], but line ends and tabs stay.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    replace(text, |c| matches!(c, '\n' | '\t'), visible)
}

/// JSON text of the same value: as [`lines`], but the characters, which stand in strings only, become escapes of JSON.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    // None of them lies beyond U+FFFF.
    replace(text, |c| c == '\n', |code| format!("\\u{code:04x}"))
}

#[cfg(test)]
mod tests {
    use jaren::json::{ReadOptions, pretty, read, value};

    use super::*;

    #[test]
    fn harmless_text_is_not_copied() {
        assert!(matches!(line("grün, 日本"), Cow::Borrowed(_)));
        assert!(matches!(lines("a\n\tb"), Cow::Borrowed(_)));
    }

    #[test]
    fn escapes_and_direction_marks_become_visible() {
        assert_eq!(line("\u{1b}[31mred\u{202e}\n"), "\\u{1b}[31mred\\u{202e}\\u{a}");
        assert_eq!(lines("a\r\nb\u{9b}"), "a\\u{d}\nb\\u{9b}");
    }

    #[test]
    fn json_text_keeps_its_value() {
        let value = value!({ "a\u{9b}": ["\u{202e}", "\u{1b}\u{feff}"] });
        let text = pretty(&value).unwrap();
        let safe = json(&text);
        assert!(!safe.contains(|c| is_harmful(c) && c != '\n'), "{safe}");
        assert_eq!(read(safe.as_bytes(), &ReadOptions::document()).unwrap(), value);
    }
}
