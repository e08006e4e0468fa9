//! The normal form in which texts are compared.
//!
//! Text is walked in pieces. An ASCII character never composes with what stands before it, and its
//! folding is ASCII again, so a text may be cut before each one: runs of ASCII take a path of a few
//! instructions a byte, and only what stands between them goes through the Unicode tables. The one
//! ASCII character before such a stretch belongs to it, since a mark may follow.

use std::borrow::Cow;

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use icu_normalizer::{ComposingNormalizer, ComposingNormalizerBorrowed};

/// U+FEFF, white space for ECMAScript and a byte order mark left over for everybody else.
const ZERO_WIDTH_NO_BREAK_SPACE: char = '\u{FEFF}';

/// The normal form of `text`, borrowed when `text` is in it already and all ASCII.
///
/// Normalising twice changes nothing. The sources of the steps are the Unicode Standard, section
/// 3.13 (default caseless matching, D145) and UAX #15 (normal form C).
pub fn normalise(text: &str) -> Cow<'_, str> {
    if is_normal_ascii(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut collapsed = Collapsed::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Ascii(run) => collapsed.push_ascii(run),
            Piece::Other(stretch) => collapsed.push_folded(&fold(stretch)),
        }
    }
    Cow::Owned(collapsed.out)
}

/// Whether `c` is white space in the sense of the rule.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || c == ZERO_WIDTH_NO_BREAK_SPACE
}

/// Normal form C, full default case folding, normal form C; white space is left alone.
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizer::new_nfc();
    const FOLDING: CaseMapperBorrowed<'static> = CaseMapper::new();
    let composed = NFC.normalize(text);
    match FOLDING.fold_string(&composed) {
        Cow::Borrowed(_) => composed,
        Cow::Owned(folded) => match NFC.normalize(&folded) {
            Cow::Borrowed(_) => Cow::Owned(folded),
            Cow::Owned(recomposed) => Cow::Owned(recomposed),
        },
    }
}

/// A stretch of a text that may be normalised by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Only ASCII.
    Ascii(&'a str),
    /// At most one ASCII character and then only others.
    Other(&'a str),
}

/// The pieces of `text`, in order and without gaps.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let other = bytes.iter().position(|b| !b.is_ascii()).unwrap_or(bytes.len());
        let ascii = if other < bytes.len() { other.saturating_sub(1) } else { other };
        let (piece, end) = if ascii > 0 {
            (Piece::Ascii as fn(_) -> _, ascii)
        } else {
            let end = bytes[other..].iter().position(u8::is_ascii);
            (Piece::Other as fn(_) -> _, end.map_or(bytes.len(), |length| other + length))
        };
        if rest.is_empty() {
            return None;
        }
        let (stretch, tail) = rest.split_at(end);
        rest = tail;
        Some(piece(stretch))
    })
}

/// Text under construction in which runs of white space have become one space.
struct Collapsed {
    out: String,
    /// White space was seen since the last character; it counts only if another one follows.
    pending: bool,
}

impl Collapsed {
    fn with_capacity(capacity: usize) -> Self {
        Self { out: String::with_capacity(capacity), pending: false }
    }

    fn space(&mut self) {
        self.pending = !self.out.is_empty();
    }

    /// Makes good the white space that a character now follows.
    fn settle(&mut self) {
        if std::mem::take(&mut self.pending) {
            self.out.push(' ');
        }
    }

    fn push_folded(&mut self, text: &str) {
        for c in text.chars() {
            if is_space(c) {
                self.space();
            } else {
                self.settle();
                self.out.push(c);
            }
        }
    }

    /// Pushes ASCII, copied in stretches that need nothing but lower case.
    fn push_ascii(&mut self, run: &str) {
        let mut rest = run;
        while !rest.is_empty() {
            let spaces = rest.bytes().take_while(|&b| is_ascii_space(b)).count();
            if spaces > 0 {
                self.space();
            }
            rest = &rest[spaces..];
            let end = well_spaced(rest.as_bytes());
            if end > 0 {
                self.settle();
                let from = self.out.len();
                self.out.push_str(&rest[..end]);
                self.out[from..].make_ascii_lowercase();
            }
            rest = &rest[end..];
        }
    }
}

/// The length of the longest prefix in which white space is only ever one space between two other
/// characters.
fn well_spaced(bytes: &[u8]) -> usize {
    let mut previous_space = true;
    for (at, &byte) in bytes.iter().enumerate() {
        let space = is_ascii_space(byte);
        if space && (previous_space || byte != b' ') {
            return if previous_space { at.saturating_sub(1) } else { at };
        }
        previous_space = space;
    }
    if previous_space { bytes.len().saturating_sub(1) } else { bytes.len() }
}

/// ASCII `White_Space`: U+0009 to U+000D and the space.
fn is_ascii_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

fn is_normal_ascii(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| b.is_ascii() && !b.is_ascii_uppercase())
        && well_spaced(bytes) == bytes.len()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rule as it is written down, with nothing clever.
    fn by_the_book(text: &str) -> String {
        let folded = fold(text);
        folded.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pieces_cut_only_before_ascii() {
        let cut = |text| pieces(text).collect::<Vec<_>>();
        assert_eq!(cut(""), []);
        assert_eq!(cut("ab"), [Piece::Ascii("ab")]);
        assert_eq!(cut("é"), [Piece::Other("é")]);
        assert_eq!(
            cut("cafe\u{301} is"),
            [Piece::Ascii("caf"), Piece::Other("e\u{301}"), Piece::Ascii(" is")]
        );
        assert_eq!(cut("éaé"), [Piece::Other("é"), Piece::Other("aé")]);
    }

    #[test]
    fn white_space_collapses_and_goes_at_the_ends() {
        for (text, normal) in [
            ("", ""),
            (" ", ""),
            ("\t\n", ""),
            ("a", "a"),
            (" A  b\t\r\nC ", "a b c"),
            ("a\u{a0}b", "a b"),
            ("a\u{feff}b", "a b"),
            ("\u{feff}a", "a"),
            ("a\u{85}\u{2028}b", "a b"),
            ("a \u{3000} b", "a b"),
            ("a\u{200b}b", "a\u{200b}b"),
            ("a\u{ad}b", "a\u{ad}b"),
            ("a\u{b}b", "a b"),
            ("a\u{1c}b", "a\u{1c}b"),
        ] {
            assert_eq!(normalise(text), normal, "{text:?}");
        }
    }

    #[test]
    fn folding_is_full_and_knows_no_language() {
        for (text, normal) in [
            ("STRASSE", "strasse"),
            ("straße", "strasse"),
            ("\u{1e9e}", "ss"),
            ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
            ("σίσυφος", "σίσυφοσ"),
            ("ﬁne", "fine"),
            ("İ", "i\u{307}"),
            ("ISPARTA", "isparta"),
            ("\u{212b}", "å"),
            ("A\u{30a}", "å"),
            ("\u{1f0}", "\u{1f0}"),
            ("J\u{30c}", "\u{1f0}"),
            ("\u{390}", "\u{390}"),
            ("\u{3b1}\u{345}\u{301}", "άι"),
            ("½ ２", "½ ２"),
            ("“x”", "“x”"),
        ] {
            assert_eq!(normalise(text), normal, "{text:?}");
        }
    }

    #[test]
    fn what_must_differ_stays_different() {
        for (one, other) in [
            ("Żubr", "Zubr"),
            ("ısparta", "ISPARTA"),
            ("New York", "NewYork"),
            ("2²", "22"),
            ("Ber\u{ad}lin", "Berlin"),
            ("x", "х"),
        ] {
            assert_ne!(normalise(one), normalise(other));
        }
    }

    #[test]
    fn what_is_normal_is_borrowed() {
        assert!(matches!(normalise("new york, 25:50"), Cow::Borrowed(_)));
        assert!(matches!(normalise("New york"), Cow::Owned(_)));
        assert!(matches!(normalise("new  york"), Cow::Owned(_)));
        assert!(matches!(normalise("new york "), Cow::Owned(_)));
    }

    #[test]
    fn ascii_allocates_once() {
        let text = " A  b".repeat(500);
        let Cow::Owned(normal) = normalise(&text) else { panic!("changed, so owned") };
        assert_eq!(normal.capacity(), text.len());
    }

    #[test]
    fn every_character_folds_to_a_fixed_point() {
        // Ideographs and Hangul syllables have no case and fill most of the planes.
        let plain = ['\u{3400}'..='\u{9fff}', '\u{ac00}'..='\u{d7a3}', '\u{17000}'..='\u{18cff}'];
        for c in ('\0'..='\u{1f9ff}').filter(|c| !plain.iter().any(|range| range.contains(c))) {
            let once = normalise(c.encode_utf8(&mut [0; 4])).into_owned();
            assert_eq!(normalise(&once), once, "{c:?}");
            let marked = format!("a{c}\u{301}\u{345}{c}");
            let once = normalise(&marked).into_owned();
            assert_eq!(normalise(&once), once, "{c:?} with marks");
        }
    }

    /// Text in which the awkward characters are common.
    pub(in super::super) fn awkward() -> impl Strategy<Value = String> {
        let characters = prop_oneof![
            4 => "[a-cA-C ]",
            1 => "[\\t\\n\u{85}\u{a0}\u{feff}\u{2003}]",
            2 => "[éßſİıΣςǰŉΐᾳﬁ\u{1e9e}\u{212b}]",
            2 => "[\u{301}\u{307}\u{308}\u{323}\u{327}\u{342}\u{345}\u{338}]",
            1 => "[\u{1100}\u{1161}\u{11a8}가각]",
            1 => "[\u{9c7}\u{9be}\u{9d7}\u{16d63}\u{16d67}\u{f71}\u{f72}\u{f73}]",
            1 => "\\PC",
        ];
        prop::collection::vec(characters, 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn pieces_lose_nothing(text in awkward()) {
            let joined: String =
                pieces(&text).map(|(Piece::Ascii(piece) | Piece::Other(piece))| piece).collect();
            prop_assert_eq!(joined, text);
        }

        #[test]
        fn by_pieces_as_by_the_book(text in awkward()) {
            prop_assert_eq!(normalise(&text), by_the_book(&text));
        }

        #[test]
        fn ascii_as_by_the_book(text in "[ -~\\t\\n\\r]{0,40}") {
            prop_assert_eq!(normalise(&text), by_the_book(&text));
        }

        #[test]
        fn twice_is_once(text in prop_oneof![awkward(), any::<String>()]) {
            let once = normalise(&text).into_owned();
            prop_assert_eq!(normalise(&once), once.as_str());
        }
    }
}
