//! Patterns of `$date-format`: the tokens of Unicode LDML that need no language.

use std::fmt::Write as _;

use super::civil::Date;
use super::stamp::{Stamp, Time, offset_text};
use super::whole;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct DatePattern(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    Token(Token),
}

#[derive(Clone, Copy, Debug)]
enum Token {
    /// A number with at least so many digits.
    Number(Field, usize),
    /// So many digits of the fraction of a second.
    Fraction(usize),
    /// An offset: what stands between its hours and minutes, and how UTC is written.
    Offset(&'static str, &'static str),
    /// A name, or a half of the day, in some language.
    Name,
}

#[derive(Clone, Copy, Debug)]
enum Field {
    Year,
    YearOfCentury,
    Month,
    Day,
    Weekday,
    Hour,
    HourOfHalf,
    Minute,
    Second,
    DayOfYear,
    Week,
    Quarter,
}

/// The tokens, longer ones before those that they begin with.
const TOKENS: &[(&str, Token)] = &[
    ("yyyy", Token::Number(Field::Year, 4)),
    ("yy", Token::Number(Field::YearOfCentury, 2)),
    ("y", Token::Number(Field::Year, 1)),
    ("MMMM", Token::Name),
    ("MMM", Token::Name),
    ("MM", Token::Number(Field::Month, 2)),
    ("M", Token::Number(Field::Month, 1)),
    ("dd", Token::Number(Field::Day, 2)),
    ("d", Token::Number(Field::Day, 1)),
    ("EEEE", Token::Name),
    ("EEE", Token::Name),
    ("E", Token::Number(Field::Weekday, 1)),
    ("HH", Token::Number(Field::Hour, 2)),
    ("H", Token::Number(Field::Hour, 1)),
    ("hh", Token::Number(Field::HourOfHalf, 2)),
    ("h", Token::Number(Field::HourOfHalf, 1)),
    ("mm", Token::Number(Field::Minute, 2)),
    ("m", Token::Number(Field::Minute, 1)),
    ("ss", Token::Number(Field::Second, 2)),
    ("s", Token::Number(Field::Second, 1)),
    ("SSS", Token::Fraction(3)),
    ("S", Token::Fraction(1)),
    ("a", Token::Name),
    ("XXX", Token::Offset(":", "Z")),
    ("XX", Token::Offset("", "Z")),
    ("X", Token::Offset(":", "+00:00")),
    ("DDD", Token::Number(Field::DayOfYear, 3)),
    ("D", Token::Number(Field::DayOfYear, 1)),
    ("ww", Token::Number(Field::Week, 2)),
    ("w", Token::Number(Field::Week, 1)),
    ("Q", Token::Number(Field::Quarter, 1)),
];

impl DatePattern {
    /// Compiles a pattern, or says what is wrong with it. What is no token stands for itself, and so does what is quoted
    /// by `'`; two of them are one.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("''") {
                literal.push('\'');
                rest = after;
            } else if let Some(after) = rest.strip_prefix('\'') {
                let (quoted, after) =
                    after.split_once('\'').ok_or("expected a second quote to end the quoted text")?;
                literal.push_str(quoted);
                rest = after;
            } else if let Some((name, token)) = TOKENS.iter().find(|(name, _)| rest.starts_with(name)) {
                if matches!(token, Token::Name) {
                    return Err(format!("'{name}' needs a language, and queries have none"));
                }
                if !literal.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Token(*token));
                rest = rest.get(name.len()..).unwrap_or_default();
            } else {
                literal.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Self(pieces))
    }

    /// The value in this pattern. Every field of a half that it does not have reads as −1.
    pub(crate) fn format(&self, stamp: &Stamp) -> String {
        let date = stamp.date.unwrap_or(Date { year: -1, month: -1, day: -1 });
        let time = stamp.time.unwrap_or(Time { hour: -1, minute: -1, second: -1.0 });
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Token(Token::Number(field, digits)) => push(&mut out, field.read(date, time), *digits),
                Piece::Token(Token::Fraction(digits)) => {
                    out.push_str(time.micros().get(..*digits).unwrap_or_default());
                }
                Piece::Token(Token::Offset(separator, utc)) => {
                    out.push_str(&offset_text(stamp.offset, separator, utc));
                }
                Piece::Token(Token::Name) => {} // no pattern has one
            }
        }
        out
    }
}

impl Field {
    fn read(self, date: Date, time: Time) -> i64 {
        match self {
            Self::Year => date.year,
            Self::YearOfCentury => date.year.rem_euclid(100),
            Self::Month => date.month,
            Self::Day => date.day,
            Self::Weekday => date.weekday(),
            Self::Hour => time.hour,
            Self::HourOfHalf if time.hour % 12 == 0 => 12,
            Self::HourOfHalf => time.hour % 12,
            Self::Minute => time.minute,
            Self::Second => whole(time.second.trunc()).unwrap_or_default(),
            Self::DayOfYear => date.day_of_year(),
            Self::Week => date.week().0,
            Self::Quarter => date.quarter(),
        }
    }
}

/// Appends a number with at least so many digits; a year of four has no sign.
fn push(out: &mut String, number: i64, digits: usize) {
    let number = if digits == 4 { number.abs() } else { number };
    let mut bound = 1;
    for _ in 1..digits {
        bound *= 10;
        if number < bound {
            out.push('0');
        }
    }
    // Writing to a text never fails.
    let _ = write!(out, "{number}");
}
