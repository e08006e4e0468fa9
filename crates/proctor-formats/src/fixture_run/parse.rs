//! Strict JSON (RFC 8259) to values that borrow from the text.

use std::borrow::Cow;

use proctor_model::json::{Json, Number, Object, canonical};
use proctor_model::recorded::report::InputDigest;
use proctor_model::recorded::run::Violation;
use proctor_model::{Diagnostic, Digest, Location};

use super::MAX_BYTES;
use super::describe::Pointer;
use super::violations::Violations;
use crate::tree::{self, MAX_DEPTH, MAX_VALUES, Problems};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A text that is JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Document<'a> {
    pub(super) root: Json<'a>,
    /// What no receipt can echo: duplicate keys and numbers that are no doubles.
    pub(super) flaws: Violations,
}

impl<'a> Document<'a> {
    /// Takes a text apart. A byte order mark at its start counts for nothing.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Violation> {
        if bytes.len() as u64 > MAX_BYTES {
            // Who reads a pipe or a line stops here, so how long it is nobody knows.
            let message =
                format!("is longer than {MAX_BYTES} bytes (16 MiB), the most that is read");
            return Err(Violation::new("", message));
        }
        let content = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let Ok(text) = str::from_utf8(content) else { return Err(explain(bytes)) };
        let mut parser = Parser { text, at: 0, values: 0, flawed: false };
        let Some(root) = parser.document() else {
            if parser.values > MAX_VALUES {
                // Reading them all once more to say where would take more memory than all the rest.
                return Err(Violation::new("", format!("holds more than {MAX_VALUES} values")));
            }
            return Err(explain(bytes));
        };
        let mut flaws = Violations::default();
        if parser.flawed {
            find_flaws(&root, &Pointer::ROOT, &mut flaws);
        }
        Ok(Self { root, flaws })
    }

    /// The whole value.
    pub fn root(&self) -> &Json<'a> {
        &self.root
    }

    /// The digest of the canonical form (RFC 8785), which white space and the order of keys do not
    /// change. `buffer` is room to work in. A text with duplicate keys or with numbers beyond
    /// doubles has no such form.
    pub fn digest(&self, buffer: &mut Vec<u8>) -> Option<InputDigest> {
        if !self.flaws.is_empty() {
            return None;
        }
        buffer.clear();
        canonical(&self.root, buffer);
        Some(InputDigest(Digest::of(buffer)))
    }
}

/// Why a text is refused, from the reader that knows places.
fn explain(bytes: &[u8]) -> Violation {
    let mut problems = Problems::new("".into());
    let _ = tree::json(bytes, &mut problems);
    let first = problems.finish().0.into_iter().next();
    // The two readers accept the same texts; a test holds them to it.
    let Some(diagnostic) = first else { return Violation::new("", "is no JSON") };
    let Some(Location { line, column }) = diagnostic.location else { return whole(diagnostic) };
    // A run on one line may be one line of many, of which its name has the number.
    let line = if bytes.contains(&b'\n') { format!("line {line}, ") } else { String::new() };
    let message = format!("{line}column {column}: {}", diagnostic.message);
    whole(Diagnostic { message, ..diagnostic })
}

/// A diagnostic about a whole file as a violation.
pub(super) fn whole(diagnostic: Diagnostic) -> Violation {
    let hint = diagnostic.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    Violation::new("", diagnostic.message + &hint)
}

fn find_flaws(value: &Json<'_>, at: &Pointer<'_>, flaws: &mut Violations) {
    match value {
        Json::Null | Json::Bool(_) | Json::String(_) => {}
        Json::Number(number) => {
            if !number.is_finite() {
                flaws.push(at.violation("is a number beyond the range of doubles, about 1.8e308"));
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_flaws(item, &at.index(index), flaws);
            }
        }
        Json::Object(object) => {
            let mut previous = None;
            for (key, value) in object.members() {
                let at = at.key(key);
                if previous.replace(key) == Some(key) {
                    flaws.push(at.violation("duplicate key; remove one of them"));
                }
                find_flaws(value, &at, flaws);
            }
        }
    }
}

/// `at` is always at a character boundary of `text`. `None` means a mistake.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    /// Whether a duplicate key or a number that is no double may have been seen.
    flawed: bool,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> Option<Json<'a>> {
        self.skip_blank();
        let root = self.value(1)?;
        self.skip_blank();
        (self.at == self.text.len()).then_some(root)
    }

    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return None;
        }
        match self.peek()? {
            b'"' => self.string().map(Json::String),
            b'{' if depth <= MAX_DEPTH => self.object(depth),
            b'[' if depth <= MAX_DEPTH => self.array(depth),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_blank();
        if self.take(b']') {
            return Some(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_blank();
            if self.take(b']') {
                return Some(Json::Array(items));
            }
            if !self.take(b',') {
                return None;
            }
            self.skip_blank();
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        self.skip_blank();
        if self.take(b'}') {
            return Some(Json::Object(Object::default()));
        }
        let mut members = Vec::with_capacity(4);
        loop {
            if self.peek()? != b'"' {
                return None;
            }
            let key = self.string()?;
            self.skip_blank();
            if !self.take(b':') {
                return None;
            }
            self.skip_blank();
            let value = self.value(depth + 1)?;
            members.push((key, value));
            self.skip_blank();
            if self.take(b'}') {
                break;
            }
            if !self.take(b',') {
                return None;
            }
            self.skip_blank();
        }
        let object = Object::new(members);
        self.flawed |= object.has_duplicates();
        Some(Json::Object(object))
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        if self.peek()? == b'"' {
            let plain = self.text.get(start..self.at)?;
            self.at += 1;
            return Some(Cow::Borrowed(plain));
        }
        let mut text = String::new();
        let mut from = start;
        loop {
            text.push_str(self.text.get(from..self.at)?);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(Cow::Owned(text));
                }
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
            from = self.at;
            self.skip_plain();
        }
    }

    /// Steps to the next quote, backslash or control character.
    fn skip_plain(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += plain_length(rest);
    }

    fn escape(&mut self) -> Option<char> {
        let letter = *self.text.as_bytes().get(self.at + 1)?;
        let plain = match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return None,
        };
        self.at += 2;
        Some(plain)
    }

    fn unicode_escape(&mut self) -> Option<char> {
        let first = self.code_unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        let second = self.code_unit()?;
        let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low)
    }

    /// Steps over `\uXXXX`.
    fn code_unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 6)?.strip_prefix("\\u")?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 6;
        u32::from_str_radix(digits, 16).ok()
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        let number = Number::written(self.text.get(start..self.at)?);
        self.flawed |= !number.is_finite();
        Some(Json::Number(number))
    }

    /// Steps over at least one digit.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Option<Json<'a>> {
        self.text.get(self.at..)?.starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_blank(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }
}

/// How many bytes come before the first quote, backslash or control character. Eight bytes at a
/// time, since most of a run is the inside of strings.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    // A byte of the result has its high bit set where the byte of `word` is zero; bytes after the
    // first such one may be set wrongly.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let mut at = 0;
    for chunk in bytes.chunks_exact(8) {
        let Ok(chunk) = <[u8; 8]>::try_from(chunk) else { break };
        let word = u64::from_le_bytes(chunk);
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let special = control | zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5c));
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    at + rest.iter().position(special).unwrap_or(rest.len())
}
