//! Redacting streams in bounded memory.

use std::io::{self, Read, Write};

use crate::Redactor;

/// The least that is read before anything is written.
const WINDOW: usize = 256 * 1024;

/// The least that two windows share: a private key with room to spare.
const OVERLAP: usize = 16 * 1024;

/// A byte of a secret takes at most this many characters: `\\u0041`.
const WIDEST: usize = 8;

/// What is kept of a token longer than a window, so that the rest of it is still seen as such.
const HEAD: usize = 256;

impl Redactor {
    /// Copies `reader` to `writer` with every secret redacted, in memory bounded by the longest
    /// secret: windows overlap, so nothing slips through where two of them meet. Invalid UTF-8
    /// becomes U+FFFD. Returns the number of bytes written.
    pub fn copy(&self, reader: impl Read, writer: impl Write) -> io::Result<u64> {
        let overlap = OVERLAP.max(self.0.longest * WIDEST);
        self.copy_windows(reader, writer, WINDOW.max(8 * overlap), overlap)
    }

    pub(crate) fn copy_windows(
        &self,
        mut reader: impl Read,
        mut writer: impl Write,
        window: usize,
        overlap: usize,
    ) -> io::Result<u64> {
        let mut pending = Vec::new();
        let mut written = 0;
        loop {
            let wanted = window.saturating_sub(pending.len());
            let limit = u64::try_from(wanted).unwrap_or(u64::MAX);
            let last = reader.by_ref().take(limit).read_to_end(&mut pending)? < wanted;
            let text = decode(&mut pending, last);
            let (ready, kept) = if last { (&*text, "") } else { self.split(&text, overlap) };
            let redacted = self.text(ready);
            writer.write_all(redacted.as_bytes())?;
            written += u64::try_from(redacted.len()).unwrap_or(u64::MAX);
            if last {
                return Ok(written);
            }
            pending.splice(..0, kept.bytes());
        }
    }

    /// What of `text` can be written, and what the next window starts with.
    fn split<'a>(&self, text: &'a str, overlap: usize) -> (&'a str, &'a str) {
        let target = text.floor_char_boundary(text.len().saturating_sub(overlap));
        let spans = self.spans(text);
        if let Some(span) = spans.iter().find(|span| span.end > target)
            && span.start <= target
        {
            if span.end < text.len() {
                return text.split_at(span.end);
            }
            let (ready, token) = text.split_at(span.start);
            return (ready, &token[..token.floor_char_boundary(HEAD)]);
        }
        // A word cut in two could look like a token, and so could half an escape.
        let from = text.floor_char_boundary(target.saturating_sub(overlap));
        let from =
            spans.iter().rev().find(|span| span.end <= target).map_or(from, |s| s.end.max(from));
        if let Some(at) = text.get(from..target).and_then(|near| near.rfind([' ', '\n'])) {
            return text.split_at(from + at);
        }
        let run = text[..target].bytes().rev().take_while(|byte| *byte == b'\\').count();
        text.split_at(target - run % 2)
    }
}

/// The text of `bytes`; unless they are the `last`, an unfinished character at the end is left in
/// `bytes`, and nothing else is.
fn decode(bytes: &mut Vec<u8>, last: bool) -> String {
    let unfinished = if last { 0 } else { unfinished(bytes) };
    let tail = bytes.split_off(bytes.len() - unfinished);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = tail;
    text
}

/// The length of the started but unfinished character at the end.
fn unfinished(bytes: &[u8]) -> usize {
    (1..=3.min(bytes.len()))
        .find(|back| {
            let start = &bytes[bytes.len() - back..];
            let length = match start[0] {
                0xC2..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF4 => 4,
                _ => 0,
            };
            length > *back && start[1..].iter().all(|byte| (0x80..0xC0).contains(byte))
        })
        .unwrap_or(0)
}
