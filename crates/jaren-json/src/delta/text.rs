//! Strings in deltas: what two texts share, and counting UTF-16 code units in UTF-8.

/// How much of a text is searched for what it shares with another one, in bytes (durable D11).
const WINDOW: usize = 65_536;

/// How many bytes the longest end of `old` has that is also a beginning of `new`.
///
/// Both are UTF-8, so equal bytes begin and end with whole characters.
pub(super) fn overlap(old: &str, new: &str) -> usize {
    let old = old.as_bytes();
    let window = old.len().min(new.len()).min(WINDOW);
    let pattern = new.as_bytes().get(..window).unwrap_or_default();
    let tail = old.get(old.len() - window..).unwrap_or_default();
    // Knuth, Morris and Pratt: `borders[i]` is the length of the longest proper end of `pattern[..=i]` that it begins with.
    let mut borders: Vec<usize> = Vec::with_capacity(pattern.len());
    for index in 0..pattern.len() {
        let byte = pattern.get(index);
        let before = index.checked_sub(1).and_then(|before| borders.get(before)).copied().unwrap_or(0);
        let border = if index == 0 { 0 } else { extend(pattern, &borders, before, byte) };
        borders.push(border);
    }
    let mut length = 0;
    for byte in tail {
        if length == pattern.len() {
            length = shorter(&borders, length);
        }
        length = extend(pattern, &borders, length, Some(byte));
    }
    // What matches may end within a character of `new` only if `old` did, and that is a text.
    length
}

/// The longest beginning of the pattern that ends here, given the longest one that ended one byte before.
fn extend(pattern: &[u8], borders: &[usize], mut length: usize, byte: Option<&u8>) -> usize {
    loop {
        if pattern.get(length) == byte {
            return length + 1;
        }
        if length == 0 {
            return 0;
        }
        length = shorter(borders, length);
    }
}

/// The next shorter beginning of the pattern that ends where the one of this length does.
fn shorter(borders: &[usize], length: usize) -> usize {
    length.checked_sub(1).and_then(|last| borders.get(last)).copied().unwrap_or(0)
}

/// The length of a text in UTF-16 code units.
pub(super) fn utf16_len(text: &str) -> u64 {
    // Every character has one unit, those of four bytes two.
    let units = text.bytes().map(|byte| u64::from(byte & 0xC0 != 0x80) + u64::from(byte >= 0xF0));
    units.sum()
}

/// The offset in bytes after so many UTF-16 code units, at most the end; nothing where it would be within a character.
pub(super) fn offset_after(text: &str, units: u64) -> Option<usize> {
    let mut left = units;
    for (offset, char) in text.char_indices() {
        if left == 0 {
            return Some(offset);
        }
        left = left.checked_sub(char.len_utf16() as u64)?;
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_longest_overlap() {
        let cases = [
            ("abcdef", "defxyz", 3),
            ("abc", "abc", 3),
            ("aaaa", "aab", 2),
            ("abab", "ababab", 4),
            ("xyz", "abc", 0),
            ("", "a", 0),
            ("a", "", 0),
            ("aé", "é!", 2),
            ("ababac", "bacab", 3),
            ("😀b", "b", 1),
        ];
        for (old, new, expected) in cases {
            assert_eq!(overlap(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn agrees_with_the_plain_search() {
        let texts: Vec<String> = (0..3_u32.pow(6))
            .map(|n| (0..6).map(|at| ["a", "b", "é"][(n / 3_u32.pow(at) % 3) as usize]).collect())
            .collect();
        for old in texts.iter().step_by(7) {
            for new in texts.iter().step_by(5) {
                let plain = (0..=old.len())
                    .find(|at| old.is_char_boundary(*at) && new.starts_with(old.get(*at..).unwrap()))
                    .unwrap();
                assert_eq!(overlap(old, new), old.len() - plain, "{old:?} {new:?}");
            }
        }
    }

    #[test]
    fn counts_utf16_units() {
        for text in ["", "abc", "é€", "😀b", "\u{ffff}\u{10000}"] {
            assert_eq!(utf16_len(text), text.encode_utf16().count() as u64);
            assert_eq!(offset_after(text, utf16_len(text)), Some(text.len()));
            assert_eq!(offset_after(text, u64::MAX), Some(text.len()));
        }
        assert_eq!(offset_after("😀b", 1), None);
        assert_eq!(offset_after("😀b", 2), Some(4));
    }
}
