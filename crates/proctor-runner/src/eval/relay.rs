//! A runner's standard error on its way to a reader: by lines, redacted, its end remembered.

use std::collections::VecDeque;

use proctor_redact::Redactor;

/// A line longer than this is told in pieces.
const MAX_LINE_BYTES: usize = 64 << 10;
/// The last words of a runner are at most so many lines.
const KEPT_LINES: usize = 5;
/// Characters that are kept of each of them.
const KEPT_CHARS: usize = 200;

/// Cuts a stream into redacted lines.
pub(super) struct Relay<'a> {
    redactor: &'a Redactor,
    pending: Vec<u8>,
    last: VecDeque<String>,
}

impl<'a> Relay<'a> {
    pub(super) fn new(redactor: &'a Redactor) -> Self {
        Self { redactor, pending: Vec::new(), last: VecDeque::new() }
    }

    /// Takes the next bytes and tells the lines that are whole.
    pub(super) fn push(&mut self, bytes: &[u8], tell: &mut dyn FnMut(String)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            self.pending.extend_from_slice(line);
            self.line(tell);
            rest = after.get(1..).unwrap_or_default();
        }
        self.pending.extend_from_slice(rest);
        if self.pending.len() > MAX_LINE_BYTES {
            self.line(tell);
        }
    }

    /// Tells what is left, and gives the runner's last words on one line.
    pub(super) fn finish(mut self, tell: &mut dyn FnMut(String)) -> String {
        if !self.pending.is_empty() {
            self.line(tell);
        }
        Vec::from(self.last).join(" / ")
    }

    fn line(&mut self, tell: &mut dyn FnMut(String)) {
        let text = String::from_utf8_lossy(&self.pending);
        let line = self.redactor.text(text.trim_end_matches('\r')).into_owned();
        self.pending.clear();
        if !line.trim().is_empty() {
            if self.last.len() == KEPT_LINES {
                self.last.pop_front();
            }
            self.last.push_back(line.trim().chars().take(KEPT_CHARS).collect());
        }
        tell(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relay(chunks: &[&str], redactor: &Redactor) -> (Vec<String>, String) {
        let mut lines = Vec::new();
        let mut relay = Relay::new(redactor);
        for chunk in chunks {
            relay.push(chunk.as_bytes(), &mut |line| lines.push(line));
        }
        let last = relay.finish(&mut |line| lines.push(line));
        (lines, last)
    }

    #[test]
    fn lines_come_whole_however_they_are_split() {
        let (lines, last) = relay(&["a", "b\r\n\nc", "\nd"], &Redactor::default());
        assert_eq!(lines, ["ab", "", "c", "d"]);
        assert_eq!(last, "ab / c / d");
    }

    #[test]
    fn a_secret_that_is_split_over_pieces_is_redacted() {
        let redactor = Redactor::new(["sealed-secret-1".to_owned()]);
        let (lines, last) = relay(&["key sealed-", "secret-1\n"], &redactor);
        assert_eq!(lines, ["key [redacted]"]);
        assert_eq!(last, "key [redacted]");
    }

    #[test]
    fn a_line_without_end_is_told_in_pieces_and_only_the_end_is_remembered() {
        let long = "x".repeat(MAX_LINE_BYTES + 1);
        let mut chunks = vec![long.as_str()];
        chunks.extend(["1\n"; 9]);
        let (lines, last) = relay(&chunks, &Redactor::default());
        assert_eq!(lines.len(), 10);
        assert_eq!(last, "1 / 1 / 1 / 1 / 1");
    }
}
