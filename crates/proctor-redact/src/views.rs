//! A text as it reads once an encoding is taken off it, with the way back to the original.
//!
//! Looking for a secret in decoded text finds it however much of it was encoded: a JSON writer
//! may or may not escape `/`, a URL writer may or may not escape `!`. Listing the encoded forms
//! of every secret instead would miss the mixtures.

use std::ops::Range;

use memchr::{memchr, memchr2};

use crate::spans::escape_length;

/// An encoding that can be taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoding {
    /// Escapes of JSON strings (RFC 8259, section 7).
    Json,
    /// Percent-encoding (RFC 3986, section 2.1).
    Percent,
    /// The same with `+` for a space (`application/x-www-form-urlencoded`).
    Form,
    /// Line breaks with the indentation after them: base64 as command-line tools wrap it.
    Wrapped,
}

/// Decoded bytes, and where they came from.
pub(crate) struct View {
    pub(crate) bytes: Vec<u8>,
    /// `(decoded, origin)`: from `decoded` up to the next step both run in parallel.
    steps: Vec<(usize, usize)>,
    origin_len: usize,
}

impl View {
    /// Takes `decoding` off `bytes`; `None` when that changes nothing.
    pub(crate) fn of(bytes: &[u8], decoding: Decoding) -> Option<Self> {
        let next = |bytes: &[u8]| match decoding {
            Decoding::Json => memchr(b'\\', bytes),
            Decoding::Percent => memchr(b'%', bytes),
            Decoding::Form => memchr2(b'%', b'+', bytes),
            Decoding::Wrapped => memchr2(b'\n', b'\r', bytes),
        };
        let bytes = if decoding == Decoding::Wrapped { bytes.trim_ascii_end() } else { bytes };
        let mut view = Self { bytes: Vec::new(), steps: Vec::new(), origin_len: bytes.len() };
        let mut plain = 0;
        let mut at = 0;
        while let Some(ahead) = bytes.get(at..).and_then(next) {
            at += ahead;
            let Some((length, decoded)) = decode(&bytes[at..], decoding) else {
                // Not an escape: it stands for itself.
                at += 1;
                continue;
            };
            if view.steps.is_empty() {
                view.bytes.reserve(bytes.len());
                view.steps.push((0, 0));
            }
            view.bytes.extend_from_slice(&bytes[plain..at]);
            view.steps.push((view.bytes.len(), at));
            view.bytes.extend_from_slice(&decoded.bytes[..decoded.len]);
            at += length;
            plain = at;
            view.steps.push((view.bytes.len(), at));
        }
        if view.steps.is_empty() {
            return None;
        }
        view.bytes.extend_from_slice(&bytes[plain..]);
        Some(view)
    }

    /// The bytes of the original that the decoded `range` came from.
    ///
    /// Where several steps share a decoded position, because a line break decodes to nothing, a
    /// start takes the last and an end the first: line breaks beside a match stay.
    pub(crate) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let last = self.steps.partition_point(|step| step.0 <= range.start).saturating_sub(1);
        let first = self.steps.partition_point(|step| step.0 < range.end);
        let first = if self.steps.get(first).is_some_and(|step| step.0 == range.end) {
            first
        } else {
            first.saturating_sub(1)
        };
        self.origin_of(last, range.start)..self.origin_of(first, range.end)
    }

    fn origin_of(&self, step: usize, at: usize) -> usize {
        let (decoded, origin) = self.steps.get(step).copied().unwrap_or_default();
        (origin + at.saturating_sub(decoded)).min(self.origin_len)
    }
}

/// Up to four bytes: one character.
struct Decoded {
    bytes: [u8; 4],
    len: usize,
}

impl Decoded {
    const NOTHING: Self = Self { bytes: [0; 4], len: 0 };

    fn byte(byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], len: 1 }
    }

    fn char(character: char) -> Self {
        let mut bytes = [0; 4];
        let len = character.encode_utf8(&mut bytes).len();
        Self { bytes, len }
    }
}

/// The escape at the start of `bytes`: its length and what it stands for.
fn decode(bytes: &[u8], decoding: Decoding) -> Option<(usize, Decoded)> {
    match (decoding, bytes) {
        (Decoding::Json, _) => decode_json(bytes),
        (Decoding::Form, [b'+', ..]) => Some((1, Decoded::byte(b' '))),
        (Decoding::Percent | Decoding::Form, [_, high, low, ..]) => {
            let byte = hex(*high)? * 16 + hex(*low)?;
            Some((3, Decoded::byte(u8::try_from(byte).ok()?)))
        }
        (Decoding::Percent | Decoding::Form, _) => None,
        (Decoding::Wrapped, _) => {
            let length = bytes.iter().take_while(|byte| b"\r\n \t".contains(byte)).count();
            Some((length, Decoded::NOTHING))
        }
    }
}

fn decode_json(bytes: &[u8]) -> Option<(usize, Decoded)> {
    let length = escape_length(bytes)?;
    let decoded = match bytes.get(1)? {
        b'b' => Decoded::byte(8),
        b'f' => Decoded::byte(12),
        b'n' => Decoded::byte(b'\n'),
        b'r' => Decoded::byte(b'\r'),
        b't' => Decoded::byte(b'\t'),
        b'u' => {
            let unit = code_unit(bytes)?;
            if let Some(character) = char::from_u32(unit) {
                return Some((length, Decoded::char(character)));
            }
            let rest = bytes.get(length..)?;
            if rest.get(1) != Some(&b'u') || escape_length(rest) != Some(length) {
                return None;
            }
            let pair = char::decode_utf16([
                u16::try_from(unit).ok()?,
                u16::try_from(code_unit(rest)?).ok()?,
            ]);
            let character = pair.into_iter().next()?.ok()?;
            return Some((2 * length, Decoded::char(character)));
        }
        other => Decoded::byte(*other),
    };
    Some((length, decoded))
}

/// The number in `\uXXXX`.
fn code_unit(escape: &[u8]) -> Option<u32> {
    escape.get(2..6)?.iter().try_fold(0, |number, digit| Some(number * 16 + hex(*digit)?))
}

fn hex(digit: u8) -> Option<u32> {
    char::from(digit).to_digit(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &str, decoding: Decoding) -> Option<String> {
        View::of(bytes.as_bytes(), decoding)
            .map(|view| String::from_utf8_lossy(&view.bytes).into_owned())
    }

    #[test]
    fn json_escapes_come_off() {
        let decoded = text(r#"a\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00\x\ud83d-\"#, Decoding::Json);
        assert_eq!(decoded.unwrap(), "a\"\\/\u{8}\u{c}\n\r\té😀\\x\\ud83d-\\");
        assert_eq!(text("plain", Decoding::Json), None);
        assert_eq!(text(r"C:\windows\", Decoding::Json), None);
    }

    #[test]
    fn percent_and_form_come_off() {
        assert_eq!(text("a%2fb%2F%C3%a9%zz%2+", Decoding::Percent).unwrap(), "a/b/é%zz%2+");
        assert_eq!(text("a+b%2B", Decoding::Form).unwrap(), "a b+");
        assert_eq!(text("100%", Decoding::Percent), None);
    }

    #[test]
    fn wrapping_comes_off_with_its_indentation() {
        assert_eq!(text("abc\r\n  def\nghi\n", Decoding::Wrapped).unwrap(), "abcdefghi");
        assert_eq!(text("one line\n", Decoding::Wrapped), None);
    }

    #[test]
    fn ranges_find_their_way_back() {
        let origin = r"x\u00e9\nyz";
        let view = View::of(origin.as_bytes(), Decoding::Json).unwrap();
        assert_eq!(view.bytes, "xé\nyz".as_bytes());
        assert_eq!(view.origin(&(0..1)), 0..1);
        assert_eq!(view.origin(&(1..3)), 1..7);
        assert_eq!(view.origin(&(3..4)), 7..9);
        assert_eq!(view.origin(&(0..6)), 0..11);
        let view = View::of(b"ab\ncd\nef", Decoding::Wrapped).unwrap();
        assert_eq!(view.origin(&(2..4)), 3..5, "line breaks beside a match stay");
        assert_eq!(view.origin(&(1..3)), 1..4);
        assert_eq!(view.origin(&(4..6)), 6..8);
    }
}
