//! Bytes to lines, with a bound on memory.

/// The longest line that is read as JSON, in bytes without its line feed. A longer one becomes a
/// garbage event.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// How many bytes of a line that is too long are kept, for its excerpt.
const KEPT_BYTES: usize = 1024;

/// A line without its line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// The start of a line that is longer than the limit.
    TooLong(&'a [u8]),
}

/// Collects bytes until a line is complete.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    limit: usize,
    /// The line that has begun: all of it, or its start when `overlong`.
    buffer: Vec<u8>,
    overlong: bool,
}

impl LineSplitter {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, buffer: Vec::new(), overlong: false }
    }

    /// Takes bytes and hands out each line that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Line<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.buffer.is_empty() && !self.overlong && line.len() <= self.limit {
                each(Line::Whole(line));
            } else {
                self.keep(line);
                self.flush(each);
            }
        }
        self.keep(bytes);
    }

    /// Hands out the last line when it had no line feed.
    pub(crate) fn finish(&mut self, each: &mut dyn FnMut(Line<'_>)) {
        if !self.buffer.is_empty() || self.overlong {
            self.flush(each);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if !self.overlong && self.buffer.len() + bytes.len() <= self.limit {
            return self.buffer.extend_from_slice(bytes);
        }
        self.overlong = true;
        self.buffer.truncate(KEPT_BYTES);
        let room = KEPT_BYTES - self.buffer.len();
        self.buffer.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn flush(&mut self, each: &mut dyn FnMut(Line<'_>)) {
        let line = std::mem::take(&mut self.buffer);
        each(if self.overlong { Line::TooLong(&line) } else { Line::Whole(&line) });
        self.overlong = false;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq)]
    enum Owned {
        Whole(Vec<u8>),
        TooLong(Vec<u8>),
    }

    fn split(limit: usize, parts: &[&[u8]]) -> Vec<Owned> {
        let mut out = Vec::new();
        let mut each = |line: Line<'_>| {
            out.push(match line {
                Line::Whole(bytes) => Owned::Whole(bytes.to_vec()),
                Line::TooLong(bytes) => Owned::TooLong(bytes.to_vec()),
            });
        };
        let mut splitter = LineSplitter::new(limit);
        for part in parts {
            splitter.push(part, &mut each);
        }
        splitter.finish(&mut each);
        out
    }

    #[test]
    fn lines_end_at_line_feeds_and_at_the_end() {
        let whole = |text: &str| Owned::Whole(text.as_bytes().to_vec());
        assert_eq!(split(9, &[b"a\n\nbc"]), [whole("a"), whole(""), whole("bc")]);
        assert_eq!(split(9, &[b"a\n"]), [whole("a")]);
        assert_eq!(split(9, &[]), []);
    }

    #[test]
    fn the_limit_is_inclusive_and_ends_with_the_line() {
        let lines = split(3, &[b"abc\nabcd\nx"]);
        assert_eq!(
            lines,
            [
                Owned::Whole(b"abc".to_vec()),
                Owned::TooLong(b"abcd".to_vec()),
                Owned::Whole(b"x".to_vec())
            ]
        );
    }

    #[test]
    fn a_line_that_is_too_long_costs_little_memory() {
        let mut splitter = LineSplitter::new(4096);
        for _ in 0..100 {
            splitter.push(&[b'x'; 1000], &mut |_| {});
        }
        assert_eq!(splitter.buffer.len(), KEPT_BYTES);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_lines(
            bytes in prop::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(b'\n')], 0..200),
            cuts in prop::collection::vec(0usize..200, 0..6),
            limit in 0usize..30,
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut parts = Vec::new();
            let mut from = 0;
            for cut in cuts {
                parts.push(&bytes[from..cut]);
                from = cut;
            }
            parts.push(&bytes[from..]);
            prop_assert_eq!(split(limit, &parts), split(limit, &[&bytes]));
        }
    }
}
