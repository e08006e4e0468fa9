//! One text inside another.

use std::borrow::Cow;
use std::ops::Range;

use super::edge::End;
use super::excerpt::{Marks, excerpt};
use super::normal::normalise;

/// Which occurrences count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Boundary {
    /// All: `Berlin` is in `Berliner`.
    #[default]
    Substring,
    /// Those that do not continue a word: next to a letter, number or mark at either end of what
    /// is looked for stands no letter, number, mark or connector. At an end in a script that is
    /// written without spaces every place counts.
    Word,
}

/// What a search gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    /// Whether there is an occurrence that counts.
    pub found: bool,
    /// Whether the occurrence at `at` stands between word edges; `None` without an occurrence.
    /// `Some(false)` says that *no* occurrence does.
    pub boundary: Option<bool>,
    /// The deciding occurrence, in bytes of the normalised text: the first between word edges, or
    /// else the first. In word mode it is also given when it does not count, since it shows why.
    pub at: Option<Range<usize>>,
}

/// A text with its normal form, made once and searched often.
#[derive(Debug, Clone)]
pub struct Prepared<'a> {
    original: &'a str,
    normal: Cow<'a, str>,
    marks: Marks,
}

impl<'a> Prepared<'a> {
    /// Normalises `original`.
    pub fn new(original: &'a str) -> Self {
        Self { original, normal: normalise(original), marks: Marks::default() }
    }

    /// The text as it was given.
    pub fn original(&self) -> &'a str {
        self.original
    }

    /// The normal form.
    pub fn normal(&self) -> &str {
        &self.normal
    }

    /// Whether nothing but white space was given. Such a text is in every text, so that looking
    /// for it proves nothing.
    pub fn is_blank(&self) -> bool {
        self.normal.is_empty()
    }

    /// Whether both texts are the same once normalised.
    pub fn equals(&self, other: &Prepared<'_>) -> bool {
        self.normal == other.normal
    }

    /// Looks for `needle` in this text, in time linear in both.
    pub fn find(&self, needle: &Prepared<'_>, boundary: Boundary) -> Find {
        let Some((start, between_edges)) = best_hit(&self.normal, &needle.normal) else {
            return Find { found: false, boundary: None, at: None };
        };
        Find {
            found: between_edges || boundary == Boundary::Substring,
            boundary: Some(between_edges),
            at: Some(start..start + needle.normal.len()),
        }
    }

    /// The place `at` (of [`Find::at`]) in the original text with
    /// [`EXCERPT_CONTEXT`](super::EXCERPT_CONTEXT) code points on either side, less where that
    /// would cut a grapheme. An occurrence of more than [`EXCERPT_HIT`](super::EXCERPT_HIT) code
    /// points is shown from its beginning.
    pub fn excerpt(&self, at: &Range<usize>) -> &'a str {
        excerpt(self.original, &self.marks, at)
    }
}

/// Where the first occurrence between word edges begins, or else the first, and which of the two
/// it is.
fn best_hit(text: &str, needle: &str) -> Option<(usize, bool)> {
    let edges = Edges::new(text, needle);
    let first = memchr::memmem::find(text.as_bytes(), needle.as_bytes())?;
    if edges.around(first) {
        return Some((first, true));
    }
    let better = later_hits(text.as_bytes(), needle.as_bytes(), first).find(|&at| edges.around(at));
    Some(better.map_or((first, false), |at| (at, true)))
}

struct Edges<'a> {
    text: &'a str,
    length: usize,
    first: End,
    last: End,
}

impl<'a> Edges<'a> {
    fn new(text: &'a str, needle: &str) -> Self {
        let (first, last) = (needle.chars().next(), needle.chars().next_back());
        Self { text, length: needle.len(), first: End::new(first), last: End::new(last) }
    }

    /// Whether the occurrence that begins at `start` stands between word edges.
    fn around(&self, start: usize) -> bool {
        let before = self.text.get(..start).and_then(|text| text.chars().next_back());
        let after = self.text.get(start + self.length..).and_then(|text| text.chars().next());
        self.first.borders(before) && self.last.borders(after)
    }
}

/// The occurrences after the one at `first`, with those that overlap it or each other (`a a` is
/// twice in `xa a a`, and only the second stands by itself). Knuth, Morris and Pratt, so that a
/// text made of repetitions costs no more than any other.
fn later_hits(text: &[u8], needle: &[u8], first: usize) -> impl Iterator<Item = usize> {
    let borders = borders(needle);
    let mut matched = borders.last().copied().unwrap_or(0);
    let mut at = first + needle.len();
    std::iter::from_fn(move || {
        while let Some(byte) = text.get(at) {
            while matched > 0 && needle.get(matched) != Some(byte) {
                matched = borders[matched - 1];
            }
            if needle.get(matched) == Some(byte) {
                matched += 1;
            }
            at += 1;
            if matched == needle.len() {
                matched = borders[matched - 1];
                return Some(at - needle.len());
            }
        }
        None
    })
}

/// For each prefix of `needle`, the length of its longest proper prefix that is also its suffix.
fn borders(needle: &[u8]) -> Vec<usize> {
    let mut borders: Vec<usize> = Vec::with_capacity(needle.len());
    let mut matched = 0;
    for (at, byte) in needle.iter().enumerate() {
        while matched > 0 && needle[matched] != *byte {
            matched = borders[matched - 1];
        }
        if at > 0 && needle[matched] == *byte {
            matched += 1;
        }
        borders.push(matched);
    }
    borders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::normal::tests::awkward;
    use super::*;

    fn find(needle: &str, text: &str, boundary: Boundary) -> Find {
        Prepared::new(text).find(&Prepared::new(needle), boundary)
    }

    /// needle, text, contained, contained as a word, what lower case and `includes` would say
    const CONTAINMENT: [(&str, &str, bool, bool, bool); 36] = [
        ("Oslo", "She moved to Oslo.", true, true, true),
        ("Wien", "Ein Wiener Kaffee", true, false, true),
        ("San José", "in san\u{a0}jose\u{301} again", true, true, false),
        ("San José", "in SanJosé", false, false, false),
        ("résumé", "her re\u{301}sume\u{301}", true, true, false),
        ("resume", "her re\u{301}sume\u{301}", false, false, false),
        ("izmir", "İzmir", false, false, false),
        ("ığdır", "IĞDIR", false, false, false),
        ("STRASSE", "Lange Straße 3", true, true, false),
        ("3 March 2024", "on March 3, 2024", false, false, false),
        ("September 1", "September 15", true, false, true),
        ("Jo", "Joanna and Jonas", true, false, true),
        ("Jo", "Joanna, Jo and Jonas", true, true, true),
        ("3", "since 2023", true, false, true),
        ("no", "I know", true, false, true),
        ("Six", "the sixth time", true, false, true),
        ("dog", "two dogs", true, false, true),
        ("1,000", "1000 steps", false, false, false),
        ("F#", "I write F# daily", true, true, true),
        ("C++", "C++11", true, true, true),
        ("$400,000", "for $400,000, sold", true, true, true),
        ("25:50", "now 25:50!", true, true, true),
        ("snake", "my_snake_case", true, false, true),
        ("東京", "東京都に住む", true, true, true),
        ("Tokyo", "Tokyoに住む", true, true, true),
        ("ไทย", "คนไทยแท้", true, true, true),
        ("서울", "서울특별시", true, false, true),
        ("¼", "1/4 of it", false, false, false),
        ("22", "２２", false, false, false),
        ("Oslo", "Os\u{ad}lo", false, false, false),
        ("it's", "it’s late", false, false, false),
        ("Wien", "no longer in Wien", true, true, true),
        ("a b", "xa b a b", true, true, true),
        ("a a", "xa a a", true, true, true),
        ("aa", "aaaa", true, false, true),
        ("x", "x\u{302} axis", true, false, true),
    ];

    #[test]
    fn containment() {
        for (needle, text, substring, word, naive) in CONTAINMENT {
            let (by_substring, by_word) =
                (find(needle, text, Boundary::Substring), find(needle, text, Boundary::Word));
            assert_eq!(by_substring.found, substring, "{needle:?} in {text:?}");
            assert_eq!(by_word.found, word, "{needle:?} as a word in {text:?}");
            assert_eq!(by_substring.at, by_word.at);
            assert_eq!(by_substring.boundary, substring.then_some(word), "{needle:?} in {text:?}");
            // Not ours; shows what the folding is worth.
            let plain = text.to_lowercase().contains(&needle.to_lowercase());
            assert_eq!(plain, naive, "naive {needle:?} in {text:?}");
        }
    }

    #[test]
    fn equality() {
        for (expected, answer, equal) in [
            ("Oslo", "OSLO", true),
            ("San José", " san\t\tjose\u{301}\n", true),
            ("Oslo", "Oslo.", false),
            ("", "  ", true),
            ("", "x", false),
            ("‘x’", "'x'", false),
            ("1000", "1,000", false),
        ] {
            assert_eq!(Prepared::new(expected).equals(&Prepared::new(answer)), equal);
        }
    }

    #[test]
    fn an_occurrence_between_edges_decides() {
        let text = Prepared::new("The Berliner likes Berlin");
        let found = text.find(&Prepared::new("berlin"), Boundary::Substring);
        assert_eq!(found, Find { found: true, boundary: Some(true), at: Some(19..25) });
        assert_eq!(text.excerpt(&(19..25)), "The Berliner likes Berlin");
    }

    #[test]
    fn what_is_blank_is_known_as_such() {
        assert!(Prepared::new(" \u{feff}\n").is_blank());
        assert!(!Prepared::new("\u{200b}").is_blank());
        assert!(find("", "x", Boundary::Word).found);
        assert!(find("", "", Boundary::Word).found);
    }

    #[test]
    fn repetition_costs_no_more() {
        let text = format!("x{}", "ab".repeat(200_000));
        let needle = "ab".repeat(50_000);
        assert_eq!(find(&needle, &text, Boundary::Word).boundary, Some(false));
    }

    proptest! {
        #[test]
        fn words_are_a_subset_of_substrings(text in awkward(), needle in awkward()) {
            let (substring, word) =
                (find(&needle, &text, Boundary::Substring), find(&needle, &text, Boundary::Word));
            prop_assert!(substring.found || !word.found);
            prop_assert_eq!(substring.boundary, word.boundary);
        }

        #[test]
        fn as_a_search_at_every_place(text in "[ab _]{0,20}", needle in "[ab ]{1,4}") {
            let (text, needle) = (Prepared::new(&text), Prepared::new(&needle));
            let hits: Vec<usize> = (0..=text.normal().len())
                .filter(|&at| text.normal()[at..].starts_with(needle.normal()))
                .collect();
            let edges = Edges::new(text.normal(), needle.normal());
            let best = hits.iter().find(|&&at| edges.around(at)).map(|&at| (at, true));
            let any = hits.first().map(|&at| (at, false));
            prop_assert_eq!(best_hit(text.normal(), needle.normal()), best.or(any));
        }
    }
}
