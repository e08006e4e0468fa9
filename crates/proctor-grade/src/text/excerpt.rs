//! From a place in the normalised text back to the text that a person wrote.
//!
//! The way back is walked only when an excerpt is wanted, and from the last [`Mark`] before it. Pieces
//! that are not ASCII are cut into graphemes for it: normalising works inside a grapheme, never
//! across its borders.

use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::normal::{Piece, fold, is_space, pieces};

/// Code points of an excerpt on either side of the occurrence.
pub const EXCERPT_CONTEXT: usize = 40;

/// Code points of the occurrence that an excerpt shows at most.
pub const EXCERPT_HIT: usize = 1000;

/// So many bytes of a text lie between two [`Mark`]s.
const MARK_EVERY: usize = 4096;

/// A place of the original from which the way may be walked on.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// Its offset; what follows begins with a grapheme.
    from: usize,
    /// The bytes of the normal form before it.
    normal: usize,
    /// Whether white space stands before it that has not become a space yet.
    pending: bool,
}

/// Marks in a text, made when the first excerpt is wanted: many excerpts of a long text cost one
/// walk through it and not one each.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks(OnceLock<Vec<Mark>>);

impl Marks {
    /// The last mark of `original` before `at` of its normal form.
    fn before(&self, original: &str, at: usize) -> Mark {
        const START: Mark = Mark { from: 0, normal: 0, pending: false };
        if original.len() <= MARK_EVERY {
            return START;
        }
        let marks = self.0.get_or_init(|| marks(original));
        let later = marks.partition_point(|mark| mark.normal <= at);
        later.checked_sub(1).and_then(|last| marks.get(last)).copied().unwrap_or(START)
    }
}

fn marks(original: &str) -> Vec<Mark> {
    let mut marks = Vec::with_capacity(original.len() / MARK_EVERY);
    let mut length = Length::default();
    let mut next = MARK_EVERY;
    steps(original, 0, |c, place| {
        if place.start >= next {
            next = place.start + MARK_EVERY;
            marks.push(Mark { from: place.start, normal: length.normal, pending: length.pending });
        }
        length.add(c);
        ControlFlow::Continue(())
    });
    marks
}

/// The part of `original` around the range `at` of its normal form.
pub(super) fn excerpt<'a>(original: &'a str, marks: &Marks, at: &Range<usize>) -> &'a str {
    let hit = locate(original, marks, at);
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
fn locate(original: &str, marks: &Marks, at: &Range<usize>) -> Range<usize> {
    let Mark { from, normal, pending } = marks.before(original, at.start);
    let mut length = Length { normal, pending };
    let (mut start, mut end) = (None, None);
    steps(original, from, |c, place| {
        if !length.add(c) {
            return ControlFlow::Continue(());
        }
        if length.normal > at.start {
            start.get_or_insert(place.start);
        }
        if start.is_some() && length.normal >= at.end {
            end = Some(place.end);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    start.unwrap_or(original.len())..end.unwrap_or(original.len())
}

/// Gives `step` every folded character that comes of `original` from the grapheme at `from` on, with
/// the place that it came from.
fn steps(
    original: &str,
    mut from: usize,
    mut step: impl FnMut(char, Range<usize>) -> ControlFlow<()>,
) {
    for piece in pieces(original.get(from..).unwrap_or_default()) {
        let (Piece::Ascii(stretch) | Piece::Other(stretch)) = piece;
        let done = match piece {
            Piece::Ascii(run) => (from..)
                .zip(run.bytes())
                .try_for_each(|(place, byte)| step(char::from(byte), place..place + 1)),
            Piece::Other(stretch) => {
                stretch.grapheme_indices(true).try_for_each(|(offset, grapheme)| {
                    let place = from + offset..from + offset + grapheme.len();
                    fold(grapheme).chars().try_for_each(|c| step(c, place.clone()))
                })
            }
        };
        if done.is_break() {
            return;
        }
        from += stretch.len();
    }
}

/// The same collapsing of white space as in the normal form, but only counted.
#[derive(Default)]
struct Length {
    normal: usize,
    pending: bool,
}

impl Length {
    /// Takes the next folded character; `false` when it is white space, which counts only once
    /// another one follows.
    fn add(&mut self, c: char) -> bool {
        if is_space(c) {
            self.pending = self.normal > 0;
            return false;
        }
        self.normal += usize::from(std::mem::take(&mut self.pending)) + c.len_utf8();
        true
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
        assert_eq!(locate("a \u{df} b", &Marks::default(), &(3..4)), 2..4);
        assert_eq!(locate("x\u{302}\u{323}y", &Marks::default(), &(0..1)), 0..5);
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
    fn many_excerpts_of_a_long_text_cost_one_walk() {
        let text = format!("{} {}", "é".repeat(100_000), "Oslo ".repeat(500));
        let prepared = Prepared::new(&text);
        let begin = normalise(&text).find("oslo").expect("contained");
        for word in 0..500 {
            let at = begin + 5 * word..begin + 5 * word + 4;
            assert!(prepared.excerpt(&at).contains("Oslo"));
        }
    }

    #[test]
    fn a_foreign_range_gives_no_panic() {
        for at in [0..0, 5..9, 100..200] {
            excerpt("é x", &Marks::default(), &at);
            excerpt("", &Marks::default(), &at);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// From a mark as from the beginning.
        #[test]
        fn marks_change_nothing(part in awkward(), from in 0usize..40_000, length in 1usize..8) {
            let text = part.repeat(2 * MARK_EVERY / part.len().max(1) + 1);
            let normal = normalise(&text);
            let from = from % normal.len().max(1);
            let at = from..(from + length).min(normal.len());
            let none = Marks::default();
            none.0.set(Vec::new()).expect("not set yet");
            prop_assert_eq!(
                locate(&text, &Marks::default(), &at),
                locate(&text, &none, &at)
            );
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
            let hit = locate(&text, &Marks::default(), &at);
            let found = normalise(&text[hit.clone()]).into_owned();
            prop_assert!(found.contains(&normal[at.clone()]), "{found:?} {:?}", &normal[at.clone()]);
            let shown = excerpt(&text, &Marks::default(), &at);
            prop_assert!(shown.contains(&text[hit]));
        }
    }
}
