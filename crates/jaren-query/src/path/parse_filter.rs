//! The parser of filters (RFC 9535 2.3.5.1), with the typing rules of functions (2.4.3).

use jaren_json::Value;

use super::filter::{Comparable, Filter, Matches, Query};
use super::parse::{Parser, PathDefect};
use crate::comparison::Comparison;
use crate::iregexp::{Extent, Pattern, PatternDefect};

/// How deep parentheses, functions and filters may nest, so that parsing and filtering cannot overflow the stack.
const NESTING_MAX: usize = 24;

/// The functions of RFC 9535, by what they answer.
enum Call {
    /// `ValueType`.
    Value(Comparable),
    /// `LogicalType`.
    Logical(Filter),
}

/// An operand before it is known whether it is compared.
enum Operand {
    Query(Query),
    Value(Comparable),
    Call(Call),
}

impl Parser<'_> {
    /// A filter selector, after its `?`.
    pub(super) fn filter(&mut self) -> Result<Filter, PathDefect> {
        self.blanks();
        self.nested(Self::any)
    }

    /// What stands one level deeper.
    fn nested<R>(&mut self, inner: fn(&mut Self) -> Result<R, PathDefect>) -> Result<R, PathDefect> {
        if self.nesting == NESTING_MAX {
            const { assert!(NESTING_MAX == 24, "the message says so") };
            return Err(self.defect("at most 24 nested parentheses, functions and filters"));
        }
        self.nesting += 1;
        let read = inner(self);
        self.nesting -= 1;
        read
    }

    fn any(&mut self) -> Result<Filter, PathDefect> {
        self.chain(*b"||", Self::all, Filter::Any, |filter| match filter {
            Filter::Any(operands) => Ok(operands),
            other => Err(other),
        })
    }

    fn all(&mut self) -> Result<Filter, PathDefect> {
        self.chain(*b"&&", Self::basic, Filter::All, |filter| match filter {
            Filter::All(operands) => Ok(operands),
            other => Err(other),
        })
    }

    fn chain(
        &mut self,
        sign: [u8; 2],
        operand: fn(&mut Self) -> Result<Filter, PathDefect>,
        join: fn(Vec<Filter>) -> Filter,
        joined: fn(Filter) -> Result<Vec<Filter>, Filter>,
    ) -> Result<Filter, PathDefect> {
        let first = operand(self)?;
        let mut more = Vec::new();
        while self.eat_after_blanks(sign) {
            self.blanks();
            more.push(operand(self)?);
        }
        if more.is_empty() {
            return Ok(first);
        }
        // What is joined in parentheses already is joined further.
        let mut operands = joined(first).unwrap_or_else(|first| vec![first]);
        operands.append(&mut more);
        Ok(join(operands))
    }

    /// Eats two signs and the blanks before them; leaves the blanks where the signs are missing.
    fn eat_after_blanks(&mut self, signs: [u8; 2]) -> bool {
        let before = self.at;
        self.blanks();
        let [first, second] = signs;
        if self.peek() == Some(first) && self.peek_at(1) == Some(second) {
            self.at += 2;
            return true;
        }
        self.at = before;
        false
    }

    fn basic(&mut self) -> Result<Filter, PathDefect> {
        match self.peek() {
            Some(b'!') => {
                self.at += 1;
                self.blanks();
                let start = self.at;
                let operand = match self.peek() {
                    Some(b'(') => self.nested(Self::parenthesized)?,
                    Some(b'@' | b'$' | b'a'..=b'z') => {
                        let operand = self.operand()?;
                        self.test(operand, start)?
                    }
                    _ => return Err(self.defect("a test after '!'")),
                };
                Ok(Filter::Not(Box::new(operand)))
            }
            Some(b'(') => self.nested(Self::parenthesized),
            _ => self.comparison_or_test(),
        }
    }

    fn parenthesized(&mut self) -> Result<Filter, PathDefect> {
        self.at += 1;
        self.blanks();
        let inner = self.any()?;
        self.blanks();
        if self.eat(b')') { Ok(inner) } else { Err(self.defect("')'")) }
    }

    fn comparison_or_test(&mut self) -> Result<Filter, PathDefect> {
        let start = self.at;
        let left = self.operand()?;
        let before = self.at;
        self.blanks();
        let Some(comparison) = self.comparison()? else {
            self.at = before;
            return self.test(left, start);
        };
        let left = self.comparable(left, start)?;
        self.blanks();
        let start = self.at;
        let right = self.operand()?;
        let right = self.comparable(right, start)?;
        Ok(Filter::Compare(comparison, Box::new([left, right])))
    }

    fn comparison(&mut self) -> Result<Option<Comparison>, PathDefect> {
        let (comparison, len) = match (self.peek(), self.peek_at(1)) {
            (Some(b'='), Some(b'=')) => (Comparison::Eq, 2),
            (Some(b'='), _) => return Err(self.defect("'=='")),
            (Some(b'!'), Some(b'=')) => (Comparison::Ne, 2),
            (Some(b'<'), Some(b'=')) => (Comparison::Le, 2),
            (Some(b'<'), _) => (Comparison::Lt, 1),
            (Some(b'>'), Some(b'=')) => (Comparison::Ge, 2),
            (Some(b'>'), _) => (Comparison::Gt, 1),
            _ => return Ok(None),
        };
        self.at += len;
        Ok(Some(comparison))
    }

    /// An operand that stands alone.
    fn test(&self, operand: Operand, start: usize) -> Result<Filter, PathDefect> {
        match operand {
            Operand::Query(query) => Ok(Filter::Exists(query)),
            Operand::Call(Call::Logical(filter)) => Ok(filter),
            Operand::Call(Call::Value(_)) => {
                Err(self.defect_at(start, "a comparison: the function answers a value, which is no test"))
            }
            Operand::Value(_) => Err(self.defect_at(start, "a comparison: a literal is no test")),
        }
    }

    /// An operand that is compared or given to a function as a value.
    fn comparable(&self, operand: Operand, start: usize) -> Result<Comparable, PathDefect> {
        match operand {
            Operand::Value(value) | Operand::Call(Call::Value(value)) => Ok(value),
            Operand::Query(query) if query.is_singular() => {
                Ok(Comparable::Singular { relative: query.relative, steps: query.path.head })
            }
            Operand::Query(_) => {
                Err(self.defect_at(start, "a query of names and indexes only, for one value"))
            }
            Operand::Call(Call::Logical(_)) => {
                Err(self.defect_at(start, "a value: match() and search() answer none"))
            }
        }
    }

    fn operand(&mut self) -> Result<Operand, PathDefect> {
        match self.peek() {
            Some(sign @ (b'@' | b'$')) => {
                self.at += 1;
                if sign == b'$' && self.peek().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
                {
                    return Err(
                        self.defect("'.' or '[' after '$', for filters know no variables ('$where' does),")
                    );
                }
                self.reads_document |= sign == b'$';
                let path = self.nested(Self::segments)?;
                Ok(Operand::Query(Query { relative: sign == b'@', path }))
            }
            Some(quote @ (b'\'' | b'"')) => Ok(literal(Value::from(self.quoted(quote)?))),
            Some(b'-' | b'0'..=b'9') => Ok(literal(Value::Number(self.number()?))),
            Some(b'a'..=b'z') => self.word(),
            _ => Err(self.defect("a query, a literal or a function")),
        }
    }

    /// A literal that is a word, or a function.
    fn word(&mut self) -> Result<Operand, PathDefect> {
        let start = self.at;
        while matches!(self.peek(), Some(b'a'..=b'z' | b'0'..=b'9' | b'_')) {
            self.at += 1;
        }
        let word = self.text.get(start..self.at).unwrap_or_default();
        if self.peek() == Some(b'(') {
            let function = match word {
                "length" => Self::length,
                "count" => Self::count,
                "value" => Self::only_value,
                "match" => Self::whole_match,
                "search" => Self::part_match,
                _ => {
                    return Err(self.defect_at(start, "one of length(), count(), match(), search(), value()"));
                }
            };
            self.at += 1;
            self.blanks();
            let call = self.nested(function)?;
            self.blanks();
            return if self.eat(b')') { Ok(Operand::Call(call)) } else { Err(self.defect("')'")) };
        }
        match word {
            "true" => Ok(literal(Value::Bool(true))),
            "false" => Ok(literal(Value::Bool(false))),
            "null" => Ok(literal(Value::Null)),
            _ => Err(self.defect_at(start, "a query, a literal or a function")),
        }
    }

    fn length(&mut self) -> Result<Call, PathDefect> {
        Ok(Call::Value(Comparable::Length(Box::new(self.value_argument()?))))
    }

    fn count(&mut self) -> Result<Call, PathDefect> {
        Ok(Call::Value(Comparable::Count(self.nodes_argument()?)))
    }

    fn only_value(&mut self) -> Result<Call, PathDefect> {
        Ok(Call::Value(Comparable::OnlyValue(self.nodes_argument()?)))
    }

    fn whole_match(&mut self) -> Result<Call, PathDefect> {
        self.matches(Extent::Whole)
    }

    fn part_match(&mut self) -> Result<Call, PathDefect> {
        self.matches(Extent::Part)
    }

    fn matches(&mut self, extent: Extent) -> Result<Call, PathDefect> {
        let text = self.value_argument()?;
        self.blanks();
        if !self.eat(b',') {
            return Err(self.defect("',' and a pattern"));
        }
        self.blanks();
        let start = self.at;
        let pattern_text = self.value_argument()?;
        let known = match &pattern_text {
            Comparable::Literal(value) => Some(value.as_str().unwrap_or_default()),
            _ => None,
        };
        let pattern = Pattern::new(known, extent);
        if matches!(pattern, Pattern::Fixed(Err(PatternDefect::TooLarge))) {
            return Err(
                self.defect_at(start, "a smaller pattern: a matcher for it would take too much memory")
            );
        }
        Ok(Call::Logical(Filter::Matches(Box::new(Matches { extent, text, pattern_text, pattern }))))
    }

    /// An argument of `ValueType`.
    fn value_argument(&mut self) -> Result<Comparable, PathDefect> {
        let start = self.at;
        let operand = self.operand()?;
        self.comparable(operand, start)
    }

    /// An argument of `NodesType`.
    fn nodes_argument(&mut self) -> Result<Query, PathDefect> {
        let start = self.at;
        match self.operand()? {
            Operand::Query(query) => Ok(query),
            _ => Err(self.defect_at(start, "a query")),
        }
    }

    /// A JSON number, in which -0 is allowed.
    fn number(&mut self) -> Result<f64, PathDefect> {
        let start = self.at;
        self.eat(b'-');
        let leading = self.peek();
        let digits = self.digits()?;
        if leading == Some(b'0') && digits > 1 {
            return Err(self.defect_at(start, "no digit after a leading zero"));
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let number = self.text.get(start..self.at).and_then(|text| text.parse().ok());
        number.ok_or_else(|| self.defect_at(start, "a number"))
    }

    fn digits(&mut self) -> Result<usize, PathDefect> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(self.at - start) } else { Err(self.defect("a digit")) }
    }
}

fn literal(value: Value) -> Operand {
    Operand::Value(Comparable::Literal(value))
}
