//! Numbers: reading them correctly rounded, which integers a double holds, writing them as ECMAScript does.

/// The largest integer up to which every integer is exact.
const SAFE_MAX: u64 = (1 << 53) - 1;

/// An integer of the host's that no double holds exactly, so that no value holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an integer that no double holds exactly: pass it as a string")]
pub struct InexactInteger;

/// The integer that a number is, within ±(2^53 − 1).
#[inline]
pub(crate) fn safe_integer(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the conversion back shows whether it was exact")]
    let integer = number as i64;
    #[expect(
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "exact within the safe range, checked below"
    )]
    let same = integer as f64 == number;
    (same && integer.unsigned_abs() <= SAFE_MAX).then_some(integer)
}

/// The integer that a number is, where an `i128` holds it.
pub(crate) fn integer(number: f64) -> Option<i128> {
    #[expect(clippy::cast_possible_truncation, reason = "the conversion back shows whether it was exact")]
    let integer = number as i128;
    #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "compared with what it was made from")]
    let same = integer as f64 == number;
    // Above its range the conversion saturates.
    (same && integer != i128::MAX).then_some(integer)
}

/// The double that holds this integer exactly.
pub(crate) fn exact(integer: i128) -> Result<f64, InexactInteger> {
    #[expect(clippy::cast_precision_loss, reason = "the conversion back shows whether it was exact")]
    let number = integer as f64;
    #[expect(clippy::cast_possible_truncation, reason = "compared with what it was made from")]
    let same = number as i128 == integer;
    // Above its range the conversion saturates.
    if same && integer != i128::MAX { Ok(number) } else { Err(InexactInteger) }
}

macro_rules! try_from_integer {
    ($($type:ty),*) => {$(
        impl TryFrom<$type> for crate::Value {
            type Error = InexactInteger;

            /// Refuses an integer that no double holds exactly.
            fn try_from(integer: $type) -> Result<Self, InexactInteger> {
                i128::try_from(integer).map_err(|_| InexactInteger).and_then(exact).map(Self::Number)
            }
        }
    )*};
}
try_from_integer!(i64, u64, isize, usize, i128, u128);

impl crate::Value {
    /// A count as a number: beyond 2^53, where nothing is counted, the nearest double.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no count reaches 2^53")]
    pub fn from_count(count: u64) -> Self {
        Self::Number(count as f64)
    }
}

/// A number literal, taken apart while it is scanned.
pub(crate) struct Literal<'a> {
    /// The literal as it stands in the text; it keeps to the grammar of RFC 8259, section 6.
    pub(crate) text: &'a str,
    /// Its digits, without sign, point and exponent, where 19 of them or fewer count.
    pub(crate) digits: Option<u64>,
    /// The power of ten to multiply the digits with; saturated.
    pub(crate) exponent: i32,
    /// Whether it has neither a fraction nor an exponent.
    pub(crate) integer: bool,
}

/// The powers of ten that a double holds exactly.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

impl Literal<'_> {
    /// The nearest double, ties to even; an infinity where the literal is beyond the largest.
    #[inline]
    pub(crate) fn value(&self) -> f64 {
        self.value_direct().unwrap_or_else(|| {
            // The standard library's reading is correctly rounded, and the grammar of JSON is part of its own.
            self.text.parse().unwrap_or(f64::NAN)
        })
    }

    /// The value where one operation on two exact doubles gives it (so that it is rounded once).
    #[inline]
    fn value_direct(&self) -> Option<f64> {
        let digits = self.digits.filter(|digits| *digits <= SAFE_MAX)?;
        let power = *POWERS_OF_TEN.get(usize::try_from(self.exponent.unsigned_abs()).ok()?)?;
        #[expect(clippy::cast_precision_loss, reason = "exact within the safe range, checked above")]
        let digits = digits as f64;
        let magnitude = if self.exponent < 0 { digits / power } else { digits * power };
        Some(if self.text.starts_with('-') { -magnitude } else { magnitude })
    }

    /// Whether it is an integer literal that is neither its double's exact value nor that double's shortest decimal.
    #[inline]
    pub(crate) fn is_inexact(&self, value: f64) -> bool {
        self.integer && self.digits.is_none_or(|digits| digits > SAFE_MAX) && {
            let digits = self.text.trim_start_matches('-');
            let magnitude = value.abs();
            digits != format!("{magnitude:.0}") && digits != format!("{magnitude}")
        }
    }
}

/// Appends a finite number as ECMAScript writes it (RFC 8785, section 3.2.2.3); a negative zero is `0`.
#[inline]
pub(crate) fn write(number: f64, out: &mut Vec<u8>) {
    match safe_integer(number) {
        Some(integer) => write_integer(integer, out),
        None => out.extend_from_slice(ryu_js::Buffer::new().format_finite(number).as_bytes()),
    }
}

/// Most numbers are small integers: their digits take less time than the shortest decimal of a double.
fn write_integer(integer: i64, out: &mut Vec<u8>) {
    if integer < 0 {
        out.push(b'-');
    }
    let mut digits = [b'0'; 20];
    let mut rest = integer.unsigned_abs();
    let mut start = digits.len();
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        // The remainder is below ten.
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        start = place;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}
