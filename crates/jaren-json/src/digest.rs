//! SHA-256 of canonical text: identity where it is stored.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::{NotJson, Value, canonical_to};

/// A SHA-256 digest, displayed as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The digest of a value's canonical text: equal for equal values.
pub fn digest(value: &Value) -> Result<Digest, NotJson> {
    let mut text = Vec::new();
    canonical_to(value, &mut text)?;
    Ok(Digest::of(&text))
}

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest that was stored.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 digest is 64 lower-case hexadecimal digits")]
pub struct DigestError;

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let nibble = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(DigestError),
        };
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(DigestError) };
        let bytes = pairs.iter().map(|[high, low]| Ok(nibble(*high)? << 4 | nibble(*low)?));
        bytes.collect::<Result<Vec<u8>, _>>()?.try_into().map(Self).map_err(|_| DigestError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value;

    #[test]
    fn is_the_sha_256_of_the_canonical_text() {
        let text = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        let empty = digest(&value!({})).unwrap();
        assert_eq!(empty.to_string(), text);
        assert_eq!(text.parse(), Ok(empty));
        assert_eq!(text.to_uppercase().parse::<Digest>(), Err(DigestError));
        assert_eq!("44".parse::<Digest>(), Err(DigestError));
    }
}
