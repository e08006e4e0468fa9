//! Lines of files that may be of any length.

use std::io::{self, BufRead, Read as _};

/// The longest line that is read, in bytes.
pub(crate) const MAX_LINE: u64 = 64 << 20;

/// A line without its end.
pub(crate) enum Line {
    /// All of it; `torn` when the file ends without a line feed.
    Whole {
        /// What it holds.
        bytes: Vec<u8>,
        /// Whether it may be the start of a longer one.
        torn: bool,
    },
    /// A line longer than [`MAX_LINE`], which was passed over.
    TooLong,
}

/// The next line; `None` at the end.
pub(crate) fn next(reader: &mut dyn BufRead) -> io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    let mut limited = (&mut *reader).take(MAX_LINE + 1);
    if limited.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        return Ok(Some(Line::Whole { bytes, torn: false }));
    }
    if bytes.len() as u64 <= MAX_LINE {
        return Ok(Some(Line::Whole { bytes, torn: true }));
    }
    drop(bytes);
    skip_line(reader)?;
    Ok(Some(Line::TooLong))
}

fn skip_line(reader: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(length);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_line_feeds_and_a_last_one_may_be_torn() {
        let mut reader = &b"a\n\nbc"[..];
        let mut found = Vec::new();
        while let Some(Line::Whole { bytes, torn }) = next(&mut reader).unwrap() {
            found.push((bytes, torn));
        }
        assert_eq!(found, [(b"a".to_vec(), false), (vec![], false), (b"bc".to_vec(), true)]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let long = io::repeat(b'x').take(MAX_LINE + 10);
        let mut reader = io::BufReader::new(long.chain(&b"\nnext\n"[..]));
        assert!(matches!(next(&mut reader).unwrap(), Some(Line::TooLong)));
        assert!(
            matches!(next(&mut reader).unwrap(), Some(Line::Whole { bytes, .. }) if bytes == b"next")
        );
    }
}
