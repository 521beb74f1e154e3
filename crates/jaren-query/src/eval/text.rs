//! Text operators (section 8.7) and the casts between texts and numbers (section 8.10).

use std::ops::ControlFlow;

use jaren_json::read::number;
use jaren_json::{Str, Value, to_text};
use regex::NoExpand;

use super::Run;
use super::item::{Got, Item, count};
use crate::budget::Spent;
use crate::error::{EvalError, GUARD, TYPE};
use crate::iregexp::{PROGRAM_BYTES_MAX, PatternDefect};
use crate::place::Place;
use crate::plan::{Expr, Matching, Text, TextMap, TextTest};

/// Positions from the first bound up to and without the second.
pub(super) type Positions = (f64, f64);

/// Whether a position lies between the bounds; a NaN selects nothing.
pub(super) fn selected(position: usize, (from, to): Positions) -> bool {
    let position = count(position);
    from <= position && position < to
}

impl<'a> Run<'a> {
    pub(super) fn text(&mut self, text: &'a Text) -> Result<Value, EvalError> {
        match text {
            Text::Concat(operands) => {
                let mut out = String::new();
                for operand in operands {
                    match self.one(operand)? {
                        Got::None => {}
                        got => self.push_cast(&mut out, &got, operand.place)?,
                    }
                }
                Ok(Value::from(out))
            }
            Text::Join(operand, separator) => self.join(operand, separator.as_deref()),
            Text::Substring(pair, length) => {
                let [operand, start] = &**pair;
                let text = self.text_operand(operand)?;
                self.spend(text.len() / 4, operand.place)?;
                let positions = self.positions(start, length.as_deref())?;
                let chars = text.chars().enumerate().filter(|(position, _)| selected(*position, positions));
                Ok(Value::from(chars.map(|(_, c)| c).collect::<String>()))
            }
            Text::Replace(matching) => self.replace(matching),
            Text::Map(map, operand) => {
                let text = self.text_operand(operand)?;
                self.spend(text.len() / 4, operand.place)?;
                Ok(Value::from(match map {
                    TextMap::Upper => text.to_uppercase(),
                    TextMap::Lower => text.to_lowercase(),
                    TextMap::NormalizeSpace => normalize_space(&text),
                }))
            }
        }
    }

    pub(super) fn text_test(&mut self, test: TextTest, pair: &'a [Expr; 2]) -> Result<bool, EvalError> {
        let [whole, part] = pair;
        let (whole, part) = (self.text_operand(whole)?, self.text_operand(part)?);
        Ok(match test {
            TextTest::Contains => whole.contains(&*part),
            TextTest::StartsWith => whole.starts_with(&*part),
            TextTest::EndsWith => whole.ends_with(&*part),
        })
    }

    /// `$match` and `$search`: a text that is no pattern matches nothing.
    pub(super) fn matches(&mut self, matching: &'a Matching<2>) -> Result<bool, EvalError> {
        let Matching { pattern, operands } = matching;
        let [operand, pattern_operand] = &**operands;
        let (text, pattern_text) = (self.text_operand(operand)?, self.text_operand(pattern_operand)?);
        let place = pattern_operand.place;
        let found = pattern.with(&pattern_text, &self.work, |compiled| match compiled {
            Ok(matcher) => matcher.is_match(&text, &self.work).map(Ok),
            Err(PatternDefect::Invalid) => Ok(Ok(false)),
            Err(PatternDefect::TooLarge) => Ok(Err(self.too_large(place))),
        });
        found.map_err(|Spent| self.spent(place))?
    }

    fn too_large(&self, place: Place) -> EvalError {
        let mebibytes = PROGRAM_BYTES_MAX >> 20;
        self.fail(GUARD, place, format!("expected a pattern whose matcher takes at most {mebibytes} MiB"))
    }

    /// `$replace`: what is put in is taken as it is, and a pattern must match something.
    fn replace(&mut self, matching: &'a Matching<3>) -> Result<Value, EvalError> {
        let Matching { pattern, operands } = matching;
        let [operand, pattern_operand, by] = &**operands;
        let (text, pattern_text) = (self.text_operand(operand)?, self.text_operand(pattern_operand)?);
        let by = self.text_operand(by)?;
        let place = pattern_operand.place;
        let replaced = pattern.with(&pattern_text, &self.work, |compiled| match compiled {
            // Only anchors match between characters, and they match the empty text too.
            Ok(matcher) if matcher.regex.is_match("") => {
                Ok(Err(self.fail(TYPE, place, "expected a pattern that does not match the empty text")))
            }
            Ok(matcher) => {
                matcher.pay(&text, &self.work)?;
                let added = matcher.regex.find_iter(&text).count().saturating_mul(by.len());
                matcher.pay(&text, &self.work)?;
                self.work.spend(text.len().saturating_add(added) / 4)?;
                Ok(Ok(Value::from(&*matcher.regex.replace_all(&text, NoExpand(&by)))))
            }
            Err(PatternDefect::Invalid) => Ok(Err(self.fail(TYPE, place, "expected an I-Regexp (RFC 9485)"))),
            Err(PatternDefect::TooLarge) => Ok(Err(self.too_large(place))),
        });
        replaced.map_err(|Spent| self.spent(place))?
    }

    /// The number of code points.
    pub(super) fn text_length(&mut self, operand: &'a Expr) -> Result<f64, EvalError> {
        Ok(count(self.text_operand(operand)?.chars().count()))
    }

    /// A text parameter: nothing reads as the empty text.
    fn text_operand(&mut self, operand: &'a Expr) -> Result<Str, EvalError> {
        match self.one(operand)? {
            Got::None => Ok(Str::default()),
            // Whatever is done with a text, it is read once.
            Got::One(Item::Ref(Value::String(text))) => {
                self.spend(text.len() / 64, operand.place)?;
                Ok(text.clone())
            }
            Got::One(Item::Own(Value::String(text))) => {
                self.spend(text.len() / 64, operand.place)?;
                Ok(text)
            }
            got => Err(self.fail(TYPE, operand.place, format!("expected a text, found {}", got.describe()))),
        }
    }

    /// The positions that `$substring` and `$subsequence` select.
    pub(super) fn positions(
        &mut self,
        start: &'a Expr,
        length: Option<&'a Expr>,
    ) -> Result<Positions, EvalError> {
        let from = round(self.number_operand(start)?);
        let to = match length {
            Some(length) => from + round(self.number_operand(length)?),
            None if from.is_nan() => f64::NAN,
            None => f64::INFINITY,
        };
        Ok((from, to))
    }

    fn number_operand(&mut self, operand: &'a Expr) -> Result<f64, EvalError> {
        self.number(operand)?.ok_or_else(|| self.not_a_number(&Got::None, operand.place))
    }

    fn join(&mut self, operand: &'a Expr, separator: Option<&'a Expr>) -> Result<Value, EvalError> {
        let items = self.seq(operand)?;
        let separator = match separator {
            Some(separator) => self.text_operand(separator)?,
            None => Str::default(),
        };
        let mut out = String::new();
        for (position, item) in items.as_slice().iter().enumerate() {
            if position > 0 {
                self.spend(separator.len() / 4, operand.place)?;
                out.push_str(&separator);
            }
            self.push_cast(&mut out, &Got::One(item.clone()), operand.place)?;
        }
        Ok(Value::from(out))
    }

    /// `$string`: nothing stays nothing.
    pub(super) fn cast_to_text(&mut self, operand: &'a Expr) -> Result<Option<Value>, EvalError> {
        match self.one(operand)? {
            Got::None => Ok(None),
            Got::One(item) if item.value().as_str().is_some() => Ok(Some(item.into_value())),
            got => {
                let mut out = String::new();
                self.push_cast(&mut out, &got, operand.place)?;
                Ok(Some(Value::from(out)))
            }
        }
    }

    fn push_cast(&self, out: &mut String, got: &Got<'a>, place: Place) -> Result<(), EvalError> {
        if let Got::One(item) = got
            && let Value::String(text) = item.value()
        {
            self.spend(text.len() / 4, place)?;
        }
        let scalar = match got {
            Got::One(item) => cast(item.value(), out),
            Got::None | Got::Several => ControlFlow::Break(()),
        };
        if scalar.is_break() {
            return Err(self.fail(
                TYPE,
                place,
                format!("expected a scalar to write as a text, found {}", got.describe()),
            ));
        }
        Ok(())
    }

    /// `$number`: nothing stays nothing.
    pub(super) fn cast_to_number(&mut self, operand: &'a Expr) -> Result<Option<f64>, EvalError> {
        let got = self.one(operand)?;
        let number = match &got {
            Got::None => return Ok(None),
            Got::One(item) => match item.value() {
                Value::Number(number) => Some(*number),
                Value::Bool(bool) => Some(f64::from(u8::from(*bool))),
                Value::String(text) => {
                    self.spend(text.len() / 16, operand.place)?;
                    number(text)
                }
                _ => None,
            },
            Got::Several => None,
        };
        number.map(Some).ok_or_else(|| {
            let message =
                format!("expected a number, a boolean or a JSON number in a text, found {}", got.describe());
            self.fail(TYPE, operand.place, message)
        })
    }
}

/// Appends a scalar as `$string` writes it; breaks at an array or an object.
fn cast(value: &Value, out: &mut String) -> ControlFlow<()> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::String(text) => out.push_str(text),
        Value::Number(number) if number.is_nan() => out.push_str("NaN"),
        Value::Number(number) if number.is_infinite() => {
            out.push_str(if *number > 0.0 { "Infinity" } else { "-Infinity" });
        }
        Value::Number(_) => match to_text(value) {
            Ok(text) => out.push_str(&text),
            Err(_) => return ControlFlow::Break(()), // not finite, and handled above
        },
        Value::Array(_) | Value::Object(_) => return ControlFlow::Break(()),
    }
    ControlFlow::Continue(())
}

/// Rounds a half towards positive infinity (section 8.7).
fn round(number: f64) -> f64 {
    let floor = number.floor();
    if number - floor >= 0.5 { floor + 1.0 } else { floor }
}

/// Without white space around, and with one blank for each run of it inside.
fn normalize_space(text: &str) -> String {
    let words = text.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_up() {
        for (number, rounded) in [
            (0.5, 1.0),
            (-0.5, 0.0),
            (2.5, 3.0),
            (-2.5, -2.0),
            (0.499_999_999_999_999_94, 0.0),
            (1e300, 1e300),
        ] {
            assert!((round(number) - rounded).abs() < f64::EPSILON, "{number}");
        }
        assert!(round(f64::NAN).is_nan());
    }

    #[test]
    fn numbers_in_texts_follow_json() {
        for text in ["0", "-0", "12", "1.5", "1e3", "1E+3", "-0.25e-2", "1e400"] {
            assert!(number(text).is_some(), "{text}");
        }
        for text in
            ["", "-", "+1", ".5", "1.", "01", " 1", "1 ", "1e", "1e+", "NaN", "Infinity", "0x1", "1_0", "١"]
        {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
