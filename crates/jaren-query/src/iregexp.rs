//! I-Regexp (RFC 9485): checked against its whole grammar, then translated for the `regex` crate.
//!
//! What the grammar does not have never reaches the engine: no back-references, no look-around, no flags. The engine
//! matches in time linear in the text, and a pattern's program has a bound, so no pattern is a trap. What is compiled and
//! matched during an evaluation is paid for by the size of the program.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use jaren_json::Str;
use regex::{Regex, RegexBuilder};

use crate::budget::{Budget, Spent};

/// The most bytes that the program of one pattern may take. A class of Unicode letters takes some tens of thousands, and
/// each repetition of it as much again.
pub(crate) const PROGRAM_BYTES_MAX: usize = 4 << 20;
/// The sizes at which a program is tried, so that what compiles to a small one pays for a small one.
const SIZES: [usize; 4] = [8 << 10, 64 << 10, 512 << 10, PROGRAM_BYTES_MAX];
/// How long a pattern may be in bytes, and how many categories (`\p{…}`) it may name: far more than fit into the largest
/// program, and few enough to be read before it is known that they do not.
const PATTERN_BYTES_MAX: usize = 64 << 10;
const CATEGORIES_MAX: usize = 1024;
/// How deep groups may nest.
const GROUPS_MAX: u32 = 100;

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternDefect {
    /// It does not conform to RFC 9485.
    Invalid,
    /// It conforms, and it or its program would be larger than the bound.
    TooLarge,
}

/// Whether a pattern must match the whole text or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    Part,
}

/// What matches a pattern.
#[derive(Debug)]
pub(crate) struct Matcher {
    pub(crate) regex: Regex,
    /// The bytes that its program takes at most.
    size: usize,
}

impl Matcher {
    /// Whether a text matches, paid for.
    pub(crate) fn is_match(&self, text: &str, work: &Budget) -> Result<bool, Spent> {
        self.pay(text, work)?;
        Ok(self.regex.is_match(text))
    }

    /// Pays for reading a text once: for each byte a part of the program is looked at. A byte takes half a unit where the
    /// program is small.
    pub(crate) fn pay(&self, text: &str, work: &Budget) -> Result<(), Spent> {
        work.spend(text.len().saturating_mul(self.size) >> 14)
    }
}

/// A pattern as it is compiled: a matcher, or why there is none.
pub(crate) type Compiled = Result<Matcher, PatternDefect>;

/// Compiles a pattern, paying for each size of a program that is tried before it is.
fn compile(pattern: &str, extent: Extent, work: &Budget) -> Result<Compiled, Spent> {
    work.spend(pattern.len())?;
    let Some(translated) = Translator::translate(pattern) else { return Ok(Err(PatternDefect::Invalid)) };
    let categories = pattern.matches(r"\p").count() + pattern.matches(r"\P").count();
    if pattern.len() > PATTERN_BYTES_MAX || categories > CATEGORIES_MAX {
        return Ok(Err(PatternDefect::TooLarge));
    }
    let whole = match extent {
        Extent::Whole => format!("^(?:{translated})$"),
        Extent::Part => translated,
    };
    for size in SIZES {
        work.spend(size / 4)?;
        let built = RegexBuilder::new(&whole)
            .size_limit(size)
            .dfa_size_limit(PROGRAM_BYTES_MAX)
            .nest_limit(2 * GROUPS_MAX + 8)
            .build();
        match built {
            Ok(regex) => return Ok(Ok(Matcher { regex, size })),
            Err(regex::Error::CompiledTooBig(_)) => {}
            // What is left to go wrong: a repetition whose bounds are in the wrong order, or too large to be a number.
            Err(_) => return Ok(Err(PatternDefect::Invalid)),
        }
    }
    Ok(Err(PatternDefect::TooLarge))
}

/// Where a pattern comes from at one place of a document.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// It stands in the document.
    Fixed(Compiled),
    /// It is computed; the last one is kept, because most places see only one.
    Last(Extent, Mutex<Option<(Str, Arc<Compiled>)>>),
}

impl Pattern {
    /// The pattern of a place, where its text is known already.
    pub(crate) fn new(text: Option<&str>, extent: Extent) -> Self {
        match text {
            // Nobody pays for what stands in the document but its author.
            Some(text) => Self::Fixed(
                compile(text, extent, &Budget::new(u64::MAX)).unwrap_or(Err(PatternDefect::TooLarge)),
            ),
            None => Self::Last(extent, Mutex::new(None)),
        }
    }

    /// Calls `look` with the compiled pattern of that text, which is the known one where there is one. What has to be
    /// compiled is paid for, also where an earlier evaluation has left another pattern here.
    pub(crate) fn with<R>(
        &self,
        text: &str,
        work: &Budget,
        look: impl FnOnce(&Compiled) -> Result<R, Spent>,
    ) -> Result<R, Spent> {
        let (extent, last) = match self {
            Self::Fixed(compiled) => return look(compiled),
            Self::Last(extent, last) => (*extent, last),
        };
        let known = match &*last.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((known, compiled)) if **known == *text => Some(Arc::clone(compiled)),
            _ => None,
        };
        if let Some(compiled) = known {
            return look(&compiled);
        }
        let compiled = Arc::new(compile(text, extent, work)?);
        let kept = (Str::from(text), Arc::clone(&compiled));
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        look(&compiled)
    }
}

/// Reads a pattern by the grammar of RFC 9485 and writes it in the syntax of the engine.
struct Translator<'p> {
    rest: std::str::Chars<'p>,
    out: String,
}

/// What an escape or a place in a class stands for.
enum Part {
    Char(char),
    /// A category of characters, which begins or ends no range.
    Category,
}

impl<'p> Translator<'p> {
    fn translate(pattern: &'p str) -> Option<String> {
        let mut translator = Self { rest: pattern.chars(), out: String::with_capacity(pattern.len() + 8) };
        let mut groups = 0_u32;
        let mut repeatable = false;
        while let Some(char) = translator.rest.next() {
            match char {
                '(' if groups < GROUPS_MAX => {
                    groups += 1;
                    translator.out.push_str("(?:");
                    repeatable = false;
                }
                ')' => {
                    groups = groups.checked_sub(1)?;
                    translator.out.push(')');
                    repeatable = true;
                }
                '|' => {
                    translator.out.push('|');
                    repeatable = false;
                }
                '*' | '+' | '?' if repeatable => {
                    translator.out.push(char);
                    repeatable = false;
                }
                '{' if repeatable => {
                    translator.repetition()?;
                    repeatable = false;
                }
                // The grammar takes these for ordinary characters, and the engines to which RFC 9485, 5.3 to 5.5, hands
                // patterns as they are take them for anchors. The compliance suite of RFC 9535 has them as anchors.
                '^' | '$' => {
                    translator.out.push(char);
                    repeatable = false;
                }
                '.' => {
                    translator.out.push_str(r"[^\n\r]");
                    repeatable = true;
                }
                '\\' => {
                    translator.escape()?;
                    repeatable = true;
                }
                '[' => {
                    translator.class()?;
                    repeatable = true;
                }
                '(' | '*' | '+' | '?' | '{' | ']' | '}' => return None,
                char => {
                    translator.literal(char);
                    repeatable = true;
                }
            }
        }
        (groups == 0).then_some(translator.out)
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn eat(&mut self, char: char) -> bool {
        let found = self.peek() == Some(char);
        if found {
            self.rest.next();
        }
        found
    }

    /// One character that means itself.
    fn literal(&mut self, char: char) {
        if char.is_ascii() && !char.is_ascii_alphanumeric() {
            // Writing to a string does not fail.
            let _ = write!(self.out, r"\x{:02X}", u32::from(char));
        } else {
            self.out.push(char);
        }
    }

    /// `{2}`, `{2,}` or `{2,5}`, after its brace.
    fn repetition(&mut self) -> Option<()> {
        self.out.push('{');
        if self.digits() == 0 {
            return None;
        }
        if self.eat(',') {
            self.out.push(',');
            self.digits();
        }
        self.out.push('}');
        self.eat('}').then_some(())
    }

    fn digits(&mut self) -> usize {
        let mut count = 0;
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            self.rest.next();
            self.out.push(digit);
            count += 1;
        }
        count
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Option<Part> {
        let char = match self.rest.next()? {
            letter @ ('p' | 'P') => {
                self.category(letter)?;
                return Some(Part::Category);
            }
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            char @ ('(' | ')' | '*' | '+' | '-' | '.' | '?' | '[' | '\\' | ']' | '^' | '{' | '|' | '}') => {
                char
            }
            _ => return None,
        };
        self.literal(char);
        Some(Part::Char(char))
    }

    /// `\p{Lu}` and the like, after the letter.
    fn category(&mut self, letter: char) -> Option<()> {
        if !self.eat('{') {
            return None;
        }
        let major = self.rest.next()?;
        let minors = match major {
            'L' => "lmotu",
            'M' => "cen",
            'N' => "dlo",
            'P' => "cdefios",
            'Z' => "lps",
            'S' => "ckmo",
            'C' => "cfno",
            _ => return None,
        };
        let _ = write!(self.out, r"\{letter}{{{major}");
        if let Some(minor) = self.peek().filter(|minor| minors.contains(*minor)) {
            self.rest.next();
            self.out.push(minor);
        }
        self.out.push('}');
        self.eat('}').then_some(())
    }

    /// A class, after its bracket.
    fn class(&mut self) -> Option<()> {
        self.out.push('[');
        if self.eat('^') {
            self.out.push('^');
        }
        if self.eat('-') {
            self.literal('-');
        } else {
            self.class_part()?;
        }
        loop {
            match self.peek()? {
                ']' => break,
                '-' => {
                    self.rest.next();
                    self.literal('-');
                    break;
                }
                _ => self.class_part()?,
            }
        }
        self.out.push(']');
        self.eat(']').then_some(())
    }

    /// A character, a range or a category.
    fn class_part(&mut self) -> Option<()> {
        let Part::Char(from) = self.class_char()? else { return Some(()) };
        let mut ahead = self.rest.clone();
        if ahead.next() == Some('-') && ahead.next() != Some(']') {
            self.rest.next();
            self.out.push('-');
            let Part::Char(to) = self.class_char()? else { return None };
            return (from <= to).then_some(());
        }
        Some(())
    }

    fn class_char(&mut self) -> Option<Part> {
        match self.rest.next()? {
            '\\' => self.escape(),
            '-' | '[' | ']' => None,
            char => {
                self.literal(char);
                Some(Part::Char(char))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(pattern: &str, extent: Extent) -> Compiled {
        super::compile(pattern, extent, &Budget::new(u64::MAX)).unwrap()
    }

    fn matches(pattern: &str, text: &str) -> Option<bool> {
        compile(pattern, Extent::Whole).ok().map(|matcher| matcher.regex.is_match(text))
    }

    #[test]
    fn what_conforms_matches_as_rfc_9485_says() {
        for (pattern, text) in [
            ("", ""),
            ("a|b|", "b"),
            ("(a)(b)", "ab"),
            ("(a|(b))*c{2,3}", "abbacc"),
            ("a{0}b{1,}", "bb"),
            (".", "😀"),
            (".", "\u{2028}"),
            (r"\p{Lu}\P{Lu}\p{Cn}", "Éé\u{378}"),
            (r"[\p{L}0-9]+", "é7"),
            ("[-a]+", "-a-"),
            ("[a-]+", "-a-"),
            ("[^-a]", "b"),
            (r"[\]\[^&&~~-]+", "]&~-"),
            ("[a-c&&d]+", "a&d"),
            (r"[\--/]", "."),
            (r"[\n\r\t]{3}", "\n\r\t"),
            (r"\(\)\*\+\-\.\?\[\\\]\^\{\|\}", r"()*+-.?[\]^{|}"),
            ("^a$", "a"),
            (" #x", " #x"),
            ("<>/=:!@_`~\"'%&;,", "<>/=:!@_`~\"'%&;,"),
        ] {
            assert_eq!(matches(pattern, text), Some(true), "{pattern}");
        }
        for (pattern, text) in [(".", "\n"), (".", "\r"), ("[^a]", "a"), ("a", "ab"), (r"\p{Lu}", "é")] {
            assert_eq!(matches(pattern, text), Some(false), "{pattern}");
        }
    }

    #[test]
    fn what_does_not_conform_is_no_pattern() {
        for pattern in [
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "a{",
            "a{}",
            "a{,2}",
            "a{2,1}",
            "a{2",
            "*",
            "a**",
            "a+?",
            "(*)",
            "|*",
            "^*",
            "$+",
            "(?:a)",
            "(?=a)",
            r"\",
            r"\w",
            r"\d",
            r"\b",
            r"\x61",
            r"\$",
            r"\/",
            r"\a",
            r"\pL",
            r"\p{}",
            r"\p{Xx}",
            r"\p{Letter}",
            r"\p{Cs}",
            r"\p{L",
            "[]",
            "[^]",
            "[]a]",
            "[c-a]",
            r"[a-\p{L}]",
            r"[\p{L}-a]",
            "[a--]x",
            "[[a]]",
            r"[\d]",
            "[a",
            "[a-",
            "a{99999999999999999999}",
        ] {
            assert_eq!(compile(pattern, Extent::Part).err(), Some(PatternDefect::Invalid), "{pattern}");
        }
    }

    #[test]
    fn what_is_too_large_is_told_apart() {
        let large = r"(\p{L}{1,1000}){1,1000}";
        assert_eq!(compile(large, Extent::Part).err(), Some(PatternDefect::TooLarge));
        assert!(matches!(compile(&r"\p{L}".repeat(2000), Extent::Part), Err(PatternDefect::TooLarge)));
        assert!(matches!(compile(&"a".repeat(70_000), Extent::Part), Err(PatternDefect::TooLarge)));
        let deep = |groups: u32| format!("{}a{}", "(".repeat(groups as usize), ")".repeat(groups as usize));
        assert!(compile(&deep(GROUPS_MAX), Extent::Whole).is_ok());
        assert_eq!(compile(&deep(GROUPS_MAX + 1), Extent::Whole).err(), Some(PatternDefect::Invalid));
    }

    #[test]
    fn a_pattern_that_would_make_others_backtrack_takes_linear_time() {
        let text = "a".repeat(100_000) + "!";
        assert_eq!(matches("(a*)*b|(a|a)*c|(a+)+d", &text), Some(false));
    }

    #[test]
    fn a_computed_pattern_is_compiled_again_only_where_it_changes() {
        let pattern = Pattern::new(None, Extent::Whole);
        for (text, input, expected) in
            [("a+", "aa", true), ("a+", "b", false), ("b", "b", true), ("[", "[", false)]
        {
            let work = Budget::new(1 << 20);
            let look = |compiled: &Compiled| {
                compiled.as_ref().map_or(Ok(false), |found| found.is_match(input, &work))
            };
            assert_eq!(pattern.with(text, &work, look).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_compiled_and_matched_is_paid_for_by_its_size() {
        let paid = |text: &str, input: &str| {
            let (pattern, work) = (Pattern::new(None, Extent::Whole), Budget::new(1 << 24));
            let look = |compiled: &Compiled| {
                compiled.as_ref().map_or(Ok(false), |found| found.is_match(input, &work))
            };
            pattern.with(text, &work, look).unwrap();
            (1 << 24) - work.left()
        };
        let (small, large) = (paid("a*", ""), paid(r"\p{L}{40}", ""));
        assert!(small < 3000 && large > 100_000, "{small} {large}");
        let text = "a".repeat(1000);
        assert_eq!(paid("a*", &text), small + 500);
        assert!(paid(r"\p{L}{40}", &text) > large + 10_000);
        let short = Budget::new(1000);
        assert!(Pattern::new(None, Extent::Whole).with("a", &short, |_| Ok(())).is_err());
    }
}
