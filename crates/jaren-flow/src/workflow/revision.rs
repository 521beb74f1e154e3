//! Revisions: short fingerprints of lowered documents, for people and traces. What decides a resume is the exact
//! canonical text.

/// The 32-bit FNV-1a hash over the UTF-16 code units of a canonical text, in base 36.
pub(super) fn fingerprint(canonical: &str) -> String {
    let mut hash: u32 = 0x811c_9dc5;
    for unit in canonical.encode_utf16() {
        hash = (hash ^ u32::from(unit)).wrapping_mul(0x0100_0193);
    }
    base36(hash)
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{base36, fingerprint};

    #[test]
    fn hashes_code_units_in_base_36() {
        assert_eq!(base36(0), "0");
        assert_eq!(base36(35), "z");
        assert_eq!(base36(u32::MAX), "1z141z3");
        // The published offset basis and test vector of 32-bit FNV-1a.
        assert_eq!(fingerprint(""), base36(0x811c_9dc5));
        assert_eq!(fingerprint("foobar"), base36(0xbf9c_f968));
        assert_ne!(fingerprint("\u{1F600}"), fingerprint("\u{1F601}"));
    }
}
