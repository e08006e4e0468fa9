//! Texts that are looked for in a session, in whatever layout or encoding they are shown.
//!
//! A text is cut into *passages* of its [letters](super::squash): a few words of one line, or several
//! lines that are too short to tell anything. One automaton finds them all, read forwards and
//! backwards and in ROT13, in time that follows the text alone.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::squash::squash;
use super::views::views;

/// Letters of a passage, at least; the last of a line has up to twice as many.
const PASSAGE_LETTERS: usize = 24;
/// A line with fewer letters says too little, and is taken together with its short neighbours.
const LINE_LETTERS: usize = 16;
/// Passages of one text that are looked for.
const MAX_PASSAGES: usize = 3000;
/// Encodings inside encodings are followed this deep.
const DEPTH: usize = 2;

/// So many letters of a skill in a row are a load, however long it is: some seven lines of prose.
const LOADED_RUN: usize = 400;
/// A line of prose with so many letters is nothing that two people write by chance.
const TELLING_LINE: usize = 32;
/// Nor are so many letters of code and scraps.
const TELLING_SCRAPS: usize = 256;

/// What a passage belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// The body of the skill: what a model does not know before it loads the skill.
    Skill,
    /// A case file of the skill.
    Cases,
    /// A rubric of its cases.
    Rubric,
}

/// A line, or several short ones.
#[derive(Debug)]
struct Line {
    source: Source,
    /// Whether it is prose: code is alike everywhere.
    is_prose: bool,
    /// Its passages, by their place in the list of all.
    passages: std::ops::Range<usize>,
}

/// A few words of a line.
#[derive(Debug)]
struct Passage {
    /// Its line, by its place in the list of all.
    line: usize,
    letters: usize,
}

/// What is to be looked for, collected.
#[derive(Default)]
pub(super) struct Collector {
    lines: Vec<Line>,
    passages: Vec<Passage>,
    /// The letters of each passage.
    letters: Vec<String>,
    known: BTreeSet<(Source, String)>,
}

impl Collector {
    /// Adds the body of a skill.
    pub(super) fn add_skill(&mut self, text: &str) {
        let (mut is_code, mut short) = (false, String::new());
        for line in split_front_matter(text).1.lines() {
            if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
                is_code = !is_code;
                continue;
            }
            let letters = squash(line);
            if weight(&letters) < LINE_LETTERS {
                short.push_str(&letters);
                continue;
            }
            self.add(Source::Skill, false, &std::mem::take(&mut short));
            let is_prose = !is_code && !line.starts_with("    ") && !line.starts_with('\t');
            self.add(Source::Skill, is_prose, &letters);
        }
        self.add(Source::Skill, false, &short);
    }

    /// Adds the lines of a text that have so many letters, each for itself.
    pub(super) fn add_lines(&mut self, source: Source, text: &str, least: usize) {
        for letters in text.lines().map(squash).filter(|letters| weight(letters) >= least) {
            self.add(source, true, &letters);
        }
    }

    /// Adds a line by those of its passages that no other line has.
    fn add(&mut self, source: Source, is_prose: bool, letters: &str) {
        if weight(letters) < LINE_LETTERS || self.passages.len() >= MAX_PASSAGES {
            return;
        }
        let start = self.passages.len();
        for passage in passages(letters) {
            if self.known.insert((source, passage.clone())) {
                let letters = weight(&passage);
                self.passages.push(Passage { line: self.lines.len(), letters });
                self.letters.push(passage);
            }
        }
        self.lines.push(Line { source, is_prose, passages: start..self.passages.len() });
    }

    /// Makes the finder.
    pub(super) fn finish(self) -> Texts {
        let mut patterns: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, letters) in self.letters.into_iter().enumerate() {
            let backwards: String = letters.chars().rev().collect();
            for pattern in [rot13(&letters), rot13(&backwards), backwards, letters] {
                patterns.entry(pattern).or_default().push(index);
            }
        }
        let (patterns, means): (Vec<_>, Vec<_>) = patterns.into_iter().unzip();
        // Fails only beyond sizes that the limits keep us from.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let automaton = AhoCorasick::builder().kind(kind).build(patterns).ok();
        let known = vec![false; self.passages.len()];
        Texts { automaton, means, lines: self.lines, passages: self.passages, known }
    }
}

/// How much letters say: a character of Chinese counts for two of an alphabet.
fn weight(letters: &str) -> usize {
    letters.chars().map(|c| if c.len_utf8() > 2 { 2 } else { 1 }).sum()
}

/// Cuts the letters of a line into pieces of about the same length.
fn passages(letters: &str) -> Vec<String> {
    let characters: Vec<char> = letters.chars().collect();
    let count = (weight(letters) / PASSAGE_LETTERS).max(1);
    let size = characters.len().div_ceil(count).max(1);
    characters.chunks(size).map(|passage| passage.iter().collect()).collect()
}

fn rot13(letters: &str) -> String {
    let turned = letters.chars().map(|c| match c {
        'a'..='m' => char::from(c as u8 + 13),
        'n'..='z' => char::from(c as u8 - 13),
        _ => c,
    });
    turned.collect()
}

/// A skill's front matter, and the rest.
pub(super) fn split_front_matter(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    let end = rest.and_then(|rest| Some((rest, rest.find("\n---")?)));
    end.map_or(("", text), |(rest, end)| rest.split_at(end + 1))
}

/// Finds passages.
pub(super) struct Texts {
    automaton: Option<AhoCorasick>,
    /// The passages of each pattern.
    means: Vec<Vec<usize>>,
    lines: Vec<Line>,
    passages: Vec<Passage>,
    /// Passages that are no sign of anything.
    known: Marks,
}

/// Passages by their place in the list of all.
type Marks = Vec<bool>;

impl Texts {
    /// Passages of these sources that `text` holds are no sign of anything.
    pub(super) fn forget(&mut self, text: &str, sources: &[Source]) {
        let mut shown = vec![false; self.passages.len()];
        self.mark_plain(text, &mut shown);
        for (index, passage) in self.passages.iter().enumerate() {
            let line = self.lines.get(passage.line);
            let is_meant = line.is_some_and(|line| sources.contains(&line.source));
            if let Some(known) = self.known.get_mut(index) {
                *known |= is_meant && shown.get(index) == Some(&true);
            }
        }
    }

    /// Marks the passages that a text shows in any encoding, and says whether any is new.
    fn mark(&self, text: &str, depth: usize, marks: &mut Marks) -> bool {
        let mut any_new = self.mark_plain(text, marks);
        if depth == 0 || self.passages.is_empty() {
            return any_new;
        }
        for view in views(text) {
            let depth = if view.is_sound { depth - 1 } else { 0 };
            any_new |= self.mark(&view.text, depth, marks);
        }
        any_new
    }

    /// Marks the passages that a text shows in any layout, and says whether any is new.
    fn mark_plain(&self, text: &str, marks: &mut Marks) -> bool {
        let letters = squash(text);
        let found = self.automaton.iter().flat_map(|all| all.find_overlapping_iter(&letters));
        let mut any_new = false;
        for pattern in found.map(|found| found.pattern().as_usize()) {
            for &passage in self.means.get(pattern).into_iter().flatten() {
                if let Some(mark) = marks.get_mut(passage) {
                    any_new |= !*mark;
                    *mark = true;
                }
            }
        }
        any_new
    }

    /// What a session can be told from when its case itself shows these texts.
    pub(super) fn beside<'a>(&self, shown: impl Iterator<Item = &'a str>) -> Known<'_> {
        let mut known = self.known.clone();
        for text in shown {
            self.mark_plain(text, &mut known);
        }
        let mut known = Known { texts: self, shown: known, skill_letters: 0 };
        let new = known.skill_passages().filter(|&passage| !known.is_known(passage));
        known.skill_letters = new.map(|passage| known.letters(passage)).sum();
        known
    }
}

/// What the sessions of one case can be told from.
pub(super) struct Known<'a> {
    texts: &'a Texts,
    /// Passages that are no sign of anything.
    shown: Marks,
    /// Letters of the skill's other passages.
    skill_letters: usize,
}

impl<'a> Known<'a> {
    fn lines(&self, source: Source) -> impl Iterator<Item = &'a Line> + use<'a> {
        self.texts.lines.iter().filter(move |line| line.source == source)
    }

    fn skill_passages(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.lines(Source::Skill).flat_map(|line| line.passages.clone())
    }

    fn letters(&self, passage: usize) -> usize {
        self.texts.passages.get(passage).map_or(0, |passage| passage.letters)
    }

    fn is_known(&self, passage: usize) -> bool {
        self.shown.get(passage) == Some(&true)
    }

    /// Whether the skill can be told by its text at all.
    pub(super) fn can_tell_skill(&self) -> bool {
        self.skill_letters > 0
    }
}

/// What a session has shown so far.
pub(super) struct Sighted<'a> {
    known: &'a Known<'a>,
    seen: Marks,
}

impl<'a> Sighted<'a> {
    pub(super) fn new(known: &'a Known<'a>) -> Self {
        Self { known, seen: vec![false; known.shown.len()] }
    }

    /// Looks at a text in whatever encoding. Says whether it shows anything new.
    pub(super) fn look(&mut self, text: &str) -> bool {
        self.known.texts.mark(text, DEPTH, &mut self.seen)
    }

    /// Looks at a text as it is. Says whether it shows anything new.
    pub(super) fn look_at_words(&mut self, text: &str) -> bool {
        self.known.texts.mark_plain(text, &mut self.seen)
    }

    /// Whether a passage was seen and says something.
    fn counts(&self, passage: usize) -> bool {
        self.seen.get(passage) == Some(&true) && !self.known.is_known(passage)
    }

    /// Letters that were seen of a line of which nothing is missing; otherwise 0.
    fn whole(&self, line: &Line) -> usize {
        let mut letters = 0;
        for passage in line.passages.clone() {
            if self.counts(passage) {
                letters += self.known.letters(passage);
            } else if !self.known.is_known(passage) {
                return 0;
            }
        }
        letters
    }

    /// How much of the skill's text was seen: letters in all, and the most of them in a row.
    fn of_skill(&self) -> (usize, usize) {
        let (mut all, mut run, mut longest) = (0, 0, 0);
        for passage in self.known.skill_passages() {
            if self.counts(passage) {
                all += self.known.letters(passage);
                run += self.known.letters(passage);
                longest = longest.max(run);
            } else if !self.known.is_known(passage) {
                run = 0;
            }
        }
        (all, longest)
    }

    /// Whether the skill was loaded: half of its text was seen, or much of it in a row.
    pub(super) fn loads_skill(&self) -> bool {
        let (all, longest) = self.of_skill();
        self.known.can_tell_skill()
            && (2 * all >= self.known.skill_letters || longest >= LOADED_RUN)
    }

    /// Whether the skill's text was seen at all: a line of prose, or more of the rest than chance
    /// explains.
    pub(super) fn shows_skill(&self) -> bool {
        let mut prose = self.known.lines(Source::Skill).filter(|line| line.is_prose);
        prose.any(|line| self.whole(line) >= TELLING_LINE)
            || self.of_skill().0 >= TELLING_SCRAPS
            || self.loads_skill()
    }

    /// Whether the skill is quoted: two lines of its prose are no chance, nor what everybody knows.
    pub(super) fn quotes_skill(&self) -> bool {
        let prose = self.known.lines(Source::Skill).filter(|line| line.is_prose);
        prose.filter(|line| self.whole(line) >= TELLING_LINE).take(2).count() == 2
    }

    /// Whether anything of the skill's text was seen.
    pub(super) fn any_of_skill(&self) -> bool {
        self.of_skill().0 > 0
    }

    /// Whether a whole line of another source was seen.
    pub(super) fn shows(&self, source: Source) -> bool {
        self.known.lines(source).any(|line| self.whole(line) > 0)
    }
}
