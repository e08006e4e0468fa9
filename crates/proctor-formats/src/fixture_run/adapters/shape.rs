//! Reading a payload, with every place that has the wrong shape.
//!
//! `null` counts as absent: vendors write it where a value is optional.

use std::borrow::Cow;

use proctor_model::json::{Json, Object};
use proctor_model::recorded::run::Violation;

use super::Adapter;
use crate::fixture_run::violations::Violations;

/// Collects what is wrong with a payload.
pub(super) struct Reader {
    adapter: &'static str,
    reads: &'static str,
    violations: Violations,
}

/// An object and where it stands.
pub(super) struct View<'p> {
    object: &'p Object<'p>,
    at: String,
}

/// Where the payload of an envelope stands.
pub(super) const PAYLOAD: &str = "/payload";

impl Reader {
    pub(super) fn new(adapter: &Adapter) -> Self {
        Self { adapter: adapter.name, reads: adapter.reads, violations: Violations::default() }
    }

    /// By pointer.
    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.violations.into_sorted(PAYLOAD)
    }

    /// Notes that the payload as a whole is none that the adapter reads.
    pub(super) fn foreign(&mut self, found: &str) {
        let Self { adapter, reads, .. } = self;
        let message = format!("{found}, but adapter `{adapter}` reads {reads}");
        self.violations.push(Violation::new(PAYLOAD, message));
    }

    fn wrong(&mut self, at: String, expected: &str, found: &Json<'_>) {
        let adapter = self.adapter;
        let found = kind(found);
        let message = format!("found {found}, but adapter `{adapter}` expects {expected} here");
        self.violations.push(Violation::new(at, message));
    }

    pub(super) fn missing(&mut self, view: &View<'_>, key: &str, expected: &str) {
        let adapter = self.adapter;
        let message = format!("missing, but adapter `{adapter}` expects {expected} here");
        self.violations.push(Violation::new(format!("{}/{key}", view.at), message));
    }

    /// The payload as an object.
    pub(super) fn payload<'p>(&mut self, payload: &'p Json<'p>) -> Option<View<'p>> {
        if let Json::Object(object) = payload {
            return Some(View { object, at: PAYLOAD.to_owned() });
        }
        self.foreign(&format!("found {}", kind(payload)));
        None
    }

    /// The objects of a list.
    pub(super) fn rows<'p>(&mut self, list: &'p [Json<'p>], at: &str) -> Vec<View<'p>> {
        let mut rows = Vec::with_capacity(list.len());
        for (index, item) in list.iter().enumerate() {
            let at = format!("{at}/{index}");
            match item {
                Json::Object(object) => rows.push(View { object, at }),
                other => self.wrong(at, "an object", other),
            }
        }
        rows
    }
}

impl<'p> View<'p> {
    /// The value under `key`.
    pub(super) fn get(&self, key: &str) -> Option<&'p Json<'p>> {
        self.object.get(key).filter(|value| !matches!(value, Json::Null))
    }

    pub(super) fn place(&self, key: &str) -> String {
        format!("{}/{key}", self.at)
    }

    pub(super) fn text(&self, reader: &mut Reader, key: &str) -> Option<&'p str> {
        match self.get(key)? {
            Json::String(text) => Some(text),
            other => {
                reader.wrong(self.place(key), "a string", other);
                None
            }
        }
    }

    /// A string that must be there.
    pub(super) fn required_text(&self, reader: &mut Reader, key: &str) -> Option<&'p str> {
        if self.get(key).is_none() {
            reader.missing(self, key, "a string");
        }
        self.text(reader, key)
    }

    pub(super) fn scalar(&self, reader: &mut Reader, key: &str) -> Option<&'p Json<'p>> {
        match self.get(key)? {
            scalar @ (Json::String(_) | Json::Number(_) | Json::Bool(_)) => Some(scalar),
            other => {
                reader.wrong(self.place(key), "a string, number or boolean", other);
                None
            }
        }
    }

    pub(super) fn list(&self, reader: &mut Reader, key: &str) -> Option<&'p [Json<'p>]> {
        match self.get(key)? {
            Json::Array(items) => Some(items),
            other => {
                reader.wrong(self.place(key), "a list", other);
                None
            }
        }
    }

    /// The objects of the list under `key`; none when there is no such key.
    pub(super) fn rows(&self, reader: &mut Reader, key: &str) -> Vec<View<'p>> {
        self.list(reader, key).map_or_else(Vec::new, |list| reader.rows(list, &self.place(key)))
    }

    /// The objects of a list that must be there.
    pub(super) fn required_rows(&self, reader: &mut Reader, key: &str) -> Vec<View<'p>> {
        if self.get(key).is_none() {
            reader.foreign(&format!("found an object without `{key}`"));
        }
        self.rows(reader, key)
    }

    pub(super) fn object(&self, reader: &mut Reader, key: &str) -> Option<View<'p>> {
        match self.get(key)? {
            Json::Object(object) => Some(View { object, at: self.place(key) }),
            other => {
                reader.wrong(self.place(key), "an object", other);
                None
            }
        }
    }

    /// A message's text: a string, or a list of parts of which those with a text count, joined
    /// with nothing. `None` when there is no text at all.
    pub(super) fn content(&self, reader: &mut Reader, key: &str) -> Option<Cow<'p, str>> {
        match self.get(key)? {
            Json::String(text) => Some(Cow::Borrowed(text)),
            Json::Array(_) => {
                let parts = self.rows(reader, key);
                let textual = |part: &View<'_>| {
                    matches!(
                        part.get("type").and_then(Json::as_str),
                        None | Some("text" | "output_text")
                    )
                };
                concatenated(
                    parts.iter().filter(|part| textual(part)).map(|part| part.text(reader, "text")),
                )
            }
            other => {
                reader.wrong(self.place(key), "a string or a list of parts", other);
                None
            }
        }
    }
}

/// All texts as one; `None` when there is none.
pub(super) fn concatenated<'p>(
    texts: impl Iterator<Item = Option<&'p str>>,
) -> Option<Cow<'p, str>> {
    texts.flatten().fold(None, |whole, text| match whole {
        None => Some(Cow::Borrowed(text)),
        Some(whole) => Some(whole + text),
    })
}

/// The value that all have; `None` when one has none or another.
pub(super) fn agreed<'p>(mut values: impl Iterator<Item = Option<&'p str>>) -> Option<&'p str> {
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

fn kind(value: &Json<'_>) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
