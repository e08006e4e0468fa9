//! Text of a stream, up to a limit.

/// Collects the text of one stream up to a limit and counts nothing beyond it.
///
/// Bytes that are not UTF-8 become U+FFFD, as [`String::from_utf8_lossy`] does it, however they are
/// split over [`push`](Self::push). Lengths are UTF-16 code units, which is what the conformance
/// format counts; a character is kept whole or left out.
#[derive(Debug, Clone)]
pub struct Capture {
    text: String,
    units: usize,
    limit: usize,
    /// The beginning of a character whose other bytes have not come yet: at most three bytes.
    pending: Vec<u8>,
    truncated: bool,
}

impl Default for Capture {
    fn default() -> Self {
        Self::with_limit(Self::LIMIT)
    }
}

impl Capture {
    /// The conformance format's limit for a stream, in UTF-16 code units.
    pub const LIMIT: usize = 65_536;

    /// An empty capture with the usual limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty capture that holds at most `limit` UTF-16 code units.
    pub fn with_limit(limit: usize) -> Self {
        Self { text: String::new(), units: 0, limit, pending: Vec::new(), truncated: false }
    }

    /// Adds what came next. What lies beyond the limit is dropped without being looked at.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.truncated {
            return;
        }
        let joined;
        let mut rest = if self.pending.is_empty() {
            bytes
        } else {
            joined = [&self.pending, bytes].concat();
            self.pending.clear();
            &joined
        };
        while !rest.is_empty() && !self.truncated {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.append(text),
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.append(&String::from_utf8_lossy(valid));
                    let Some(length) = error.error_len() else {
                        return self.pending.extend_from_slice(after);
                    };
                    self.append("\u{FFFD}");
                    rest = &after[length..];
                }
            }
        }
    }

    fn append(&mut self, text: &str) {
        if self.truncated {
            return;
        }
        let room = self.limit - self.units;
        let units = text.encode_utf16().take(room + 1).count();
        if units <= room {
            self.text.push_str(text);
            self.units += units;
            return;
        }
        self.truncated = true;
        for character in text.chars() {
            if self.units + character.len_utf16() > self.limit {
                return;
            }
            self.text.push(character);
            self.units += character.len_utf16();
        }
    }

    /// Whether anything was left out.
    pub fn truncated(&self) -> bool {
        self.truncated || (!self.pending.is_empty() && self.units == self.limit)
    }

    /// What was collected so far, without the beginning of an unfinished character.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What was collected; an unfinished character at the end becomes U+FFFD.
    pub fn into_text(mut self) -> String {
        if !self.pending.is_empty() {
            self.append("\u{FFFD}");
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn capture(limit: usize, chunks: &[&[u8]]) -> (String, bool) {
        let mut capture = Capture::with_limit(limit);
        for chunk in chunks {
            capture.push(chunk);
        }
        let truncated = capture.truncated();
        (capture.into_text(), truncated)
    }

    #[test]
    fn a_character_is_never_cut() {
        // U+1F600 takes four bytes and two code units.
        let smile = "😀".as_bytes();
        assert_eq!(capture(3, &[b"ab", smile]), ("ab".into(), true));
        assert_eq!(capture(4, &[b"ab", smile]), ("ab😀".into(), false));
        assert_eq!(capture(4, &[b"ab", &smile[..1], &smile[1..3], &smile[3..]]).0, "ab😀");
    }

    #[test]
    fn nothing_is_added_after_a_gap() {
        assert_eq!(capture(2, &[b"a", "😀".as_bytes(), b"b"]), ("a".into(), true));
    }

    #[test]
    fn an_unfinished_character_at_the_end_is_replaced_or_counted_as_left_out() {
        assert_eq!(capture(4, &[b"a\xF0\x9F"]), ("a\u{FFFD}".into(), false));
        assert_eq!(capture(1, &[b"a\xF0\x9F"]), ("a".into(), true));
    }

    #[test]
    fn the_limit_itself_is_not_a_truncation() {
        let full = vec![b'x'; Capture::LIMIT];
        assert_eq!(capture(Capture::LIMIT, &[&full]).0.len(), Capture::LIMIT);
        assert!(!capture(Capture::LIMIT, &[&full]).1);
        assert!(capture(Capture::LIMIT, &[&full, b"y"]).1);
    }

    proptest! {
        #[test]
        fn the_same_as_the_lossy_text_however_it_is_split(
            chunks in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..6),
                    "[a-zé😀\u{FFFD}]{0,4}".prop_map(String::into_bytes),
                ],
                0..12,
            ),
            limit in 0_usize..40,
        ) {
            let whole = chunks.concat();
            let text = String::from_utf8_lossy(&whole);
            let mut expected = String::new();
            let mut units = 0;
            for character in text.chars() {
                units += character.len_utf16();
                if units > limit {
                    break;
                }
                expected.push(character);
            }
            let split: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            let (got, truncated) = capture(limit, &split);
            prop_assert_eq!(&got, &expected);
            prop_assert_eq!(truncated, expected != text);
        }
    }
}
