//! Finding the bytes that are special in a JSON string, eight at a time.

/// How many bytes come before the first quote, backslash or control character.
#[inline]
pub(crate) fn plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut before = 0_usize;
    for word in words {
        let marks = special(u64::from_le_bytes(*word));
        if marks != 0 {
            return before + (marks.trailing_zeros() / 8) as usize;
        }
        before += 8;
    }
    before + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}

/// The high bit of each special byte, right up to the first one (later ones may be marked without reason).
#[inline]
fn special(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGH: u64 = ONES << 7;
    // A byte below the bound borrows from its high bit, if that was not set.
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_plain_search() {
        for byte in 0..=u8::MAX {
            for at in 0..20 {
                for filler in [b'a', 0x7F, 0xFF, 0x20, 0x80] {
                    let mut bytes = [filler; 20];
                    bytes[at] = byte;
                    let expected =
                        bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(20);
                    assert_eq!(plain(&bytes), expected, "{byte:#x} at {at} in {filler:#x}");
                }
            }
        }
    }
}
