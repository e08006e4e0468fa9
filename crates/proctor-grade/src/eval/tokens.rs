//! Counting tokens of the encoding `cl100k_base`, exactly and without a network.
//!
//! The vocabulary (`tokens/cl100k_base.bin`) is that of `tiktoken`, which is under the MIT licence:
//! the lengths of its 100,256 tokens in the order of their ranks, one byte each, then their bytes.
//! A text is cut into pieces by a pattern, and each piece into tokens by joining, again and again,
//! the two neighbours whose joint rank is lowest (P. Gage, "A New Algorithm for Data Compression",
//! 1994; R. Sennrich, B. Haddow, A. Birch, "Neural Machine Translation of Rare Words with Subword
//! Units", 2016).
//!
//! A crate of its own for this takes 150 ms to get ready and four times the room.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

static BLOB: &[u8] = include_bytes!("tokens/cl100k_base.bin");

/// How many tokens the vocabulary has.
const TOKENS: usize = 100_256;

/// How many bytes the longest of them has.
const LONGEST: usize = 128;

/// The pattern of `tiktoken` but for its look-ahead, which `cut` puts back.
static PIECES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]|\s+";
    Regex::new(pattern).expect("a constant that the tests compile")
});

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::new);

/// How many tokens `text` has. Names of special tokens in it count as plain text.
pub fn count_tokens(text: &str) -> u64 {
    let vocabulary = &*VOCABULARY;
    let mut scratch = Scratch::default();
    let mut rest = text;
    let mut count: u64 = 0;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(cut(rest));
        count += scratch.count(piece.as_bytes(), vocabulary) as u64;
        rest = after;
    }
    count
}

/// Where the first piece of a text ends that is not empty.
fn cut(text: &str) -> usize {
    // The pattern takes any character.
    let end = PIECES.find(text).map_or(text.len(), |found| found.end());
    let Some(last) = text.get(..end).and_then(|piece| piece.chars().next_back()) else {
        return text.len();
    };
    // White space before a word leaves its last character to the word: `\s+(?!\S)`. Only the last
    // alternative ends so.
    let before_word = end < text.len() && last.is_whitespace() && !matches!(last, '\r' | '\n');
    if before_word && end > last.len_utf8() { end - last.len_utf8() } else { end }
}

/// The ranks of all tokens.
struct Vocabulary {
    /// Where the token of each rank begins in the blob; one more for the end of the last.
    starts: Vec<u32>,
    /// Ranks by hash, with open addressing.
    table: Vec<u32>,
}

const FREE: u32 = u32::MAX;

/// Twice as many places as tokens, and a power of two.
const PLACES: usize = 1 << 18;

impl Vocabulary {
    fn new() -> Self {
        let mut starts = Vec::with_capacity(TOKENS + 1);
        let mut start = TOKENS;
        for length in BLOB.iter().take(TOKENS) {
            starts.push(u32::try_from(start).unwrap_or(FREE));
            start += usize::from(*length);
        }
        starts.push(u32::try_from(start).unwrap_or(FREE));
        let mut vocabulary = Self { starts, table: vec![FREE; PLACES] };
        for rank in 0..TOKENS {
            let rank = u32::try_from(rank).unwrap_or(FREE);
            let mut place = hash(vocabulary.token(rank));
            while let Some(taken) = vocabulary.table.get_mut(place) {
                if *taken == FREE {
                    *taken = rank;
                    break;
                }
                place = (place + 1) % PLACES;
            }
        }
        vocabulary
    }

    /// The bytes of a token; empty when there is none of this rank.
    fn token(&self, rank: u32) -> &'static [u8] {
        let at = |index: usize| self.starts.get(index).map(|start| *start as usize);
        let range = at(rank as usize).zip(at(rank as usize + 1));
        range.and_then(|(start, end)| BLOB.get(start..end)).unwrap_or_default()
    }

    /// The rank of the token with these bytes.
    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > LONGEST {
            return None;
        }
        let mut place = hash(bytes);
        loop {
            // Half of the places are free, so the search ends.
            let rank = self.table.get(place).copied().filter(|rank| *rank != FREE)?;
            if self.token(rank) == bytes {
                return Some(rank);
            }
            place = (place + 1) % PLACES;
        }
    }
}

/// FNV-1a, 64 bits, folded to a place.
fn hash(bytes: &[u8]) -> usize {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let folded = (hash ^ (hash >> 29)) % PLACES as u64;
    usize::try_from(folded).unwrap_or_default()
}

/// Memory that pieces share.
#[derive(Default)]
struct Scratch {
    /// For the begin of each part, the begin of the next one.
    next: Vec<usize>,
    /// For the begin of each part, the begin of the one before.
    previous: Vec<usize>,
    /// Whether a part begins here.
    alive: Vec<bool>,
    /// Pairs of neighbours that are a token: rank, begin, end. The lowest rank comes first, and of
    /// equal ones the first in the text.
    pairs: BinaryHeap<Reverse<(u32, usize, usize)>>,
}

impl Scratch {
    /// How many tokens a piece has; linear but for the logarithm of a heap, however long it is.
    fn count(&mut self, piece: &[u8], vocabulary: &Vocabulary) -> usize {
        if vocabulary.rank(piece).is_some() {
            return 1;
        }
        let length = piece.len();
        self.next.clear();
        self.next.extend(1..=length);
        self.previous.clear();
        self.previous.extend((0..length).map(|index| index.saturating_sub(1)));
        self.alive.clear();
        self.alive.resize(length, true);
        self.pairs.clear();
        for start in 0..length.saturating_sub(1) {
            self.offer(piece, vocabulary, start..start + 2);
        }
        let mut parts = length;
        while let Some(Reverse((_, start, end))) = self.pairs.pop() {
            let Some(middle) = self.second_of(start, end) else { continue };
            self.join(start, middle, end);
            parts -= 1;
            if start > 0 {
                let before = self.previous.get(start).copied().unwrap_or_default();
                self.offer(piece, vocabulary, before..end);
            }
            if let Some(after) = self.next.get(end).copied() {
                self.offer(piece, vocabulary, start..after);
            }
        }
        parts
    }

    fn offer(&mut self, piece: &[u8], vocabulary: &Vocabulary, range: Range<usize>) {
        let bytes = piece.get(range.clone()).unwrap_or_default();
        if let Some(rank) = vocabulary.rank(bytes) {
            self.pairs.push(Reverse((rank, range.start, range.end)));
        }
    }

    /// Where the second part of a pair begins; `None` when the parts have changed since it was
    /// offered.
    fn second_of(&self, start: usize, end: usize) -> Option<usize> {
        let is_alive = |at: usize| self.alive.get(at) == Some(&true);
        let middle = *self.next.get(start)?;
        (is_alive(start) && is_alive(middle) && self.next.get(middle) == Some(&end))
            .then_some(middle)
    }

    fn join(&mut self, start: usize, middle: usize, end: usize) {
        if let Some(next) = self.next.get_mut(start) {
            *next = end;
        }
        if let Some(previous) = self.previous.get_mut(end) {
            *previous = start;
        }
        if let Some(alive) = self.alive.get_mut(middle) {
            *alive = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proctor_model::Digest;
    use proptest::prelude::*;

    use super::*;

    fn base64(bytes: &[u8]) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
            let bits = bits << (8 * (3 - chunk.len()));
            for index in 0..4 {
                let digit = usize::try_from(bits >> (18 - 6 * index) & 63).unwrap();
                text.push(if index <= chunk.len() { char::from(ALPHABET[digit]) } else { '=' });
            }
        }
        text
    }

    /// The digest that `tiktoken` states for its file.
    #[test]
    fn the_vocabulary_is_the_published_one() {
        assert_eq!(
            BLOB.iter().take(TOKENS).max().map(|length| usize::from(*length)),
            Some(LONGEST)
        );
        let mut file = String::new();
        for rank in 0..u32::try_from(TOKENS).unwrap() {
            writeln!(file, "{} {rank}", base64(VOCABULARY.token(rank))).unwrap();
        }
        assert_eq!(
            Digest::of(file.as_bytes()).to_string(),
            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
        );
        assert_eq!(*VOCABULARY.starts.last().unwrap() as usize, BLOB.len());
    }

    #[test]
    fn every_token_is_found_and_is_one() {
        let mut scratch = Scratch::default();
        for rank in 0..u32::try_from(TOKENS).unwrap() {
            let token = VOCABULARY.token(rank);
            assert_eq!(VOCABULARY.rank(token), Some(rank));
            assert_eq!(scratch.count(token, &VOCABULARY), 1);
        }
        assert_eq!(VOCABULARY.rank(b""), None);
    }

    /// Counts of `tiktoken`.
    #[test]
    fn known_counts() {
        for (text, count) in [
            ("", 0),
            ("hello world", 2),
            ("Deploy the billing service to staging", 6),
            ("I'll  go, 12345!\n\n x", 10),
            ("a \n  b\n  ", 6),
            ("it'ſ DON'T", 6),
            ("<|endoftext|>", 7),
            ("日本語のテキスト", 8),
            ("кот и собака", 7),
            ("👩\u{200d}👩\u{200d}👧 🎉", 16),
            ("fn main() {\n    println!(\"{}\", 1_000_000);\n}\n", 15),
            ("naïve café\u{301}", 5),
            ("\u{3000}\u{3000}x", 3),
            ("antidisestablishmentarianism", 6),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 7),
            ("    \n\t\t\n", 2),
            ("①②③½", 7),
            ("\0\u{7f}\u{fffd}", 3),
        ] {
            assert_eq!(count_tokens(text), count, "{text:?}");
        }
    }
    #[test]
    fn pieces_are_cut_as_the_pattern_says() {
        let pieces = |text: &str| {
            let mut rest = text;
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(cut(rest));
                pieces.push(piece.to_owned());
                rest = after;
            }
            pieces
        };
        assert_eq!(
            pieces("I'll  go, 12345!\n\n x"),
            ["I", "'ll", " ", " go", ",", " ", "123", "45", "!\n\n", " x"]
        );
        assert_eq!(pieces("a \n  b\n  "), ["a", " \n", " ", " b", "\n  "]);
        assert_eq!(pieces("\u{3000}\u{3000}é"), ["\u{3000}", "\u{3000}é"]);
        assert_eq!(pieces("it'ſ"), ["it", "'ſ"]);
    }

    #[test]
    fn a_long_piece_takes_no_quadratic_time() {
        // A quadratic search would take minutes here.
        let text = "ab".repeat(200_000);
        assert!(count_tokens(&text) > 10_000);
    }

    proptest! {
        #[test]
        fn pieces_make_up_the_text(text in "\\PC{0,30}[ \n\r\t]{0,4}\\PC{0,10}") {
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let end = cut(rest);
                prop_assert!(end > 0);
                rest = &rest[end..];
            }
            prop_assert!(count_tokens(&text) <= text.len() as u64);
        }
    }
}
