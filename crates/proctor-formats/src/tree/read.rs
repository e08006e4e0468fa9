//! Strict readers: a [`Field`] in, a typed value or a mistake out.
//!
//! A reader returns `None` only after it pushed an error, so a caller reads everything first and
//! gives up afterwards.

use std::fmt::{self, Write as _};
use std::ops::RangeInclusive;

use proctor_model::{Diagnostic, nearest};

use super::{Kind, Member, Node, Problems};

/// How many characters of a user's text stand in a message.
const EXCERPT: usize = 40;

/// A value and the path that leads to it.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    node: &'a Node,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a Field<'a>, &'a str),
    Index(&'a Field<'a>, usize),
}

impl<'a> Field<'a> {
    /// The whole document; its path is empty.
    pub fn root(node: &'a Node) -> Self {
        Self { node, step: Step::Root }
    }

    /// The value under a key of this object.
    #[must_use]
    pub fn member(&'a self, key: &'a str, node: &'a Node) -> Self {
        Self { node, step: Step::Key(self, key) }
    }

    /// An element of this list, counted from 0.
    #[must_use]
    pub fn item(&'a self, index: usize, node: &'a Node) -> Self {
        Self { node, step: Step::Index(self, index) }
    }

    /// The value.
    pub fn node(&self) -> &'a Node {
        self.node
    }

    /// The path, like `checks[1].exit_code`.
    pub fn path(&self) -> String {
        self.to_string()
    }

    /// The value for a message: short, and with nothing in it that a terminal would obey.
    pub fn shown(&self) -> String {
        describe(self.node)
    }

    /// An error at this value.
    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        self.locate(Diagnostic::error(message))
    }

    /// A warning at this value.
    pub fn warning(&self, message: impl Into<String>) -> Diagnostic {
        self.locate(Diagnostic::warning(message))
    }

    /// The error "expected ..., found ..." with what stands here.
    pub fn expected(&self, expected: &str) -> Diagnostic {
        self.error(format!("expected {expected}, found {}", self.shown()))
    }

    fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        let diagnostic = diagnostic.at(self.node.location);
        match self.step {
            Step::Root => diagnostic,
            Step::Key(..) | Step::Index(..) => diagnostic.field(self.path()),
        }
    }
}

/// The path, like `checks[1].exit_code`; keys that are no plain words stand as `["a key"]`.
impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Step::Root => Ok(()),
            Step::Index(list, index) => write!(f, "{list}[{index}]"),
            Step::Key(object, key) => {
                object.fmt(f)?;
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
                if key.is_empty() || key.len() > EXCERPT || !key.chars().all(plain) {
                    write!(f, "[{}]", quoted(key, '"'))
                } else if matches!(object.step, Step::Root) {
                    f.write_str(key)
                } else {
                    write!(f, ".{key}")
                }
            }
        }
    }
}

/// An object of which every member must be known.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    field: &'a Field<'a>,
    members: &'a [Member],
}

impl<'a> Object<'a> {
    /// The object that stands at `field`; `what` names it for the message, with its article.
    pub fn at(field: &'a Field<'a>, what: &str, problems: &mut Problems) -> Option<Self> {
        if let Kind::Object(members) = &field.node.kind {
            Some(Self { field, members })
        } else {
            problems.push(field.expected(what));
            None
        }
    }

    /// Where the object itself stands.
    pub fn field(&self) -> &'a Field<'a> {
        self.field
    }

    /// The first member with this key.
    pub fn get(&self, key: &str) -> Option<&'a Member> {
        self.members.iter().find(|member| member.key == key)
    }

    /// Reads a member that must be there.
    pub fn required<T>(
        &self,
        key: &str,
        problems: &mut Problems,
        read: impl FnOnce(&Field<'_>, &mut Problems) -> Option<T>,
    ) -> Option<T> {
        if let Some(member) = self.get(key) {
            return read(&self.field.member(key, &member.value), problems);
        }
        problems.push(self.field.error(format!("`{key}` is missing")));
        None
    }

    /// Reads a member that may be left out; `Some(None)` when it is.
    pub fn optional<T>(
        &self,
        key: &str,
        problems: &mut Problems,
        read: impl FnOnce(&Field<'_>, &mut Problems) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.get(key) {
            None => Some(None),
            Some(member) => read(&self.field.member(key, &member.value), problems).map(Some),
        }
    }

    /// Reads a member that may be left out, with the value that it then has.
    pub fn or<T>(
        &self,
        key: &str,
        left_out: T,
        problems: &mut Problems,
        read: impl FnOnce(&Field<'_>, &mut Problems) -> Option<T>,
    ) -> Option<T> {
        self.optional(key, problems, read).map(|value| value.unwrap_or(left_out))
    }

    /// Pushes an error for every key that is not in `known`, with the nearest known key that the
    /// object does not have yet.
    pub fn deny_unknown(&self, known: &[&str], problems: &mut Problems) {
        let free: Vec<&str> = known.iter().copied().filter(|key| self.get(key).is_none()).collect();
        for member in self.members.iter().filter(|member| !known.contains(&member.key.as_str())) {
            problems.push_error(|| {
                let near = Some(&member.key).filter(|key| key.len() <= EXCERPT);
                let hint = match near.and_then(|key| nearest(key, free.iter().copied())) {
                    Some(key) => format!("did you mean `{key}`?"),
                    None => format!("known here: {}", joined(known, ", ")),
                };
                self.key_error(member, "unknown key").hint(hint)
            });
        }
    }

    /// An error at a key rather than at its value.
    pub fn key_error(&self, member: &Member, message: impl Into<String>) -> Diagnostic {
        let path = self.field.member(&member.key, &member.value).path();
        Diagnostic::error(message).at(member.key_location).field(path)
    }
}

/// Reads a string.
pub fn text(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    if let Kind::String(text) = &field.node.kind {
        Some(text.clone())
    } else {
        problems.push(field.expected("a string"));
        None
    }
}

/// Reads a string with at least one character that is not white space.
pub fn non_blank(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let text = text(field, problems)?;
    if text.trim().is_empty() {
        problems.push(field.expected("a string that is not blank"));
        return None;
    }
    Some(text)
}

/// Reads `true` or `false`.
pub fn boolean(field: &Field<'_>, problems: &mut Problems) -> Option<bool> {
    if let Kind::Bool(value) = field.node.kind {
        Some(value)
    } else {
        problems.push(field.expected("`true` or `false`"));
        None
    }
}

/// Reads a whole number in `range`, written as one: `5.0` and `1e2` are refused, because readers
/// of JSON disagree about them.
pub fn whole_number(
    range: RangeInclusive<i64>,
) -> impl Fn(&Field<'_>, &mut Problems) -> Option<i64> {
    move |field, problems| {
        let (low, high) = (*range.start(), *range.end());
        let expected = match low {
            i64::MIN..0 => "a whole number".to_owned(),
            0.. => format!("a whole number above {}", low - 1),
        };
        let Kind::Number(written) = &field.node.kind else {
            problems.push(field.expected(&expected));
            return None;
        };
        if written.contains(['.', 'e', 'E']) {
            let hint = "write it without a fraction and without an exponent";
            problems.push(field.expected(&expected).hint(hint));
            return None;
        }
        match written.parse::<i64>() {
            Ok(value) if range.contains(&value) => Some(value),
            Ok(value) if value < low && low >= 0 => {
                problems.push(field.expected(&expected));
                None
            }
            _ if written.starts_with('-') => {
                problems.push(field.expected(&format!("a whole number not below {low}")));
                None
            }
            _ => {
                problems.push(field.expected(&format!("a whole number not above {high}")));
                None
            }
        }
    }
}

/// Reads a number above 0 that a double can hold.
pub fn positive_number(field: &Field<'_>, problems: &mut Problems) -> Option<f64> {
    let value = match &field.node.kind {
        Kind::Number(written) => written.parse::<f64>().ok(),
        _ => None,
    };
    match value {
        Some(value) if value > 0.0 && value.is_finite() => Some(value),
        Some(f64::INFINITY) => {
            problems.push(field.expected("a number below 1.8e308"));
            None
        }
        _ => {
            problems.push(field.expected("a number above 0"));
            None
        }
    }
}

/// Reads one of the named values.
pub fn choice<T: Copy>(
    choices: &[(&'static str, T)],
) -> impl Fn(&Field<'_>, &mut Problems) -> Option<T> {
    move |field, problems| {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let Kind::String(text) = &field.node.kind else {
            problems.push(field.expected(&joined(&names, " or ")));
            return None;
        };
        let found = choices.iter().find(|(name, _)| name == text).map(|(_, value)| *value);
        if found.is_none() {
            let diagnostic = field.expected(&joined(&names, " or "));
            let near = Some(text).filter(|text| text.len() <= EXCERPT);
            problems.push(match near.and_then(|text| nearest(text, names)) {
                Some(name) => diagnostic.hint(format!("did you mean `{name}`?")),
                None => diagnostic,
            });
        }
        found
    }
}

/// Reads a list, each element with `read`. Elements that are wrong are left out, after all of them
/// were read; `None` only when it is no list. `what` names the elements: `strings`.
pub fn list<T>(
    what: &str,
    read: impl Fn(&Field<'_>, &mut Problems) -> Option<T>,
) -> impl FnOnce(&Field<'_>, &mut Problems) -> Option<Vec<T>> {
    move |field, problems| {
        let Kind::Array(items) = &field.node.kind else {
            problems.push(field.expected(&format!("a list of {what}")));
            return None;
        };
        let numbered = items.iter().enumerate();
        Some(numbered.filter_map(|(at, item)| read(&field.item(at, item), problems)).collect())
    }
}

/// A value for a message.
fn describe(node: &Node) -> String {
    match &node.kind {
        Kind::Null => "null".to_owned(),
        Kind::Bool(value) => value.to_string(),
        Kind::Number(written) => excerpt(written),
        Kind::String(text) => quoted(text, '"'),
        Kind::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Kind::Array(_) => "a list".to_owned(),
        Kind::Object(_) => "an object".to_owned(),
    }
}

/// A user's text between `quote`s, shortened, with nothing in it that a terminal would obey.
pub(super) fn quoted(text: &str, quote: char) -> String {
    format!("{quote}{}{quote}", excerpt(text))
}

fn excerpt(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(EXCERPT) {
        match character {
            '\'' | '"' | '\\' => shown.push(character),
            other => shown.extend(other.escape_debug()),
        }
    }
    if text.chars().nth(EXCERPT).is_some() {
        shown.push_str("...");
    }
    shown
}

/// `a`, `b` and so on, with `last` before the last one.
fn joined(names: &[&str], last: &str) -> String {
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        let before = match index {
            0 => "",
            _ if index + 1 == names.len() => last,
            _ => ", ",
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{before}`{name}`");
    }
    text
}
