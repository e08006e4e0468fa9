//! From a place in the normalised text back to the text that a person wrote.
//!
//! The way back is walked only when an excerpt is wanted, and only as far as the occurrence. Pieces
//! that are not ASCII are cut into graphemes for it: normalising works inside a grapheme, never
//! across its borders.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::normal::{Piece, fold, is_space, pieces};

/// Code points of an excerpt on either side of the occurrence.
pub const EXCERPT_CONTEXT: usize = 40;

/// Code points of the occurrence that an excerpt shows at most.
pub const EXCERPT_HIT: usize = 1000;

/// The part of `original` around the range `at` of its normal form.
pub(super) fn excerpt<'a>(original: &'a str, at: &Range<usize>) -> &'a str {
    let hit = locate(original, at);
    let shown = forward(original, hit.start, EXCERPT_HIT).min(hit.end);
    let context = if shown == hit.end { EXCERPT_CONTEXT } else { 0 };
    let (start, end) =
        (back(original, hit.start, EXCERPT_CONTEXT), forward(original, shown, context));
    let start = border_from(original, start).min(hit.start);
    let end = border_until(original, end).max(shown);
    original.get(start..end).unwrap_or_default()
}

/// The range of `original` that became the range `at` of its normal form, widened to whole
/// graphemes.
fn locate(original: &str, at: &Range<usize>) -> Range<usize> {
    let mut walk = Walk { at, normal: 0, pending: false, start: None };
    let mut from = 0;
    for piece in pieces(original) {
        match piece {
            Piece::Ascii(run) => {
                for (offset, byte) in run.bytes().enumerate() {
                    let place = from + offset;
                    if let Some(hit) = walk.step(char::from(byte), place..place + 1) {
                        return hit;
                    }
                }
                from += run.len();
            }
            Piece::Other(stretch) => {
                for grapheme in stretch.graphemes(true) {
                    let place = from..from + grapheme.len();
                    for c in fold(grapheme).chars() {
                        if let Some(hit) = walk.step(c, place.clone()) {
                            return hit;
                        }
                    }
                    from = place.end;
                }
            }
        }
    }
    walk.start.unwrap_or(original.len())..original.len()
}

/// The same collapsing of white space as in the normal form, but only counted.
struct Walk<'a> {
    at: &'a Range<usize>,
    normal: usize,
    pending: bool,
    start: Option<usize>,
}

impl Walk<'_> {
    /// Takes the next folded character, which came from `place`; gives the range once its end is
    /// reached.
    fn step(&mut self, c: char, place: Range<usize>) -> Option<Range<usize>> {
        if is_space(c) {
            self.pending = self.normal > 0;
            return None;
        }
        self.normal += usize::from(std::mem::take(&mut self.pending)) + c.len_utf8();
        if self.start.is_none() && self.normal > self.at.start {
            self.start = Some(place.start);
        }
        self.start.filter(|_| self.normal >= self.at.end).map(|start| start..place.end)
    }
}

/// The offset `count` code points before `from`.
fn back(text: &str, from: usize, count: usize) -> usize {
    let mut before = text.get(..from).unwrap_or_default().char_indices().rev();
    match count.checked_sub(1) {
        Some(nth) => before.nth(nth).map_or(0, |(at, _)| at),
        None => from,
    }
}

/// The offset `count` code points after `from`.
fn forward(text: &str, from: usize, count: usize) -> usize {
    let mut after = text.get(from..).unwrap_or_default().char_indices();
    after.nth(count).map_or(text.len(), |(at, _)| from + at)
}

/// The first grapheme border at or after `at`.
fn border_from(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) => at,
        _ => cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len()),
    }
}

/// The last grapheme border at or before `at`.
fn border_until(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) => at,
        _ => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::find::{Boundary, Prepared};
    use super::super::normal::{normalise, tests::awkward};
    use super::*;

    fn shown<'a>(text: &'a str, needle: &str) -> &'a str {
        let text = Prepared::new(text);
        let at = text.find(&Prepared::new(needle), Boundary::Substring).at.expect("contained");
        text.excerpt(&at)
    }

    #[test]
    fn the_words_of_the_author_are_shown() {
        assert_eq!(shown("Lange  STRASSE\t3", "straße"), "Lange  STRASSE\t3");
        assert_eq!(shown("\u{feff}  cafe\u{301}!", "CAFÉ"), "\u{feff}  cafe\u{301}!");
    }

    #[test]
    fn forty_code_points_on_either_side() {
        let text = format!("{}Oslo{}", "ä".repeat(50), "ö".repeat(50));
        let excerpt = shown(&text, "oslo");
        assert_eq!(excerpt, format!("{}Oslo{}", "ä".repeat(40), "ö".repeat(40)));
        let text = format!("{} new \n york {}", "x".repeat(38), "y".repeat(60));
        assert_eq!(
            shown(&text, "New York"),
            format!("{} new \n york {}", "x".repeat(38), "y".repeat(39))
        );
    }

    #[test]
    fn graphemes_are_not_cut() {
        let family = "👨\u{200d}👩\u{200d}👧";
        let text = format!("{}Oslo{}", family.repeat(9), family.repeat(9));
        assert_eq!(shown(&text, "Oslo"), format!("{}Oslo{}", family.repeat(8), family.repeat(8)));
        let text = format!("{}x Oslo", "e\u{301}".repeat(20));
        assert_eq!(shown(&text, "Oslo"), format!("{}x Oslo", "e\u{301}".repeat(19)));
    }

    #[test]
    fn half_a_grapheme_shows_the_whole() {
        assert_eq!(locate("a \u{df} b", &(3..4)), 2..4);
        assert_eq!(locate("x\u{302}\u{323}y", &(0..1)), 0..5);
    }

    #[test]
    fn a_long_occurrence_is_shown_from_its_beginning() {
        let text = format!("so {}", "word ".repeat(1000));
        let excerpt = shown(&text, &"word ".repeat(900));
        assert_eq!(excerpt.chars().count(), 3 + EXCERPT_HIT);
        let marks = format!("a{}", "\u{301}".repeat(100_000));
        assert!(shown(&marks, "á").chars().count() <= EXCERPT_HIT);
    }

    #[test]
    fn a_foreign_range_gives_no_panic() {
        for at in [0..0, 5..9, 100..200] {
            excerpt("é x", &at);
            excerpt("", &at);
        }
    }

    proptest! {
        /// What was located becomes, normalised, a text with the occurrence in it.
        #[test]
        fn located_text_holds_the_occurrence(text in awkward(), from in 0usize..40, length in 1usize..8) {
            let normal = normalise(&text).into_owned();
            let characters: Vec<(usize, char)> = normal.char_indices().skip(from).take(length).collect();
            let (Some(first), Some(last)) = (characters.first(), characters.last()) else {
                return Ok(());
            };
            prop_assume!(first.1 != ' ' && last.1 != ' ');
            let at = first.0..last.0 + last.1.len_utf8();
            let hit = locate(&text, &at);
            let found = normalise(&text[hit.clone()]).into_owned();
            prop_assert!(found.contains(&normal[at.clone()]), "{found:?} {:?}", &normal[at.clone()]);
            let shown = excerpt(&text, &at);
            prop_assert!(shown.contains(&text[hit]));
        }
    }
}
