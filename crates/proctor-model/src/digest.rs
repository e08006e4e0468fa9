//! SHA-256 digests; one algorithm everywhere, so that `sha256sum` can check any of them.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest of bytes that come one after another.
    pub fn stream() -> DigestStream {
        DigestStream(Sha256::new())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest that `hex` writes: 64 hexadecimal digits of either case.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|v| u8::try_from(v).ok());
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = value(*high)? << 4 | value(*low)?;
        }
        Some(Self(bytes))
    }

    /// Upper-case hexadecimal, as installation manifests write it.
    pub fn upper_hex(&self) -> String {
        self.hex(b"0123456789ABCDEF")
    }

    fn hex(self, alphabet: &[u8; 16]) -> String {
        let digit = |nibble: u8| char::from(alphabet[usize::from(nibble)]);
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

/// A digest in the making; see [`Digest::stream`].
#[derive(Clone)]
pub struct DigestStream(Sha256);

impl DigestStream {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything that was added.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// Lower-case hexadecimal, as `sha256sum` prints it.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex(b"0123456789abcdef"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_value() {
        // FIPS 180-4, the digest of "abc".
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), hex);
        assert_eq!(Digest::of(b"abc").upper_hex(), hex.to_uppercase());
        let mut stream = Digest::stream();
        stream.update(b"a");
        stream.update(b"bc");
        assert_eq!(stream.finish(), Digest::of(b"abc"));
        assert_eq!(Digest::from_hex(&hex.to_uppercase()), Some(Digest::of(b"abc")));
        for bad in [&hex[1..], "", &hex.replace('b', "g"), &hex.replacen("ba", "é", 1)] {
            assert_eq!(Digest::from_hex(bad), None, "{bad}");
        }
    }
}
