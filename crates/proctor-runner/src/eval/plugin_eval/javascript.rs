//! Patterns of RE2 as patterns of JavaScript that match the same texts.
//!
//! Both dialects have `.`, `\s`, `^` and letter case, and mean other things by them. So the pattern is
//! parsed, and what it means is written down anew in the few constructs on which the two agree:
//! characters, classes with explicit ranges, groups, alternatives, repetitions, and look-arounds
//! where RE2 has anchors.

use std::fmt::Write as _;

use proctor_model::eval::re2;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

/// The most bytes that a translated pattern may take: classes of Unicode have many ranges.
const MAX_BYTES: usize = 256 * 1024;

/// A pattern for `new RegExp(pattern, flags)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The text.
    pub(super) source: String,
    /// `i` when letter case does not matter, `u` when characters matter that are not ASCII.
    pub(super) flags: String,
}

/// The pattern that matches exactly `text`.
pub(super) fn literal(text: &str) -> Pattern {
    let mut writer = Writer::new(false);
    text.chars().for_each(|character| writer.character(character));
    writer.finish()
}

/// Translates a pattern, or says why JavaScript has nothing like it.
pub(super) fn translate(pattern: &str) -> Result<Pattern, String> {
    let rust = re2::translate(pattern).map_err(|error| error.to_string())?;
    let parsed = ParserBuilder::new().build().parse(&rust).map_err(|error| error.to_string())?;
    // Where every letter stands for both cases, a flag says so and the pattern stays readable.
    let mut writer = Writer::new(has_letters(&parsed) && ignores_case(&parsed));
    writer.expression(&parsed)?;
    Ok(writer.finish())
}

/// The class of a set of characters.
fn class_of(hir: &Hir) -> Option<ClassUnicode> {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class.clone()),
        HirKind::Class(Class::Bytes(class)) => class.to_unicode_class(),
        _ => None,
    }
}

fn single(character: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(character, character)])
}

/// The characters that are the same as those of a class but for letter case. Fails only when the
/// tables were left out of the build, which they are not.
fn folded(class: &ClassUnicode) -> ClassUnicode {
    let mut folded = class.clone();
    let _ = folded.try_case_fold_simple();
    folded
}

/// Whether letter case matters nowhere.
fn ignores_case(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(text) => String::from_utf8_lossy(&text.0)
            .chars()
            .all(|character| folded(&single(character)) == single(character)),
        HirKind::Class(_) => class_of(hir).is_some_and(|class| folded(&class) == class),
        HirKind::Repetition(repetition) => ignores_case(&repetition.sub),
        HirKind::Capture(capture) => ignores_case(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(ignores_case),
    }
}

/// Whether some class stands for the two cases of one letter.
fn has_letters(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Class(_) => class_of(hir).is_some_and(|class| letter(&class).is_some()),
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) => false,
        HirKind::Repetition(repetition) => has_letters(&repetition.sub),
        HirKind::Capture(capture) => has_letters(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(has_letters),
    }
}

/// The letter of which a class holds all cases and nothing else.
fn letter(class: &ClassUnicode) -> Option<char> {
    let last = class.ranges().iter().map(ClassUnicodeRange::end).find(|end| end.is_lowercase());
    let first = last.or_else(|| class.ranges().first().map(ClassUnicodeRange::start))?;
    let same = folded(&single(first));
    (same == *class && same != single(first)).then_some(first)
}

struct Writer {
    source: String,
    /// Whether the flag for letter case is set.
    ignore_case: bool,
    /// Whether characters occur that are not ASCII.
    unicode: bool,
}

impl Writer {
    fn new(ignore_case: bool) -> Self {
        Self { source: String::new(), ignore_case, unicode: ignore_case }
    }

    fn finish(self) -> Pattern {
        let flags = match (self.ignore_case, self.unicode) {
            (true, _) => "iu",
            (false, true) => "u",
            (false, false) => "",
        };
        // Whoever reads the pattern from a file may trim it.
        let trimmed = self.source.trim_matches(' ');
        let lead = self.source.len() - self.source.trim_start_matches(' ').len();
        let space = |count: usize| "\\x20".repeat(count);
        let source = if trimmed.is_empty() {
            space(self.source.len())
        } else {
            let tail = self.source.len() - lead - trimmed.len();
            format!("{}{trimmed}{}", space(lead), space(tail))
        };
        Pattern { source, flags: flags.to_owned() }
    }

    fn expression(&mut self, hir: &Hir) -> Result<(), String> {
        if self.source.len() > MAX_BYTES {
            return Err(format!("it takes more than {} KiB there", MAX_BYTES / 1024));
        }
        match hir.kind() {
            HirKind::Empty => self.source.push_str("(?:)"),
            HirKind::Literal(text) => {
                let text =
                    std::str::from_utf8(&text.0).map_err(|_| "it matches half characters")?;
                text.chars().for_each(|character| self.character(character));
            }
            HirKind::Class(_) => {
                let class = class_of(hir).ok_or("it matches half characters")?;
                self.class(&class);
            }
            HirKind::Look(look) => self.source.push_str(anchor(*look)?),
            HirKind::Repetition(repetition) => {
                self.atom(&repetition.sub)?;
                let counts = match (repetition.min, repetition.max) {
                    (0, None) => "*".to_owned(),
                    (1, None) => "+".to_owned(),
                    (0, Some(1)) => "?".to_owned(),
                    (min, None) => format!("{{{min},}}"),
                    (min, Some(max)) if min == max => format!("{{{min}}}"),
                    (min, Some(max)) => format!("{{{min},{max}}}"),
                };
                self.source.push_str(&counts);
                if !repetition.greedy {
                    self.source.push('?');
                }
            }
            HirKind::Capture(capture) => self.group(&capture.sub)?,
            HirKind::Concat(parts) => {
                for part in parts {
                    match part.kind() {
                        HirKind::Alternation(_) => self.group(part)?,
                        _ => self.expression(part)?,
                    }
                }
            }
            HirKind::Alternation(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        self.source.push('|');
                    }
                    self.expression(part)?;
                }
            }
        }
        Ok(())
    }

    /// What a repetition can follow.
    fn atom(&mut self, hir: &Hir) -> Result<(), String> {
        let is_one = match hir.kind() {
            HirKind::Class(_) => true,
            HirKind::Literal(text) => String::from_utf8_lossy(&text.0).chars().count() == 1,
            _ => false,
        };
        if is_one { self.expression(hir) } else { self.group(hir) }
    }

    fn group(&mut self, hir: &Hir) -> Result<(), String> {
        self.source.push_str("(?:");
        self.expression(hir)?;
        self.source.push(')');
        Ok(())
    }

    fn character(&mut self, character: char) {
        self.unicode |= !character.is_ascii();
        match character {
            '\n' => self.source.push_str("\\n"),
            '\r' => self.source.push_str("\\r"),
            '\t' => self.source.push_str("\\t"),
            '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' => {
                self.source.push('\\');
                self.source.push(character);
            }
            ' ' => self.source.push(' '),
            _ if character.is_ascii_graphic() || character.is_alphanumeric() => {
                self.source.push(character);
            }
            _ => self.code(character),
        }
    }

    /// A character by its number.
    fn code(&mut self, character: char) {
        let code = u32::from(character);
        // Writing to a string cannot fail.
        let _ = match code {
            0..=0xFF => write!(self.source, "\\x{code:02x}"),
            0x100..=0xFFFF => write!(self.source, "\\u{code:04x}"),
            _ => write!(self.source, "\\u{{{code:x}}}"),
        };
    }

    fn class(&mut self, class: &ClassUnicode) {
        if let Some(letter) = letter(class).filter(|_| self.ignore_case) {
            return self.character(letter);
        }
        let is_open = class.ranges().last().is_some_and(|range| range.end() == char::MAX);
        self.unicode |= is_open || !class.is_ascii();
        let mut ranges = class.clone();
        // With the flag for letter case, a negated class would be folded before it is negated;
        // what is closed under folding stays the same either way.
        self.source.push('[');
        if is_open {
            self.source.push('^');
            ranges.negate();
        }
        for range in ranges.ranges() {
            self.class_character(range.start());
            if range.start() != range.end() {
                if u32::from(range.end()) > u32::from(range.start()) + 1 {
                    self.source.push('-');
                }
                self.class_character(range.end());
            }
        }
        self.source.push(']');
    }

    fn class_character(&mut self, character: char) {
        match character {
            '-' => self.source.push_str("\\-"),
            ' ' => self.source.push_str("\\x20"),
            _ if character.is_ascii() || character.is_alphanumeric() => self.character(character),
            _ => self.code(character),
        }
    }
}

/// An anchor. Without the flag `m`, which is never set, `^` and `$` mean the ends of the text, as they do
/// without it in RE2; its lines end at a line feed alone.
///
/// A word boundary beside the letters `ſ` or `K` differs when case is ignored.
fn anchor(look: Look) -> Result<&'static str, String> {
    Ok(match look {
        Look::Start => "^",
        Look::End => "$",
        Look::StartLF => "(?<![^\\n])",
        Look::EndLF => "(?![^\\n])",
        Look::WordAscii => "\\b",
        Look::WordAsciiNegate => "\\B",
        other => return Err(format!("{other:?} has no like there")),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a pattern means, as far as the two dialects agree on how it is written; the classes of
    /// everything and of nothing, which only JavaScript writes like this, are said in other words.
    fn meaning(source: &str, flags: &str) -> Hir {
        let flags = if flags.contains('i') { "(?i)" } else { "" };
        let source = source.replace("[^]", "(?s:.)").replace("[]", "[a&&b]");
        ParserBuilder::new().build().parse(&format!("{flags}{source}")).unwrap()
    }

    proptest! {
        #[test]
        fn a_literal_means_its_text(text in any::<String>()) {
            let Pattern { source, flags } = literal(&text);
            prop_assert_eq!(meaning(&source, &flags), meaning(&regex_syntax::escape(&text), ""));
            prop_assert_eq!(source.trim(), source.as_str());
            prop_assert_eq!(flags.is_empty(), text.is_ascii());
        }

        #[test]
        fn a_translation_means_what_the_pattern_means(
            pattern in r"(\(\?i\))?([a-cK ßé.|()*+?^$-]|\[[\^]?[a-c-]{1,3}\]|\\[dDwWsSpL.]|\{[12],?[23]?\}){0,8}"
        ) {
            let Ok(rust) = re2::translate(&pattern) else { return Ok(()) };
            // A class of Unicode that does not exist, or a range that ends before it begins.
            let Ok(expected) = ParserBuilder::new().build().parse(&rust) else { return Ok(()) };
            let Pattern { source, flags } = translate(&pattern).unwrap();
            prop_assert_eq!(meaning(&source, &flags), expected, "{} -> {}", pattern, source);
        }
    }

    fn written(pattern: &str) -> String {
        let Pattern { source, flags } = translate(pattern).unwrap();
        format!("/{source}/{flags}")
    }

    #[test]
    fn what_means_the_same_stays() {
        for (pattern, expected) in [
            (r"deployed \d+ services?", "/deployed [0-9]+ services?/"),
            ("(?i)deploy (now|later)", "/deploy (?:now|later)/iu"),
            ("^a|b$", "/^a|b$/"),
            ("(a|bb)*?c{2,3}d{4}e{5,}", "/(?:a|bb)*?c{2,3}d{4}e{5,}/"),
            (r"\bx\B", r"/\bx\B/"),
            ("a-b/c", "/a-b/c/"),
            ("", "/(?:)/"),
        ] {
            assert_eq!(written(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn what_means_something_else_is_rewritten() {
        for (pattern, expected) in [
            (".", r"/[^\n]/u"),
            ("(?s).", "/[^]/u"),
            ("(?m)^x$", r"/(?<![^\n])x(?![^\n])/"),
            (r"\s", r"/[\t\n\x0c\r\x20]/"),
            (r"\Aa\z", "/^a$/"),
            (r"\Qa.b\E+", r"/a\.b+/"),
            ("[[:digit:]-]", r"/[\-0-9]/"),
            ("(?P<n>a)(?:b)", "/ab/"),
            ("(?U)a+", "/a+?/"),
            ("a(?i)b", "/a[Bb]/"),
            ("(?i)a(?-i:b)", "/[Aa]b/"),
            ("(?i)straße", "/straße/iu"),
            ("^+", "/^/"),
            ("(?:^a)*", "/(?:^a)*/"),
            (" x ", r"/\x20x\x20/"),
            (r"\x00é", r"/\x00é/u"),
            ("[^a]", "/[^a]/u"),
            (r"\x{1F600}", "/\\u{1f600}/u"),
        ] {
            assert_eq!(written(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let pattern = r"\pL".repeat(100);
        assert_eq!(translate(&pattern).unwrap_err(), "it takes more than 256 KiB there");
    }

    #[test]
    fn a_text_matches_itself_alone() {
        let literal = |text| {
            let Pattern { source, flags } = literal(text);
            format!("/{source}/{flags}")
        };
        assert_eq!(literal("a.b\n*"), r"/a\.b\n\*/");
        assert_eq!(literal("  x "), r"/\x20\x20x\x20/");
        assert_eq!(literal("  "), r"/\x20\x20/");
        assert_eq!(literal("naïve"), "/naïve/u");
    }
}
