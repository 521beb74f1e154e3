//! Numbers: every double read and written correctly rounded, checked against the standard library.

use jaren_json::{Duplicates, Integers, ReadOptions, Value, canonical, read};

use crate::support::{AS_ECMASCRIPT, Rng};

const EXACT: ReadOptions =
    ReadOptions { duplicates: Duplicates::Refuse, integers: Integers::Exact, ..ReadOptions::data() };

fn nearest(text: &str) -> f64 {
    read(text.as_bytes(), &AS_ECMASCRIPT).unwrap().as_f64().unwrap()
}

fn accepted(text: &str) -> bool {
    read(text.as_bytes(), &EXACT).is_ok()
}

/// ECMAScript's `Number::toString`, from the digits of the standard library.
fn ecmascript(number: f64) -> String {
    if number == 0.0 {
        return String::from("0");
    }
    let mut shortest = format!("{:e}", number.abs());
    // Between two decimals of that length that are equally near, ECMAScript takes the even one, as rounding does here.
    let places = shortest.split_once('e').unwrap().0.len().saturating_sub(2);
    let even = format!("{:.places$e}", number.abs());
    if even.parse::<f64>().unwrap() == number.abs() {
        shortest = even;
    }
    let (mantissa, exponent) = shortest.split_once('e').unwrap();
    let (digits, n) = (mantissa.replace('.', ""), exponent.parse::<i32>().unwrap() + 1);
    let k = digits.len() as i32;
    let zeros = |count: i32| "0".repeat(count as usize);
    let text = match n {
        n if k <= n && n <= 21 => format!("{digits}{}", zeros(n - k)),
        n if 0 < n && n <= 21 => format!("{}.{}", &digits[..n as usize], &digits[n as usize..]),
        n if -6 < n && n <= 0 => format!("0.{}{digits}", zeros(-n)),
        n => {
            let point = if k == 1 { digits } else { format!("{}.{}", &digits[..1], &digits[1..]) };
            format!("{point}e{}{}", if n > 0 { "+" } else { "-" }, (n - 1).abs())
        }
    };
    if number < 0.0 { format!("-{text}") } else { text }
}

fn check(number: f64) {
    let written = canonical(&Value::from(number)).unwrap();
    assert_eq!(written, ecmascript(number), "{number:e}");
    let texts = [
        written,
        format!("{number:e}"),
        format!("{number:.16e}"),
        format!("{number:.40e}"),
        format!("{number:?}"),
    ];
    for text in texts {
        let found = nearest(&text);
        // The sign of a zero is lost when written.
        assert!(found.to_bits() == number.to_bits() || (found == 0.0 && number == 0.0), "{text}: {found:e}");
    }
}

#[test]
fn random_doubles() {
    let mut rng = Rng::seeded();
    for _ in 0..40_000 {
        check(rng.finite());
        // Numbers as people have them.
        let scaled = (rng.below(1 << 40) as f64) / 10_f64.powi(rng.below(12) as i32);
        check(scaled);
        check(-scaled.floor());
    }
}

#[test]
fn doubles_at_the_edges() {
    let powers = (-1074..1024)
        .map(|exponent| 2_f64.powi(exponent))
        .chain((-324..309).map(|exponent| format!("1e{exponent}").parse().unwrap()));
    for number in
        powers.chain([0.0, -0.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::MIN_POSITIVE.next_down()])
    {
        for number in [number, -number, number.next_up(), number.next_down()] {
            if number.is_finite() {
                check(number);
            }
        }
    }
}

#[test]
fn random_literals_are_rounded_as_by_the_standard_library() {
    let mut rng = Rng::seeded();
    for _ in 0..100_000 {
        let digits = rng.next() >> rng.below(64);
        let exponent = rng.below(80) as i64 - 40;
        let text = match rng.below(4) {
            0 => format!("{digits}e{exponent}"),
            1 => format!("-{digits}.{}", rng.below(1_000_000)),
            2 => format!("0.{}{digits}E+{}", "0".repeat(rng.below(30) as usize), rng.below(30)),
            _ => format!("{}{}.5e{exponent}", digits.max(1), rng.next()),
        };
        let expected: f64 = text.parse().unwrap();
        assert_eq!(nearest(&text).to_bits(), expected.to_bits(), "{text}");
    }
}

#[test]
fn halves_between_doubles_go_to_the_even_one() {
    let mut rng = Rng::seeded();
    for _ in 0..20_000 {
        // Of 53 bits, moved left by some more, plus half of the last place.
        let (odd_or_even, shift) = ((1_u128 << 52) + u128::from(rng.below(1 << 52)), 1 + rng.below(60));
        let half = (odd_or_even << shift) + (1 << (shift - 1));
        let expected = odd_or_even + (odd_or_even & 1);
        assert_eq!(nearest(&half.to_string()), (expected << shift) as f64, "{half}");
        assert_eq!(
            nearest(&format!("{half}.0000001")),
            ((odd_or_even + 1) << shift) as f64,
            "{half}.0000001"
        );
    }
}

#[test]
fn integers_are_exact_or_the_shortest_decimal_or_refused() {
    for text in [
        "0",
        "-0",
        "1",
        "9007199254740991",
        "9007199254740992",
        "-9007199254740992",
        "9007199254740994",
        "1152921504606846976",
        // The shortest decimal of a double, though not its exact value.
        "1152921504606847000",
        "100000000000000000000000",
        "-123456789012345680000",
        // The exact value of one, though not its shortest decimal.
        "123456789012345677877719597056",
    ] {
        assert!(accepted(text), "{text}");
    }
    for text in [
        "9007199254740993",
        "-9007199254740993",
        "1152921504606846977",
        "123456789012345678901",
        "18446744073709551615",
        "99999999999999999999999",
    ] {
        assert!(!accepted(text), "{text}");
        // With a fraction or an exponent it is rounded like any other.
        assert!(accepted(&format!("{text}.0")) && accepted(&format!("{text}e0")), "{text}");
    }
    let mut rng = Rng::seeded();
    for _ in 0..20_000 {
        let integer = i128::from(rng.next()) << rng.below(30) >> rng.below(50);
        let double = integer as f64;
        let expected = double as i128 == integer || ecmascript_digits(double) == integer.to_string();
        assert_eq!(accepted(&integer.to_string()), expected, "{integer}");
    }
}

/// The shortest decimal of an integral double, without an exponent.
fn ecmascript_digits(number: f64) -> String {
    let shortest = format!("{number:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap();
    let digits = mantissa.replace('.', "");
    let zeros = (exponent.parse::<usize>().unwrap() + 1).saturating_sub(digits.len());
    digits + &"0".repeat(zeros)
}

#[test]
fn numbers_beyond_the_largest_are_refused_or_infinite() {
    for text in ["1e400", "-1e400", "1e309", "2e308", "1.7976931348623159e308", &"9".repeat(400)] {
        assert!(!accepted(text), "{text}");
        assert!(nearest(text).is_infinite(), "{text}");
    }
    assert!(accepted("1.7976931348623158e308"));
    for text in
        ["1e-400", "0e400", "0e99999999999999999999", "0.0e-99999999999999999999", "1e-99999999999999999999"]
    {
        assert_eq!(nearest(text), 0.0, "{text}");
    }
    assert!(nearest("1e99999999999999999999").is_infinite());
    assert!(nearest("-0").is_sign_negative());
}

#[test]
fn long_literals_are_no_burden() {
    let zeros = "0".repeat(100_000);
    assert_eq!(nearest(&format!("0.{zeros}1e100001")), 1.0);
    assert_eq!(nearest(&format!("1{zeros}e-100000")), 1.0);
    assert!(!accepted(&format!("1{zeros}")));
}
