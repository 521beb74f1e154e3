//! What the suites share: seeded random numbers, arbitrary values.

use jaren_json::{Duplicates, Integers, ReadOptions, Value, read};
use proptest::prelude::*;

/// Reads as ECMAScript's `JSON.parse` does.
pub(crate) const AS_ECMASCRIPT: ReadOptions =
    ReadOptions { duplicates: Duplicates::LastWins, integers: Integers::Nearest, ..ReadOptions::data() };

pub(crate) fn parse(text: &str) -> Value {
    read(text.as_bytes(), &AS_ECMASCRIPT).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Random numbers of a seed: that of the variable `JAREN_SEED`, or another one each time; it is printed, and shown where
/// the test fails.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn seeded() -> Self {
        let now = || std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        let seed = std::env::var("JAREN_SEED").map_or_else(|_| now(), |seed| seed.parse().unwrap());
        println!("JAREN_SEED={seed}");
        Self(seed)
    }

    /// `SplitMix64`.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn finite(&mut self) -> f64 {
        loop {
            let number = f64::from_bits(self.next());
            if number.is_finite() {
                return number;
            }
        }
    }
}

/// Texts with what is special to JSON, UTF-16, paths and pointers.
pub(crate) fn arb_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,2}",
        "[a-z ]{0,20}",
        proptest::collection::vec(
            prop_oneof![
                Just('"'),
                Just('\\'),
                Just('/'),
                Just('~'),
                Just('\u{0}'),
                Just('\n'),
                Just('\u{1f}'),
                Just('\u{7f}'),
                Just('é'),
                Just('€'),
                Just('\u{e000}'),
                Just('\u{ffff}'),
                Just('😀'),
                Just('\u{2028}'),
                any::<char>(),
            ],
            0..6
        )
        .prop_map(|chars| chars.into_iter().collect()),
        Just(String::from("__proto__")),
        Just(String::from("$serde_json::private")),
    ]
}

pub(crate) fn arb_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-5_i32..5).prop_map(f64::from),
        any::<i32>().prop_map(f64::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()),
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |number| number.is_finite()),
        Just(-0.0),
        Just(1e21),
        Just(5e-324),
        Just(9_007_199_254_740_993.0),
    ]
}

fn arb_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        arb_number().prop_map(Value::from),
        arb_text().prop_map(Value::from),
    ]
}

/// Values that have a text.
pub(crate) fn arb_value() -> impl Strategy<Value = Value> {
    arb_scalar().prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..7).prop_map(Value::from),
            proptest::collection::vec((arb_text(), inner.clone()), 0..7)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            // More members than are searched one by one.
            (inner, 10_u32..40).prop_map(|(value, count)| {
                Value::Object((0..count).map(|n| (format!("{n}"), value.clone())).collect())
            }),
        ]
    })
}

/// A value, and one that was made of it by a few changes.
pub(crate) fn arb_pair() -> impl Strategy<Value = (Value, Value)> {
    (arb_value(), proptest::collection::vec((any::<u64>(), arb_value(), arb_text()), 0..4)).prop_map(
        |(old, changes)| {
            let new = changes
                .into_iter()
                .fold(old.clone(), |value, (dice, by, text)| change(&value, dice, &by, &text));
            (old, new)
        },
    )
}

/// Changes one place, chosen by the dice.
fn change(value: &Value, dice: u64, by: &Value, text: &str) -> Value {
    let (here, rest) = (dice.is_multiple_of(4), dice / 4);
    match value {
        Value::Array(array) if !array.is_empty() && !here => {
            let at = (rest % array.len() as u64) as usize;
            let mut elements = array.to_vec();
            match rest / 7 % 6 {
                0 => elements.insert(at, by.clone()),
                1 => drop(elements.remove(at)),
                2 => elements.rotate_left(at),
                3 => elements.reverse(),
                4 => {
                    elements.remove(0);
                    elements.push(by.clone());
                }
                _ => elements[at] = change(&elements[at], rest / 3, by, text),
            }
            Value::from(elements)
        }
        Value::Object(object) if !object.is_empty() && !here => {
            let at = (rest % object.len() as u64) as usize;
            let (name, member) = object.iter().nth(at).unwrap();
            Value::Object(match rest / 7 % 4 {
                0 => object.without(name),
                1 => object.with(text, by.clone()),
                2 => object.iter().rev().collect(),
                _ => object.with(name, change(member, rest / 3, by, text)),
            })
        }
        Value::String(old) if !here => Value::from(match rest % 3 {
            0 => format!("{old}{text}"),
            1 => format!("{}{text}", old.chars().skip(1).collect::<String>()),
            _ => old.chars().rev().collect(),
        }),
        _ => by.clone(),
    }
}
