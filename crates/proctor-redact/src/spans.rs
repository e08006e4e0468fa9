//! Stretches of text that must not survive, as byte ranges.

use std::ops::Range;

/// Ranges in order, none of them overlapping or touching another.
#[derive(Debug, Default)]
pub(crate) struct Spans(Vec<Range<usize>>);

impl Spans {
    /// Adds a range and merges it with those at the end that it overlaps or touches.
    ///
    /// Matches arrive in the order of their ends, so only the last few can be affected and the
    /// whole costs linear time, however many matches overlap.
    pub(crate) fn push(&mut self, mut range: Range<usize>) {
        while let Some(last) = self.0.last()
            && last.end >= range.start
            && last.start <= range.end
        {
            range = last.start.min(range.start)..last.end.max(range.end);
            self.0.pop();
        }
        self.0.push(range);
    }

    /// The ranges of several sources in one order, merged.
    pub(crate) fn merged(sources: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Range<usize>> = sources.into_iter().flat_map(|spans| spans.0).collect();
        all.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged = Self::default();
        for range in all {
            merged.push(range);
        }
        merged
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Range<usize>> {
        self.0.iter()
    }

    pub(crate) fn into_vec(self) -> Vec<Range<usize>> {
        self.0
    }
}

/// Widens `range` so that it cuts neither a character nor a JSON escape of `text`, because half
/// an escape left beside the mark would break the document. Backslashes are counted from
/// `floor` on, which must itself cut no escape.
pub(crate) fn whole(text: &str, range: Range<usize>, floor: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = text.floor_char_boundary(range.start);
    let end = text.ceil_char_boundary(range.end);
    let start = escape_across(bytes, start, floor).map_or(start, |escape| escape.start);
    let end = escape_across(bytes, end, start).map_or(end, |escape| escape.end);
    start..end
}

/// The JSON escape that position `at` cuts.
fn escape_across(bytes: &[u8], at: usize, floor: usize) -> Option<Range<usize>> {
    const LONGEST: usize = "\\u0000".len();
    let from = at.saturating_sub(LONGEST - 1).max(floor);
    for start in (from..at).rev() {
        if bytes.get(start) != Some(&b'\\') {
            continue;
        }
        let run = bytes.get(floor..start)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        // An odd run before it means that this backslash is itself the escaped character.
        if run % 2 == 1 {
            continue;
        }
        let end = start + escape_length(bytes.get(start..)?)?;
        if end > at {
            return Some(start..end);
        }
    }
    None
}

/// The length of the JSON escape at the start of `bytes`; `None` when there is none.
pub(crate) fn escape_length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
        [b'\\', b'u', hex @ ..] if hex.len() >= 4 && hex[..4].iter().all(u8::is_ascii_hexdigit) => {
            Some(6)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_and_touching_ranges_become_one() {
        let mut spans = Spans::default();
        for range in [3..5, 2..6, 6..8, 9..10, 1..11, 20..21] {
            spans.push(range);
        }
        assert_eq!(spans.into_vec(), [1..11, 20..21]);
    }

    #[test]
    fn sources_in_any_order_merge() {
        let mut left = Spans::default();
        left.push(10..12);
        let mut right = Spans::default();
        right.push(0..3);
        right.push(12..13);
        assert_eq!(Spans::merged([left, right]).into_vec(), [0..3, 10..13]);
    }

    #[test]
    fn an_escape_is_never_cut() {
        let text = r"a\\nb\nc\u00e9d\";
        let n = text.find("nb").unwrap();
        assert_eq!(whole(text, n..n + 2, 0), n..n + 2, "the backslash before `n` is escaped");
        let n = text.find("nc").unwrap();
        assert_eq!(whole(text, n..n + 2, 0), n - 1..n + 2);
        let e9 = text.find("e9").unwrap();
        assert_eq!(whole(text, e9..e9 + 3, 0), e9 - 4..e9 + 3);
        assert_eq!(whole(text, 0..e9 - 1, 0), 0..e9 + 2);
        assert_eq!(whole(text, 0..text.len(), 0), 0..text.len());
    }
}
