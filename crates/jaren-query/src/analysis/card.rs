//! Cardinalities: upper bounds for how many items an expression answers (Appendix C.2).

/// A point of the lattice; the numbers are those of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Card {
    Zero = 0,
    One = 1,
    Opt = 2,
    Many = 3,
}

impl Card {
    /// One of two branches.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Many, _) | (_, Self::Many) => Self::Many,
            _ => Self::Opt,
        }
    }

    /// Two sequences, one after the other.
    pub(super) fn sum(self, other: Self) -> Self {
        match (self, other) {
            (Self::Zero, other) => other,
            (card, Self::Zero) => card,
            _ => Self::Many,
        }
    }

    pub(super) fn number(self) -> u8 {
        self as u8
    }
}

/// What an operator answers for operands of these cardinalities.
pub(super) fn of_operator(name: &str, operands: &[Card]) -> Card {
    let first = operands.first().copied().unwrap_or(Card::Zero);
    let all_one = operands.iter().all(|card| *card == Card::One);
    match name {
        "$seq" => operands.iter().fold(Card::Zero, |sum, card| sum.sum(*card)),
        "$if" => {
            let otherwise = operands.get(2).copied().unwrap_or(Card::Zero);
            operands.get(1).map_or(Card::Opt, |then| then.join(otherwise))
        }
        "$add" | "$sub" | "$mul" | "$div" | "$idiv" | "$mod" | "$overlaps" | "$time-bucket" => {
            if all_one {
                Card::One
            } else {
                Card::Opt
            }
        }
        // Nothing of nothing, and otherwise one item.
        "$neg" | "$avg" | "$min" | "$max" | "$string" | "$number" | "$geo-simplify" | "$date-add"
        | "$date-sub" | "$start-of" | "$end-of" | "$date-diff" | "$date-format" | "$week" | "$week-year"
        | "$quarter" | "$weekday" | "$year" | "$month" | "$day" | "$hours" | "$minutes" | "$seconds"
        | "$epoch" | "$datetime" => {
            if first == Card::One {
                Card::One
            } else {
                Card::Opt
            }
        }
        "$get" | "$bbox" | "$area" | "$length" | "$centroid" | "$distance" | "$geohash" | "$geo-parse"
        | "$geo-text" | "$geohash-bounds" | "$similarity" | "$offset" => Card::Opt,
        "$range" | "$entries" | "$geohash-neighbours" | "$resample" | "$rolling" | "$asof" => Card::Many,
        "$head" if first == Card::Many => Card::Opt,
        "$tail" if first == Card::Many => Card::Many,
        "$tail" => Card::Zero,
        "$subsequence" | "$index-of" if first == Card::One => Card::Opt,
        "$distinct" | "$reverse" | "$sort" | "$assert" | "$head" | "$subsequence" | "$index-of" => first,
        "$coalesce" | "$default" => coalesced(operands),
        _ => Card::One,
    }
}

/// Operands after the first that always answers are never reached.
fn coalesced(operands: &[Card]) -> Card {
    let reached = operands.iter().position(|card| *card == Card::One).map_or(operands.len(), |last| last + 1);
    let mut reached = operands.iter().take(reached).filter(|card| **card != Card::Zero);
    reached
        .try_fold(Card::Zero, |_, card| match card {
            Card::Many => Err(Card::Many),
            card => Ok(*card),
        })
        .unwrap_or_else(|many| many)
}
