//! Strict JSON (RFC 8259) to [`Node`]s.
//!
//! The first syntax error ends the reading: what follows it would be guesswork. A tolerated byte
//! order mark counts neither as a column nor as content. Time is linear in the input, and the
//! stack is bounded by [`MAX_DEPTH`].

use std::collections::BTreeMap;

use proctor_model::{Diagnostic, Location, nearest};

use super::read::{Field, quoted};
use super::{Kind, Member, Node, Problems};

/// The longest document that is read: 16 MiB.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// How many lists and objects may stand inside one another.
pub const MAX_DEPTH: usize = 128;

/// How many values one document may hold, keys not counted. It bounds memory: a value of two bytes
/// takes many times as much as a [`Node`].
pub const MAX_VALUES: usize = 1_000_000;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads one JSON document. Duplicate keys are pushed as mistakes and leave the tree whole; after
/// any other mistake there is no tree.
pub fn json(bytes: &[u8], problems: &mut Problems) -> Option<Node> {
    read(bytes, problems, Parser::document)
}

/// Reads the first JSON value and nothing after it, not even for mistakes.
pub fn json_first(bytes: &[u8], problems: &mut Problems) -> Option<Node> {
    read(bytes, problems, Parser::first_value)
}

fn read<'a>(
    bytes: &'a [u8],
    problems: &mut Problems,
    parse: fn(&mut Parser<'a>) -> Result<Node, Fault>,
) -> Option<Node> {
    if bytes.len() as u64 > MAX_BYTES {
        problems.push(too_long(bytes.len() as u64));
        return None;
    }
    let text = decode(bytes, problems)?;
    let mut parser = Parser { text, at: 0, values: 0, locator: Locator::new(text) };
    match parse(&mut parser) {
        Ok(root) => {
            deny_duplicates(&Field::root(&root), problems);
            Some(root)
        }
        Err(fault) => {
            let location = parser.locator.at(fault.at);
            let diagnostic = Diagnostic::error(fault.message).at(location);
            problems.push(match fault.hint {
                Some(hint) => diagnostic.hint(hint),
                None => diagnostic,
            });
            None
        }
    }
}

/// The text without its byte order mark, or the mistake that it is not UTF-8.
pub(super) fn decode<'a>(bytes: &'a [u8], problems: &mut Problems) -> Option<&'a str> {
    let content = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    match str::from_utf8(content) {
        Ok(text) => Some(text),
        Err(error) => {
            problems.push(invalid_utf8(bytes, content, error.valid_up_to()));
            None
        }
    }
}

/// The mistake of a document that is longer than [`MAX_BYTES`].
pub(crate) fn too_long(bytes: u64) -> Diagnostic {
    Diagnostic::error(format!(
        "file is {bytes} bytes long; the limit is {MAX_BYTES} bytes ({} MiB)",
        MAX_BYTES / (1024 * 1024)
    ))
}

fn invalid_utf8(bytes: &[u8], content: &[u8], valid: usize) -> Diagnostic {
    let prefix = content.get(..valid).and_then(|bytes| str::from_utf8(bytes).ok());
    let location = Locator::new(prefix.unwrap_or_default()).at(valid);
    let offset = bytes.len() - content.len() + valid;
    let byte = content.get(valid).copied().unwrap_or_default();
    let hint = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the file is UTF-16; save it as UTF-8",
        _ => "save the file as UTF-8",
    };
    Diagnostic::error(format!("invalid UTF-8: byte 0x{byte:02X} at offset {offset}"))
        .at(location)
        .hint(hint)
}

pub(super) fn deny_duplicates(field: &Field<'_>, problems: &mut Problems) {
    match &field.node().kind {
        Kind::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                deny_duplicates(&field.item(index, item), problems);
            }
        }
        Kind::Object(members) => {
            let mut first = BTreeMap::new();
            for member in members {
                let first = *first.entry(member.key.as_str()).or_insert(member.key_location);
                let child = field.member(&member.key, &member.value);
                if first != member.key_location {
                    problems.push_error(|| {
                        let Location { line, column } = first;
                        let message = format!("duplicate key; the first one is at {line}:{column}");
                        let error = Diagnostic::error(message).at(member.key_location);
                        error.field(child.path()).hint("remove one of them")
                    });
                }
                deny_duplicates(&child, problems);
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => {}
    }
}

/// Turns byte offsets into places. Asked in ascending order it reads the text once.
pub(super) struct Locator<'a> {
    text: &'a str,
    offset: usize,
    location: Location,
}

impl<'a> Locator<'a> {
    const START: Location = Location { line: 1, column: 1 };

    pub(super) fn new(text: &'a str) -> Self {
        Self { text, offset: 0, location: Self::START }
    }

    pub(super) fn at(&mut self, offset: usize) -> Location {
        if offset < self.offset {
            (self.offset, self.location) = (0, Self::START);
        }
        for character in self.text.get(self.offset..offset).unwrap_or_default().chars() {
            if character == '\n' {
                self.location.line += 1;
                self.location.column = 1;
            } else {
                self.location.column += 1;
            }
        }
        self.offset = offset;
        self.location
    }
}

/// The first syntax error, at a byte offset.
struct Fault {
    at: usize,
    message: String,
    hint: Option<&'static str>,
}

impl Fault {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }
}

/// `at` is always at a character boundary of `text`.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    locator: Locator<'a>,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> Result<Node, Fault> {
        let root = self.first_value()?;
        self.skip_blank();
        if self.rest().is_empty() { Ok(root) } else { Err(self.unexpected("the end of the file")) }
    }

    fn first_value(&mut self) -> Result<Node, Fault> {
        self.skip_blank();
        if self.rest().is_empty() {
            return Err(Fault::new(self.at, "expected a JSON value, found an empty file"));
        }
        self.value(1)
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        self.skip_blank();
        let start = self.at;
        let location = self.locator.at(start);
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(Fault::new(start, format!("more than {MAX_VALUES} values")));
        }
        let kind = match self.peek() {
            Some('{' | '[') if depth > MAX_DEPTH => {
                let message = format!("nested deeper than {MAX_DEPTH} levels");
                return Err(Fault::new(start, message));
            }
            Some('{') => Kind::Object(self.object(depth)?),
            Some('[') => Kind::Array(self.array(depth)?),
            Some('"') => Kind::String(self.string()?),
            _ => {
                let word = self.word();
                let kind = scalar(word).ok_or_else(|| self.no_value())?;
                self.at += word.len();
                kind
            }
        };
        Ok(Node { location, kind })
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Node>, Fault> {
        let open = self.at;
        let mut items = Vec::new();
        let mut more = self.open(']');
        while more {
            items.push(self.value(depth + 1)?);
            more = self.separator(open, ']')?;
        }
        Ok(items)
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, Fault> {
        let open = self.at;
        let mut members = Vec::new();
        let mut more = self.open('}');
        while more {
            self.skip_blank();
            let key_location = self.locator.at(self.at);
            let key = match self.peek() {
                Some('"') => self.string()?,
                None => return Err(self.unclosed(open)),
                Some(_) => return Err(self.unexpected("a key in double quotes")),
            };
            self.skip_blank();
            if !self.take(':') {
                return Err(self.unexpected("`:` after the key"));
            }
            let value = self.value(depth + 1)?;
            members.push(Member { key, key_location, value });
            more = self.separator(open, '}')?;
        }
        Ok(members)
    }

    /// Steps over an opening bracket; false when the closing one follows at once.
    fn open(&mut self, close: char) -> bool {
        self.at += 1;
        self.skip_blank();
        !self.take(close)
    }

    /// Steps over what follows an element: true after a comma, false after the closing bracket.
    fn separator(&mut self, open: usize, close: char) -> Result<bool, Fault> {
        self.skip_blank();
        let comma = self.at;
        if self.take(close) {
            return Ok(false);
        }
        if !self.take(',') {
            return Err(match self.peek() {
                None => self.unclosed(open),
                Some('"' | '{' | '[' | '-' | '0'..='9' | 'a'..='z') => self
                    .unexpected(&format!("`,` or `{close}`"))
                    .hint("put a comma after the value before it"),
                Some(_) => self.unexpected(&format!("`,` or `{close}`")),
            });
        }
        self.skip_blank();
        match self.peek() {
            None => Err(self.unclosed(open)),
            Some(next) if next == close => {
                Err(Fault::new(comma, format!("comma before `{close}`")).hint("remove it"))
            }
            Some(_) => Ok(true),
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        let open = self.at;
        self.at += 1;
        let mut value = String::new();
        loop {
            let rest = self.rest();
            let run = rest.find(|c| matches!(c, '"' | '\\' | '\0'..='\x1f')).unwrap_or(rest.len());
            value.push_str(rest.get(..run).unwrap_or_default());
            self.at += run;
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return Ok(value);
                }
                Some('\\') => value.push(self.escape(open)?),
                None => return Err(Fault::new(open, "string without its closing `\"`")),
                Some('\n' | '\r') => {
                    return Err(Fault::new(
                        open,
                        "string without its closing `\"` on the same line",
                    )
                    .hint("write a line break inside a string as `\\n`"));
                }
                Some('\t') => {
                    return Err(
                        Fault::new(self.at, "a raw tab inside a string").hint("write it as `\\t`")
                    );
                }
                Some(control) => {
                    let message = format!("{} inside a string", shown(control));
                    return Err(
                        Fault::new(self.at, message).hint("write it as an escape, `\\u....`")
                    );
                }
            }
        }
    }

    fn escape(&mut self, open: usize) -> Result<char, Fault> {
        let start = self.at;
        self.at += 1;
        let Some(letter) = self.peek() else {
            return Err(Fault::new(open, "string without its closing `\"`"));
        };
        self.at += letter.len_utf8();
        Ok(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(start),
            _ => {
                let message = format!("`\\` before {} is no escape of JSON", shown(letter));
                return Err(Fault::new(start, message).hint("write a backslash as `\\\\`"));
            }
        })
    }

    /// The rest of a `\u` escape that began at `start`, with its second half when it is one of a
    /// surrogate pair.
    fn unicode_escape(&mut self, start: usize) -> Result<char, Fault> {
        let first = self.four_digits(start)?;
        let unit = if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            let second_start = self.at;
            self.at += 2;
            let second = self.four_digits(second_start)?;
            if (0xdc00..0xe000).contains(&second) {
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            } else {
                first
            }
        } else {
            first
        };
        char::from_u32(unit).ok_or_else(|| {
            Fault::new(start, format!("`\\u{first:04x}` is half of a surrogate pair"))
                .hint("write both halves, or the character itself")
        })
    }

    fn four_digits(&mut self, start: usize) -> Result<u32, Fault> {
        let digits = self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let fault = || Fault::new(start, "expected four hexadecimal digits after `\\u`");
        let unit = unit.ok_or_else(fault)?;
        self.at += 4;
        Ok(unit)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, ascii: char) -> bool {
        let found = self.peek() == Some(ascii);
        self.at += usize::from(found);
        found
    }

    fn skip_blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// The longest run here that could be meant as a number or a literal.
    fn word(&self) -> &'a str {
        let rest = self.rest();
        let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    fn unclosed(&mut self, open: usize) -> Fault {
        let bracket = self.text.get(open..).and_then(|rest| rest.chars().next()).unwrap_or('{');
        Fault::new(open, format!("`{bracket}` is never closed"))
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let word = self.word();
        let found = match self.peek() {
            None => "the end of the file".to_owned(),
            Some('"') => "a string".to_owned(),
            Some(character) if word.is_empty() => shown(character),
            Some(_) => quoted(word, '`'),
        };
        let fault = Fault::new(self.at, format!("expected {expected}, found {found}"));
        match self.peek() {
            Some('/' | '#') => fault.hint("JSON has no comments"),
            Some('\'' | '`' | '\u{2018}'..='\u{201f}') => {
                fault.hint("JSON wants straight double quotes")
            }
            Some(blank) if blank.is_whitespace() || matches!(blank, '\u{200b}' | '\u{feff}') => {
                fault.hint("only spaces, tabs and line breaks may stand between values")
            }
            _ => fault,
        }
    }

    /// The fault where a value must begin and none does.
    fn no_value(&self) -> Fault {
        let fault = self.unexpected("a value");
        let hint = match self.word() {
            "" => return fault,
            "NaN" | "-NaN" | "nan" | "Infinity" | "-Infinity" | "+Infinity" | "inf" | "-inf" => {
                "JSON has no such number"
            }
            "None" | "nil" | "undefined" => "write `null`",
            "yes" | "on" => "write `true`",
            "no" | "off" => "write `false`",
            word if word.starts_with('+') => "leave the `+` out",
            word if word.starts_with('.') => "write a digit before the point",
            word if word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                "JSON numbers are decimal digits, then perhaps `.5`, then perhaps `e3`"
            }
            word => match nearest(word, ["true", "false", "null"]) {
                Some("true") => "did you mean `true`?",
                Some("false") => "did you mean `false`?",
                Some(_) => "did you mean `null`?",
                None => "put strings in double quotes",
            },
        };
        fault.hint(hint)
    }
}

fn scalar(word: &str) -> Option<Kind> {
    Some(match word {
        "null" => Kind::Null,
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        number if is_number(number) => Kind::Number(number.to_owned()),
        _ => return None,
    })
}

/// The grammar of section 6: `-? (0 | [1-9] digit*) (. digit+)? ([eE] [+-]? digit+)?`.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

/// A character for a message: itself when it can be seen, else its code point.
fn shown(character: char) -> String {
    if character.is_control() || character.is_whitespace() || character.escape_debug().len() > 2 {
        format!("U+{:04X}", u32::from(character))
    } else {
        format!("`{character}`")
    }
}
