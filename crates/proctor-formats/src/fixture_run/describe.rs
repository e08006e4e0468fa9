//! Places and values for messages.

use std::fmt;

use proctor_model::json::Json;
use proctor_model::recorded::run::Violation;

/// How many characters of a user's text stand in a message.
const EXCERPT: usize = 40;

/// A JSON pointer (RFC 6901) that grows with the walk and is written only when it is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pointer<'a> {
    parent: Option<&'a Pointer<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Pointer<'a> {
    /// The whole document.
    pub(super) const ROOT: Self = Self { parent: None, step: Step::Index(0) };

    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    pub(super) fn violation(&self, message: impl Into<String>) -> Violation {
        Violation::new(self.to_string(), message)
    }

    /// The violation "expected ..., found ..." with `value`.
    pub(super) fn expected(&self, expected: &str, value: &Json<'_>) -> Violation {
        let hint = match value {
            Json::Null => "; leave the key out where there is no value",
            _ => "",
        };
        self.violation(format!("expected {expected}, found {}{hint}", describe(value)))
    }
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return Ok(()) };
        match self.step {
            Step::Key(key) => write!(f, "{parent}/{}", key.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// A value for a message: short, and with nothing in it that a terminal would obey.
pub(super) fn describe(value: &Json<'_>) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => format!("the boolean {value}"),
        Json::Number(number) => format!("the number {}", excerpt(number.literal())),
        Json::String(text) => format!("\"{}\"", excerpt(text)),
        Json::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}

fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(EXCERPT).flat_map(char::escape_debug).collect();
    if text.chars().nth(EXCERPT).is_some() {
        shown.push_str("...");
    }
    shown
}

/// The hint that names the known word which `word` was probably meant to be.
pub(super) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = Some(word).filter(|word| word.len() <= EXCERPT);
    let near = near.and_then(|word| proctor_model::nearest(word, known));
    near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
