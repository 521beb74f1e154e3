//! A place in a source file, shown with its line and a caret under it.

use std::ops::Range;

use crate::text;

/// Characters of a source line that are shown; a longer one is cut around the caret.
const WIDTH_MAX: usize = 100;

/// A place in a text, for people: lines and columns count from one, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
    /// The line's text, cut around the place and harmless to print.
    pub(crate) shown: String,
    /// Where the caret stands under `shown`, in characters from 0.
    pub(crate) caret: usize,
    /// How many carets, at least 1.
    pub(crate) carets: usize,
}

/// Finds the place of `span`, a range of byte offsets into `source`; what lies beyond the end means the end.
pub(crate) fn place(source: &[u8], span: &Range<usize>) -> Place {
    let start = span.start.min(source.len());
    let (before, after) = source.split_at(start);
    let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let line = before.split(|&b| b == b'\n').count();
    let head = String::from_utf8_lossy(before.get(line_start..).unwrap_or_default());
    let rest = after.split(|&b| b == b'\n').next().unwrap_or_default();
    let marked = span.end.saturating_sub(start).min(rest.len());
    let (marked, tail) = rest.split_at(marked);
    let marked = String::from_utf8_lossy(marked);
    let tail = String::from_utf8_lossy(tail);
    let column = head.chars().count() + 1;

    // Where the line is cut, the caret sits two thirds into it, so that what leads to the place is seen.
    let whole =
        [&*head, &*marked, &*tail].iter().map(|part| part.chars().count()).sum::<usize>() <= WIDTH_MAX;
    let head = trim_start(&head, if whole { WIDTH_MAX } else { WIDTH_MAX * 2 / 3 });
    let room = WIDTH_MAX - head.chars().count();
    let rest = trim_end(&format!("{marked}{}", tail.trim_end()), room);
    Place {
        line,
        column,
        caret: head.chars().count(),
        carets: marked.chars().count().clamp(1, rest.chars().count().max(1)),
        shown: format!("{head}{rest}"),
    }
}

/// A source character as one printed column: an escape would move the caret away from what it marks.
fn printable(c: char) -> char {
    match text::line(c.encode_utf8(&mut [0; 4])) {
        std::borrow::Cow::Borrowed(_) => c,
        std::borrow::Cow::Owned(_) if c == '\t' => ' ',
        std::borrow::Cow::Owned(_) => '\u{fffd}',
    }
}

fn trim_start(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.chars().map(printable).collect();
    }
    std::iter::once('…').chain(text.chars().skip(count - width + 1).map(printable)).collect()
}

fn trim_end(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.chars().map(printable).collect();
    }
    text.chars().take(width - 1).map(printable).chain(std::iter::once('…')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_characters_and_marks_its_span() {
        let source = "{\n  \"grün\": [1,\tnul]\n}".as_bytes();
        let start = source.windows(3).position(|w| w == b"nul").unwrap();
        let found = place(source, &(start..start + 3));
        assert_eq!((found.line, found.column), (2, 15));
        assert_eq!(found.shown, "  \"grün\": [1, nul]");
        assert_eq!((found.caret, found.carets), (14, 3));
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret() {
        let source = format!("{{\"a\":\"{}\",\"b\":oops,\"c\":\"{}\"}}", "x".repeat(5000), "y".repeat(5000));
        let start = source.find("oops").unwrap();
        let found = place(source.as_bytes(), &(start..start + 4));
        assert_eq!(found.column, start + 1);
        assert_eq!(found.shown.chars().count(), WIDTH_MAX);
        let marked: String = found.shown.chars().skip(found.caret).take(found.carets).collect();
        assert_eq!(marked, "oops");
        assert!(found.shown.starts_with('…') && found.shown.ends_with('…'));
    }

    #[test]
    fn the_end_of_the_text_and_beyond_is_a_place() {
        for source in ["", "{\n", "{"] {
            let found = place(source.as_bytes(), &(99..120));
            assert_eq!(found.carets, 1);
        }
        assert_eq!(place(b"a\nb\n", &(4..4)).line, 3);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_break_the_line() {
        let found = place(b"\xff\x1b[31m", &(1..2));
        assert_eq!(found.shown, "\u{fffd}\u{fffd}[31m");
    }
}
