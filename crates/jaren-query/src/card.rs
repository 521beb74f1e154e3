//! Cardinalities: upper bounds for how many items an expression answers (Appendix C.2).

/// A point of the lattice; the numbers are those of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Card {
    Zero = 0,
    One = 1,
    Opt = 2,
    Many = 3,
}

impl Card {
    /// One of two branches.
    pub(crate) fn join(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Many, _) | (_, Self::Many) => Self::Many,
            _ => Self::Opt,
        }
    }

    /// Two sequences, one after the other.
    pub(crate) fn sum(self, other: Self) -> Self {
        match (self, other) {
            (Self::Zero, other) => other,
            (card, Self::Zero) => card,
            _ => Self::Many,
        }
    }

    pub(crate) fn number(self) -> u8 {
        self as u8
    }
}

/// How many items an operator answers for operands of these cardinalities. Every operator of the vocabulary has such a rule.
pub(crate) type Rule = fn(&[Card]) -> Card;

/// One item, whatever the operands.
pub(crate) fn one(_: &[Card]) -> Card {
    Card::One
}

/// One item or nothing.
pub(crate) fn opt(_: &[Card]) -> Card {
    Card::Opt
}

/// Any number of items.
pub(crate) fn many(_: &[Card]) -> Card {
    Card::Many
}

/// One item, and nothing where any operand is empty.
pub(crate) fn one_of_all(operands: &[Card]) -> Card {
    if operands.iter().all(|card| *card == Card::One) { Card::One } else { Card::Opt }
}

/// One item, and nothing where the first operand is empty.
pub(crate) fn one_of_first(operands: &[Card]) -> Card {
    if first(operands) == Card::One { Card::One } else { Card::Opt }
}

/// As many items as the first operand.
pub(crate) fn first(operands: &[Card]) -> Card {
    operands.first().copied().unwrap_or(Card::Zero)
}

/// Some of the items of the first operand.
pub(crate) fn some_of_first(operands: &[Card]) -> Card {
    match first(operands) {
        Card::One => Card::Opt,
        card => card,
    }
}

/// The first item of the first operand.
pub(crate) fn head_of_first(operands: &[Card]) -> Card {
    match first(operands) {
        Card::Many => Card::Opt,
        card => card,
    }
}

/// The items of the first operand without the first one.
pub(crate) fn tail_of_first(operands: &[Card]) -> Card {
    match first(operands) {
        Card::Many => Card::Many,
        _ => Card::Zero,
    }
}

/// The items of all operands.
pub(crate) fn sum(operands: &[Card]) -> Card {
    operands.iter().fold(Card::Zero, |sum, card| sum.sum(*card))
}

/// The second operand or the third.
pub(crate) fn branch(operands: &[Card]) -> Card {
    let otherwise = operands.get(2).copied().unwrap_or(Card::Zero);
    operands.get(1).map_or(Card::Opt, |then| then.join(otherwise))
}

/// The first operand that answers anything: those after one that always answers are never reached.
pub(crate) fn first_that_answers(operands: &[Card]) -> Card {
    let reached = operands.iter().position(|card| *card == Card::One).map_or(operands.len(), |last| last + 1);
    let mut reached = operands.iter().take(reached).filter(|card| **card != Card::Zero);
    reached
        .try_fold(Card::Zero, |_, card| match card {
            Card::Many => Err(Card::Many),
            card => Ok(*card),
        })
        .unwrap_or_else(|many| many)
}
