//! A Rust text with its code and its comments told apart.
//!
//! Not a parser: enough of the lexical rules (comments that nest, raw strings, characters against lifetimes) that a
//! brace, a macro name or a word is never taken from inside a string or a comment.

/// What a scan keeps.
#[derive(Debug)]
pub(super) struct Scanned {
    /// As long as the text, line for line; comments and the insides of literals are spaces.
    pub(super) code: String,
    /// As `code`, with everything but the comments as spaces.
    pub(super) comments: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Code,
    Comment,
    Literal,
}

/// Splits a text.
pub(super) fn scan(text: &str) -> Scanned {
    let mut scanned =
        Scanned { code: String::with_capacity(text.len()), comments: String::with_capacity(text.len()) };
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, length) = first_piece(rest);
        let (taken, after) = rest.split_at_checked(length.max(1)).unwrap_or((rest, ""));
        let (code, comments) = match piece {
            Piece::Code => (taken.to_owned(), blank(taken)),
            Piece::Comment => (blank(taken), taken.to_owned()),
            Piece::Literal => (blank(taken), blank(taken)),
        };
        scanned.code.push_str(&code);
        scanned.comments.push_str(&comments);
        rest = after;
    }
    scanned
}

/// Spaces of the same length in bytes, line ends kept.
fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// The kind and the length in bytes of what a text begins with.
fn first_piece(rest: &str) -> (Piece, usize) {
    if rest.starts_with("//") {
        return (Piece::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Piece::Comment, block_comment(rest));
    }
    let first = rest.chars().next().unwrap_or(' ');
    if first == '"' {
        return (Piece::Literal, quoted(rest, '"'));
    }
    if first == '\'' {
        return match character(rest) {
            Some(length) => (Piece::Literal, length),
            None => (Piece::Code, 1),
        };
    }
    if !is_word(first) {
        return (Piece::Code, first.len_utf8());
    }
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let (name, after) = rest.split_at(word);
    let prefixed = match name {
        "r" | "br" | "cr" => raw(after),
        "b" | "c" if after.starts_with('"') => Some(quoted(after, '"')),
        "b" if after.starts_with('\'') => character(after),
        _ => None,
    };
    match prefixed {
        Some(length) => (Piece::Literal, word + length),
        None => (Piece::Code, word),
    }
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where a word stands that is not part of a longer one; `part` tells what words are made of.
pub(super) fn whole<'a>(
    text: &'a str,
    word: &'a str,
    part: fn(char) -> bool,
) -> impl Iterator<Item = usize> + 'a {
    let (begins, ends) = (word.starts_with(part), word.ends_with(part));
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !(begins && before.is_some_and(part) || ends && after.is_some_and(part))
    })
}

/// The length of a comment that begins here; comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a literal between two of the same quote.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// The length of a raw string after its prefix, or none where no raw string begins (a raw identifier).
fn raw(after: &str) -> Option<usize> {
    let hashes = after.bytes().take_while(|&byte| byte == b'#').count();
    let body = after.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(after.len(), |at| hashes + 1 + at + end.len()))
}

/// The length of a character literal, or none where a lifetime begins.
fn character(rest: &str) -> Option<usize> {
    let mut inside = rest.chars().skip(1);
    let first = inside.next()?;
    if first == '\\' {
        return Some(quoted(rest, '\''));
    }
    (inside.next() == Some('\'')).then(|| 2 + first.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let scanned = scan(text);
        assert_eq!(scanned.code.len(), text.len());
        scanned.code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        assert_eq!(code("a // b { \n c /* d /* e */ } */ f"), "a c f");
        assert_eq!(code(r##"a "b \" {" c r#"d " { "# e b"f{" g"##), "a c e g");
        assert_eq!(code("let π = \"ü{\"; x"), "let π = ; x");
    }

    #[test]
    fn characters_are_literals_and_lifetimes_are_code() {
        assert_eq!(code(r"('{', '\'', '\u{7d}', b'}', 'ü') &'a str"), "( , , , , ) &'a str");
        assert_eq!(code("r#type r#fn"), "r#type r#fn");
    }

    #[test]
    fn what_never_ends_ends_with_the_text() {
        for text in ["\"abc", "r#\"abc\"", "/* /* */", "'", "'\\"] {
            assert_eq!(scan(text).code.len(), text.len(), "{text}");
        }
    }

    #[test]
    fn a_whole_word_is_no_part_of_a_longer_one() {
        let found: Vec<_> = whole("todo!() mytodo!() (todo!())", "todo!", is_word).collect();
        assert_eq!(found, [0, 19]);
        assert_eq!(whole("xfn fnx fn", "fn", is_word).collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn comments_are_kept_in_their_place() {
        let scanned = scan("a\n  // word");
        assert_eq!(scanned.comments, " \n  // word");
    }
}
