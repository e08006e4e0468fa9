//! Patterns in the syntax of RE2, as Go's `regexp` reads them, rewritten for Rust's `regex`.
//!
//! The two differ in what a pattern means (`\d`, `\w`, `\b` are ASCII in RE2; `[[a]` is a class with
//! a bracket in it) and in what is one (`\Q..\E`, octal escapes and a lone `{` are RE2 alone,
//! `(?x)` and class operators Rust alone). [`translate`] therefore parses the whole pattern and
//! writes one that means the same; groups become non-capturing, since only a match is asked for.
//! Syntax: <https://github.com/google/re2/wiki/Syntax> and the documentation of `regexp/syntax`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::iter::Peekable;
use std::str::CharIndices;

/// The most that a repetition, or repetitions inside one another, may multiply to.
const MAX_REPEAT: u32 = 1000;

/// How deep groups may stand inside one another.
const MAX_DEPTH: usize = 200;

/// The size, in bytes, up to which a compiled pattern may grow.
pub const SIZE_LIMIT: usize = 1024 * 1024;

/// Why a text is no pattern of RE2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Re2Error {
    /// The byte at which the mistake begins.
    pub offset: usize,
    /// What is wrong: a fragment.
    pub message: String,
}

impl fmt::Display for Re2Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.message, self.offset)
    }
}

impl std::error::Error for Re2Error {}

/// The pattern for Rust's `regex` that matches what `pattern` matches in RE2. Compile it with
/// default settings and [`SIZE_LIMIT`]. It can still name a Unicode class that does not exist.
pub fn translate(pattern: &str) -> Result<String, Re2Error> {
    rewrite(pattern, "(?:")
}

/// Like [`translate`]; groups keep their numbers and lose their names.
///
/// # Errors
///
/// When `pattern` is none of RE2.
pub fn translate_with_groups(pattern: &str) -> Result<String, Re2Error> {
    rewrite(pattern, "(")
}

fn rewrite(pattern: &str, group: &'static str) -> Result<String, Re2Error> {
    let mut translator = Translator {
        pattern,
        group,
        characters: pattern.char_indices().peekable(),
        out: String::with_capacity(pattern.len() * 2),
        names: BTreeSet::new(),
    };
    translator.alternatives(0)?;
    match translator.characters.peek() {
        None => Ok(translator.out),
        Some((offset, _)) => Err(error(*offset, "`)` without its `(`")),
    }
}

fn error(offset: usize, message: impl Into<String>) -> Re2Error {
    Re2Error { offset, message: message.into() }
}

struct Translator<'a> {
    pattern: &'a str,
    /// What a group begins with.
    group: &'static str,
    characters: Peekable<CharIndices<'a>>,
    out: String,
    names: BTreeSet<&'a str>,
}

/// What stands before a repetition operator.
#[derive(Clone, Copy)]
enum Before {
    /// Nothing: the start of an alternative, or flags.
    Nothing,
    /// Something, inside which repetitions multiply to so much.
    Atom(u32),
    /// A repetition.
    Repetition,
}

impl Translator<'_> {
    /// Everything up to the end of the group; gives what repetitions inside multiply to.
    fn alternatives(&mut self, depth: usize) -> Result<u32, Re2Error> {
        let mut most = 1;
        let mut before = Before::Nothing;
        while let Some(&(offset, character)) = self.characters.peek() {
            if character == ')' {
                break;
            }
            self.characters.next();
            before = match character {
                '|' => {
                    self.out.push('|');
                    Before::Nothing
                }
                '(' => match self.group(offset, depth)? {
                    Some(inside) => Before::Atom(inside),
                    None => Before::Nothing,
                },
                '*' | '+' | '?' => {
                    self.repeat(offset, &character.to_string(), 1, before)?;
                    Before::Repetition
                }
                '{' => match self.counts() {
                    Some((text, low, high)) => {
                        if low > MAX_REPEAT || high.is_some_and(|high| high > MAX_REPEAT) {
                            return Err(error(offset, "repetition of more than 1000 times"));
                        }
                        if high.is_some_and(|high| high < low) {
                            return Err(error(offset, "repetition whose end is below its start"));
                        }
                        most = most.max(self.repeat(offset, &text, high.unwrap_or(low), before)?);
                        Before::Repetition
                    }
                    None => self.literal('{'),
                },
                '[' => {
                    self.class(offset)?;
                    Before::Atom(1)
                }
                '\\' => self.escape(offset)?,
                '^' | '$' | '.' => {
                    self.out.push(character);
                    Before::Atom(1)
                }
                other => self.literal(other),
            };
            if let Before::Atom(inside) = before {
                most = most.max(inside);
            }
        }
        Ok(most)
    }

    fn literal(&mut self, character: char) -> Before {
        push_literal(&mut self.out, character);
        Before::Atom(1)
    }

    /// A repetition operator; gives what it and those inside multiply to.
    fn repeat(
        &mut self,
        offset: usize,
        operator: &str,
        times: u32,
        before: Before,
    ) -> Result<u32, Re2Error> {
        let inside = match before {
            Before::Nothing => return Err(error(offset, "repetition of nothing")),
            Before::Repetition => return Err(error(offset, "repetition of a repetition")),
            Before::Atom(inside) => inside,
        };
        let product = inside.saturating_mul(times.max(1));
        if product > MAX_REPEAT {
            return Err(error(offset, "repetitions that multiply to more than 1000"));
        }
        self.out.push_str(operator);
        if self.take('?') {
            self.out.push('?');
        }
        Ok(product)
    }

    /// `n}`, `n,}` or `n,m}` behind an opening brace; anything else is not taken.
    fn counts(&mut self) -> Option<(String, u32, Option<u32>)> {
        let mut ahead = self.characters.clone();
        let low = digits(&mut ahead)?;
        let high = match ahead.next() {
            Some((_, '}')) => Some(low),
            Some((_, ',')) if ahead.next_if(|(_, c)| *c == '}').is_some() => None,
            Some((_, ',')) => {
                let high = digits(&mut ahead)?;
                ahead.next_if(|(_, c)| *c == '}')?;
                Some(high)
            }
            _ => return None,
        };
        self.characters = ahead;
        let text = match high {
            Some(high) if high == low => format!("{{{low}}}"),
            Some(high) => format!("{{{low},{high}}}"),
            None => format!("{{{low},}}"),
        };
        Some((text, low, high))
    }

    /// A group behind its opening bracket; `None` when it only sets flags.
    fn group(&mut self, offset: usize, depth: usize) -> Result<Option<u32>, Re2Error> {
        if depth >= MAX_DEPTH {
            return Err(error(offset, format!("groups nested deeper than {MAX_DEPTH}")));
        }
        if !self.take('?') {
            self.out.push_str(self.group);
        } else if self.take('P') {
            if !self.take('<') {
                return Err(error(offset, "expected `(?P<name>`"));
            }
            self.name(offset)?;
        } else if self.take('<') {
            self.name(offset)?;
        } else if !self.flags(offset)? {
            return Ok(None);
        }
        let inside = self.alternatives(depth + 1)?;
        if !self.take(')') {
            return Err(error(offset, "`(` without its `)`"));
        }
        self.out.push(')');
        Ok(Some(inside))
    }

    fn name(&mut self, offset: usize) -> Result<(), Re2Error> {
        let start = self.offset();
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        while self.characters.next_if(|(_, c)| word(*c)).is_some() {}
        let name = self.pattern.get(start..self.offset()).unwrap_or_default();
        if name.is_empty() || !self.take('>') {
            return Err(error(offset, "expected the name of a group: letters, digits and `_`"));
        }
        if !self.names.insert(name) {
            return Err(error(offset, format!("a second group named `{name}`")));
        }
        self.out.push_str(self.group);
        Ok(())
    }

    /// Flags behind `(?`; whether a group follows them. Of a flag that is named twice the last
    /// mention counts.
    fn flags(&mut self, offset: usize) -> Result<bool, Re2Error> {
        let mut flags: BTreeMap<char, bool> = BTreeMap::new();
        let (mut negated, mut any) = (false, false);
        let end = loop {
            let Some((_, character)) = self.characters.next() else {
                return Err(error(offset, "`(` without its `)`"));
            };
            match character {
                'i' | 'm' | 's' | 'U' => {
                    flags.insert(character, !negated);
                    any = true;
                }
                '-' if !negated => (negated, any) = (true, false),
                ')' if !any && !negated => return Err(error(offset, "expected flags after `(?`")),
                // A minus without a flag after it says nothing, and is refused below.
                ':' | ')' if any || !negated => break character,
                '=' | '!' | '<' => return Err(error(offset, "RE2 has no look-around")),
                _ => return Err(error(offset, "expected one of the flags `i`, `m`, `s`, `U`")),
            }
        };
        let named = |wanted: bool| {
            flags.iter().filter(move |(_, on)| **on == wanted).map(|(flag, _)| *flag)
        };
        self.out.push_str("(?");
        self.out.extend(named(true));
        if named(false).next().is_some() {
            self.out.push('-');
            self.out.extend(named(false));
        }
        self.out.push(end);
        Ok(end == ':')
    }

    /// What follows a backslash outside a class.
    fn escape(&mut self, offset: usize) -> Result<Before, Re2Error> {
        let Some(&(_, character)) = self.characters.peek() else {
            return Err(error(offset, "`\\` at the end"));
        };
        match character {
            'A' | 'z' => {
                self.characters.next();
                self.out.push('\\');
                self.out.push(character);
            }
            'b' | 'B' => {
                self.characters.next();
                // The ASCII word boundary, which Rust gives when Unicode is off.
                let _ = write!(self.out, "(?-u:\\{character})");
            }
            'Q' => {
                self.characters.next();
                return Ok(self.quotation());
            }
            'C' => return Err(error(offset, "`\\C` is not supported: patterns match text")),
            'p' | 'P' => self.unicode_class(offset)?,
            _ => {
                if let Some(class) = perl_class(character) {
                    self.characters.next();
                    self.out.push_str(class);
                } else {
                    let literal = self.escaped_character(offset)?;
                    push_literal(&mut self.out, literal);
                }
            }
        }
        Ok(Before::Atom(1))
    }

    /// The literal text behind `\Q`, up to `\E` or the end. Only its last character can be
    /// repeated.
    fn quotation(&mut self) -> Before {
        let rest = self.pattern.get(self.offset()..).unwrap_or_default();
        let end = rest.find("\\E").unwrap_or(rest.len());
        let text = rest.get(..end).unwrap_or_default();
        let skipped = text.chars().count() + if end < rest.len() { 2 } else { 0 };
        for character in text.chars() {
            push_literal(&mut self.out, character);
        }
        for _ in 0..skipped {
            self.characters.next();
        }
        if text.is_empty() { Before::Nothing } else { Before::Atom(1) }
    }

    /// A character that an escape, whose backslash stands at `offset`, names.
    fn escaped_character(&mut self, offset: usize) -> Result<char, Re2Error> {
        let Some((_, character)) = self.characters.next() else {
            return Err(error(offset, "`\\` at the end"));
        };
        Ok(match character {
            'a' => '\x07',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => return self.hexadecimal(offset),
            '0'..='7' => return self.octal(offset, character),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => other,
            '8' | '9' => return Err(error(offset, "RE2 has no back-references")),
            other => return Err(error(offset, format!("`\\{other}` is no escape of RE2"))),
        })
    }

    fn hexadecimal(&mut self, offset: usize) -> Result<char, Re2Error> {
        let fault = || error(offset, "expected `\\x7F` or `\\x{10FFFF}`");
        let digit = |translator: &mut Self| {
            translator
                .characters
                .next_if(|(_, c)| c.is_ascii_hexdigit())
                .and_then(|(_, c)| c.to_digit(16))
        };
        let mut value = 0_u32;
        if self.take('{') {
            let mut count = 0;
            while let Some(next) = digit(self) {
                value = value.saturating_mul(16).saturating_add(next);
                count += 1;
            }
            if count == 0 || !self.take('}') {
                return Err(fault());
            }
        } else {
            for _ in 0..2 {
                value = value * 16 + digit(self).ok_or_else(fault)?;
            }
        }
        char::from_u32(value).ok_or_else(|| error(offset, "a code that is no character"))
    }

    fn octal(&mut self, offset: usize, first: char) -> Result<char, Re2Error> {
        let mut digit = || {
            self.characters
                .next_if(|(_, c)| matches!(c, '0'..='7'))
                .and_then(|(_, c)| c.to_digit(8))
        };
        let mut value = first.to_digit(8).unwrap_or_default();
        match digit() {
            Some(second) => value = value * 8 + second,
            None if first == '0' => {}
            None => return Err(error(offset, "RE2 has no back-references")),
        }
        if let Some(third) = digit() {
            value = value * 8 + third;
        }
        char::from_u32(value).ok_or_else(|| error(offset, "a code that is no character"))
    }

    /// `p` or `P` with the name of a class behind it.
    fn unicode_class(&mut self, offset: usize) -> Result<(), Re2Error> {
        let mut negated = self.characters.next().is_some_and(|(_, letter)| letter == 'P');
        let fault = || error(offset, "expected `\\pL` or `\\p{Greek}`");
        let name = if self.take('{') {
            negated ^= self.take('^');
            let start = self.offset();
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            while self.characters.next_if(|(_, c)| word(*c)).is_some() {}
            let name = self.pattern.get(start..self.offset()).unwrap_or_default();
            if name.is_empty() || !self.take('}') {
                return Err(fault());
            }
            name.to_owned()
        } else {
            let letter = self.characters.next_if(|(_, c)| c.is_ascii_alphabetic());
            letter.ok_or_else(fault)?.1.to_string()
        };
        let _ = write!(self.out, "\\{}{{{name}}}", if negated { 'P' } else { 'p' });
        Ok(())
    }

    /// A class behind its opening bracket.
    fn class(&mut self, offset: usize) -> Result<(), Re2Error> {
        self.out.push('[');
        if self.take('^') {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some(&(at, character)) = self.characters.peek() else {
                return Err(error(offset, "`[` without its `]`"));
            };
            if character == ']' && !first {
                self.characters.next();
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if !self.set_in_class(at)? {
                self.range(offset)?;
            }
        }
    }

    /// A set such as `[:alpha:]`, `\d` or `\pL` inside a class; false when none stands here.
    fn set_in_class(&mut self, offset: usize) -> Result<bool, Re2Error> {
        let rest = self.pattern.get(offset..).unwrap_or_default();
        if rest.starts_with("[:") {
            let Some(end) = rest.find(":]") else { return Ok(false) };
            let text = rest.get(..end + 2).unwrap_or_default();
            let name = text.trim_start_matches("[:").trim_start_matches('^').trim_end_matches(":]");
            if !POSIX_CLASSES.contains(&name) {
                return Err(error(offset, format!("`{text}` is no class")));
            }
            self.out.push_str(text);
            for _ in text.chars() {
                self.characters.next();
            }
            return Ok(true);
        }
        let mut characters = rest.chars();
        if characters.next() != Some('\\') {
            return Ok(false);
        }
        match characters.next() {
            Some('p' | 'P') => {
                self.characters.next();
                self.unicode_class(offset)?;
                Ok(true)
            }
            Some(letter) => {
                let Some(class) = perl_class(letter) else { return Ok(false) };
                self.characters.nth(1);
                self.out.push_str(class);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// A character or a range inside the class that began at `class`.
    fn range(&mut self, class: usize) -> Result<(), Re2Error> {
        let start = self.offset();
        let low = self.class_character(class)?;
        push_literal(&mut self.out, low);
        let mut ahead = self.characters.clone();
        let is_range = ahead.next().is_some_and(|(_, c)| c == '-')
            && ahead.next().is_some_and(|(_, c)| c != ']');
        if is_range {
            self.characters.next();
            let high = self.class_character(class)?;
            if high < low {
                return Err(error(start, "range whose end is below its start"));
            }
            self.out.push('-');
            push_literal(&mut self.out, high);
        }
        Ok(())
    }

    fn class_character(&mut self, class: usize) -> Result<char, Re2Error> {
        match self.characters.next() {
            None => Err(error(class, "`[` without its `]`")),
            Some((offset, '\\')) => self.escaped_character(offset),
            Some((_, character)) => Ok(character),
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        self.characters.next_if(|(_, character)| *character == wanted).is_some()
    }

    fn offset(&mut self) -> usize {
        self.characters.peek().map_or(self.pattern.len(), |(offset, _)| *offset)
    }
}

fn digits(characters: &mut Peekable<CharIndices<'_>>) -> Option<u32> {
    let mut value = None;
    while let Some((_, digit)) = characters.next_if(|(_, c)| c.is_ascii_digit()) {
        let digit = digit.to_digit(10)?;
        value = Some(value.unwrap_or(0_u32).saturating_mul(10).saturating_add(digit));
    }
    value
}

/// The classes of Perl, which hold ASCII characters only.
fn perl_class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\x0C\r\x20]",
        'S' => r"[^\t\n\x0C\r\x20]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

const POSIX_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// A character that means itself, inside a class and outside.
fn push_literal(out: &mut String, character: char) {
    if character.is_ascii() && !character.is_ascii_alphanumeric() {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\x{:02X}", u32::from(character));
    } else {
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_stays() {
        for (pattern, expected) in [
            ("", ""),
            ("abc é", r"abc\x20é"),
            ("^a|b$", "^a|b$"),
            ("(?i)a.*?b+", "(?i)a.*?b+"),
            ("(?i-s:x)(?m)", "(?i-s:x)(?m)"),
            ("(?iis-i:x)", "(?s-i:x)"),
            ("(a)(?:b)(?P<n>c)(?<m>d)", "(?:a)(?:b)(?:c)(?:d)"),
            ("a{2}b{2,}c{2,3}?", "a{2}b{2,}c{2,3}?"),
            (r"\pL\p{^Greek}\P{^Lu}", r"\p{L}\P{Greek}\p{Lu}"),
        ] {
            assert_eq!(translate(pattern).as_deref(), Ok(expected), "{pattern}");
        }
    }

    #[test]
    fn what_means_something_else_is_rewritten() {
        for (pattern, expected) in [
            (r"\d\w\b", r"[0-9][0-9A-Za-z_](?-u:\b)"),
            (r"[\d-z]", r"[[0-9]\x2Dz]"),
            ("[[a]", r"[\x5Ba]"),
            ("[]a]", r"[\x5Da]"),
            ("[^]a-c-]", r"[^\x5Da-c\x2D]"),
            ("[a&&b~~c]", r"[a\x26\x26b\x7E\x7Ec]"),
            ("[[:alpha:]_]", r"[[:alpha:]\x5F]"),
            ("[[:^digit:]]", "[[:^digit:]]"),
            (r"\Qa.b\E+\Q[", r"a\x2Eb+\x5B"),
            ("a{,3}{x", r"a\x7B\x2C3\x7D\x7Bx"),
            (r"\12\x41\x{e9}\0", r"\x0AAé\x00"),
            (r"\<\-\_", r"\x3C\x2D\x5F"),
            ("#x", r"\x23x"),
        ] {
            assert_eq!(translate(pattern).as_deref(), Ok(expected), "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_its_place() {
        for (pattern, expected) in [
            ("(a", "`(` without its `)` (at byte 0)"),
            ("a)", "`)` without its `(` (at byte 1)"),
            ("[a", "`[` without its `]` (at byte 0)"),
            ("[]", "`[` without its `]` (at byte 0)"),
            ("[z-a]", "range whose end is below its start (at byte 1)"),
            ("[[:alfa:]]", "`[:alfa:]` is no class (at byte 1)"),
            ("*", "repetition of nothing (at byte 0)"),
            ("a|*", "repetition of nothing (at byte 2)"),
            ("(?i)*", "repetition of nothing (at byte 4)"),
            ("a**", "repetition of a repetition (at byte 2)"),
            ("a{2}{3}", "repetition of a repetition (at byte 4)"),
            ("a{1001}", "repetition of more than 1000 times (at byte 1)"),
            ("a{3,2}", "repetition whose end is below its start (at byte 1)"),
            ("((a{100}){11})", "repetitions that multiply to more than 1000 (at byte 9)"),
            ("(?=a)", "RE2 has no look-around (at byte 0)"),
            ("(?<=a)", "expected the name of a group: letters, digits and `_` (at byte 0)"),
            ("(?x)a", "expected one of the flags `i`, `m`, `s`, `U` (at byte 0)"),
            ("(?)", "expected flags after `(?` (at byte 0)"),
            ("(?P<a>)(?P<a>)", "a second group named `a` (at byte 7)"),
            (r"(a)\1", "RE2 has no back-references (at byte 3)"),
            (r"\q", r"`\q` is no escape of RE2 (at byte 0)"),
            (r"\Z", r"`\Z` is no escape of RE2 (at byte 0)"),
            (r"\C", r"`\C` is not supported: patterns match text (at byte 0)"),
            (r"a\", r"`\` at the end (at byte 1)"),
            (r"\x4", r"expected `\x7F` or `\x{10FFFF}` (at byte 0)"),
            (r"\x{110000}", "a code that is no character (at byte 0)"),
            (r"[\b]", r"`\b` is no escape of RE2 (at byte 1)"),
            (r"\p{Gr!}", r"expected `\pL` or `\p{Greek}` (at byte 0)"),
        ] {
            let message = translate(pattern).unwrap_err().to_string();
            assert_eq!(message, expected, "{pattern}");
        }
        let deep = format!("{}{}", "(".repeat(201), ")".repeat(201));
        assert!(translate(&deep).unwrap_err().message.contains("nested deeper than 200"));
    }
}
